"""Tools for AnnData, `princdiff.tl`: compute, and write the results into the object."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import false_discovery_control

from princdiff.data import parameters, validate
from princdiff.data.parameters import Choice, Data, Either, Flag, Level, Text, Whole
from princdiff.data.problem import Run
from princdiff.data.samples import Scale
from princdiff.data.shared_docs import with_shared_docs
from princdiff.result import shift_spread_shape
from princdiff.singlecell import genesets
from princdiff.singlecell.anndata_input import (
    CellComparison,
    Matrix,
    check_anndata,
    find_comparisons,
)
from princdiff.singlecell.cell_types import compare_types
from princdiff.singlecell.directions import Estimator, Wanted, fit_directions, projected_cells
from princdiff.singlecell.donor_genes import GeneOptions
from princdiff.singlecell.expression import Expression, Source
from princdiff.singlecell.genes import gene_statistics
from princdiff.singlecell.rank_genes import rank_genes
from princdiff.singlecell.scanpy_layout import about_ranking, ranked_genes, write_uns
from princdiff.statistics.permutation import permutation_test
from princdiff.statistics.permutation_result import PermutationResult


@with_shared_docs
def pda(
    adata: Any,
    groupby: str,
    *,
    groups: Sequence[str] | str | None = None,
    reference: str | None = "rest",
    layer: str | None = None,
    obsm: str | None = None,
    mask_var: Any = None,
    scale: Scale = None,
    n_features: int | str | None = "auto",
    n_components: int = 1,
    blocks: str | None = None,
    by: str | None = None,
    permute: str = "auto",
    n_permutations: int = 99,
    statistic: str = "divergence",
    values: str | None = "log",
    certify: bool | str = "auto",
    n_null_genes: int = 200,
    error: str = "fdr",
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: bool = False,
    key_added: str = "pda",
    copy: bool = False,
) -> Any:
    """Find the directions in gene expression along which groups of cells differ most.

    Parameters
    ----------
    adata : AnnData of shape (n_cells, n_genes)
        Log-normalised expression in ``X`` or a layer. Sparse matrices are not made dense; a backed object's
        matrix is read into memory.
    groupby : str
        Column of ``obs`` that holds the groups.
    groups : str or sequence of str, optional
        Groups of interest; default all.
    reference : str or None, default="rest"
        What each group is compared with: all other cells, or one group. With two groups in all, "rest" is
        one comparison. None compares all groups with each other at once.
    layer : str, optional
        Layer to use instead of ``X``.
    obsm : str, optional
        Coordinates in ``obsm`` to use instead of genes, such as "X_pca".
    mask_var : str or bool array of shape (n_genes,), optional
        Genes to use: a column of ``var``, such as "highly_variable", or a mask.
    scale : {None, "pooled", "within"}, default=None
        None: as measured, as in the paper, since logarithms of expression compare between genes. "pooled":
        every gene divided by its standard deviation, which raises the noise of rarely detected genes.
        "within": mean zero and unit variance in each group, so that only relationships between genes can
        differ.
    n_features : int, "auto" or None, default="auto"
        Genes that a direction may use; "auto": chosen by held-out divergence; None: all. From 2000 genes on
        the direction is judged on donors (or cells) that it was not fitted on; if as many of the genes that
        differ most by themselves do better there, they make the direction, and a warning says so.
    n_components : int, default=1
        Directions of each comparison; 0: genes alone, which takes seconds.
    blocks : str, optional
        Column of ``obs`` that holds donors, batches or pairs.
    by : str, optional
        Column of ``obs`` that holds cell types: the two groups are compared within each type, genes alone,
        with one error control over all types. Types are ranked by how much they changed.
    permute : {"auto", "whole", "within"}, default="auto"
        "whole": all cells of a donor change groups together, for donors that belong to one group each.
        "within": cells change groups inside their donor, for donors that were measured in every group.
        "auto": whichever of both the donors are.
    n_permutations : int, default=99
        Permutations of the test of each comparison; 0 leaves it out. With blocks fewer may exist.
    statistic : {"divergence", "adaptive"}, default="divergence"
        Of the test. "divergence": the largest divergence over directions of all genes. "adaptive": the best
        over numbers of genes from one to all, which is more powerful where few genes differ and about ten
        times slower.
    values : {"log", "counts", None}, default="log"
        What the matrix is meant to hold; a warning says if it looks otherwise. None: anything.
    certify : {"auto", True, False}, default="auto"
        Bound what any direction could reach; "auto": where that costs no more than the fit.
    n_null_genes : int, default=200
        Leading genes of every permutation to keep, for `pda_gene_sets`.
    error : {"fdr", "fwer"}, default="fdr"
        What is controlled at 5 % when genes are named: the expected share of false ones ("fdr"), or the
        chance of any ("fwer").
    random_state : int, RandomState, Generator or None, default=0
        Seed.
    {n_jobs}
    {progress}
    key_added : str, default="pda"
        Where results are written.
    copy : bool, default=False
        Return a copy with the results, instead of writing them into ``adata``.

    Returns
    -------
    AnnData or None
        With ``copy=True`` the copy. Written are, for every comparison and component a column:

        - ``.varm[key_added]``: directions, shape (n_genes, n_columns); genes not used have weight 0. Positive
          weights pull towards the group. With ``obsm`` they are in ``.uns[key_added]["directions"]``.
        - ``.obsm["X_" + key_added]``: all cells on the directions, shape (n_cells, n_columns). With
          ``scale="within"`` cells outside the comparison are NaN.
        - ``.uns[key_added]``: "params"; "statistics", a row for each column; "table", a row for each column
          and gene: its weight and share in the direction, and, with ``n_permutations``, whether the gene
          differs on its own: ``score``, ``pvalue``, ``pvalue_adj`` (see ``error``), ``selected`` (at most
          0.05), ``reason`` and ``logfoldchange`` (to base 2, of log-normalised values or counts). With
          ``blocks`` donors are compared, not cells: by the mean of each gene, by its variability beyond what
          mean and depth give, and by its co-expression with others ("co-expression with ..."); genes seen
          in less than 2 % of the cells are not tested, nor are ever those seen in fewer than ten. Without,
          and with ``scale="within"``, where neither a shift nor a spread counts, whole distributions are
          compared.
          Beside them stand scanpy's "names", "scores", "pvals", "pvals_adj" and "logfoldchanges", so that
          ``scanpy.get.rank_genes_groups_df(adata, None, key="pda")`` and ``scanpy.pl.rank_genes_groups`` read
          them.
          With ``by`` the table has a column "cell_type", and ``.uns[key_added]["cell_types"]`` a row for each
          type; read it with `princdiff.get.pda_cell_types_df`.
          The genes are a test of their own: some may differ where the direction's ``pvalue`` shows
          nothing, since it looks at all genes at once. Read them with `princdiff.get`.

    Examples
    --------
    >>> import anndata
    >>> import numpy as np
    >>> import princdiff
    >>> rng = np.random.default_rng(0)
    >>> expression = np.log1p(rng.poisson(2.0, size=(80, 6)) * 1.1)
    >>> expression[40:, 2] += 1.0
    >>> cells = anndata.AnnData(expression, obs={"tissue": ["cortex"] * 40 + ["hippocampus"] * 40})
    >>> princdiff.tl.pda(cells, "tissue", n_features=1, n_permutations=19)
    >>> princdiff.get.pda_df(cells).loc[0, ["group", "reference", "gene"]].tolist()
    ['cortex', 'hippocampus', '2']
    >>> cells.varm["pda"][2]
    array([-1.])
    """
    check_anndata(adata)
    parameters.check(
        locals(),
        adata=Data(),
        groupby=Data(),
        reference=Data(),
        mask_var=Data(),
        layer=Either(Text(), None),
        by=Either(Text(), None),
        obsm=Either(Text(), None),
        n_features=Either(Level(), None),
        n_components=Whole(0),
        n_permutations=Whole(0),
        statistic=Choice("divergence", "adaptive"),
        values=Choice("log", "counts", None),
        n_null_genes=Whole(1),
        error=Choice("fdr", "fwer"),
        key_added=Text(),
        copy=Flag(),
    )
    if not n_permutations and (by is not None or not n_components):
        alone = "n_components=0" if by is None else f"by={by!r}"
        raise ValueError(f"{alone} tests genes alone, which needs n_permutations above 0")
    if copy:
        adata = adata.to_memory() if adata.isbacked else adata.copy()
    comparisons = find_comparisons(adata, groupby, groups, reference)
    expression = Expression.of(adata, Source(layer, obsm, mask_var, blocks, permute, values))
    if n_permutations:
        expression.warn(adata, groupby, comparisons, by)
    seed = int(validate.generator(random_state).integers(2**31))
    about_genes, run = GeneOptions(n_permutations, error, seed), Run(seed, n_jobs, progress)
    asked = {
        "groupby": groupby,
        "groups": [name for one in comparisons for name in (one.names if one.joint else (one.group,))],
        "reference": "each other" if reference is None else reference,
        "layer": layer,
        "obsm": obsm,
        "mask_var": mask_var if isinstance(mask_var, str) else None if mask_var is None else "given",
        "scale": "none" if scale is None else scale,
        "n_features": "all" if n_features is None else n_features,
        "n_components": n_components,
        "blocks": blocks,
        "permute": permute,
        "n_permutations": n_permutations,
        "statistic": statistic,
        **about_ranking(error),
        "random_state": random_state if isinstance(random_state, int) else None,
    }
    if by is not None:
        asked["by"] = by
        types = compare_types(adata, by, expression, _only(comparisons, groupby), (about_genes, run))
        layout = ranked_genes(types["table"].assign(group=types["table"]["cell_type"]))
        write_uns(adata, key_added, {"params": asked, **types, **layout})
        return adata if copy else None
    if not n_components:
        table = rank_genes(expression, comparisons, scale, (about_genes, run))
        write_uns(adata, key_added, {"params": asked, "table": table, **ranked_genes(table)})
        return adata if copy else None
    options = {"scale": scale, "certify": certify, "random_state": seed, "n_jobs": n_jobs}
    wanted = Wanted(n_features, n_components, options)
    found = []
    for comparison in comparisons:
        rows = expression.rows(comparison)
        fitted = fit_directions(rows, comparison, expression.members(comparison), wanted)
        tested = genes = None
        if n_permutations:
            tested = permutation_test(
                rows,
                comparison.codes,
                n_permutations=n_permutations,
                statistic=statistic,
                scale=scale,
                blocks=expression.donors_of(comparison),
                permute=expression.permute,
                random_state=seed,
                n_jobs=n_jobs,
                progress=progress,
                keep_directions=True,
            )
            genes = expression.genes(comparison, scale, about_genes, run)
        found.append(_Found(expression.matrix, rows, comparison, fitted, tested, genes, n_null_genes))
    _write(adata, key_added, expression.matrix, found, asked)
    return adata if copy else None


def _only(comparisons: list[CellComparison], groupby: str) -> CellComparison:
    """The one comparison of two groups that is made in every cell type."""
    if len(comparisons) > 1 or comparisons[0].joint:
        raise ValueError(
            f"by= compares two groups within each cell type, and adata.obs[{groupby!r}] has more; name one "
            "with groups= and the other with reference="
        )
    return comparisons[0]


class _Found:
    """One comparison's results, in the form in which they are written."""

    def __init__(
        self,
        matrix: Matrix,
        rows: Any,
        comparison: CellComparison,
        fitted: Estimator,
        tested: PermutationResult | None,
        genes: pd.DataFrame | None,
        n_null_genes: int,
    ) -> None:
        self.comparison = comparison
        self._genes = genes
        self.components = fitted.components_
        inside = projected_cells(fitted, rows, comparison)
        if fitted.scale == "within":
            self.projected = np.full((len(comparison.cells), inside.shape[1]), np.nan)
            self.projected[comparison.cells] = inside
        elif comparison.cells.all():
            self.projected = inside
        else:
            self.projected = np.asarray(fitted.transform(matrix.values), dtype=np.float64)
        self.statistics = self._statistics(fitted, tested, inside)
        alone = gene_statistics(rows, comparison.codes, comparison.joint)
        for name in ("logfoldchange", "score_mean"):
            if genes is not None and name in genes:
                alone[name] = genes.pop(name)
        self.table = self._table(fitted, alone, matrix)
        self.null = None
        if tested is not None and tested.directions is not None:
            self.null = genesets.leading_genes(tested.directions, n_null_genes)

    def _statistics(
        self, fitted: Estimator, tested: PermutationResult | None, inside: NDArray[np.float64]
    ) -> pd.DataFrame:
        codes = self.comparison.codes
        kind = shift_spread_shape.split_difference(np.ascontiguousarray(inside.T), codes)
        total = np.where(kind.total > 0, kind.total, 1.0)
        count = len(self.components)
        # The test is of the comparison, and so of its first direction.
        first = np.where(np.arange(count) == 0, 1.0, np.nan)
        sizes = np.bincount(codes)
        return pd.DataFrame(
            {
                "group": self.comparison.group,
                "reference": self.comparison.reference,
                "component": np.arange(1, count + 1),
                "n_cells": int(sizes.sum() if self.comparison.joint else sizes[0]),
                "n_cells_reference": 0 if self.comparison.joint else int(sizes[1]),
                "divergence": fitted.divergences_,
                "upper_bound": fitted.upper_bounds_,
                "n_genes": (self.components != 0).sum(axis=1),
                "effect": [shift_spread_shape.effect_size(column, codes) for column in inside.T],
                "location": kind.location / total,
                "scale": kind.scale / total,
                "shape": kind.shape / total,
                "statistic": first * (np.nan if tested is None else tested.statistic),
                "pvalue": first * (np.nan if tested is None else tested.pvalue),
                "smallest_attainable_pvalue": np.nan if tested is None else tested.smallest_attainable_pvalue,
                "n_permutations": 0 if tested is None else tested.n_permutations,
            }
        )

    def _table(self, fitted: Estimator, alone: pd.DataFrame, matrix: Matrix) -> pd.DataFrame:
        parts = []
        for index, (weights, shares) in enumerate(zip(self.components, fitted.shares_, strict=True)):
            order = np.argsort(-np.abs(weights), kind="stable")
            head = pd.DataFrame(
                {
                    "group": self.comparison.group,
                    "reference": self.comparison.reference,
                    "component": index + 1,
                    "gene": matrix.features[order],
                    "rank": np.arange(1, len(order) + 1),
                    "weight": weights[order],
                    "share": shares[order],
                }
            )
            parts.append(
                pd.concat([head, self._tests(order), alone.iloc[order].reset_index(drop=True)], axis=1)
            )
        return pd.concat(parts, ignore_index=True)

    def _tests(self, order: NDArray[np.intp]) -> pd.DataFrame:
        """Whether each gene differs on its own, in the order of a direction's weights."""
        if self._genes is None:
            nothing = {
                "score": np.nan,
                "pvalue": np.nan,
                "pvalue_adj": np.nan,
                "selected": False,
                "reason": "",
            }
            return pd.DataFrame(nothing, index=range(len(order)))
        return self._genes.iloc[order].reset_index(drop=True)


