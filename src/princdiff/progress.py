"""Progress, wherever it can be seen: a bar on a terminal or in a notebook, else lines of the log."""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Iterable
from typing import Any

from tqdm import tqdm

LOG = logging.getLogger("princdiff")
_SECONDS_BETWEEN_LINES = 10.0


def progress_bar(
    description: str,
    items: Iterable | None = None,
    total: int | None = None,
    *,
    shown: bool,
    **options: Any,
) -> tqdm:
    """A progress bar for people who look on.

    Parameters
    ----------
    description : str
        What is being done.
    items : iterable, optional
        What is gone through; without it the caller updates the bar.
    total : int, optional
        How many there are.
    shown : bool
        Whether it was asked for. On a terminal it is a line, in a notebook a widget, and elsewhere the log
        ``princdiff`` gets a line (level INFO) at the beginning and every ten seconds.
    **options
        Passed to tqdm.

    Returns
    -------
    tqdm

    Examples
    --------
    >>> [number for number in progress_bar("counting", range(3), shown=False)]
    [0, 1, 2]
    """
    options = {"desc": description, "total": total, "leave": False, **options}
    if not shown:
        return tqdm(items, disable=True, **options)
    if _in_notebook():
        # Imported here: without ipywidgets it warns, which concerns nobody outside notebooks.
        from tqdm.auto import tqdm as in_notebook

        return in_notebook(items, **options)
    if sys.stderr is not None and sys.stderr.isatty():
        return tqdm(items, **options)
    return _LogLines(items, mininterval=_SECONDS_BETWEEN_LINES, file=io.StringIO(), **options)


def _in_notebook() -> bool:
    """Whether a Jupyter kernel runs this; its output is no terminal, and can show bars nevertheless."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and "IPKernelApp" in shell.config


class _LogLines(tqdm):
    """Progress as lines of the log."""

    def display(self, msg: str | None = None, pos: int | None = None) -> bool:
        """Where a bar would be drawn: a line; nothing where it would be wiped out."""
        if msg is None:
            done = f": {self.n} of {self.total}" if self.total else ""
            LOG.info("%s%s", self.desc.removesuffix(": "), done)
        return True
