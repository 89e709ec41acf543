"""By how much selected features differ between two groups, with intervals, in the features' own units.

Of each is shown what changed in it: the mean or proportion, the standard deviation, a quantile, or the share
of one value; see `difference_intervals`.

Features are looked at because they were selected, and the selected ones look larger than they are. So an
interval has the coverage 1 - alpha R / m, where R of m features were selected: of the intervals shown, at
most a share alpha is expected to miss (Benjamini and Yekutieli 2005).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray

from princdiff.data.problem import Problem
from princdiff.inference.column_batches import column_of
from princdiff.inference.difference_intervals import (
    UNKNOWN,
    Difference,
    Sampling,
    effect_interval,
    quantile_interval,
    spread_interval,
)

# Rows that a value must have to be looked at, and for its share to be shown.
FEWEST_ROWS = 5
# Quantiles looked at where the shape differs; the one whose interval is farthest from zero is reported.
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)


def quantile_name(level: float) -> str:
    """What a quantile is called.

    Examples
    --------
    >>> quantile_name(0.5), quantile_name(0.9)
    ('median', '90 % quantile')
    """
    return "median" if level == 0.5 else f"{100 * level:.0f} % quantile"


_QUANTILE_OF = {quantile_name(level): level for level in QUANTILES}


def selected_effects(
    problem: Problem,
    kinds: Mapping[str, str],
    alpha: float = 0.05,
    *,
    values: Mapping[str, float] | None = None,
    filled: Mapping[str, NDArray[np.intp]] | None = None,
) -> pd.DataFrame:
    """Differences of selected features, with intervals that allow for the selection.

    Parameters
    ----------
    problem : Problem
        Rows in memory, of two groups.
    kinds : mapping of str to str
        The selected features, and what changed: "spread" is the standard deviation, "shape" a
        quantile, the name of a quantile this one, anything else the mean or proportion.
    alpha : float, default=0.05
        Share of the intervals that may miss, on average.
    values : mapping of str to float, optional
        Features of which the proportion of one value changed.
    filled : mapping of str to int arrays, optional
        Rows of a feature that were filled, and do not count.

    Returns
    -------
    DataFrame with one row per selected feature, indexed by its name
        ``measure`` ("mean", "proportion", "sd" or a quantile; "proportion of x = 3" for a value; empty for
        a feature that one group has no value of), ``difference`` (second group minus first), ``low``,
        ``high``.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> X[100:, 1] += 1
    >>> problem = Problem.from_arrays(X, np.repeat(["a", "b"], 100))
    >>> selected_effects(problem, {"x1": "shift"}).round(1)
       measure  difference  low  high
    x1    mean         0.8  0.5   1.2
    """
    sampling = Sampling.of(problem)
    coverage = 1 - alpha * len(kinds) / problem.n_features
    place = {name: feature for feature, name in enumerate(problem.names)}
    rows = problem.rows.tocsc() if sp.issparse(problem.rows) else problem.rows
    records = []
    for name, kind in kinds.items():
        column, own = column_of(rows, place[name]), sampling
        if filled and name in filled:
            kept = np.delete(np.arange(len(column)), filled[name])
            column, own = column[kept], sampling.take(kept)
        if not 0 < own.second.sum() < len(own.second):
            # A group without any value.
            records.append(("", UNKNOWN))
        elif values and name in values:
            # It was chosen as the clearest of all values that enough rows have.
            counts = np.unique(column, return_counts=True)[1]
            each = 1 - (1 - coverage) / max(1, int((counts >= FEWEST_ROWS).sum()))
            effect = effect_interval((column == values[name]).astype(np.float64), own, each)
            records.append((f"proportion of {name} = {values[name]:.6g}", effect))
        else:
            records.append(described_effect(column, kind, own, coverage))
    table = pd.DataFrame(
        [(measure, *effect) for measure, effect in records],
        columns=["measure", "difference", "low", "high"],
        index=list(kinds),
    )
    return table


def described_effect(
    values: NDArray[np.float64], kind: str, sampling: Sampling, coverage: float
) -> tuple[str, Difference]:
    """The measure that shows what changed, and its difference.

    Examples
    --------
    >>> values = np.concatenate([np.arange(50.0) - 24.5, 3 * np.arange(50.0) - 73.5])
    >>> measure, effect = described_effect(values, "spread", Sampling(np.arange(100) > 49), 0.95)
    >>> measure, round(effect.estimate, 1)
    ('sd', 28.9)
    """
    if kind == "spread":
        return "sd", spread_interval(values, sampling, coverage)
    # Five quantiles are looked at and one is reported.
    each = 1 - (1 - coverage) / len(QUANTILES)
    if kind in _QUANTILE_OF:
        return kind, quantile_interval(values, _QUANTILE_OF[kind], sampling, each)
    if kind == "shape":
        found = [quantile_interval(values, level, sampling, each) for level in QUANTILES]
        clear = [max(effect.low, -effect.high) / max(effect.high - effect.low, 1e-300) for effect in found]
        best = int(np.nanargmax(clear)) if not np.isnan(clear).all() else len(QUANTILES) // 2
        return quantile_name(QUANTILES[best]), found[best]
    flags = bool(((values == 0) | (values == 1)).all())
    return "proportion" if flags else "mean", effect_interval(values, sampling, coverage)
