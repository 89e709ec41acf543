"""All cell types in one call: genes of each, how much each changed, and how many cells it has.

A type with many cells names more genes whatever changed. So types are ranked by how far apart two
groups are in cells that were not learned from, with as many cells of every type.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import false_discovery_control

from princdiff.caught_warnings import warn_user
from princdiff.data.problem import Run
from princdiff.singlecell.anndata_input import CellComparison, obs_column
from princdiff.singlecell.composition import cells_of_types, composition
from princdiff.singlecell.donor_genes import Donors, GeneOptions, compare_genes, named_genes
from princdiff.singlecell.expression import Expression
from princdiff.singlecell.held_out import held_out_change
from princdiff.singlecell.rank_genes import gene_table
from princdiff.tables.frames import listed

# Cells of a type below which a donor does not take part in its comparison.
_FEWEST_OF_DONOR = 5
# Cells of each group that are learned from, and as many judged: between these numbers, alike for all types.
_FEWEST_LEARNED, _MOST_LEARNED = 10, 100


@dataclass(frozen=True)
class _Type:
    """One cell type: the comparison of its cells, and their donors as units."""

    name: str
    comparison: CellComparison
    donors: Donors | None


def compare_types(
    adata: Any, by: str, expression: Expression, comparison: CellComparison, how: tuple[GeneOptions, Run]
) -> dict[str, pd.DataFrame]:
    """Compare two groups within every cell type.

    Parameters
    ----------
    adata : AnnData
        Cells.
    by : str
        Column of ``obs`` that holds the cell types.
    expression : Expression
        Of all cells.
    comparison : CellComparison
        Two groups.
    how : (GeneOptions, Run)
        Permutations and what is controlled, threads and progress.

    Returns
    -------
    dict
        "cell_types", a row for each type, the most changed first: cell_type, n_cells, n_cells_reference,
        change (see `held_out_change`), n_selected, pvalue (of any gene), pvalue_adj (over types) and, with
        donors, the columns of `composition`. "table": the genes of all types, with error control over all.
    """
    labels = obs_column(adata, by, "by").astype(str).to_numpy()
    names = sorted(set(labels[comparison.cells]))
    sizes = pd.crosstab(labels[comparison.cells], comparison.codes).reindex(index=names, columns=[0, 1])
    types = [one for one in (_type(expression, comparison, labels, name) for name in names) if one]
    if not types:
        raise ValueError(f"no cell type of adata.obs[{by!r}] has cells of two donors in both groups")
    left_out = [name for name in names if name not in {one.name for one in types}]
    if left_out:
        warn_user(
            f"{len(left_out)} of {len(names)} cell types have too few cells or donors in one of the groups "
            f"and are not compared: {listed(left_out)}"
        )
    tables, pvalues = _genes(expression, types, how)
    found = pd.DataFrame({"cell_type": names})
    found["n_cells"], found["n_cells_reference"] = sizes.fillna(0).to_numpy(int).T
    place = {one.name: number for number, one in enumerate(types)}
    known = [place.get(name) for name in names]
    changes = _changes(expression, types, how[0].seed)
    found["change"] = [np.nan if own is None else changes[own] for own in known]
    found["n_selected"] = [0 if own is None else int(tables[own]["selected"].sum()) for own in known]
    found["pvalue"] = [np.nan if own is None else pvalues[own] for own in known]
    found["pvalue_adj"] = found["pvalue"]
    found.loc[found["pvalue"].notna(), "pvalue_adj"] = false_discovery_control(pvalues)
    units = expression.units(comparison)
    if units is not None and len(names) > 1:
        codes = np.searchsorted(names, labels[comparison.cells])
        counts = cells_of_types(units, codes, len(names))
        found = pd.concat([found, composition(counts, units, how[0].seed)], axis=1)
    order = np.lexsort((found["pvalue"], -found["change"].fillna(-np.inf)))
    parts = []
    for one, table in zip(types, tables, strict=True):
        part = gene_table(expression, one.comparison, table)
        part.insert(0, "cell_type", one.name)
        parts.append(part)
    ranks = found["cell_type"].iloc[order].tolist()
    parts.sort(key=lambda part: ranks.index(part["cell_type"].iloc[0]))
    return {
        "cell_types": found.iloc[order].reset_index(drop=True),
        "table": pd.concat(parts, ignore_index=True),
    }


def _type(expression: Expression, whole: CellComparison, labels: NDArray, name: str) -> _Type | None:
    """Cells of one type in donors that have enough of them; None where a group has too few."""
    cells = whole.cells & (labels == name)
    codes = np.full(len(labels), 255, dtype=np.uint8)
    codes[whole.cells] = whole.codes
    if expression.donors is not None:
        table = pd.crosstab(expression.donors[cells], codes[cells]).reindex(columns=[0, 1], fill_value=0)
        units = expression.units(whole)
        paired = units is not None and units.paired
        enough = table.min(axis=1) if paired else table.max(axis=1)
        kept = table.index[enough >= _FEWEST_OF_DONOR]
        cells = cells & np.isin(expression.donors, kept)
    own = codes[cells]
    if min((own == 0).sum(), (own == 1).sum()) < 2:
        return None
    comparison = replace(whole, cells=cells, codes=own)
    donors = expression.units(comparison)
    if expression.donors is not None and expression.counts is not None and donors is None:
        return None
    return _Type(name, comparison, donors)


def _genes(
    expression: Expression, types: list[_Type], how: tuple[GeneOptions, Run]
) -> tuple[list[pd.DataFrame], list[float]]:
    """Genes of every type with one error control over all of them, and the p-value of any gene of a type."""
    options, run = how
    if expression.counts is not None and all(one.donors is not None for one in types):
        tested = [
            compare_genes(expression.counts.take(one.comparison.cells), one.donors, options)
            for one in types
            if one.donors is not None
        ]
        least = [min([1.0, *(float(family.family_wise.min()) for family in one.families)]) for one in tested]
        return named_genes(tested, expression.matrix.features, options.error), least
    tables, least = [], []
    for one in types:
        table = expression.genes(one.comparison, None, options, run)
        least.append(float(table["pvalue_adj"].min()))
        table["pvalue_adj"] = np.minimum(table["pvalue_adj"] * len(types), 1.0)
        table["selected"] = table["pvalue_adj"] <= 0.05
        tables.append(table)
    return tables, least


def _changes(expression: Expression, types: list[_Type], seed: int) -> list[float]:
    """Held-out change of every type, with as many cells of each; NaN for types that have too few."""
    smallest = [int(np.bincount(one.comparison.codes).min()) // 2 for one in types]
    enough = [size for size in smallest if size >= _FEWEST_LEARNED]
    if not enough:
        return [np.nan] * len(types)
    n_learned = min(_MOST_LEARNED, min(enough))
    found = []
    for one, size in zip(types, smallest, strict=True):
        if size < _FEWEST_LEARNED:
            found.append(np.nan)
            continue
        members = expression.members(one.comparison)
        rows = expression.rows(one.comparison)
        found.append(held_out_change(rows, one.comparison.codes, members, n_learned, seed))
    return found
