"""Many rows: search on some of them, judge on all.

A direction need not be looked for on all rows to be judged on all of them. Every labelling is searched on the
first rows of each of *its* groups in one random order of the rows: the same rule for every labelling, so that
the permutation test stays exact; a group that is small is searched whole.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from princdiff.data.labels import Labels
from princdiff.data.samples import Samples
from princdiff.divergences import Divergence, Energy, Wasserstein2
from princdiff.kernels import histograms

# Cells of the histograms by which divergences of many rows are computed. A finer grid changed no p-value of
# Gaussian, exponential and count data by more than 0.002.
_GRID = 1024
# The grid reaches this many standard deviations to both sides; what lies beyond counts at its end.
_REACH = 6.0
# Rows from which histograms take the place of sorting.
SORTED_ROWS = 5_000
# Projected values held at a time.
_BLOCK_ELEMENTS = 4_000_000


def random_order(keys: NDArray[np.uint64], seed: int) -> NDArray[np.intp]:
    """Rows in a random order that depends on what they hold, not on where they stand, shape (n_rows,).

    ``keys`` are those of `princdiff.data.row_keys`.
    """
    return np.argsort(keys, kind="stable")[np.random.default_rng(seed).permutation(len(keys))]


@dataclass(frozen=True)
class SearchRows:
    """Which rows a labelling is searched on.

    Attributes
    ----------
    order : int array of shape (n_rows,)
        The rows in a random order.
    sizes : int array of shape (n_groups,)
        Rows of each group.
    """

    order: NDArray[np.intp]
    sizes: NDArray[np.intp]

    @classmethod
    def of(cls, group_sizes: NDArray[np.intp], most: int, order: NDArray[np.intp]) -> SearchRows | None:
        """Up to ``most`` rows of each group, in a random order of all rows; None where that is all of them.

        Examples
        --------
        >>> SearchRows.of(np.array([30, 5000]), 100, np.arange(5030)).sizes
        array([ 30, 100])
        """
        if (group_sizes <= most).all():
            return None
        return cls(order, np.minimum(group_sizes, most))

    @property
    def codes(self) -> NDArray[np.uint8]:
        """Groups of the rows that `take` gives, the same for every labelling."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes).astype(np.uint8)

    def take(self, codes: NDArray[np.uint8]) -> NDArray[np.intp]:
        """Rows of one labelling, group by group.

        Parameters
        ----------
        codes : array of shape (n_rows,)
            Groups.

        Returns
        -------
        int array of shape (n_taken,)
        """
        return np.concatenate([self._first(codes, group, int(size)) for group, size in enumerate(self.sizes)])

    def _first(self, codes: NDArray[np.uint8], group: int, size: int) -> NDArray[np.intp]:
        head = 2 * size
        while True:
            part = self.order[:head]
            found = part[codes[part] == group][:size]
            if len(found) == size or head >= len(self.order):
                return found
            head *= 4


def judged(
    samples: Samples,
    labels: Labels,
    divergence: Divergence,
    directions: NDArray,
) -> NDArray[np.float64]:
    """Divergences of every labelling along its own directions, on all rows.

    Parameters
    ----------
    samples : Samples
        All rows.
    labels : Labels
        One column per labelling.
    divergence : Divergence
        What is compared.
    directions : array of shape (n_labellings, n_directions, n_features)
        Directions.

    Returns
    -------
    array of shape (n_labellings, n_directions)
    """
    n_labellings, n_directions, _ = directions.shape
    gridded = _Gridded.of(divergence, labels) if samples.n_rows > SORTED_ROWS else None
    result = np.empty((n_labellings, n_directions))
    step = max(1, _BLOCK_ELEMENTS // (samples.n_rows * n_directions))
    for start in range(0, n_labellings, step):
        part = directions[start : start + step]
        projections = samples.project(part.reshape(-1, part.shape[2]))
        shared = labels.unpacked(slice(start, start + len(part)))
        if gridded is None:
            own = shared.repeat(n_directions)
            found = np.empty(own.n_columns)
            for alike in own.homogeneous():
                for columns in np.array_split(
                    alike, -(-len(alike) // (samples.columns_per_pass or len(alike)))
                ):
                    found[columns] = divergence.value(projections[columns], own.take(columns))
        else:
            found = gridded(projections, shared.codes, np.repeat(shared.columns, n_directions))
        result[start : start + step] = found.reshape(len(part), n_directions)
    return result


@dataclass(frozen=True)
class _Gridded:
    """Divergences of two groups from histograms on a grid over each projection's standard deviations."""

    squared: bool
    weights: NDArray[np.float64] | None

    @classmethod
    def of(cls, divergence: Divergence, labels: Labels) -> _Gridded | None:
        if labels.n_groups != 2 or type(divergence) not in (Wasserstein2, Energy):
            return None
        return cls(type(divergence) is Wasserstein2, labels.weights)

    def __call__(
        self, projections: NDArray, codes: NDArray[np.uint8], labelling: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        if histograms.takes(projections):
            grid = histograms.Histogram(_GRID, _REACH, self.squared)
            return histograms.distances(projections, codes, labelling, self.weights, grid)
        pairs = zip(projections, labelling, strict=True)
        return np.array([self._one(projection, codes[which]) for projection, which in pairs])

    def _one(self, projection: NDArray, codes: NDArray[np.uint8]) -> float:
        centre, spread = float(projection.mean()), float(projection.std())
        if not spread > 0:
            return 0.0
        width = 2 * _REACH * spread / _GRID
        cells = projection * np.float32(1 / width)
        cells -= np.float32((centre - _REACH * spread) / width)
        np.clip(cells, 0, _GRID - 1, out=cells)
        places = cells.astype(np.int16)
        places += (codes == 1).view(np.int8) * np.int16(_GRID)
        counts = np.bincount(places, self.weights, 2 * _GRID).reshape(2, _GRID)
        reached = np.cumsum(counts, axis=1) / counts.sum(axis=1, keepdims=True)
        if not self.squared:
            return 2.0 * width * float(((reached[0] - reached[1]) ** 2).sum())
        return width**2 * _squared_distance(reached)


def _squared_distance(reached: NDArray[np.float64]) -> float:
    """Squared 2-Wasserstein distance of two distribution functions on the whole numbers."""
    edges = np.sort(reached, axis=None)
    middles = edges - np.diff(edges, prepend=0.0) / 2
    quantiles = [np.searchsorted(function, middles) for function in reached]
    return float((np.diff(edges, prepend=0.0) * (quantiles[0] - quantiles[1]) ** 2).sum())
