"""The compiled library: found, checked and called.

It is plain C behind `ctypes`, so one file serves every version of Python, and the interpreter lock is free
while a kernel runs. Where there is no library, or ``PRINCDIFF_ENGINE=numpy`` says so, `Kernel.available` is
False and the callers take the same work in NumPy.
"""

from __future__ import annotations

import ctypes
import logging
import os
import warnings
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from princdiff import __version__

# Whose versions a report of a problem tells.
_LIBRARIES = ("numpy", "scipy", "scikit-learn", "pandas", "joblib")
# Passes of the library, the fastest first: by the name for PRINCDIFF_ENGINE, what its functions end in.
_PASSES = {"avx512": "_avx512", "avx2": "_avx2", "plain": ""}
# Of a processor, by what the library says about it, the passes that it can run.
_RUNNABLE = {2: ("avx512", "avx2", "plain"), 1: ("avx2", "plain"), 0: ("plain",)}
_NUMBERS: dict[str, Any] = {
    "i32": ctypes.c_int32,
    "i64": ctypes.c_int64,
    "f32": ctypes.c_float,
    "f64": ctypes.c_double,
}
_ARRAYS: dict[str, np.dtype] = {
    f"{kind}*": np.dtype(name)
    for kind, name in {
        "u8": np.uint8,
        "u16": np.uint16,
        "u32": np.uint32,
        "u64": np.uint64,
        "i32": np.int32,
        "i64": np.int64,
        "f32": np.float32,
        "f64": np.float64,
    }.items()
}


class Engine(NamedTuple):
    """Who does the inner loops.

    Attributes
    ----------
    library : ctypes.CDLL or None
        The compiled library; None where NumPy does the work.
    reason : str
        Why NumPy does, or why not the widest registers of the processor; or an empty string.
    ending : str
        What the names of the library's functions end in.
    """

    library: ctypes.CDLL | None
    reason: str = ""
    ending: str = ""

    @property
    def name(self) -> str:
        """``"compiled"`` or ``"numpy"``."""
        return "numpy" if self.library is None else "compiled"


@cache
def engine() -> Engine:
    """The engine of this process, settled at its first use.

    ``PRINCDIFF_ENGINE`` may say ``numpy`` (never the library), ``compiled`` (an error without it), or one of
    its passes: ``plain``, ``avx2``, ``avx512`` (an error where it cannot run).

    Examples
    --------
    >>> engine().name in ("compiled", "numpy")
    True
    """
    wanted = os.environ.get("PRINCDIFF_ENGINE", "auto")
    known = ("auto", "compiled", "numpy", *_PASSES)
    if wanted not in known:
        raise ValueError(f"PRINCDIFF_ENGINE must be one of {', '.join(known)}: got {wanted!r}")
    if wanted == "numpy":
        return Engine(None, "PRINCDIFF_ENGINE=numpy")
    found = _load()
    if found.library is None:
        if wanted != "auto":
            raise ImportError(f"PRINCDIFF_ENGINE={wanted}, but {found.reason}")
        logging.getLogger("princdiff").info("NumPy does the inner loops: %s", found.reason)
        return found
    if wanted not in _PASSES:
        return found
    runnable, unknown = passes(found.library)
    if wanted not in runnable:
        reason = "the compiler could not make it" if wanted in unknown else "this processor cannot run it"
        raise ImportError(f"PRINCDIFF_ENGINE={wanted}, but {reason}")
    return Engine(found.library, f"PRINCDIFF_ENGINE={wanted}", _PASSES[wanted])


def passes(library: ctypes.CDLL) -> tuple[list[str], list[str]]:
    """Passes of a library that this processor can run, the fastest first, and those that it lacks."""
    runnable = _RUNNABLE[library.pd_processor()]
    held = [name for name in runnable if hasattr(library, f"pd_sources{_PASSES[name]}")]
    return held, [name for name in runnable if name not in held]


