"""Counts behind rows, such as those of cells or of words in texts, and how deep each row was counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray

# How far what is taken for a count may be from a whole number, and the share of values that must be so near.
_NEAR, _WHOLE = 0.05, 0.99
# Values that are looked at for this, evenly over the cells.
_LOOKED_AT = 1_000_000
# Tables with fewer columns have no depth; logarithms of counts per million stay below this, even to base 2.
_FEWEST_COLUMNS, _LARGEST_LOGARITHM = 20, 30.0
# Part of the entries that are zero where few of many things are counted in a row.
_SOME_ZEROS = 0.1
# Depths that differ by less than this factor are taken to be equal; the part of that, on a logarithmic scale,
# by which the column in the middle must differ.
_UNEQUAL, _MOST_COLUMNS = 1.25, 0.5
# Rows of each group for which it is said what their depth alone would show, and rows that must show a column.
_MOST_ROWS, _FEWEST_SHOWN = 1000, 10


@dataclass(frozen=True)
class CellCounts:
    """Counts of cells, and their depth.

    Attributes
    ----------
    counts : CSR matrix of shape (n_cells, n_genes)
        Whole numbers; where values come from no counts, ``expm1`` of them as they are.
    depth : array of shape (n_cells,)
        What to divide counts by before cells are compared; mean 1.
    """

    counts: sp.csr_matrix
    depth: NDArray[np.float64]

    def take(self, cells: NDArray[np.bool_]) -> CellCounts:
        """Those of some cells."""
        return self if cells.all() else CellCounts(self.counts[cells], self.depth[cells])


def cell_counts(values: Any) -> CellCounts:
    """Counts of cells and their depth, from counts or from log-normalised values.

    Normalising divides the counts of a cell by one number, so that its smallest value other than zero is what
    a count of one has become: nearly every cell has a gene with one count.

    Parameters
    ----------
    values : array or CSR matrix of shape (n_cells, n_genes)
        Counts, or ``log1p`` of normalised counts, to base e.

    Returns
    -------
    CellCounts

    Examples
    --------
    >>> counts = np.array([[1.0, 0.0, 3.0], [2.0, 1.0, 7.0]])
    >>> normalised = np.log1p(1000 * counts / counts.sum(axis=1, keepdims=True))
    >>> found = cell_counts(normalised)
    >>> found.counts.toarray(), float((found.depth[1] / found.depth[0]).round(6))
    (array([[1., 0., 3.],
           [2., 1., 7.]]), 2.5)
    """
    rows = sp.csr_matrix(values)
    if not rows.data.all():
        rows = rows.copy()
        rows.eliminate_zeros()
    looked_at = rows.data[:: max(1, rows.nnz // _LOOKED_AT)]
    if np.array_equal(looked_at, np.rint(looked_at)) and np.array_equal(rows.data, np.rint(rows.data)):
        depth = np.asarray(rows.sum(axis=1, dtype=np.float64)).ravel()
        return CellCounts(rows, _relative(depth))
    data = np.expm1(rows.data)
    counted = np.diff(rows.indptr)
    filled = np.flatnonzero(counted)
    smallest = np.ones(len(counted), dtype=data.dtype)
    if len(filled):
        smallest[filled] = np.minimum.reduceat(data, rows.indptr[filled])
    whole = data / np.repeat(smallest, counted)
    some = whole[:: max(1, rows.nnz // _LOOKED_AT)]
    near = np.abs(some - np.rint(some)) <= _NEAR * np.maximum(1.0, 1e-4 * some)
    if rows.nnz == 0 or near.mean() < _WHOLE:
        return CellCounts(_with_data(rows, data), np.ones(len(counted)))
    depth = np.where(counted > 0, 1 / smallest.astype(np.float64), 0.0)
    return CellCounts(_with_data(rows, np.rint(whole, out=whole)), _relative(depth))


def _with_data(rows: sp.csr_matrix, data: NDArray) -> sp.csr_matrix:
    """Other values at the same places."""
    return sp.csr_matrix((data, rows.indices, rows.indptr), shape=rows.shape)


def _relative(depth: NDArray[np.float64]) -> NDArray[np.float64]:
    """Depths of mean 1; a cell without counts has the mean."""
    mean = depth[depth > 0].mean() if (depth > 0).any() else 1.0
    return np.where(depth > 0, depth, mean) / mean


def counts_behind(rows: Any) -> CellCounts | None:
    """Counts of rows that hold them, or their logarithms; None for other tables.

    Parameters
    ----------
    rows : array or CSR matrix of shape (n_rows, n_columns)
        Whole numbers are taken for counts in a sparse matrix only: others may hold ages.

    Examples
    --------
    >>> counts = np.random.default_rng(0).poisson(0.5, size=(30, 40)).astype(float)
    >>> normalised = np.log1p(100 * counts / counts.sum(axis=1, keepdims=True))
    >>> counts_behind(normalised) is None, counts_behind(counts) is None
    (False, True)
    """
    data = rows.data if sp.issparse(rows) else rows
    if rows.shape[1] < _FEWEST_COLUMNS or not data.size or not 1 < data.max() or data.min() < 0:
        return None
    part = np.ravel(data)[:: max(1, data.size // _LOOKED_AT)]
    whole = np.array_equal(part, np.rint(part))
    if (whole and not sp.issparse(rows)) or (not whole and data.max() > _LARGEST_LOGARITHM):
        return None
    if not sp.issparse(rows) and (part == 0).mean() < _SOME_ZEROS:
        return None
    return cell_counts(rows)


def unequal_depth(cells: CellCounts, codes: NDArray[np.uint8], units: NDArray | None) -> float:
    """How many times as deep the rows of group 0 are as those of group 1; 1 where they are about equal.

    Parameters
    ----------
    cells : CellCounts
        Counts and depths. Depth rules most columns; where a few rule the depth, they differ and it does not.
    codes : array of shape (n_rows,)
        0 or 1.
    units : array of shape (n_rows,), optional
        Block or donor of each row: depths are then compared block by block.

    Examples
    --------
    >>> codes = np.array([0, 0, 0, 1, 1, 1], dtype=np.uint8)
    >>> counts = np.outer([40.0, 44, 38, 20, 18, 22], np.ones(10))
    >>> round(unequal_depth(cell_counts(counts), codes, None), 1)
    2.0
    >>> counts[:3, 1:] /= 2
    >>> counts[:3, 0] *= 6
    >>> unequal_depth(cell_counts(counts), codes, None)
    1.0
    """
    from scipy.stats import ttest_ind

    logs, groups = np.log(cells.depth), codes
    if units is not None:
        rows = pd.DataFrame({"unit": units, "code": codes, "log": logs})
        means = rows.groupby(["code", "unit"], observed=True)["log"].mean().reset_index()
        logs, groups = means["log"].to_numpy(), means["code"].to_numpy()
    sides = [logs[groups == code] for code in (0, 1)]
    apart = float(sides[0].mean() - sides[1].mean())
    if abs(apart) < np.log(_UNEQUAL) or min(map(len, sides)) < 2:
        return 1.0
    if ttest_ind(*sides, equal_var=False).pvalue > 0.05:
        return 1.0
    sums = np.stack([np.asarray(cells.counts[codes == code].mean(axis=0)).ravel() for code in (0, 1)])
    known = sums.sum(axis=0) * len(codes) >= _FEWEST_SHOWN
    least = 0.5 / len(codes)
    most = np.median(np.log((sums[0] + least) / (sums[1] + least))[known]) if known.any() else 0.0
    return float(np.exp(apart)) if most / apart >= _MOST_COLUMNS else 1.0


def changed_by_depth(cells: CellCounts, codes: NDArray[np.uint8], ratio: float) -> float:
    """Share of the columns that would differ though nothing does but the depth.

    Rows of the deeper group are compared with themselves, thinned to the depth of the other group.

    Parameters
    ----------
    cells : CellCounts
        Counts and depths.
    codes : array of shape (n_rows,)
        0 or 1.
    ratio : float
        As `unequal_depth` gives it.

    Returns
    -------
    float
        Of the columns that ten rows or more show, those whose mean logarithm of counts per depth differs with
        a false discovery rate of 5 %, with at most a thousand rows of each group.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> codes = np.repeat([0, 1], 200).astype(np.uint8)
    >>> counts = sp.csr_matrix(rng.poisson(0.5, size=(400, 20)).astype(float))
    >>> cells = CellCounts(counts, np.ones(400))
    >>> changed_by_depth(cells, codes, 1.3), changed_by_depth(cells, codes, 4.0)
    (0.0, 1.0)
    """
    from scipy.stats import false_discovery_control, norm

    keep = min(ratio, 1 / ratio)
    deep = np.flatnonzero(codes == (0 if ratio > 1 else 1))
    # In an order of contents, so that nothing hangs on the order of rows; evenly over their depths.
    weights = np.random.default_rng(0).random(cells.counts.shape[1])
    deep = deep[np.lexsort(((cells.counts @ weights)[deep], cells.depth[deep]))]
    deep = deep[np.linspace(0, len(deep) - 1, min(len(deep), _MOST_ROWS)).astype(np.intp)]
    own, depth = sp.csr_matrix(cells.counts[deep], dtype=np.float64), cells.depth[deep]
    own.sort_indices()
    thinned = own.copy()
    thinned.data = np.random.default_rng(0).binomial(own.data.astype(np.int64), keep).astype(np.float64)
    usual = float(own.sum() / depth.sum())
    shown = np.bincount(own.indices[own.data > 0], minlength=own.shape[1]) >= _FEWEST_SHOWN
    if not shown.any():
        return 0.0
    means, variances = [], []
    for counts, deepness in ((own, depth), (thinned, depth * keep)):
        logs = sp.csr_matrix(sp.diags(usual / deepness) @ counts)
        logs.data = np.log1p(logs.data)
        mean = np.asarray(logs.mean(axis=0)).ravel()[shown]
        square = np.asarray(logs.multiply(logs).mean(axis=0)).ravel()[shown]
        means.append(mean)
        variances.append(np.maximum(square - mean**2, 0))
    sizes = np.minimum(np.bincount(codes, minlength=2)[[0, 1] if ratio > 1 else [1, 0]], _MOST_ROWS)
    error = np.sqrt(variances[0] / sizes[0] + variances[1] / sizes[1])
    pvalues = 2 * norm.sf(np.abs(means[0] - means[1]) / np.maximum(error, 1e-12))
    return float((false_discovery_control(pvalues) <= 0.05).mean())
