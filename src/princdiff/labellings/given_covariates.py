"""Labellings drawn from their law given covariates and the sizes of the groups.

The conditional permutation test of Berrett, Wang, Barber and Samworth (2020). A sweep pairs the units at
random; a pair with different groups has them one way round or the other with the odds of a model of the
group. Such a sweep leaves the law of the labellings as it is, and run backwards it is the same pairs in
reverse order. So from the observed labelling sweeps lead back to a *centre*, and from the centre the same
pairs, forwards and each time with new luck, to every relabelling: given pairs and centre, the observed
labelling and all others are drawn alike and independently, whatever the law of the rows given the covariates
is, and however few the sweeps are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from princdiff.deadline import give_up_if_late

# Sweeps between the centre and a labelling: each halves what a unit's group still has of its former one.
_SWEEPS = 20
# Labellings drawn together, from one seed; and draws held at a time.
TOGETHER = 64
_DRAWS = 4_000_000
# Beside numbers of labellings in seeds.
_PAIRING, _CENTRE = 1, 2


class ConditionalLabellings:
    """Groups of units, of which the labelling given is one draw.

    Parameters
    ----------
    codes : array of shape (n_units,), dtype uint8
        Observed groups.
    log_odds : array of shape (n_units, n_groups)
        Of each group for each unit.
    strata : int array of shape (n_units,)
        Stratum inside which units exchange their groups.
    order : int array of shape (n_units,)
        An order of the units of their own, so that the order in which they came plays no part.
    seed : int
        Labellings number 64 i to 64 i + 63 depend on the seed and on i only.

    Examples
    --------
    >>> codes = np.repeat([0, 1], 20).astype(np.uint8)
    >>> odds = np.column_stack([np.zeros(40), codes * 3.0])
    >>> drawn = ConditionalLabellings(codes, odds, np.zeros(40, dtype=np.intp), np.arange(40), 0)
    >>> labels = drawn.chunk(0)
    >>> labels.shape, bool((labels.sum(axis=1) == 20).all()), bool(labels[:, 20:].mean() > 0.7)
    ((64, 40), True, True)
    """

    def __init__(
        self,
        codes: NDArray[np.uint8],
        log_odds: NDArray[np.float64],
        strata: NDArray[np.intp],
        order: NDArray[np.intp],
        seed: int,
    ) -> None:
        self._seed = seed
        rng = np.random.default_rng([seed, 0, _PAIRING])
        place = np.int32 if len(codes) < 2**31 else np.int64
        self._pairs = [_pairs(strata[order], rng) for _ in range(_SWEEPS)]
        self._pairs = [(order[one].astype(place), order[other].astype(place)) for one, other in self._pairs]
        self._log_odds = log_odds - log_odds[:, :1]
        self._two = log_odds.shape[1] == 2
        rng = np.random.default_rng([seed, 0, _CENTRE])
        self._centre = codes[:, None].copy()
        for pairs in reversed(self._pairs):
            self._sweep(self._centre, pairs, rng)
        self._last: tuple[int, NDArray[np.uint8]] | None = None

    def chunk(self, number: int) -> NDArray[np.uint8]:
        """Labellings drawn together, shape (64, n_units)."""
        last = self._last
        if last is not None and last[0] == number:
            return last[1]
        rng = np.random.default_rng([self._seed, 1 + number])
        labels = np.repeat(self._centre, TOGETHER, axis=1)
        for pairs in self._pairs:
            give_up_if_late()
            self._sweep(labels, pairs, rng)
        found = np.ascontiguousarray(labels.T)
        self._last = number, found
        return found

    def _sweep(
        self, labels: NDArray[np.uint8], pairs: tuple[NDArray, NDArray], rng: np.random.Generator
    ) -> None:
        """Let each pair exchange its groups with the odds of the model; labels of shape (n_units, width)."""
        step = max(1, _DRAWS // labels.shape[1])
        for start in range(0, len(pairs[0]), step):
            one, other = (side[start : start + step] for side in pairs)
            mine, yours = labels[one], labels[other]
            luck = rng.random(mine.shape, dtype=np.float32)
            # What the first of a pair gains over the second by being in a group.
            gain = self._log_odds[one] - self._log_odds[other]
            if self._two:
                differ = mine ^ yours
                first = ((luck < expit(gain[:, 1:]).astype(np.float32)) & differ) | (mine & yours)
                labels[one], labels[other] = first, first ^ differ
                continue
            exchanged = np.take_along_axis(gain, yours.astype(np.intp), axis=1)
            exchanged -= np.take_along_axis(gain, mine.astype(np.intp), axis=1)
            swap = luck < expit(exchanged)
            labels[one], labels[other] = np.where(swap, yours, mine), np.where(swap, mine, yours)


def _pairs(strata: NDArray[np.intp], rng: np.random.Generator) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Units paired at random inside their strata; of an odd number one is left over."""
    shuffled = rng.permutation(len(strata))
    order = shuffled[np.argsort(strata[shuffled], kind="stable")]
    ranked = strata[order]
    begins = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]])
    sizes = np.diff(np.append(begins, len(ranked)))
    within = np.arange(len(ranked)) - np.repeat(begins, sizes)
    one = np.flatnonzero((within % 2 == 0) & (within + 1 < np.repeat(sizes, sizes)))
    return order[one], order[one + 1]
