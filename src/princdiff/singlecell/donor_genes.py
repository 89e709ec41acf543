"""Genes whose mean, variability or co-expression differs between donors.

A donor is a unit: what is compared are sums over the cells of each, so that many cells of few donors do not
pass for many observations. Statistics of all genes are made anew for every permutation of donors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import false_discovery_control

from princdiff.labellings.schemes import Scheme
from princdiff.statistics.moderated import LabelledUnits, level_rows, pooled_pvalues, without_trend
from princdiff.tables.counts import CellCounts

# A gene is tested if so many cells show it, and this share of them.
FEWEST_CELLS, LEAST_SHARE = 10, 0.02
# Permutations of donors cost little; all are used where they are fewer.
FEWEST_PERMUTATIONS = 499
# Shares of the error level, by what differs: most often it is the mean, and a false pair names two genes.
_SHARES = {"mean": 0.8, "variability": 0.1, "co-expression": 0.1}
# Counts of a gene, a donor on average, below which its variability is not looked at.
_FEWEST_COUNTS = 30
# Genes with the most counts whose pairs are looked at, and the share of cells that must show them.
_MOST_PAIRED, _PAIRED_SHARE = 900, 0.25
# P-value of a mean up to which the pairs of a gene are not looked at.
_CHANGED_MEAN = 0.01
# Permutations of pairs, and pairs whose p-values are counted: a single pair can be named with a hundred.
_PAIR_LABELLINGS, _MOST_COUNTED = 199, 2000
# Cells of a donor from which its correlations are estimated at most; donors differ by more than these err.
_MOST_CORRELATED = 1000
# Cells of a donor in one group, for one in the other, from which on fewer are read of those that have more.
# A third of the cells in one group, 8 + 8 donors: of the genes named 15 % were false without this, 6 % with
# 1.25 and 5 % with 1.1; of 200 genes 74, 55 and 48 were found.
_UNEQUAL_CELLS = 1.1
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
        Permutations of donors wanted.
    error : {"fdr", "fwer"}
        What is controlled at 5 %: the expected share of false genes, or the chance of any.
    seed : int
        For the permutations.
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
        Permutations and what is controlled.

    Returns
    -------
    DataFrame
        A row for each gene: score (moderated t of what differs most), pvalue (pooled over genes; of pairs
        times their number), pvalue_adj, selected, reason ("mean", "variability", "co-expression with ...",
        or empty), logfoldchange (to base 2, of the group over the reference; NaN where too few cells show
        the gene) and score_mean (moderated t of the mean, with its sign).
    """
    return named_genes([compare_genes(cells, donors, options)], names, options.error)[0]


@dataclass(frozen=True)
class ComparedGenes:
    """Genes of one comparison, before the error is controlled.

    Attributes
    ----------
    families : list of _GeneFamily
        What was tested.
    tested : int array
        Which genes.
    logfoldchange : array of shape (n_tested,)
        To base 2, of the group over the reference.
    """

    families: list[_GeneFamily]
    tested: NDArray[np.intp]
    logfoldchange: NDArray[np.float64]


def compare_genes(cells: CellCounts, donors: Donors, options: GeneOptions) -> ComparedGenes:
    """Test means, variability and co-expression of the genes that enough cells show.

    Parameters
    ----------
    cells : CellCounts
        Counts and depths.
    donors : Donors
        Units and their groups.
    options : GeneOptions
        Permutations.

    Returns
    -------
    ComparedGenes
    """
    cells, donors = _as_many_cells(cells, donors)
    counts, depth = cells.counts, cells.depth
    shown = np.bincount(counts.indices, minlength=counts.shape[1])
    tested = np.flatnonzero(shown >= max(FEWEST_CELLS, LEAST_SHARE * counts.shape[0]))
    if not len(tested):
        return ComparedGenes([], tested, np.zeros(0))
    sums = _DonorSums.of(counts, depth, donors, tested)
    units = donors.units(max(options.n_permutations, FEWEST_PERMUTATIONS), options.seed)
    level = sums.log_means.mean(axis=0)
    even = without_trend(sums.log_means, level)
    means = _GeneFamily.of("mean", tested, units.statistics(even))
    families = [means]
    measured = np.flatnonzero(sums.total.mean(axis=0) >= _FEWEST_COUNTS)
    if sums.cells.min() >= _FEWEST_CELLS_OF_DONOR and len(measured) > 1:
        spread = without_trend(sums.excess_spread[:, measured], level[measured])
        families.append(_GeneFamily.of("variability", tested[measured], units.statistics(spread)))
        # What is counted is partly noise: where a mean changes, so do correlations with all other genes.
        seen = np.where(means.pvalues > _CHANGED_MEAN, shown[tested], 0)
        paired = _paired_genes(seen, sums.total.sum(axis=0), counts.shape[0])
        if len(paired) > 1:
            few = LabelledUnits(units.labels[: _PAIR_LABELLINGS + 1], units.paired)
            correlations, pairs = _correlations(counts[:, tested[paired]], depth, donors)
            statistics = few.statistics(correlations)
            families.append(_GeneFamily.of("co-expression", tested[paired][pairs], statistics))
    return ComparedGenes(families, tested, -_difference(sums.log_means, donors))


