"""What changed most clearly in a number, so that the words tell what the test saw.

A column is named by several statistics of its own distribution. How large a shift or a change of spread is
say the parts of the squared Wasserstein distance; but one outlier can rule these, and a value that became
frequent (a price of 1.00, a count of zero) moves neither mean nor spread by much. So where another statistic
speaks far more clearly than the one behind the largest part, the words follow it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from princdiff.data.column_ranks import normal_quantiles
from princdiff.result.effects import beyond_chance, is_stepped, level_effects, rows_that_count
from princdiff.selection.intervals import FEWEST_ROWS, QUANTILES, quantile_name
from princdiff.statistics.feature_columns import MOST_VALUES, STATISTICS
from princdiff.words.readable_figures import clearest_groups

# How much a statistic's score counts, on the scale of log p-values: a shift is easier to picture than the
# share of a value, and both than a change of shape, which every clear difference shows too.
_EASY = {"shift": 1.0, "spread": 1.0, "value": 0.8, "shape": 0.5}
# The kind of the largest part is kept if its score is this part of the largest.
_AS_CLEAR = 0.8
# Of a number that is almost always the same, the share of that value is shown.
_ALMOST_ALWAYS = 0.9
# The mean is shown, and not the median, where its score is this part of that of the ranks.
_MEAN_SEEN = 0.57
# The median is shown, and no other quantile, unless the whole distribution speaks so many times as clearly.
_MORE_THAN_A_SHIFT = 2.0
# A move of a quantile counts beside the distance of the quantiles that are this much lower and higher.
_NEARBY = 0.05
_BEHIND = {
    "shift": ("mean", "ranks"),
    "spread": ("spread",),
    "shape": ("smooth",),
    "value": ("frequent value", "all values", "one value"),
}


class Change(NamedTuple):
    """What is shown of a number.

    Attributes
    ----------
    kind : {"shift", "spread", "shape", "value"}
        What changed; "value": the share of one value.
    measure : str
        What the figures are: a quantile or "share"; empty: the mean or standard deviation.
    figures : list of float
        Of each group, where there is a measure.
    effect : float or None
        In standard deviations, if it is another than that of the parts.
    value : float or None
        The value whose share changed.
    """

    kind: str
    measure: str = ""
    figures: list[float] = []
    effect: float | None = None
    value: float | None = None


def clearest_kind(kind: str, scores: NDArray[np.float64]) -> str:
    """The kind of change that is shown.

    Parameters
    ----------
    kind : str
        Of the largest part of the difference, or "-".
    scores : array of shape (n_statistics,)
        -log of an approximate p-value of each of `STATISTICS`.

    Returns
    -------
    str

    Examples
    --------
    >>> clearest_kind("spread", np.array([1.0, 2.0, 30.0, 9.0, 12.0, 28.0, 35.0]))
    'value'
    >>> clearest_kind("spread", np.array([1.0, 30.0, 0.0, 9.0, 28.0, 0.0, 0.0]))
    'spread'
    >>> clearest_kind("spread", np.array([28.0, 30.0, 0.0, 29.0, 28.0, 0.0, 0.0]))
    'shift'
    >>> clearest_kind("shift", np.array([8.0, 30.0, 0.0, 9.0, 8.0, 0.0, 0.0]))
    'shift'
    """
    if scores.max() <= 0:
        return kind
    clear = _clarity(scores)
    best = max(clear, key=lambda name: clear[name])
    if kind == "spread" and clear["shift"] >= _AS_CLEAR * clear[best]:
        # Money that grows spreads as it grows, and what it was on average is asked for first.
        return "shift"
    if kind == "shift" and best == "spread":
        # A few rows far away: however clearly they spread otherwise, where they are is the news.
        return kind
    return kind if clear.get(kind, 0.0) >= _AS_CLEAR * clear[best] else best


def _clarity(scores: NDArray[np.float64]) -> dict[str, float]:
    """How clearly each kind of change speaks."""
    own = dict(zip(STATISTICS, scores.tolist(), strict=True))
    return {
        name: _EASY[name] * max(own[statistic] for statistic in behind) for name, behind in _BEHIND.items()
    }


def clearest_change(
    values: NDArray[np.float64],
    codes: NDArray[np.uint8],
    weights: NDArray[np.float64] | None,
    kind: str,
    scores: NDArray[np.float64],
) -> Change | None:
    """What is shown of one number; None where the parts of the difference and its means say it.

    Parameters
    ----------
    values : array of shape (n_rows,)
        The number.
    codes : array of shape (n_rows,)
        Group of each row.
    weights : array of shape (n_rows,) or None
        Row weights.
    kind : str
        Of the largest part of the difference, or "-".
    scores : array of shape (n_statistics,)
        As in `clearest_kind`.

    Returns
    -------
    Change or None

    Examples
    --------
    >>> values = np.repeat([1.0, 5.0, 1.0, 5.0], [9, 1, 2, 8])
    >>> codes = np.repeat([0, 1], 10).astype(np.uint8)
    >>> change = clearest_change(values, codes, None, "-", np.array([1.0, 1.0, 9.0, 1.0, 1.0, 1.0, 9.0]))
    >>> change.kind, change.value, change.figures
    ('value', 5.0, [0.1, 0.8])
    """
    own = dict(zip(STATISTICS, scores.tolist(), strict=True))
    shown = clearest_kind(kind, scores)
    if shown == "value" or (shown in _BEHIND and _is_of_values(values, shown, own)):
        return _changed_value(values, codes, weights)
    by_ranks = shown == "shift" and own["mean"] < _MEAN_SEEN * own["ranks"]
    if shown == kind and not by_ranks and kind != "shape":
        return None
    effect = None
    clear = _clarity(scores)
    if shown != kind and clear.get(kind, 0.0) < _AS_CLEAR * max(clear.values()):
        effect = float(np.sqrt(beyond_chance(normal_quantiles(values)[None], codes, weights).total[0]))
    if shown == "shape" or by_ranks:
        # A shift that the median hardly shows, and the whole distribution does, is one of other quantiles.
        elsewhere = shown == "shape" or own["smooth"] > _MORE_THAN_A_SHIFT * own["ranks"]
        for levels in (QUANTILES,) if elsewhere else ((0.5,), QUANTILES):
            measure, figures = _changed_quantile(values, codes, weights, levels)
            if max(figures) > min(figures):
                return Change(shown, measure, figures, effect)
        # No quantile moves, and what ranks saw is not in the mean.
        return _changed_value(values, codes, weights)
    return Change(shown, effect=effect)


def _is_of_values(values: NDArray[np.float64], shown: str, scores: dict[str, float]) -> bool:
    """Whether a change of shape or spread is better told by the share of one value.

    So it is of a number of steps, where the shape changed or the values speak at least as clearly as the
    spread, and of one that takes the same value in most rows. A shift of the latter, too, is one of that
    share where the share speaks as clearly: its mean and spread are those of a few rows.
    """
    of_values = max(scores[name] for name in _BEHIND["value"])
    if shown == "shift" and of_values < _AS_CLEAR * max(scores[name] for name in _BEHIND["shift"]):
        return False
    stepped = shown != "shift" and is_stepped(values)
    if shown == "shape":
        return stepped
    if stepped and of_values >= scores["spread"] > 0:
        return True
    counts = np.unique(values, return_counts=True)[1]
    return bool(counts.max() >= _ALMOST_ALWAYS * len(values))


def _changed_value(
    values: NDArray[np.float64], codes: NDArray[np.uint8], weights: NDArray[np.float64] | None
) -> Change:
    """The value whose share changed most beside its chance error."""
    distinct, place = np.unique(values, return_inverse=True)
    n_groups = int(codes.max()) + 1
    mass = np.ones(len(values)) if weights is None else weights
    table = np.bincount(place * n_groups + codes, mass, len(distinct) * n_groups).reshape(-1, n_groups).T
    shares = table / table.sum(axis=1, keepdims=True)
    single, whole = level_effects(shares, codes, weights)
    # A value of a handful of rows shows nothing; of values that differ alike, the one that moved most.
    seen = np.bincount(place) >= FEWEST_ROWS
    single = np.where(seen, single, 0.0) if seen.any() else single
    best = int(np.lexsort((np.ptp(shares, axis=0), single.round(6)))[-1])
    # Of a few values all count, as levels of a category do.
    effect = max(float(single[best]), whole if len(distinct) <= MOST_VALUES else 0.0)
    return Change("value", "share", shares[:, best].tolist(), effect, float(distinct[best]))


def _changed_quantile(
    values: NDArray[np.float64],
    codes: NDArray[np.uint8],
    weights: NDArray[np.float64] | None,
    levels: tuple[float, ...],
) -> tuple[str, list[float]]:
    """The quantile that moved most clearly, beside how far rows lie apart where it is."""
    rows = rows_that_count(codes, weights, int(codes.max()) + 1).tolist()
    found: dict[float, list[float]] = {}
    moved: dict[float, tuple[bool, float]] = {}
    for level in levels:
        figures = [
            float(weighted_quantiles(values[own], None if weights is None else weights[own], level))
            for own in (codes == code for code in range(int(codes.max()) + 1))
        ]
        around = weighted_quantiles(values, weights, level + np.array([-_NEARBY, _NEARBY]))
        found[level] = figures
        apart = clearest_groups(figures, rows)
        clarity = 0.0 if apart is None else apart.clarity
        width = float(around[1] - around[0])
        # Where all rows nearby have one value, any move is clearer than where they have many.
        moved[level] = (width == 0 and clarity > 0, clarity / width if width > 0 else clarity)
    best = max(moved, key=lambda level: moved[level])
    return quantile_name(best), found[best]


def weighted_quantiles(
    values: NDArray[np.float64], weights: NDArray[np.float64] | None, levels: NDArray[np.float64] | float
) -> Any:
    """Quantiles at one level or several: values of rows where these have weights, between rows otherwise."""
    if weights is None:
        return np.quantile(values, levels)
    return np.quantile(values, levels, weights=weights, method="inverted_cdf")
