"""Genes whose mean, variability or co-expression differs between donors.

A donor is a unit: what is compared are sums over the cells of each, so that many cells of few donors do not
pass for many observations. Statistics of all genes are made anew for every relabelling of donors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import false_discovery_control

from princdiff.labellings.schemes import Scheme
from princdiff.singlecell.depth import CellCounts
from princdiff.statistics.moderated import LabelledUnits, pooled_pvalues, without_trend

# A gene is tested if so many cells show it, and this share of them.
FEWEST_CELLS, LEAST_SHARE = 10, 0.02
# Relabellings of donors cost little; all are used where they are fewer.
FEWEST_PERMUTATIONS = 499
# Shares of the error level, by what differs: most often it is the mean.
_SHARES = {"mean": 0.75, "variability": 0.1, "co-expression": 0.15}
# Counts of a gene, a donor on average, below which its variability is not looked at.
_FEWEST_COUNTS = 30
# Genes with the most counts whose pairs are looked at, and the share of cells that must show them.
_MOST_PAIRED, _PAIRED_SHARE = 900, 0.25
# Relabellings of pairs, and pairs whose p-values are counted: a single pair can be named with a hundred.
_PAIR_LABELLINGS, _MOST_COUNTED = 199, 2000
# Overdispersion by which residuals are scaled; correlations do not depend on it much.
_USUAL_DISPERSION = 0.5
# Cells of a donor below which variability and co-expression are not estimated.
_FEWEST_CELLS_OF_DONOR = 8


@dataclass(frozen=True)
class Donors:
    """Cells of donors in two groups.

    Attributes
    ----------
    of_cell : int array of shape (n_cells,)
        Row of each cell among the units: a donor, or a donor in one of the two groups if paired.
    codes : array of shape (n_rows,), dtype uint8
        Group of each row: 0 the group, 1 the reference.
    paired : bool
        Whether every donor has cells in both groups: rows ``2 i`` and ``2 i + 1`` are those of donor i.
    """

    of_cell: NDArray[np.intp]
    codes: NDArray[np.uint8]
    paired: bool

    @classmethod
    def of(cls, donors: NDArray, codes: NDArray[np.uint8], permute: str) -> Donors | None:
        """Donors that lie in one group each, or all in both; None where some do and others do not.

        Parameters
        ----------
        donors : array of shape (n_cells,)
            Donor of each cell.
        codes : array of shape (n_cells,)
            0 or 1.
        permute : {"auto", "whole", "within"}
            As in `princdiff.tl.pda`.
        """
        names, numbers = np.unique(donors, return_inverse=True)
        present = np.zeros((len(names), 2), dtype=bool)
        present[numbers, codes] = True
        both = present.all(axis=1)
        if both.all() and permute != "whole" and len(names) > 1:
            rows = np.tile(np.array([0, 1], dtype=np.uint8), len(names))
            return cls(2 * numbers + codes, rows, True)
        if not both.any() and permute != "within" and (present.sum(axis=0) > 1).all():
            return cls(numbers, present[:, 1].astype(np.uint8), False)
        return None

    def units(self, n_permutations: int, seed: int) -> LabelledUnits:
        """The observed labelling and others as likely under the null hypothesis."""
        blocks = np.repeat(np.arange(len(self.codes) // 2), 2) if self.paired else None
        scheme = Scheme(self.codes, n_permutations, seed, blocks, "within")
        return LabelledUnits(scheme.codes(np.arange(scheme.n_labellings)), self.paired)


@dataclass(frozen=True)
class GeneOptions:
    """How genes are tested.

    Attributes
    ----------
    n_permutations : int
        Relabellings of donors wanted.
    error : {"fdr", "fwer"}
        What is controlled at 5 %: the expected share of false genes, or the chance of any.
    seed : int
        For the relabellings.
    """

    n_permutations: int
    error: str
    seed: int


def donor_genes(cells: CellCounts, names: NDArray, donors: Donors, options: GeneOptions) -> pd.DataFrame:
    """Genes that differ between groups of donors, with error control over genes.

    Parameters
    ----------
    cells : CellCounts
        Counts of n_genes genes, and depths.
    names : array of str of shape (n_genes,)
        Genes.
    donors : Donors
        Units and their groups.
    options : GeneOptions
        Relabellings and what is controlled.

    Returns
    -------
    DataFrame
        A row for each gene: score (moderated t of what differs most), pvalue (pooled over genes), pvalue_adj,
        selected, reason ("mean", "variability", "co-expression with ...", or empty) and logfoldchange (to
        base 2, of the group over the reference; NaN where too few cells show the gene).
    """
    counts, depth, error = cells.counts, cells.depth, options.error
    shown = np.asarray((counts > 0).sum(axis=0)).ravel()
    tested = np.flatnonzero(shown >= max(FEWEST_CELLS, LEAST_SHARE * counts.shape[0]))
    result = pd.DataFrame({"score": 0.0, "pvalue": 1.0, "pvalue_adj": 1.0}, index=range(len(names)))
    result = result.assign(selected=False, reason="", logfoldchange=np.nan)
    if not len(tested):
        return result
    sums = _DonorSums.of(counts[:, tested], depth, donors)
    units = donors.units(max(options.n_permutations, FEWEST_PERMUTATIONS), options.seed)
    level = sums.log_means.mean(axis=0)
    even = without_trend(sums.log_means, level)
    findings = [_GeneFamily("mean", tested, units.statistics(even))]
    measured = np.flatnonzero(sums.total.mean(axis=0) >= _FEWEST_COUNTS)
    if sums.cells.min() >= _FEWEST_CELLS_OF_DONOR and len(measured) > 1:
        spread = without_trend(sums.excess_spread[:, measured], level[measured])
        findings.append(_GeneFamily("variability", tested[measured], units.statistics(spread)))
        paired = _paired_genes(shown[tested], sums.total.sum(axis=0), counts.shape[0])
        if len(paired) > 1:
            few = LabelledUnits(units.labels[: _PAIR_LABELLINGS + 1], units.paired)
            correlations, pairs = _correlations(counts[:, tested[paired]], depth, donors)
            findings.append(_GeneFamily("co-expression", tested[paired][pairs], few.statistics(correlations)))
    for family in findings:
        family.write(result, names, error)
    result.loc[tested, "logfoldchange"] = -_difference(sums.log_means, donors)
    result["selected"] = result["pvalue_adj"] <= 0.05
    result.loc[~result["selected"], "reason"] = ""
    return result


@dataclass(frozen=True)
class _GeneFamily:
    """Statistics of one kind, of genes or of pairs of genes."""

    kind: str
    members: NDArray[np.intp]
    statistics: NDArray[np.float32]

    def write(self, result: pd.DataFrame, names: NDArray, error: str) -> None:
        """Keep what is clearer than what other kinds have found of a gene."""
        pvalues = pooled_pvalues(self.statistics, _MOST_COUNTED if self.members.ndim == 2 else None)
        if error == "fdr":
            adjusted = false_discovery_control(pvalues)
        else:
            largest = self.statistics.max(axis=1)
            adjusted = (largest[:, None] >= self.statistics[0] * np.float32(1 - 1e-5)).mean(axis=0)
        adjusted = np.minimum(adjusted / _SHARES[self.kind], 1.0)
        order = np.argsort(-adjusted, kind="stable")
        for side in range(1 if self.members.ndim == 1 else 2):
            genes = self.members if self.members.ndim == 1 else self.members[:, side]
            # The last one of a gene is its clearest.
            best = pd.Series(order, index=genes[order]).groupby(level=0).last()
            better = best[adjusted[best] < result["pvalue_adj"].to_numpy()[best.index]]
            reason: Any = self.kind
            if self.members.ndim == 2:
                partners = names[self.members[better.to_numpy(), 1 - side]]
                reason = [f"{self.kind} with {partner}" for partner in partners]
            columns = ["score", "pvalue", "pvalue_adj"]
            found = [self.statistics[0, better], pvalues[better], adjusted[better]]
            result.loc[better.index, columns] = np.column_stack([np.asarray(part, float) for part in found])
            result.loc[better.index, "reason"] = reason


@dataclass(frozen=True)
class _DonorSums:
    """What the cells of every donor add up to.

    Attributes
    ----------
    cells, depth, squared_depth : array of shape (n_rows,)
        Number of cells, and sums of their depth and of its square.
    total, squares, by_depth : array of shape (n_rows, n_genes)
        Sums of counts, of their squares, and of counts times depth.
    """

    cells: NDArray[np.float64]
    depth: NDArray[np.float64]
    squared_depth: NDArray[np.float64]
    total: NDArray[np.float64]
    squares: NDArray[np.float64]
    by_depth: NDArray[np.float64]

    @classmethod
    def of(cls, counts: sp.csr_matrix, depth: NDArray[np.float64], donors: Donors) -> _DonorSums:
        n_cells = len(depth)
        member = sp.csr_matrix(
            (np.ones(n_cells), (donors.of_cell, np.arange(n_cells))), shape=(len(donors.codes), n_cells)
        )
        return cls(
            np.asarray(member.sum(axis=1)).ravel(),
            member @ depth,
            member @ depth**2,
            (member @ counts).toarray(),
            (member @ counts.multiply(counts)).toarray(),
            (member @ sp.diags(depth) @ counts).toarray(),
        )

    @property
    def log_means(self) -> NDArray[np.float64]:
        """Base 2 logarithms of counts per depth, shape (n_rows, n_genes)."""
        share = self.depth / self.depth.mean()
        return np.log2(self.total / share[:, None] + 0.5)

    @property
    def excess_spread(self) -> NDArray[np.float64]:
        """Logarithm of the variance over what mean, depth and the gene's usual overdispersion give."""
        rate = self.total / self.depth[:, None]
        residual = self.squares - 2 * rate * self.by_depth + rate**2 * self.squared_depth[:, None]
        square = rate**2 * self.squared_depth[:, None]
        # A negative binomial of mean m has the variance m + dispersion m^2.
        excess, size = (residual - self.total).sum(axis=0), square.sum(axis=0)
        dispersion = np.maximum(excess, 0) / np.maximum(size, 1e-12)
        return np.log((np.maximum(residual, 0) + 0.5) / (self.total + dispersion * square + 0.5))


