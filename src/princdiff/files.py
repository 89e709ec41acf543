"""Files are written beside their place and then renamed: an interrupted run leaves the old one intact."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Give a temporary file to write to, which takes the place of ``path`` if all goes well.

    Parameters
    ----------
    path : str or Path
        The file to write; its folder must exist.

    Yields
    ------
    Path
        Where to write meanwhile.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "a.txt") as beside:
    ...         _ = beside.write_text("done")
    ...     (Path(folder) / "a.txt").read_text()
    'done'
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder {path.parent} does not exist; create it first")
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}.", suffix=path.suffix)
    os.close(handle)
    try:
        yield Path(name)
        os.chmod(name, _usual_mode(path))
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def write_text(path: str | Path, text: str) -> None:
    """Write a text file at once or not at all."""
    with replacing(path) as beside:
        beside.write_text(text, encoding="utf-8")


def _usual_mode(path: Path) -> int:
    """Permissions of the file that is replaced, or those that a new file gets."""
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
