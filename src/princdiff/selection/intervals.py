"""The difference of one feature between two groups, and its interval, in the feature's own unit.

A difference of means (Welch), of proportions for zeros and ones (Newcombe), of standard deviations, or of a
quantile (Woodruff): over donors where whole blocks were drawn, within pairs or strata where rows were, and at
equal covariates where there are any.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from princdiff.data.problem import Problem
from princdiff.labellings.covariates import covariate_terms
from princdiff.statistics.column_batches import column_of


class Difference(NamedTuple):
    """A difference and its interval: second group minus first."""

    estimate: float
    low: float
    high: float


UNKNOWN = Difference(np.nan, np.nan, np.nan)


def spread_interval(values: NDArray[np.float64], sampling: Sampling, coverage: float = 0.95) -> Difference:
    """Difference of standard deviations.

    The standard deviation is, to first order, the mean of (x - mean)^2 / (2 sd) + sd / 2 over the rows.

    Examples
    --------
    >>> values = np.concatenate([np.arange(50.0), 2 * np.arange(50.0)])
    >>> round(spread_interval(values, Sampling(np.arange(100) > 49)).estimate, 2)
    14.43
    """
    influence = np.empty(len(values))
    for own in sampling.groups:
        weights = sampling.mass[own]
        mean = np.average(values[own], weights=weights)
        spread = np.sqrt(np.average((values[own] - mean) ** 2, weights=weights))
        if spread == 0:
            influence[own] = 0.0
            continue
        influence[own] = (values[own] - mean) ** 2 / (2 * spread) + spread / 2
    return effect_interval(influence, replace(sampling, covariates=None), coverage)


def quantile_interval(
    values: NDArray[np.float64], level: float, sampling: Sampling, coverage: float = 0.95
) -> Difference:
    """Difference of a quantile: each group's interval from that of its distribution function (Woodruff).

    Examples
    --------
    >>> values = np.concatenate([np.arange(101.0), np.arange(101.0) + 40])
    >>> quantile_interval(values, 0.5, Sampling(np.arange(202) > 100)).estimate
    40.0
    """
    parts = []
    for own in sampling.groups:
        blocks = sampling.blocks[own] if sampling.blocks is not None and sampling.whole else None
        parts.append(_quantile(values[own], sampling.mass[own], blocks, level, coverage))
    (first, first_low, first_high), (second, second_low, second_high) = parts
    estimate = second - first
    # Groups that share pairs or strata go together, which makes this a little too wide.
    down = np.hypot(second - second_low, first_high - first)
    up = np.hypot(second_high - second, first - first_low)
    return Difference(float(estimate), float(estimate - down), float(estimate + up))


def _quantile(
    values: NDArray, weights: NDArray, blocks: NDArray[np.intp] | None, level: float, coverage: float
) -> Difference:
    order = np.argsort(values, kind="stable")
    ranked, mass = values[order], weights[order]
    share = np.cumsum(mass) / mass.sum()

    def at(probability: float) -> float:
        place = min(int(np.searchsorted(share, probability - 1e-12)), len(ranked) - 1)
        return float(ranked[place])

    estimate = at(level)
    below = values <= estimate
    if blocks is None:
        count = weights.sum() ** 2 / (weights**2).sum()
        error, reach = np.sqrt(level * (1 - level) / count), ndtri((1 + coverage) / 2)
    else:
        _, block = np.unique(blocks, return_inverse=True)
        count = float(block.max() + 1)
        if count < 2:
            return UNKNOWN
        parts = np.bincount(block, weights * (below - np.average(below, weights=weights))) / weights.sum()
        error, reach = (
            np.sqrt((parts**2).sum() * count / (count - 1)),
            stdtrit(count - 1, (1 + coverage) / 2),
        )
    step = 1 / len(values)
    low, high = level - reach * error - step, level + reach * error + step
    # Beyond the extremes nothing is known.
    return Difference(estimate, at(low) if low > 0 else -np.inf, at(high) if high < 1 else np.inf)


@dataclass(frozen=True)
class Sampling:
    """How the rows of two groups came about.

    Attributes
    ----------
    second : bool array of shape (n_rows,)
        Whether a row belongs to the second group.
    weights : array of shape (n_rows,), optional
        Row weights.
    blocks : int array of shape (n_rows,), optional
        Block of each row.
    whole : bool
        Whether blocks were drawn (donors, repeated persons); otherwise rows are compared within their block.
    covariates : array of shape (n_rows, n_covariates), optional
        Numbers that are held equal.
    """

    second: NDArray[np.bool_]
    weights: NDArray[np.float64] | None = None
    blocks: NDArray[np.intp] | None = None
    whole: bool = False
    covariates: NDArray[np.float64] | None = None

    @property
    def groups(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """The rows of the first group, and of the second."""
        return ~self.second, self.second

    @cached_property
    def mass(self) -> NDArray[np.float64]:
        """Weight of each row."""
        return np.ones(len(self.second)) if self.weights is None else self.weights

    def take(self, rows: NDArray[np.intp]) -> Sampling:
        """Some of the rows."""
        return Sampling(
            self.second[rows],
            None if self.weights is None else self.weights[rows],
            # Without gaps in their numbers: blocks without a row left do not count.
            None if self.blocks is None else np.unique(self.blocks[rows], return_inverse=True)[1],
            self.whole,
            None if self.covariates is None else self.covariates[rows],
        )

    @classmethod
    def of(cls, problem: Problem) -> Sampling:
        """The sampling of a problem with two groups."""
        return cls(
            problem.codes == 1,
            problem.weights,
            problem.blocks,
            problem.permute in ("whole", "mixed"),
            problem.covariates,
        )


def effect_interval(values: NDArray, sampling: Sampling, coverage: float = 0.95) -> Difference:
    """Difference of one feature between two groups.

    Parameters
    ----------
    values : array of shape (n_rows,)
        The feature.
    sampling : Sampling
        Groups, and how rows were drawn.
    coverage : float, default=0.95
        Of the interval.

    Returns
    -------
    Difference
        NaN where there are too few rows, or blocks, to tell.

    Examples
    --------
    >>> effect = effect_interval(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), Sampling(np.arange(6) > 2))
    >>> [round(number, 2) for number in effect]
    [3.0, 0.73, 5.27]
    """
    values = np.asarray(values, dtype=np.float64)
    if sampling.covariates is not None:
        return _at_equal_covariates(values, sampling, coverage)
    if sampling.blocks is not None and sampling.whole:
        return _over_blocks(values, sampling, coverage)
    if sampling.blocks is not None:
        return _within_blocks(values, sampling, coverage)
    parts = [(values[own], sampling.mass[own]) for own in sampling.groups]
    if ((values == 0) | (values == 1)).all():
        return _proportions(parts, coverage)
    return _means(parts, coverage)


def _means(parts: list[tuple[NDArray, NDArray]], coverage: float) -> Difference:
    """Welch's interval; weighted rows count as many as their weights are worth."""
    means, variances, degrees = [], [], []
    for values, weights in parts:
        count = weights.sum() ** 2 / (weights**2).sum()
        if count <= 1:
            return UNKNOWN
        mean = np.average(values, weights=weights)
        spread = np.average((values - mean) ** 2, weights=weights) * count / (count - 1)
        means.append(mean)
        variances.append(spread / count)
        degrees.append(count - 1)
    return _student(means[1] - means[0], np.array(variances), np.array(degrees), coverage)


