"""How much of the package one comparison walks through: functions, files and depth, of its own code only.

python tools/trace_compare.py [--list]
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pandas as pd

import princdiff

ROOT = str(Path(princdiff.__file__).parent)


class Trace:
    """Functions that were entered, and how many of them stood on each other."""

    def __init__(self) -> None:
        self.functions: set[tuple[str, str]] = set()
        self.depth = self.deepest = 0

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if not code.co_filename.startswith(ROOT) or code.co_name.startswith("<"):
            return
        if event == "call":
            self.functions.add((code.co_filename, code.co_qualname))
            self.depth += 1
            self.deepest = max(self.deepest, self.depth)
        elif event == "return":
            self.depth -= 1


def main() -> None:
    rng = np.random.default_rng(0)
    before, after = (pd.DataFrame(rng.normal(size=(600, 7)), columns=list("abcdefg")) for _ in range(2))
    after["b"] += 0.3
    trace = Trace()
    sys.setprofile(trace)
    princdiff.compare(before, after, random_state=0)
    sys.setprofile(None)
    files = {file for file, _ in trace.functions}
    print(f"{len(trace.functions)} functions in {len(files)} files, {trace.deepest} deep")
    if "--list" in sys.argv:
        for file, name in sorted(trace.functions):
            print(file.removeprefix(ROOT), name)


if __name__ == "__main__":
    main()
