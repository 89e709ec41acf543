"""Blocks of rows (pairs, strata, donors): what of them may change sides in a relabelling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Permute = Literal["within", "whole", "mixed"]


def crossing_blocks(codes: NDArray[np.uint8], blocks: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Which blocks have rows of several groups, shape (n_blocks,)."""
    n_blocks = int(blocks.max()) + 1
    low, high = np.full(n_blocks, 255), np.zeros(n_blocks, dtype=int)
    np.minimum.at(low, blocks, codes)
    np.maximum.at(high, blocks, codes)
    return low != high


def refuse_crossing(codes: NDArray[np.uint8], blocks: NDArray[np.intp], names: Sequence[str]) -> None:
    """Blocks that are to be moved whole must lie inside one group."""
    crossing = np.flatnonzero(crossing_blocks(codes, blocks))
    if len(crossing):
        raise ValueError(
            f"block {names[crossing[0]]!r} has rows of several groups and cannot change sides "
            'as a whole; use permute="within" for blocks that were measured in every group, or '
            'permute="auto", which moves blocks inside one group whole and rows of the others inside theirs'
        )


def settle_permute(codes: NDArray[np.uint8], blocks: NDArray[np.intp]) -> Permute:
    """Whole blocks where each lies in one group, within blocks where each has rows of several, or mixed.

    Mixed: rows inside the blocks that have rows of several groups, whole blocks among the others.

    Examples
    --------
    >>> donors = np.array([0, 0, 1, 1])
    >>> settle_permute(np.array([0, 0, 1, 1], dtype=np.uint8), donors)
    'whole'
    >>> settle_permute(np.array([0, 1, 0, 1], dtype=np.uint8), donors)
    'within'
    >>> settle_permute(np.array([0, 1, 0, 0], dtype=np.uint8), donors)
    'mixed'
    """
    crossing = crossing_blocks(codes, blocks)
    n_blocks, inside = len(crossing), int((~crossing).sum())
    if inside == n_blocks:
        return "whole"
    if inside == 0:
        return "within"
    return "mixed"
