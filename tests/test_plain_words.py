"""Names and messages are those that a working engineer would use."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import princdiff

ROOT = Path(princdiff.__file__).parent
SOURCES = sorted(ROOT.rglob("*.py"))

# Former names that nobody guessed the meaning of.
UNCLEAR_NAMES = {
    "told",
    "account",
    "judging",
    "spoken",
    "dirt",
    "lonely_levels",
    "recipe",
    "relax_game",
    "heat",
    "wip",
}
UNCLEAR_PHRASES = re.compile(
    r"\bunless told\b|\bmended\b|\bfor want of\b|\bhow manieth\b|\b(is|are|was|were) told\b(?! apart)"
    r"|\bwithout fail\b|\bby (itself|themselves)\b|\btells? the (group|donor|batch)(s|es)?\b(?! apart)",
    re.I,
)


def names(tree: ast.AST) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
    return {name.strip("_") for name in found}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_names_and_texts_are_plain(path):
    text = path.read_text(encoding="utf-8")
    unclear = (names(ast.parse(text)) | {path.stem.strip("_")}) & UNCLEAR_NAMES
    assert not unclear
    assert UNCLEAR_PHRASES.findall(text) == []
