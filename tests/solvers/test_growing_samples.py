"""Searching a sample and settling on all rows ends where a search of all rows does."""

from __future__ import annotations

import numpy as np
import pytest

from oracles import wasserstein2
from princdiff import PDA, SPARDA
from princdiff.data.labels import Labels
from princdiff.data.samples import Samples
from princdiff.divergences import Wasserstein2
from princdiff.solvers import growing_samples as growing
from princdiff.solvers.effort import SearchSettings
from princdiff.solvers.growing_samples import _Nested, _settle_smooth, first_sample
from princdiff.solvers.solve import evaluate


def rows_and_labels(n_rows: int, n_features: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)) @ rng.normal(size=(n_features, n_features))
    y = (np.arange(n_rows) % 3 == 0).astype(int)
    X[y == 1] += 0.4 * rng.normal(size=n_features)
    X[y == 1, 2] *= 1.7
    return X, y


@pytest.mark.parametrize(
    "estimator", [PDA(certify=False), SPARDA(2, certify=False), SPARDA(penalty=0.05, certify=False)]
)
def test_the_divergence_is_that_of_a_search_on_all_rows(estimator):
    X, y = rows_and_labels(4000, 6)
    options = {"effort": "fast", "certify": False, "random_state": 0}
    whole = estimator.set_params(subsample=None, **options).fit(X, y)
    divergence, direction = whole.divergences_[0], whole.components_[0].copy()
    grown = estimator.set_params(subsample=300).fit(X, y)
    assert grown.divergences_[0] >= divergence * (1 - 1e-3)
    assert abs(grown.components_[0] @ direction) > 1 - 1e-3


def test_the_number_of_features_is_chosen_on_the_sample():
    X, y = rows_and_labels(3000, 5)
    fit = SPARDA("auto", subsample=300, effort="fast", certify=False, random_state=0).fit(X, y)
    assert 1 <= fit.path_.chosen <= 5
    assert np.count_nonzero(fit.support_) <= fit.path_.chosen


def test_when_a_sample_is_taken():
    few, many = (Samples(np.random.default_rng(0).normal(size=(n, 2))) for n in (49_999, 50_000))
    assert first_sample(few, "auto") is None
    assert first_sample(many, "auto") == 10_000
    assert first_sample(many, None) is None
    assert first_sample(many, 50_000) is None
    assert first_sample(many, 400) == 400


def test_samples_are_nested_and_fair():
    rng = np.random.default_rng(0)
    X = np.arange(20_000.0)[:, None]
    codes = np.zeros(20_000, dtype=np.uint8)
    codes[:100], codes[100:5000] = 2, 1
    labels = Labels(codes, 3)
    nested = _Nested.draw(Samples(X), labels, 1200, rng)
    assert nested.sizes == [1200, 4800]
    small, small_labels = nested.sample(1200)
    large, large_labels = nested.sample(4800)
    assert set(small.rows[:, 0]) < set(large.rows[:, 0])
    # A rare group is there as a whole, the others in proportion.
    assert small_labels.counts[0][2] == large_labels.counts[0][2] == 100
    assert abs(large_labels.counts[0][0] - 4800 * 0.75) < 10
    for sample, own in ((small, small_labels), (large, large_labels)):
        np.testing.assert_array_equal(own.codes[0], codes[sample.rows[:, 0].astype(int)])
        # Centred and scaled as all rows, so that penalties mean the same.
        assert sample.unit == nested.samples.unit


@pytest.mark.parametrize("penalty", [0.0, 0.02])
def test_the_smooth_ascent_ends_at_an_optimum(penalty):
    X, y = rows_and_labels(6000, 5, seed=1)
    samples, labels = Samples(X, "pooled"), Labels(y, 2)
    start = np.ones(5) / np.sqrt(5)
    direction, _ = _settle_smooth(
        samples, labels, Wasserstein2(), start, SearchSettings(5, penalty, max_iter=200)
    )

    def objective(b):
        return (
            evaluate(samples.astype(np.float64), labels, Wasserstein2(), b)[0]
            - penalty * np.abs(b).sum() ** 2
        )

    rng = np.random.default_rng(0)
    best = objective(direction)
    assert best >= objective(start)
    for _ in range(200):
        # No direction nearby with the same signs is better.
        moved = direction + 0.02 * rng.normal(size=5) * (direction != 0)
        moved /= np.linalg.norm(moved)
        if (np.sign(moved) == np.sign(direction)).all():
            assert objective(moved) <= best * (1 + 1e-9)


def test_a_wrong_sample_size_is_refused():
    X, y = rows_and_labels(200, 3)
    for subsample in (0, 99, -1, True, "half", 0.5):
        with pytest.raises(ValueError, match="subsample must be"):
            PDA(subsample=subsample, certify=False).fit(X, y)


# ---------------------------------------------------------------- what a sample is too small to show


def small_difference(seed: int, kind: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(20_000, 8)), rng.integers(0, 2, 20_000)
    if kind == "mean":
        X[y == 1, 3] += 0.08
    elif kind == "spread":
        X[y == 1, 3] *= 1.08
    else:
        # Correlations of opposite signs; each feature alone has one distribution.
        share = np.where(y == 1, 0.12, -0.12)
        X[:, 6] = share * X[:, 3] + np.sqrt(1 - share**2) * X[:, 6]
    return X, y


@pytest.mark.parametrize("kind", ["mean", "spread"])
@pytest.mark.parametrize("seed", range(4))
def test_every_single_feature_is_judged_on_all_rows(kind, seed):
    X, y = small_difference(seed, kind)
    fit = SPARDA(n_features=1, subsample=600, certify=False, random_state=0).fit(X, y)
    alone = [wasserstein2(X[y == 0, j], X[y == 1, j]) for j in range(8)]
    assert np.flatnonzero(fit.support_).tolist() == [int(np.argmax(alone))]
    assert fit.divergences_[0] == pytest.approx(max(alone))
    more = SPARDA(n_features=3, subsample=600, effort="fast", certify=False, random_state=0).fit(X, y)
    assert more.support_[int(np.argmax(alone))]
    assert more.divergences_[0] >= max(alone)


@pytest.mark.parametrize("seed", range(4))
def test_a_pair_that_differs_only_together_is_found_on_all_rows(seed):
    X, y = small_difference(seed, "pair")
    fit = SPARDA(n_features=2, subsample=600, effort="fast", certify=False, random_state=0).fit(X, y)
    assert np.flatnonzero(fit.support_).tolist() == [3, 6]


def test_features_that_cannot_all_be_judged_are_screened(monkeypatch):
    monkeypatch.setattr(growing, "_MOST_JUDGED", 20_000)
    monkeypatch.setattr(growing, "_FEWEST_JUDGED", 5)
    X, y = small_difference(0, "mean")
    X[y == 1, 3] += 0.1
    fit = SPARDA(n_features=1, subsample=600, certify=False, random_state=0).fit(X, y)
    assert np.flatnonzero(fit.support_).tolist() == [3]
