"""How a comparison was made, in words: blocks that were permuted, covariates, columns that are the groups."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from princdiff.data.problem import Problem
from princdiff.options import option
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


def blocks_of_groups(problem: Problem, column: str = "") -> list[str]:
    """How many blocks each group has, where whole blocks were permuted: they are what is counted, not rows.

    Examples
    --------
    >>> from princdiff.data.problem import Design
    >>> design = Design(blocks=["p", "p", "q", "q", "r", "r"])
    >>> donors = Problem.from_arrays(np.arange(6.0)[:, None], list("xxyyyy"), design=design)
    >>> blocks_of_groups(donors, "donor"), blocks_of_groups(donors, "patient_id")
    (['1 donor', '2 donors'], ['1 block', '2 blocks'])
    """
    if problem.blocks is None or problem.permute != "whole":
        return []
    noun = column if column.isalpha() and column.islower() and not column.endswith("s") else "block"
    groups = range(problem.n_groups)
    return [plural(len(np.unique(problem.blocks[problem.codes == group])), noun) for group in groups]


def how_groups_were_adjusted(problem: Problem, weights: NDArray[np.float64], balance: pd.DataFrame) -> str:
    """How groups were made alike in the covariates, in words."""
    worth = [
        f"{weights[own].sum() ** 2 / (weights[own] ** 2).sum():.0f} of {own.sum()} in {str(name)!r}"
        for name, own in zip(
            problem.classes, (problem.codes == group for group in range(problem.n_groups)), strict=True
        )
    ]
    before, after = (balance[when].abs() for when in ("before", "after"))
    largest = int(before.to_numpy().argmax())
    return (
        "Means, shares and distances are adjusted: rows count as far as the groups overlap in the "
        f"covariates, which makes them worth {', '.join(worth[:-1])} and {worth[-1]}. The largest "
        f"standardised difference is that of {balance['covariate'].iloc[largest]!r}, "
        f"{before.iloc[largest]:.2f}; with these weights none is above {after.max():.2f}."
    )


def what_determines_the_groups(name: str, several_rows: bool) -> str:
    """Advice on a column that determines the group of every row: grouping, units inside, or property.

    Examples
    --------
    >>> print(what_determines_the_groups("arm", several_rows=False))
    column 'arm' determines the group of every row; if it is the grouping itself, leave it out with ...
    """
    found = f"column {name!r} determines the group of every row; "
    leave_out = f"if it is the grouping itself, leave it out with {option('exclude', [name])}"
    if not several_rows:
        return found + leave_out
    return (
        f"{found}if rows that share a value of it belong together, as those of one donor do, use "
        f"{option('blocks', name)}; {leave_out}; if it is a property of the rows, nothing is to be done"
    )


def what_a_quick_look_leaves_out(n_permutations: int) -> str:
    """Of a comparison with ``quick=True``."""
    return (
        f"a quick look: {n_permutations} permutations, and columns one by one; relations of columns, "
        "whether the other columns differ, stability and contrasts were not looked at"
    )
