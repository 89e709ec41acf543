"""What columns and lengths of rows show, summed up in one number per labelling.

Every labelling of a test gets, from matrix products alone: the score of the column that stands out most, how
many columns stand out a little, their sum, the score of the best column given all others, and that of the
lengths of the rows (a change of overall spread).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from princdiff.data.problem import Problem
from princdiff.statistics.alone import combined_scores
from princdiff.statistics.column_batches import are_sparse, column_batches, each_column
from princdiff.statistics.contrasts import Contrasts
from princdiff.statistics.feature_columns import statistics_of
from princdiff.statistics.feature_scores import line_scores, moments_of_entries
from princdiff.statistics.protocol import CellValues, Family
from princdiff.statistics.row_view import RowView
from princdiff.statistics.tested_rows import TestedRows
from princdiff.statistics.value_tables import Entries, feature_lines

COLUMN = Family("column", "one column alone", 0)
COLUMNS = Family("columns", "many features a little", 4)
_TOTAL = Family("total", "the sum of all features", 4)
_GIVEN = Family("given", "one feature, given all others", 4)
_LENGTH = Family("length", "overall spread", 7)
# Powers of two whose squares can be added up.
_SAFE_EXPONENT = 300
# Weight of the sum of all features, and features from which it is another thing than each of them.
_TOTAL_WEIGHT, _FEWEST_SUMMED = 3.0, 3


def single_columns(rows: TestedRows) -> CellValues:
    """The clearest column by all that is looked at in one, by its mean, and by its spread."""
    weights, units = rows.weights, rows.alone.units
    detail = "by all that is looked at in a column"
    cells = [COLUMN.cell("one column", weight=weights.column, detail=detail, share=weights.named)]
    values = units.max(axis=1, keepdims=True)
    # Mean and spread of a flag are its share, which the column on its own has shown.
    if len(rows.numbers):
        own = rows.problem.rows
        own = own if len(rows.numbers) == own.shape[1] else own[:, rows.numbers]
        means, spreads = moment_scores(own, rows.contrasts)
        cells += [
            COLUMN.cell("one mean", weight=2.0, detail="by its mean"),
            COLUMN.cell("one spread", weight=2.0, detail="by its spread"),
        ]
        values = np.column_stack([values, means.max(axis=1), spreads.max(axis=1)])
    return CellValues(cells, values)


def total(rows: TestedRows) -> CellValues | None:
    """The sum of all numbers of a row."""
    summed = total_of_rows(rows.problem)
    if summed is None:
        return None
    scores = line_scores([summed], 1, rows.contrasts)
    return CellValues([_TOTAL.cell("sum of features", weight=_TOTAL_WEIGHT)], scores)


def many_columns(rows: TestedRows) -> CellValues | None:
    """How many columns stand out a little."""
    units = rows.alone.units
    if units.shape[1] <= 2:
        return None
    cells = [
        COLUMNS.cell("sum over columns", weight=0.25, detail="added up"),
        COLUMNS.cell("higher criticism", weight=0.25, detail="by how many stand out"),
    ]
    return CellValues(cells, many_small(units))


def lengths(rows: TestedRows) -> CellValues | None:
    """How far rows lie from their mean."""
    rows = rows.sampled
    if not rows.affordable:
        return None
    return CellValues([_LENGTH.cell("lengths", weight=0.5)], length_scores(rows.view.dense, rows.contrasts))


def whitened_lengths(rows: TestedRows) -> CellValues | None:
    """The same relative to the covariance of all rows."""
    rows = rows.sampled
    if rows.whitened is None:
        return None
    cell = _LENGTH.cell("whitened lengths", weight=0.25, detail="relative to the covariance of all rows")
    return CellValues([cell], length_scores(rows.whitened.dense, rows.contrasts))


def given_others(rows: TestedRows) -> CellValues | None:
    """The best column with all others held fixed."""
    rows = rows.sampled
    if rows.whitened is None or rows.whitened.samples.mixing is None:
        return None
    mixing = rows.whitened.samples.mixing
    view = RowView(rows.problem.samples, np.ones(rows.problem.n_features, dtype=np.float32))
    scores = scores_given_others(view.dense, mixing @ mixing, rows.contrasts)
    cell = _GIVEN.cell("one column given the others", weight=rows.weights.given)
    return CellValues([cell], scores[:, None])


def many_small(scores: NDArray[np.float32]) -> NDArray[np.float64]:
    """Evidence that is spread over many columns, from the columns' scores, shape (n_labellings, 2).

    The sum of the scores, and the higher criticism: how far the share of small p-values is above what it
    should be, at the worst place.

    Examples
    --------
    >>> many_small(np.log([[2.0, 4.0, 8.0, 16.0]]).astype(np.float32)).round(2)
    array([[6.93, 1.15]])
    """
    total = scores.sum(axis=1, dtype=np.float64)
    pvalues = np.sort(np.exp(-scores.astype(np.float64)), axis=1)
    count = pvalues.shape[1]
    share = np.arange(1, count + 1) / count
    # The smallest p-values are the business of the maximum, and their ratio has no variance.
    inner = slice(0, max(1, count // 2))
    part = np.clip(pvalues[:, inner], 1 / count if count > 1 else 1e-12, 1 - 1e-12)
    excess = np.sqrt(count) * (share[inner] - part) / np.sqrt(part * (1 - part))
    return np.column_stack([total, excess.max(axis=1)])


def moment_scores(rows: Any, contrasts: Contrasts) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Scores of the differences of means, and of mean distances from the median, of every column.

    The scores of single columns look at more than that; a shift or a change of spread shows best where
    nothing else competes.

    Parameters
    ----------
    rows : array or sparse matrix of shape (n_rows, n_features)
        Numbers.
    contrasts : Contrasts
        Labellings.

    Returns
    -------
    means, spreads : arrays of shape (n_labellings, n_features)
    """
    n_features, parts = rows.shape[1], []
    if contrasts.labellings.free and (are_sparse(rows) or not contrasts.one_by_one):
        for batch in column_batches(np.arange(n_features), 2, contrasts.labellings):
            parts.append(moments_of_entries(Entries.of(rows[:, batch]), contrasts))
        found = np.concatenate(parts, axis=1)
        return found[:, :, 0], found[:, :, 1]
    columns = partial(each_column, rows, np.arange(n_features))
    own = (_in_range(column) for column in columns())
    distances = (_spread(_in_range(column)) for column in columns())
    return line_scores(own, n_features, contrasts), line_scores(distances, n_features, contrasts)


