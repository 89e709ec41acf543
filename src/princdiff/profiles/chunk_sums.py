"""Chunks as units of a permutation test: their sums at one mean and variance, and their labellings.

Under the null hypothesis rows of all groups have one law, and which chunk a row is in has nothing to do with
what it holds. So chunks of equal size are exchangeable, and giving whole chunks another group is an exact
permutation test of whatever is computed from their sums. Where chunks of two groups differ in size, because
profiles were made apart, centred sums are divided by the root of the mean size in their group first: they
then have one mean and one variance, and are exchangeable up to how far sums of many rows are from normal.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from princdiff.profiles.group_sums import GroupSums
from princdiff.profiles.ruler import Ruler

# Numbers handled at a time while groups' means are made of labellings.
_BLOCK = 20_000_000
# Chunks of groups whose mean sizes differ by no more than this are of one size: their sums stay as they are.
_ALIKE = 1.1


@dataclass(frozen=True, eq=False)
class Chunks:
    """The chunks of all groups.

    Attributes
    ----------
    ruler : Ruler
    names : tuple of str
        Groups.
    groups : tuple of GroupSums
        Their sums.
    """

    ruler: Ruler
    names: tuple[str, ...]
    groups: tuple[GroupSums, ...]

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """Rows of each chunk, shape (n_chunks,); chunks without rows are no units."""
        return np.concatenate([group.rows[group.rows > 0] for group in self.groups])

    @cached_property
    def codes(self) -> NDArray[np.intp]:
        """Group of each chunk, shape (n_chunks,)."""
        return np.repeat(np.arange(len(self.groups)), [(group.rows > 0).sum() for group in self.groups])

    @cached_property
    def totals(self) -> NDArray[np.float64]:
        """Rows of each group that are counted, shape (n_groups,)."""
        return np.array([float(group.rows.sum()) for group in self.groups])

    @cached_property
    def sizes(self) -> NDArray[np.float64]:
        """Mean rows of a chunk in the group of each, shape (n_chunks,); of all if about alike."""
        means = self.totals / np.bincount(self.codes, minlength=len(self.groups))
        if means.max() <= _ALIKE * means.min():
            means = np.full(len(means), self.totals.sum() / len(self.codes))
        return means[self.codes]

    def counts(self, column: int) -> NDArray[np.float64]:
        """Rows of each chunk in each bin of a column, shape (n_chunks, n_bins)."""
        return self._joined([group.counts[column] for group in self.groups])

    def sums(self, column: int) -> NDArray[np.float64]:
        """Sums of the scaled values of a number and of their squares, shape (n_chunks, 2)."""
        return self._joined([group.sums[column] for group in self.groups])

    @cached_property
    def products(self) -> NDArray[np.float64]:
        """Of every two features in pairs, shape (n_chunks, n_in_pairs, n_in_pairs)."""
        return self._joined([group.products for group in self.groups])

    @cached_property
    def in_pairs(self) -> NDArray[np.float64]:
        """Sums of the features in pairs, shape (n_chunks, n_in_pairs), as their products are made of them."""
        lines = []
        for number, column in enumerate(self.ruler.columns):
            counts = self.counts(number)
            for own, bins in enumerate(column.feature_bins):
                is_value = column.is_number and own == 0
                lines.append(counts @ np.array(column.scores) if is_value else counts[:, bins].sum(axis=1))
        return np.stack(lines, axis=1)[:, self.ruler.in_pairs]

    def _joined(self, parts: list[NDArray]) -> NDArray[np.float64]:
        kept = [part[group.rows > 0] for part, group in zip(parts, self.groups, strict=True)]
        return np.concatenate(kept).astype(np.float64)

    def centred(self, sums: NDArray[np.float64], present: NDArray[np.float64] | None = None) -> NDArray:
        """Sums less what as many rows of all groups together have, at one variance.

        Parameters
        ----------
        sums : array of shape (n_chunks, n_sums)
        present : array of shape (n_chunks,), optional
            Rows behind the sums; default: all.

        Returns
        -------
        array of shape (n_chunks, n_sums)
        """
        rows = self.rows if present is None else present
        mean = sums.sum(axis=0) / max(float(rows.sum()), 1.0)
        return (sums - rows[:, None] * mean) / np.sqrt(self.sizes)[:, None]

    def group_means(self, sums: NDArray[np.float64], rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Means of groups, shape (n_groups, n_sums), of sums of so many rows, shape (n_chunks,)."""
        inside = self.codes == np.arange(len(self.groups))[:, None]
        return (inside @ sums) / np.maximum(inside @ rows, 1.0)[:, None]

    def group_errors(self, residuals: NDArray[np.float64], rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Standard errors of means of groups, shape (n_groups,), by how much their chunks differ.

        Parameters
        ----------
        residuals : array of shape (n_chunks,)
            Sums of the rows of each chunk less what as many rows of its group have.
        rows : array of shape (n_chunks,)
        """
        inside = self.codes == np.arange(len(self.groups))[:, None]
        count = inside.sum(axis=1)
        spread = np.sqrt(inside @ residuals**2 * count / np.maximum(count - 1, 1))
        return spread / np.maximum(inside @ rows, 1.0)


@dataclass(frozen=True, eq=False)
class ChunkLabellings:
    """Chunks in the places of others: the observed labelling first, then random ones.

    Attributes
    ----------
    weights : float32 array of shape (n_groups, n_labellings, n_chunks)
        What each chunk's centred sum counts in the mean of each group, times the root of the group's rows.
    """

    weights: NDArray[np.float32]

    @classmethod
    def drawn(cls, chunks: Chunks, n_permutations: int, rng: np.random.Generator) -> ChunkLabellings:
        """Random labellings."""
        count = len(chunks.codes)
        places = np.tile(np.arange(count), (n_permutations + 1, 1))
        places[1:] = rng.permuted(places[1:], axis=1)
        own = np.sqrt(chunks.sizes) * (chunks.codes == np.arange(len(chunks.groups))[:, None])
        own /= np.sqrt(chunks.totals)[:, None]
        return cls(own[:, places].astype(np.float32))

    @property
    def n_labellings(self) -> int:
        """The observed one included."""
        return self.weights.shape[1]

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.weights)

    def means(self, centred: NDArray[np.float64]) -> NDArray[np.float32]:
        """Means of the groups under every labelling, times the root of their rows.

        Parameters
        ----------
        centred : array of shape (n_chunks, n_sums)
            From `Chunks.centred`.

        Returns
        -------
        array of shape (n_groups, n_labellings, n_sums)
        """
        # Each sum at about one, so that single precision loses nothing.
        scale = np.sqrt((centred**2).mean(axis=0))
        scaled = (centred / np.where(scale > 0, scale, 1.0)).astype(np.float32)
        return self.weights @ scaled

    def between(self, centred: NDArray[np.float64]) -> NDArray[np.float32]:
        """Sums of squares between the groups, shape (n_labellings, n_sums), in units of their variance."""
        step = max(1, _BLOCK // (self.n_labellings * self.n_groups))
        parts = [
            np.square(self.means(centred[:, start : start + step])).sum(axis=0)
            for start in range(0, max(1, centred.shape[1]), step)
        ]
        return np.concatenate(parts, axis=1)
