"""The parts of a result, each with its own fields: the test, the selection, the bound, the reference."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from princdiff.printable import short_repr


def _refuse_unequal(**sizes: int) -> None:
    """Parts that are read side by side have one length."""
    if len(set(sizes.values())) > 1:
        found = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise ValueError(f"these should be equally long: {found}")


# What a direction is called, in files too.
ContrastName = Literal["largest difference in size", "sharpest contrast", "sum of the scaled features"]


def _refuse_gaps(**drawn: NDArray[np.float64]) -> None:
    """What is drawn from one end to the other holds no gaps and no infinities."""
    for name, numbers in drawn.items():
        if not np.isfinite(numbers).all():
            raise ValueError(f"{name} holds something else than finite numbers")


def _no_numbers() -> NDArray[np.float64]:
    return np.empty(0)


@dataclass(frozen=True, eq=False, repr=False)
class TestPart:
    """How the question "do they differ" was decided.

    Attributes
    ----------
    name : {"none", "permutation", "split"}
        Which test was made.
    null : array of shape (n_permutations,)
        The statistic of every permutation; empty for a split test.
    n_permutations, asked : int
        Permutations made, and asked for.
    exact : bool
        Whether all distinct permutations were used.
    smallest_attainable_pvalue : float
        No p-value of this test can fall below it.
    monte_carlo_error : float
        Standard error of the p-value from drawing permutations at random.
    cells : list of str
        What was looked at, in words.
    cell_pvalues : array of shape (n_cells,)
        P-value of each of them alone, not corrected for looking at several.
    leading : str
        Where the groups stood out most, in words.
    leading_cell : str
        The one of ``cells`` that led.
    detectable : float
        The shift, in standard deviations along one feature, that a test of as many rows and features finds
        in four of five cases; NaN where the design is not that simple.
    searched_rows : int or None
        Rows on which directions were searched, where they were fewer than all.
    rule : str
        How a split test combined its splits.
    split_pvalues : array
        P-value of each split.
    """

    # pytest would take the class for one of its own.
    __test__ = False

    name: str = "none"
    null: NDArray[np.float64] = field(default_factory=_no_numbers)
    n_permutations: int = 0
    asked: int = 0
    exact: bool = False
    smallest_attainable_pvalue: float = math.nan
    monte_carlo_error: float = math.nan
    cells: list[str] = field(default_factory=list)
    cell_pvalues: NDArray[np.float64] = field(default_factory=_no_numbers)
    leading: str = ""
    leading_cell: str = ""

    detectable: float = math.nan
    searched_rows: int | None = None
    rule: str = ""
    split_pvalues: NDArray[np.float64] = field(default_factory=_no_numbers)

    def __post_init__(self) -> None:
        if len(self.cell_pvalues):
            _refuse_unequal(cells=len(self.cells), cell_pvalues=len(self.cell_pvalues))

    __repr__ = short_repr


@dataclass(frozen=True)
class SelectionPart:
    """What "selected" means in this result.

    Attributes
    ----------
    made : bool
        Whether features were selected with control of the error.
    alpha : float
        Level of the control.
    error : {"fwer", "fdr", ""}
        What is controlled: the chance of any false feature, or the expected share of false ones.
    control : str
        The promise in one sentence, or why nothing was selected.
    n_permutations : int
        Permutations behind the p-values.
    """

    made: bool = False
    alpha: float = 0.05
    error: str = ""
    control: str = ""
    n_permutations: int = 0


@dataclass(frozen=True)
class CertificatePart:
    """How far from the best possible direction the one found can be.

    Attributes
    ----------
    kind : {"certificate", "estimate", ""}
        Whether the bound is proved.
    how : str
        How it was found, or why there is none.
    n_features : int or None
        Features that a direction may have; None: all.
    """

    kind: str = ""
    how: str = ""
    n_features: int | None = None


@dataclass(frozen=True, eq=False, repr=False)
class PathPart:
    """Divergence against the number of features, fitted and on rows held out.

    Attributes
    ----------
    grid, fitted, held_out : arrays of shape (n_levels,)
        Numbers of features, and the divergence with this many.
    chosen : float
        The number chosen.
    """

    grid: NDArray[np.float64] = field(default_factory=_no_numbers)
    fitted: NDArray[np.float64] = field(default_factory=_no_numbers)
    held_out: NDArray[np.float64] = field(default_factory=_no_numbers)
    chosen: float = math.nan

    def __post_init__(self) -> None:
        _refuse_unequal(grid=len(self.grid), fitted=len(self.fitted), held_out=len(self.held_out))

    __repr__ = short_repr

    def __bool__(self) -> bool:
        return len(self.grid) > 0


@dataclass(frozen=True, eq=False, repr=False)
class GroupReference:
    """One group along one direction, for pictures and for scoring new rows.

    Attributes
    ----------
    quantiles : array of shape (n_levels,)
        Of the projected rows.
    sd : float
        Their standard deviation.
    rows : int
        How many they are.
    """

    quantiles: NDArray[np.float64]
    sd: float
    rows: int

    def __post_init__(self) -> None:
        _refuse_gaps(quantiles=self.quantiles)

    __repr__ = short_repr


@dataclass(frozen=True, eq=False, repr=False)
class ReferencePart:
    """What new rows are compared with.

    Attributes
    ----------
    levels : array of shape (n_levels,)
        Probabilities of the quantiles kept.
    factors, offsets : dicts from group to arrays of shape (n_features,)
        What a feature is multiplied by, and what is taken off it before, when rows are compared with a group.
    components : list of dicts
        For each direction, each group's projection.
    """

    levels: NDArray[np.float64]
    factors: dict[str, NDArray[np.float64]]
    offsets: dict[str, NDArray[np.float64]]
    components: list[dict[str, GroupReference]]

    def __post_init__(self) -> None:
        for groups in self.components:
            for group in groups.values():
                _refuse_unequal(levels=len(self.levels), quantiles=len(group.quantiles))

    __repr__ = short_repr


@dataclass(frozen=True, eq=False, repr=False)
class Distribution:
    """Histogram of one feature in each group.

    Attributes
    ----------
    edges : array of shape (n_bins + 1,)
        Bounds of the bins.
    shares : dict from group to array of shape (n_bins,)
        Part of the group's rows in each bin.
    values : array of shape (n_bins,) or empty
        The values of a feature that takes few, one in each bin.
    """

    edges: NDArray[np.float64]
    shares: dict[str, NDArray[np.float64]]
    values: NDArray[np.float64] = field(default_factory=_no_numbers)

    def __post_init__(self) -> None:
        bins = len(self.edges) - 1
        _refuse_gaps(edges=self.edges)
        for shares in self.shares.values():
            _refuse_unequal(bins=bins, shares=len(shares))
            _refuse_gaps(shares=shares)
        if len(self.values):
            _refuse_unequal(bins=bins, values=len(self.values))

    __repr__ = short_repr


@dataclass(frozen=True, eq=False)
class ContrastPart:
    """One direction in which the groups differ, and how well it tells them apart.

    Attributes
    ----------
    name : {"largest difference in size", "sharpest contrast", "sum of the scaled features"}
        The sharpest contrast has the largest difference relative to the variance along it.
    weights : array of shape (n_features,)
        Of the scaled features; a unit vector.
    effect, low, high : float
        Distance of the groups on rows that it was not fitted on, in standard deviations, with its interval.
    auc : float
        On such rows: the chance that a row of the second group scores higher than one of the first. NaN for
        more than two groups.
    led : bool
        Whether the test found the groups to differ most clearly along this one.
    groups : dict from group to GroupReference
        The rows along it.
    """

    name: ContrastName
    weights: NDArray[np.float64]
    effect: float
    low: float
    high: float
    auc: float
    led: bool
    groups: dict[str, GroupReference]


@dataclass(frozen=True, eq=False)
class WitnessPart:
    """What can be shown of a difference that is not along one direction.

    Attributes
    ----------
    about : str
        In what the groups differ, such as "local structure".
    sentence : str
        The same as a sentence.
    features : list of str
        Features that take part, the largest part first.
    parts : array of shape (len(features),)
        What is lost without the feature, as a share of all losses.
    typical : dict from group to list of int
        Rows most typical of each group, by their number in the input (first table first, from 0).
    axes : list of str
        Names of the two axes of the picture; empty where there is none.
    edges : list of arrays
        Bounds of its bins along each axis; what lies beyond is in the outermost.
    shares : dict from group to array of shape (n_bins * n_bins,)
        Part of the group's rows in each bin, those of the first bin of the first axis first.
    """

    about: str
    sentence: str
    features: list[str] = field(default_factory=list)
    parts: NDArray[np.float64] = field(default_factory=_no_numbers)
    typical: dict[str, list[int]] = field(default_factory=dict)
    axes: list[str] = field(default_factory=list)
    edges: list[NDArray[np.float64]] = field(default_factory=list)
    shares: dict[str, NDArray[np.float64]] = field(default_factory=dict)


def _no_frame() -> pd.DataFrame:
    return pd.DataFrame()


@dataclass(frozen=True, eq=False)
class RowsPart:
    """Rows to look at; empty unless they were asked for, since a result is otherwise free of data.

    Attributes
    ----------
    where : DataFrame with one row for each row shown
        Columns group, side ("typical" or "other side"), row (its number in its table, from 0), score (its
        place along the first direction).
    values : DataFrame with as many rows
        What the compared columns of the user's table hold there.
    """

    where: pd.DataFrame = field(default_factory=_no_frame)
    values: pd.DataFrame = field(default_factory=_no_frame)

    def __bool__(self) -> bool:
        return len(self.where) > 0
