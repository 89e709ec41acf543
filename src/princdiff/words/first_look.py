"""What is on the screen first, while a comparison goes on.

Columns stand out in it, and do not yet differ: that is said by the test of all that may differ.
"""

from __future__ import annotations

import pandas as pd

from princdiff.words.wording import LEVEL

# Columns that are named.
_NAMED = 3


def first_look(columns: pd.DataFrame, n_permutations: int) -> str:
    """One line on columns that were tested one by one.

    Parameters
    ----------
    columns : DataFrame
        ``column`` and ``pvalue_adj``, the chance of any false name.
    n_permutations : int
        Relabellings.

    Returns
    -------
    str

    Examples
    --------
    >>> found = pd.DataFrame({"column": ["age", "height"], "pvalue_adj": [0.3, 0.01]})
    >>> print(first_look(found, 99))
    First look, 99 permutations: 1 of 2 columns stands out: height (p = 0.01); more is being tested
    >>> first_look(found.head(1), 99)
    'First look, 99 permutations: no column stands out (p = 0.3); relations are being tested'
    """
    head = f"First look, {n_permutations} permutations: "
    ordered = columns.sort_values("pvalue_adj", kind="stable")
    clear = ordered[ordered["pvalue_adj"] <= LEVEL]
    smallest = f"(p = {ordered['pvalue_adj'].iloc[0]:.2g})"
    if clear.empty:
        return f"{head}no column stands out {smallest}; relations are being tested"
    names = ", ".join(str(name)[:40] for name in clear["column"].head(_NAMED))
    more = " and others" if len(clear) > _NAMED else ""
    stand = "stands" if len(clear) == 1 else "stand"
    found = f"{len(clear)} of {len(columns)} columns {stand} out: {names}{more} {smallest}"
    return f"{head}{found}; more is being tested"
