"""The work on one part of a source, wherever it lies: rows to choose bins from, or the sums of all rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from princdiff.profiles.adding import ROWS_AT_A_TIME, add_rows
from princdiff.profiles.arrow_columns import arrow, codes, column_of, labels, numbers
from princdiff.profiles.dealing import Dealer, Dealt
from princdiff.profiles.group_sums import GroupSums
from princdiff.profiles.ruler import Ruler
from princdiff.profiles.sampled_rows import SampledRows

# Numbers of wide tables that are counted at a time.
_NUMBERS_AT_A_TIME = 1 << 25
# Blocks of a group that are looked at for rows of another group: of more, those with the smallest numbers.
_MOST_BLOCKS = 50_000


@dataclass(frozen=True)
class Dealing:
    """How rows are dealt.

    Attributes
    ----------
    seed : int
    share : float
        Of rows that are left out of the sums.
    n_chunks : dict of str to int
        Chunks of each group.
    default_chunks : int
        Of groups that were not known before.
    kept : dict of str to float
        Of groups that are thinned, the share of rows that are counted.
    sample_rows : int
        Rows of each group that are kept as they are.
    group : str or None
        CountedColumn with the groups; None: all rows are of one group.
    label : str
        What this one is called.
    blocks : str or None
        CountedColumn that says which rows belong together.
    every_row : bool
        Whether all rows are counted, those that bins are chosen from among them: right where these are of
        all groups alike, and blocks are too few to leave any out.
    """

    seed: int = 0
    share: float = 0.0
    n_chunks: Mapping[str, int] = field(default_factory=dict)
    default_chunks: int = 128
    kept: Mapping[str, float] = field(default_factory=dict)
    sample_rows: int = 0
    group: str | None = None
    label: str = ""
    blocks: str | None = None
    every_row: bool = False

    @property
    def extra_columns(self) -> list[str]:
        """Columns that are needed beside those that are counted."""
        return [name for name in dict.fromkeys((self.group, self.blocks)) if name is not None]

    def random(self, dealer: Dealer, table: Any, part: str) -> Dealt:
        """Random numbers of the rows of a table."""
        if self.blocks is None:
            return dealer.rows(table.num_rows)
        column = column_of(table, self.blocks, part)
        if column.null_count:
            raise ValueError(
                f"column {self.blocks!r} of blocks has {column.null_count} missing values in {part}"
            )
        return dealer.blocks(column.to_numpy(zero_copy_only=False))

    def counted(self, dealt: Dealt) -> NDArray[np.bool_]:
        """Which rows are not left out of the sums."""
        return np.ones(len(dealt.bits), dtype=bool) if self.every_row else ~dealt.left_out(self.share)

    def groups_of(self, table: Any, part: str) -> tuple[list[str], NDArray[np.int64]]:
        """Groups that occur, and the place of each row's among them."""
        if self.group is None:
            return [self.label], np.zeros(table.num_rows, dtype=np.int64)
        names, places = labels(column_of(table, self.group, part))
        empty = np.count_nonzero(places < 0)
        if empty:
            raise ValueError(
                f"{empty} rows of {part} have no group in column {self.group!r}: leave them out or name them"
            )
        return names, places


@dataclass(frozen=True)
class LookAtRows:
    """Takes the rows that are left out of the sums, to choose bins from."""

    dealing: Dealing

    def __call__(self, part: str, batches: Iterable[Any]) -> SampledRows:
        """Those of one part."""
        dealer = Dealer(self.dealing.seed, part)
        found = SampledRows()
        for table in tables(batches):
            dealt = self.dealing.random(dealer, table, part)
            names, places = self.dealing.groups_of(table, part)
            dealing = self.dealing
            chosen = dealt.looked_at if dealing.every_row else dealt.left_out
            taken = np.flatnonzero(chosen(dealing.share))
            found = found + SampledRows.of(table, names, places, dealt.keys, taken)
        return found


@dataclass(eq=False)
class ArrowRows:
    """Rows of an Arrow table, for `add_rows`."""

    table: Any
    ruler: Ruler
    label: str

    def values(self, number: int) -> NDArray:
        """A column's numbers, or the places of its levels."""
        column = self.ruler.columns[number]
        return (numbers if column.is_number else codes)(self.table, column, self.label)


