"""Read results from AnnData, `princdiff.get`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from princdiff.data import parameters
from princdiff.data.parameters import Either, Number, Text, Whole
from princdiff.data.shared_docs import with_shared_docs
from princdiff.singlecell.anndata_input import check_anndata
from princdiff.tables.frames import listed, suggestion


@with_shared_docs
def pda_df(
    adata: Any,
    key: str = "pda",
    *,
    group: str | None = None,
    component: int | None = None,
    top: int | None = None,
) -> pd.DataFrame:
    """Genes of every direction, largest weight first.

    Parameters
    ----------
    {adata}
    {key}
    group : str, optional
        One comparison only.
    component : int, optional
        One component only.
    top : int, optional
        So many genes of each direction.

    Returns
    -------
    DataFrame
        Columns group, reference, component, gene, rank, weight, share (of the divergence along the
        direction); then of each gene on its own: divergence and its parts location, scale and shape, and
        mean, sd and detected (share of cells that are not zero) in the group and in the reference; pvalue,
        pvalue_adj (family-wise over genes, donors respected), selected and reason.

    Examples
    --------
    {example_cells}
    >>> princdiff.tl.pda(cells, "tissue", n_features=2, n_permutations=0)
    >>> princdiff.get.pda_df(cells, top=1)["gene"].tolist()
    ['2']
    """
    parameters.check(
        {"group": group, "component": component, "top": top},
        group=Either(Text(), None),
        component=Either(Whole(1), None),
        top=Either(Whole(1), None),
    )
    table = result_of(adata, key)["table"].reset_index(drop=True)
    if group is not None:
        _refuse_unknown_group(group, table)
        table = table[table["group"] == group]
    if component is not None:
        _refuse_unknown_component(component, table)
        table = table[table["component"] == component]
    if top is not None:
        table = table[table["rank"] <= top]
    return table.reset_index(drop=True)


@with_shared_docs
def rank_genes_groups_df(
    adata: Any, group: str | None = None, *, key: str = "pda", pval_cutoff: float | None = None
) -> pd.DataFrame:
    """Genes and whether their own distribution differs, with the names of scanpy's function, clearest first.

    Parameters
    ----------
    adata : AnnData
        After `princdiff.tl.pda` with ``n_permutations``.
    group : str, optional
        One comparison only; of ``by`` one cell type.
    {key}
    pval_cutoff : float, optional
        Genes with an adjusted p-value up to this one only.

    Returns
    -------
    DataFrame
        By adjusted p-value, then p-value, then score. Columns group, names, scores (-log of an approximate
        p-value: any difference of the distribution counts, not of the mean only; it ranks genes of about the
        same p-value, and need not fall where adjusted p-values grow), pvals (1 + b) / (1 + B), pvals_adj
        (adjusted over genes, see ``error``), selected, reason and, for two groups, logfoldchanges (to base 2)
        and difference (of means).

    Examples
    --------
    {example_cells}
    >>> princdiff.tl.pda(cells, "tissue", n_features=3, n_permutations=99)
    >>> found = princdiff.get.rank_genes_groups_df(cells, pval_cutoff=0.05)
    >>> found[["names", "pvals_adj", "selected"]].round(2)
      names  pvals_adj  selected
    0     2       0.01      True
    """
    parameters.check({"pval_cutoff": pval_cutoff}, pval_cutoff=Either(Number(0, 1, "both"), None))
    table = genes_of(adata, key, group)
    if table["pvalue"].isna().all():
        raise ValueError("genes were not tested; call princdiff.tl.pda with n_permutations")
    found = pd.DataFrame(
        {
            "group": table["group"].astype(str),
            "names": table["gene"],
            "scores": table["score"],
            "pvals": table["pvalue"],
            "pvals_adj": table["pvalue_adj"],
            "selected": table["selected"],
            "reason": table["reason"],
        }
    )
    if "mean_reference" in table:
        found["logfoldchanges"] = table["logfoldchange"]
        found["difference"] = table["mean"] - table["mean_reference"]
    if pval_cutoff is not None:
        found = found[found["pvals_adj"] <= pval_cutoff]
    place = {name: number for number, name in enumerate(dict.fromkeys(table["group"]))}
    # Scores decide where p-values, which are counts of permutations, tie.
    by = (-found["scores"], found["pvals"], found["pvals_adj"], found["group"].map(place).to_numpy())
    order = np.lexsort(by)
    return found.iloc[order].reset_index(drop=True)


@with_shared_docs
def pda_statistics(adata: Any, key: str = "pda") -> pd.DataFrame:
    """One row for every comparison and component: how far apart, how sure, how many genes.

    Parameters
    ----------
    {adata}
    {key}

    Returns
    -------
    DataFrame
        Rows in the order of the columns of ``.varm[key]``. Columns group, reference, component, numbers of
        cells, divergence and its upper_bound (NaN where not computed), n_genes, effect (distance in standard
        deviations), shares of location, scale and shape, and of the test: statistic, pvalue,
        pvalue_adjusted (Benjamini and Hochberg, over comparisons), smallest_attainable_pvalue and
        n_permutations.

    Examples
    --------
    {example_cells}
    >>> princdiff.tl.pda(cells, "tissue", n_features=3, n_permutations=19)
    >>> princdiff.get.pda_statistics(cells)[["group", "reference", "n_genes", "pvalue"]]
        group    reference  n_genes  pvalue
    0  cortex  hippocampus        3    0.05
    """
    return result_of(adata, key)["statistics"].reset_index(drop=True)


@with_shared_docs
def pda_cell_types_df(adata: Any, key: str = "pda") -> pd.DataFrame:
    """Cell types, the most changed first.

    Parameters
    ----------
    adata : AnnData
        After `princdiff.tl.pda` with ``by``.
    key : str, default="pda"
        Where results are.

    Returns
    -------
    DataFrame
        Columns cell_type, n_cells and n_cells_reference; change: how far apart the groups are in donors
        (without ``blocks``: cells) that were not learned from, in standard deviations, with as many cells of
        every type, 0 by chance, NaN for types of few cells; n_selected genes, named with error control over
        all types; pvalue (of any gene) and pvalue_adj (Benjamini and Hochberg, over types); with ``blocks``
        also share and share_reference (of a donor's cells, mean), share_log2_change and share_pvalue_adj
        (donor by donor, family-wise over types).

    Examples
    --------
    {example_cells}
    >>> cells.obs["cell_type"] = ["B", "T"] * 30
    >>> princdiff.tl.pda(cells, "tissue", by="cell_type")
    >>> princdiff.get.pda_cell_types_df(cells)[["cell_type", "n_cells", "n_selected"]]
      cell_type  n_cells  n_selected
    0         B       15           1
    1         T       15           0
    """
    check_anndata(adata)
    parameters.check({"key": key}, key=Text())
    result = adata.uns.get(key)
    if not isinstance(result, Mapping) or "cell_types" not in result:
        raise ValueError(
            f"adata.uns[{key!r}] has no cell types; call princdiff.tl.pda(adata, ..., by=) first"
        )
    return result["cell_types"].reset_index(drop=True)


@with_shared_docs
def pda_gene_sets_df(adata: Any, key: str = "pda") -> pd.DataFrame:
    """Gene sets, most enriched first.

    Parameters
    ----------
    adata : AnnData
        After `princdiff.tl.pda_gene_sets`.
    key : str, default="pda"
        Where results are.

    Returns
    -------
    DataFrame
        Columns group, gene_set, size (genes among those analysed), overlap (genes of it among the leading
        ones), expected, pvalue, pvalue_adjusted, pvalue_permutation, pvalue_permutation_adjusted, genes.

    Examples
    --------
    {example_cells}
    >>> princdiff.tl.pda(cells, "tissue", n_features=3, n_permutations=19)
    >>> princdiff.tl.pda_gene_sets(cells, {"even": ["0", "2", "4", "6"]}, n_top=2, min_size=2)
    >>> princdiff.get.pda_gene_sets_df(cells)[["gene_set", "size", "overlap"]]
      gene_set  size  overlap
    0     even     4        1
    """
    result = result_of(adata, key)
    if "gene_sets" not in result:
        raise ValueError(f"adata.uns[{key!r}] has no gene sets; call princdiff.tl.pda_gene_sets first")
    return result["gene_sets"].reset_index(drop=True)


def result_of(adata: Any, key: str) -> dict[str, Any]:
    """What `tl.pda` wrote, or a sentence that says how to get it."""
    check_anndata(adata)
    parameters.check({"key": key}, key=Text())
    result = adata.uns.get(key)
    if result is None or "statistics" not in result or "table" not in result:
        raise ValueError(
            f"adata.uns[{key!r}] holds no principal differences; call princdiff.tl.pda(adata, ..., "
            f"key_added={key!r}) first, with n_components above 0"
        )
    return result


def genes_of(adata: Any, key: str, group: str | None) -> pd.DataFrame:
    """Genes of a comparison, or of all, one row each.

    Parameters
    ----------
    adata : AnnData
        With results.
    key : str
        Where they are.
    group : str, optional
        One comparison only.

    Returns
    -------
    DataFrame
    """
    check_anndata(adata)
    parameters.check({"key": key, "group": group}, key=Text(), group=Either(Text(), None))
    found = adata.uns.get(key)
    if not isinstance(found, Mapping) or "table" not in found:
        raise ValueError(
            f"adata.uns[{key!r}] holds no genes that princdiff compared; call princdiff.tl.pda("
            f"adata, ..., key_added={key!r}) first"
        )
    table = found["table"].reset_index(drop=True)
    if "cell_type" in table:
        table = table.assign(group=table["cell_type"])
    if group is not None:
        _refuse_unknown_group(group, table)
        table = table[table["group"] == group]
    if "component" in table:
        table = table[table["component"] == 1]
    return table.reset_index(drop=True)


def chosen_column(result: dict[str, Any], group: str | None, component: int) -> tuple[int, pd.Series]:
    """Number and description of one column of the directions.

    Parameters
    ----------
    result : dict
        What `tl.pda` wrote.
    group : str or None
        Which comparison; None where there is one only.
    component : int
        Which direction, from 1.

    Returns
    -------
    int, Series
    """
    chosen = {"group": group, "component": component}
    parameters.check(chosen, group=Either(Text(), None), component=Whole(1))
    statistics = result["statistics"].reset_index(drop=True)
    names = list(dict.fromkeys(statistics["group"]))
    if group is None:
        if len(names) > 1:
            raise ValueError(f"there are {len(names)} comparisons; choose one with group=: {listed(names)}")
        group = names[0]
    _refuse_unknown_group(group, statistics)
    own = statistics[statistics["group"] == group]
    _refuse_unknown_component(component, own)
    found = own[own["component"] == component]
    return int(found.index[0]), found.iloc[0]


def _refuse_unknown_group(group: str, table: pd.DataFrame) -> None:
    names = list(dict.fromkeys(table["group"]))
    if group not in names:
        raise ValueError(
            f"no comparison of group {group!r}; there are {listed(names)}{suggestion(str(group), names)}"
        )


def _refuse_unknown_component(component: int, table: pd.DataFrame) -> None:
    count = int(table["component"].max())
    if component not in range(1, count + 1):
        raise ValueError(f"component must be between 1 and {count}, got {component!r}")
