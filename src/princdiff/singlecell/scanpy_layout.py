"""Genes in the layout of ``scanpy.tl.rank_genes_groups``, which scanpy's getters and plots read."""

from __future__ import annotations

import warnings
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
        Of `princdiff.tl.pda`: group, component (may be missing), gene, score, pvalue, pvalue_adj, mean and
        mean_reference.

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
    if "component" in table:
        table = table[table["component"] == 1]
    fields: dict[str, dict[str, Any]] = {name: {} for name in ("names", *_COLUMNS)}
    for group, own in table.groupby("group", sort=False, observed=True):
        sign = np.where(own["mean"] < own["mean_reference"], -1.0, 1.0)
        # Readers of this layout expect genes whose mean is higher first, whatever else differs.
        signed = own["score_mean"] if "score_mean" in own else own["score"].fillna(0.0) * sign
        own = own.assign(score=signed)
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


def about_ranking(error: str) -> dict[str, Any]:
    """What scanpy's functions look for among the parameters, and the kind of error controlled."""
    adjusted = "benjamini-hochberg" if error == "fdr" else "permutation maximum"
    return {"method": "princdiff", "use_raw": False, "corr_method": adjusted, "error": error}


def write_uns(adata: Any, key: str, result: dict[str, Any]) -> None:
    """Write results in plain types that h5ad and zarr keep; they cannot hold None, which is left out.

    Parameters
    ----------
    adata : AnnData
        Where to.
    key : str
        Name in ``uns``.
    result : dict
        "params" (a dict) and tables; text that repeats becomes categories.
    """
    result["params"] = {name: value for name, value in result["params"].items() if value is not None}
    for table in result.values():
        if not isinstance(table, pd.DataFrame):
            continue
        for name in ("group", "reference", "cell_type"):
            if name in table:
                table[name] = pd.Categorical(table[name], categories=table[name].unique())
        # AnnData writes text as the index of a table, and numbers with a warning.
        table.index = table.index.astype(str)
    with warnings.catch_warnings():
        # Writing into a view makes it an object of its own, which is what is wanted.
        warnings.filterwarnings("ignore", message="(Trying to modify|Setting element).*view")
        adata.uns[key] = result
