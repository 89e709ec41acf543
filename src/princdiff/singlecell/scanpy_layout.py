"""Genes in the layout of ``scanpy.tl.rank_genes_groups``, which scanpy's getters and plots read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

_COLUMNS = {
    "scores": "score",
    "pvals": "pvalue",
    "pvals_adj": "pvalue_adj",
    "logfoldchanges": "logfoldchange",
}


def ranked_genes(table: pd.DataFrame) -> dict[str, Any]:
    """Record arrays with a field for each group, genes that are higher in the group first.

    Parameters
    ----------
    table : DataFrame
        Of `princdiff.tl.pda`: group, component, gene, score, pvalue, pvalue_adj, mean and mean_reference.

    Returns
    -------
    dict
        names, scores, pvals, pvals_adj and logfoldchanges; empty where genes were not tested or have no
        reference.

    Examples
    --------
    >>> genes = {"gene": ["a", "b"], "score": [1.0, 5.0], "pvalue": [0.4, 0.01], "pvalue_adj": [0.6, 0.02]}
    >>> means = {"mean": [2.0, 1.0], "mean_reference": [1.0, 3.0], "logfoldchange": [1.0, -1.5]}
    >>> found = ranked_genes(pd.DataFrame({"group": "ill", "component": 1, **genes, **means}))
    >>> found["names"]["ill"].tolist(), found["scores"]["ill"].tolist()
    (['a', 'b'], [1.0, -5.0])
    """
    if "mean_reference" not in table or table["pvalue"].isna().all():
        return {}
    fields: dict[str, dict[str, Any]] = {name: {} for name in ("names", *_COLUMNS)}
    for group, own in table[table["component"] == 1].groupby("group", sort=False, observed=True):
        sign = np.where(own["mean"] < own["mean_reference"], -1.0, 1.0)
        own = own.assign(score=own["score"].fillna(0.0) * sign)
        own = own.sort_values("score", ascending=False, kind="stable")
        fields["names"][str(group)] = own["gene"].to_numpy(object)
        for name, column in _COLUMNS.items():
            fields[name][str(group)] = own[column].to_numpy(float)
    return {
        name: np.rec.fromarrays(list(groups.values()), names=None, dtype=_dtype(groups))
        for name, groups in fields.items()
    }


def _dtype(groups: dict[str, Any]) -> list[tuple[str, Any]]:
    return [(name, values.dtype) for name, values in groups.items()]
