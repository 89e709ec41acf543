"""What `compare` was asked for, and how long each of its steps took."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from princdiff.data.samples import Scale


@dataclass(frozen=True)
class Options:
    """How to compare; see `compare` for the words."""

    n_features: int | str = "auto"
    n_components: int | str = 1
    divergence: Any = "auto"
    scale: Scale = "pooled"
    n_permutations: int = 999
    permute: str = "auto"
    certify: bool | str = "auto"
    select: bool = True
    error: str = "fwer"
    show_rows: int = 0
    checkpoint: str | Path | None = None

    def to_dict(self) -> dict[str, Any]:
        """The options as plain data; which divergence was chosen is a separate parameter of the result."""
        names = ("n_features", "n_components", "scale", "n_permutations", "error")
        return {name: getattr(self, name) for name in names}


class Clock:
    """Seconds of each step."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def done(self, step: str) -> None:
        """Note how long a step took."""
        now = time.perf_counter()
        self.seconds[step] = round(now - self._last, 3)
        self._last = now
