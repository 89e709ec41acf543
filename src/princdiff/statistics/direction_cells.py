"""Divergences along the best directions of every labelling, over a few metrics and sparsity levels.

Where features are few enough for covariances, directions are looked for by moments (`moment_search`) and then
by a short ascent on the divergence itself; otherwise by ascents from a few starts. Of many rows a labelling
is searched on some and judged on all (`sampling`). Where both rows and features are many, the means of all
rows give the directions, and say how far apart the groups are along them: a sample of a few thousand rows
would show nothing that is small enough to need so many.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from princdiff.data.labels import Labels
from princdiff.data.samples import Samples
from princdiff.divergences import Divergence
from princdiff.divergences.relative import relative
from princdiff.solvers.ascent import Tolerance, ascend
from princdiff.solvers.effort import Effort
from princdiff.solvers.path import Path, let_smaller_compete
from princdiff.solvers.sparsity import Sparsity, keep_largest, normalised
from princdiff.solvers.whitening import LARGEST_WHITENED, whitening_share
from princdiff.statistics.direction_grid import Grid, solve_grid, whitened_samples
from princdiff.statistics.moment_search import (
    Found,
    GroupMoments,
    MomentObjective,
    SearchEffort,
    gathered_moments,
    group_means,
    group_moments,
    group_shares,
    search,
    starts_of,
)
from princdiff.statistics.protocol import Cell, Family
from princdiff.statistics.searched_rows import SearchRows, judged

# Features of a direction that can be named one by one.
_FEW = 10
# Features up to which covariances of every labelling are made.
MOST_FEATURES = 100
# Rows of each group on which directions are looked for where all rows would cost too much.
SEARCH_ROWS = 1000
# Rows up to which directions found by moments are improved by an ascent on the divergence.
_POLISHED_ROWS = 4000
# Steps of the search by moments, of the ascent that follows, and how many directions take part in it.
_MOMENT_EFFORT = SearchEffort()
_POLISH = Tolerance(max_iter=4, gain=1e-3, patience=2)
_FINALISTS = 2
_RANDOM_STARTS = 2
# Rows from which, where features are too many for covariances, means say which directions, and numbers (rows
# times features) up to which they do. With fewer rows than features they do as well: a search would find some
# direction that tells any labelling apart.
MEANS_ROWS, _MEANS_ELEMENTS = 20_000, 5 * 10**7
# Multiplications of a labelling up to which its covariances are made of all rows.
_MOMENT_WORK = 3 * 10**7
# A search without moments: fewer starts and steps than a fit's.
_PLAIN = Effort(
    n_random=1,
    n_spread=2,
    n_singles=1,
    n_subsets=1,
    tolerance=Tolerance(max_iter=10, gain=1e-2, patience=2, screen_after=4),
    finalists=1,
    ridge_steps=0,
)


def adaptive_grid(n_features: int, n_rows: int, metric: str, degree: float = 2.0) -> Grid:
    """Levels 3, 10 and all; fewer where rows are many, since each is then judged on all of them.

    Examples
    --------
    >>> adaptive_grid(60, 200, "mixed")
    Grid(euclidean=(3, 10, 60), whitened=(3, 60))
    >>> adaptive_grid(20, 10**6, "mixed")
    Grid(euclidean=(3, 20), whitened=(20,))
    """
    if degree == 0:
        metric = "euclidean"
    few = n_rows > 20_000
    series = [level for level in ((3,) if few else (3, 10)) if level < 0.8 * n_features]
    euclidean = (*series, n_features) if metric != "whitened" else ()
    sparse = [level for level in series if level <= 5 and (not few or metric == "whitened")]
    dense = [n_features] if n_features <= LARGEST_WHITENED else []
    whitened = (*sparse, *dense) if metric != "euclidean" and n_features > 1 else ()
    if metric == "whitened" and not whitened:
        whitened = (min(3, n_features),)
    return Grid(tuple(euclidean), tuple(whitened))


def by_means(n_rows: int, n_features: int) -> bool:
    """Whether directions are those of the means of all rows, which takes a small part of the time.

    Examples
    --------
    >>> by_means(140_000, 197), by_means(140_000, 20), by_means(2000, 197), by_means(3000, 4000)
    (True, False, False, True)
    """
    many = n_rows > MEANS_ROWS or n_rows < n_features
    return n_features > MOST_FEATURES and many and n_rows * n_features <= _MEANS_ELEMENTS


def direction_cell(metric: str, level: int, name: str = "", **more: Any) -> Cell:
    """The cell of directions of at most so many features."""
    features = "1 feature" if level == 1 else f"at most {level} features"
    relative = ", relative to the variance along it" if metric == "whitened" else ""
    family = Family("direction", f"one direction of {features}{relative}", 3 if level <= _FEW else 5)
    return family.cell(name or f"{metric} {level}", metric=metric, level=level, **more)


@dataclass(frozen=True)
class DirectionCells:
    """Best directions of labellings and their divergences.

    Attributes
    ----------
    samples : Samples
        Pooled rows.
    divergence : Divergence
        What is compared.
    grid : Grid
        Metrics and levels.
    seed : int
        For random starts, which are the same for every labelling.
    rows : SearchRows, optional
        Rows to search on; None: all.
    """

    samples: Samples
    divergence: Divergence
    grid: Grid
    seed: int
    rows: SearchRows | None = None

    def __call__(self, labels: Labels) -> Path:
        """Values of every labelling in every cell of the grid, and directions.

        Parameters
        ----------
        labels : Labels
            One column per labelling.

        Returns
        -------
        Path
            ``values`` in units of the samples; those of whitened cells have none.
        """
        if self._with_moments:
            candidates = self._candidates(self._moments(labels))
            if self.samples.n_rows <= _POLISHED_ROWS:
                path = self._polished(self.samples, labels, candidates)
            else:
                best = np.concatenate([found.best(1).directions for found in candidates], axis=1)
                path = Path(self._judged(labels, best), best)
        else:
            path = self._by_means(labels) if self._with_means else self._without_moments(labels)
        n_euclidean = len(self.grid.euclidean)
        competed = let_smaller_compete(Path(path.values[:, :n_euclidean], path.directions[:, :n_euclidean]))
        path.values[:, :n_euclidean], path.directions[:, :n_euclidean] = competed
        return path

    def prepare(self) -> None:
        """Compute what all labellings share, before threads need it."""
        if self._with_means:
            _ = self._scaled, self._typical
            if not self._wide:
                _ = self._pooled
            return
        if self._with_moments:
            _ = self._scaled, self._pooled, self._relative
        _ = self._whitened

    @property
    def _with_moments(self) -> bool:
        samples = self.samples
        return samples.n_features <= MOST_FEATURES and samples.scale != "within" and not samples.streamed

    @property
    def _with_means(self) -> bool:
        samples = self.samples
        return (
            by_means(samples.n_rows, samples.n_features)
            and samples.scale != "within"
            and samples.columns_per_pass is None
        )

    @property
    def _wide(self) -> bool:
        """Whether rows are too few to need the covariance of all features."""
        return self._with_means and self.samples.n_rows < self.samples.n_features

    # Divergences of the cells: plain ones, and relative to the variance along the direction.

    @cached_property
    def _relative(self) -> list[Divergence]:
        """Of the whitened cells."""
        return [
            relative(self.divergence, whitening_share(level, self.samples.n_rows), self._typical)
            for level in self.grid.whitened
        ]

    @cached_property
    def _whitened(self) -> Samples | None:
        if self.samples.n_features not in self.grid.whitened:
            return None
        if not self._with_moments:
            return whitened_samples(self.samples, self.grid)
        return self.samples.whitened(whitening_share(self.samples.n_features, self.samples.n_rows))

    @cached_property
    def _pooled(self) -> NDArray[np.float64]:
        """Covariance of all rows."""
        return self.samples.astype(np.float64).covariance()

    @cached_property
    def _typical(self) -> float:
        """Variance of a typical feature."""
        varying = self.samples.varying
        if not varying.any():
            return 1.0
        if self._wide:
            return float(self._mean_squares(self._scaled[:, varying]).mean())
        return float(np.diag(self._pooled)[varying].mean())

    def _variance(self, directions: NDArray) -> NDArray[np.float64]:
        """Of all rows along unit directions; of few rows without the covariance of many features."""
        if self._wide:
            return self._mean_squares(self._scaled @ directions.T.astype(self._scaled.dtype, copy=False))
        return np.einsum("ld,ld->l", directions @ self._pooled, directions)

    def _mean_squares(self, columns: NDArray) -> NDArray[np.float64]:
        """Of centred columns, rows counting by their weights."""
        weights = self.samples.weights
        mass = np.ones(len(columns)) if weights is None else weights
        return np.einsum("nc,nc,n->c", columns, columns, mass / mass.sum(), dtype=np.float64)

    def _metric(self, level: int) -> NDArray[np.float64]:
        """What the variance along a direction of this many features is computed with."""
        share = whitening_share(level, self.samples.n_rows)
        return (1 - share) * self._pooled + share * self._typical * np.eye(self.samples.n_features)

    # Searches.

    def _without_moments(self, labels: Labels) -> Path:
        in_memory = self.samples.scale != "within" and not self.samples.streamed
        effort = _PLAIN if in_memory else "fast"
        if self.rows is None:
            return solve_grid(
                self.samples, labels, self.divergence, self.grid, self.seed, self._whitened, effort
            )
        shared = Labels(self.rows.codes, labels.n_groups)
        parts = []
        searched = [self.rows.take(labels.codes[column]) for column in labels.columns]
        # All labellings together look at few rows, and to take rows from a file is a pass over it.
        seen = np.unique(np.concatenate(searched))
        pool = self.samples if self.samples.columns_per_pass is None else self.samples.take_rows(seen)
        for index in searched:
            order = np.argsort(index)
            own = Labels(shared.codes[:, order], labels.n_groups)
            taken = index[order] if pool is self.samples else np.searchsorted(seen, index[order])
            part = pool.take_rows(taken)
            parts.append(
                solve_grid(
                    part,
                    own,
                    self.divergence,
                    self.grid,
                    self.seed,
                    whitened_samples(part, self.grid),
                    _PLAIN,
                ).directions
            )
        directions = np.concatenate(parts)
        return Path(self._judged(labels, directions), directions)

    def _by_means(self, labels: Labels) -> Path:
        """Directions along which the means of all rows differ, and how far apart they are along them."""
        codes = labels.codes[labels.columns]
        shares = group_shares(codes, labels.n_groups, labels.weights)
        means = group_means(self._scaled, codes, labels.n_groups, labels.weights)
        means = means - np.einsum("lg,lgd->ld", shares, means)[:, None]
        weighed = np.sqrt(shares)[:, :, None] * means
        # The groups' means differ most along the leading axis of their scatter, a sum of them.
        leading = np.linalg.eigh(weighed @ weighed.transpose(0, 2, 1))[1][:, :, -1]
        axis = np.einsum("lg,lgd->ld", leading, weighed)
        pairs = 0.5 * (1.0 - (shares * shares).sum(axis=1))
        values, directions = [], []
        for metric, level in self.grid.cells:
            relative = metric == "whitened"
            own = axis
            if relative and level == self.samples.n_features:
                own = np.linalg.solve(self._metric(level), axis.T.astype(np.float64)).T
            own = normalised(keep_largest(own, np.full(len(own), level)))
            along = np.einsum("lgd,ld->lg", means, own)
            variance = self._variance(own)
            if relative:
                share = whitening_share(level, self.samples.n_rows)
                variance = (1 - share) * variance + share * self._typical
            # Of a small shift: squared Wasserstein is its square, energy that over the standard deviation;
            # relative to the variance both are its square over the variance.
            power = 1.0 if relative else max(0.0, 1 - self.divergence.degree / 2)
            size = (shares * along * along).sum(axis=1) / pairs
            values.append(size / np.maximum(variance, 1e-30) ** power)
            directions.append(own.astype(np.float32))
        return Path(np.stack(values, axis=1).astype(np.float64), np.stack(directions, axis=1))

    @cached_property
    def _scaled(self) -> Any:
        """Rows in the scaled space, (n_rows, n_features)."""
        return self.samples.scaled_rows_by_rows()

    def _moments(self, labels: Labels) -> GroupMoments:
        codes = labels.codes[labels.columns]
        n_rows, n_features = self._scaled.shape
        if self.rows is None or n_rows * n_features**2 // 2 <= _MOMENT_WORK:
            return group_moments(self._scaled, codes, labels.n_groups, labels.weights)
        index = np.array([self.rows.take(row) for row in codes])
        # All labellings together look at few rows.
        seen = np.zeros(n_rows, dtype=bool)
        seen[index] = True
        places = (np.cumsum(seen) - 1)[index]
        rows = self._scaled[np.flatnonzero(seen)]
        searched = gathered_moments(rows, places, self.rows.codes, labels.n_groups)
        # Means of all rows cost little, and show what the rows searched are too few for.
        return searched._replace(means=group_means(self._scaled, codes, labels.n_groups, labels.weights))

    def _candidates(self, moments: GroupMoments) -> list[Found]:
        """A few directions of every labelling for each cell, by moments."""
        rng = np.random.default_rng(self.seed)
        # Energy is about the squared difference over the standard deviation.
        power = max(0.0, 1.0 - self.divergence.degree / 2)
        metric = self._pooled.astype(np.float32) if power else None
        plain = MomentObjective(moments, metric, power)
        found = self._descending(plain, self.grid.euclidean, rng)
        whitened = self._candidates_whitened(moments, rng)
        return [*found, *whitened]

    def _descending(
        self,
        objective: MomentObjective,
        levels: tuple[int, ...],
        rng: np.random.Generator,
        warm: NDArray[np.float32] | None = None,
    ) -> list[Found]:
        """From the largest level to the smallest, each warm from the one above."""
        if not levels:
            return []
        starts = starts_of(objective, _RANDOM_STARTS, rng)
        result: list[Found] = []
        for level in reversed(levels):
            begin = starts if warm is None else np.concatenate([warm, starts], axis=1)
            found = search(objective, begin, level, _MOMENT_EFFORT).best(_FINALISTS)
            warm = found.directions
            result.insert(0, found)
        return result

    def _candidates_whitened(self, moments: GroupMoments, rng: np.random.Generator) -> list[Found]:
        n_features = self.samples.n_features
        few = tuple(level for level in self.grid.whitened if level < n_features)
        result, warm = [], None
        if self._whitened is not None:
            mixing = self._whitened.mixing
            assert mixing is not None
            dense = self._descending(MomentObjective(moments.mixed(mixing)), (n_features,), rng)[0]
            mapped = dense.directions @ mixing.astype(np.float32)
            warm = normalised(mapped.reshape(-1, n_features)).reshape(mapped.shape)
            result.append(replace(dense, directions=warm))
        if few:
            objective = MomentObjective(moments, self._metric(few[-1]).astype(np.float32), 1.0)
            result = [*self._descending(objective, few, rng, warm), *result]
        return result

    # The divergence itself.

    def _polished(self, samples: Samples, labels: Labels, candidates: list[Found]) -> Path:
        """A short ascent from the candidates of every cell."""
        n_euclidean = len(self.grid.euclidean)
        cells = self.grid.cells
        kinds: list[tuple[Divergence, list[int]]] = [(self.divergence, list(range(n_euclidean)))]
        for place, compared in enumerate(self._relative, start=n_euclidean):
            kinds.append((compared, [place]))
        values = np.zeros((labels.n_columns, len(cells)))
        directions = np.zeros((labels.n_columns, len(cells), samples.n_features), dtype=np.float32)
        for compared, places in kinds:
            if not places:
                continue
            begin = np.stack([candidates[place].directions for place in places], axis=1)
            n_columns, n_cells, n_starts, n_features = begin.shape
            levels = np.tile(np.repeat([cells[place][1] for place in places], n_starts), n_columns)
            found = ascend(
                samples,
                labels.repeat(n_cells * n_starts),
                compared,
                Sparsity(levels),
                begin.reshape(-1, n_features),
                _POLISH,
            )
            objective = found.objective.reshape(n_columns, n_cells, n_starts)
            best = objective.argmax(axis=2)
            values[:, places] = np.take_along_axis(objective, best[:, :, None], axis=2)[:, :, 0]
            kept = found.directions.reshape(begin.shape)
            directions[:, places] = np.take_along_axis(kept, best[:, :, None, None], axis=2)[:, :, 0]
        return Path(values, directions)

    def _judged(self, labels: Labels, directions: NDArray) -> NDArray[np.float64]:
        """Divergences on all rows, relative ones over the variance of all rows."""
        values = judged(self.samples, labels, self.divergence, directions)
        n_euclidean = len(self.grid.euclidean)
        for place, level in enumerate(self.grid.whitened, start=n_euclidean):
            own = directions[:, place].astype(np.float64)
            denominator = np.einsum("ld,ld->l", own @ self._metric(level), own)
            values[:, place] /= np.maximum(denominator, 1e-30) ** (self.divergence.degree / 2)
        return values
