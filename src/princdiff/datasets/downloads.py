"""Where the files of the data sets are: a local folder, or fetched once and kept."""

from __future__ import annotations

import os
import shutil
import urllib.request
import zipfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from princdiff.files import replacing

PathLike = str | os.PathLike[str]

DATA_VARIABLE = "PRINCDIFF_DATA"


def find_local(path: PathLike | None, filename: str, *, download: bool) -> Path | None:
    """Where the local file is; None if it is to be downloaded."""
    if path is not None:
        return _existing_file(Path(path).expanduser(), filename)
    directory = os.environ.get(DATA_VARIABLE)
    if directory:
        try:
            return _existing_file(Path(directory).expanduser(), filename)
        except FileNotFoundError:
            if not download:
                raise
    if download:
        return None
    raise FileNotFoundError(
        f"no local {filename}: give path= (the file or its directory), set the environment "
        f"variable {DATA_VARIABLE} to its directory, or let download=True fetch the data"
    )


def _existing_file(place: Path, filename: str) -> Path:
    file = place / filename if place.is_dir() else place
    if not file.is_file():
        raise FileNotFoundError(f"no file {file}: expected {filename} or the directory that holds it")
    return file


def read_npz(path: Path, required: Iterable[str], optional: Iterable[str] = ()) -> dict[str, np.ndarray]:
    """Arrays of a file, with an error that names what is missing."""
    with path.open("rb") as stream:
        try:
            archive = np.load(stream, allow_pickle=False)
        except (ValueError, EOFError, zipfile.BadZipFile) as error:
            raise ValueError(f"{path} is not a readable npz file: {error}") from error
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise ValueError(f"{path} is not an npz file with named arrays")
        missing = [name for name in required if name not in archive.files]
        if missing:
            raise ValueError(
                f"{path} lacks the array {', '.join(missing)}; "
                f"it holds {', '.join(archive.files) or 'nothing'}"
            )
        wanted = [*required, *(name for name in optional if name in archive.files)]
        return {name: archive[name] for name in wanted}


def save_npz(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Write arrays; a file under its final name is always complete."""
    with replacing(path) as partial:
        np.savez_compressed(partial, **arrays)  # type: ignore[arg-type]


def download_file(url: str, directory: Path, *, timeout: float = 60.0) -> Path:
    """Fetch `url` into `directory`, unless it is there already."""
    target = directory / url.rsplit("/", 1)[-1]
    if target.exists():
        return target
    with urllib.request.urlopen(url, timeout=timeout) as response:
        announced = response.headers.get("Content-Length")
        with replacing(target) as partial:
            with partial.open("wb") as stream:
                shutil.copyfileobj(response, stream)
            # A connection that breaks off reads as an end of file.
            if announced is not None and partial.stat().st_size != int(announced):
                raise OSError(f"{url}: the download broke off, try again")
    return target
