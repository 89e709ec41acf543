"""How large the package is, and how much of it one comparison walks through.

    python tools/house_size.py            lines of code by part, modules, length of functions, one comparison
    python tools/house_size.py --list     and the functions that the comparison entered, with who called them

Lines are those of code: neither blank, nor comment, nor docstring. Every module is imported before the
comparison is traced, as bodies of classes run when they are imported and are nothing that it walks through.
"""

from __future__ import annotations

import ast
import importlib
import io
import sys
import tokenize
from collections import Counter, defaultdict
from pathlib import Path
from statistics import median
from types import FrameType
from typing import Any

import numpy as np
import pandas as pd

import princdiff

ROOT = Path(princdiff.__file__).parent
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}

Function = tuple[str, str]


class Trace:
    """Functions that were entered, who called them, and the most that stood on each other."""

    def __init__(self) -> None:
        self.callers: defaultdict[Function, Counter[Function]] = defaultdict(Counter)
        self.stack: list[Function] = []
        self.deepest: list[Function] = []

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if not code.co_filename.startswith(str(ROOT)) or code.co_name.startswith("<"):
            return
        if event == "call":
            function = (code.co_filename.removeprefix(f"{ROOT}/"), code.co_qualname)
            self.callers[function].update(self.stack[-1:])
            self.stack.append(function)
            if len(self.stack) > len(self.deepest):
                self.deepest = list(self.stack)
        elif event == "return":
            self.stack.pop()


def trace() -> Trace:
    """One comparison of two frames of 600 rows and 7 columns."""
    rng = np.random.default_rng(0)
    before, after = (pd.DataFrame(rng.normal(size=(600, 7)), columns=list("abcdefg")) for _ in range(2))
    after["b"] += 0.3
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT.parent).with_suffix("").as_posix().replace("/", ".")
        if not name.endswith("__main__"):
            importlib.import_module(name.removesuffix(".__init__"))
    found = Trace()
    sys.setprofile(found)
    princdiff.compare(before, after, random_state=0)
    sys.setprofile(None)
    return found


def lines_of_code(text: str) -> int:
    """Lines with code on them."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
            and ast.get_docstring(node) is not None
        ):
            docstring = node.body[0]
            lines.difference_update(range(docstring.lineno, (docstring.end_lineno or 0) + 1))
    return len(lines)


def function_lengths(text: str) -> list[int]:
    """Lines of every function, docstrings and all."""
    found = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    return [(node.end_lineno or 0) - node.lineno + 1 for node in found]


def main() -> None:
    texts = {path.relative_to(ROOT): path.read_text(encoding="utf-8") for path in ROOT.rglob("*.py")}
    parts: Counter[str] = Counter()
    for path, text in texts.items():
        parts[path.parts[0]] += lines_of_code(text)
    for part, lines in parts.most_common():
        print(f"{lines:7} {part}")
    lengths = [length for text in texts.values() for length in function_lengths(text)]
    print(f"{parts.total()} lines of code in {len(texts)} modules")
    print(
        f"{len(lengths)} functions, median {median(lengths):g} lines, {sum(n > 40 for n in lengths)} over 40"
    )
    found = trace()
    files = {file for file, _ in found.callers}
    print(f"one comparison: {len(found.callers)} functions in {len(files)} files, {len(found.deepest)} deep")
    if "--list" in sys.argv:
        print("\nThe deepest:", *(f"{file} {name}" for file, name in found.deepest), sep="\n  ")
        for function, callers in sorted(found.callers.items()):
            print(*function, "<-", ", ".join(name for _, name in callers))


if __name__ == "__main__":
    main()
