"""Store the results of a dozen small analyses, or check that they are still equal to the last digit.

Run it before moving code about, and again after each move:

    python tools/frozen_results.py save before.json
    python tools/frozen_results.py check before.json
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

import princdiff
from princdiff.show.page import render

# Seconds differ from run to run; versions and paths belong to the machine.
LEFT_OUT = {"seconds", "versions", "timings", "created", "elapsed", "platform"}


def numbers(seed: int, rows: int = 90, columns: int = 6, groups: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose second column is shifted in the last group."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(rows, columns)), rng.integers(0, groups, rows)
    X[y == groups - 1, 1] += 0.8
    return X, y


def mixed_table(seed: int = 5, rows: int = 240) -> pd.DataFrame:
    """Numbers, categories, flags and gaps, as in an ordinary file."""
    rng = np.random.default_rng(seed)
    plan = rng.choice(["basic", "plus", "student"], rows, p=[0.6, 0.3, 0.1])
    table = pd.DataFrame({"age": rng.normal(40, 9, rows), "plan": plan, "visits": rng.poisson(2.0, rows)})
    table["late"] = rng.random(rows) < 0.2
    table["year"] = np.repeat(["2023", "2024"], rows // 2)
    table.loc[table.year == "2024", "age"] += 4
    table.loc[rng.random(rows) < 0.05, "age"] = np.nan
    return table


def fitted(model: Any) -> dict[str, Any]:
    """What a fit left on an estimator."""
    return {name: value for name, value in vars(model).items() if name.endswith("_") and name[0] != "_"}


def single_cells() -> dict[str, Any]:
    """Tables that `tl.pda` leaves in an AnnData object."""
    import anndata

    rng = np.random.default_rng(8)
    counts = sparse.csr_matrix(rng.poisson(1.0, (120, 10)).astype(float))
    obs = pd.DataFrame({"kind": np.repeat(["a", "b"], 60)}, index=[f"c{i}" for i in range(120)])
    cells = anndata.AnnData(counts, obs=obs, var=pd.DataFrame(index=[f"g{i}" for i in range(10)]))
    princdiff.tl.pda(cells, "kind", n_permutations=19)
    return {"uns": cells.uns["pda"], "var": cells.var, "obs": cells.obs}


def analyses() -> dict[str, Callable[[], Any]]:
    """Every analysis by name."""
    X, y = numbers(0)
    X3, y3 = numbers(1, groups=3)
    few, unequal = numbers(2, rows=60)
    unequal = (np.arange(60) >= 50).astype(int)
    weights = np.random.default_rng(3).uniform(0.5, 2.0, 90)
    donors, strata = np.repeat(np.arange(18), 5), np.arange(90) % 6
    whole = (donors % 2).astype(int)
    rounded = sparse.csr_matrix(np.where(np.abs(X) > 1, np.round(X), 0))
    table = mixed_table()
    test = {"n_permutations": 39, "random_state": 0}
    return {
        "compare dense": lambda: princdiff.compare(X, groups=y, **test).to_dict(),
        "compare sparse": lambda: princdiff.compare(rounded, groups=y, **test).to_dict(),
        "compare weights": lambda: princdiff.compare(X, groups=y, sample_weight=weights, **test).to_dict(),
        "compare strata": lambda: princdiff.compare(X, groups=y, blocks=strata, **test).to_dict(),
        "compare donors": lambda: princdiff.compare(X, groups=whole, blocks=donors, **test).to_dict(),
        "compare three groups": lambda: princdiff.compare(X3, groups=y3, **test).to_dict(),
        "compare unequal groups": lambda: princdiff.compare(few, groups=unequal, **test).to_dict(),
        "compare within": lambda: princdiff.compare(X, groups=y, scale="within", **test).to_dict(),
        "compare covariates": lambda: princdiff.compare(
            X[:, 1:], groups=y, covariates=X[:, :1], **test
        ).to_dict(),
        "compare mixed": lambda: princdiff.compare(table, groups="year", missing="impute", **test).to_dict(),
        "compare directions": lambda: princdiff.compare(
            X, groups=y, n_components=2, config=princdiff.Config(show_rows=2), **test
        ).to_dict(),
        "page": lambda: len(render(princdiff.compare(table, groups="year", missing="drop", **test))),
        "groups": lambda: princdiff.compare_groups(X3, groups=y3, **test).to_dict(),
        "permutation_test": lambda: princdiff.permutation_test(X, y, **test),
        "permutation_test paper": lambda: princdiff.permutation_test(X, y, statistic="divergence", **test),
        "select_features": lambda: princdiff.select_features(X, y, **test),
        "select explanation": lambda: princdiff.select_features(X, y, goal="explanation", **test),
        "split_test": lambda: princdiff.split_test(X, y, **test),
        "stability": lambda: princdiff.stability_selection(X, y, n_features=2, random_state=0),
        "paired_test": lambda: princdiff.paired_test(X[:45], X[45:], **test),
        "relax": lambda: princdiff.relax(X, y, random_state=0),
        "PDA": lambda: fitted(princdiff.PDA(random_state=0).fit(X, y)),
        "PDA sparse": lambda: fitted(princdiff.PDA(random_state=0, scale="pooled").fit(rounded, y)),
        "SPARDA": lambda: fitted(princdiff.SPARDA(random_state=0).fit(X3, y3)),
        "SPARDA energy": lambda: fitted(
            princdiff.SPARDA(n_features=2, divergence="energy", random_state=0).fit(X, y)
        ),
        "densities": lambda: {
            name: fitted(princdiff.PDA(divergence=name, random_state=0).fit(few, unequal))
            for name in (
                "kullback_leibler",
                "jensen_shannon",
                "hellinger",
                "total_variation",
                "kolmogorov_smirnov",
            )
        },
        "tl.pda": single_cells,
    }


def plain(value: Any) -> Any:
    """The same as text, lists and dicts, without loss: floats as hexadecimal."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value) if f.name not in LEFT_OUT
        }
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items() if key not in LEFT_OUT}
    if isinstance(value, (pd.DataFrame, pd.Series)):
        return plain(value.to_dict())
    if isinstance(value, (list, tuple, set, np.ndarray)):
        return [plain(item) for item in value]
    if isinstance(value, (float, np.floating)):
        return float(value).hex()
    if isinstance(value, (bool, int, str, np.bool_, np.integer)) or value is None:
        return str(value)
    return type(value).__name__


