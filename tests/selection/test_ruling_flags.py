"""A warning where 0/1 columns rule a direction by their noise, and none where they differ."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from princdiff import PDA, SPARDA
from princdiff.data.problem import Problem
from princdiff.selection import ruling_flags


def rows_with_flags(seed: int, n_rows: int = 400) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, 8))
    rows[:, 5:] = rng.random((n_rows, 3)) < [0.004, 0.01, 0.02]
    return rows, np.repeat([0, 1], n_rows // 2)


@pytest.mark.parametrize(
    "estimator", [PDA(scale="pooled", random_state=0), SPARDA(n_features=2, scale="pooled", random_state=0)]
)
def test_rare_flags_that_do_not_differ_are_warned_of_once(estimator):
    rows, groups = rows_with_flags(0)
    rows[:3, 5], rows[3:, 5] = 1, 0
    with pytest.warns(UserWarning, match="0/1 columns whose proportions hardly differ") as caught:
        estimator.fit(rows, groups)
    assert len(caught) == 1
    assert "energy" in str(caught[0].message)


def test_nothing_is_said_where_flags_differ_or_the_divergence_suits_them():
    rows, groups = rows_with_flags(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SPARDA(n_features=2, divergence="energy", scale="pooled", random_state=0).fit(rows, groups)
        rows[groups == 1, 7] = np.arange(200) % 2
        rows[:, 5:7] = 0
        SPARDA(n_features=1, scale="pooled", random_state=0).fit(rows, groups)


@pytest.mark.parametrize("cells", [1, 700, 1 << 20])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
def test_the_flags_named_do_not_hang_on_how_many_are_looked_at(monkeypatch, cells, container):
    rows, groups = rows_with_flags(0)
    problem = Problem.from_arrays(container(rows), groups)
    direction = np.r_[0.3, np.zeros(4), 0.4, 0.7, 0.5]
    monkeypatch.setattr(ruling_flags, "_CELLS_AT_ONCE", cells)
    with pytest.warns(UserWarning, match=r"hardly differ \('x6', 'x7'"):
        ruling_flags.warn_of_ruling_flags(problem, direction)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ruling_flags.warn_of_ruling_flags(problem, np.r_[0.8, np.zeros(4), 0.2, 0.5, 0.3])


def test_numbers_are_never_warned_of():
    rng = np.random.default_rng(2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PDA(random_state=0).fit(rng.normal(size=(80, 4)), np.repeat([0, 1], 40))
