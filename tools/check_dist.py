"""Check a wheel and a source distribution: they hold what they must, and nothing else.

    python tools/check_dist.py dist/*

A wheel must hold every file of ``src/princdiff``, the licence, the entry point and, where kernels were
compiled, one library and the tag of its platform. A source distribution must hold what it takes to build, to
test and to document. Neither may hold caches, compiled leftovers or files of other projects.
"""

from __future__ import annotations

import ast
import re
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "princdiff"
NEVER = re.compile(r"__pycache__|\.pyc$|\.DS_Store|\.hypothesis|\.swp$|/build/|/dist/|\.ipynb_checkpoints")
LIBRARY = re.compile(r"princdiff/kernels/_library\.(so|dylib|dll)$")
# What a build leaves where nothing could be compiled: the reason.
REASON = "princdiff/kernels/_library.txt"
SOURCE_NEEDS = (
    "pyproject.toml",
    "hatch_build.py",
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
    "CITATION.cff",
    "CONTRIBUTING.md",
    "Makefile",
    "PKG-INFO",
    "docs/conf.py",
    "docs/index.md",
    "conftest.py",
    "tests/conftest.py",
    "tools/check_dist.py",
    "paper/paper.md",
    "recipe/meta.yaml",
    ".ci/run",
    ".github/workflows/tests.yml",
)
SOURCE_FOLDERS = ("src", "tests", "docs", "benchmarks", "tools", "paper", "recipe", ".ci", ".github")


def package_files() -> set[str]:
    """Files of the package in the source tree, as they are called in a wheel."""
    paths = (path for path in PACKAGE.rglob("*") if path.is_file())
    names = {path.relative_to(PACKAGE.parent).as_posix() for path in paths}
    return {name for name in names if not _made_by_a_build(name)}


def _made_by_a_build(name: str) -> bool:
    return bool(NEVER.search(f"/{name}") or LIBRARY.search(name)) or name.endswith(REASON)


def source_version() -> str:
    """The version, read from the one place where it stands."""
    for node in ast.parse((PACKAGE / "__init__.py").read_text()).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__version__":
            return str(ast.literal_eval(node.value))
    raise ValueError("princdiff/__init__.py has no __version__")


def check_wheel(path: Path) -> list[str]:
    """What is wrong with a wheel."""
    problems = []
    with zipfile.ZipFile(path) as wheel:
        names = {name for name in wheel.namelist() if not name.endswith("/")}
        info = f"princdiff-{source_version()}.dist-info"
        problems += _check_metadata(wheel, info, names)
    libraries = {name for name in names if LIBRARY.match(name)}
    expected = package_files() | libraries | (names & {REASON} if not libraries else set())
    expected |= {
        f"{info}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")
    }
    problems += [f"lacks {name}" for name in sorted(expected - names)]
    problems += [f"holds {name}, which does not belong there" for name in sorted(names - expected)]
    python, abi, platform = path.stem.split("-")[-3:]
    if (python, abi) != ("py3", "none"):
        problems.append(f"is tagged {python}-{abi}: one wheel should serve all versions of Python")
    if len(libraries) > 1:
        problems.append(f"holds more than one compiled library: {sorted(libraries)}")
    if bool(libraries) == (platform == "any"):
        problems.append(f"is tagged {platform} {'with' if libraries else 'without'} a compiled library")
    return problems


def _check_metadata(wheel: zipfile.ZipFile, info: str, names: set[str]) -> list[str]:
    if f"{info}/METADATA" not in names:
        return [f"has no {info}/METADATA: its version is not that of the source"]
    problems = []
    metadata = Parser().parsestr(wheel.read(f"{info}/METADATA").decode())
    if metadata["Version"] != source_version():
        problems.append(f"calls itself {metadata['Version']}, the source {source_version()}")
    if metadata["License-Expression"] != "BSD-3-Clause":
        problems.append(f"has the licence {metadata['License-Expression']!r}")
    if "princdiff = princdiff.cli:main" not in wheel.read(f"{info}/entry_points.txt").decode():
        problems.append("does not install the command princdiff")
    return problems


def check_source(path: Path) -> list[str]:
    """What is wrong with a source distribution."""
    with tarfile.open(path) as archive:
        members = [member for member in archive.getmembers() if member.isfile()]
    top = f"princdiff-{source_version()}"
    paths = [member.name for member in members]
    problems = [f"holds {path} outside of {top}" for path in paths if not _inside(path, top)]
    names = {PurePosixPath(path).relative_to(top).as_posix() for path in paths if _inside(path, top)}
    needed = {*SOURCE_NEEDS, *(f"src/{name}" for name in package_files())}
    problems += [f"lacks {name}" for name in sorted(needed - names)]
    unwanted = [name for name in names if _made_by_a_build(name)]
    problems += [f"holds {name}, which does not belong there" for name in sorted(unwanted)]
    folders = {PurePosixPath(name).parts[0] for name in names if "/" in name}
    problems += [f"holds the folder {name}" for name in sorted(folders - {*SOURCE_FOLDERS})]
    return problems


def _inside(name: str, top: str) -> bool:
    return name.startswith(f"{top}/") and ".." not in PurePosixPath(name).parts


def main(paths: list[str]) -> int:
    """Check every file named; 1 if something is wrong."""
    if not paths:
        print("name the files to check", file=sys.stderr)
        return 2
    wrong = 0
    for path in map(Path, paths):
        problems = check_wheel(path) if path.suffix == ".whl" else check_source(path)
        verdict = "has problems" if problems else "holds what it must and nothing else"
        print(f"{path.name} ({path.stat().st_size / 1e6:.2f} MB) {verdict}")
        for problem in problems:
            print(f"  {path.name} {problem}")
        wrong += len(problems)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
