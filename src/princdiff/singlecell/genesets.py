"""Gene sets: whether genes of a pathway lead a direction more often than by chance.

Two kinds of chance. Hypergeometric: as if leading genes were drawn from the analysed ones, each alike and
independent. Permutation: what the directions of relabelled cells have among their leading genes; genes that
vary together are then on top together, by chance as well as in truth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import false_discovery_control, hypergeom

from princdiff.caught_warnings import warn_user
from princdiff.data import parameters
from princdiff.data.parameters import Either, Text, Whole
from princdiff.data.shared_docs import with_shared_docs
from princdiff.labellings.pvalues import permutation_pvalue
from princdiff.singlecell.anndata_input import check_anndata
from princdiff.singlecell.getters import chosen_column, result_of
from princdiff.tables.frames import listed

GeneSets = dict[str, list[str]]
_NAMED = 3


def read_gmt(path: str | PathLike[str]) -> GeneSets:
    """Gene sets of a GMT file: a line each, with name, description and genes between tabs.

    Parameters
    ----------
    path : path
        The file, as MSigDB, Enrichr and others offer it.

    Returns
    -------
    dict of lists of str
        Genes of each set, in the order of the file.
    """
    sets: GeneSets = {}
    text = Path(path).read_text(encoding="utf-8-sig")
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        fields = [field.strip() for field in line.split("\t")]
        if len(fields) < 3 or not fields[0]:
            raise ValueError(
                f"{Path(path).name}, line {number}: a GMT line has a name, a description and genes with tabs "
                f"between them, found {len(fields)} field(s)"
            )
        if fields[0] in sets:
            raise ValueError(f"{Path(path).name}, line {number}: gene set {fields[0]!r} is there twice")
        # Some files give genes a weight after a comma; the set is what counts here.
        genes = [field.split(",")[0] for field in fields[2:] if field]
        sets[fields[0]] = list(dict.fromkeys(genes))
    if not sets:
        raise ValueError(f"{Path(path).name} has no gene set")
    return sets


def take_gene_sets(source: Mapping[str, Sequence[str]] | str | PathLike[str]) -> GeneSets:
    """Gene sets of a dict or of a GMT file."""
    if isinstance(source, str | PathLike):
        return read_gmt(source)
    if not isinstance(source, Mapping) or not source:  # type: ignore[redundant-expr]
        raise ValueError(
            "gene_sets must be a dict of lists of genes or the path of a GMT file, "
            f"got {type(source).__name__}"
        )
    text = [name for name, genes in source.items() if isinstance(genes, str)]
    if text:
        raise ValueError(f"gene_sets[{text[0]!r}] is one text, not a list of genes")
    return {str(name): list(dict.fromkeys(map(str, genes))) for name, genes in source.items()}


def leading_genes(directions: NDArray, count: int) -> NDArray[np.int32]:
    """Numbers of the genes with the largest absolute weights of each direction, largest first.

    Parameters
    ----------
    directions : array of shape (n_directions, n_genes)
        Weights.
    count : int
        How many to keep.

    Returns
    -------
    array of shape (n_directions, min(count, n_genes))
        -1 where a direction has fewer weights.

    Examples
    --------
    >>> leading_genes(np.array([[0.1, -0.7, 0.0], [0.0, 0.0, 1.0]]), 2)
    array([[ 1,  0],
           [ 2, -1]], dtype=int32)
    """
    size = np.abs(directions)
    order = np.argsort(-size, axis=1, kind="stable")[:, :count]
    return np.where(np.take_along_axis(size, order, axis=1) > 0, order, -1).astype(np.int32)


def enrichment(
    sets: GeneSets,
    universe: NDArray,
    leading: NDArray,
    null: NDArray | None,
    n_top: int,
    *,
    min_size: int = 1,
    max_size: int = 10**9,
) -> pd.DataFrame:
    """Overlap of every set with the leading genes, and its p-values.

    Parameters
    ----------
    sets : dict of lists of str
        Genes of each set; those outside the universe do not count.
    universe : array of str of shape (n_genes,)
        Genes that were analysed.
    leading : array of str
        Leading genes of the direction found.
    null : int array of shape (n_relabellings + 1, at least n_top), optional
        Leading genes of the permutations, as numbers in the universe, the observed labelling first; see
        `leading_genes`.
    n_top : int
        Leading genes of a permutation that count.
    min_size, max_size : int
        Sets with fewer or more genes in the universe are left out.

    Returns
    -------
    DataFrame
        A row for each set, most enriched first; see `princdiff.get.pda_gene_sets_df`.

    Examples
    --------
    >>> genes = np.array(list("abcdefgh"))
    >>> table = enrichment({"first": ["a", "b"], "last": ["g", "h"]}, genes, genes[:3], None, 3)
    >>> table.loc[0, "gene_set"], int(table.loc[0, "overlap"]), float(table.loc[0, "pvalue"])
    ('first', 2, 0.107)
    """
    if null is not None and null.shape[1] < min(n_top, len(universe)):
        raise ValueError(
            f"n_top={n_top}, but only {null.shape[1]} leading genes of each permutation were kept: run "
            f"tl.pda with n_null_genes={n_top}"
        )
    place = {str(gene): number for number, gene in enumerate(universe)}
    members = {name: sorted(place[gene] for gene in genes if gene in place) for name, genes in sets.items()}
    kept = {name: own for name, own in members.items() if min_size <= len(own) <= max_size}
    if not kept:
        _refuse_strange_names(sets, universe, members, min_size, max_size)
    _tell_left_out({name: len(own) for name, own in members.items() if name not in kept}, min_size, max_size)
    top = np.array([place[str(gene)] for gene in leading], dtype=np.intp)
    inside = np.zeros((len(kept), len(universe) + 1), dtype=bool)
    for row, own in enumerate(kept.values()):
        inside[row, own] = True
    sizes = inside.sum(axis=1)
    overlap = inside[:, top].sum(axis=1)
    pvalues = hypergeom.sf(overlap - 1, len(universe), sizes, len(top))
    by_chance = np.full(len(kept), np.nan)
    if null is not None:
        # A missing gene, -1, is the last column, which is in no set.
        counts = np.array([row[null[:, :n_top]].sum(axis=1) for row in inside])
        by_chance = permutation_pvalue(counts.T)
    table = pd.DataFrame(
        {
            "gene_set": list(kept),
            "size": sizes,
            "overlap": overlap,
            "expected": sizes * len(top) / len(universe),
            "pvalue": pvalues,
            "pvalue_adjusted": false_discovery_control(pvalues),
            "pvalue_permutation": by_chance,
            "pvalue_permutation_adjusted": by_chance if null is None else false_discovery_control(by_chance),
            "genes": [", ".join(str(universe[gene]) for gene in top[row[top]]) for row in inside],
        }
    )
    return table.sort_values(["pvalue", "pvalue_permutation"], kind="stable").reset_index(drop=True)


def _tell_left_out(sizes: dict[str, int], min_size: int, max_size: int) -> None:
    if not sizes:
        return
    some = ", ".join(f"{name!r} ({size} genes)" for name, size in list(sizes.items())[:_NAMED])
    more = f" and {len(sizes) - _NAMED} more" if len(sizes) > _NAMED else ""
    warn_user(
        f"left out for having fewer than {min_size} or more than {max_size} of the analysed genes: "
        f"{some}{more}; change min_size or max_size to keep them"
    )


def _refuse_strange_names(
    sets: GeneSets, universe: NDArray, members: dict[str, Any], min_size: int, max_size: int
) -> None:
    if any(members.values()):
        largest = max(map(len, members.values()))
        raise ValueError(
            f"no gene set has between {min_size} and {max_size} of the {len(universe)} analysed genes; the "
            f"largest has {largest}: change min_size or max_size"
        )
    example = next((genes for genes in sets.values() if genes), [])
    raise ValueError(
        f"no gene of the gene sets was analysed: they have names like {listed(example[:3])}, adata.var_names "
        f"like {listed(universe[:3])}; use the same kind of names"
    )


@with_shared_docs
def pda_gene_sets(
    adata: Any,
    gene_sets: Mapping[str, Sequence[str]] | str | PathLike[str],
    *,
    key: str = "pda",
    group: str | None = None,
    component: int = 1,
    n_top: int = 100,
    min_size: int = 5,
    max_size: int = 500,
) -> None:
    """Which gene sets are enriched among the genes with the largest weights.

    Parameters
    ----------
    adata : AnnData
        After `pda`.
    gene_sets : dict of lists of str, or path of a GMT file
        Genes of each set, by the names in ``var_names``.
    key : str, default="pda"
        ``key_added`` of `pda`.
    {one_comparison}
    {one_direction}
    n_top : int, default=100
        Leading genes, by absolute weight. A sparse direction may have fewer.
    min_size, max_size : int, default=5 and 500
        Sets with fewer or more genes among those analysed are left out.

    Returns
    -------
    None
        Written is ``.uns[key]["gene_sets"]``, see `princdiff.get.pda_gene_sets_df`, with two p-values.
        "pvalue": hypergeometric, the analysed genes being the universe; it takes genes for independent.
        "pvalue_permutation": of the permutations of `pda`, how many have this many genes of the set among the
        leading genes of their own direction over all genes. It knows that some genes vary together, and that
        some are on top of any direction. Where `pda` made no permutations it is NaN. Both also adjusted after
        Benjamini and Hochberg.

    Examples
    --------
    {example_cells}
    >>> princdiff.tl.pda(cells, "tissue", n_features=3, n_permutations=19)
    >>> princdiff.tl.pda_gene_sets(cells, {"even": ["0", "2", "4", "6"]}, n_top=2, min_size=2)
    >>> princdiff.get.pda_gene_sets_df(cells)["gene_set"].tolist()
    ['even']
    """
    check_anndata(adata)
    parameters.check(
        {"key": key, "group": group, "component": component},
        key=Text(),
        group=Either(Text(), None),
        component=Whole(1),
    )
    parameters.check(
        {"n_top": n_top, "min_size": min_size, "max_size": max_size},
        n_top=Whole(1),
        min_size=Whole(1),
        max_size=Whole(1),
    )
    result = result_of(adata, key)
    place, chosen = chosen_column(result, group, component)
    sets = take_gene_sets(gene_sets)
    table = result["table"]
    mine = table[(table["group"] == chosen["group"]) & (table["component"] == chosen["component"])]
    mine = mine[(mine["reference"] == chosen["reference"])]
    ranked = mine.sort_values("rank")
    universe = _analysed(adata, key, result)
    leading = ranked.loc[ranked["weight"] != 0, "gene"].to_numpy(dtype=str)[:n_top]
    null = result.get("null_genes", {}).get(str(_comparison_number(result, place)))
    found = enrichment(sets, universe, leading, null, n_top, min_size=min_size, max_size=max_size)
    found.index = found.index.astype(str)
    found.insert(0, "group", str(chosen["group"]))
    result["gene_sets"] = found


def _analysed(adata: Any, key: str, result: dict[str, Any]) -> NDArray:
    """Names of the analysed genes, in the order in which directions have them."""
    if key not in adata.varm:
        raise ValueError(f"adata.uns[{key!r}] is of coordinates in obsm, not of genes: it has no gene sets")
    table = result["table"]
    first = table[(table["component"] == 1) & (table["group"] == table["group"].iloc[0])]
    names = np.asarray(adata.var_names, dtype=str)
    return names[np.isin(names, first["gene"].to_numpy(dtype=str))]


def _comparison_number(result: dict[str, Any], place: int) -> int:
    """Which comparison a column belongs to."""
    return int((result["statistics"]["component"].to_numpy()[: place + 1] == 1).sum()) - 1
