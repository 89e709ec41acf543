"""Many rows in memory: summed up by chunks like a profile, since single rows bring nothing any more.

What is summed up are rows that were read and encoded like any others, so whatever can be compared by rows can
be compared by sums. Bins come from rows of all groups together, which no relabelling changes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from princdiff.data.blocks import settle_permute
from princdiff.data.row_keys import group_ranks, row_keys
from princdiff.data.run import Run
from princdiff.profiles.adding import ROWS_AT_A_TIME, add_rows
from princdiff.profiles.dealing import Dealt
from princdiff.profiles.group_sums import GroupSums
from princdiff.profiles.profiling import (
    DEFAULT_CHUNKS,
    DEFAULT_SAMPLE,
    FEWEST_UNITS,
    MOST_UNEQUAL,
    Profile,
    numbers_of_chunks,
)
from princdiff.profiles.ruler import MOST_IN_PAIRS, Ruler, counted_column
from princdiff.profiles.sampled_rows import SampledRows
from princdiff.tables import Prepared

# Rows from which sums are compared: 20 columns then take 22 s of processor by rows and 5 s by sums, and
# power is the same.
MANY_ROWS = 200_000
# Of wider tables not all pairs are looked at in sums: by rows, as long as that takes minutes.
_MANY_NUMBERS = 10**8
# Rows that bins are chosen from.
_ROWS_FOR_BINS = 200_000


def worth_sums(prepared: Prepared, permute: str) -> bool:
    """Whether rows are compared by sums over chunks of them.

    Parameters
    ----------
    prepared : Prepared
    permute : {"auto", "within", "whole"}
        How blocks are relabelled, if there are any.

    Returns
    -------
    bool
    """
    rows = prepared.rows
    if not isinstance(rows, np.ndarray) or len(rows) < MANY_ROWS:
        return False
    if rows.shape[1] > MOST_IN_PAIRS and rows.size < _MANY_NUMBERS:
        return False
    if prepared.weights is not None or prepared.covariates is not None:
        return False
    if any(coding.type == "date" for coding in prepared.codings):
        return False
    if prepared.blocks is None:
        return True
    if permute == "within" or settle_permute(prepared.codes, prepared.blocks) != "whole":
        return False
    return bool(_blocks_of_groups(prepared).min() >= FEWEST_UNITS)


def _blocks_of_groups(prepared: Prepared) -> NDArray[np.intp]:
    """How many blocks each group has."""
    group = np.zeros(int(prepared.blocks.max()) + 1, dtype=np.intp)  # type: ignore[union-attr]
    group[prepared.blocks] = prepared.codes
    return np.bincount(group, minlength=len(prepared.groups))


def thinned(prepared: Prepared, run: Run) -> Prepared:
    """Rows without most of a group that is many times as large as the smallest.

    The error of a difference is that of the smaller group: of more rows of the larger one nothing is seen.
    """
    counts = np.bincount(prepared.codes, minlength=len(prepared.groups))
    most = MOST_UNEQUAL * int(counts.min())
    if len(prepared.codes) < MANY_ROWS or counts.max() <= most or prepared.blocks is not None:
        return prepared
    order = run.rng("thinning").permutation(canonical_order(prepared))
    kept = np.zeros(len(order), dtype=bool)
    for group in range(len(counts)):
        kept[order[prepared.codes[order] == group][:most]] = True
    notes = [
        f"Of the {counts[group]} rows of group {name}, {most} were drawn at random, {MOST_UNEQUAL} times as "
        "many as the smallest group has: more would bring nothing."
        for group, name in enumerate(prepared.groups)
        if counts[group] > most
    ]
    return replace(prepared.take_rows(np.flatnonzero(kept)), notes=(*prepared.notes, *notes))


def canonical_order(prepared: Prepared) -> NDArray[np.intp]:
    """Rows in an order that depends on their values only."""
    keys = row_keys(prepared.rows)
    ranks = group_ranks(keys, prepared.codes, len(prepared.groups))
    return np.lexsort((ranks[prepared.codes], keys))


@dataclass(eq=False)
class EncodedRows:
    """Some of the rows that were read, column by column, for `add_rows`."""

    prepared: Prepared
    ruler: Ruler
    some: slice
    label: str = "the table"

    def values(self, number: int) -> NDArray:
        """A column's numbers, NaN where they were filled, or the places of its levels."""
        column = self.ruler.columns[number]
        first = self.ruler.first_features[number]
        rows, coding = self.prepared.rows[self.some], column.coding
        if column.is_number:
            values = np.array(rows[:, first], dtype=np.float64)
            if coding.indicator:
                values[rows[:, first + 1] != 0] = np.nan
            return values
        # Of two levels only one has a feature.
        other = next((code for code in coding.all_codes if code not in coding.codes), 0)
        codes = np.full(len(rows), other, dtype=np.int64)
        for place, code in enumerate(coding.codes):
            codes[rows[:, first + place] != 0] = code
        return np.where(codes < 0, column.n_bins - 1, codes)


