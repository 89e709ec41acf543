"""Columns that say which rows belong together, such as donors: by their names, and by where their values lie.

Rows of one donor are alike. Relabelled one by one they let differences between donors pass for differences
between groups, so that a column of this kind is worth a word wherever it is seen.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from princdiff.options import option

# From the most to the least likely unit of replication; "orig" is Seurat's orig.ident.
_UNITS = (
    *("donor", "patient", "subject", "individual", "participant", "person", "mouse", "animal", "embryo"),
    *("respondent", "volunteer", "proband", "customer", "user", "client", "employee", "student"),
    *("subj", "usubj", "specimen"),
    *("sample", "replicate", "rep", "orig", "library", "batch", "plate", "channel", "lane"),
)
_FILLERS = {"id", "ids", "name", "no", "nr", "number", "num", "code", "key", "label", "uuid", "ident"}
PSEUDOREPLICATION = (
    "the p-value treats every cell as independent, but cells of one donor are alike, and differences between "
    "donors then pass for differences between groups (pseudoreplication)"
)


def unit_rank(name: str) -> int | None:
    """How far down the list of units of replication a column's name stands; None if it is not there.

    Examples
    --------
    >>> unit_rank("donor_id"), unit_rank("PatientID"), unit_rank("sample_type")
    (0, 1, None)
    """
    words = re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower())
    words = [word for word in words if word not in _FILLERS]
    # "donor_id" ends with its unit, "sample_type" and "batch_score" do not; "USUBJID" is written in one word.
    last = words[-1] if words else ""
    last = last if last in _UNITS else re.sub("(id|nr|no|number|key)$", "", last)
    return _UNITS.index(last) if last in _UNITS else None


def names_individuals(name: str) -> bool:
    """Whether a column is called after persons, animals or specimens, of which there may be few.

    Examples
    --------
    >>> names_individuals("donor"), names_individuals("batch"), names_individuals("model")
    (True, False, False)
    >>> names_individuals("CUSTOMER_ID"), names_individuals("userId"), names_individuals("users")
    (True, True, False)
    """
    rank = unit_rank(name)
    return rank is not None and rank <= _UNITS.index("specimen")


def unit_column(obs: pd.DataFrame, groupby: str | None) -> str | None:
    """The column of ``obs`` that looks most like donors or batches, by its name and its levels.

    Examples
    --------
    >>> obs = pd.DataFrame({"tissue": ["a", "b"] * 10, "donor_id": ["d1"] * 10 + ["d2"] * 10})
    >>> unit_column(obs, "tissue")
    'donor_id'
    """
    ranked = []
    for name in obs.columns:
        rank = None if name == groupby or obs[name].dtype.kind == "f" else unit_rank(str(name))
        if rank is not None and 2 <= obs[name].nunique() <= len(obs) // 2:
            ranked.append((rank, str(name)))
    return min(ranked)[1] if ranked else None


def units_advice(column: str, crossed: bool) -> str:
    """Which blocks to use where a column of ``obs`` looks like donors."""
    how, why = (
        ("within", "has cells in several groups")
        if crossed
        else ("whole", "has each of its values in one group")
    )
    looks = f"{column!r} of obs, which {why}, looks like donors or batches"
    return f"{looks}: use {option('blocks', column)}, {option('permute', how)}"


def warn_of_cells_without_blocks(
    obs: Sequence[pd.DataFrame | None], groups: str | None, codes: NDArray[np.uint8]
) -> None:
    """One warning where cells come from donors that the comparison was not told of.

    Parameters
    ----------
    obs : list of DataFrame or None
        What is known of the rows of each table besides the features.
    groups : str or None
        Column of the groups.
    codes : array of shape (n_rows,)
        Group of each row.
    """
    known = [about for about in obs if about is not None]
    if len(known) < len(obs) or any(about.columns.empty for about in known):
        return
    column = unit_column(known[0], groups)
    if column is None or any(column not in about for about in known):
        return
    units = pd.factorize(np.concatenate([about[column].astype(str).to_numpy() for about in known]))[0]
    sides = pd.DataFrame({"unit": units, "group": codes}).groupby("unit")["group"].nunique()
    advice = units_advice(column, bool((sides > 1).any()))
    warnings.warn(f"{PSEUDOREPLICATION}; {advice}", UserWarning, stacklevel=3)
