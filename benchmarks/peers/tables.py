"""Large tables: scanpy's rank_genes_groups, evidently's drift report and alibi-detect beside us, in seconds.

Cells: 3000 cells x 10 000 genes, sparse counts, two groups that differ in 50 genes. Rows: 250 000 rows x 20
columns in which only a correlation differs. Most of these peers look at one column at a time, so they do
another, smaller piece of work: the table says what each can answer. Processor time, one thread.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from benchmarks import sections
from princdiff import SPARDA
from princdiff.statistics.split import split_test

SETTINGS = {
    "full": {"cells": (3000, 10_000), "rows": 250_000},
    "quick": {"cells": (300, 500), "rows": 4000},
}
N_CHANGED, CORRELATION = 50, 0.5
# alibi-detect needs NumPy below 2: `make peers` gives it an environment of its own.
ALIBI_PYTHON = sections.HERE.parent / "build" / "alibi" / "bin" / "python"


def make_cells(shape: tuple[int, int], rng: np.random.Generator) -> tuple[sp.csr_matrix, np.ndarray]:
    """Sparse log counts of two groups; the first genes are twice as frequent in the second group."""
    rates = rng.gamma(0.3, 0.4, size=shape[1])
    rates[:N_CHANGED] = 0.5
    half = shape[0] // 2
    second = rates.copy()
    second[:N_CHANGED] *= 2
    blocks = [sp.csr_matrix(rng.poisson(rate, size=(half, shape[1]))) for rate in (rates, second)]
    counts = sp.vstack(blocks).astype(np.float32).tocsr()
    counts.data = np.log1p(counts.data)
    return counts, np.repeat(["a", "b"], half)


def make_rows(n: int, rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
    """Standard normal margins everywhere; two columns are correlated in the second half."""
    X = rng.standard_normal((n, 20))
    half = n // 2
    X[half:, 1] = CORRELATION * X[half:, 0] + np.sqrt(1 - CORRELATION**2) * X[half:, 1]
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(20)]), np.repeat([0, 1], half)


def timed(function: Callable[[], Any]) -> tuple[Any, float]:
    spent = []
    # Twice: what scanpy compiles, it compiles at the first call.
    for _ in range(2):
        begin = time.process_time()
        result = function()
        spent.append(time.process_time() - begin)
    return result, min(spent)


def cells_table(section: sections.Section, shape: tuple[int, int], seed: int) -> None:
    X, y = make_cells(shape, np.random.default_rng([23, seed]))
    rows = []
    fit, seconds = timed(
        lambda: SPARDA(N_CHANGED, certify=False, random_state=seed, n_jobs=1).fit(X, y)
    )  # fmt: skip
    ours = seconds
    rows.append(["princdiff SPARDA", f"{seconds:.2f}", "1", f"{int(fit.support_[:N_CHANGED].sum())}", "yes"])
    if find_spec("scanpy"):
        import anndata
        import scanpy

        for method in ("t-test", "wilcoxon", "logreg"):
            adata = anndata.AnnData(X, obs=pd.DataFrame({"group": pd.Categorical(y)}))
            adata.uns["log1p"] = {"base": None}

            def rank(adata: Any = adata, method: str = method) -> Any:
                scanpy.tl.rank_genes_groups(adata, "group", method=method)
                return adata

            ranked, seconds = timed(rank)
            names = ranked.uns["rank_genes_groups"]["names"]
            # Of two groups logreg reports one, whose scores are those of the second group.
            group = "b" if "b" in names.dtype.names else names.dtype.names[0]
            top = names[group][:N_CHANGED].astype(int)
            rows.append(
                [
                    f"scanpy, {method}",
                    f"{seconds:.2f}",
                    f"{seconds / ours:.2f}",
                    f"{int((top < N_CHANGED).sum())}",
                    None,
                ]
            )
    else:
        rows.append(["scanpy", None, None, None, None])
    section.say(f"{shape[0]} cells x {shape[1]} genes, sparse; {N_CHANGED} genes differ in their means:")
    section.table(
        [
            "method",
            "seconds",
            "time / ours",
            f"changed genes among its first {N_CHANGED}",
            "a joint direction",
        ],
        rows,
    )
    faster = [row[0] for row in rows[1:] if row[2] and float(row[2]) < 1]
    if faster:
        section.say(f"**Faster than ours**: {', '.join(faster)}; each ranks genes one at a time.")


def rows_table(section: sections.Section, n: int, seed: int) -> None:
    frame, y = make_rows(n, np.random.default_rng([29, seed]))
    half = n // 2
    X = frame.to_numpy()
    fit, seconds = timed(
        lambda: SPARDA(2, effort="fast", certify=False, random_state=seed, n_jobs=1).fit(X, y)
    )
    ours = seconds
    named = ", ".join(frame.columns[fit.support_])
    rows = [["princdiff SPARDA, 2 features, fast", f"{seconds:.1f}", "1", named, None]]
    test, seconds = timed(lambda: split_test(X, y, n_splits=1, random_state=seed, n_jobs=1))
    rows.append(
        [
            "princdiff split_test",
            f"{seconds:.1f}",
            f"{seconds / ours:.2f}",
            "a direction",
            f"{test.pvalue:.3g}",
        ]
    )
    if find_spec("evidently"):
        from evidently import Report
        from evidently.presets import DataDriftPreset

        report, seconds = timed(
            lambda: Report([DataDriftPreset()]).run(frame.iloc[half:], frame.iloc[:half]).dict()
        )
        drifted = int(report["metrics"][0]["value"]["count"])
        rows.append(
            [
                "evidently, data drift",
                f"{seconds:.1f}",
                f"{seconds / ours:.2f}",
                f"{drifted} drifted columns" if drifted else None,
                None,
            ]
        )
    else:
        rows.append(["evidently", None, None, None, None])
    rows += alibi_rows(X[:half], X[half:], ours)
    section.say(
        f"{n} rows x 20 columns; all margins equal, x0 and x1 correlated ({CORRELATION}) in one half only. A "
        "dash: does not see it or has no such answer."
    )
    section.table(["method", "seconds", "time / ours", "what differs", "p-value"], rows)


def alibi_rows(reference: np.ndarray, rows: np.ndarray, ours: float) -> list[list[str | None]]:
    """What alibi-detect finds, in its own environment; a dash where that was not made."""
    if not ALIBI_PYTHON.exists():
        return [["alibi-detect (its environment, build/alibi, was not made)", None, None, None, None]]
    with tempfile.TemporaryDirectory() as folder:
        tables = Path(folder) / "tables.npz"
        np.savez(tables, reference=reference, rows=rows)
        words = [str(ALIBI_PYTHON), str(Path(__file__).with_name("alibi_drift.py")), str(tables)]
        done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    told = {"KSDrift": "{} drifted columns", "ClassifierDrift": "the tables"}
    return [
        [
            f"alibi-detect, {name}",
            f"{own['seconds']:.1f}",
            f"{own['seconds'] / ours:.2f}",
            told[name].format(own["drifted"]) if own["drifted"] else None,
            f"{own['pvalue']:.3g}" if own["drifted"] else None,
        ]
        for name, own in found.items()
    ]


def main(argv: Sequence[str] | None = None) -> None:
    options = sections.parse(__doc__, argv, seeds=1, quick_seeds=1)
    settings = SETTINGS["quick" if options.quick else "full"]
    warnings.simplefilter("ignore")
    title = "Peers: large tables (scanpy, evidently, alibi-detect)"
    section = sections.Section("peers-tables", title, options)
    with threadpool_limits(1):
        cells_table(section, settings["cells"], options.first_seed)
        rows_table(section, settings["rows"], options.first_seed)
    section.write()


if __name__ == "__main__":
    main()
