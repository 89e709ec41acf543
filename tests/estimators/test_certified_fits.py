"""What the estimators make of the relaxation: certificates, the paper's method, starts."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

from princdiff import PDA, SPARDA
from princdiff.datasets import make_block_gaussians, make_gaussian_pair
from princdiff.relaxation import certificate


@pytest.fixture(scope="module")
def pair():
    return make_gaussian_pair(200, random_state=0)


def test_bound_is_above_and_tight_in_three_dimensions(pair):
    fit = PDA(random_state=0).fit(*pair)
    assert fit.certificates_[0].kind == "certificate"
    assert fit.divergences_[0] <= fit.upper_bounds_[0]
    assert 1 - fit.divergences_[0] / fit.upper_bounds_[0] < 2e-3


@pytest.mark.parametrize("scale", [None, "pooled", "within"])
@pytest.mark.parametrize("k", [1, 2, 5])
def test_bound_holds_for_every_scaling(scale, k):
    X, y = make_block_gaussians(6, 30, n_samples_second=20, random_state=1)
    fit = SPARDA(n_features=k, scale=scale, certify=True, random_state=0).fit(X * [1, 10, 1, 1, 1, 1], y)
    assert fit.divergences_[0] <= fit.upper_bounds_[0] * (1 + 1e-12)


def test_one_feature_is_certified_exactly(pair):
    fit = SPARDA(n_features=1, random_state=0).fit(*pair)
    assert fit.upper_bounds_[0] == pytest.approx(fit.divergences_[0], rel=1e-8)


def test_bound_uses_the_weights(pair):
    X, y = pair
    weights = np.random.default_rng(0).integers(1, 4, size=len(y))
    fit = PDA(random_state=0).fit(X, y, sample_weight=weights)
    repeated = PDA(random_state=0).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert fit.divergences_[0] <= fit.upper_bounds_[0]
    # Both bounds are tight to a thousandth, from different plans.
    assert fit.upper_bounds_[0] == pytest.approx(repeated.upper_bounds_[0], rel=3e-3)


def test_several_groups_are_certified(pair):
    X, y = pair
    three = np.where(np.arange(len(y)) % 3 == 0, 2, y)
    fit = PDA(random_state=0, certify=True).fit(X, three)
    assert fit.divergences_[0] <= fit.upper_bounds_[0] <= 1.0101 * fit.divergences_[0]


def test_no_certificate_where_there_is_none(pair):
    X, y = pair
    assert PDA(certify=False).fit(X, y).certificates_ == [None]
    assert np.isnan(PDA(metric="whitened", random_state=0).fit(X, y).upper_bounds_[0])


def test_auto_leaves_out_what_is_dear_or_says_nothing(monkeypatch):
    X, y = make_block_gaussians(60, 50, random_state=0)
    fit = SPARDA(n_features=7, effort="fast", random_state=0).fit(X, y)
    assert np.isnan(fit.upper_bounds_[0]) or fit.upper_bounds_[0] <= 2 * fit.divergences_[0]
    monkeypatch.setattr(certificate, "_AUTO_NUMBERS", 100)
    fit = SPARDA(n_features=3, effort="fast", random_state=0).fit(X[:, :6], y)
    assert np.isnan(fit.upper_bounds_[0])


def test_auto_certifies_an_everyday_fit():
    X, y = load_wine(return_X_y=True)
    for rows in (y < 2, y < 3):
        fit = SPARDA(n_features=3, scale="pooled", random_state=0).fit(X[rows], y[rows])
        assert fit.divergences_[0] <= fit.upper_bounds_[0] <= 1.0101 * fit.divergences_[0]
        assert fit.certificates_[0].n_features == 3


def test_unknown_mode_is_refused(pair):
    with pytest.raises(ValueError, match="certify"):
        PDA(certify="always").fit(*pair)


def test_papers_method_reaches_the_optimum_of_its_figure(pair):
    X, y = pair
    paper = SPARDA(penalty=0.0, method="paper", random_state=0).fit(X, y)
    ours = PDA(random_state=0).fit(X, y)
    assert paper.divergences_[0] == pytest.approx(ours.divergences_[0], rel=5e-3)


def test_papers_method_is_sparse_with_a_penalty():
    X, y = make_block_gaussians(12, 60, random_state=3)
    dense = SPARDA(penalty=0.0, method="paper", random_state=0).fit(X, y)
    sparse = SPARDA(penalty=2.0, method="paper", random_state=0).fit(X, y)
    assert sparse.support_.sum() < dense.support_.sum()


def test_the_papers_method_needs_a_penalty(pair):
    with pytest.raises(ValueError, match="penalty"):
        SPARDA(n_features=2, method="paper").fit(*pair)


def test_thorough_search_is_at_least_as_good():
    X, y = make_block_gaussians(15, 40, random_state=5)
    default = PDA(random_state=0, certify=False).fit(X, y)
    thorough = PDA(random_state=0, certify=False, effort="thorough").fit(X, y)
    assert thorough.divergences_[0] >= default.divergences_[0] * (1 - 1e-9)


def test_rounding_does_not_leave_a_bound_below_its_value():
    bound = certificate.Certificate(2.0, "certificate", "by hand.")
    assert certificate.not_below(bound, 2.0 * (1 + 1e-9)).upper_bound == 2.0 * (1 + 1e-9)
    # A bound that is truly above, or truly wrong, stays as it is.
    assert certificate.not_below(bound, 1.9) is bound
    assert certificate.not_below(bound, 2.1) is bound
    assert certificate.not_below(None, 1.0) is None
