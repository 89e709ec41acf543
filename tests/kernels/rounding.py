"""What single precision can tell apart."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def clearly_apart(values: NDArray, spread: NDArray) -> NDArray[np.bool_]:
    """For each column (n_columns,): rows that are not equal differ by more than the rounding of the spread.

    Divergences of degree one have slopes that jump where rows tie; where rounding decides whether they do,
    single and double precision may both be right.
    """
    gaps = np.diff(np.sort(values.astype(np.float64), axis=1), axis=1)
    return ~((gaps > 0) & (gaps < 5e-7 * spread[:, None])).any(axis=1)
