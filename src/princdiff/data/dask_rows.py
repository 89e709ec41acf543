"""Rows as a Dask array: products run where the chunks lie; directions, projections and gradients move.

On a ``dask.distributed`` cluster with persisted chunks a pass over the rows is one small task per chunk on
the worker that holds it. A worker that is lost takes its chunks along; Dask makes them anew elsewhere from
the graph that they came from, and the pass ends with the right numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princdiff.data.moments import Moments, moments
from princdiff.data.products import Scaling
from princdiff.data.row_chunks import Block, RowChunks, stacked

# Partial gradients that one task adds up: a tree of such sums ends on a worker, not at the client.
_FAN_IN = 8


class DaskRows(RowChunks):
    """Rows of a Dask array, whose chunks are NumPy arrays or scipy.sparse matrices.

    Parameters
    ----------
    array : dask.array.Array of shape (n_rows, n_features)
        Chunks may cut rows only; chunks that cut features are joined. Persist it on a cluster, unless it
        should be read anew in every pass.
    options
        As in `RowChunks`. The budget is the client's: projections, sorting, a sample of rows.
    """

    def __init__(self, array: Any, **options: Any) -> None:
        if array.ndim != 2 or np.dtype(array.dtype).kind not in "biuf":
            raise ValueError(
                f"X must be a table of numbers, rows x features; it is {array.dtype}, shape {array.shape}"
            )
        if any(np.isnan(size) for size in array.shape):
            raise ValueError(
                "the Dask array does not know its number of rows; call its compute_chunk_sizes() first"
            )
        if len(array.chunks[1]) > 1:
            array = array.rechunk({1: -1})
        self.sparse = sp.issparse(array._meta)
        super().__init__(
            array.shape, array.dtype, row_bytes=array.shape[1] * max(array.dtype.itemsize, 4), **options
        )
        # The array itself is kept as well: with it go the futures of persisted chunks.
        self._array = array
        self._chunks = array.to_delayed().ravel()
        ends = np.cumsum(array.chunks[0])
        self._places = [
            slice(int(end - size), int(end)) for end, size in zip(ends, array.chunks[0], strict=True)
        ]

    @property
    def fits(self) -> bool:
        """Never: a Dask array is left where it is, however small."""
        return False

    def _tasks(self, function: Callable, arguments: list[tuple] | None = None, shared: tuple = ()) -> list:
        """One task per chunk; what they share travels once to each worker."""
        from dask import delayed

        run = delayed(_on_chunk, pure=False)
        common = [delayed(value, pure=True, traverse=False) for value in shared]
        own = arguments or [()] * len(self._chunks)
        return [
            run(function, chunk, self.dtype, *mine, *common)
            for chunk, mine in zip(self._chunks, own, strict=True)
        ]

    def _compute(self, tasks: list) -> list:
        import dask

        # Without another look at the graph: chunks are single tasks already, and it costs more than it saves.
        return list(dask.compute(*tasks, optimize_graph=False))

    def _read(self) -> Iterator[Block]:
        for task in self._tasks(_itself):
            yield self._compute([task])[0]

    def moments(self, weights: NDArray[np.float64] | None = None) -> Moments:
        """Moments of every feature; the chunks are summed up where they are."""
        own = [(None if weights is None else weights[place],) for place in self._places]
        names = (self.feature_names,)
        parts = [part for part in self._compute(self._tasks(_moments, own, names)) if part is not None]
        total = parts[0]
        for part in parts[1:]:
            total = total.merged(part)
        return total

    def take(self, index: NDArray[np.intp]) -> Block:
        """Some rows in memory; only they are moved."""
        own = [
            (index[np.searchsorted(index, place.start) : np.searchsorted(index, place.stop)] - place.start,)
            for place in self._places
        ]
        return stacked(self._compute(self._tasks(_rows, own)))

    def dot(self, weights: NDArray) -> NDArray:
        """Rows times a matrix, shape (n_rows, n)."""
        return np.concatenate(self._compute(self._tasks(_times, shared=(weights,))))

    def products(self, scaling: Scaling) -> DaskProducts:
        """Products that run on the workers."""
        return DaskProducts(self, scaling)


class DaskProducts:
    """Products over the chunks of a Dask array, each where it lies."""

    def __init__(self, rows: DaskRows, scaling: Scaling) -> None:
        self.dtype = scaling.dtype
        self._rows, self._scaling = rows, scaling

    def project(self, directions: NDArray, out: NDArray | None) -> NDArray:
        """Directions go to the workers, projections come back."""
        shared = (self._scaling, np.ascontiguousarray(directions))
        parts = self._rows._compute(self._rows._tasks(_project, shared=shared))
        return np.concatenate(parts, axis=1, out=out)

    def backproject(self, slopes: NDArray, out: NDArray | None) -> NDArray:
        """Every chunk gets its rows' slopes; gradients are summed on the workers, and one comes back."""
        return self._summed(_backproject, slopes, out)

    def backproject_squares(self, slopes: NDArray) -> NDArray:
        """As `backproject`, with squared rows."""
        return self._summed(_backproject_squares, slopes, None)

    def _summed(self, function: Callable, slopes: NDArray, out: NDArray | None) -> NDArray:
        from dask import delayed

        own = [(np.ascontiguousarray(slopes[:, place]),) for place in self._rows._places]
        parts = self._rows._tasks(function, own, (self._scaling,))
        add = delayed(_sum, pure=False)
        # In a fixed order, whatever the workers do: the same sum every time.
        while len(parts) > 1:
            parts = [add(parts[start : start + _FAN_IN]) for start in range(0, len(parts), _FAN_IN)]
        total = self._rows._compute(parts)[0]
        if out is None:
            return total.astype(self.dtype)
        out[...] = total
        return out

    def feature_columns(self, features: NDArray[np.intp]) -> NDArray:
        """Scaled values of some features."""
        parts = self._rows._compute(self._rows._tasks(_columns, shared=(self._scaling, features)))
        return np.concatenate(parts, axis=1)


# What workers run, on one chunk each.


def _on_chunk(function: Callable, chunk: Any, dtype: np.dtype, *arguments: Any) -> Any:
    block = sp.csr_matrix(chunk) if sp.issparse(chunk) else np.asarray(chunk)
    return function(block.astype(dtype, copy=False), *arguments)


def _itself(block: Block) -> Block:
    return block


def _moments(block: Block, weights: NDArray | None, names: NDArray | None) -> Moments | None:
    from princdiff.data.validate import refuse_non_finite

    refuse_non_finite(block, names)
    if block.shape[0] == 0 or (weights is not None and not weights.any()):
        return None
    return moments(block, weights)


def _rows(block: Block, index: NDArray[np.intp]) -> Block:
    return block[index]


def _times(block: Block, weights: NDArray) -> NDArray:
    return np.asarray(block @ weights, dtype=block.dtype)


def _project(block: Block, scaling: Scaling, directions: NDArray) -> NDArray:
    return scaling.apply(block).project(directions)


def _backproject(block: Block, slopes: NDArray, scaling: Scaling) -> NDArray:
    slopes = slopes.astype(scaling.dtype, copy=False)
    return scaling.apply(block).backproject(slopes).astype(np.float64)


def _backproject_squares(block: Block, slopes: NDArray, scaling: Scaling) -> NDArray:
    return scaling.apply(block).backproject_squares(slopes)


def _columns(block: Block, scaling: Scaling, features: NDArray[np.intp]) -> NDArray:
    return scaling.columns(block, features)


def _sum(parts: list[NDArray]) -> NDArray:
    total = parts[0].copy()
    for part in parts[1:]:
        total += part
    return total