def _load() -> Engine:
    # Not at the top: `python -m princdiff.kernels.build` would find itself imported already.
    from princdiff.kernels import build

    if not build.LIBRARY.exists():
        reason = "the kernels were not compiled when princdiff was installed"
        if build.REASON.exists():
            reason += f": {build.REASON.read_text(encoding='utf-8').splitlines()[0]}"
        return Engine(None, reason)
    try:
        library = ctypes.CDLL(str(build.LIBRARY))
        library.pd_sources.restype = ctypes.c_char_p
        compiled_from = library.pd_sources().decode()
    except (OSError, AttributeError) as error:
        return Engine(None, f"{build.LIBRARY.name} cannot be loaded: {error}")
    if compiled_from != build.fingerprint():
        reason = "the compiled kernels are older than their sources; run python -m princdiff.kernels.build"
        warnings.warn(reason, stacklevel=2)
        return Engine(None, reason)
    held, lacking = passes(library)
    reason = f"the compiler could not make {lacking[0]}" if lacking else ""
    return Engine(library, reason, _PASSES[held[0]])


def describe_engine() -> str:
    """The engine in a few words, for ``princdiff --version`` and `show_config`."""
    found = engine()
    if found.library is None:
        return f"NumPy ({found.reason})"
    about = [_text("pd_instructions"), _text("pd_compiler"), found.reason]
    return f"compiled ({', '.join(filter(None, about))})"


def _text(name: str) -> str:
    found = engine()
    function = getattr(found.library, name + found.ending)
    function.restype = ctypes.c_char_p
    return function().decode()


class Kernel:
    """A C function of arrays and numbers.

    Parameters
    ----------
    name : str
        Of the exported function.
    signature : str
        Its parameters, separated by blanks: ``i32 i64 f32 f64`` are numbers, ``u8* u16* u32* u64* i32* i64*
        f32* f64*`` arrays, which must be C-contiguous and of just this type. An array may be None, the null
        pointer.
    returns : str, optional
        Type of the number that it returns.

    Examples
    --------
    >>> Kernel("pd_no_such_thing", "f32* i64").available
    False
    """

    def __init__(self, name: str, signature: str, returns: str | None = None) -> None:
        self.name = name
        self._signature, self._returns = signature, returns
        self._kinds = signature.split()
        self._function: Any = None
        self._engine: Engine | None = None

    def __reduce__(self) -> tuple[type[Kernel], tuple[str, str, str | None]]:
        # Copies and other processes look the function up for themselves.
        return Kernel, (self.name, self._signature, self._returns)

    @property
    def available(self) -> bool:
        """Whether it can be called."""
        found = engine()
        if self._engine is not found:
            function = getattr(found.library, self.name + found.ending, None)
            if function is not None:
                function.argtypes = [_NUMBERS.get(kind, ctypes.c_void_p) for kind in self._kinds]
                function.restype = None if self._returns is None else _NUMBERS[self._returns]
            self._function, self._engine = function, found
        return self._function is not None

    def __call__(self, *arguments: Any) -> Any:
        """Call it; an array of another type or layout is an error here, not a crash there."""
        if not self.available:
            raise RuntimeError(f"{self.name} is not compiled: {engine().reason or 'no such function'}")
        if len(arguments) != len(self._kinds):
            raise TypeError(f"{self.name} takes {len(self._kinds)} arguments: got {len(arguments)}")
        return self._function(
            *[
                argument if kind in _NUMBERS else _address(argument, _ARRAYS[kind], self.name)
                for argument, kind in zip(arguments, self._kinds, strict=True)
            ]
        )


def _address(array: NDArray | None, dtype: np.dtype, name: str) -> int | None:
    if array is None:
        return None
    if array.dtype != dtype or not array.flags.c_contiguous:
        layout = "contiguous" if array.flags.c_contiguous else "strided"
        raise TypeError(f"{name} needs a contiguous array of {dtype}: got a {layout} one of {array.dtype}")
    return array.ctypes.data


def show_config() -> None:
    """Print versions and the engine of the inner loops, for a report of a problem.

    Examples
    --------
    >>> from princdiff import show_config
    >>> show_config()
    princdiff     ...
    engine        ...
    """
    import platform
    from importlib.metadata import PackageNotFoundError, version

    lines = {"princdiff": __version__, "engine": describe_engine()}
    lines["python"] = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    for name in _LIBRARIES:
        try:
            lines[name] = version(name)
        except PackageNotFoundError:
            lines[name] = "missing"
    for name, text in lines.items():
        print(f"{name:<13} {text}")
