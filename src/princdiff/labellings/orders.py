"""Orders of labels: one drawn at random, how many there are, and all of them."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray


def shuffled_labels(labels: NDArray[np.uint8], rng: np.random.Generator) -> NDArray[np.uint8]:
    """Labels in random order, all orders of them being equally likely; for many rows.

    A shuffle touches memory at random. Instead every row joins a group by the toss of a coin, and as many
    as are then too many or too few change sides at random: given how many join, all sets of so many rows are
    equally likely.

    Parameters
    ----------
    labels : array of shape (n_rows,), dtype uint8
        Labels, those of one group side by side.
    rng : numpy Generator

    Returns
    -------
    array of shape (n_rows,), dtype uint8

    Examples
    --------
    >>> found = shuffled_labels(np.repeat([0, 1], [7000, 3000]).astype(np.uint8), np.random.default_rng(0))
    >>> np.bincount(found)
    array([7000, 3000])
    """
    starts = np.flatnonzero(np.r_[True, labels[1:] != labels[:-1]])
    sizes = np.diff(np.append(starts, len(labels)))
    result = np.full(len(labels), labels[0])
    # Rows not yet given away; all of them while there is one group to draw.
    free: NDArray[np.intp] | None = None
    for group, size in zip(labels[starts[1:]], sizes[1:], strict=True):
        room = len(labels) if free is None else len(free)
        chosen = _random_set(room, int(size), rng)
        if free is None:
            # Modulo 256; assignment by a mask would take most of the time.
            result += chosen.view(np.uint8) * np.uint8((int(group) - int(labels[0])) % 256)
        else:
            result[free[chosen]] = group
        if len(sizes) > 2:
            free = np.flatnonzero(~chosen) if free is None else free[~chosen]
    return result


def _random_set(n_rows: int, size: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """A mask of this many rows, all such sets being equally likely."""
    draws = rng.bit_generator.random_raw(-(-n_rows // 4)).view(np.uint16)[:n_rows]
    chosen = draws < round(65536 * size / n_rows)
    excess = int(np.count_nonzero(chosen)) - size
    if excess:
        members = np.flatnonzero(chosen if excess > 0 else ~chosen)
        chosen[rng.choice(members, abs(excess), replace=False)] = excess < 0
    return chosen


def count_arrangements(strata: list[NDArray[np.uint8]], most: int) -> int | None:
    """Distinct orders of the units inside their strata; None where they are more than ``most``."""
    total = 1
    for units in strata:
        room = len(units)
        for count in np.bincount(units):
            # Factorials of many rows would have millions of digits: estimate before counting.
            log = math.lgamma(room + 1) - math.lgamma(count + 1) - math.lgamma(room - count + 1)
            if log > math.log(most) + 1.0:
                return None
            total *= math.comb(room, int(count))
            if total > most:
                return None
            room -= int(count)
    return total


def first_appear_in_order(labels: list[int], start: int, stop: int) -> bool:
    """Whether the labels from ``start`` to ``stop`` first appear in their order."""
    places = [labels.index(label) for label in range(start, stop)]
    return places == sorted(places)


def multiset_permutations(units: NDArray[np.uint8]) -> Iterator[list[int]]:
    """Distinct orders of a multiset, in lexicographic order."""
    current = sorted(int(unit) for unit in units)
    while True:
        yield list(current)
        pivot = len(current) - 2
        while pivot >= 0 and current[pivot] >= current[pivot + 1]:
            pivot -= 1
        if pivot < 0:
            return
        successor = len(current) - 1
        while current[successor] <= current[pivot]:
            successor -= 1
        current[pivot], current[successor] = current[successor], current[pivot]
        current[pivot + 1 :] = reversed(current[pivot + 1 :])
