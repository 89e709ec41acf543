"""What is asked of a permutation test, and what it found."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from princdiff.data import validate
from princdiff.data.shared_docs import with_shared_docs
from princdiff.labellings.pvalues import Interval
from princdiff.statistics.direction_grid import METRICS
from princdiff.statistics.protocol import Cell

STATISTICS = ("adaptive", "divergence", "paper")


@dataclass(frozen=True)
class PermutationOptions:
    """How a permutation test is made; see `permutation_test` for the words."""

    n_permutations: int = 999
    statistic: str = "adaptive"
    n_features: int | None = None
    metric: str = "mixed"
    early_stop: int | None = None
    tail: str | None = None
    keep_directions: bool = False
    checkpoint: str | Path | None = None

    def __post_init__(self) -> None:
        validate.check_choice("statistic", self.statistic, STATISTICS)
        validate.check_choice("metric", self.metric, METRICS)
        validate.check_choice("tail", self.tail, (None, "pareto"))
        validate.check_positive("n_permutations", self.n_permutations, whole=True)
        if self.early_stop is not None:
            validate.check_positive("early_stop", self.early_stop, whole=True)
        if self.n_features is not None and self.statistic != "divergence":
            raise ValueError(
                'n_features is for statistic="divergence"; the others choose the sparsity themselves'
            )


@with_shared_docs
@dataclass(frozen=True, repr=False)
class PermutationResult:
    """Outcome of a permutation test.

    Attributes
    ----------
    statistic : float
        Observed statistic.
    pvalue : float
        (1 + b) / (1 + B), or the exact share where all relabellings were used.
    null : array of shape (n_permutations,)
        The statistic of every relabelling.
    levels : list of (metric, number of features)
        What was looked at: of cells that are no directions, the name and 0 (single features: 1).
    level_pvalues : array of shape (n_levels,)
        P-value of each of them alone, not corrected for looking at several.
    values : array of shape (n_permutations + 1, n_levels)
        Their values for every labelling, the observed one first.
    best_level : (metric, number of features)
        Where the observed labelling stands out most clearly (the simplest, where several do); for "paper" the
        level that cross-validation chose.
    smallest_attainable_pvalue : float
        What the design and the number of permutations made allow at best.
    n_permutations : int
        Relabellings made, the observed one not counted.
    exact : bool
        Whether all distinct relabellings were used.
    extrapolated_pvalue : float or None
        With ``tail="pareto"``: an extrapolation beyond 1 / (B + 1).
    directions : array of shape (n_permutations + 1, n_features) or None
        With ``keep_directions``: each labelling's direction at the largest level.
    leading_feature : int or None
        For "adaptive": the feature that stands out most on its own.
    leading_pair : (int, int) or None
        For "adaptive": the two features whose dependence differs most.
    cells : list of Cell
        For "adaptive": what was looked at, in the order of ``levels``.
    cell_scores : array of shape (n_levels,)
        For "adaptive": how clearly the observed labelling stands out in each, about -log of a p-value.
    leading : str
        For "adaptive": in what the groups differ most clearly, such as "one column alone" or "local
        structure". It says what stood out, whether or not the p-value is small.
    contrasts : dict of str to array of shape (n_features,)
        For "adaptive": the observed labelling's best direction of the scaled features in each metric.
        "euclidean" has the largest difference in size, "whitened" is the sharpest contrast: the largest
        difference relative to the variance along it.
    monte_carlo : Interval
        99 % interval of the p-value that infinitely many relabellings would give. For "adaptive" it is wider
        than that of a count, since scores are fitted to the relabellings that are drawn.

    Examples
    --------
    {example_groups}
    >>> result = princdiff.permutation_test(X, y, n_permutations=99, random_state=0)
    >>> result.pvalue, len(result.null)
    (0.01, 99)
    """

    statistic: float
    pvalue: float
    null: NDArray[np.float64]
    levels: list[tuple[str, int]]
    level_pvalues: NDArray[np.float64]
    values: NDArray[np.float64]
    best_level: tuple[str, int]
    smallest_attainable_pvalue: float
    n_permutations: int
    exact: bool
    extrapolated_pvalue: float | None = None
    directions: NDArray | None = None
    leading_feature: int | None = None
    leading_pair: tuple[int, int] | None = None
    cells: list[Cell] = field(default_factory=list)
    cell_scores: NDArray[np.float32] = field(default_factory=lambda: np.empty(0, dtype=np.float32))
    leading: str = ""
    contrasts: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    monte_carlo: Interval | None = None

    def __repr__(self) -> str:
        how = "all permutations" if self.exact else f"{self.n_permutations} permutations"
        leads = f", leading: {self.leading}" if self.leading else ""
        return f"PermutationResult(pvalue={self.pvalue:.4g}, statistic={self.statistic:.4g}, {how}{leads})"
