"""Warnings about pseudoreplication and about values that are not what they are taken for."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import princdiff
from princdiff.singlecell.cautions import kind_of_values
from princdiff.tables.units import unit_column

anndata = pytest.importorskip("anndata")


def make_cells(values, **obs) -> anndata.AnnData:
    n_cells = values.shape[0]
    kind = np.where(np.arange(n_cells) % 2, "a", "b")
    return anndata.AnnData(
        values, obs=pd.DataFrame({"kind": kind, **obs}, index=[f"c{i}" for i in range(n_cells)])
    )


def told(cells, **options) -> list[str]:
    """Warnings of a quick analysis."""
    options = {"n_features": 1, "n_permutations": 0, **options}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        princdiff.tl.pda(cells, "kind", **options)
    return [str(warning.message) for warning in caught]


@pytest.fixture
def logs() -> np.ndarray:
    return np.log1p(1.7 * np.random.default_rng(0).poisson(2.0, size=(40, 4)))


@pytest.mark.parametrize(
    "name",
    ["donor", "Donor_ID", "patient.id", "mouseID", "sample", "batch", "orig.ident", "libraryName", "rep_no"],
)
def test_names_of_donors_and_batches(name):
    levels = [f"d{i}" for i in np.arange(20) // 5]
    assert unit_column(pd.DataFrame({"kind": ["a", "b"] * 10, name: levels}), "kind") == name


def test_names_of_other_columns():
    levels = [f"d{i}" for i in np.arange(20) // 5]
    others = ["sample_type", "batch_score", "n_samples", "cell_type", "phase", "donation"]
    obs = pd.DataFrame({"donor": ["a", "b"] * 10, **dict.fromkeys(others, levels)})
    assert unit_column(obs, "donor") is None
    # One donor, or a donor for every cell, is no block; and a donor goes before a batch.
    obs["batch"] = "only one"
    obs["sample"] = [f"s{i}" for i in range(20)]
    assert unit_column(obs, "kind") == "donor"
    assert unit_column(obs, "donor") is None
    obs["lane"], obs["patient"] = levels, levels
    assert unit_column(obs, "donor") == "patient"


def test_one_warning_that_names_the_column_and_the_design(logs):
    crossed = make_cells(logs, donor=[f"d{i}" for i in np.arange(40) // 10])
    (message,) = told(crossed, n_permutations=19)
    assert "pseudoreplication" in message and "blocks='donor', permute='within'" in message
    nested = make_cells(logs, donor=[f"d{i % 4}" for i in range(40)])
    (message,) = told(nested, n_permutations=19)
    assert "blocks='donor', permute='whole'" in message
    # Without a test, with blocks, or with few cells and no such column there is nothing to warn of.
    assert not told(nested)
    assert not told(crossed, n_permutations=19, blocks="donor", permute="within")
    assert not told(make_cells(logs), n_permutations=19)
    (message,) = told(make_cells(np.tile(logs, (3, 1))), n_permutations=19)
    assert "name their column" in message


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_matrix, sp.csc_matrix])
def test_counts_for_logarithms_and_the_reverse(logs, convert):
    counts = convert(np.rint(np.expm1(logs) / 1.7))
    (message,) = told(make_cells(counts))
    assert "adata.X looks like raw counts" in message and "scanpy.pp.log1p" in message
    assert not told(make_cells(counts), values="counts")
    assert not told(make_cells(convert(logs)))
    (message,) = told(make_cells(convert(logs)), values="counts")
    assert "does not hold raw counts" in message and 'values="log"' in message
    (message,) = told(make_cells(convert(1000 * np.expm1(logs) + 0.5)))
    assert "take logarithms" in message
    assert not told(make_cells(counts), values=None)


def test_scaled_values(logs):
    cells = make_cells(logs)
    cells.layers["scaled"] = (logs - logs.mean(axis=0)) / logs.std(axis=0)
    (message,) = told(cells, layer="scaled")
    assert message.startswith("adata.layers['scaled'] has negative values")
    # Coordinates are negative as a matter of course.
    cells.obsm["X_pca"] = cells.layers["scaled"]
    assert not told(cells, obsm="X_pca")


def test_kinds_of_values():
    assert kind_of_values(sp.csr_matrix((3, 3)))[0] == "binary"
    assert kind_of_values(np.array([[0.0, 1.0]]))[0] == "binary"
    assert kind_of_values(np.array([[0, 5]]))[0] == "counts"
    assert kind_of_values(np.array([[0.5, 55.0]]))[0] == "not logarithmic"
    with pytest.raises(ValueError, match="values must be one of 'log', 'counts', None"):
        princdiff.tl.pda(make_cells(np.eye(8)), "kind", values="raw")
