"""When `compare` makes profiles of tables, and how: many rows in files, and what only an engine can read."""

from __future__ import annotations

import os
from collections.abc import Mapping
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
from princdiff.profiles.profiling import DEFAULT_SAMPLE, Profile, profile, together

# Rows of parquet files from which sums are compared: 10^6 x 20 took 113 s of processor by rows, 10 s by sums.
_MANY_ROWS = 1_000_000
# Modules of libraries whose tables nothing else here reads.
_ENGINES = ("pyspark", "ray", "duckdb", "ibis")


def worth_profiles(X: Any, Y: Any, groups: Any, about_rows: Mapping[str, Any]) -> bool:
    """Whether tables are compared by their sums.

    Parameters
    ----------
    X, Y : tables
        As `compare` takes them.
    groups : str or array, optional
        Column that holds the groups; labels for each row need the rows.
    about_rows : dict
        Blocks, covariates and weights; with any of them rows are compared.

    Returns
    -------
    bool
    """
    if any(value is not None for value in about_rows.values()) or not isinstance(groups, str | None):
        return False
    if (Y is None) == (groups is None):
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
        ``features`` and ``exclude``.
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
    dealing = Dealing(run.seed, sample_rows=DEFAULT_SAMPLE)
    parts = together(engines, dealing, about_columns["features"], about_columns["exclude"])
    return reduce(add, [replace(part, grouped=True) for part in parts])


def refuse_gaps(found: Profile) -> None:
    """An error where values are missing: nobody said what to do with them."""
    for number, column in enumerate(found.ruler.columns):
        count = sum(int(group.counts[number][:, -1].sum()) for group in found.groups.values())
        if count:
            raise ValueError(
                f"column {column.name!r} has {count} missing values: count them as such with "
                f"{option('missing', 'impute')}, or leave the column out: {option('exclude', [column.name])}"
            )
