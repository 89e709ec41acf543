"""Expression of cells and the donors they come from: read once, warned of once, compared gene by gene."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from princdiff.data import validate
from princdiff.data.problem import Design, Problem, Run
from princdiff.data.samples import Scale
from princdiff.selection.select import select
from princdiff.selection.steps import SelectionOptions
from princdiff.singlecell import cautions
from princdiff.singlecell.anndata_input import CellComparison, Matrix, obs_column, take_matrix
from princdiff.singlecell.donor_genes import FEWEST_CELLS, Donors, GeneOptions, donor_genes
from princdiff.tables.counts import CellCounts, cell_counts


@dataclass(frozen=True)
class Source:
    """Where expression and donors are in an AnnData object.

    Attributes
    ----------
    layer, obsm, mask_var, blocks, permute, values
        As in `princdiff.tl.pda`.
    """

    layer: str | None = None
    obsm: str | None = None
    mask_var: Any = None
    blocks: str | None = None
    permute: str = "auto"
    values: str | None = "log"


@dataclass(frozen=True)
class Expression:
    """Expression of cells, their counts, and their donors.

    Attributes
    ----------
    matrix : Matrix
        As compared.
    counts : CellCounts or None
        Counts behind it; None where it holds something else.
    donors : array of shape (n_cells,) or None
        Donor of each cell.
    permute : {"auto", "whole", "within"}
        How donors are relabelled.
    """

    matrix: Matrix
    counts: CellCounts | None
    donors: NDArray | None
    permute: str = field(default="auto")

    @classmethod
    def of(cls, adata: Any, source: Source) -> Expression:
        """Read it, and warn of values that are not what they are taken for."""
        matrix = take_matrix(adata, source.layer, source.obsm, source.mask_var)
        validate.refuse_non_finite(matrix.values, matrix.features)
        donors = None
        if source.blocks is not None:
            donors = obs_column(adata, source.blocks, "blocks").astype(str).to_numpy()
        counts = None
        if source.obsm is None:
            cautions.warn_of_values(matrix.values, matrix.label, source.values)
            kind = cautions.kind_of_values(matrix.values)[0]
            if source.values is not None and kind in ("counts", "log-normalised"):
                counts = cell_counts(matrix.values)
        # Without blocks single cells move, whatever would be done with blocks.
        return cls(matrix, counts, donors, "auto" if donors is None else source.permute)

    def warn(
        self, adata: Any, groupby: str, comparisons: list[CellComparison], by: str | None = None
    ) -> None:
        """Warn of what misleads: unequal depth, unequal shares of cell types, cells that pass for donors."""
        if self.counts is not None:
            cautions.warn_of_depth(self.counts, comparisons, self.donors, groupby)
        if by is None:
            cautions.warn_of_composition(adata, comparisons, self.units, groupby)
        if self.donors is None:
            cautions.warn_of_pseudoreplication(adata, groupby, comparisons)

    def rows(self, comparison: CellComparison) -> Any:
        """Values of the cells of a comparison."""
        return self.matrix.values if comparison.cells.all() else self.matrix.values[comparison.cells]

    def donors_of(self, comparison: CellComparison) -> NDArray | None:
        """Donors of the cells of a comparison."""
        return None if self.donors is None else self.donors[comparison.cells]

    def members(self, comparison: CellComparison) -> NDArray[np.intp]:
        """What is held out together: the number of each cell's donor, or of the cell."""
        donors = self.donors_of(comparison)
        return (
            np.arange(len(comparison.codes)) if donors is None else np.unique(donors, return_inverse=True)[1]
        )

    def units(self, comparison: CellComparison) -> Donors | None:
        """Donors as units; None where they cannot be, or values come from no counts."""
        donors = self.donors_of(comparison)
        if donors is None or self.counts is None or comparison.joint:
            return None
        return Donors.of(donors, comparison.codes, self.permute)

    def genes(self, comparison: CellComparison, scale: Scale, options: GeneOptions, run: Run) -> pd.DataFrame:
        """Genes that differ by themselves.

        Parameters
        ----------
        comparison : CellComparison
            What is compared.
        scale : {None, "pooled", "within"}
            With "within" neither a shift nor a spread counts.
        options : GeneOptions
            Permutations and what is controlled.
        run : Run
            Threads and progress.

        Returns
        -------
        DataFrame
            A row for each gene: score, pvalue, pvalue_adj, selected, reason; logfoldchange where donors are
            compared.
        """
        units = None if scale == "within" else self.units(comparison)
        if units is not None and self.counts is not None:
            cells = self.counts.take(comparison.cells)
            return donor_genes(cells, self.matrix.features, units, options)
        design = Design(blocks=self.donors_of(comparison), permute=self.permute)
        rows, names = self.rows(comparison), self.matrix.features
        # What hardly any cell shows says nothing, and would take its part of the error.
        shown = np.asarray((rows != 0).sum(axis=0)).ravel()
        tested = np.flatnonzero(shown >= min(FEWEST_CELLS, rows.shape[0]))
        table = pd.DataFrame({"score": 0.0, "pvalue": 1.0, "pvalue_adj": 1.0}, index=range(len(names)))
        table = table.assign(selected=False, reason="")
        if len(tested):
            problem = Problem.from_arrays(
                rows[:, tested], comparison.codes, scale=scale, design=design, names=names[tested]
            )
            table.loc[tested, list(table)] = _alone(problem, run, options).to_numpy(object)
        return table.astype({"score": float, "pvalue": float, "pvalue_adj": float, "selected": bool})


def _alone(problem: Problem, run: Run, options: GeneOptions) -> pd.DataFrame:
    """Genes whose own distribution differs; pairs among thousands would take their share of the error."""
    asked = SelectionOptions(n_permutations=options.n_permutations, relations=False, error=options.error)
    found = select(problem, run, asked)
    return found.table[["score", "pvalue", "pvalue_adj", "selected", "reason"]]