def differences(before: Any, after: Any, place: str) -> list[str]:
    """Places at which two stored results are not equal."""
    if isinstance(before, dict) and isinstance(after, dict):
        return [
            found
            for key in sorted({*before, *after})
            for found in differences(before.get(key, "absent"), after.get(key, "absent"), f"{place}.{key}")
        ]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = zip(before, after, strict=True)
        return [found for i, (a, b) in enumerate(pairs) for found in differences(a, b, f"{place}[{i}]")]
    return [] if before == after else [f"{place}: {str(before)[:60]} -> {str(after)[:60]}"]


def main() -> int:
    """Save or check; exit code 1 where something changed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("action", choices=["save", "check"])
    parser.add_argument("file", type=Path)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    found = {name: plain(run()) for name, run in analyses().items()}
    if args.action == "save":
        args.file.write_text(json.dumps(found), encoding="utf-8")
        print(f"{len(found)} results stored in {args.file}")
        return 0
    stored = json.loads(args.file.read_text(encoding="utf-8"))
    changed = {name: differences(stored.get(name), found.get(name), name) for name in {*stored, *found}}
    changed = {name: places for name, places in changed.items() if places}
    for places in changed.values():
        print(*places[:5], sep="\n")
    print(f"{len(found) - len(changed)} of {len(found)} results are equal to the last digit")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
