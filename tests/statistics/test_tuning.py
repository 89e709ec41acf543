from __future__ import annotations

import numpy as np
import pytest

from oracles import divergence_along
from princdiff import SPARDA
from princdiff.data.labels import HELD_OUT, Labels
from princdiff.data.samples import Samples
from princdiff.divergences import Wasserstein2
from princdiff.statistics.tuning import choose_level, choose_penalty, stratified_folds


def shifted(seed=0, n_samples=60, n_features=12, n_shifted=2, size=1.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2 * n_samples, n_features))
    X[n_samples:, :n_shifted] += size
    return X, np.repeat([0, 1], n_samples)


@pytest.mark.parametrize("sizes", [(20, 20), (11, 37), (2, 2), (3, 9), (4, 6, 15)])
@pytest.mark.parametrize("weighted", [False, True])
def test_folds_hold_every_row_out_once(sizes, weighted):
    rng = np.random.default_rng(0)
    codes = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    weights = rng.random(len(codes)) if weighted else None
    samples = Samples(rng.normal(size=(len(codes), 2)))
    train, test = stratified_folds(samples, Labels(codes, len(sizes), weights=weights), 5, 0)
    assert train.codes.shape == test.codes.shape
    assert (train.weights is None) == (weights is None)
    left_out = train.codes == HELD_OUT
    np.testing.assert_array_equal(left_out.sum(axis=0), 1)
    np.testing.assert_array_equal(test.codes == HELD_OUT, ~left_out)
    whole = np.broadcast_to(codes, left_out.shape)
    np.testing.assert_array_equal(train.codes[~left_out], whole[~left_out])
    np.testing.assert_array_equal(test.codes[left_out], whole[left_out])
    # Every group on both sides of every fold, in numbers as equal as can be.
    assert train.counts.min() >= 1 and test.counts.min() >= 1
    assert (np.ptp(test.counts, axis=0) <= 1).all()
    if min(sizes) >= 4:
        assert train.counts.min() >= 2 and test.counts.min() >= 2


@pytest.mark.parametrize("scale", [None, "pooled", "within"])
def test_path_of_levels_adds_up(scale):
    X, y = shifted(1)
    samples = Samples(X * 5.0, scale)
    path = choose_level(samples, Labels(y, 2), Wasserstein2(), np.random.default_rng(0))
    assert path.kind == "n_features"
    assert path.fitted.shape == path.held_out.shape == path.n_selected.shape == (5, len(path.grid))
    assert (path.n_selected <= path.grid).all() and (path.n_selected >= 1).all()
    assert path.grid[path.held_out.mean(axis=0).argmax()] == path.chosen
    assert (np.diff(path.fitted, axis=1) >= 0).all()
    # In the units of the scaled data: a fold is about as different as the whole.
    whole = SPARDA(12, scale=scale, random_state=0).fit(X * 5.0, y)
    direction = whole.components_[0]
    assert path.fitted[:, -1].mean() == pytest.approx(divergence_along(direction, X * 5.0, y, scale), rel=0.5)


def test_path_of_penalties_adds_up():
    X, y = shifted(2)
    path = choose_penalty(Samples(X * 5.0), Labels(y, 2), Wasserstein2(), np.random.default_rng(0))
    assert path.kind == "penalty"
    assert (np.diff(path.grid) < 0).all()
    assert (path.n_selected[:, 0] == 1).all()
    assert (np.diff(path.n_selected.mean(axis=0)) >= -0.5).all()
    assert path.chosen in path.grid
    assert path.fitted[:, -1].mean() == pytest.approx(2 * 1.5**2 * 25, rel=0.5)


def test_a_shift_of_two_features_is_found():
    X, y = shifted(3, n_samples=150)
    for estimator in (SPARDA(), SPARDA("auto"), SPARDA(penalty="auto")):
        found = estimator.set_params(random_state=0).fit(X, y)
        assert found.support_[:2].all()
        assert found.path_.chosen == found.path_.grid[found.path_.held_out.mean(axis=0).argmax()]
    assert SPARDA(random_state=0).fit(X, y).support_.sum() <= 3


def test_a_dense_shift_keeps_many_features():
    X, y = shifted(4, n_samples=150, n_shifted=12, size=0.8)
    assert SPARDA(random_state=0).fit(X, y).support_.sum() >= 8


def test_one_standard_error_is_never_denser():
    for seed in range(4):
        X, y = shifted(seed, n_samples=30, n_shifted=4, size=0.7)
        samples, labels = Samples(X), Labels(y, 2)
        for choose in (choose_level, choose_penalty):
            best, sparser = (
                choose(samples, labels, Wasserstein2(), np.random.default_rng(seed), one_standard_error=rule)
                for rule in (False, True)
            )
            np.testing.assert_array_equal(best.grid, sparser.grid)
            # The grid runs from sparse to dense.
            position = np.flatnonzero(best.grid == best.chosen)[0]
            chosen = np.flatnonzero(sparser.grid == sparser.chosen)[0]
            assert chosen <= position
            mean = best.held_out.mean(axis=0)
            error = best.held_out[:, position].std(ddof=1) / np.sqrt(len(best.held_out))
            assert mean[chosen] >= mean[position] - error
            assert (mean[:chosen] < mean[position] - error).all()


def test_same_seed_same_choice_for_any_number_of_threads():
    X, y = shifted(5)
    runs = [
        choose_level(Samples(X), Labels(y, 2), Wasserstein2(), np.random.default_rng(3), n_jobs=n_jobs)
        for n_jobs in (None, 1, 2)
    ]
    for run in runs[1:]:
        np.testing.assert_array_equal(run.held_out, runs[0].held_out)
        assert run.chosen == runs[0].chosen


@pytest.mark.parametrize("scale", [None, "pooled", "within"])
@pytest.mark.parametrize("parameter", ["n_features", "penalty"])
def test_few_rows_many_features(scale, parameter):
    rng = np.random.default_rng(6)
    for sizes in ((2, 2), (3, 7), (2, 2, 2)):
        y = np.repeat(np.arange(len(sizes)), sizes)
        X = rng.normal(size=(len(y), 15))
        found = SPARDA(**{parameter: "auto"}, scale=scale, effort="fast", random_state=0).fit(X, y)
        assert np.isfinite(found.path_.held_out).all()
        assert np.isfinite(found.divergences_[0])
        assert np.linalg.norm(found.components_) == pytest.approx(1.0)


def test_nothing_varies():
    found = SPARDA(random_state=0).fit(np.ones((8, 3)), np.arange(8) % 2)
    assert found.divergences_[0] == 0.0
    assert not found.support_.any()
    assert found.path_.chosen == 1


def test_weights_act_in_the_folds():
    # All the difference is in rows without weight in the second feature's favour.
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(80, 4)), np.arange(80) % 2
    X[y == 1, 0] += 2.0
    outliers = np.arange(80) >= 72
    X[outliers & (y == 1), 1] += 100.0
    weights = np.where(outliers, 1e-9, 1.0)
    found = SPARDA(random_state=0).fit(X, y, weights)
    assert found.path_.held_out.max() < 100.0
    assert found.support_[0] and not found.support_[1]
