"""Whether sources are compared by a profile: given ones, large files, and what only an engine can read."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np

from princdiff.data.memory import parse_memory
from princdiff.data.run import Run
from princdiff.options import option
from princdiff.profiles.counting import Dealing
from princdiff.profiles.engines import every_engine, library, open_source
from princdiff.profiles.engines.row_blocks import RowBlocks
from princdiff.profiles.given_profiles import is_profiled, names_of, profiles_of
from princdiff.profiles.profiling import (
    FEWEST_UNITS,
    CrossingBlocks,
    Profile,
    refuse_crossing_blocks,
    rows_and_chunks,
    together,
)
from princdiff.tables.large_tables import about_rows, extent_of, row_blocks

# Rows of files from which sums are compared where they are; fewer are read, and summed up in memory.
_MANY_ROWS = 1_000_000
# Bytes of text from which its reader is one that reads many rows a second.
_LONG_TEXT = 100_000_000
# Options that are settled when a profile is made; what others must be (or None) where one is made unasked.
_SETTLED = ("groups", "features", "exclude", "blocks", "covariates", "sample_weight")
_PLAIN = {
    "covariates": (),
    "sample_weight": (),
    "missing": ("error", "impute"),
    "dates": ("skip",),
    "strict": (False,),
    "min_rows": (),
    "show_rows": (0,),
    "checkpoint": (),
    "scale": ("pooled",),
    "permute": ("auto", "whole"),
}
# Columns that labels of rows become.
_GROUP, _BLOCK = "the group of the row", "the block of the row"


def profile_of_sources(X: Any, Y: Any, given: Mapping[str, Any], run: Run) -> Profile | None:
    """One profile of all groups, where sources are profiles or are better compared as such.

    Parameters
    ----------
    X, Y : tables or profiles
        As `compare` takes them.
    given : dict
        The options of `compare`, settled.
    run : Run
        Seed and progress.

    Returns
    -------
    Profile or None
    """
    if is_profiled(X) or is_profiled(Y):
        for name in _SETTLED:
            if given.get(name) is not None:
                raise ValueError(f"{option(name)} is settled when a profile is made, by princdiff.profile")
        return profiles_of(X, Y, run)
    groups, memory = given.get("groups"), given.get("memory")
    if (Y is None) == (groups is None):
        return None
    if not all(_is_plain(given.get(name), plain) for name, plain in _PLAIN.items()):
        return None
    worth = _worth([source for source in (X, Y) if source is not None], memory and parse_memory(memory))
    if not worth:
        return None
    asked = {name: given.get(name) for name in ("features", "exclude", "blocks")}
    X, groups, asked["blocks"] = _with_labels(X, groups, asked["blocks"])
    if not isinstance(groups, str | None) or not isinstance(asked["blocks"], str | None):
        return None
    try:
        found = profiles_of_tables(X, Y, groups, asked, run)
    except ValueError as error:
        if worth == "text" or (worth == "many" and isinstance(error, CrossingBlocks)):
            return None
        raise
    if worth != "needed" and asked["blocks"] and found.fewest_units < FEWEST_UNITS:
        return None
    if given.get("missing", "error") == "error":
        refuse_gaps(found)
    return found


def _is_plain(value: Any, plain: tuple[Any, ...]) -> bool:
    return value is None or (isinstance(value, str | int) and value in plain)


def _worth(given: Sequence[Any], memory: int | None) -> str:
    """Why tables are compared by their sums.

    Returns
    -------
    {"needed", "many", "text", ""}
        Rows cannot be had; there are so many that sums show as much; a quick reader of text is worth a try;
        or they are not compared by sums.
    """
    if any(_only_engines_read(source) for source in given):
        return "needed"
    try:
        extents = [extent_of(source, memory) for source in given]
    except (ImportError, OSError, ValueError, TypeError):
        # Who reads the rows says what is wrong.
        return ""
    known = [extent for extent in extents if extent is not None]
    if any(not extent.fits for extent in known):
        return "needed"
    if len(known) == len(given) and sum(extent.n_rows for extent in known) >= _MANY_ROWS:
        return "many"
    return "text" if all(_is_long_text(source) for source in given) else ""


def _is_long_text(source: Any) -> bool:
    if not isinstance(source, str | os.PathLike):
        return False
    path = Path(source).expanduser()
    return path.suffix.lower() == ".csv" and path.is_file() and path.stat().st_size >= _LONG_TEXT


def _with_labels(X: Any, groups: Any, blocks: Any) -> tuple[Any, Any, Any]:
    """Rows of numbers with labels of theirs as columns; anything else as it is."""
    labels = {_GROUP: groups, _BLOCK: blocks}
    labels = {name: value for name, value in labels.items() if not isinstance(value, str | None)}
    rows = row_blocks(X) if labels else None
    if rows is None:
        return X, groups, blocks
    about = about_rows(X)
    for name, value in labels.items():
        if np.shape(value) != (rows.shape[0],):
            return X, groups, blocks
        about[name] = np.asarray(value)
    groups = _GROUP if _GROUP in labels else groups
    return RowBlocks(rows, about), groups, _BLOCK if _BLOCK in labels else blocks


def _only_engines_read(source: Any) -> bool:
    if isinstance(source, str):
        return "://" in source and not source.lower().startswith("http")
    if isinstance(source, tuple):
        return len(source) == 2 and isinstance(source[1], str) and hasattr(source[0], "cursor")
    if library(source) == "pyarrow":
        return hasattr(source, "get_fragments") or hasattr(source, "read_next_batch")
    return any(library(source) in getattr(engine, "LIBRARIES", ()) for engine in every_engine())


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
    names = [""] if Y is None else names_of(X, Y)
    engines = {
        name: open_source(one, progress=run.progress) for name, one in zip(names, (X, Y), strict=False)
    }
    sample_rows, n_chunks = rows_and_chunks(max(len(engine.columns) for engine in engines.values()))
    blocks = about_columns["blocks"]
    dealing = Dealing(
        run.seed,
        default_chunks=n_chunks,
        sample_rows=sample_rows,
        group=groups,
        blocks=blocks,
        every_row=blocks is not None,
    )
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
