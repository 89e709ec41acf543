"""docs/constants.md lists every constant of the code that changes results or speed, with its value."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, fields
from pathlib import Path

import princdiff
from princdiff.solvers.ascent import Tolerance
from princdiff.solvers.effort import EFFORTS

SOURCE = Path(princdiff.__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "constants.md"
# What people see, and where files of examples lie: no result depends on a number there.
NOT_LISTED = {"present", "cli", "datasets", "demo.py"}
# Tables of rules and of units, not tuned values.
TABLES = {("data/parameters.py", "RULES"), ("data/memory.py", "_UNITS"), ("data/memory.py", "_BINARY")}
TABLES |= {("data/parameters.py", "_COUNT,_FLAG"), ("solvers/effort.py", "EFFORTS")}


@dataclass(frozen=True)
class Constant:
    where: str
    name: str
    value: str
    comment: str = ""


def is_number(node: ast.AST | None) -> bool:
    """Whether an expression is made of numbers, or of a call or a collection that holds some."""
    match node:
        case ast.Constant(value=value):
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        case ast.UnaryOp(operand=operand):
            return is_number(operand)
        case ast.BinOp(left=left, right=right):
            return (is_number(left) and is_number(right)) or (isinstance(left, ast.Call) and is_number(left))
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Dict(values=parts):
            return any(map(is_number, parts))
        case ast.Call(args=args, keywords=keywords):
            return any(map(is_number, [*args, *(keyword.value for keyword in keywords)]))
    return False


def code_constants() -> list[Constant]:
    """Numbers with a name at the top of a module, and those that C sources define."""
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        where = path.relative_to(SOURCE).as_posix()
        if where.split("/")[0] in NOT_LISTED:
            continue
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines()
        for node in ast.parse(text).body:
            if isinstance(node, ast.Assign):
                target = node.targets[0]
            elif isinstance(node, ast.AnnAssign):
                target = node.target
            else:
                continue
            if is_number(node.value):
                name = ast.unparse(target).strip("()").replace(" ", "")
                first = node.lineno - 1
                while first and lines[first - 1].startswith("#"):
                    first -= 1
                comment = " ".join(line.lstrip("# ") for line in lines[first : node.lineno - 1])
                found.append(Constant(where, name, ast.unparse(node.value), comment))
    for path in sorted([*SOURCE.rglob("*.c"), *SOURCE.rglob("*.h")]):
        where = path.relative_to(SOURCE).as_posix()
        text = path.read_text(encoding="utf-8")
        defined = re.findall(r"^#define (PD_\w+) (\d[\d.e-]*)$", text, flags=re.M)
        for names in re.findall(r"^enum \{([^}]*)\};", text, flags=re.M):
            defined += re.findall(r"(\w+) = (\d+)", names)
        found += [Constant(where, name, value) for name, value in defined]
    return [constant for constant in found if (constant.where, constant.name) not in TABLES]


def listed() -> list[Constant]:
    """The rows of the page."""
    row = re.compile(r"^\| `([^`]+)` \| `([^`]+)` \| `([^`]+)` \| (.+) \| (.+) \|$", flags=re.M)
    return [Constant(where, name, value) for name, where, value, _, _ in row.findall(PAGE.read_text())]


def test_every_constant_is_listed_with_its_value():
    page = {(row.where, row.name): row.value for row in listed()}
    missing = [
        f"| `{constant.name}` | `{constant.where}` | `{constant.value}` | what it trades | how measured |"
        for constant in code_constants()
        if page.get((constant.where, constant.name)) != constant.value
    ]
    assert not missing, "docs/constants.md lacks, or has with another value:\n" + "\n".join(missing)


def test_nothing_else_is_listed():
    known = {(constant.where, constant.name) for constant in code_constants()}
    rows = [(row.where, row.name) for row in listed()]
    assert [row for row in rows if row not in known] == []
    assert len(rows) == len(set(rows))


def test_what_was_not_measured_says_so():
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    assert len(rows) > 100
    assert all(len(line.split(" | ")[-1].strip("| ")) > 5 for line in rows)


def test_the_efforts_are_those_of_the_code():
    text = PAGE.read_text()
    names = list(EFFORTS)
    assert f"| field | {' | '.join(names)} |" in text
    for field in fields(EFFORTS["fast"]):
        parts = fields(Tolerance) if field.name == "tolerance" else [field]
        for part in parts:
            if part.name == "families":
                continue
            owners = [effort.tolerance if part is not field else effort for effort in EFFORTS.values()]
            values = [getattr(owner, part.name) for owner in owners]
            cells = [f"{value:g}" if isinstance(value, float) else str(value) for value in values]
            called = f"tolerance.{part.name}" if part is not field else part.name
            assert f"| {called} | {' | '.join(cells)} |" in text, called
