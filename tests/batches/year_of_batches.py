"""A year of batches in which one thing after the other changes; compared once for all tests."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

from princdiff import BatchesResult, compare_batches


def made_up_year(rows: int = 1200) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    days = pd.date_range("2024-01-01", "2024-07-10", periods=rows)
    table = pd.DataFrame(
        {
            "day": days,
            "month": days.month,
            "size": rng.normal(50, 10, rows),
            "plan": rng.choice(["free", "pro"], rows),
            "open": rng.integers(0, 2, rows),
        }
    )
    table.loc[days >= "2024-04-01", "size"] += 12
    table.loc[(days >= "2024-05-01") & (rng.random(rows) < 0.3), "plan"] = "trial"
    table.loc[(days >= "2024-05-01") & (days < "2024-06-01"), "open"] = 1
    return table


@cache
def compared_year() -> BatchesResult:
    return compare_batches(made_up_year(), time="day", reference=2, n_permutations=199, band=False)
