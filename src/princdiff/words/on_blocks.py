"""How blocks such as donors, pairs or strata were permuted in a test, in words."""

from __future__ import annotations

import numpy as np

from princdiff.data.problem import Problem
from princdiff.tables.frames import plural


def how_blocks_were_relabelled(problem: Problem, column: str = "") -> str:
    """A sentence on the blocks of a test; empty without blocks.

    Parameters
    ----------
    problem : Problem
        What was compared.
    column : str, default=""
        The column of the blocks, where they have one.

    Returns
    -------
    str

    Examples
    --------
    >>> from princdiff.data.problem import Design
    >>> design = Design(blocks=["p", "p", "q", "q", "r", "r"])
    >>> donors = Problem.from_arrays(np.arange(6.0)[:, None], list("xxyyyy"), design=design)
    >>> how_blocks_were_relabelled(donors, "donor")
    "Whole blocks ('donor') were permuted, not single rows: 1 in 'x' and 2 in 'y'."
    """
    if problem.blocks is None:
        return ""
    named = f" ({column!r})" if column else ""
    rows = np.zeros((int(problem.blocks.max()) + 1, problem.n_groups), dtype=np.intp)
    np.add.at(rows, (problem.blocks, problem.codes), 1)
    if problem.permute == "whole":
        counts = [
            f"{count} in {str(name)!r}"
            for name, count in zip(problem.classes, np.count_nonzero(rows, axis=0), strict=True)
        ]
        listed = f"{', '.join(counts[:-1])} and {counts[-1]}"
        return f"Whole blocks{named} were permuted, not single rows: {listed}."
    if problem.permute == "mixed":
        crossing = int((np.count_nonzero(rows, axis=1) > 1).sum())
        return (
            f"Rows were permuted within the {plural(crossing, 'block')}{named} that have rows of several "
            f"groups, and the other {plural(len(rows) - crossing, 'block')} as wholes."
        )
    if (rows == 1).all():
        noun = "pair" if problem.n_groups == 2 else "set"
        return f"Rows were permuted within {plural(len(rows), noun)}{named}, one row of each group in each."
    return f"Rows were permuted within their blocks{named} only: {plural(len(rows), 'block')}."
