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
from princdiff.tables.large_tables import columns_of, refuse_other_columns

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
    name = _format(paths)
    form: Any = name
    if name == "csv":
        csv = extra("pyarrow.csv", "parquet", "a profile")
        # An empty field of text, or NA, is a gap as in any other table.
        form = ds.CsvFileFormat(convert_options=csv.ConvertOptions(strings_can_be_null=True))
    try:
        files, inside = _remote(paths) if _ADDRESS.match(paths[0]) else (None, paths)
        given, parted = (inside[0], "hive") if len(inside) == 1 else (inside, None)
        found = Dataset(ds.dataset(given, filesystem=files, format=form, partitioning=parted), label)
        found.refuse_other_columns()
        return found
    except (OSError, arrow().ArrowException) as error:
        raise ValueError(f"{label} cannot be read as {name}: {_first_line(error)}") from error


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


def _remote(paths: list[str]) -> tuple[Any, list[str]]:
    fs = extra("pyarrow.fs", "parquet", f"reading {paths[0]}")
    try:
        files = fs.FileSystem.from_uri(paths[0])[0]
        return files, [fs.FileSystem.from_uri(path)[1] for path in paths]
    except arrow().ArrowInvalid:
        fsspec = extra("fsspec", "dask", f"reading {paths[0]}")
        found = fsspec.core.url_to_fs(paths[0])[0]
        return found, [found._strip_protocol(path) for path in paths]


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
        self._state = self._look()
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
        found = added(self._found(work, columns, most_rows))
        self._refuse_changed()
        return found

    def _found(self, work: Work, columns: list[str], most_rows: int | None) -> Iterator[Any]:
        """What is found in every part, or in some from all over the table: the first may be the oldest."""
        left = most_rows
        for place in range(len(self._parts)) if left is None else spread(len(self._parts)):
            part, name = self._parts[place]
            yield work(name, self._batches(part, columns, left))
            if left is not None:
                left -= _rows_of(part) or left
                if left <= 0:
                    return

    def refuse_other_columns(self) -> None:
        """An error where files have other columns than the first."""
        first = None
        for fragment in self._dataset.get_fragments():
            path, own = Path(fragment.path), columns_of(fragment.physical_schema)
            first = first or (path, own)
            refuse_other_columns(path, own, *first)

    def _look(self) -> list[tuple[str, int | None, int | None]]:
        """Sizes and times of the files; another answer later means that they were changed."""
        files = getattr(self._dataset, "files", [])
        found = self._dataset.filesystem.get_file_info(files) if files else []
        return [(file.path, file.size, file.mtime_ns) for file in found]

    def _refuse_changed(self) -> None:
        for file, before in zip(self._look(), self._state, strict=True):
            if file != before:
                raise ValueError(
                    f"{_short(file[0])} was changed or removed while it was being read; start again"
                )

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
            self._refuse_changed()
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
