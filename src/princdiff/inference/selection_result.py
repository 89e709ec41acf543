"""What a selection of features found, and what is promised about it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from princdiff.data.shared_docs import with_shared_docs
from princdiff.findings import Why
from princdiff.printable import short_repr


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
        relabellings at random), ``pvalue_adj`` (for any reason, adjusted for all features and pairs looked
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
        Relabellings behind the p-values, the observed one included.
    why : list of Why
        For each feature why it is named: alone, or together with which others.
    statistics : DataFrame with one row per feature, or None
        What was looked at in each number (``mean``, ``spread``, ``frequent value``, ``ranks``, ``smooth``,
        and ``all values`` and ``one value`` where they are few): -log of an approximate p-value, not
        adjusted. Zeros for flags.
    complement_pvalue : float or None
        For "minimal": permutation p-value of the features not selected. Descriptive, since the same rows were
        used to choose.

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
    complement_pvalue: float | None = None

    __repr__ = short_repr
