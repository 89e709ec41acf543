"""Warnings collected to be told in our own words, and the one that tells nobody anything."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


def silence_flag_of_products() -> None:
    """Ignore, in our own modules, that NumPy calls a product of finite numbers invalid.

    On AVX-512, OpenBLAS (seen in 0.3.31) reads past the end of short single-precision rows and throws the
    surplus away: products of finite numbers are right, and are flagged by what lies in memory by chance.
    Rows are checked to be finite before we compute with them, so this flag tells nobody anything.
    """
    warnings.filterwarnings("ignore", "invalid value encountered in matmul", RuntimeWarning, r"princdiff\.")


@contextmanager
def caught_warnings() -> Iterator[list[warnings.WarningMessage]]:
    """Every warning of a block, each as often as it comes.

    Examples
    --------
    >>> with caught_warnings() as caught:
    ...     warnings.warn("few rows", stacklevel=1)
    >>> [str(one.message) for one in caught]
    ['few rows']
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        silence_flag_of_products()
        yield caught