@dataclass(frozen=True)
class CountRows:
    """Counts and adds up all rows but those left out, and takes a sample."""

    ruler: Ruler
    dealing: Dealing

    def __call__(self, part: str, batches: Iterable[Any]) -> Counted:
        """Those of one part."""
        dealer = Dealer(self.dealing.seed, part)
        most = self.dealing.sample_rows
        found = Counted({}, SampledRows(), most)
        for table in tables(batches):
            dealt = self.dealing.random(dealer, table, part)
            names, places = self.dealing.groups_of(table, part)
            if most:
                rows = SampledRows.lowest(table.select(self.ruler.names), names, places, dealt.keys, most)
                found.sample = (found.sample + rows).cut(most)
            self._count(table, part, (names, places, dealt), found)
        return found

    def _count(
        self,
        table: Any,
        part: str,
        dealt: tuple[list[str], NDArray[np.int64], Dealt],
        found: Counted,
    ) -> None:
        """Add one table to what was found."""
        names, places, random = dealt
        dealing = self.dealing
        for place, count in enumerate(np.bincount(places, minlength=len(names)).tolist()):
            if count and names[place] not in found.groups:
                n_chunks = dealing.n_chunks.get(names[place], dealing.default_chunks)
                found.groups[names[place]] = GroupSums.empty(self.ruler, n_chunks)
            if count:
                found.groups[names[place]].seen += count
        present = [name for name in names if name in found.groups]
        own = [found.groups[name] for name in present]
        sizes = np.array([group.n_chunks for group in own])
        starts = np.concatenate([[0], np.cumsum(sizes)])
        number = np.array([present.index(name) if name in found.groups else 0 for name in names])[places]
        counted = dealing.counted(random)
        if dealing.blocks is not None:
            found.add_blocks(names, places, random.bits)
        if dealing.kept:
            share = np.array([dealing.kept.get(name, 1.0) for name in present])
            counted &= random.kept(share[number])
        unit = (starts[number] + random.chunks(sizes[number])).astype(np.int32)
        if not counted.all():
            table, unit = table.filter(arrow().array(counted)), unit[counted]
        if len(unit):
            add_rows(ArrowRows(table, self.ruler, part), unit, own)


@dataclass(eq=False)
class Counted:
    """What was found in some parts of a source; two of them add up to one.

    Attributes
    ----------
    groups : dict of str to GroupSums
    sample : SampledRows
    sample_rows : int
        How many of each group at most.
    blocks : dict of str to uint64 arrays
        Random numbers of the blocks that have rows of each group, where rows belong to blocks: of very many
        the smallest numbers.
    """

    groups: dict[str, GroupSums]
    sample: SampledRows
    sample_rows: int
    blocks: dict[str, NDArray[np.uint64]] = field(default_factory=dict)

    def add_blocks(self, names: list[str], places: NDArray[np.int64], bits: NDArray[np.uint64]) -> None:
        """Note which blocks have rows of which groups."""
        for place in np.unique(places).tolist():
            own = bits[places == place]
            self.blocks[names[place]] = _smallest(self.blocks.get(names[place], own), own)

    def __add__(self, other: Counted) -> Counted:
        """What was found in the parts of both."""
        groups = dict(self.groups)
        for name, sums in other.groups.items():
            groups[name] = groups[name] + sums if name in groups else sums
        blocks = dict(self.blocks)
        for name, bits in other.blocks.items():
            blocks[name] = _smallest(blocks.get(name, bits), bits)
        most = min(self.sample_rows, other.sample_rows)
        return Counted(groups, (self.sample + other.sample).cut(most), most, blocks)


def _smallest(mine: NDArray[np.uint64], others: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Random numbers of blocks of both, without what would not be looked at among very many."""
    return np.union1d(mine, others)[:_MOST_BLOCKS]


def tables(batches: Iterable[Any]) -> Iterator[Any]:
    """Record batches as tables of a size that is quick to count, whatever sizes they come in."""
    pa = arrow()
    waiting: list[Any] = []
    count = 0
    for batch in batches:
        most = min(ROWS_AT_A_TIME, max(1, _NUMBERS_AT_A_TIME // max(1, batch.num_columns)))
        for start in range(0, batch.num_rows, most):
            piece = batch.slice(start, most)
            if count and count + piece.num_rows > most:
                yield taken(pa.Table.from_batches(waiting))
                waiting, count = [], 0
            waiting.append(piece)
            count += piece.num_rows
    if waiting:
        yield taken(pa.Table.from_batches(waiting))


def taken(table: Any) -> Any:
    """A table whose texts are of a type that can be taken row by row: those of polars cannot."""
    pa = arrow()
    views = [pa.types.is_string_view(field.type) for field in table.schema]
    if not any(views):
        return table
    fields = [
        field.with_type(pa.string()) if view else field
        for field, view in zip(table.schema, views, strict=True)
    ]
    return table.cast(pa.schema(fields))
