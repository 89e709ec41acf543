"""Each gene on its own: what the tidy table says beside the weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray

from princdiff.result import shift_spread_shape

_BLOCK_ELEMENTS = 1_000_000
# Entries that are read at a time where only sums are wanted.
_BLOCK_ENTRIES = 10_000_000
_SIDES = ("group", "reference")


def gene_statistics(values: NDArray | sp.csr_matrix, codes: NDArray[np.uint8], joint: bool) -> pd.DataFrame:
    """Divergence and kind of difference of every gene, and its mean and share of detected cells.

    Parameters
    ----------
    values : array or CSR matrix of shape (n_cells, n_genes)
        As compared; a block of genes at a time is made dense.
    codes : array of shape (n_cells,)
        0 for the group, 1 for the reference.
    joint : bool
        Whether there are groups without a reference; then means and shares are left out.

    Returns
    -------
    DataFrame
        Columns divergence, location, scale, shape; then mean, mean_reference, detected, detected_reference
        and logfoldchange (to base 2, of values that are ``log1p`` of expression).

    Examples
    --------
    >>> table = gene_statistics(np.array([[0.0], [2.0], [5.0], [7.0]]), np.array([0, 0, 1, 1]), False)
    >>> table.loc[0, ["divergence", "mean", "mean_reference", "detected"]].tolist()
    [25.0, 1.0, 6.0, 0.5]
    """
    n_cells, n_genes = values.shape
    columns: Any = sp.csc_matrix(values) if sp.issparse(values) else values
    step = max(1, _BLOCK_ELEMENTS // max(1, n_cells))
    parts = []
    for start in range(0, n_genes, step):
        block = columns[:, start : start + step]
        block = block.toarray() if sp.issparse(block) else np.asarray(block)
        rows = np.ascontiguousarray(block.T, dtype=np.float64)
        if joint:
            kind = shift_spread_shape.split_difference(rows, codes)
            parts.append(pd.DataFrame({"divergence": kind.total, **kind._asdict()}))
            continue
        part = shift_spread_shape.feature_table(rows, np.arange(len(rows)), codes, _SIDES)
        for code, side in enumerate(_SIDES):
            part[f"detected {side}"] = (rows[:, codes == code] != 0).mean(axis=1)
        parts.append(part)
    table = pd.concat(parts, ignore_index=True)
    names = {
        f"{what} {side}": what + ("_reference" if side == "reference" else "")
        for what in ("mean", "sd", "detected")
        for side in _SIDES
    }
    table = table.drop(columns="feature", errors="ignore").rename(columns=names)
    if not joint:
        table["logfoldchange"] = _logfoldchange(table)
    return table


def gene_means(values: Any, codes: NDArray[np.uint8]) -> pd.DataFrame:
    """Mean of every gene and share of cells that show it, on both sides, without a dense copy.

    Parameters
    ----------
    values : array or CSR matrix of shape (n_cells, n_genes)
        As compared.
    codes : array of shape (n_cells,)
        0 for the group, 1 for the reference.

    Returns
    -------
    DataFrame
        Columns mean, mean_reference, detected, detected_reference and logfoldchange, as `gene_statistics`.

    Examples
    --------
    >>> gene_means(np.array([[0.0], [2.0], [5.0], [7.0]]), np.array([0, 0, 1, 1]))["detected"].tolist()
    [0.5]
    """
    members = np.stack([codes == 0, codes == 1], axis=1).astype(np.float64)
    sums, shown = np.zeros((2, values.shape[1], 2))
    entries = int(values.nnz if sp.issparse(values) else values.size)
    step = max(1, int(_BLOCK_ENTRIES * len(codes) / max(1, entries)))
    for start in range(0, len(codes), step):
        rows, own = values[start : start + step], members[start : start + step]
        sums += rows.T @ own
        shown += (rows != 0).astype(np.float64).T @ own
    means, detected = sums / members.sum(axis=0), shown / members.sum(axis=0)
    columns = ["mean", "mean_reference", "detected", "detected_reference"]
    table = pd.DataFrame(np.column_stack([means, detected]), columns=columns)
    return table.assign(logfoldchange=_logfoldchange(table))


def _logfoldchange(table: pd.DataFrame) -> NDArray[np.float64]:
    """As scanpy has it; a gene that one side does not show gets a large number, not an infinite one."""
    group, reference = (
        np.expm1(np.clip(table[name].to_numpy(), 0, 500)) + 1e-9 for name in ("mean", "mean_reference")
    )
    return np.log2(group / reference)
