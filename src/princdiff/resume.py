"""Files from which a run that was cut off goes on: arrays, and a head that tells what they depend on.

A file of another run, or one that is damaged, is refused: its numbers are never used.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

from princdiff.files import replacing

_FORMAT = 2


def fingerprint_of(parts: dict[str, Any]) -> dict[str, str]:
    """What results depend on, each part as a short hash or as it is."""
    plain = (str, int, float, bool, type(None))
    return {name: str(part) if isinstance(part, plain) else joblib.hash(part) for name, part in parts.items()}


def write_finished(
    path: Path, depends_on: Mapping[str, str], arrays: Mapping[str, NDArray], more: Any = None
) -> None:
    """Keep what is finished; the file is written beside its place and renamed, so it is whole at any time.

    Parameters
    ----------
    path : Path
        The file.
    depends_on : dict of str to str
        What the arrays depend on, by name; see `fingerprint_of`.
    arrays : dict of str to array
        What is kept.
    more : plain data, optional
        What is no array, as JSON can hold it.
    """
    text = json.dumps({"format": _FORMAT, "depends_on": depends_on, "more": more}, sort_keys=True)
    checksum = np.array(_checksum(text, arrays))
    with replacing(path) as beside, open(beside, "wb") as file:
        np.savez(file, head=np.array(text), checksum=checksum, **arrays)  # type: ignore[arg-type]


def _advice(path: Path, error: Exception) -> str:
    """What to do about a file that cannot be read as a checkpoint: a table is never to be deleted."""
    with path.open("rb") as file:
        start = file.read(4)
    # Archives begin so; one of other arrays lacks ours.
    ours = start in (b"", b"PK\x03\x04") and not isinstance(error, KeyError)
    return "delete it to start anew" if ours else "it is another file and stays as it is: give another path"


def read_finished(
    path: Path, depends_on: Mapping[str, str], what: str = "checkpoint"
) -> tuple[dict[str, NDArray], Any]:
    """Arrays and plain data that `write_finished` kept; files of another run and damaged ones are refused."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files if name not in ("head", "checksum")}
            text, checksum = str(stored["head"]), str(stored["checksum"])
        head = json.loads(text)
        found, more = head["depends_on"], head["more"]
    except Exception as error:
        # An archive with a flipped bit fails in a dozen ways; all of them mean the same.
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise ValueError(
            f"{what} {str(path)!r} is cut off, damaged or no {what} ({reason}); {_advice(path, error)}"
        ) from error
    if checksum != _checksum(text, arrays):
        raise ValueError(f"{what} {str(path)!r} is damaged; delete it to start anew")
    known = {**dict.fromkeys(depends_on), **found}
    differing = [name for name, value in known.items() if value != depends_on.get(name)]
    if differing:
        raise ValueError(
            f"{what} {str(path)!r} belongs to another run, which differs in {', '.join(differing)}; "
            "give another path, or delete it to start anew"
        )
    return arrays, more


def _checksum(text: str, arrays: Mapping[str, NDArray]) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
