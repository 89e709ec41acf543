"""Whether sources are compared by a profile: given ones, large files, and what only an engine can read."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import pandas as pd

from princdiff.data.opening import parquet_files
from princdiff.data.run import Run
from princdiff.extras import extra
from princdiff.options import option
from princdiff.profiles.counting import Dealing
from princdiff.profiles.engines import open_source
from princdiff.profiles.profile_file import is_profile, load_profile
from princdiff.profiles.profiling import (
    DEFAULT_SAMPLE,
    CrossingBlocks,
    Profile,
    profile,
    refuse_crossing_blocks,
    refuse_other_bins,
    together,
)

# Rows of parquet files from which sums are compared: 10^6 x 20 took 113 s of processor by rows, 10 s by sums.
_MANY_ROWS = 1_000_000
# Options that are settled when a profile is made; what others must be (or None) where one is made unasked.
_SETTLED = ("groups", "features", "exclude", "blocks", "covariates", "sample_weight")
_PLAIN = {
    "covariates": (),
    "sample_weight": (),
    "missing": ("error", "impute"),
    "missing_groups": ("error",),
    "dates": ("skip",),
    "strict": (False,),
    "min_rows": (),
    "show_rows": (0,),
    "checkpoint": (),
    "scale": ("pooled",),
    "permute": ("auto", "whole"),
}
# Modules of libraries whose tables nothing else here reads.
_ENGINES = ("pyspark", "ray", "duckdb", "ibis")


def profile_of_sources(X: Any, Y: Any, groups: Any, reading: Mapping[str, Any], run: Run) -> Profile | None:
    """One profile of all groups, where sources are profiles or are better compared as such.

    Parameters
    ----------
    X, Y : tables or profiles
        As `compare` takes them.
    groups : str or array, optional
        Column that holds the groups, or labels.
    reading : dict
        Other options that say how rows are read.
    run : Run
        Seed and progress.

    Returns
    -------
    Profile or None
    """
    if is_profiled(X) or is_profiled(Y):
        given = {**reading, "groups": groups}
        for name in _SETTLED:
            if given.get(name) is not None:
                raise ValueError(f"{option(name)} is settled when a profile is made, by princdiff.profile")
        return profiles_of(X, Y, run)
    if not all(_is_plain(reading.get(name), plain) for name, plain in _PLAIN.items()):
        return None
    if not isinstance(reading.get("blocks"), str | None) or not worth_profiles(X, Y, groups):
        return None
    about_columns = {name: reading.get(name) for name in ("features", "exclude", "blocks")}
    try:
        found = profiles_of_tables(X, Y, groups, about_columns, run)
    except CrossingBlocks:
        if any(map(_only_engines_read, (X, Y))):
            raise
        return None
    if reading.get("missing", "error") == "error":
        refuse_gaps(found)
    return found


def _is_plain(value: Any, plain: tuple[Any, ...]) -> bool:
    return value is None or (isinstance(value, str | int) and value in plain)


def worth_profiles(X: Any, Y: Any, groups: Any) -> bool:
    """Whether tables are compared by their sums: not where labels of rows come apart from them."""
    if not isinstance(groups, str | None) or (Y is None) == (groups is None):
        return False
    given = [source for source in (X, Y) if source is not None]
    if any(_only_engines_read(source) for source in given):
        return True
    counts = [_rows_in_parquet(source) for source in given]
    return None not in counts and sum(count or 0 for count in counts) >= _MANY_ROWS


def _only_engines_read(source: Any) -> bool:
    if isinstance(source, str):
        return "://" in source and not source.lower().startswith("http")
    if isinstance(source, tuple):
        return len(source) == 2 and isinstance(source[1], str) and hasattr(source[0], "cursor")
    library = type(source).__module__.split(".")[0].lstrip("_")
    if library == "pyarrow":
        return hasattr(source, "get_fragments") or hasattr(source, "read_next_batch")
    return library in _ENGINES


def _rows_in_parquet(source: Any) -> int | None:
    """Rows that the footers of parquet files tell; None for anything else, or a file that is broken."""
    if isinstance(source, pd.DataFrame) or not isinstance(source, (str, os.PathLike, list, tuple)):
        return None
    try:
        files = parquet_files(source)
        if files is None:
            return None
        reader = extra("pyarrow.parquet", "parquet", "a profile").ParquetFile
        return sum(int(reader(file).metadata.num_rows) for file in files)
    except (ImportError, OSError, ValueError, TypeError):
        # Who reads the rows says what is wrong.
        return None


def is_profiled(source: Any) -> bool:
    """Whether a source is a profile, or the file of one."""
    return isinstance(source, Profile) or is_profile(source)


def profiles_of(X: Any, Y: Any, run: Run) -> Profile:
    """One profile of all groups; a table beside a profile is profiled like it."""
    given = {"X": X, "Y": Y}
    names = [Path(one).stem if isinstance(one, (str, Path)) else name for name, one in given.items()]
    names = names if names[0] != names[1] else list(given)
    read = {name: load_profile(one) if is_profile(one) else one for name, one in given.items()}
    like = next(one for one in read.values() if isinstance(one, Profile))
    made = [
        one
        if one is None or isinstance(one, Profile)
        else profile(
            one,
            like=like,
            n_chunks=max(group.n_chunks for group in like.groups.values()),
            sample_rows=like.sample_rows,
            random_state=run.seed,
            blocks=like.about.get("blocks"),
            progress=run.progress,
        )
        for one in read.values()
    ]
    first, second = made if made[0] is not None else made[::-1]
    assert first is not None
    return joined(first, second, names)


def joined(first: Profile, second: Profile | None, names: Sequence[str] = ("X", "Y")) -> Profile:
    """The profile that holds the groups to compare.

    Parameters
    ----------
    first, second : Profile
        One with groups, or two of one group each.
    names : two str
        What the groups of two profiles are called.

    Returns
    -------
    Profile
    """
    if second is None:
        if len(first.groups) < 2:
            raise ValueError(
                "this profile has one group: compare it with another profile, or make it with groups="
            )
        return first
    refuse_other_bins(first, second)
    both = [first, second]
    for part in both:
        if len(part.groups) != 1:
            raise ValueError(
                f"a profile with the groups {', '.join(part.groups)} is compared alone, not with another"
            )
    one, other = (part.renamed(name) for part, name in zip(both, names, strict=True))
    grouped = replace(one, grouped=True, groups=dict(one.groups))
    return grouped + replace(other, grouped=True)


def profiles_of_tables(
    X: Any, Y: Any, groups: str | None, about_columns: Mapping[str, Any], run: Run
) -> Profile:
    """One profile of all groups of the tables.

    Parameters
    ----------
    X, Y : tables
    groups : str, optional
        Column with the groups, where there is one table.
    about_columns : dict
        ``features``, ``exclude`` and the column of ``blocks``.
    run : Run
        Seed and progress.

    Returns
    -------
    Profile
    """
    if Y is None:
        return profile(X, groups, random_state=run.seed, progress=run.progress, **about_columns)
    names = [Path(one).stem if isinstance(one, (str, Path)) else place for one, place in ((X, "X"), (Y, "Y"))]
    names = names if names[0] != names[1] else ["X", "Y"]
    engines = {name: open_source(one, progress=run.progress) for name, one in zip(names, (X, Y), strict=True)}
    dealing = Dealing(run.seed, sample_rows=DEFAULT_SAMPLE, blocks=about_columns["blocks"])
    parts = together(engines, dealing, about_columns["features"], about_columns["exclude"])
    found = reduce(add, [replace(part, grouped=True) for part in parts])
    refuse_crossing_blocks(found)
    return found


def refuse_gaps(found: Profile) -> None:
    """An error where values are missing: nobody said what to do with them."""
    for number, column in enumerate(found.ruler.columns):
        count = sum(int(group.counts[number][:, -1].sum()) for group in found.groups.values())
        if count:
            raise ValueError(
                f"column {column.name!r} has {count} missing values: count them as such with "
                f"{option('missing', 'impute')}, or leave the column out: {option('exclude', [column.name])}"
            )