def _student(
    estimate: float, variances: NDArray[np.float64], degrees: NDArray[np.float64], coverage: float
) -> Difference:
    """Interval of a sum of independent parts, with Satterthwaite's degrees of freedom."""
    variance = variances.sum()
    if not variance > 0:
        return Difference(float(estimate), float(estimate), float(estimate))
    freedom = variance**2 / (variances**2 / degrees).sum()
    reach = stdtrit(freedom, (1 + coverage) / 2) * np.sqrt(variance)
    return Difference(float(estimate), float(estimate - reach), float(estimate + reach))


def _proportions(parts: list[tuple[NDArray, NDArray]], coverage: float) -> Difference:
    """Newcombe's interval for a difference of proportions, from Wilson's for each."""
    z = ndtri((1 + coverage) / 2)
    shares, lows, highs = [], [], []
    for values, weights in parts:
        count = weights.sum() ** 2 / (weights**2).sum()
        share = np.average(values, weights=weights)
        centre = (share + z**2 / (2 * count)) / (1 + z**2 / count)
        reach = z * np.sqrt(share * (1 - share) / count + z**2 / (4 * count**2)) / (1 + z**2 / count)
        shares.append(share)
        lows.append(max(0.0, centre - reach))
        highs.append(min(1.0, centre + reach))
    estimate = shares[1] - shares[0]
    down = np.hypot(shares[1] - lows[1], highs[0] - shares[0])
    up = np.hypot(highs[1] - shares[1], shares[0] - lows[0])
    return Difference(float(estimate), float(estimate - down), float(estimate + up))


