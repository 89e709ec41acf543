"""Compile the kernels: every ``*.c`` of this folder into one shared library beside them.

``python -m princdiff.kernels.build`` does it in place, for work in a source tree; the build hook of the
package does the same when a wheel or an editable installation is made. It imports nothing but the standard
library, since it runs before anything is installed.
"""

from __future__ import annotations

import hashlib
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

# Contraction would give other digits on processors that fuse multiplication and addition.
FLAGS = [
    "-std=c11",
    "-O3",
    "-fPIC",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fvisibility=hidden",
    "-Wall",
    "-Wextra",
    "-Wno-psabi",
]
SANITIZE = ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-DPD_PLAIN"]


class CannotCompile(Exception):
    """No compiler, or one that failed; the message says which."""


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


def find_compiler() -> list[str]:
    """Command of the C compiler: ``CC`` if set, else the first of cc, gcc and clang."""
    named = shlex.split(os.environ.get("CC", ""))
    if named:
        if shutil.which(named[0]) is None:
            raise CannotCompile(f"the compiler that CC names, {named[0]!r}, was not found")
        return named
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name):
            return [name]
    raise CannotCompile("no C compiler was found (cc, gcc or clang; CC names another)")


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
        If there is no compiler, or it fails.
    """
    compiler = find_compiler()
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        beside = Path(folder) / target.name
        command = [
            *compiler,
            *FLAGS,
            *(SANITIZE if sanitize else []),
            *shlex.split(os.environ.get("CFLAGS", "")),
            f'-DPD_SOURCES="{fingerprint()}"',
            f'-DPD_COMPILER="{_version(compiler)}"',
            "-shared",
            *map(str, sources()),
            "-o",
            str(beside),
            "-lm",
        ]
        try:
            outcome = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            raise CannotCompile(f"{compiler[0]} could not be started: {error}") from error
        if outcome.returncode != 0:
            raise CannotCompile(f"{compiler[0]} failed:\n{outcome.stderr.strip()}")
        if outcome.stderr.strip():
            print(outcome.stderr.strip(), file=sys.stderr)
        os.replace(beside, target)
    return target


def _version(compiler: list[str]) -> str:
    try:
        answer = subprocess.run([*compiler, "--version"], capture_output=True, text=True, check=False).stdout
    except OSError:
        return compiler[0]
    first = (answer.splitlines() or [compiler[0]])[0]
    return "".join(letter for letter in first if letter.isprintable() and letter not in '"\\')


def main(arguments: list[str]) -> int:
    """Build in place; without a compiler say so, which is no failure: NumPy does the work then."""
    if set(arguments) - {"--sanitize"}:
        print("usage: python -m princdiff.kernels.build [--sanitize]", file=sys.stderr)
        return 2
    try:
        print(f"compiled {build(sanitize='--sanitize' in arguments)}")
    except CannotCompile as error:
        print(f"the kernels were not compiled, NumPy takes their place: {error}")
        return 1 if os.environ.get("PRINCDIFF_REQUIRE_COMPILER") else 0
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
