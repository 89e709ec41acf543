"""Divergences over a grid of metrics and sparsity levels, for many labellings at once.

What the permutation tests compare. In the whitened metric the divergence is taken relative to the variance
along the direction, labels ignored: for all features in whitened coordinates, for few features on their
own block of the covariance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from princdiff.data.labels import Labels
from princdiff.data.samples import Samples
from princdiff.divergences import Divergence
from princdiff.solvers.effort import Effort
from princdiff.solvers.path import Path, PathOptions, solve_path
from princdiff.solvers.sparsity import normalised
from princdiff.solvers.whitening import LARGEST_WHITENED, relative_divergence, shrinkage

METRICS = ("mixed", "euclidean", "whitened")


@dataclass(frozen=True)
class Grid:
    """Metrics and levels that a test looks at.

    Attributes
    ----------
    euclidean, whitened : tuples of int
        Sparsity levels in each metric, ascending.
    """

    euclidean: tuple[int, ...]
    whitened: tuple[int, ...]

    @property
    def cells(self) -> list[tuple[str, int]]:
        """Metric and level of each column of the values."""
        return [("euclidean", level) for level in self.euclidean] + [
            ("whitened", level) for level in self.whitened
        ]


def default_grid(n_features: int, metric: str, degree: float = 2.0) -> Grid:
    """Levels 1, 2, 3, 5, 10, ... and all in the plain metric; few and all in the whitened one.

    For a divergence of degree 0, which does not depend on scale, both metrics are the same.

    Examples
    --------
    >>> default_grid(60, "mixed")
    Grid(euclidean=(1, 2, 3, 5, 10, 20, 60), whitened=(2, 3, 5, 60))
    """
    if degree == 0:
        metric = "euclidean"
    series = [level for level in (1, 2, 3, 5, 10, 20, 50, 100) if level < 0.8 * n_features]
    euclidean = (*series, n_features) if metric != "whitened" else ()
    few = [level for level in series if (1 if metric == "whitened" else 2) <= level <= 5]
    dense = [n_features] if n_features <= LARGEST_WHITENED else []
    whitened = (*few, *dense) if metric != "euclidean" else ()
    return Grid(tuple(euclidean), tuple(sorted(set(whitened))))


def single_cell_grid(level: int, metric: str) -> Grid:
    """One level in one metric."""
    return Grid((level,), ()) if metric == "euclidean" else Grid((), (level,))


def solve_grid(
    samples: Samples,
    labels: Labels,
    divergence: Divergence,
    grid: Grid,
    seed: int,
    whitened: Samples | None = None,
    effort: str | Effort = "fast",
) -> Path:
    """Best value and direction of every labelling in every cell of the grid.

    Parameters
    ----------
    samples : Samples
        Pooled rows.
    labels : Labels
        One column per labelling.
    divergence : Divergence
        What is compared.
    grid : Grid
        Metrics and levels.
    seed : int
        For the starts, which are the same for every labelling.
    whitened : Samples, optional
        The rows in whitened coordinates, where the grid has all features in that metric; see
        `whitened_samples`.
    effort : {"fast", "default", "thorough"} or Effort
        Of the search.

    Returns
    -------
    Path
        ``values`` of shape (n_labellings, n_cells), ``directions`` with a further axis of features.
    """
    parts = []
    if grid.euclidean:
        levels = np.array(grid.euclidean)
        rng = np.random.default_rng(seed)
        parts.append(solve_path(samples, labels, divergence, levels, rng, PathOptions(effort)))
    if grid.whitened:
        parts.append(_solve_whitened(samples, whitened, labels, divergence, grid.whitened, seed, effort))
    return _side_by_side(parts)


def _side_by_side(parts: list[Path]) -> Path:
    return Path(
        np.concatenate([part.values for part in parts], axis=1),
        np.concatenate([part.directions for part in parts], axis=1),
    )


def whitened_samples(samples: Samples, grid: Grid) -> Samples | None:
    """Rows in whitened coordinates, where the grid asks for all features in that metric."""
    if samples.n_features not in grid.whitened:
        return None
    return samples.whitened(shrinkage(samples.n_features, samples.n_rows))


def _solve_whitened(
    samples: Samples,
    whitened: Samples | None,
    labels: Labels,
    divergence: Divergence,
    levels: tuple[int, ...],
    seed: int,
    effort: str | Effort,
) -> Path:
    n_features = samples.n_features
    few = [level for level in levels if level < n_features]
    parts = []
    extra = None
    if whitened is not None and whitened.mixing is not None:
        rng = np.random.default_rng(seed)
        dense = solve_path(whitened, labels, divergence, np.array([n_features]), rng, PathOptions(effort))
        mapped = dense.directions.reshape(-1, n_features) @ whitened.mixing.astype(samples.dtype)
        extra = normalised(mapped).reshape(dense.directions.shape)
        parts.append(Path(dense.values, extra))
    if few:
        relative = relative_divergence(samples, divergence, few[-1])
        rng = np.random.default_rng(seed)
        options = PathOptions(effort, extra)
        sparse = solve_path(samples, labels, relative, np.array(few), rng, options)
        parts.insert(0, sparse)
    return _side_by_side(parts)
