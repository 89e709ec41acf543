"""The adaptive test with every divergence and every design: it finds a clear shift, or says why it cannot."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from princdiff import permutation_test, select_features
from princdiff.divergences import available

pytestmark = pytest.mark.whole

N = 30
BLOCKS_WITHIN = np.tile(np.arange(N // 3), 3)
BLOCKS_WHOLE = np.repeat(np.arange(N // 2), 2)


def shifted(n_groups):
    rng = np.random.default_rng(n_groups)
    X, y = rng.standard_normal((N, 3)), np.repeat(np.arange(n_groups), N // n_groups)
    X[:, 1] += 4.0 * y
    return X, y


DESIGNS = {
    "plain": (2, {}),
    "rows within blocks": (3, {"blocks": BLOCKS_WITHIN, "permute": "within"}),
    "whole blocks": (3, {"blocks": BLOCKS_WHOLE, "permute": "whole"}),
    "weights": (2, {"sample_weight": np.linspace(0.5, 1.5, N)}),
    "covariates": (2, {"covariates": np.cos(np.arange(N))}),
    "three groups": (3, {}),
    "covariates and weights": (
        2,
        {"covariates": np.cos(np.arange(N)), "sample_weight": np.linspace(0.5, 1.5, N)},
    ),
    "covariates of blocks": (
        3,
        {"covariates": np.cos(np.arange(N // 2)).repeat(2), "blocks": BLOCKS_WHOLE, "permute": "whole"},
    ),
    "covariates of three groups": (3, {"covariates": np.cos(np.arange(N))}),
}


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("name", available())
def test_every_divergence_with_every_design(name, design):
    n_groups, options = DESIGNS[design]
    X, y = shifted(n_groups)
    result = permutation_test(X, y, divergence=name, n_permutations=19, random_state=0, **options)
    assert result.pvalue == pytest.approx(0.05)
    assert result.leading_feature == 1


def test_a_design_without_any_relabelling_says_so_and_nothing_else():
    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(40, 2)), np.arange(40) % 2
    for test in (permutation_test, select_features):
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            with pytest.warns(UserWarning, match="no other labelling than the observed one"):
                found = test(rows, y, blocks=y, n_permutations=19, random_state=0)
        assert np.all(found.pvalue == 1) if test is permutation_test else not found.selected.any()
