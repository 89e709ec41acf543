"""What a result depends on, as a short text that is the same in every process.

A checkpoint must know whether it belongs to the same rows and the same divergence. The ``repr`` of a user's
function holds its address in memory, which is another one in the next process, and its name says nothing
about what it does. So functions are known by their code, by what they enclose and by the global names they
look up; objects by their class and their state.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import types
from collections.abc import Iterator
from typing import Any

import joblib
import numpy as np
import scipy.sparse as sp

from princdiff.data.row_chunks import RowChunks

_PLAIN = (str, bytes, int, float, complex, bool, type(None), type(Ellipsis))
# Their functions and classes change with their version, so their name says enough.
_LIBRARIES = ("numpy", "scipy", "sklearn", "pandas", "princdiff", "joblib")


def identity_of(thing: Any) -> str:
    """A hash of a function or an object by what it does, not by where it lies in memory.

    Parameters
    ----------
    thing : object
        A divergence, or anything that it refers to.

    Returns
    -------
    str
        The same in another process, if the same code and the same values are met there.

    Raises
    ------
    ValueError
        If a part of it has neither code nor state that could be compared.

    Examples
    --------
    >>> identity_of(lambda x, y: x - y) == identity_of(lambda x, y: x - y)
    True
    >>> identity_of(lambda x, y: x - y) == identity_of(lambda x, y: y - x)
    False
    >>> power = 2
    >>> first = identity_of(lambda x, y: abs(x - y) ** power)
    >>> power = 3
    >>> first == identity_of(lambda x, y: abs(x - y) ** power)
    False
    """
    digest = hashlib.sha256()
    for part in _parts(thing, {}):
        digest.update(part.encode())
        digest.update(b"\0")
    return digest.hexdigest()


def _parts(thing: Any, seen: dict[int, Any]) -> Iterator[str]:
    """Texts that together say what a thing is; what was met before is given by when it was."""
    if isinstance(thing, _PLAIN):
        yield f"{type(thing).__name__} {thing!r}"
        return
    if id(thing) in seen:
        yield f"again {list(seen).index(id(thing))}"
        return
    # Held, so that no other object gets its address meanwhile.
    seen[id(thing)] = thing
    if isinstance(thing, types.FunctionType):
        yield from _function(thing, seen)
    elif isinstance(thing, types.CodeType):
        yield from _code(thing, seen)
    elif isinstance(thing, types.MethodType):
        yield from _several("method", (thing.__func__, thing.__self__), seen)
    elif isinstance(thing, functools.partial):
        yield from _several("partial", (thing.func, thing.args, thing.keywords), seen)
    elif isinstance(thing, (list, tuple)):
        yield from _several(type(thing).__name__, thing, seen)
    elif isinstance(thing, dict):
        yield from _unordered("dict", (_text((key, value), seen) for key, value in thing.items()))
    elif isinstance(thing, (set, frozenset)):
        # The order of a set of texts differs from process to process.
        yield from _unordered("set", (_text(member, seen) for member in thing))
    elif isinstance(thing, (np.ndarray, np.generic)) and thing.dtype.kind != "O":
        yield f"array {joblib.hash(np.asarray(thing))}"
    elif isinstance(thing, (types.ModuleType, types.BuiltinFunctionType, np.ufunc)):
        yield f"{type(thing).__name__} {getattr(thing, '__module__', '')} {thing.__name__}"
    elif isinstance(thing, type):
        yield from _class(thing, seen)
    else:
        yield from _object(thing, seen)


def _function(function: types.FunctionType, seen: dict[int, Any]) -> Iterator[str]:
    library = (function.__module__ or "").partition(".")[0] in _LIBRARIES
    if library and "<" not in function.__qualname__:
        yield f"function {function.__module__} {function.__qualname__}"
        return
    cells = function.__closure__ or ()
    yield from _several(
        "function",
        (
            function.__code__,
            function.__defaults__,
            function.__kwdefaults__,
            [_content(cell) for cell in cells],
        ),
        seen,
    )
    for name in sorted(_global_names(function.__code__)):
        yield f"global {name}"
        if name in function.__globals__:
            yield from _parts(function.__globals__[name], seen)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return "an empty cell"


def _code(code: types.CodeType, seen: dict[int, Any]) -> Iterator[str]:
    yield f"code {code.co_code.hex()} {code.co_names} {code.co_varnames} {code.co_freevars}"
    yield from _several("constants", (code.co_argcount, *code.co_consts), seen)


def _global_names(code: types.CodeType) -> set[str]:
    """Global names that a function looks up, and those inside it."""
    found = {
        step.argval for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")
    }
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _global_names(constant)
    return found


def _class(kind: type, seen: dict[int, Any]) -> Iterator[str]:
    yield f"class {kind.__module__} {kind.__qualname__}" if kind.__module__ != "__main__" else "class"
    if kind.__module__.partition(".")[0] in (*_LIBRARIES, "builtins"):
        return
    own = {name: value for name, value in vars(kind).items() if not name.startswith("__") or callable(value)}
    for name in sorted(own):
        value = own[name]
        value = getattr(value, "__func__", getattr(value, "fget", value))
        if isinstance(value, (types.FunctionType, *_PLAIN)):
            yield f"member {name}"
            yield from _parts(value, seen)
    yield from _several("bases", kind.__bases__, seen)


def _object(thing: Any, seen: dict[int, Any]) -> Iterator[str]:
    """Class and state: attributes, or whatever pickling would keep."""
    yield from _parts(type(thing), seen)
    state = getattr(thing, "__dict__", None)
    if state:
        yield from _parts(state, seen)
        return
    try:
        yield f"state {joblib.hash(thing)}"
    except Exception as error:
        raise ValueError(
            "checkpoint= must know in another process whether the divergence is the same, and cannot tell "
            f"that of its part {thing!r} ({error}); use a function or an object that can be pickled"
        ) from error


def _several(name: str, things: Any, seen: dict[int, Any]) -> Iterator[str]:
    yield f"{name} of {len(things)}"
    for thing in things:
        yield from _parts(thing, seen)


def _unordered(name: str, texts: Iterator[str]) -> Iterator[str]:
    yield name
    yield from sorted(texts)


def _text(thing: Any, seen: dict[int, Any]) -> str:
    return " ".join(_parts(thing, dict(seen)))


def rows_identity(rows: Any) -> str:
    """A hash of every value of a table, in memory or out of core, whatever the size of its blocks.

    Examples
    --------
    >>> rows_identity(np.eye(3)) == rows_identity(np.eye(3)[[0, 2, 1]])
    False
    """
    blocks: Any = rows.blocks() if isinstance(rows, RowChunks) else [(slice(None), rows)]
    digests = [hashlib.sha256() for _ in range(3)]
    for _, block in blocks:
        if sp.issparse(block):
            lengths = np.diff(block.indptr).astype(np.int64)
            streams = [block.data, block.indices.astype(np.int64), lengths]
        else:
            streams = [np.asarray(block)]
        for digest, stream in zip(digests, streams, strict=False):
            digest.update(np.ascontiguousarray(stream).tobytes())
    return " ".join(digest.hexdigest() for digest in digests)
