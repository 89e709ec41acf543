"""Dependencies point one way: who may import whom, drawn from the source."""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache
from pathlib import Path

import princdiff

ROOT = Path(princdiff.__file__).parent

# From the ground up; a room may import from its own layer and from those below. data, divergences
# and kernels know each other (labels, names of divergences); among their modules there is no circle.
LAYERS = [
    {"caught_warnings", "deadline", "extras", "files", "parallel", "printable", "progress"},
    {"datasets", "resume"},
    {"data", "divergences", "kernels", "options"},
    {"relaxation", "tables", "auto_choices", "findings"},
    {"solvers"},
    {"labellings"},
    {"statistics"},
    {"selection"},
    {"estimators", "paired"},
    {"result", "words"},
    {"time_budget", "comparison_checkpoint"},
    {"comparison_steps"},
    {"profiles"},
    {"comparison"},
    {"group_pairs", "batches", "regions"},
    {"show"},
    {"singlecell"},
    {"tl", "pl", "get"},
    {"demo"},
    {"cli"},
    {"__main__"},
]
# Methods of a result that draw or print import the picture when they are called.
DRAWS_LATER = {"result", "words", "batches"}

# Public functions with many options. Inside the package seven parameters are the most.
MANY_PARAMETERS = {
    "estimators.pda.PDA.__init__",
    "estimators.sparda.SPARDA.__init__",
    "comparison.compare",
    "statistics.permutation.permutation_test",
    "selection.select.select_features",
    "statistics.split.split_test",
    "selection.stability.stability_selection",
    "profiles.profiling.profile",
    "relaxation.relax.relax",
    "singlecell.tools.pda",
    "singlecell.genesets.pda_gene_sets",
}


@cache
def modules() -> dict[str, Path]:
    """Modules of the package by their names without its own."""
    found = {}
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = path
    return found


@cache
def source(path: Path) -> ast.Module:
    """What a module says."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports(path: Path) -> list[tuple[str, bool]]:
    """What a module imports of the package, and whether only inside functions or for type checkers."""
    tree, known = source(path), modules()
    later = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or _for_types(node)
        for inner in ast.walk(node)
    }
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            inside = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name.removeprefix("princdiff.") in known else node.module for name in inside]
        else:
            continue
        found += [
            (name.removeprefix("princdiff").removeprefix("."), id(node) in later)
            for name in names
            if name.split(".")[0] == "princdiff"
        ]
    return found


def _for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def room(module: str) -> str:
    return module.split(".")[0]


def layer(module: str) -> int:
    return next(number for number, rooms in enumerate(LAYERS) if room(module) in rooms)


def test_every_room_has_a_layer():
    rooms = {room(name) for name in modules() if name}
    assert rooms == set().union(*LAYERS)


def test_no_import_points_upward():
    found = modules()
    upward = []
    for name, path in found.items():
        if not name:
            continue
        for target, later in imports(path):
            if not target:
                # The version, which is all that the package itself defines.
                continue
            draws = later and room(name) in DRAWS_LATER and room(target) == "show"
            if layer(target) > layer(name) and not draws:
                upward.append(f"{name} imports {target}")
    assert not upward, "\n".join(upward)


def test_modules_do_not_import_in_a_circle():
    found = modules()
    edges = {
        name: {target for target, later in imports(path) if not later and target and target != name}
        for name, path in found.items()
        if name
    }
    done: set[str] = set()
    while True:
        # A module is done once all that it imports is; an import of a package waits for its __init__ only.
        ready = {name for name in edges if name not in done and edges[name] <= done | {""}}
        if not ready:
            break
        done |= ready
    circles = sorted(set(edges) - done)
    assert not circles, f"these import each other in a circle: {', '.join(circles)}"


def test_no_two_classes_have_one_name():
    names = Counter(
        node.name
        for path in modules().values()
        for node in ast.walk(source(path))
        if isinstance(node, ast.ClassDef)
    )
    assert [name for name, count in names.items() if count > 1] == []


def functions(tree: ast.AST, prefix: str = "") -> list[tuple[str, ast.FunctionDef]]:
    found = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            found += functions(node, f"{prefix}{node.name}.")
        elif isinstance(node, ast.FunctionDef):
            found.append((f"{prefix}{node.name}", node))
            found += functions(node, f"{prefix}{node.name}.")
    return found


def test_at_most_seven_parameters_inside():
    many = set()
    for name, path in modules().items():
        for function, node in functions(source(path)):
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            count = len([argument for argument in arguments if argument.arg not in ("self", "cls")])
            if count > 7:
                many.add(f"{name}.{function}")
    assert len(MANY_PARAMETERS) <= 11
    assert many == MANY_PARAMETERS


def test_tests_mirror_the_rooms():
    here = Path(__file__).parent
    beside = {"docs", "tools"}  # Tests of what is no part of the package.
    rooms = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert {path.name for path in here.iterdir() if list(path.glob("test_*.py"))} - beside == rooms
