"""`profile`: sums of a table, made in one pass wherever it lies, that merge and are compared without rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from princdiff.data import parameters
from princdiff.data.run import seed_from
from princdiff.profiles.counting import Counted, CountRows, Dealing, LookAtRows
from princdiff.profiles.engines import TableEngine, open_source
from princdiff.profiles.group_sums import GroupSums
from princdiff.profiles.ruler import Ruler, make_ruler
from princdiff.profiles.sampled_rows import SampledRows
from princdiff.tables.group_order import in_order_of_names, place_of

# Chunks of a group: more bring little power, and cost memory and space; see docs/explanation/promises.md.
DEFAULT_CHUNKS = 128
# Rows kept of each group for directions and pictures.
DEFAULT_SAMPLE = 10_000
# Rows wanted to choose bins from, the largest and the smallest share of rows left out for them, and rows
# among which they are looked for.
_ROWS_FOR_BINS, _MOST_LEFT_OUT, _LEAST_LEFT_OUT, _LOOKED_AT = 20_000, 0.1, 0.02, 1_000_000
# Chunks of a group below which too few labellings are left to show anything.
FEWEST_UNITS = 8
# Numbers of a sample, for wide tables: of 20 000 columns 1000 rows, and 32 chunks instead of 128.
_WIDE = 20_000_000
# A group this many times as large as the smallest is thinned: the rest of it would bring nothing.
MOST_UNEQUAL = 32
# Chunks of the smallest group at least.
_FEWEST_CHUNKS = 24


@dataclass(frozen=True, eq=False, repr=False)
class Profile:
    """Sums of a table by chunks of rows: add two to merge them, `princdiff.compare` them, `save` them.

    Attributes
    ----------
    ruler : Ruler
        Bins and levels.
    groups : dict of str to GroupSums
        What was counted of each group.
    sample : SampledRows
        Rows kept as they are.
    sample_rows : int
        How many of each group at most.
    grouped : bool
        Whether groups were told apart; otherwise the profile is of one group.
    about : dict
        How rows were dealt: seed, share left out, shares kept of thinned groups, column of blocks.
    blocks : dict of str to uint64 arrays
        Random numbers of the blocks of each group, while groups are told apart; not saved.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import princdiff
    >>> rng = np.random.default_rng(0)
    >>> old = pd.DataFrame(rng.normal(size=(20_000, 3)), columns=["age", "height", "weight"])
    >>> january = princdiff.profile(old.head(12_000))
    >>> february = princdiff.profile(old.tail(8_000), like=january)
    >>> january
    <Profile of 12000 rows, 3 columns, 128 chunks>
    >>> (january + february).n_rows
    20000
    """

    ruler: Ruler
    groups: dict[str, GroupSums]
    sample: SampledRows
    sample_rows: int
    grouped: bool
    about: dict[str, Any]
    blocks: dict[str, NDArray[np.uint64]] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """Rows of all groups, those left out of the sums among them."""
        return sum(group.seen for group in self.groups.values())

    @property
    def columns(self) -> list[str]:
        """Columns that were counted."""
        return self.ruler.names

    @property
    def fewest_units(self) -> int:
        """Chunks with rows of the group that has the fewest."""
        return min(int(np.count_nonzero(group.rows)) for group in self.groups.values())

    def __repr__(self) -> str:
        chunks = sum(group.n_chunks for group in self.groups.values())
        groups = f", groups {', '.join(self.groups)}" if self.grouped else ""
        return f"<Profile of {self.n_rows} rows, {len(self.columns)} columns, {chunks} chunks{groups}>"

    def __add__(self, other: Profile) -> Profile:
        """The profile of the rows of both."""
        if not isinstance(other, Profile):
            return NotImplemented
        refuse_other_bins(self, other)
        if self.grouped != other.grouped:
            raise ValueError("a profile with groups and one without cannot be merged")
        others = other if self.grouped else other.renamed(next(iter(self.groups)))
        found = self.counted + others.counted
        return replace(
            self,
            groups=found.groups,
            sample=found.sample,
            sample_rows=found.sample_rows,
            blocks=found.blocks,
        )

    @property
    def counted(self) -> Counted:
        """What adds up."""
        return Counted(self.groups, self.sample, self.sample_rows, self.blocks)

    def with_reference(self, reference: str) -> Profile:
        """The same profile with the group first that the others are compared with."""
        names = list(self.groups)
        first = names.pop(place_of(names, reference))
        return replace(self, groups={name: self.groups[name] for name in (first, *names)})

    def renamed(self, name: str) -> Profile:
        """The same profile of one group, called otherwise."""
        if self.grouped:
            raise ValueError(f"the profile has groups ({', '.join(self.groups)}): they keep their names")
        (old, sums), sample = next(iter(self.groups.items())), self.sample
        if old in sample.rows:
            sample = SampledRows({name: sample.rows[old]}, {name: sample.keys[old]})
        blocks = {name: self.blocks[old]} if old in self.blocks else {}
        return replace(self, groups={name: sums}, sample=sample, blocks=blocks)

    def of_two(self, group: str, others: Sequence[str], called: str) -> Profile:
        """The profile of a group, and of some others as one.

        Parameters
        ----------
        group : str
        others : list of str
        called : str
            What the others together are called.

        Returns
        -------
        Profile
        """
        sums = reduce(GroupSums.beside, [self.groups[name] for name in others])
        sample = self.sample.of_one([group], group, self.sample_rows)
        sample = sample + self.sample.of_one(others, called, self.sample_rows)
        return replace(self, groups={group: self.groups[group], called: sums}, sample=sample)

    def save(self, path: str | Path) -> None:
        """Write the profile to one file, at once or not at all; read it with `princdiff.load_profile`."""
        from princdiff.profiles.profile_file import save_profile

        save_profile(self, path)


def refuse_other_bins(one: Profile, other: Profile) -> None:
    """An error where two profiles did not count the same bins and levels."""
    if one.ruler == other.ruler:
        return
    missing = sorted(set(one.columns) ^ set(other.columns))
    what = f"columns {', '.join(missing)}" if missing else "other bins or levels"
    raise ValueError(
        f"the profiles were not made alike ({what}): make the second with like= the first, "
        "princdiff.profile(source, like=first)"
    )


def profile(
    source: Any,
    groups: str | None = None,
    like: Profile | None = None,
    *,
    features: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    blocks: str | None = None,
    n_chunks: int | None = None,
    sample_rows: int = DEFAULT_SAMPLE,
    random_state: Any = 0,
    progress: bool = False,
) -> Profile:
    """Make a profile of a table: sums by chunks of rows, in one pass, wherever the table lies.

    Parameters
    ----------
    source : path, pattern, list of paths, DataFrame, Arrow table or stream, dataset or relation of an engine
        Files and folders of parquet, csv or feather, also ``s3://`` and the like; data frames of pandas,
        polars, Dask, Spark and Ray; whatever has ``__arrow_c_stream__`` (relations of DuckDB, tables of
        Ibis); ``(connection, query)`` of a database.
    groups : str, optional
        Column that holds the groups; without it all rows are of one group.
    like : Profile, optional
        Take bins and levels from this profile, so that both can be merged or compared.
    features, exclude : list of str, optional
        Columns to count, or not to count.
    blocks : str, optional
        Column that says which rows belong together, such as those of a patient: they go to one chunk. With a
        number of the row, the profile is the same whichever engine made it.
    n_chunks : int, optional
        Chunks of each group; default: as many as ``like`` has, so that both merge, otherwise 128.
    sample_rows : int, default=10000
        Rows of each group that are kept as they are, for directions and pictures; 0: the profile holds no
        row.
    random_state : int, RandomState, Generator or None, default=0
        Seed.
    progress : bool, default=False
        Whether to show rows and rows a second.

    Returns
    -------
    Profile

    See Also
    --------
    load_profile : Read a profile from its file.
    compare : Compares profiles as it does tables.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import princdiff
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame({"size": rng.normal(size=50_000), "when": np.repeat(["then", "now"], 25_000)})
    >>> table.loc[table["when"] == "now", "size"] += 0.1
    >>> princdiff.compare(princdiff.profile(table, groups="when")).selected
    ['size']
    """
    parameters.check(
        locals(),
        source=parameters.Data(),
        like=parameters.Data(),
        blocks=parameters.Data(),
        groups=parameters.Data(),
        n_chunks=parameters.Either(parameters.Whole(2), None),
        sample_rows=parameters.Whole(0),
    )
    if like is not None and not isinstance(like, Profile):
        raise ValueError(f"like must be a profile, got {like!r}")
    engine = open_source(source, progress=progress)
    seed = seed_from(random_state)
    _refuse_unknown(engine, [groups, blocks])
    dealing = Dealing(
        seed,
        default_chunks=DEFAULT_CHUNKS if n_chunks is None else int(n_chunks),
        sample_rows=int(sample_rows),
        group=groups,
        label="" if groups else engine.label,
        blocks=blocks,
        every_row=blocks is not None and groups is not None and like is None,
    )
    if like is not None:
        if features is not None or exclude is not None:
            raise ValueError("like= says which columns are counted: leave out features= and exclude=")
        return _counted(engine, like.ruler, dealing if n_chunks is not None else _dealt_like(dealing, like))
    (found,) = together({dealing.label: engine}, dealing, features, exclude)
    refuse_crossing_blocks(found)
    return found


def _dealt_like(dealing: Dealing, like: Profile) -> Dealing:
    """As many chunks as a profile has, and as large a share of groups that were thinned there."""
    sizes = {name: group.n_chunks for name, group in like.groups.items()}
    if like.grouped == (dealing.group is not None):
        dealing = replace(dealing, n_chunks=sizes, kept=like.about.get("kept", {}))
    return replace(dealing, default_chunks=max(sizes.values()))


class CrossingBlocks(ValueError):
    """Blocks that cannot be relabelled as wholes."""


def refuse_crossing_blocks(found: Profile) -> None:
    """An error where blocks have rows of several groups: only whole blocks are relabelled."""
    several = crossing_blocks(found)
    if several:
        raise CrossingBlocks(
            f"{several} blocks of column {found.about['blocks']!r} have rows of several groups, and a "
            "profile permutes whole blocks only: compare the rows, "
            "princdiff.compare(table, groups=..., blocks=...)"
        )


def crossing_blocks(found: Profile) -> int:
    """How many blocks have rows of several groups."""
    if not found.blocks:
        return 0
    _, times = np.unique(np.concatenate(list(found.blocks.values())), return_counts=True)
    return int((times > 1).sum())


def together(
    engines: Mapping[str, TableEngine], dealing: Dealing, features: Any, exclude: Any
) -> list[Profile]:
    """Profiles of tables, by what they are called, with bins from rows of all that are left out of all."""
    exclude = [*(exclude or ()), *dealing.extra_columns]
    sizes = {name: engine.n_rows for name, engine in engines.items() if engine.n_rows is not None}
    n_rows = sum(sizes.values()) if len(sizes) == len(engines) else None
    n_columns = max(len(engine.columns) for engine in engines.values())
    dealing = replace(dealing, share=share_left_out(n_rows, n_columns))
    seen = SampledRows()
    for name, engine in engines.items():
        own = replace(dealing, label=name)
        seen = seen + look(engine, own, columns_to_read(engine, features, exclude))
    only_numbers = all(engine.only_numbers for engine in engines.values())
    ruler = ruler_of(seen, features, exclude, only_numbers=only_numbers)
    if dealing.group is not None:
        dealing = with_chunks(dealing, {name: len(keys) for name, keys in seen.keys.items()})
    elif n_rows is not None:
        dealing = with_chunks(dealing, sizes)
    return [_counted(engine, ruler, replace(dealing, label=name)) for name, engine in engines.items()]


def share_left_out(n_rows: int | None, n_columns: int = 1) -> float:
    """The share of rows that bins are chosen from, and that are not counted.

    Examples
    --------
    >>> share_left_out(50_000), share_left_out(500_000), share_left_out(None)
    (0.1, 0.04, 0.02)
    """
    wanted = min(_ROWS_FOR_BINS, max(1000, _WIDE // max(1, n_columns)))
    least = _LEAST_LEFT_OUT * wanted / _ROWS_FOR_BINS
    return least if n_rows is None else min(_MOST_LEFT_OUT, max(least, wanted / max(1, n_rows)))


def rows_and_chunks(n_columns: int) -> tuple[int, int]:
    """Rows of a sample and chunks of a group that are kept unless others are asked for.

    Examples
    --------
    >>> rows_and_chunks(20), rows_and_chunks(20_000)
    ((10000, 128), (1000, 32))
    """
    wide = _WIDE // max(1, n_columns)
    return min(DEFAULT_SAMPLE, max(500, wide)), min(DEFAULT_CHUNKS, max(32, wide // 50))


def with_chunks(dealing: Dealing, rows: Mapping[str, int]) -> Dealing:
    """Numbers of chunks in proportion to (about) the rows of the groups, so that chunks are of one size.

    Groups many times as large as the smallest are thinned first.

    Examples
    --------
    >>> found = with_chunks(Dealing(), {"a": 1000, "b": 3000, "c": 100_000})
    >>> found.n_chunks, found.kept
    ({'a': 24, 'b': 72, 'c': 768}, {'c': 0.32})
    """
    most = MOST_UNEQUAL * max(1, min(rows.values()))
    kept = {name: most / count for name, count in rows.items() if count > most}
    chunks = numbers_of_chunks([min(count, most) for count in rows.values()], dealing.default_chunks)
    return replace(dealing, n_chunks=dict(zip(rows, chunks, strict=True)), kept=kept)


def numbers_of_chunks(rows: Sequence[int], default: int) -> list[int]:
    """Chunks of about one size for groups of so many rows.

    Examples
    --------
    >>> numbers_of_chunks([50_000, 50_100], 128), numbers_of_chunks([1000, 3000], 128)
    ([128, 128], [64, 192])
    """
    counts = np.maximum(np.asarray(rows, dtype=np.float64), 1.0)
    # Groups that differ by chance alone have the same number.
    if counts.max() <= 1.05 * counts.min():
        return [default] * len(counts)
    # Of a few chunks in all the smallest group has to have its part.
    size = min(counts.sum() / (default * len(counts)), counts.min() / min(_FEWEST_CHUNKS, default))
    return [max(2, round(count / size)) for count in counts.tolist()]


def columns_to_read(
    engine: TableEngine, features: Sequence[str] | None, unwanted: Sequence[str]
) -> list[str]:
    """Columns that may be counted; an error names one that is not there."""
    asked = [features] if isinstance(features, str) else features
    _refuse_unknown(engine, [*(asked or ()), *unwanted])
    spared = {*unwanted, *(() if asked else engine.described)}
    return [name for name in (asked or engine.columns) if name not in spared]


def _refuse_unknown(engine: TableEngine, names: Sequence[str | None]) -> None:
    for name in names:
        if name is not None and name not in engine.columns:
            shown = ", ".join(engine.columns[:10]) + (" ..." if len(engine.columns) > 10 else "")
            raise ValueError(f"{engine.label} has no column {name!r}; its columns are {shown}")


def look(engine: TableEngine, dealing: Dealing, columns: Sequence[str]) -> SampledRows:
    """Rows to choose bins from."""
    wanted = list(dict.fromkeys([*columns, *dealing.extra_columns]))
    found: SampledRows = engine.run(LookAtRows(dealing), wanted, most_rows=_LOOKED_AT)
    if not found.rows:
        raise ValueError(f"{engine.label} has too few rows for a profile; compare the rows themselves")
    return found


def ruler_of(
    seen: SampledRows, features: Any, left_out: Sequence[str] = (), *, only_numbers: bool = False
) -> Ruler:
    """Bins and levels from rows of all groups."""
    frames = [seen.frame(name).drop(columns=list(left_out), errors="ignore") for name in seen.rows]
    return make_ruler(pd.concat(frames, ignore_index=True), features, only_numbers=only_numbers)


def _counted(engine: TableEngine, ruler: Ruler, dealing: Dealing) -> Profile:
    wanted = list(dict.fromkeys([*ruler.names, *dealing.extra_columns]))
    missing = [name for name in wanted if name not in engine.columns]
    if missing:
        raise ValueError(f"{engine.label} has no column {missing[0]!r}, which the other profile has")
    found: Counted = engine.run(CountRows(ruler, dealing), wanted)
    if not any(group.rows.sum() for group in found.groups.values()):
        raise ValueError(f"{engine.label} has no rows")
    about = {
        "seed": dealing.seed,
        "left out": dealing.share,
        "kept": dict(dealing.kept),
        "blocks": dealing.blocks,
        "source": engine.label,
    }
    groups = {name: found.groups[name] for name in in_order_of_names(list(found.groups))}
    return Profile(
        ruler, groups, found.sample, found.sample_rows, dealing.group is not None, about, found.blocks
    )
