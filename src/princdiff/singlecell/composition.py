"""Shares of cell types, compared donor by donor.

Shares sum to one: where one type grows, the shares of the others fall, and are said to. The type whose share
changed by the largest factor is most often the one that did.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from princdiff.labellings.pvalues import step_down_pvalues
from princdiff.singlecell.donor_genes import FEWEST_PERMUTATIONS, Donors

# Names of columns that hold cell types or clusters, and the most levels such a column has.
_TYPE_NAMES = re.compile(
    r"(?i)^(.*_)?(cell_?(type|class|ontology|subtype)|leiden|louvain|clusters?|annotation)s?(_.*)?$"
)
_MOST_TYPES = 60


def composition(counts: NDArray[np.float64], donors: Donors, seed: int) -> pd.DataFrame:
    """Whether the share of each cell type among a donor's cells differs between groups.

    Parameters
    ----------
    counts : array of shape (n_rows, n_types)
        Cells of each type of every donor (or of every donor in each group, if paired).
    donors : Donors
        Groups of these rows.
    seed : int
        For the permutations.

    Returns
    -------
    DataFrame
        A row for each type: share and share_reference (mean over donors), share_log2_change, and
        share_pvalue_adj (of odds, donor by donor; family-wise over types).

    Examples
    --------
    >>> counts = np.array(
    ...     [[50, 40, 10], [45, 45, 10], [48, 42, 11], [30, 25, 45], [28, 26, 40], [33, 24, 50]]
    ... )
    >>> donors = Donors(np.arange(6), np.array([1, 1, 1, 0, 0, 0], dtype=np.uint8), paired=False)
    >>> found = composition(counts.astype(float), donors, seed=0)
    >>> found["share_log2_change"].round(1).tolist(), found["share_pvalue_adj"].tolist()
    ([-0.7, -0.8, 2.1], [0.1, 0.1, 0.1])
    """
    shares = counts / counts.sum(axis=1, keepdims=True)
    odds = np.log2((counts + 0.5) / (counts.sum(axis=1, keepdims=True) - counts + 0.5))
    sides = [shares[donors.codes == code].mean(axis=0) for code in (0, 1)]
    # Half a cell, so that a type that one side lacks has a finite change.
    smallest = 0.5 / counts.sum(axis=1).mean() / len(counts)
    units = donors.units(2 * FEWEST_PERMUTATIONS + 1, seed)
    statistics = units.statistics(odds)
    return pd.DataFrame(
        {
            "share": sides[0],
            "share_reference": sides[1],
            "share_log2_change": np.log2((sides[0] + smallest) / (sides[1] + smallest)),
            "share_pvalue_adj": step_down_pvalues(np.round(statistics, 5)),
        }
    )


def cells_of_types(donors: Donors, types: NDArray[np.intp], n_types: int) -> NDArray[np.float64]:
    """Cells of each type of every donor, shape (n_rows, n_types)."""
    places = donors.of_cell * n_types + types
    counts = np.bincount(places, minlength=len(donors.codes) * n_types)
    return counts.reshape(-1, n_types).astype(np.float64)


def type_column(adata: Any, others: tuple[str | None, ...]) -> str | None:
    """The first column of ``obs`` that looks like cell types or clusters, other than these; or None.

    Examples
    --------
    >>> import anndata
    >>> cells = anndata.AnnData(np.zeros((4, 1)), obs={"batch": list("aabb"), "cell_type": list("abab")})
    >>> type_column(cells, ("batch",))
    'cell_type'
    """
    if any(name is not None and _TYPE_NAMES.match(name) for name in others):
        return None
    for name in map(str, adata.obs.columns):
        if _TYPE_NAMES.match(name) and adata.obs[name].dtype.kind != "f":
            n_types = adata.obs[name].nunique()
            if 2 <= n_types <= _MOST_TYPES and adata.obs[name].notna().all():
                return name
    return None
