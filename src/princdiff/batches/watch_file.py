"""The file of a watch: whole at any time, and written by one run at a time."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from princdiff.batches.row_features import Summary
from princdiff.batches.watching import Look, Seen, Watch
from princdiff.profiles.ruler import CountedColumn, Ruler
from princdiff.resume import read_finished, write_finished
from princdiff.tables import Coding

_KIND = {"kind of file": "princdiff watch", "format": "1"}


def save_watch(watch: Watch, path: str | Path) -> None:
    """Write a watch."""
    seen = [
        {
            "name": one.name,
            "digest": one.digest,
            "rows": one.summary.rows,
            "numbers": _plain(one.summary.numbers),
            "looks": [asdict(look) for look in one.looks],
            "adjusted": None if math.isnan(one.adjusted) else one.adjusted,
        }
        for one in watch.seen
    ]
    more = {
        "reference": watch.reference,
        "digest": watch.digest,
        "alpha": watch.alpha,
        "error": watch.error,
        "seed": watch.seed,
        "unit_rows": watch.unit_rows,
        "rows": watch.summary.rows,
        "numbers": _plain(watch.summary.numbers),
        "ruler": asdict(watch.ruler),
        "notes": watch.notes,
        "seen": seen,
    }
    width = watch.units.shape[1]
    arrays = {
        "units": watch.units,
        "means": np.stack([watch.summary.means, *(one.summary.means for one in watch.seen)]),
        "recent": np.concatenate([np.empty((0, width)), *watch.recent]),
        "recent_sizes": np.array([len(part) for part in watch.recent], dtype=np.int64),
    }
    write_finished(Path(path), _KIND, arrays, more)


def load_watch(path: str | Path) -> Watch:
    """Read a watch; a damaged file, or one of another kind, is refused."""
    if not Path(path).exists():
        raise FileNotFoundError(f"no such file: {path}")
    arrays, more = read_finished(Path(path), _KIND, what="watch")
    means = arrays["means"]
    seen = [
        Seen(
            one["name"],
            one["digest"],
            Summary(one["rows"], means[place], _numbers(one["numbers"])),
            [Look(**look) for look in one["looks"]],
            math.nan if one["adjusted"] is None else one["adjusted"],
        )
        for place, one in enumerate(more["seen"], start=1)
    ]
    ends = np.cumsum([0, *arrays["recent_sizes"]]).tolist()
    return Watch(
        more["reference"],
        more["digest"],
        more["alpha"],
        more["error"],
        more["seed"],
        _ruler(more["ruler"]),
        more["unit_rows"],
        Summary(more["rows"], means[0], _numbers(more["numbers"])),
        arrays["units"],
        [arrays["recent"][start:end] for start, end in pairwise(ends)],
        seen,
        more["notes"],
    )


def _plain(numbers: dict[str, tuple[float, float]]) -> dict[str, list[float | None]]:
    return {name: [None if math.isnan(one) else one for one in pair] for name, pair in numbers.items()}


def _numbers(plain: dict[str, list[float | None]]) -> dict[str, tuple[float, float]]:
    return {
        name: (math.nan if mean is None else mean, math.nan if spread is None else spread)
        for name, (mean, spread) in plain.items()
    }


def _ruler(content: dict[str, Any]) -> Ruler:
    columns = tuple(
        CountedColumn(
            Coding(**column["coding"]),
            tuple(column["bounds"]),
            column["centre"],
            column["scale"],
            tuple(column["values"]),
            tuple(column["scores"]),
        )
        for column in content["columns"]
    )
    return Ruler(columns, content["left_out"], tuple(content["notes"]))


@contextmanager
def only_run(path: str | Path) -> Iterator[None]:
    """Refuse a second run on the same watch; the lock ends with the run, however that ends."""
    path = Path(path)
    lock = path.with_name(f".{path.name}.lock")
    with open(lock, "a+b") as file:
        if not _locked(file.fileno()):
            raise ValueError(f"another run is at work on {path}: wait until it has ended")
        yield


def _locked(handle: int) -> bool:
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
