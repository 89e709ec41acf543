from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from sklearn.base import clone

from princdiff import PairedPDA, paired_test, permutation_test


def twice(seed=0, n=40, d=4, shift=0.0, spread=0.3):
    rng = np.random.default_rng(seed)
    before = rng.normal(size=(n, d)) * 2
    return before, before + shift + spread * rng.normal(size=(n, d))


def test_directions_are_those_of_the_singular_value_decomposition():
    before, after = twice(shift=[0.0, 1.0, -0.5, 0.0])
    fit = PairedPDA(3).fit(before, after)
    rows = np.linalg.svd(after - before)[2][:3]
    agreement = np.abs(np.einsum("cd,cd->c", fit.components_, rows))
    np.testing.assert_allclose(agreement, 1.0, atol=1e-12)
    moved = ((after - before) @ fit.components_.T) ** 2
    np.testing.assert_allclose(fit.divergences_, moved.mean(axis=0))
    np.testing.assert_allclose(fit.shares_.sum(axis=1), 1.0)
    # No direction moves units more.
    others = np.random.default_rng(1).normal(size=(500, 4))
    others /= np.linalg.norm(others, axis=1, keepdims=True)
    assert fit.divergences_[0] >= (((after - before) @ others.T) ** 2).mean(axis=0).max()
    assert fit.transform(before).shape == (40, 3)
    assert clone(fit).n_components == 3


def test_movement_is_the_same_when_pairs_are_swapped():
    """Why it is no test statistic."""
    before, after = twice(shift=0.5)
    flip = np.random.default_rng(2).integers(0, 2, size=(40, 1)).astype(bool)
    swapped = PairedPDA().fit(np.where(flip, after, before), np.where(flip, before, after))
    np.testing.assert_allclose(swapped.divergences_, PairedPDA().fit(before, after).divergences_)


def test_the_test_swaps_labels_within_pairs():
    before, after = twice(shift=0.2, spread=0.2)
    found = paired_test(before, after, n_permutations=39, random_state=0)
    direct = permutation_test(
        np.concatenate([before, after]),
        np.repeat([0, 1], 40),
        blocks=np.tile(np.arange(40), 2),
        n_permutations=39,
        random_state=0,
    )
    assert found.pvalue == direct.pvalue == 1 / 40
    unpaired = permutation_test(
        np.concatenate([before, after]), np.repeat([0, 1], 40), n_permutations=39, random_state=0
    )
    assert unpaired.pvalue > 0.05


def test_type_one_error_of_the_paired_test():
    rejected = 0
    for seed in range(60):
        before, after = twice(seed, n=12, d=2)
        rejected += paired_test(before, after, n_permutations=19, random_state=seed).pvalue <= 0.05
    assert rejected <= binom.ppf(0.999, 60, 0.05)


def test_columns_are_matched_by_name():
    before, after = twice(shift=[0.0, 1.0, 0.0, 0.0])
    first = pd.DataFrame(before, columns=list("abcd"))
    second = pd.DataFrame(after, columns=list("abcd"))[list("dcba")]
    fit = PairedPDA().fit(first, second)
    assert np.abs(fit.components_[0]).argmax() == 1
    assert list(fit.feature_names_in_) == list("abcd")
    with pytest.raises(ValueError, match="not in the second: d"):
        PairedPDA().fit(first, second.rename(columns={"d": "e"}))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda x, y: (x, y[:-1]), "same shape"),
        (lambda x, y: (x[:1], y[:1]), "minimum of 2"),
        (lambda x, y: (x, np.where(y > 1, np.nan, y)), "NaN"),
        (lambda x, y: (x[:, 0], y[:, 0]), "2D|two-dimensional|reshape"),
    ],
)
def test_bad_input(change, words):
    with pytest.raises(ValueError, match=words):
        PairedPDA().fit(*change(*twice()))


def test_bad_parameters():
    before, after = twice()
    with pytest.raises(ValueError, match="more than the 4 directions"):
        PairedPDA(5).fit(before, after)
    with pytest.raises(ValueError, match="n_components"):
        PairedPDA(0).fit(before, after)
    with pytest.raises(ValueError, match="sets blocks itself"):
        paired_test(before, after, blocks=np.arange(80))


def test_rows_in_another_order_are_refused():
    before, after = twice()
    first = pd.DataFrame(before, index=[f"unit {i}" for i in range(40)], columns=list("abcd"))
    second = pd.DataFrame(after, index=first.index, columns=list("abcd"))
    PairedPDA().fit(first, second)
    with pytest.raises(ValueError, match="same row labels in another order"):
        PairedPDA().fit(first, second.iloc[::-1])


def test_units_that_did_not_move_name_no_feature():
    before, _ = twice()
    fit = PairedPDA().fit(before, before)
    assert not fit.components_.any() and fit.divergences_[0] == 0
