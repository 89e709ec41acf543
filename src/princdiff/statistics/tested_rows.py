"""Rows under the labellings of one test, and what several of its statistics need of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princdiff.data.problem import Problem
from princdiff.labellings.schemes import Labelled, Scheme, SomeRows, scheme_of
from princdiff.solvers.whitening import whitening_share
from princdiff.statistics.alone import FEWEST_NAMING, AloneScores, alone_scores_of, numbered
from princdiff.statistics.cell_weights import CellWeights, only_numbers
from princdiff.statistics.changed_correlations import RelationScores, relation_scores
from princdiff.statistics.contrasts import Contrasts, Relabellings
from princdiff.statistics.row_view import RowView, distance_factors
from princdiff.statistics.searched_rows import random_order

# Numbers up to which rows are made dense for kernels, pairs and lengths.
_DENSE_ELEMENTS = 5 * 10**7
# Multiplications that pairs of columns may take, over all labellings, and how many pairs.
_PAIR_WORK = 6 * 10**10
_MOST_PAIRS = 8000
# Features up to which all are whitened together: a precision matrix needs more rows than features.
_WHITENED_FEATURES = 300
_ROWS_PER_WHITENED = 2.5
# Rows on which kernels, pairs and lengths are looked at, unless a group has a smaller share than this; fewer
# where features are many, so that numbers are no more than these.
_SAMPLED_ROWS, _FEWEST_SAMPLED, _SAMPLED_ELEMENTS = 50_000, 20_000, 5 * 10**6
_LEAST_SHARE = 0.1
# Labellings from which columns and pairs are scored among as many as are needed to name them.
_FEWEST_REFINED = 99


@dataclass(frozen=True)
class TestedRows:
    """Rows and labellings.

    Attributes
    ----------
    problem : Problem
        Rows without what covariates explain of them; with the scale "within" normal scores of their ranks
        within the observed groups, so that nothing of what single features do is left.
    scheme : Scheme or SomeRows
        Labellings.
    seed : int
        For random features.
    n_jobs : int, optional
        Threads.
    """

    # Not a test, whatever its name makes pytest believe.
    __test__ = False

    problem: Problem
    scheme: Labelled
    seed: int
    n_jobs: int | None = None

    @property
    def within(self) -> bool:
        """Whether only relationships between features count."""
        return self.problem.scale == "within"

    @cached_property
    def contrasts(self) -> Contrasts:
        """Products with all labellings."""
        return Contrasts(Relabellings.of(self.problem, self.scheme), self.n_jobs)

    @cached_property
    def numbers(self) -> NDArray[np.intp]:
        """Features that can be added up: neither flags nor levels."""
        return np.flatnonzero(np.array(self.problem.kinds) == "number")

    @cached_property
    def alone(self) -> AloneScores:
        """Scores of every column on its own."""
        found = alone_scores_of(self.problem, self._scored_among, self.n_jobs)
        own = slice(self.scheme.n_labellings)
        return replace(found, units=found.units[own], features=found.features[own])

    @cached_property
    def _scored_among(self) -> Labelled:
        """Labellings by which columns and pairs are made comparable: more of them where few are tested.

        Columns of a table with flags and categories compete by laws that are fitted to each of them, and few
        labellings fit them badly. Those beyond the ones that are tested serve for nothing else.
        """
        scheme = self.scheme
        few = _FEWEST_REFINED <= scheme.n_labellings - 1 < FEWEST_NAMING and not self.within
        if not few or not isinstance(scheme, Scheme) or scheme.exhaustive or only_numbers(self.problem):
            return scheme
        found = scheme_of(self.problem, FEWEST_NAMING, self.seed)
        # All labellings of a design are listed in an order of their own.
        return scheme if found.exhaustive else found

    @cached_property
    def sampled(self) -> TestedRows:
        """The same on a sample of the rows, whatever their labels; small groups need all rows."""
        problem = self.problem
        wanted = int(np.clip(_SAMPLED_ELEMENTS // problem.n_features, _FEWEST_SAMPLED, _SAMPLED_ROWS))
        few = problem.n_rows <= wanted or problem.sizes.min() < _LEAST_SHARE * problem.n_rows
        if few or self.within or not isinstance(self.scheme, Scheme):
            return self
        rows = np.sort(random_order(problem.row_keys, self.seed)[:wanted])
        return TestedRows(problem.take_rows(rows), SomeRows(self.scheme, rows), self.seed, self.n_jobs)

    @cached_property
    def weights(self) -> CellWeights:
        """What cells count."""
        if self.sampled is not self:
            return self.sampled.weights
        return CellWeights.of(self.problem, self.view, self.seed)

    @property
    def affordable(self) -> bool:
        """Whether all rows can be made dense."""
        return self.problem.n_rows * self.problem.n_features <= _DENSE_ELEMENTS

    @cached_property
    def raw(self) -> NDArray:
        """The rows as they are, dense."""
        rows = self.problem.rows
        return rows.toarray() if sp.issparse(rows) else np.asarray(rows)

    @cached_property
    def view(self) -> RowView:
        """The rows as distances see them."""
        return RowView(self.problem.samples, distance_factors(self.problem).astype(np.float32))

    @cached_property
    def whitened(self) -> RowView | None:
        """The rows relative to their covariance; None where features are too many."""
        n_rows, n_features = self.problem.n_rows, self.problem.n_features
        many = n_features > _WHITENED_FEATURES or n_rows < _ROWS_PER_WHITENED * n_features
        if n_features < 2 or many or not self.affordable:
            return None
        samples = self.problem.samples.whitened(whitening_share(n_features, n_rows))
        return RowView(samples, np.ones(n_features, dtype=np.float32))

    @cached_property
    def relations(self) -> RelationScores | None:
        """Pairs of features, as the selection judges them; None where there are none, or too many."""
        n_features, scheme = self.problem.n_features, self._scored_among
        n_pairs = n_features * (n_features - 1) // 2
        many = n_pairs > _MOST_PAIRS or self.problem.n_rows * n_pairs * scheme.n_labellings > _PAIR_WORK
        if n_pairs == 0 or (not self.within and (many or not self.affordable)):
            return None
        design, units = Relabellings.of(self.problem, scheme), numbered(self.problem.units)[1]
        found = relation_scores(self.raw, design, units, self.n_jobs, within=self.within)
        return found if found.n_pairs else None

    @property
    def leading_pair(self) -> tuple[int, int] | None:
        """The two features whose dependence differs most."""
        found = self.sampled.relations
        if found is None:
            return None
        first, second = found.pairs[found.scores[0].argmax()].tolist()
        return first, second
