"""Warnings that save a wrong conclusion: pseudoreplication, and values that are not what they are taken for.

Cells of one donor are alike, so a p-value that shuffles single cells answers a question about these donors,
not about the population; reviewers ask. And counts that were meant to be normalised give a direction made of
sequencing depth.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import chi2_contingency

from princdiff.caught_warnings import warn_user
from princdiff.data import validate
from princdiff.singlecell.anndata_input import CellComparison
from princdiff.singlecell.composition import cells_of_types, composition, type_column
from princdiff.singlecell.donor_genes import Donors
from princdiff.tables.counts import CellCounts, changed_by_depth, unequal_depth
from princdiff.tables.units import PSEUDOREPLICATION, unit_column, units_advice
from princdiff.words.readable_figures import percentages

# Fewer cells in a group than this are not yet "many".
MANY_CELLS = 50
# Logarithms of counts per million stay below 20, even to base 2.
LARGEST_LOGARITHM = 30.0
_LOOKED_AT = 200_000
# Shares of cell types that differ by less in sum are taken to be equal; by more, groups are types themselves.
UNEQUAL_SHARES, ANOTHER_TYPE = 0.1, 0.95


def warn_of_pseudoreplication(adata: Any, groupby: str, comparisons: list[CellComparison]) -> None:
    """One warning where cells are permuted as if each came from another donor."""
    column = unit_column(adata.obs, groupby)
    smallest = min(int(np.bincount(comparison.codes).min()) for comparison in comparisons)
    if column is None and smallest < MANY_CELLS:
        return
    if column is None:
        advice = (
            'if they come from few donors, name their column of adata.obs with blocks=, and permute="whole" '
            '(or "within" for donors with cells in every group)'
        )
    else:
        advice = units_advice(column, _crossed(adata.obs[column], comparisons))
    warn_user(f"{PSEUDOREPLICATION}; {advice}")


def warn_of_depth(
    cells: CellCounts, comparisons: list[CellComparison], donors: NDArray | None, groupby: str
) -> None:
    """One warning for each comparison whose groups were sequenced to different depths.

    Parameters
    ----------
    cells : CellCounts
        All cells.
    comparisons : list of CellComparison
        Groups.
    donors : array of shape (n_cells,), optional
        Donor of each cell: depths are then compared donor by donor.
    groupby : str
        Column of ``obs`` that holds the groups.
    """
    for comparison in comparisons:
        if comparison.joint:
            continue
        own, codes = cells.take(comparison.cells), comparison.codes
        ratio = unequal_depth(own, codes, None if donors is None else donors[comparison.cells])
        if ratio == 1.0:
            continue
        names = [comparison.group, comparison.reference]
        deeper, other = names if ratio > 1 else names[::-1]
        share = percentages((changed_by_depth(own, codes, ratio),))[0]
        warn_user(
            f"cells of {deeper!r} were sequenced {max(ratio, 1 / ratio):.1f} times as deep as those of "
            f"{other!r}: that alone changes the mean of about {share} of the genes, and how many cells show "
            f"them; compare counts thinned to equal depth, princdiff.tl.thin_counts(adata, {groupby!r}), "
            "normalised anew"
        )


def warn_of_composition(
    adata: Any,
    comparisons: list[CellComparison],
    units: Callable[[CellComparison], Donors | None],
    groupby: str,
) -> None:
    """One warning for each comparison whose groups have other shares of cell types.

    Parameters
    ----------
    adata : AnnData
        Cells; types are looked for among the columns of ``obs``.
    comparisons : list of CellComparison
        Groups.
    units : callable
        Donors of a comparison, or None.
    groupby : str
        Column of ``obs`` that holds the groups.
    """
    name = type_column(adata, (groupby,))
    if name is None:
        return
    codes, types = pd.factorize(adata.obs[name].astype(str), sort=True)
    for comparison in comparisons:
        if comparison.joint:
            continue
        own, donors = codes[comparison.cells], units(comparison)
        table = np.stack(
            [np.bincount(own[comparison.codes == code], minlength=len(types)) for code in (0, 1)]
        )
        present = table.sum(axis=0) > 0
        shares = table[:, present] / table.sum(axis=1, keepdims=True)
        if donors is not None:
            counts = cells_of_types(donors, own, len(types))[:, present]
            found = composition(counts, donors, seed=0)
            shares = found[["share", "share_reference"]].to_numpy().T
            clear = bool((found["share_pvalue_adj"] <= 0.05).any())
        else:
            clear = chi2_contingency(table[:, present]).pvalue <= 0.05 if present.sum() > 1 else False
        apart = np.abs(shares[0] - shares[1])
        # Groups that are made of types differ in them by definition.
        if not clear or not UNEQUAL_SHARES <= apart.sum() / 2 < ANOTHER_TYPE:
            continue
        most = int(np.argmax(apart))
        first, second = (f"{100 * share:.0f} %" for share in shares[:, most])
        warn_user(
            f"the groups have other shares of cell types: {types[present][most]!r} (adata.obs[{name!r}]) is "
            f"{first} of the cells of {comparison.group!r} and {second} of {comparison.reference!r}, so "
            "genes of that type differ for that alone; compare each type on its own: "
            f"princdiff.tl.pda(adata, {groupby!r}, by={name!r})"
        )


def _crossed(units: pd.Series, comparisons: list[CellComparison]) -> bool:
    """Whether some unit has cells on both sides of a comparison."""
    values = pd.factorize(units)[0]
    return any(
        (pd.crosstab(values[comparison.cells], comparison.codes) > 0).sum(axis=1).gt(1).any()
        for comparison in comparisons
    )


def warn_of_values(values: NDArray | sp.csr_matrix, label: str, expected: str | None) -> None:
    """Warn where counts are taken for log-normalised values, or the reverse.

    Parameters
    ----------
    values : array or CSR matrix of shape (n_cells, n_genes)
        What is compared.
    label : str
        What messages call it.
    expected : {"log", "counts", None}
        What it should hold; None: anything.
    """
    validate.check_choice("values", expected, ("log", "counts", None))
    kind, largest = kind_of_values(values)
    message = None
    if expected == "log" and kind == "counts":
        message = (
            f"looks like raw counts (whole numbers up to {largest:.0f}), so sequencing depth will pass for a "
            "difference; normalise first, scanpy.pp.normalize_total(adata) and scanpy.pp.log1p(adata), or "
            'name a layer that is normalised, or say values="counts" if counts are meant'
        )
    elif expected == "log" and kind == "not logarithmic":
        message = (
            f"has values up to {largest:.0f}, too large for logarithms, so few highly expressed genes will "
            "dominate; take logarithms with scanpy.pp.log1p(adata), or say values=None if this is meant"
        )
    elif expected == "log" and kind == "scaled":
        message = (
            "has negative values, as after scanpy.pp.scale, so means and shares of detected cells in the "
            "table are not of expression; use the log-normalised values, for instance adata.raw.to_adata(), "
            'with scale="pooled" if every gene is to count alike, or say values=None if this is meant'
        )
    elif expected == "counts" and kind != "counts" and kind != "binary":
        message = (
            f"does not hold raw counts (its values are {kind}); name the layer that does, or say "
            'values="log" if normalised values are meant'
        )
    if message:
        warn_user(f"{label} {message}")


def kind_of_values(values: NDArray | sp.csr_matrix) -> tuple[str, float]:
    """What numbers look like: "counts", "binary", "scaled", "not logarithmic" or "log-normalised".

    Examples
    --------
    >>> kind_of_values(np.array([[0.0, 3.0], [7.0, 1.0]]))
    ('counts', 7.0)
    >>> kind_of_values(np.array([[0.0, 1.3], [2.7, 0.4]]))
    ('log-normalised', 2.7)
    """
    numbers: NDArray = np.asarray(values.data) if sp.issparse(values) else np.ravel(values)
    if numbers.size == 0:
        return "binary", 0.0
    largest, smallest = float(numbers.max()), float(numbers.min())
    # Evenly over the cells: the first ones may be of one kind.
    part = numbers[:: max(1, numbers.size // _LOOKED_AT)]
    whole = np.array_equal(part, np.rint(part))
    if smallest < 0:
        return "scaled", largest
    if whole:
        return ("counts" if largest > 1 else "binary"), largest
    return ("not logarithmic" if largest > LARGEST_LOGARITHM else "log-normalised"), largest
