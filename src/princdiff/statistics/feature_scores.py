"""Scores of features under all labellings, from sums of what is looked at in them.

Where it is known how groups are drawn, scores are -log of p-values whose laws need no labellings (`laws`).
Given covariates it is not: there laws are fitted to the labellings (`scores`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from princdiff.statistics.contrasts import Contrasts, LineSums
from princdiff.statistics.feature_columns import (
    MOST_VALUES,
    N_COLUMNS,
    N_SINGLE,
    expected_skewness,
    statistics_of,
    weights_of_terms,
)
from princdiff.statistics.laws import Drawing, Grams, Points, SquaresLaw, harmonic, sum_law
from princdiff.statistics.scores import gamma_scores
from princdiff.statistics.value_tables import Entries, ValueTables

# Gaps between values that are multiples of the smallest, up to this share of it, make a lattice.
_LATTICE = 1e-6


@dataclass(frozen=True, eq=False)
class FeatureScores:
    """Scores of some features.

    Attributes
    ----------
    scores : array of shape (n_labellings, n_features), float32
        One score of each.
    by_statistic : array of shape (n_features, n_statistics)
        Observed scores of what is looked at, in the order of `feature_columns.STATISTICS`.
    """

    scores: NDArray[np.float32]
    by_statistic: NDArray[np.float32]

    @classmethod
    def of_flags(cls, scores: NDArray[np.float32]) -> FeatureScores:
        """Of features of which one thing is looked at."""
        return cls(scores, np.zeros((scores.shape[1], 0), dtype=np.float32))


class SingleColumns(NamedTuple):
    """Columns at the same places of some features, and their numbers, feature by feature."""

    features: NDArray[np.intp]
    places: NDArray[np.intp]
    points: Points


@dataclass(frozen=True, eq=False)
class FeatureSums:
    """Sums of the columns of some features, and what their laws need.

    Attributes
    ----------
    lines : LineSums
        Of all columns, feature by feature.
    single : list of SingleColumns
        Columns that are scored one by one.
    one_sided : bool array of shape (n_features,)
        Whether distances from the median are those from the first or the last value, and say what values do.
    ranks, levels : Grams
        Of the functions of the ranks, and of the values.
    shares : array of shape (n_features, MOST_VALUES)
        Of the rows that have each value; empty for features with many.
    steps : array of shape (n_features, n_columns)
        Distances between possible sums of the columns, before they were scaled; 0 where there are many.
    """

    lines: LineSums
    single: list[SingleColumns]
    one_sided: NDArray[np.bool_]
    ranks: Grams
    levels: Grams | None
    shares: NDArray[np.float64]
    steps: NDArray[np.float64]

    @property
    def few(self) -> bool:
        """Whether these features have few values."""
        return self.levels is not None


def dense_sums(lines: LineSums, shares: NDArray, drawing: Drawing) -> FeatureSums:
    """From the columns themselves, whatever is drawn."""
    assert lines.prepared is not None
    few, n_features = shares.size > 0, len(shares)
    columns = lines.prepared.reshape(len(lines.prepared), n_features, -1)
    places = np.concatenate([np.arange(N_SINGLE), np.arange(N_COLUMNS, columns.shape[2])])
    return FeatureSums(
        lines,
        [SingleColumns(np.arange(n_features), places, Points.of(_flat(columns[:, :, places]), drawing))],
        np.zeros(n_features, dtype=bool),
        Grams.of(columns[:, :, N_SINGLE:N_COLUMNS], drawing),
        Grams.of(columns[:, :, N_COLUMNS:], drawing) if few else None,
        shares,
        np.zeros((n_features, columns.shape[2])),
    )


def tabulated_sums(lines: LineSums, tables: ValueTables, few: bool, free: bool) -> FeatureSums:
    """From tables of the values of each feature; ``free``: single rows that count alike are drawn."""
    joined, n_features = tables.joined(), tables.n_columns
    scales = lines.scales.reshape(n_features, -1)
    functions = joined.centred(joined.lines(few))
    columns, counts = joined.padded(functions * scales[joined.owner]), joined.padded(joined.counts)
    # What is joined would pass for a frequent value.
    count = tables.frequent()[1]
    values = np.stack([1 - count / tables.n_rows, -count / tables.n_rows]) * scales[:, N_SINGLE - 1]
    start, every = np.zeros(1, dtype=np.intp), np.arange(n_features)
    one_sided = tables.one_sided()

    def tabulated(features: NDArray[np.intp], places: NDArray[np.intp]) -> SingleColumns:
        own = _flat(columns[:, features][:, :, places])
        often = np.repeat(counts[:, features], len(places), axis=1)
        return SingleColumns(features, places, Points(own, often, start))

    frequent = Points(values, np.stack([count, tables.n_rows - count]), start)
    shares = np.zeros((n_features, MOST_VALUES * few))
    steps = np.zeros((n_features, columns.shape[2]))
    if few:
        shares[:, : len(counts)] = counts.T / tables.n_rows
    if free:
        steps[:, N_SINGLE - 1] = steps[:, N_COLUMNS:] = 1.0
        if few:
            steps[:, 0] = lattice_steps(tables)
    return FeatureSums(
        lines,
        [
            tabulated(every, np.append(0, np.arange(N_COLUMNS, columns.shape[2]))),
            tabulated(np.flatnonzero(~one_sided), np.array([1])),
            SingleColumns(every, np.array([N_SINGLE - 1]), frequent),
        ],
        one_sided,
        Grams.of_tables(columns[:, :, N_SINGLE:N_COLUMNS], counts),
        Grams.of_tables(columns[:, :, N_COLUMNS:], counts) if few else None,
        shares,
        steps,
    )


def _flat(columns: NDArray) -> NDArray:
    return columns.reshape(len(columns), -1)


def lattice_steps(tables: ValueTables) -> NDArray[np.float64]:
    """Distances between possible sums of values, over the largest value; 0 where values are not on a lattice.

    Examples
    --------
    >>> lattice_steps(ValueTables(np.array([0.0, 2.0, 8.0]), np.ones(3, dtype=int), np.zeros(1, dtype=int)))
    array([0.25])
    """
    largest = np.maximum.reduceat(np.abs(tables.values), tables.starts)
    gaps = np.append(np.diff(tables.values / largest[tables.owner]), np.inf)
    gaps[tables.starts[1:] - 1] = np.inf
    smallest = np.minimum.reduceat(gaps, tables.starts)
    gaps[np.append(tables.starts[1:] - 1, len(gaps) - 1)] = 0.0
    ratios = gaps / smallest[tables.owner]
    apart = np.maximum.reduceat(np.abs(ratios - np.rint(ratios)), tables.starts)
    return np.where(apart < _LATTICE, smallest, 0.0)


def scores_of_lines(
    over: list[NDArray], points: Points, fourths: NDArray, drawing: Drawing, steps: NDArray
) -> NDArray[np.float32]:
    """Scores of single columns, from their sums over deviations, (n_labellings, n_columns) a group."""
    scores = [sum_law(points, drawing, group, steps).scores(own) for group, own in enumerate(over)]
    if drawing.n_groups == 2:
        return scores[0]
    squares, cells = fourths[0][:, :, None, None], fourths[1][:, :, None, None]
    law = SquaresLaw.of(Grams(squares, cells), np.ones(1), drawing)
    total = _added_over_groups([own**2 for own in over], drawing)
    return harmonic([*scores, law.scores(total)], drawing.n_groups + law.known)


def _added_over_groups(squares: list[NDArray], drawing: Drawing) -> NDArray[np.float64]:
    """Squared sums over their variances, added so that about a chi-squared statistic comes out."""
    if drawing.n_groups == 2:
        return squares[0]
    shares = drawing.taken.sum(axis=1) / drawing.sizes.sum()
    return np.asarray(sum((1 - share) * own for share, own in zip(shares, squares, strict=True)))


def line_scores(
    lines: Iterable[NDArray], count: int, contrasts: Contrasts, flags: bool = False
) -> NDArray[np.float32]:
    """Scores of columns that are made one after the other, each by its own mean.

    Parameters
    ----------
    lines : iterable of arrays of shape (n_rows,)
        Finite numbers.
    count : int
        How many they are.
    contrasts : Contrasts
        Labellings.
    flags : bool
        Whether each has two values.

    Returns
    -------
    array of shape (n_labellings, count)

    Examples
    --------
    >>> from princdiff.labellings.schemes import Scheme
    >>> from princdiff.statistics.contrasts import Relabellings
    >>> codes = np.repeat([0, 1], 50).astype(np.uint8)
    >>> contrasts = Contrasts(Relabellings(Scheme(codes, 99, seed=0), 2))
    >>> line_scores([codes + np.arange(100) % 7], 1, contrasts)[0].round(1)
    array([4.3], dtype=float32)
    """
    labellings, found = contrasts.labellings, []
    tabulated = contrasts.one_by_one and not labellings.scheme.conditional

    def seen() -> Iterator[NDArray]:
        for line in lines:
            if tabulated:
                found.append(ValueTables.of([line]).joined())
            yield line

    sums = contrasts.sums_of_lines(seen(), count)
    if labellings.scheme.conditional:
        return gamma_scores(
            contrasts.squared(sums.weights, sums.sums), prior=np.sqrt(8 / (labellings.n_groups - 1))
        )
    if tabulated:
        points = joined_points(ValueTables.side_by_side(found), sums.scales)
    else:
        assert sums.prepared is not None
        points = Points.of(sums.prepared, contrasts.drawing)
    return _line_scores(sums, points, contrasts, flags)


def moments_of_entries(entries: Entries, contrasts: Contrasts) -> NDArray[np.float32]:
    """Scores of values and of distances from the median, (n_labellings, n_columns, 2), of single rows."""
    tables = entries.tables
    table, scales = tables.standardised(tables.moments())
    sums = contrasts.sums_of_table(entries, table, scales)
    joined = tables.joined()
    functions = joined.centred(joined.moments()) * scales[joined.owner]
    counts = np.repeat(joined.padded(joined.counts), 2, axis=1)
    points = Points(_flat(joined.padded(functions)), counts, np.zeros(1, dtype=np.intp))
    return _line_scores(sums, points, contrasts, False).reshape(-1, tables.n_columns, 2)


def joined_points(joined: ValueTables, scales: NDArray[np.float64]) -> Points:
    """Numbers of columns themselves, where single rows are drawn."""
    values = joined.centred(joined.values[:, None])[:, 0] * scales[joined.owner]
    return Points(joined.padded(values), joined.padded(joined.counts), np.zeros(1, dtype=np.intp))


def flags_of_entries(entries: Entries, contrasts: Contrasts) -> NDArray[np.float32]:
    """Scores of columns with two values, where single rows are drawn."""
    tables = entries.tables
    table, scales = tables.standardised(tables.flags())
    sums = contrasts.sums_of_table(entries, table, scales)
    points = Points(tables.padded(table[:, 0]), tables.padded(tables.counts), np.zeros(1, dtype=np.intp))
    return _line_scores(sums, points, contrasts, True)


def _line_scores(sums: LineSums, points: Points, contrasts: Contrasts, flags: bool) -> NDArray[np.float32]:
    steps = sums.scales if flags and contrasts.labellings.free else np.zeros(len(sums.scales))
    over = sums.over_deviations(contrasts.drawing)
    return scores_of_lines(over, points, sums.powers, contrasts.drawing, steps)


def level_scores(
    lines: LineSums, shares: NDArray[np.float64], contrasts: Contrasts
) -> NDArray[np.float32] | None:
    """Score of all levels of a category at once: Pearson's chi-squared statistic.

    Parameters
    ----------
    lines : LineSums
        Of the levels, 0 or 1.
    shares : array of shape (n_levels,)
        Of the rows that have each.
    contrasts : Contrasts
        Labellings.

    Returns
    -------
    array of shape (n_labellings,), or None where few rows rule the statistic
    """
    if contrasts.labellings.scheme.conditional:
        # Levels that are all the others together leave one degree of freedom less.
        freedom = (len(shares) - 1) * (contrasts.labellings.n_groups - 1)
        pearson = contrasts.squared(lines.weights, lines.sums) @ (1 - shares)[:, None].astype(np.float32)
        return gamma_scores(pearson, prior=np.sqrt(8 / freedom))[:, 0]
    drawing = contrasts.drawing
    if lines.prepared is not None:
        grams = Grams.of(lines.prepared[:, None], drawing)
    else:
        # Of levels, of which each row has one at most, all follows from their shares.
        table = np.vstack([np.eye(len(shares)), np.zeros(len(shares))]) - shares
        counts = np.append(shares, max(1 - shares.sum(), 0.0)) * contrasts.labellings.n_rows
        grams = Grams.of_tables((table * lines.scales)[:, None], counts[:, None])
    law = SquaresLaw.of(grams, 1 - shares, drawing)
    if not law.known[0]:
        return None
    statistics = _added_over_groups([own**2 for own in lines.over_deviations(drawing)], drawing)
    return law.scores(statistics @ (1 - shares)[:, None])[:, 0]


def number_scores(sums: FeatureSums, n_values: NDArray[np.intp], contrasts: Contrasts) -> FeatureScores:
    """Scores of features with more than two values."""
    parts, known = (_fitted if contrasts.labellings.scheme.conditional else _known)(sums, n_values, contrasts)
    # What is not known of a feature does not count; a feature may be alike in all units.
    count = known.sum(axis=1)
    scores = harmonic(np.moveaxis(parts, 2, 0), np.maximum(count, 1)) * (count > 0)
    return FeatureScores(scores, parts[0])


def _known(
    sums: FeatureSums, n_values: NDArray[np.intp], contrasts: Contrasts
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Scores of each statistic, (n_labellings, n_features, n_statistics), and whether it has a law."""
    drawing, n_features = contrasts.drawing, len(n_values)
    over = [own.reshape(len(own), n_features, -1) for own in sums.lines.over_deviations(drawing)]
    powers = sums.lines.powers.reshape(2, len(drawing.sizes), n_features, -1)
    steps = sums.steps * sums.lines.scales.reshape(n_features, -1)
    single = np.zeros(over[0].shape, dtype=np.float32)
    for features, places, points in sums.single:
        some, place = features[:, None], places
        flat = [_flat(own[:, some, place]) for own in over]
        own_powers = powers[:, :, some, place].reshape(2, len(drawing.sizes), -1)
        found = scores_of_lines(flat, points, own_powers, drawing, steps[some, place].ravel())
        single[:, some, place] = found.reshape(len(found), len(features), len(places))
    single[:, sums.one_sided, 1] = single[:, sums.one_sided, 0]
    parts, known = [single[:, :, :N_SINGLE]], [powers[0, :, :, :N_SINGLE].sum(axis=0) > 0]
    terms = _added_over_groups([own[:, :, N_SINGLE:N_COLUMNS] ** 2 for own in over], drawing)
    squares = [
        (terms, sums.ranks, np.broadcast_to(weights, terms.shape[1:])) for weights in weights_of_terms()
    ]
    if sums.levels is not None:
        levels = _added_over_groups([own[:, :, N_COLUMNS:] ** 2 for own in over], drawing)
        # Pearson's statistic is over p, and not over the variance p (1 - p).
        squares.append((levels, sums.levels, np.where(sums.shares > 0, 1 - sums.shares, 0.0)))
    for statistics, grams, weights in squares:
        law = SquaresLaw.of(grams, weights, drawing)
        parts.append(law.scores(np.einsum("lfk,fk->lf", statistics, weights))[:, :, None])
        known.append(law.known[:, None])
    if sums.levels is not None:
        parts.append(harmonic(np.moveaxis(single[:, :, N_COLUMNS:], 2, 0), n_values)[:, :, None])
        known.append(np.any(powers[0, :, :, N_COLUMNS:] > 0, axis=(0, 2))[:, None])
    return np.concatenate(parts, axis=2), np.concatenate(known, axis=1)


def _fitted(
    sums: FeatureSums, n_values: NDArray[np.intp], contrasts: Contrasts
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """The same where the labellings themselves have to show the laws."""
    n_groups = contrasts.labellings.n_groups
    between = contrasts.squared(sums.lines.weights, sums.lines.sums)
    between = between.reshape(len(between), len(n_values), -1)
    statistics = statistics_of(between, sums.shares if sums.few else None)
    prior = expected_skewness(n_groups, n_values if sums.few else None)
    prior = np.broadcast_to(prior, statistics.shape[1:]).ravel()
    scores = gamma_scores(statistics.reshape(len(statistics), -1), prior=prior).reshape(statistics.shape)
    if sums.few:
        values = between[:, :, N_COLUMNS:]
        single = gamma_scores(values.reshape(len(values), -1), prior=np.sqrt(8 / (n_groups - 1)))
        own = harmonic(np.moveaxis(single.reshape(values.shape), 2, 0), n_values)
        scores = np.concatenate([scores, own[:, :, None]], axis=2)
    return scores, np.ones(scores.shape[1:], dtype=bool)
