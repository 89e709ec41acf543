"""Products with rows of a stored table, block by block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from princdiff.data.products import Scaling, StreamedProducts

if TYPE_CHECKING:
    from princdiff.data.stored_columns import StoredColumns


class StoredProducts:
    """Products with scaled rows of a stored table, block by block.

    Parameters
    ----------
    rows : StoredColumns
        The table.
    scaling : Scaling
        What is done to every row.
    """

    def __init__(self, rows: StoredColumns, scaling: Scaling) -> None:
        self.dtype = scaling.dtype
        self._rows, self._scaling = rows, scaling

    def project(self, directions: NDArray, out: NDArray | None = None) -> NDArray:
        """One pass over the columns that the directions use: every row on every direction."""
        if out is None:
            out = np.empty((len(directions), self._rows.shape[0]), self.dtype)
        used = np.flatnonzero(directions.any(axis=0))
        few = np.ascontiguousarray(directions[:, used])
        for rows in self._rows.row_slices():
            out[:, rows] = few @ self._rows.scaled(rows, self._scaling, used)
        return out

    def backproject(self, slopes: NDArray, out: NDArray | None = None) -> NDArray:
        """One pass: the blocks' gradients, summed in their order."""
        total = self._summed(slopes.astype(self.dtype, copy=False), squared=False)
        if out is None:
            return total.astype(self.dtype, copy=False)
        out[...] = total
        return out

    def backproject_squares(self, slopes: NDArray) -> NDArray:
        """One pass, with squared rows."""
        return self._summed(slopes, squared=True)

    def _summed(self, slopes: NDArray, *, squared: bool) -> NDArray[np.float64]:
        total = np.zeros((len(slopes), self._rows.shape[1]))
        every = range(self._rows.shape[1])
        for rows in self._rows.row_slices():
            block = self._rows.scaled(rows, self._scaling, every)
            total += slopes[:, rows] @ (block**2 if squared else block).T
        return total

    def feature_columns(self, features: NDArray[np.intp]) -> NDArray:
        """Scaled values of some features, shape (len(features), n_rows)."""
        out = np.empty((len(features), self._rows.shape[0]), self.dtype)
        for rows in self._rows.row_slices():
            out[:, rows] = self._rows.scaled(rows, self._scaling, features)
        return out

    def covariance(self, share: NDArray[np.float64]) -> NDArray[np.float64]:
        """Weighted sums of the products of scaled features, which are centred, in one pass."""
        n_features = self._rows.shape[1]
        total = np.zeros((n_features, n_features))
        for rows in self._rows.row_slices():
            block = self._rows.scaled(rows, self._scaling, range(n_features)).astype(np.float64, copy=False)
            total += (block * share[rows]) @ block.T
        return total

    def by_rows(self) -> ScaledRows:
        """The scaled rows, as an array would give them."""
        return ScaledRows(self._rows, self._scaling)


class _ByFeatures:
    """Sparse blocks as they are stored: sorted by features."""

    def __init__(self, rows: StoredColumns) -> None:
        self.shape = rows.shape
        self.blocks = rows.blocks_by_features


class StoredSparseProducts(StoredProducts):
    """Products with scaled rows of a stored sparse table, whose zeros are not touched.

    Parameters
    ----------
    rows : StoredColumns
        The table.
    scaling : Scaling
        What is done to every row.
    """

    def __init__(self, rows: StoredColumns, scaling: Scaling) -> None:
        super().__init__(rows, scaling)
        self._streamed = StreamedProducts(_ByFeatures(rows), scaling)

    def project(self, directions: NDArray, out: NDArray | None = None) -> NDArray:
        """One pass over the columns that the directions use: every row on every direction."""
        used = np.flatnonzero(directions.any(axis=0))
        if len(used) in (0, directions.shape[1]):
            return self._streamed.project(directions, out)
        few = StreamedProducts(_ByFeatures(self._rows.stored_features(used)), self._scaling.restricted(used))
        return few.project(np.ascontiguousarray(directions[:, used]), out)

    def _summed(self, slopes: NDArray, *, squared: bool) -> NDArray[np.float64]:
        streamed = self._streamed
        return np.asarray(streamed.backproject_squares(slopes) if squared else streamed.summed(slopes))

    def feature_columns(self, features: NDArray[np.intp]) -> NDArray:
        """Scaled values of some features, shape (len(features), n_rows)."""
        out = np.empty((len(features), self._rows.shape[0]), self.dtype)
        for line, place in zip(out, features, strict=True):
            values = self._rows[:, int(place)] - self._scaling.centre[place]
            line[:] = values * self._scaling.factor[place]
        return out


class ScaledRows:
    """Scaled rows of a stored table in single precision: slices of them, or rows by their numbers.

    Parameters
    ----------
    rows : StoredColumns
        The table.
    scaling : Scaling
        What is done to every row.
    """

    def __init__(self, rows: StoredColumns, scaling: Scaling) -> None:
        self.shape = rows.shape
        self._rows, self._scaling = rows, scaling

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> NDArray[np.float32]:
        if isinstance(key, slice):
            start, stop, _ = key.indices(self.shape[0])
            scaled = self._rows.scaled(slice(start, stop), self._scaling, range(self.shape[1]))
            return np.ascontiguousarray(scaled.T, dtype=np.float32)
        # Labellings that are searched share most of their rows.
        distinct, place = np.unique(key, return_inverse=True)
        taken = self._scaling.dense(self._rows.at(distinct)).astype(np.float32, copy=False)
        return taken[place.reshape(np.shape(key))]
