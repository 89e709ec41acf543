"""Files without a name, for what does not fit into memory: they go with the process, however it ends.

Reading copies into arrays of the process. A memory map would do without the copy, but what was mapped counts
as memory of the process until the system wants it back, and no budget could be kept.
"""

from __future__ import annotations

import os
import tempfile
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray


class ScratchFile:
    """A temporary file that arrays are appended to and read from, in parts, by any thread.

    Examples
    --------
    >>> file = ScratchFile()
    >>> place = file.append(np.arange(5, dtype=np.int16))
    >>> file.read(place + 2, np.empty(3, dtype=np.int16))
    array([1, 2, 3], dtype=int16)
    """

    def __init__(self) -> None:
        # On POSIX systems the file has no name from the beginning; it is closed with the last reference.
        self._file = tempfile.TemporaryFile(prefix="princdiff-", buffering=0)  # noqa: SIM115
        self._lock = threading.Lock()
        self._size = 0

    def append(self, values: NDArray) -> int:
        """Write an array behind what is there; return its place, in bytes."""
        place = self.reserve(values.nbytes)
        self.write(place, values)
        return place

    def reserve(self, n_bytes: int) -> int:
        """Set room aside; return its place, in bytes."""
        with self._lock:
            place = self._size
            self._size += n_bytes
        return place

    def write(self, place: int, values: NDArray) -> None:
        """Write an array at a place."""
        self._transfer("write", "pwritev", place, np.ascontiguousarray(values))

    def read(self, place: int, out: NDArray) -> NDArray:
        """Fill a contiguous array from a place on."""
        self._transfer("readinto", "preadv", place, out)
        return out

    def _transfer(self, method: str, positioned: str, place: int, array: NDArray) -> None:
        plain: Any = array.reshape(-1).view(np.uint8)
        view = memoryview(plain)
        # Some systems move less than they were asked to, and at most two gigabytes.
        while len(view):
            moved = self._moved(method, positioned, place, view)
            if moved <= 0:
                raise OSError("a temporary file ends before what was written to it; was the disk full?")
            view, place = view[moved:], place + moved

    def _moved(self, method: str, positioned: str, place: int, view: memoryview) -> int:
        transfer: Any = getattr(os, positioned, None)
        if transfer is not None:
            return int(transfer(self._file.fileno(), [view], place))
        with self._lock:
            self._file.seek(place)
            return int(getattr(self._file, method)(view) or 0)
