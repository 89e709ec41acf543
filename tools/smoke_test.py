"""Does an installed princdiff work? Run it where the source tree is not on the path.

python smoke_test.py               whatever the engine
python smoke_test.py --compiled    the compiled kernels must be there
python smoke_test.py --numpy       they must not: a wheel or an installation made without a compiler
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

import princdiff
from princdiff.cli import main
from princdiff.kernels import engine


def run(arguments: list[str]) -> None:
    """Compare two small tables in Python and on the command line."""
    wanted = {"--compiled": "compiled", "--numpy": "numpy"}
    found = engine()
    name = "numpy" if found.library is None else "compiled"
    for argument in arguments:
        if name != wanted[argument]:
            raise SystemExit(f"the engine is {name} ({found.reason}), not {wanted[argument]}")
    rng = np.random.default_rng(0)
    before, after = rng.normal(size=(40, 4)), rng.normal(size=(40, 4))
    after[:, 2] += 2
    result = princdiff.compare(before, after, n_permutations=99, random_state=0)
    assert result.pvalue == 0.01, result.pvalue
    assert list(result.selected) == ["x2"], result.selected
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder) / f"{name}.csv") for name in ("before", "after")]
        for path, rows in zip(paths, (before, after), strict=True):
            np.savetxt(path, rows, delimiter=",", header="a,b,c,d", comments="")
        code = main(["compare", *paths, "--permutations", "99", "--fail-below", "0.05", "--quiet"])
        assert code == 1, code
    princdiff.show_config()


if __name__ == "__main__":
    run(sys.argv[1:])