def _write(adata: Any, key: str, matrix: Matrix, found: list[_Found], asked: dict[str, Any]) -> None:
    """Results in plain types that h5ad and zarr keep; what is None is left out, for they cannot hold it."""
    statistics = pd.concat([one.statistics for one in found], ignore_index=True)
    each = statistics.groupby(["group", "reference"], sort=False)["pvalue"].first()
    adjusted = each.copy()
    if each.notna().all():
        adjusted[:] = false_discovery_control(each.to_numpy())
    place = statistics.columns.get_loc("pvalue") + 1
    matched = [adjusted[pair] for pair in zip(statistics["group"], statistics["reference"], strict=True)]
    statistics.insert(place, "pvalue_adjusted", np.where(statistics["component"] == 1, matched, np.nan))
    table = pd.concat([one.table for one in found], ignore_index=True)
    result: dict[str, Any] = {"params": asked, "statistics": statistics, "table": table}
    result |= ranked_genes(table)
    nulls = {str(place): one.null for place, one in enumerate(found) if one.null is not None}
    if nulls:
        result["null_genes"] = nulls
    directions = np.concatenate([one.components for one in found]).T
    if matrix.used is None:
        result["directions"] = directions
    else:
        whole = np.zeros((adata.n_vars, directions.shape[1]))
        whole[matrix.used] = directions
        directions = whole
    write_uns(adata, key, result)
    with warnings.catch_warnings():
        # Writing into a view makes it an object of its own, which is what is wanted.
        warnings.filterwarnings("ignore", message="(Trying to modify|Setting element).*view")
        adata.obsm[f"X_{key}"] = np.concatenate([one.projected for one in found], axis=1)
        if matrix.used is not None:
            adata.varm[key] = directions
        elif key in adata.varm:
            # Directions of an earlier run would be taken for this one's.
            del adata.varm[key]
