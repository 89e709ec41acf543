"""The work on one part of a source, wherever it lies: rows to choose bins from, or the sums of all rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from princdiff.kernels.binned_columns import ColumnTotals, add_binned
from princdiff.profiles.arrow_columns import arrow, codes, column_of, labels, numbers
from princdiff.profiles.dealing import Dealer, Dealt
from princdiff.profiles.group_sums import GroupSums
from princdiff.profiles.ruler import Ruler
from princdiff.profiles.sampled_rows import SampledRows

# Rows counted at a time: a few thousand for each chunk, so that their products cost what they must.
_ROWS = 262_144
# Products of so many rows are exact in single precision: scores are whole numbers up to a hundred.
_EXACT_ROWS = 1536


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
            taken = np.flatnonzero(dealt.left_out(self.dealing.share))
            found = found + SampledRows.of(table, names, places, dealt.keys, taken)
        return found


@dataclass(frozen=True)
class CountRows:
    """Counts and adds up all rows but those left out, and takes a sample."""

    ruler: Ruler
    dealing: Dealing

    def __call__(self, part: str, batches: Iterable[Any]) -> Counted:
        """Those of one part."""
        dealer = Dealer(self.dealing.seed, part)
        found = Counted({}, SampledRows())
        for table in tables(batches):
            dealt = self.dealing.random(dealer, table, part)
            names, places = self.dealing.groups_of(table, part)
            if self.dealing.sample_rows:
                rows = table.select(self.ruler.names)
                found.sample = found.sample + SampledRows.lowest(
                    rows, names, places, dealt.keys, self.dealing.sample_rows
                )
                found.sample = found.sample.cut(self.dealing.sample_rows)
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
        counted = ~random.left_out(dealing.share)
        if dealing.kept:
            share = np.array([dealing.kept.get(name, 1.0) for name in present])
            counted &= random.kept(share[number])
        unit = (starts[number] + random.chunks(sizes[number])).astype(np.int32)
        if not counted.all():
            table, unit = table.filter(arrow().array(counted)), unit[counted]
        if len(unit):
            self._add(table, unit, part, own, starts)

    def _add(
        self, table: Any, unit: NDArray[np.int32], part: str, own: list[GroupSums], starts: NDArray[np.int64]
    ) -> None:
        n_units = int(starts[-1])
        rows = np.bincount(unit, minlength=n_units)
        # The rows of a unit side by side, for their products.
        order = np.argsort(unit.astype(np.uint16) if n_units < 2**16 else unit, kind="stable")
        place = np.empty(len(unit), dtype=np.int64)
        place[order] = np.arange(len(unit))
        worth = _Worth(self.ruler, len(unit))
        for number, column in enumerate(self.ruler.columns):
            counts = np.zeros((n_units, column.n_bins), dtype=np.int64)
            sums = np.zeros((n_units, 2))
            if column.is_number:
                values = numbers(table, column, part)
                totals = ColumnTotals(counts, sums, worth.line(number, 0))
                if not add_binned(values, column.bins, unit, place, totals):
                    raise ValueError(f"column {column.name!r} has infinite values in {part}: remove them")
                if not np.isfinite(sums).all():
                    raise ValueError(f"column {column.name!r} has values too large to be squared in {part}")
            else:
                code = codes(table, column, part)
                counts += np.bincount(unit * np.int64(column.n_bins) + code, minlength=counts.size).reshape(
                    counts.shape
                )
                worth.set_levels(number, code[order])
            for group, start, end in zip(own, starts, starts[1:], strict=False):
                group.counts[number] += counts[start:end]
                group.sums[number] += sums[start:end]
        ends = np.concatenate([[0], np.cumsum(rows)])
        for group, start, end in zip(own, starts, starts[1:], strict=False):
            group.rows += rows[start:end]
            for chunk in range(end - start):
                group.products[chunk] += worth.products(ends[start + chunk], ends[start + chunk + 1])


class _Worth:
    """What rows are worth in products: a line for each feature that is looked at in pairs."""

    def __init__(self, ruler: Ruler, n_rows: int) -> None:
        self._lines = np.zeros((len(ruler.in_pairs), n_rows), dtype=np.float32)
        self._unused = np.empty(n_rows, dtype=np.float32)
        self._at: dict[tuple[int, int], int] = {}
        line_of = {feature: line for line, feature in enumerate(ruler.in_pairs.tolist())}
        self._levels: dict[int, NDArray[np.int64]] = {}
        feature = 0
        for number, column in enumerate(ruler.columns):
            lines = np.full(column.n_bins, -1, dtype=np.int64)
            for own, bins in enumerate(column.feature_bins):
                if feature in line_of:
                    self._at[number, own] = line_of[feature]
                    lines[bins] = line_of[feature]
                feature += 1
            self._levels[number] = lines

    def line(self, column: int, feature: int) -> NDArray[np.float32]:
        """Where a feature of a column is written."""
        at = self._at.get((column, feature))
        return self._unused if at is None else self._lines[at]

    def set_levels(self, column: int, code: NDArray[np.int64]) -> None:
        """Mark the level of each row, in the order of their places: written one after the other."""
        line = self._levels[column][code]
        known = np.flatnonzero(line >= 0)
        self._lines[line[known], known] = 1.0

    def products(self, start: int, end: int) -> NDArray[np.int64]:
        """Of every two lines, summed over some rows; exact, since all are whole numbers."""
        total = np.zeros((len(self._lines), len(self._lines)), dtype=np.int64)
        for first in range(start, end, _EXACT_ROWS):
            some = self._lines[:, first : min(first + _EXACT_ROWS, end)]
            total += (some @ some.T).astype(np.int64)
        return total


@dataclass(eq=False)
class Counted:
    """What was found in some parts of a source; two of them add up to one.

    Attributes
    ----------
    groups : dict of str to GroupSums
    sample : SampledRows
    """

    groups: dict[str, GroupSums]
    sample: SampledRows

    def __add__(self, other: Counted) -> Counted:
        """What was found in the parts of both."""
        groups = dict(self.groups)
        for name, sums in other.groups.items():
            groups[name] = groups[name] + sums if name in groups else sums
        return Counted(groups, self.sample + other.sample)


def tables(batches: Iterable[Any]) -> Iterator[Any]:
    """Record batches as tables of a size that is quick to count, whatever sizes they come in."""
    pa = arrow()
    waiting: list[Any] = []
    count = 0
    for batch in batches:
        for start in range(0, batch.num_rows, _ROWS):
            piece = batch.slice(start, _ROWS)
            if count and count + piece.num_rows > _ROWS:
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
