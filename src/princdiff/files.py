"""Files are written beside their place and then renamed: an interrupted run leaves the old one intact.

A symbolic link stays a link: the file it points to is replaced. What cannot be replaced, such as a pipe or
``/dev/stdout``, is written to once the content is complete.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_LONGEST_ENDING = 16


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Give a temporary file to write to, which takes the place of ``path`` if all goes well.

    Parameters
    ----------
    path : str or Path
        The file to write; its folder must exist. Links are followed, pipes and devices written to.

    Yields
    ------
    Path
        Where to write meanwhile.

    Raises
    ------
    OSError
        If the file cannot be written; the error names ``path``, not the temporary file.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "a.txt") as beside:
    ...         _ = beside.write_text("done")
    ...     (Path(folder) / "a.txt").read_text()
    'done'
    """
    check_writable(path)
    target = _real(path)
    replaceable = not _is_stream(target)
    # Not named after the file: its name may be as long as a name can be.
    ending = target.suffix if len(target.suffix) <= _LONGEST_ENDING else ""
    folder = target.parent if replaceable else None
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=".princdiff-", suffix=ending)
        os.close(handle)
        yield Path(temporary)
        if replaceable:
            os.chmod(temporary, _usual_mode(target))
            os.replace(temporary, target)
            temporary = None
        else:
            with open(temporary, "rb") as source, open(target, "wb") as stream:
                shutil.copyfileobj(source, stream)
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, os.strerror(error.errno), str(path)) from error
    finally:
        if temporary is not None:
            os.unlink(temporary)


def check_writable(path: str | Path) -> None:
    """Refuse a path that could not be written, before the work whose outcome it is to hold.

    Parameters
    ----------
    path : str or Path
        The file that will be written.

    Raises
    ------
    OSError
        If the folder does not exist or nothing may be written there, if the path is a folder, or if the name
        is too long.

    Examples
    --------
    >>> check_writable(tempfile.gettempdir())
    Traceback (most recent call last):
    ...
    IsADirectoryError: ... is a folder; name a file in it
    """
    target = _real(path)
    try:
        os.stat(target)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            name = target.name[:40]
            raise OSError(f"the file name {name}... is too long; choose a shorter one") from error
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file in it")
    if _is_stream(target):
        if not os.access(target, os.W_OK):
            raise PermissionError(f"{path} may not be written to")
        return
    # As the user wrote it, unless a link leads elsewhere.
    folder = target.parent if os.path.islink(path) else Path(path).parent
    if not folder.is_dir():
        raise FileNotFoundError(f"the folder {folder} does not exist; create it first")
    # A new file takes the place of the old one, so it is the folder that counts.
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"no file can be written in the folder {folder}")


def write_text(path: str | Path, text: str) -> None:
    """Write a text file at once or not at all."""
    given: Any = path
    if not isinstance(given, (str, os.PathLike)) or given == "":
        raise ValueError(f"path must be the path of a file, got {path!r}")
    with replacing(path) as beside:
        beside.write_text(text, encoding="utf-8")


def _real(path: str | Path) -> Path:
    """Where a chain of links ends; ``/dev/stdout`` and the like have no other name to go by."""
    path = Path(path)
    return path if _is_stream(path) else Path(os.path.realpath(path))


def _is_stream(path: Path) -> bool:
    """Whether the path is a pipe, a device or a socket: something that is written to, not replaced."""
    try:
        mode = path.stat().st_mode
        return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
    except OSError:
        return False


def _usual_mode(path: Path) -> int:
    """Permissions of the file that is replaced, or those that a new file gets."""
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
