"""How messages call the options: as arguments, or as flags where the command line shows them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

# Arguments whose flag is called otherwise.
_FLAGS = {"weights": "sample-weight", "random_state": "seed"}
_flags_shown = False


def option(name: str, value: object = None) -> str:
    """An option in a message, with the value that is meant if there is one.

    Parameters
    ----------
    name : str
        The argument.
    value : object, optional
        Its value.

    Returns
    -------
    str

    Examples
    --------
    >>> option("missing", "impute"), option("exclude", ["a b"]), option("features")
    ("missing='impute'", "exclude=['a b']", 'features=')
    >>> with as_flags():
    ...     option("missing", "impute"), option("exclude", ["a b"]), option("min_rows", 5)
    ('--missing impute', "--exclude 'a b'", '--min-rows 5')
    """
    if not _flags_shown:
        return f"{name}={'' if value is None else repr(value)}"
    flag = "--" + _FLAGS.get(name, name).replace("_", "-")
    if value is None or value is True:
        return flag
    values = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    return f"{flag} {shlex.quote(','.join(map(str, values)))}"


@contextmanager
def as_flags() -> Iterator[None]:
    """Within this block messages are made for the command line."""
    global _flags_shown
    before, _flags_shown = _flags_shown, True
    try:
        yield
    finally:
        _flags_shown = before