def _paired_genes(shown: NDArray, total: NDArray, n_cells: int) -> NDArray[np.intp]:
    """Genes whose co-expression can be estimated: with the most counts, shown by many cells."""
    often = np.flatnonzero(shown >= _PAIRED_SHARE * n_cells)
    return np.sort(often[np.argsort(-total[often], kind="stable")][:_MOST_PAIRED])


def _correlations(
    counts: sp.csr_matrix, depth: NDArray[np.float64], donors: Donors
) -> tuple[NDArray, NDArray[np.intp]]:
    """Correlations within donors of all pairs of genes, on Fisher's scale, and the pairs."""
    values = counts.toarray()
    expected = depth[:, None] * (values.sum(axis=0) / depth.sum())
    # Residuals of counts: logarithms of few counts follow the depth of their cell.
    values = (values - expected) / np.sqrt(expected + _USUAL_DISPERSION * expected**2)
    first, second = np.triu_indices(values.shape[1], 1)
    found = np.empty((len(donors.codes), len(first)), dtype=np.float32)
    for row in range(len(donors.codes)):
        own = values[donors.of_cell == row]
        own = own - own.mean(axis=0)
        length = np.sqrt((own**2).sum(axis=0))
        own = own / np.where(length > 0, length, 1.0)
        found[row] = np.arctanh(np.clip((own.T @ own)[first, second], -0.999, 0.999))
    return found, np.column_stack([first, second])


def _difference(values: NDArray[np.float64], donors: Donors) -> NDArray[np.float64]:
    """Mean of the reference's rows minus that of the group's."""
    return values[donors.codes == 1].mean(axis=0) - values[donors.codes == 0].mean(axis=0)
