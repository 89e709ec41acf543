"""Files: parquet, csv, feather, folders of them, patterns, object stores; read part by part by pyarrow."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from princdiff.data.opening import parquet_files
from princdiff.extras import extra
from princdiff.profiles.arrow_columns import arrow
from princdiff.profiles.engines import TableEngine, Work, added, library, spread

_FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
    ".csv": "csv",
}
_ADDRESS = re.compile(r"^[a-z][a-z0-9+]+://", re.IGNORECASE)
_ROWS = 262_144


def opened(source: Any) -> Dataset | None:
    """Files of one table, or a dataset of pyarrow."""
    if library(source) == "pyarrow" and hasattr(source, "get_fragments"):
        return Dataset(source, "dataset")
    paths = _paths(source)
    if paths is None:
        return None
    ds = extra("pyarrow.dataset", "parquet", "a profile")
    label = os.path.basename(str(paths[0]).rstrip("/"))
    label = label if len(paths) == 1 else f"{label} and {len(paths) - 1} more"
    kind: Any = _format(paths)
    if kind == "csv":
        csv = extra("pyarrow.csv", "parquet", "a profile")
        # An empty field of text, or NA, is a gap as in any other table.
        kind = ds.CsvFileFormat(convert_options=csv.ConvertOptions(strings_can_be_null=True))
    try:
        if _ADDRESS.match(paths[0]):
            files, inside = _remote(paths)
            dataset = ds.dataset(inside, filesystem=files, format=kind, partitioning="hive")
        elif len(paths) == 1:
            dataset = ds.dataset(paths[0], format=kind, partitioning="hive")
        else:
            dataset = ds.dataset(paths, format=kind)
        return Dataset(dataset, label)
    except (OSError, arrow().ArrowException) as error:
        raise ValueError(f"{label} cannot be read as {kind}: {_first_line(error)}") from error


def _paths(source: Any) -> list[str] | None:
    """Paths of a source that is one, a pattern or a list of them; None for anything else."""
    if isinstance(source, (str, os.PathLike)):
        path = os.path.expanduser(os.fspath(source))
        if os.path.isdir(path) and (files := parquet_files(path)):
            # Whatever else lies in the folder.
            return [str(file) for file in files]
        if _ADDRESS.match(path) or os.path.exists(path):
            return [path]
        found = sorted(glob.glob(path, recursive=True))
        if not found:
            raise FileNotFoundError(f"no such file: {path!r}")
        return found
    if (
        isinstance(source, (list, tuple))
        and source
        and all(isinstance(p, (str, os.PathLike)) for p in source)
    ):
        return [path for one in source for path in _paths(one) or ()]
    return None


def _format(paths: list[str]) -> str:
    for path in paths:
        inside = Path(path).rglob("*") if os.path.isdir(path) else [Path(path)]
        for one in inside:
            if one.suffix.lower() in _FORMATS:
                return _FORMATS[one.suffix.lower()]
    if _ADDRESS.match(paths[0]):
        return "parquet"
    known = ", ".join(_FORMATS)
    raise ValueError(f"{os.path.basename(paths[0])}: a profile is made of files that end in {known}")


def _remote(paths: list[str]) -> tuple[Any, Any]:
    fs = extra("pyarrow.fs", "parquet", f"reading {paths[0]}")
    try:
        files, first = fs.FileSystem.from_uri(paths[0])
        return files, first if len(paths) == 1 else [fs.FileSystem.from_uri(path)[1] for path in paths]
    except arrow().ArrowInvalid:
        fsspec = extra("fsspec", "dask", f"reading {paths[0]}")
        found = fsspec.core.url_to_fs(paths[0])[0]
        inside = [found._strip_protocol(path) for path in paths]
        return found, inside[0] if len(paths) == 1 else inside


class Dataset(TableEngine):
    """A dataset of pyarrow: its parts are the row groups of parquet files, and other files as they are.

    Parameters
    ----------
    dataset : pyarrow.dataset.Dataset
    label : str
    """

    def __init__(self, dataset: Any, label: str) -> None:
        self.label, self.columns = label, list(dataset.schema.names)
        self._dataset = dataset
        self._parts = [
            (part, f"{_short(fragment.path)} {number}")
            for fragment in dataset.get_fragments()
            for number, part in enumerate(_pieces(fragment))
        ]
        sizes = [_rows_of(part) for part, _ in self._parts]
        self.n_rows = None if None in sizes else sum(size or 0 for size in sizes)
        if not self._parts:
            raise ValueError(f"{label} holds no files")

    def run(self, work: Work, columns: list[str], most_rows: int | None = None) -> Any:
        """See `TableEngine.run`."""
        parts = self._parts
        if most_rows is None:
            return added(work(name, self._batches(part, columns)) for part, name in parts)
        # From all over the table: the first parts may be the oldest.
        total, seen = None, 0
        for place in spread(len(parts)):
            part, name = parts[place]
            found = work(name, self._batches(part, columns, most_rows - seen))
            total = found if total is None else total + found
            seen += _rows_of(part) or most_rows
            if seen >= most_rows:
                break
        return total

    def _batches(self, part: Any, columns: list[str], most: int | None = None) -> Iterator[Any]:
        seen = 0
        try:
            scanner = part.scanner(
                schema=self._dataset.schema,
                columns=columns,
                batch_size=_ROWS,
                batch_readahead=1,
                use_threads=False,
            )
            for batch in scanner.to_batches():
                yield batch
                seen += batch.num_rows
                if most is not None and seen >= most:
                    return
        except (OSError, arrow().ArrowException) as error:
            raise ValueError(f"{_short(part.path)} cannot be read: {_first_line(error)}") from error


def _pieces(fragment: Any) -> list[Any]:
    if not hasattr(fragment, "split_by_row_group"):
        return [fragment]
    try:
        return list(fragment.split_by_row_group()) or [fragment]
    except (OSError, arrow().ArrowException) as error:
        raise ValueError(
            f"{_short(fragment.path)} cannot be read as parquet: {_first_line(error)}"
        ) from error


def _rows_of(part: Any) -> int | None:
    groups = getattr(part, "row_groups", None)
    return None if groups is None else sum(group.num_rows for group in groups)


def _short(path: str) -> str:
    """A file's name, with its folder where that holds a value."""
    names = Path(path).parts
    return "/".join([*(name for name in names[:-1] if "=" in name), names[-1]])


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