def named_genes(found: list[ComparedGenes], names: NDArray, error: str) -> list[pd.DataFrame]:
    """Name genes of several comparisons, with one error control over all of them.

    Parameters
    ----------
    found : list of ComparedGenes
        One for each comparison.
    names : array of str of shape (n_genes,)
        Genes, the same for all.
    error : {"fdr", "fwer"}
        What is controlled.

    Returns
    -------
    list of DataFrame
        For each comparison the columns of `donor_genes`.
    """
    families = [family for one in found for family in one.families]
    if error == "fdr":
        adjusted = _discovery_rates(families, len(found))
    else:
        adjusted = [np.minimum(family.family_wise * len(found), 1.0) for family in families]
    each = iter(adjusted)
    tables = []
    for one in found:
        # Whatever was tested is clearer than what was not, an adjusted p-value of 1 too.
        table = pd.DataFrame({"score": 0.0, "pvalue": 1.0, "pvalue_adj": np.inf}, index=range(len(names)))
        table = table.assign(selected=False, reason="", logfoldchange=np.nan, score_mean=0.0)
        for family in one.families:
            family.write(table, names, next(each))
        table.loc[one.tested, "logfoldchange"] = one.logfoldchange
        if one.families:
            signed = np.copysign(one.families[0].observed, one.logfoldchange)
            table.loc[one.tested, "score_mean"] = signed
        table["pvalue_adj"] = np.minimum(table["pvalue_adj"], 1.0)
        table["selected"] = table["pvalue_adj"] <= 0.05
        table.loc[~table["selected"], "reason"] = ""
        tables.append(table)
    return tables


def _discovery_rates(families: list[_GeneFamily], n_comparisons: int) -> list[NDArray[np.float64]]:
    """Benjamini and Hochberg over all hypotheses, weighted so that each kind has its share of the error.

    One list names more than a list for each kind: what is clear in one kind leaves room in the others, as
    the share of false ones is promised for all together.
    """
    if not families:
        return []
    count = sum(len(family.pvalues) for family in families)
    weighted = [
        family.pvalues * len(family.pvalues) * n_comparisons / (_SHARES[family.kind] * count)
        for family in families
    ]
    adjusted = false_discovery_control(np.minimum(np.concatenate(weighted), 1.0))
    return np.split(adjusted, np.cumsum([len(part) for part in weighted])[:-1])