def _over_blocks(values: NDArray, sampling: Sampling, coverage: float) -> Difference:
    """Blocks are what was drawn: the rows of one say the same thing many times."""
    assert sampling.blocks is not None
    weights = sampling.mass
    n_blocks = int(sampling.blocks.max()) + 1
    means, shares, present = [], [], []
    for own in sampling.groups:
        mean = np.average(values[own], weights=weights[own])
        means.append(mean)
        # What each block adds to the mean of its group.
        added = np.bincount(sampling.blocks[own], weights[own] * (values[own] - mean), n_blocks)
        shares.append(added / weights[own].sum())
        present.append(np.bincount(sampling.blocks[own], minlength=n_blocks) > 0)
    counts = np.array([own.sum() for own in present])
    if counts.min() < 2:
        return UNKNOWN
    if (present[0] & present[1]).any():
        # What a block adds to both groups varies together.
        count = int((present[0] | present[1]).sum())
        variance = np.array([((shares[1] - shares[0]) ** 2).sum() * count / (count - 1)])
        return _student(means[1] - means[0], variance, np.array([count - 1.0]), coverage)
    variances = np.array([(own**2).sum() for own in shares]) * counts / (counts - 1)
    return _student(means[1] - means[0], variances, counts - 1.0, coverage)


def _within_blocks(values: NDArray, sampling: Sampling, coverage: float) -> Difference:
    """Differences within blocks, averaged; blocks without rows of both groups say nothing."""
    assert sampling.blocks is not None
    n_blocks = int(sampling.blocks.max()) + 1
    mass, means, noise, fewest = [], [], [], []
    for own in sampling.groups:
        block, weight, value = sampling.blocks[own], sampling.mass[own], values[own]
        total = np.bincount(block, weight, n_blocks)
        mean = np.bincount(block, weight * value, n_blocks) / np.where(total > 0, total, 1.0)
        worth = total**2 / np.maximum(np.bincount(block, weight**2, n_blocks), 1e-300)
        spread = np.bincount(block, weight * (value - mean[block]) ** 2, n_blocks) / np.where(
            total > 0, total, 1.0
        )
        mass.append(total)
        means.append(mean)
        noise.append(spread / np.maximum(worth - 1, 1e-9))
        fewest.append(np.bincount(block, minlength=n_blocks))
    usable = (mass[0] > 0) & (mass[1] > 0)
    if not usable.any():
        return UNKNOWN
    share = (mass[0] * mass[1] / np.maximum(mass[0] + mass[1], 1e-300))[usable]
    share /= share.sum()
    gaps = (means[1] - means[0])[usable]
    estimate = float(share @ gaps)
    counts = np.minimum(fewest[0], fewest[1])[usable]
    if counts.min() >= 2:
        # Strata: the rows inside them say how sure the differences are.
        parts = [share**2 * noise[group][usable] for group in range(2)]
        freedom = [fewest[group][usable] - 1.0 for group in range(2)]
        return _student(estimate, np.concatenate(parts), np.concatenate(freedom), coverage)
    count = len(gaps)
    if count < 2:
        return UNKNOWN
    variance = (share**2 * (gaps - estimate) ** 2).sum() * count / (count - 1)
    return _student(estimate, np.array([variance]), np.array([count - 1.0]), coverage)


def _at_equal_covariates(values: NDArray, sampling: Sampling, coverage: float) -> Difference:
    """Weighted least squares on group, covariates and strata; variances may differ between rows (HC3).

    Where whole blocks were drawn, rows of one say the same thing many times: their errors are added up.
    """
    assert sampling.covariates is not None
    columns = [
        np.ones(len(values)),
        sampling.second.astype(np.float64),
        *covariate_terms(sampling.covariates).T,
    ]
    if sampling.blocks is not None and not sampling.whole:
        columns += list((sampling.blocks[:, None] == np.arange(1, sampling.blocks.max() + 1)).T.astype(float))
    # Rows that count more than others have a larger part in the fit and in its errors.
    root = np.sqrt(sampling.mass / sampling.mass.mean())
    table, values = np.column_stack(columns) * root[:, None], values * root
    others = np.delete(table, 1, axis=1)
    # What the group says beyond the covariates; its product with the feature is the coefficient.
    contrast = table[:, 1] - others @ np.linalg.lstsq(others, table[:, 1], rcond=None)[0]
    length = contrast @ contrast
    rank = np.linalg.matrix_rank(table)
    if length < 1e-9 * len(values) or len(values) <= rank:
        return UNKNOWN
    residuals = values - table @ np.linalg.lstsq(table, values, rcond=None)[0]
    basis = np.linalg.svd(table, full_matrices=False)[0][:, :rank]
    leverage = np.minimum((basis**2).sum(axis=1), 0.999)
    estimate = float(contrast @ values / length)
    errors, freedom = contrast * residuals / (1 - leverage), len(values) - float(rank)
    if sampling.blocks is not None and sampling.whole:
        errors = np.bincount(sampling.blocks, contrast * residuals)
        errors *= np.sqrt(len(errors) / (len(errors) - 1))
        freedom = len(errors) - 2.0
        if freedom < 1:
            return UNKNOWN
    variance = np.sum(errors**2) / length**2
    return _student(estimate, np.array([variance]), np.array([freedom]), coverage)


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
    return table.astype({"difference": float, "low": float, "high": float})


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
