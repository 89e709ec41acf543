"""Which parquet files are meant: one file, a pattern, a folder, or a list of them."""

from __future__ import annotations

from glob import glob, has_magic
from pathlib import Path
from typing import Any

_ENDINGS = (".parquet", ".pq")


def parquet_files(source: Any) -> list[Path] | None:
    """Files behind a path, a pattern such as ``big/*.parquet``, a folder, or a list; None if not parquet.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("b.parquet", "a.parquet"):
    ...         _ = (Path(folder) / name).write_bytes(b"")
    ...     [path.name for path in parquet_files(f"{folder}/*.parquet") or []]
    ['a.parquet', 'b.parquet']
    """
    if isinstance(source, list | tuple):
        found = [parquet_files(item) for item in source] if source else [None]
        if all(isinstance(item, str | Path) for item in source) and all(part is not None for part in found):
            return [path for part in found for path in part or []]
        return None
    if not isinstance(source, str | Path):
        return None
    path = Path(source).expanduser()
    if path.is_dir():
        inside = sorted(entry for ending in _ENDINGS for entry in path.glob(f"*{ending}"))
        return inside or None
    if path.exists():
        return [path] if path.suffix.lower() in _ENDINGS else None
    if has_magic(str(path)) and path.suffix.lower() in _ENDINGS:
        matching = sorted(Path(name) for name in glob(str(path)))
        if not matching:
            raise FileNotFoundError(f"no file matches {str(source)!r}")
        return matching
    return None
