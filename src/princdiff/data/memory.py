"""How much memory rows out of core may take, and what each part gets of it.

The budget is for the whole process: what the interpreter and its libraries hold, a block that is read while
another is worked on, the projections of a batch with what sorting them needs, and a sample of the rows.
"""

from __future__ import annotations

import re
from typing import Any

DEFAULT_MEMORY = "2GB"
_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_BINARY = {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
# Bytes that one row of one column of a batch needs at the peak: projection, key, order, ranked values,
# cells and slopes in double precision, measured as 60 to 90.
BYTES_PER_PROJECTION = 96


def parse_memory(memory: Any) -> int:
    """A budget as bytes.

    Examples
    --------
    >>> parse_memory("2GB"), parse_memory("512 MiB"), parse_memory(1e6)
    (2000000000, 536870912, 1000000)
    """
    number = isinstance(memory, (int, float)) and not isinstance(memory, bool)
    if number and 1 <= memory < 2.0**62:
        return int(memory)
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([A-Za-z]*)\s*", memory) if isinstance(memory, str) else None
    unit = None if found is None else {**_UNITS, **_BINARY}.get(found[2].upper())
    if found is None or unit is None or not 1 <= float(found[1]) * unit < 2.0**62:
        raise ValueError(f"memory must be a number of bytes or a text such as '2GB', got {memory!r}")
    return int(float(found[1]) * unit)


def format_bytes(n_bytes: float) -> str:
    """Bytes for people.

    Examples
    --------
    >>> format_bytes(1_234_000_000)
    '1.2 GB'
    """
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if n_bytes >= unit:
            return f"{n_bytes / unit:.1f} {name}"
    return f"{n_bytes:.0f} bytes"
