"""Rows as a sequence of blocks: all that a fit needs of them when they do not fit into memory.

A source says how its rows are read, in order; moments, products, samples of rows and selections of features
or rows are made from the blocks as they pass, the same way for every source.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princdiff.data.memory import BYTES_PER_PROJECTION, format_bytes
from princdiff.data.moments import Moments, moments
from princdiff.data.products import Products, Scaling, StreamedProducts
from princdiff.data.sparse_structure import check_sparse
from princdiff.progress import progress_bar

# NumPy array or scipy.sparse CSR matrix; the latter has no types.
Block: TypeAlias = Any

# Shares of the budget.
_BLOCK_SHARE = 16
_BATCH_SHARE = 4
_SAMPLE_SHARE = 8
# Rows in memory, their scaled copy, and the rest of the fit.
_IN_MEMORY_SHARE = 6


class RowChunks(ABC):
    """Rows in blocks, with a budget of memory.

    Parameters
    ----------
    shape : (int, int)
        Rows and features.
    dtype : dtype
        float32 or float64: what blocks are converted to.
    memory : int
        Budget in bytes.
    label : str
        What messages call the rows.
    row_bytes : float
        Bytes of a row in memory, on average.
    feature_names : array of str, optional
        Names of the features.
    progress : bool
        Show a bar over the blocks of each pass, with the time left.
    """

    sparse: bool = False

    def __init__(
        self,
        shape: tuple[int, int],
        dtype: Any,
        *,
        memory: int,
        label: str,
        row_bytes: float,
        feature_names: NDArray | None = None,
        progress: bool = False,
    ) -> None:
        self.shape = (int(shape[0]), int(shape[1]))
        self.dtype = np.dtype(np.float32) if np.dtype(dtype) == np.float32 else np.dtype(np.float64)
        self.memory, self.label, self.row_bytes = memory, label, max(1.0, row_bytes)
        self.feature_names, self.progress = feature_names, progress

    @abstractmethod
    def _read(self) -> Iterator[Block]:
        """Blocks of rows, in order."""

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def rows_per_block(self) -> int:
        """Rows that are read at a time."""
        return int(np.clip(self.memory / (_BLOCK_SHARE * self.row_bytes), 1, max(1, self.shape[0])))

    @property
    def columns_per_pass(self) -> int:
        """Columns of a batch that are worked on together, or features held at a time."""
        self.check_budget()
        return int(self.memory // (_BATCH_SHARE * BYTES_PER_PROJECTION * max(1, self.shape[0])))

    def check_budget(self) -> None:
        """Refuse a budget of memory that is too small for a single direction."""
        needed = _BATCH_SHARE * BYTES_PER_PROJECTION * self.shape[0]
        if self.memory < needed:
            raise ValueError(
                f"memory={format_bytes(self.memory)!r} is too little for {self.shape[0]} rows: sorting their "
                f"projections takes {format_bytes(needed)} in all; give a larger memory= or fewer rows"
            )

    @property
    def fits(self) -> bool:
        """Whether the rows and what a fit makes of them fit into the budget."""
        return self.shape[0] * self.row_bytes * _IN_MEMORY_SHARE <= self.memory

    @property
    def largest_sample(self) -> int:
        """Rows of a sample that fits into the budget beside everything else."""
        return int(self.memory / (_SAMPLE_SHARE * self.row_bytes))

    def blocks(self) -> Iterator[tuple[slice, Block]]:
        """Row slices and their values, each read while the one before is worked on."""
        start = 0
        units: dict[str, Any] = {"unit": "row", "unit_scale": True}
        with progress_bar("rows", total=self.shape[0], shown=self.progress, **units) as bar:
            for block in _ahead(self._read()):
                self._check(block, start)
                yield slice(start, start + block.shape[0]), block
                start += block.shape[0]
                bar.update(block.shape[0])
        if start != self.shape[0]:
            raise ValueError(
                f"{self.label} holds {start} rows where {self.shape[0]} were announced: it is cut off or was "
                "changed; write it anew"
            )

    def _check(self, block: Block, start: int) -> None:
        """Refuse a block whose inside is inconsistent: a product with it would be a wrong number."""
        where = f"{self.label}, rows {start} to {start + block.shape[0]}"
        if block.shape[1] != self.shape[1]:
            raise ValueError(f"{where}: {block.shape[1]} features instead of {self.shape[1]}")
        if sp.issparse(block):
            check_sparse(block, where)

    def moments(self, weights: NDArray[np.float64] | None = None) -> Moments:
        """Moments of every feature, in one pass; values that are not finite are refused on the way."""
        total: Moments | None = None
        for rows, block in self.blocks():
            self._refuse_non_finite(block)
            own = None if weights is None else weights[rows]
            if own is not None and not own.any():
                continue
            part = moments(block, own)
            total = part if total is None else total.merged(part)
        if total is None:
            raise ValueError(f"{self.label} has no rows")
        return total

    def _refuse_non_finite(self, block: Block) -> None:
        # checks knows this package for its error messages only, not the other way round.
        from princdiff.data.validate import refuse_non_finite

        refuse_non_finite(block, self.feature_names)

    def products(self, scaling: Scaling) -> Products:
        """Products with the scaled rows."""
        return StreamedProducts(self, scaling)

    def take(self, index: NDArray[np.intp]) -> Block:
        """Some rows in memory, in the order of their numbers, which must be ascending; one pass."""
        parts = []
        for rows, block in self.blocks():
            own = index[np.searchsorted(index, rows.start) : np.searchsorted(index, rows.stop)] - rows.start
            if len(own):
                parts.append(block[own])
        return stacked(parts)

    def load(self) -> Block:
        """All rows in memory."""
        return stacked([block for _, block in self.blocks()])

    def dot(self, weights: NDArray) -> NDArray:
        """Rows times a matrix of shape (n_features, n): shape (n_rows, n)."""
        result = np.empty((self.shape[0], weights.shape[1]), self.dtype)
        for rows, block in self.blocks():
            result[rows] = block @ weights
        return result

    def __getitem__(self, key: Any) -> RowChunks | Block:
        """Rows by a mask, or features as ``[:, features]``; in memory where that fits into the budget."""
        if isinstance(key, tuple) and len(key) == 2 and key[0] == slice(None):
            return self._in_memory_if_small(Selection(self, None, np.asarray(key[1])))
        mask = np.asarray(key)
        if mask.dtype != bool or mask.shape != (self.shape[0],):
            raise TypeError("rows out of core are chosen by a mask of all rows, features as [:, features]")
        return self._in_memory_if_small(Selection(self, mask, None))

    def _in_memory_if_small(self, selection: Selection) -> RowChunks | Block:
        return selection.load() if selection.fits else selection


class Selection(RowChunks):
    """Some rows, or some features, of rows that are out of core."""

    def __init__(
        self, source: RowChunks, mask: NDArray[np.bool_] | None, features: NDArray[np.intp] | None
    ) -> None:
        n_rows = source.shape[0] if mask is None else int(mask.sum())
        n_features = source.shape[1] if features is None else len(features)
        names = source.feature_names
        # Of a few sparse features each may be dense: as if they were.
        dense_bytes = n_features * (source.dtype.itemsize + 8 * source.sparse)
        super().__init__(
            (n_rows, n_features),
            source.dtype,
            memory=source.memory,
            label=source.label,
            row_bytes=source.row_bytes if features is None else min(dense_bytes, source.row_bytes),
            feature_names=names if names is None or features is None else names[features],
            progress=source.progress,
        )
        self.sparse = source.sparse
        self._source, self._mask, self._features = source, mask, features

    def _read(self) -> Iterator[Block]:
        for rows, block in self._source.blocks():
            if self._mask is not None:
                block = block[self._mask[rows]]
            yield block if self._features is None else block[:, self._features]


def stacked(parts: list[Block]) -> Block:
    """Blocks of rows as one array or CSR matrix."""
    if not parts:
        raise ValueError("the table has no rows")
    if sp.issparse(parts[0]):
        return sp.csr_matrix(sp.vstack(parts, format="csr"))
    return np.concatenate(parts)


def _ahead(blocks: Iterator[Block]) -> Iterator[Block]:
    """The same blocks, the next one read in a thread while the caller works on this one."""
    with ThreadPoolExecutor(1) as reader:
        coming = reader.submit(next, blocks, None)
        while (block := coming.result()) is not None:
            coming = reader.submit(next, blocks, None)
            yield block


def times(rows: Block | RowChunks, weights: NDArray) -> NDArray:
    """Rows times a matrix of shape (n_features, n), in memory or out of core: shape (n_rows, n)."""
    if isinstance(rows, RowChunks):
        return rows.dot(weights)
    product = rows @ weights
    return product.toarray() if sp.issparse(product) else product