def sums_of_rows(prepared: Prepared, run: Run) -> tuple[Profile, Prepared]:
    """Sums of all rows, and a sample of them.

    Parameters
    ----------
    prepared : Prepared
        Rows as they were read.
    run : Run
        Seed.

    Returns
    -------
    profile : Profile
        Without rows.
    sample : Prepared
        Rows for directions and pictures.
    """
    order = canonical_order(prepared)
    dealt = np.empty(len(order), dtype=np.uint64)
    dealt[order] = run.rng("dealing").integers(2**64, size=len(order), dtype=np.uint64)
    bits = Dealt(dealt)
    ruler = _ruler_of(prepared, order[np.argsort(bits.keys[order], kind="stable")])
    unit, sizes = _units(prepared, bits, order)
    groups = [GroupSums.empty(ruler, size) for size in sizes]
    for group, seen in zip(groups, np.bincount(prepared.codes, minlength=len(groups)), strict=True):
        group.seen = int(seen)
    for start in range(0, len(unit), ROWS_AT_A_TIME):
        some = slice(start, start + ROWS_AT_A_TIME)
        add_rows(EncodedRows(prepared, ruler, some), unit[some], groups)
    named = dict(zip(prepared.groups, groups, strict=True))
    profile = Profile(ruler, named, SampledRows(), 0, True, {"seed": run.seed})
    sample = prepared.take_rows(_sampled(prepared, bits))
    said = (
        f"Computed from sums over chunks of rows ({' + '.join(map(str, sizes))} chunks of {len(unit)} rows): "
        "p-values, columns and pairs from all rows, directions and pictures from a random sample of "
        f"{len(sample.codes)} rows."
    )
    return profile, replace(sample, notes=(said, *prepared.notes))


def _ruler_of(prepared: Prepared, order: NDArray[np.intp]) -> Ruler:
    """Bins from some rows of all groups."""
    some, columns, first = np.sort(order[:_ROWS_FOR_BINS]), [], 0
    for coding in prepared.codings:
        values = prepared.rows[some, first].astype(np.float64)
        if coding.indicator and not coding.one_hot:
            values = values[prepared.rows[some, first + 1] == 0]
        columns.append(counted_column(coding, values))
        first += len(coding.kinds)
    return Ruler(tuple(columns), dict(prepared.left_out))


def _units(prepared: Prepared, bits: Dealt, order: NDArray[np.intp]) -> tuple[NDArray[np.int32], list[int]]:
    """The chunk of each row, counted through the groups, and the chunks of each group."""
    if prepared.blocks is not None:
        return _units_of_blocks(prepared, bits, order)
    counts = np.bincount(prepared.codes, minlength=len(prepared.groups))
    sizes = numbers_of_chunks(counts.tolist(), DEFAULT_CHUNKS)
    starts = np.cumsum([0, *sizes[:-1]])
    unit = starts[prepared.codes] + bits.chunks(np.array(sizes)[prepared.codes])
    return unit.astype(np.int32), sizes


def _units_of_blocks(
    prepared: Prepared, bits: Dealt, order: NDArray[np.intp]
) -> tuple[NDArray[np.int32], list[int]]:
    """Whole blocks in chunks: as many blocks in each, and each alone where there are few."""
    blocks = prepared.blocks
    assert blocks is not None
    # The last of its rows in an order of the values says where a block stands, whatever it is called.
    place, group = np.zeros((2, int(blocks.max()) + 1), dtype=np.intp)
    place[blocks[order]] = np.arange(len(order))
    group[blocks] = prepared.codes
    turn = bits.bits[order[place]]
    sizes: list[int] = []
    chunk = np.zeros(len(place), dtype=np.int64)
    counts = np.bincount(group, minlength=len(prepared.groups))
    most = numbers_of_chunks(counts.tolist(), DEFAULT_CHUNKS)
    for code, count in enumerate(counts):
        own = np.flatnonzero(group == code)
        size = min(int(count), most[code]) if counts.max() > DEFAULT_CHUNKS else int(count)
        chunk[own[np.argsort(turn[own])]] = sum(sizes) + np.arange(count) % size
        sizes.append(size)
    return chunk[blocks].astype(np.int32), sizes


def _sampled(prepared: Prepared, bits: Dealt) -> NDArray[np.intp]:
    """Rows for directions and pictures: those of each group with the smallest keys."""
    keys, found = bits.keys, []
    for code in range(len(prepared.groups)):
        own = np.flatnonzero(prepared.codes == code)
        found.append(own[np.argsort(keys[own], kind="stable")[:DEFAULT_SAMPLE]])
    return np.sort(np.concatenate(found))
