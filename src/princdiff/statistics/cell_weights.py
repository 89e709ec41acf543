"""What each cell counts in the adaptive statistic, by the kind of table and how its features vary together.

Weights favour what tables differ in most; decision 13 tells on what they were chosen. They depend on the rows
and never on the labels, so every labelling is treated alike, whatever they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from princdiff.data.problem import Problem
from princdiff.statistics.row_view import RowView
from princdiff.statistics.searched_rows import random_order

# Distance of the outer percentiles, in distances of the quartiles, from which tails are heavy.
_HEAVY = 5.5
# Rows, and numbers in them, from which it is estimated how features vary together.
_ROWS, _FEWEST_ROWS, _ELEMENTS = 1000, 200, 4 * 10**6


@dataclass(frozen=True)
class CellWeights:
    """Weights of the cells of one table.

    Attributes
    ----------
    only_numbers : bool
        Whether no feature is a flag or a level.
    n_features : int
        Number of features that are not constant.
    n_independent : float
        How many independent features vary as these do, from 1 to ``n_features``; see `effective_features`.
    uneven : float
        Share of the features that are flags, levels or numbers with heavy tails, see `heavy_tails`.

    Examples
    --------
    >>> CellWeights(True, 60, 60.0).energy("scaled"), CellWeights(True, 60, 6.0).energy("scaled")
    (30.0, 4.0)
    """

    only_numbers: bool
    n_features: int
    n_independent: float
    uneven: float = 0.0

    @classmethod
    def of(cls, problem: Problem, view: RowView, seed: int) -> CellWeights:
        """Those of a problem, whose rows are looked at as ``view`` has them."""
        numbers, n_features = only_numbers(problem), max(1, int(problem.samples.varying.sum()))
        if n_features == 1:
            return cls(numbers, 1, 1.0, 1.0 - numbers)
        wanted = int(np.clip(_ELEMENTS // problem.n_features, _FEWEST_ROWS, _ROWS))
        weights = problem.weights
        rows: NDArray
        if problem.n_rows > wanted:
            taken = np.sort(random_order(problem.row_keys, seed)[:wanted])
            rows, weights = view.some(taken), None if weights is None else weights[taken]
        else:
            rows = view.dense
        measured = np.array([kind == "number" for kind in problem.kinds]) & problem.samples.varying
        uneven = 1 - (1 - heavy_tails(rows[:, measured])) * measured.sum() / n_features
        independent = min(n_features, effective_features(rows, weights)) if numbers else n_features
        return cls(numbers, n_features, float(independent), float(uneven))

    @property
    def column(self) -> float:
        """The clearest column: in tables of flags and categories two thirds of all.

        There differences of single columns are what people look for and find with a test per column, and a
        column that is named must not be held back; where all are numbers, differences along directions
        deserve as much, unless columns are few. Where numbers have heavy tails, directions and distances see
        little but the rows far out, and columns count as among flags. A few flags among fifty numbers change
        little: of 15 + 15 pictures of digits, 60 sets, .25 are told apart, and .10 with the weights of flags.
        """
        return self._among(float(np.clip(12 / self.n_features, 2.0, 6.0)), 120.0)

    @property
    def named(self) -> float:
        """Share of the error that is the clearest column's own, whatever else is looked at.

        Of 40 tables each, without a share and with .2 and .3: a shift of one of 60 columns is found in .82,
        .85 and .85, clusters in 1.00, .97 and .95, changes of correlated columns in .61, .60 and .57.
        Where tails are heavy (two of 30 columns, t2 and lognormal) .2, .5 and .7 find .81, .82 and .85, the
        clearest column alone .86.
        """
        return self._among(0.2, 0.7)

    @property
    def pair(self) -> float:
        """The clearest pair: in tables of flags and categories that of the pairs among names."""
        return self._among(1.0, 24.0)

    def _among(self, numbers: float, others: float) -> float:
        """Between what suits numbers and what suits flags, levels and numbers with heavy tails.

        As long as most are numbers, what suits them counts: the share is squared.
        """
        return numbers + self.uneven**2 * (others - numbers)

    @property
    def local(self) -> float:
        """The most local kernel: a few numbers may be arranged in ways that nothing else sees.

        In many dimensions all rows are about equally far from each other, and nothing is local.
        """
        if self.n_features == 1 or not self.only_numbers:
            return 2.0
        return float(np.clip(20 / self.n_features, 2.0, 10.0))

    @property
    def given(self) -> float:
        """One column given the others, where a change of one alone stands out if features vary together."""
        return 1.5 * (1 + 2.5 * self._sharing)

    def energy(self, metric: str) -> float:
        """The energy distance: the more independent features there are, the more may differ a little.

        Where features vary together distances see little but what they share.
        """
        if metric == "whitened":
            return float(np.clip(self.n_features / 20, 1.0, 3.0 if self.only_numbers else 1.0))
        if not self.only_numbers:
            return float(np.clip(self.n_features / 4, 4.0, 8.0))
        return float(np.clip(self.n_independent / 2, 4.0, 30.0))

    def covariances(self, metric: str) -> float:
        """The covariances as a whole, which say most relative to those of all rows."""
        if metric != "whitened":
            return 0.1
        return float(np.clip(self.n_features / 10, 3.0, 6.0 if self.only_numbers else 3.0)) * (
            1 + self._sharing
        )

    @property
    def _sharing(self) -> float:
        """From 0, where features are independent, towards 1, where all vary as one."""
        return 1 - self.n_independent / self.n_features


def only_numbers(problem: Problem) -> bool:
    """Whether no feature is a flag or a level."""
    return all(kind == "number" for kind in problem.kinds)


def heavy_tails(rows: NDArray) -> float:
    """Share of the columns whose tails are heavy, from 0 to 1.

    Heavy are those whose outer percentiles are more than 5.5 times as far apart as the quartiles: 3.4 times
    for normal, 4.2 for exponential, 4.6 for t5, 7 for lognormal and 8.5 for t2 numbers.

    Parameters
    ----------
    rows : array of shape (n_rows, n_features)
        Numbers.

    Returns
    -------
    float

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> heavy_tails(np.column_stack([rng.normal(size=(400, 3)), rng.standard_t(2, size=400)]))
    0.25
    """
    if not rows.shape[1]:
        return 0.0
    low, lower, upper, high = np.quantile(rows, [0.01, 0.25, 0.75, 0.99], axis=0)
    return float(np.mean(high - low > _HEAVY * (upper - lower)))


def effective_features(rows: NDArray, weights: NDArray[np.float64] | None = None) -> float:
    """How many independent features vary together as little as these do, their units left aside.

    It is the squared number of features over the sum of all their squared correlations, less what the latter
    has from too few rows. Correlations are those of ranks, lest one row far out decide.

    Parameters
    ----------
    rows : array of shape (n_rows, n_features)
        Numbers.
    weights : array of shape (n_rows,), optional
        Row weights.

    Returns
    -------
    float
        From 1 to the number of features that vary.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(500, 20))
    >>> shared = rng.normal(size=(500, 1))
    >>> round(effective_features(rows)), round(effective_features(0.1 * rows + shared))
    (20, 1)
    """
    weights = np.ones(len(rows)) if weights is None else weights
    share = weights / weights.sum()
    standard = _standardised_ranks(rows, share)
    n_features = int(standard.any(axis=0).sum())
    # Degrees of freedom of a covariance.
    freedom = 1 / (share**2).sum() - 1
    if n_features < 2 or freedom <= 1:
        return float(max(1, n_features))
    weighted = standard * np.sqrt(share)[:, None]
    # Of both products of the rows with their transpose, which have the same squares, the smaller.
    products = weighted.T @ weighted if n_features <= len(rows) else weighted @ weighted.T
    # What is expected of a normal sample is the sum of squares of the correlations themselves.
    squares = float(np.vdot(products, products)) - n_features**2 / freedom
    squares *= freedom**2 / ((freedom - 1) * (freedom + 2))
    if squares <= n_features:
        return float(n_features)
    return max(1.0, n_features**2 / squares)


def _standardised_ranks(rows: NDArray, share: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks of each column with mean zero and variance one; zeros for a constant."""
    ranks = pd.DataFrame(rows).rank().to_numpy()
    centred = ranks - share @ ranks
    spread = np.sqrt(share @ centred**2)
    return centred / np.where(spread > 1e-6, spread, np.inf)
