"""Counts and sequencing depth of cells, from log-normalised values too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princdiff.data import parameters, validate
from princdiff.data.parameters import Data, Either, Text
from princdiff.data.shared_docs import with_shared_docs
from princdiff.singlecell.anndata_input import check_anndata, obs_column, take_matrix

# How far what is taken for a count may be from a whole number, and the share of values that must be so near.
_NEAR, _WHOLE = 0.05, 0.99
# Values that are looked at for this, evenly over the cells.
_LOOKED_AT = 1_000_000


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


@with_shared_docs
def thin_counts(
    adata: Any,
    groupby: str,
    *,
    layer: str | None = None,
    key_added: str = "thinned",
    random_state: Any = 0,
    rng: Any = None,
) -> None:
    """Thin counts at random until the groups have the same median depth.

    Where one group was sequenced deeper, more of its genes are seen in more of its cells, before and after
    normalisation. Thinned counts are what shallower sequencing of the same cells would have given.

    Parameters
    ----------
    {adata}
    groupby : str
        Column of ``obs`` that holds the groups.
    layer : str, optional
        Layer with counts or log-normalised values; default ``X``.
    key_added : str, default="thinned"
        Layer that the thinned counts are written to; normalise them and take logarithms before comparing.
    random_state : int, RandomState, Generator or None, default=0
        Seed.
    {rng}

    Examples
    --------
    >>> import anndata
    >>> import numpy as np
    >>> from princdiff.tl import thin_counts
    >>> rng = np.random.default_rng(0)
    >>> depth = np.repeat([1.0, 3.0], 50)
    >>> cells = anndata.AnnData(rng.poisson(5 * depth[:, None], (100, 40)).astype(float))
    >>> cells.obs["batch"] = np.repeat(["a", "b"], 50)
    >>> thin_counts(cells, "batch")
    >>> [round(float(cells.layers["thinned"][start : start + 50].sum()) / 10_000) for start in (0, 50)]
    [1, 1]
    """
    check_anndata(adata)
    parameters.check(
        locals(),
        adata=Data(),
        groupby=Data(),
        layer=Either(Text(), None),
        key_added=Text(),
    )
    groups = obs_column(adata, groupby, "groupby").astype(str).to_numpy()
    matrix = take_matrix(adata, layer, None, None)
    counts = cell_counts(matrix.values).counts.copy()
    if not np.array_equal(counts.data, np.rint(counts.data)):
        raise ValueError(
            f"{matrix.label} holds neither counts nor log-normalised counts; name a layer that does: layer="
        )
    totals = np.asarray(counts.sum(axis=1)).ravel()
    medians = {name: np.median(totals[groups == name]) for name in np.unique(groups)}
    shallow = min(medians.values())
    keep = np.array([shallow / medians[name] for name in groups])
    draws = validate.generator(random_state if rng is None else rng)
    counts.data = draws.binomial(counts.data.astype(np.int64), np.repeat(keep, np.diff(counts.indptr)))
    counts.eliminate_zeros()
    adata.layers[key_added] = sp.csr_matrix(counts, dtype=np.float32)
