"""Which labellings are as likely as the observed one, if the groups do not differ.

Free: any assignment of rows to groups. Within blocks: rows change sides inside their block only (pairs,
strata). Whole blocks: all rows of a block change sides together (donors). Mixed: the former for blocks with
rows of several groups, the latter among the others. Given covariates: as likely as these say. Where the
distinct labellings are few and equally likely, all of them are used and the p-value is exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product
from threading import Lock
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from princdiff.caught_warnings import warn_user
from princdiff.data.problem import Problem
from princdiff.deadline import give_up_if_late
from princdiff.labellings.bits import MOST_BYTES, LabellingBits
from princdiff.labellings.covariates import unit_log_odds
from princdiff.labellings.given_covariates import TOGETHER, ConditionalLabellings
from princdiff.labellings.orders import (
    count_arrangements,
    first_appear_in_order,
    multiset_permutations,
    shuffled_labels,
)
from princdiff.labellings.overlap import check_overlap
from princdiff.labellings.units import Units
from princdiff.options import option

# Labellings that take up this many bytes are drawn once and kept.
_KEPT_BYTES = 32_000_000
# Units from which labels are drawn by coins instead of a shuffle.
_MANY = 2000
# Labellings up to which all are listed, lest a random one repeat the observed one under other names.
_LISTED = 13_000
# So many groups that are alike, at most, are expected where it is asked whether all labellings can be used.
_GROUPS_ALIKE = 5


class Labelled(Protocol):
    """Labellings of some rows, number 0 being the observed one."""

    @property
    def n_rows(self) -> int:
        """Number of rows that have labels."""
        ...

    @property
    def n_labellings(self) -> int:
        """Labellings, the observed one included."""
        ...

    @property
    def exhaustive(self) -> bool:
        """Whether all distinct labellings are used."""
        ...

    @property
    def conditional(self) -> bool:
        """Whether labellings are drawn given covariates, so that groups differ in what these bring about."""
        ...

    @property
    def units(self) -> Units | None:
        """What a labelling moves; None where it moves single rows freely."""
        ...

    @property
    def bits(self) -> LabellingBits | None:
        """All labellings of two groups, a bit a row; None where they are not kept so."""
        ...

    def codes(self, indices: NDArray[np.intp]) -> NDArray[np.uint8]:
        """Groups under some labellings, shape (len(indices), n_rows)."""
        ...


@dataclass(frozen=True)
class SomeRows:
    """The labellings of a scheme, of some of its rows.

    Attributes
    ----------
    scheme : Scheme
        Labellings of all rows.
    rows : int array of shape (n_taken,)
        Which rows.
    """

    scheme: Scheme
    rows: NDArray[np.intp]

    @property
    def n_rows(self) -> int:
        """Number of rows taken."""
        return len(self.rows)

    @property
    def n_labellings(self) -> int:
        """Labellings, the observed one included."""
        return self.scheme.n_labellings

    @property
    def exhaustive(self) -> bool:
        """Whether all distinct labellings are used."""
        return self.scheme.exhaustive

    @property
    def conditional(self) -> bool:
        """Whether labellings are drawn given covariates."""
        return self.scheme.conditional

    @cached_property
    def units(self) -> Units | None:
        """What a labelling moves of these rows."""
        return None if self.scheme.units is None else self.scheme.units.take(self.rows)

    def codes(self, indices: NDArray[np.intp]) -> NDArray[np.uint8]:
        """Groups of the rows under some labellings, shape (len(indices), n_taken)."""
        if self.bits is not None:
            return self.bits.codes(indices)
        return self.scheme.codes(indices)[:, self.rows]

    @cached_property
    def bits(self) -> LabellingBits | None:
        """Those of the rows taken; see `Scheme.bits`."""
        if self.scheme.bits is None:
            return None
        return LabellingBits(
            lambda index: self.scheme.codes(np.array([index]))[0, self.rows], self.n_labellings, self.n_rows
        )


def scheme_of(problem: Problem, n_permutations: int, seed: int) -> Scheme:
    """The relabellings of a problem; a warning says if no p-value of theirs can be small.

    Parameters
    ----------
    problem : Problem
        Groups, blocks and what may change sides.
    n_permutations : int
        Random relabellings wanted; all distinct ones where they are fewer.
    seed : int
        For the relabellings.

    Returns
    -------
    Scheme
        The same one whenever it is asked for, so that labellings are drawn once.
    """
    key = ("scheme", n_permutations, seed)
    if key not in problem.memory:
        if problem.covariates is not None:
            check_overlap(problem, problem.covariates)
        problem.memory[key] = Scheme(
            problem.codes,
            n_permutations,
            seed,
            problem.blocks,
            problem.permute or "within",
            keys=problem.row_keys,
            covariates=problem.covariates,
        )
    scheme: Scheme = problem.memory[key]
    if scheme.exhaustive and scheme.smallest_pvalue > 0.05:
        ways = f"only {scheme.n_labellings} distinct permutations"
        ways = ways if scheme.n_labellings > 1 else "no other labelling than the observed one"
        warn_user(
            f"this design has {ways}: no p-value can be below "
            f"{scheme.smallest_pvalue:.3g}, so nothing can be significant at 5 %"
        )
    elif not scheme.exhaustive and n_permutations < 19:
        warn_user(
            f"{option('n_permutations', n_permutations)} cannot give a p-value below 1/{n_permutations + 1}: "
            "use at least 19 for a decision at 5 %, better 999"
        )
    return scheme


class Scheme:
    """Relabellings of rows under one null hypothesis; number 0 is the observed labelling.

    Parameters
    ----------
    codes : array of shape (n_rows,), dtype uint8
        Observed groups.
    n_permutations : int
        Random relabellings wanted; fewer are made where no more are distinct.
    seed : int
        Relabelling number i depends on the seed and on i only.
    blocks : int array of shape (n_rows,), optional
        Block of each row.
    permute : {"within", "whole", "mixed"}
        What may change sides; ignored without blocks.
    keys : array of shape (n_rows,), optional
        Of `princdiff.data.row_keys`: relabellings then do not depend on the order of the rows.
    covariates : array of shape (n_rows, n_covariates), optional
        What the groups depend on.

    Attributes
    ----------
    exhaustive : bool
        Whether all distinct relabellings are used. Those that differ only in which of several groups of the
        same size has which name are not distinct.
    n_rows, n_labellings : int
        Rows, and relabellings used, the observed one included.
    smallest_pvalue : float
        What no p-value of this design can fall below.

    Examples
    --------
    >>> scheme = Scheme(np.array([0, 0, 1, 1], dtype=np.uint8), 99, seed=0)
    >>> scheme.exhaustive, scheme.n_labellings
    (True, 3)
    """

    def __init__(
        self,
        codes: NDArray[np.uint8],
        n_permutations: int,
        seed: int,
        blocks: NDArray[np.intp] | None = None,
        permute: str = "within",
        keys: NDArray[np.uint64] | None = None,
        covariates: NDArray[np.float64] | None = None,
    ) -> None:
        self._seed = seed
        self._codes, self.n_rows = codes, len(codes)
        self._moved = Units.of(codes, blocks, permute)
        self.units = None if blocks is None else self._moved
        self._units = self._moved.codes_of(codes)
        # Rows by their keys; blocks have an order of their own.
        own: NDArray[Any] = np.arange(len(self._units))
        if keys is not None and permute != "whole":
            own = keys if self._moved.first_rows is None else keys[self._moved.first_rows]
        strata = self._moved.strata
        order = np.lexsort((own, strata))
        self._strata = np.split(order, np.cumsum(np.bincount(strata))[:-1])
        # Rows that came in the order of their keys, without blocks, need not be put into it.
        self._in_order = len(self._strata) == 1 and bool(
            (self._strata[0] == np.arange(len(self._units))).all()
        )
        # What is drawn is a shuffle of the units group by group, the largest group first: then relabellings
        # follow from the sizes of the groups, and neither their names nor the order of rows play a part.
        sizes = np.bincount(self._units)
        self._several = len(sizes) > 2
        rank = np.argsort(np.argsort(-sizes, kind="stable"))[self._units]
        self._by_group = [
            self._units[stratum[np.argsort(rank[stratum], kind="stable")]] for stratum in self._strata
        ]
        asked = n_permutations + 1
        most = max(asked * math.factorial(min(len(sizes), _GROUPS_ALIKE)), _LISTED)
        total = count_arrangements([self._units[stratum] for stratum in self._strata], most)
        if total == 1:
            raise ValueError(_impossible(permute, blocks))
        self.conditional = covariates is not None
        self._given: ConditionalLabellings | None = None
        if covariates is not None:
            odds = unit_log_odds(covariates, codes, self._moved)
            order = np.lexsort((*odds.T, own))
            self._given = ConditionalLabellings(self._units, odds, strata, order, seed)
        self._listed = None if total is None or self.conditional else self._enumerate(total)
        self.exhaustive = self._listed is not None and len(self._listed) <= asked
        self.n_labellings = min(asked, asked if self._listed is None else len(self._listed))
        self.smallest_pvalue = 1 / self.n_labellings
        # Bits of all labellings, once they were drawn; shared with schemes of the first of them.
        self._drawable = self.n_labellings
        self._kept: list[LabellingBits] | None = []
        self._drawing: Lock | None = Lock()

    def __getstate__(self) -> dict[str, Any]:
        """Another process draws what it needs."""
        return {**self.__dict__, "_kept": None, "_drawing": None}

    def first(self, n_labellings: int) -> Scheme:
        """The first of these labellings only."""
        if n_labellings == self.n_labellings:
            return self
        other = object.__new__(Scheme)
        other.__dict__.update(self.__dict__)
        other.__dict__.pop("_all_codes", None)
        other.n_labellings, other.exhaustive = n_labellings, False
        other.smallest_pvalue = 1 / n_labellings
        return other

    def _alike(self) -> list[NDArray[np.intp]]:
        """Groups of the same size in every stratum, together; in an order in which names play no part."""
        n_groups = int(self._codes.max()) + 1
        sizes = np.array([np.bincount(self._units[stratum], minlength=n_groups) for stratum in self._strata])
        units = self._units[np.concatenate(self._strata)]
        first = np.array([np.flatnonzero(units == group)[0] for group in range(n_groups)])
        order = np.lexsort((first, *sizes))
        news = np.flatnonzero((np.diff(sizes[:, order], axis=1) != 0).any(axis=0)) + 1
        return np.split(order, news)

    def _enumerate(self, total: int) -> NDArray[np.uint8]:
        """Labellings of the units, one of those that differ by names only; the observed one is the first."""
        alike = self._alike()
        # Groups that are alike can swap their names, which changes nothing.
        distinct = total // math.prod(math.factorial(len(names)) for names in alike)
        groups = np.concatenate(alike)
        spans = list(pairwise(np.cumsum([0, *map(len, alike)]).tolist()))
        units = np.argsort(groups).astype(np.uint8)[self._units]
        choices = [list(multiset_permutations(units[stratum])) for stratum in self._strata]
        order = np.concatenate(self._strata)
        rows = np.empty((distinct, len(units)), dtype=np.uint8)
        count = 0
        for parts in product(*choices):
            labels = [label for part in parts for label in part]
            # Of labellings that differ by the names of groups alike, that in which these appear in order.
            if all(first_appear_in_order(labels, start, stop) for start, stop in spans):
                rows[count, order] = labels
                count += 1
        observed = int(np.flatnonzero((rows == units).all(axis=1))[0])
        rows[[0, observed]] = rows[[observed, 0]]
        # A test that stops early must not have seen the neighbours of one labelling only. Names are drawn, so
        # that the test is exact also with a statistic for which they play a part.
        rng = np.random.default_rng(self._seed)
        rows[1:] = rng.permutation(rows[1:])
        names = np.tile(groups.astype(np.uint8), (distinct, 1))
        for start, stop in spans:
            names[1:, start:stop] = rng.permuted(names[1:, start:stop], axis=1)
        return np.take_along_axis(names, rows.astype(np.intp), axis=1)

    def codes(self, indices: NDArray[np.intp]) -> NDArray[np.uint8]:
        """Groups under some relabellings, shape (len(indices), n_rows)."""
        if np.max(indices, initial=0) >= self.n_labellings:
            return self._drawn(indices)
        if self.bits is not None:
            return self.bits.codes(indices)
        if self.n_labellings * len(self._codes) > _KEPT_BYTES:
            return self._drawn(indices)
        return self._all_codes[indices]

    @property
    def bits(self) -> LabellingBits | None:
        """All labellings of two groups, a bit a row; None for more groups, or where they are too many."""
        if self._kept is None or self._drawing is None or self._several:
            return None
        with self._drawing:
            n_rows = self.n_rows
            if not self._kept and self._drawable * n_rows / 8 <= MOST_BYTES:
                one = lambda index: self._drawn(np.array([index]))[0]  # noqa: E731
                self._kept.append(LabellingBits(one, self._drawable, n_rows))
            return self._kept[0] if self._kept else None

    @cached_property
    def _all_codes(self) -> NDArray[np.uint8]:
        """Every labelling."""
        return self._drawn(np.arange(self.n_labellings))

    def _drawn(self, indices: NDArray[np.intp]) -> NDArray[np.uint8]:
        if self._given is not None:
            units = self._drawn_given(self._given, indices)
        elif self._listed is not None and np.max(indices, initial=0) < len(self._listed):
            units = self._listed[indices]
        else:
            units = np.empty((len(indices), len(self._units)), dtype=np.uint8)
            for place, index in enumerate(indices):
                give_up_if_late()
                units[place] = self._one(int(index))
        return units if self._moved.of_row is None else units[:, self._moved.of_row]

    def _drawn_given(self, given: ConditionalLabellings, indices: NDArray[np.intp]) -> NDArray[np.uint8]:
        """Groups of the units given covariates, which are drawn many labellings at a time."""
        units = np.empty((len(indices), len(self._units)), dtype=np.uint8)
        numbers = np.asarray(indices) // TOGETHER
        for number in np.unique(numbers).tolist():
            own = numbers == number
            units[own] = given.chunk(number)[np.asarray(indices)[own] % TOGETHER]
        units[np.asarray(indices) == 0] = self._units
        return units

    def _one(self, index: int) -> NDArray[np.uint8]:
        """Groups of the units in one labelling."""
        if index == 0:
            return self._units
        units = np.empty_like(self._units)
        rng = np.random.default_rng([self._seed, index])
        for stratum, labels in zip(self._strata, self._by_group, strict=True):
            fast = len(labels) >= _MANY
            drawn = shuffled_labels(labels, rng) if fast else rng.permutation(labels)
            if self._in_order:
                return drawn
            units[stratum] = drawn
        return units


def _impossible(permute: str, blocks: NDArray[np.intp] | None) -> str:
    if blocks is not None and permute == "whole":
        return "these blocks allow no permutation: at least two blocks of different groups are needed"
    if blocks is not None and blocks.max() > 0:
        return (
            "no permutation is possible within the blocks: every block lies in one group; "
            'use permute="whole" for blocks such as donors that belong to one group each'
        )
    return "no permutation is possible: at least two groups with a row each are needed"
