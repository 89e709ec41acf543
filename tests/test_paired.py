from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.stats import binom
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

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
    for seed in range(30):
        before, after = twice(seed, n=12, d=2)
        rejected += paired_test(before, after, n_permutations=19, random_state=seed).pvalue <= 0.05
    assert rejected <= binom.ppf(0.999, 30, 0.05)


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


@pytest.mark.parametrize("call", [paired_test, lambda X, Y: PairedPDA().fit(X, Y)])
def test_other_units_are_refused(call):
    before, after = twice()
    first = pd.DataFrame(before, index=[f"p{i}" for i in range(40)])
    second = pd.DataFrame(after, index=[f"p{i}" for i in range(1, 41)])
    words = "1 only in the first, such as 'p0' and 1 only in the second, such as 'p40'"
    with pytest.raises(ValueError, match=words):
        call(first, second)
    with pytest.raises(ValueError, match="10 only in the first"):
        call(first, second.iloc[:30])
    # Rows that are merely numbered have no labels to go by.
    call(first, second.reset_index(drop=True))
    call(first.to_numpy(), second)


def test_aligned_units_are_found_again():
    rng = np.random.default_rng(0)
    before = pd.DataFrame(rng.normal(size=(40, 2)) * 5, index=[f"p{i}" for i in range(40)])
    after = (before + 0.5).iloc[::-1]
    assert paired_test(before, after.loc[before.index], n_permutations=199, random_state=0).pvalue <= 0.01


@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csr_array])
def test_sparse_units(container):
    before, after = twice(shift=[0.0, 1.0, 0.0, 0.0])
    expected = PairedPDA().fit(before, after)
    found = PairedPDA().fit(container(before), container(after))
    np.testing.assert_allclose(found.components_, expected.components_)
    np.testing.assert_allclose(found.transform(container(before)), expected.transform(before))


class MovedByTheLabels(PairedPDA):
    """scikit-learn's checks give labels where PairedPDA has the second measurement: here they move units."""

    def fit(self, X, y):
        shape = getattr(X, "shape", None) or np.asarray(X).shape
        if y is not None and len(shape) == 2:
            labels = np.unique(np.ravel(np.asarray(y)), return_inverse=True)[1]
            y = np.outer(labels, np.arange(1.0, shape[1] + 1))
        return super().fit(X, y)


# Fed with labels, these fail for that reason alone: for the class above they pass.
NOT_PAIRED = [
    "fit_score_takes_y",
    "estimators_overwrite_params",
    "dont_overwrite_parameters",
    "estimators_fit_returns_self",
    "readonly_memmap_input",
    "n_features_in_after_fitting",
    "positive_only_tag_during_fit",
    "estimators_dtypes",
    "dtype_object",
    "pipeline_consistency",
    "estimators_nan_inf",
    "estimator_sparse_tag",
    "estimator_sparse_array",
    "estimator_sparse_matrix",
    "estimators_pickle",
    "f_contiguous_array_estimator",
    "transformer_data_not_an_array",
    "transformer_general",
    "transformer_preserve_dtypes",
    "methods_sample_order_invariance",
    "methods_subset_invariance",
    "fit2d_1feature",
    "dict_unchanged",
    "fit_idempotent",
    "fit_check_is_fitted",
    "n_features_in",
    "fit2d_predict1d",
]


def expected_failures(estimator):
    if isinstance(estimator, MovedByTheLabels):
        return {}
    reason = "y is the second measurement, of the shape of X; the check gives a column of labels"
    return {f"check_{name}": reason for name in NOT_PAIRED}


@parametrize_with_checks([PairedPDA(), MovedByTheLabels()], expected_failed_checks=expected_failures)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_units_that_did_not_move_name_no_feature():
    before, _ = twice()
    fit = PairedPDA().fit(before, before)
    assert not fit.components_.any() and fit.divergences_[0] == 0
