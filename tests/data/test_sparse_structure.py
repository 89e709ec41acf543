"""Indices that lead outside of a sparse matrix: compiled code would follow them into foreign memory."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from princdiff import PDA, compare, permutation_test, relax
from princdiff.data.sparse_structure import check_sparse

GROUPS = np.repeat([0, 1], 20)


def rows(container=sp.csr_matrix):
    rng = np.random.default_rng(0)
    return container(np.where(rng.random((40, 6)) < 0.5, rng.normal(size=(40, 6)), 0.0))


def damaged(container, place=7, index=10**6):
    matrix = rows(container)
    (matrix.coords[1] if matrix.format == "coo" else matrix.indices)[place] = index
    return matrix


CONTAINERS = [
    sp.csr_matrix,
    sp.csc_matrix,
    sp.coo_matrix,
    sp.csr_array,
    sp.csc_array,
    sp.coo_array,
    sp.bsr_array,
]


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("index", [10**6, -5])
def test_indices_out_of_range(container, index):
    check_sparse(rows(container), "X")
    with pytest.raises(ValueError, match="X: the sparse matrix is damaged"):
        check_sparse(damaged(container, index=index), "X")


def test_ends_of_rows_that_fall():
    matrix = rows()
    matrix.indptr[4] = matrix.indptr[6] + 3
    with pytest.raises(ValueError, match="damaged"):
        check_sparse(matrix, "X")


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize(
    "call",
    [
        lambda X: PDA().fit(X, GROUPS),
        lambda X: permutation_test(X, GROUPS, n_permutations=19),
        lambda X: compare(X, groups=GROUPS, n_permutations=0),
        lambda X: relax(X, GROUPS),
    ],
    ids=["fit", "permutation_test", "compare", "relax"],
)
def test_every_door_looks(container, call):
    with pytest.raises(ValueError, match="the sparse matrix is damaged"):
        call(damaged(container))


@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csc_matrix])
def test_a_crafted_npz_file(container, tmp_path):
    sp.save_npz(tmp_path / "rows.npz", damaged(container))
    with pytest.raises(ValueError, match=r"rows\.npz: the sparse matrix is damaged"):
        compare(tmp_path / "rows.npz", groups=GROUPS, n_permutations=0)


@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csc_matrix])
def test_a_crafted_h5ad_file(container, tmp_path):
    anndata = pytest.importorskip("anndata", reason="anndata is not installed")
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    import princdiff

    cells = anndata.AnnData(rows(container), obs={"tissue": np.repeat(["a", "b"], 20)})
    cells.write_h5ad(tmp_path / "cells.h5ad")
    with h5py.File(tmp_path / "cells.h5ad", "r+") as file:
        file["X/indices"][7] = 10**6
    with pytest.raises(ValueError, match=r"cells\.h5ad: the sparse matrix is damaged"):
        compare(tmp_path / "cells.h5ad", groups=GROUPS, n_permutations=0)
    for backed in (None, "r"):
        read = anndata.read_h5ad(tmp_path / "cells.h5ad", backed=backed)
        with pytest.raises(ValueError, match="damaged"):
            princdiff.tl.pda(read, "tissue", n_permutations=0)
        with pytest.raises(ValueError, match=r"damaged|stored by columns"):
            PDA().fit(read.X, GROUPS)
