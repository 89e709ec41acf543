"""Warnings that point to the user's line or appear in our own words, and one that helps nobody."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator
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


# Between the user's line and ours there may be an estimator's base class, or threads.
_NOT_THE_USER = frozenset({"princdiff", "sklearn", "joblib", "threading", "concurrent"})


def warn_user(message: str | Warning) -> None:
    """Warn at the first line outside this package, however deep inside it this is called."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in _NOT_THE_USER:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, UserWarning, stacklevel=level)


def warn_again(caught: Iterable[warnings.WarningMessage]) -> None:
    """Warn of what was caught: the user at the user's line, others where it was."""
    for one in caught:
        if issubclass(one.category, UserWarning):
            warn_user(one.message)
        else:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
