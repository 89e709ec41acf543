"""Compile the kernels: every ``*.c`` of this folder into one shared library beside them.

``python -m princdiff.kernels.build`` does it in place, for work in a source tree; the build hook of the
package does the same when a wheel or an editable installation is made. It imports nothing but the standard
library, since it runs before anything is installed.

Compilers and systems differ in what they understand, so it is tried: which wide registers a compiler knows,
with the flags of Unix or without them, and the next compiler where one fails.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
LIBRARY = HERE / f"_library{SUFFIX}"
# Why there is no library, where none could be made.
REASON = HERE / "_library.txt"

# Contraction would give other digits on processors that fuse multiplication and addition.
FLAGS = [
    "-std=c11",
    "-O3",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-Wall",
    "-Wextra",
    "-Wno-psabi",
]
SANITIZE = ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]

# Passes over all files: what the names of their functions end in, and the flags. A processor is asked which
# it can run when the library is loaded; that is simpler, and works with more compilers, than the loader's
# choice between clones of a function.
PASSES = {"": [], "_avx2": ["-mavx2"], "_avx512": ["-mavx2", "-mavx512f"]}
# Flags of compiling and of linking; compilers for Windows refuse them.
UNIX = (["-fPIC", "-fvisibility=hidden"], ["-lm"])


class CannotCompile(Exception):
    """No compiler, or none that works; the message says which."""


def sources() -> list[Path]:
    """The C files, in the order of their names."""
    return sorted(HERE.glob("*.c"))


def fingerprint() -> str:
    """Short hash of the C files and headers, by which a library knows whether it is up to date.

    Examples
    --------
    >>> len(fingerprint())
    16
    """
    digest = hashlib.sha256()
    for path in [*sources(), *sorted(HERE.glob("*.h"))]:
        digest.update(path.name.encode() + b"\0" + path.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return digest.hexdigest()[:16]


def find_compilers() -> list[list[str]]:
    """Commands of C compilers: that of ``CC`` if set, else those of cc, gcc and clang that are there."""
    named = shlex.split(os.environ.get("CC", ""))
    if named:
        if shutil.which(named[0]) is None:
            raise CannotCompile(f"the compiler that CC names, {named[0]!r}, was not found")
        return [named]
    found = [[name] for name in ("cc", "gcc", "clang") if shutil.which(name)]
    if not found:
        raise CannotCompile("no C compiler was found (cc, gcc or clang; CC names another)")
    return found


def build(target: Path = LIBRARY, *, sanitize: bool = False) -> Path:
    """Compile the library.

    Parameters
    ----------
    target : Path
        Where it goes. It is put there whole, so that a running program may keep the one it has open.
    sanitize : bool
        With the address and undefined-behaviour sanitizers, for tests.

    Returns
    -------
    Path
        The target.

    Raises
    ------
    CannotCompile
        If there is no compiler, or all fail; with the words of the first.
    """
    extra = [*(SANITIZE if sanitize else []), *shlex.split(os.environ.get("CFLAGS", ""))]
    failed: list[CannotCompile] = []
    for compiler, (compiling, linking) in itertools.product(find_compilers(), (UNIX, ([], []))):
        with tempfile.TemporaryDirectory(dir=target.parent, prefix="_library.") as folder:
            try:
                made = _compiled([*compiler, *compiling, *extra], linking, Path(folder) / target.name)
            except CannotCompile as error:
                failed.append(error)
                continue
            os.replace(made, target)
            return target
    raise failed[0]


def _compiled(compiler: list[str], linking: list[str], target: Path) -> Path:
    """The library, made by one compiler with its flags: the passes that it can make, then put together."""
    about = [f'-DPD_SOURCES="{fingerprint()}"', f'-DPD_COMPILER="{_version(compiler[:1])}"']
    passes = [
        [*compiler, *FLAGS, *about, *flags, f"-DPD_LEVEL={name}", "-c"] for name, flags in PASSES.items()
    ]
    passes = passes[:1] + [one for one in passes[1:] if _works([*one, str(HERE / "info.c")], target.parent)]
    folders = [target.parent / f"pass{number}" for number in range(len(passes))]
    for folder in folders:
        folder.mkdir()
    _run([[*one, *map(str, sources())] for one in passes], folders)
    objects = [str(path) for folder in folders for path in sorted(folder.iterdir())]
    _run([[*compiler, "-shared", *objects, "-o", str(target), *linking]], [target.parent])
    return target


def _works(command: list[str], folder: Path) -> bool:
    try:
        return subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def _run(commands: list[list[str]], folders: list[Path]) -> None:
    """Run commands side by side, each in its folder; the words of the first that fails are the error."""
    running = []
    try:
        for command, folder in zip(commands, folders, strict=True):
            running.append(subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True))
    except OSError as error:
        raise CannotCompile(f"{commands[0][0]} could not be started: {error}") from error
    finally:
        said = [process.communicate()[1].strip() for process in running]
    for process, words in zip(running, said, strict=True):
        if process.returncode != 0:
            raise CannotCompile(f"{commands[0][0]} failed:\n{words}")
        if words:
            print(words, file=sys.stderr)


def _version(compiler: list[str]) -> str:
    try:
        answer = subprocess.run([*compiler, "--version"], capture_output=True, text=True, check=False).stdout
    except OSError:
        return compiler[0]
    first = (answer.splitlines() or [compiler[0]])[0]
    return "".join(letter for letter in first if letter.isprintable() and letter not in '"\\')


def build_or_say_why(*, sanitize: bool = False) -> Path:
    """Build in place; where that fails, the reason is kept beside, for ``princdiff doctor``."""
    try:
        library = build(sanitize=sanitize)
    except CannotCompile as error:
        REASON.write_text(str(error), encoding="utf-8")
        raise
    REASON.unlink(missing_ok=True)
    return library


def main(arguments: list[str]) -> int:
    """Build in place; without a compiler say so, which is no failure: NumPy does the work then."""
    if set(arguments) - {"--sanitize"}:
        print("usage: python -m princdiff.kernels.build [--sanitize]", file=sys.stderr)
        return 2
    try:
        print(f"compiled {build_or_say_why(sanitize='--sanitize' in arguments)}")
    except CannotCompile as error:
        print(f"the kernels were not compiled, NumPy takes their place: {error}")
        return 1 if os.environ.get("PRINCDIFF_REQUIRE_COMPILER") else 0
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
