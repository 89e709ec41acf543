"""Sparse matrices whose inside is consistent: compiled code follows their indices without looking."""

from __future__ import annotations

from typing import Any

import numpy as np


def check_sparse(matrix: Any, label: str) -> None:
    """Refuse a sparse matrix whose indices lead outside of it, as those of a damaged file may.

    Parameters
    ----------
    matrix : scipy.sparse matrix or array
        CSR, CSC, BSR and COO are looked at; the others have no indices that compiled code would follow.
    label : str
        What messages call it.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> matrix = sp.csr_matrix(np.eye(3))
    >>> matrix.indices[1] = 7
    >>> check_sparse(matrix, "rows.npz")
    Traceback (most recent call last):
        ...
    ValueError: rows.npz: the sparse matrix is damaged (...must be < 3); write it anew
    """
    try:
        if matrix.format in ("csr", "csc", "bsr"):
            matrix.check_format(full_check=True)
        elif matrix.format == "coo":
            for axis, places in enumerate(matrix.coords):
                if len(places) and not 0 <= int(np.min(places)) <= int(np.max(places)) < matrix.shape[axis]:
                    raise ValueError(f"indices must be from 0 to {matrix.shape[axis] - 1}")
    except (ValueError, IndexError) as error:
        raise ValueError(f"{label}: the sparse matrix is damaged ({error}); write it anew") from error