def _in_range(columns: NDArray) -> NDArray[np.float64]:
    """A column whose squares neither overflow nor vanish: over a power of two where it is extreme."""
    values = np.asarray(columns, dtype=np.float64)
    exponent = np.frexp(max(values.max(), -values.min()))[1]
    return np.ldexp(values, -exponent) if abs(exponent) > _SAFE_EXPONENT else values


def _spread(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.abs(values - np.median(values))


def length_scores(rows: NDArray[np.float32], contrasts: Contrasts) -> NDArray[np.float32]:
    """Scores of the distribution of the rows' distances from their mean, shape (n_labellings, 1)."""
    design = contrasts.labellings
    # Sparse rows come as they are stored, dense ones with their mean taken out.
    rows = rows - np.average(rows, axis=0, weights=design.weights).astype(rows.dtype)
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    # Of whole numbers many are equally far from the mean, which rounding in single precision must not undo.
    mantissa, exponent = np.frexp(lengths)
    lengths = np.ldexp(np.rint(mantissa * 2.0**16), exponent)
    columns = np.column_stack(list(feature_lines(lengths, design.weights)))
    between = contrasts.between(columns)[:, None]
    return combined_scores(statistics_of(between))


def scores_given_others(
    rows: NDArray[np.float32], precision: NDArray[np.float64], contrasts: Contrasts
) -> NDArray[np.float32]:
    """Score of the best column with all others held fixed, shape (n_labellings,).

    Column j of ``rows @ precision`` is, up to a factor, column j less its best prediction from all others.
    """
    predicted = rows @ precision.astype(np.float32)
    columns = predicted - np.median(predicted, axis=0)
    between = contrasts.between(np.concatenate([columns, np.abs(columns)], axis=1))
    n_columns = columns.shape[1]
    paired = np.stack([between[:, :n_columns], between[:, n_columns:]], axis=2)
    return combined_scores(paired).max(axis=1)


def summed_features(problem: Problem) -> NDArray[np.bool_]:
    """Features that can be added up: numbers."""
    return np.array(problem.kinds) == "number"


def total_of_rows(problem: Problem) -> NDArray[np.float64] | None:
    """The sum of the scaled numbers of every row, shape (n_rows,); None where they are too few.

    Along it a small shift of all features in the same direction (sensors that drift, an overall level) is
    clearer than in one of them, by the root of their number if they are independent. It is the same for
    every labelling.

    Examples
    --------
    >>> rows = np.array([[1.0, 2.0, 3.0], [2.0, 5.0, 4.0], [1.0, 1.0, 1.0], [4.0, 0.0, 2.0]])
    >>> total = total_of_rows(Problem.from_arrays(rows, [0, 0, 1, 1]))
    >>> int(total.argmax())
    1
    """
    numbers = summed_features(problem)
    if numbers.sum() < _FEWEST_SUMMED:
        return None
    total = problem.samples.project(numbers[None].astype(np.float32))[0]
    return np.asarray(total, dtype=np.float64) * problem.samples.unit