@dataclass(frozen=True)
class _GeneFamily:
    """What was found of genes, or of pairs of genes, in one respect.

    Attributes
    ----------
    kind : str
        Of `_SHARES`.
    members : int array of shape (n_members,) or (n_members, 2)
        Genes or pairs.
    observed, pvalues, family_wise : array of shape (n_members,)
        Statistics under the observed labelling, p-values pooled over members, and those of the largest one.
    """

    kind: str
    members: NDArray[np.intp]
    observed: NDArray[np.float32]
    pvalues: NDArray[np.float64]
    family_wise: NDArray[np.float64]

    @classmethod
    def of(cls, kind: str, members: NDArray[np.intp], statistics: NDArray[np.float32]) -> _GeneFamily:
        """From the statistics under all labellings, the observed one first."""
        observed = statistics[0] * np.float32(1 - 1e-5)
        largest = np.sort(statistics.max(axis=1))
        reached = 1 - np.searchsorted(largest, observed) / len(largest)
        pvalues = pooled_pvalues(statistics, _MOST_COUNTED if members.ndim == 2 else None)
        return cls(kind, members, statistics[0].copy(), pvalues, np.minimum(reached / _SHARES[kind], 1.0))

    def write(self, result: pd.DataFrame, names: NDArray, adjusted: NDArray[np.float64]) -> None:
        """Keep what is clearer than what other kinds have found of a gene."""
        order = np.argsort(-adjusted, kind="stable")
        # Of a gene's pairs the clearest one stands for it.
        n_each = 1 if self.members.ndim == 1 else max(1, len(np.unique(self.members)) - 1)
        pvalues = np.minimum(n_each * self.pvalues, 1.0)
        for side in range(self.members.ndim):
            genes = self.members if self.members.ndim == 1 else self.members[:, side]
            # The last one of a gene is its clearest.
            best = pd.Series(order, index=genes[order]).groupby(level=0).last()
            better = best[adjusted[best] < result["pvalue_adj"].to_numpy()[best.index]]
            reason: Any = self.kind
            if self.members.ndim == 2:
                partners = names[self.members[better.to_numpy(), 1 - side]]
                reason = [f"{self.kind} with {partner}" for partner in partners]
            columns = ["score", "pvalue", "pvalue_adj"]
            found = [self.observed[better], pvalues[better], adjusted[better]]
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
    def of(
        cls, counts: sp.csr_matrix, depth: NDArray[np.float64], donors: Donors, genes: NDArray[np.intp]
    ) -> _DonorSums:
        """Sums of some genes."""
        n_cells = len(depth)
        shape, places = (len(donors.codes), n_cells), (donors.of_cell, np.arange(n_cells))
        member = sp.csr_matrix((np.ones(n_cells), places), shape=shape)
        deep = sp.csr_matrix((depth, places), shape=shape)
        squares = sp.csr_matrix((counts.data**2, counts.indices, counts.indptr), shape=counts.shape)
        return cls(
            np.asarray(member.sum(axis=1)).ravel(),
            member @ depth,
            member @ depth**2,
            (member @ counts).toarray()[:, genes],
            (member @ squares).toarray()[:, genes],
            (deep @ counts).toarray()[:, genes],
        )

    @property
    def log_means(self) -> NDArray[np.float64]:
        """Base 2 logarithms of counts per depth, shape (n_rows, n_genes).

        Donors are brought to one level by the genes with more counts than most: where many genes rise, depth
        rises with them, and genes that did not change would seem to fall.
        """
        share = self.depth / self.depth.mean()
        logs = np.log2(self.total / share[:, None] + 0.5)
        counted = self.total.sum(axis=0)
        return level_rows(logs, counted >= np.median(counted))

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
    taken = np.concatenate(
        [_some_cells(depth, donors.of_cell == row, _MOST_CORRELATED) for row in range(len(donors.codes))]
    )
    depth, of_cell = depth[taken], donors.of_cell[taken]
    values = counts[taken].toarray().astype(np.float32)
    depth = depth.astype(np.float32)
    expected = depth[:, None] * (values.sum(axis=0) / depth.sum())
    # Residuals of counts: logarithms of few counts follow the depth of their cell.
    values = (values - expected) / np.sqrt(expected + _USUAL_DISPERSION * expected**2)
    first, second = np.triu_indices(values.shape[1], 1)
    found = np.empty((len(donors.codes), len(first)), dtype=np.float32)
    for row in range(len(donors.codes)):
        own = values[of_cell == row]
        own = own - own.mean(axis=0)
        length = np.sqrt((own**2).sum(axis=0))
        own = own / np.where(length > 0, length, 1.0)
        found[row] = np.arctanh(np.clip((own.T @ own)[first, second], -0.999, 0.999))
    return found, np.column_stack([first, second])


def _as_many_cells(cells: CellCounts, donors: Donors) -> tuple[CellCounts, Donors]:
    """Fewer cells of donors that have many, where the donors of one group have more than those of the other.

    What is known of each donor must be about as sure in both groups: permutation takes donors for alike.
    """
    n_cells = np.bincount(donors.of_cell, minlength=len(donors.codes))
    usual = sorted(float(np.median(n_cells[donors.codes == code])) for code in (0, 1))
    if usual[1] <= _UNEQUAL_CELLS * usual[0]:
        return cells, donors
    most = max(1, int(_UNEQUAL_CELLS * usual[0]))
    parts = [_some_cells(cells.depth, donors.of_cell == row, most) for row in range(len(donors.codes))]
    taken = np.sort(np.concatenate(parts))
    fewer = CellCounts(cells.counts[taken], cells.depth[taken])
    return fewer, replace(donors, of_cell=donors.of_cell[taken])


def _some_cells(depth: NDArray[np.float64], own: NDArray[np.bool_], most: int) -> NDArray[np.intp]:
    """Cells of a donor, or so many of them, evenly over their depths."""
    cells = np.flatnonzero(own)
    if len(cells) <= most:
        return cells
    places = np.linspace(0, len(cells) - 1, most).astype(np.intp)
    return np.sort(cells[np.argsort(depth[cells], kind="stable")[places]])


def _difference(values: NDArray[np.float64], donors: Donors) -> NDArray[np.float64]:
    """Mean of the reference's rows minus that of the group's."""
    return values[donors.codes == 1].mean(axis=0) - values[donors.codes == 0].mean(axis=0)
