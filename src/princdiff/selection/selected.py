"""What a selection of features found, and what is promised about it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from princdiff.data.shared_docs import with_shared_docs
from princdiff.findings import Reason, Why
from princdiff.printable import short_repr
from princdiff.selection.explanation import Explanation


def promise(alpha: float, error: str) -> str:
    """What is controlled when columns are named, in words.

    Parameters
    ----------
    alpha : float
        Level.
    error : {"fwer", "fdr"}
        The chance of any false name, or the expected share of false ones.

    Returns
    -------
    str

    Examples
    --------
    >>> promise(0.05, "fwer")
    'There is at most a 5 % chance that the columns named contain a false positive.'
    """
    if error == "fdr":
        return f"At most {100 * alpha:g} % of the columns named are expected to be false positives."
    return f"There is at most a {100 * alpha:g} % chance that the columns named contain a false positive."


@with_shared_docs
@dataclass(frozen=True, repr=False)
class SelectionResult:
    """Features that differ.

    Attributes
    ----------
    selected : bool array of shape (n_features,)
        Which features.
    table : DataFrame with one row per feature
        ``feature``, ``column`` (of the user's table), ``selected``, ``reason`` ("alone", "together with
        ...", "direction" or nothing), ``score`` (-log of an approximate p-value of its own distribution),
        ``pvalue`` (of its own distribution, not adjusted), ``pvalue_error`` (its standard error from drawing
        permutations at random), ``pvalue_adj`` (for any reason, adjusted for all features and pairs looked
        at).
    columns : DataFrame with one row per column of the user's table
        ``column``, ``selected``, ``score``, ``pvalue``, ``pvalue_adj`` and ``pvalue_extrapolated`` (below
        1 / (B + 1) by a gamma law: approximate), all of the column's own distribution.
    relations : DataFrame with one row per pair, the clearest first
        ``first``, ``second``, ``dependence <group>`` (correlation of normal scores) for each group,
        ``change`` (largest minus smallest), ``pvalue_adj``, ``selected``.
    control : str
        What is controlled, in words.
    n_labellings : int
        Permutations behind the p-values, the observed one included.
    why : list of Why
        For each feature why it is named: alone, or together with which others.
    statistics : DataFrame with one row per feature, or None
        What was looked at in each number (``mean``, ``spread``, ``frequent value``, ``ranks``, ``smooth``,
        and ``all values`` and ``one value`` where they are few): -log of an approximate p-value, not
        adjusted. Zeros for flags.
    explanation : Explanation
        The fewest columns that are in everything that changed; with ``goal="explanation"`` also the test of
        all others.

    Examples
    --------
    {example_groups}
    >>> result = princdiff.select_features(X, y, n_permutations=99, random_state=0)
    >>> result.table.loc[result.selected, ["feature", "reason"]]
      feature reason
    1      x1  alone
    """

    selected: NDArray[np.bool_]
    table: pd.DataFrame
    columns: pd.DataFrame
    relations: pd.DataFrame
    control: str
    n_labellings: int
    why: list[Why]
    statistics: pd.DataFrame | None = None
    explanation: Explanation = field(default_factory=Explanation)

    __repr__ = short_repr


def only_explaining(found: SelectionResult) -> SelectionResult:
    """The same with those features selected only whose column explains the difference, or could.

    What else takes part keeps its reason and its p-value.
    """
    column = found.table["column"].astype(str)
    explanation = found.explanation
    selected = found.selected & column.isin(explanation.named).to_numpy()
    # Of flags and counts another feature of the pair may have been named.
    unnamed = column.isin(set(explanation.columns) - set(column[selected])).to_numpy()
    together = found.explanation.partners
    names = zip(column, found.why, unnamed, strict=True)
    why = [Why(Reason.TOGETHER, tuple(together[name])) if new else old for name, old, new in names]
    selected = selected | unnamed
    table = found.table.assign(selected=selected, reason=list(map(str, why)))
    return replace(found, selected=selected, table=table, why=why)
