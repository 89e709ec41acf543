from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import binom

from oracles import between_groups, wasserstein2
from princdiff.data.labels import Labels
from princdiff.data.samples import Samples
from princdiff.divergences import Wasserstein2
from princdiff.selection import held_out_scores
from princdiff.selection.held_out_scores import (
    Fold,
    credit_scores,
    family_wise_pvalues,
    fit_folds,
    shuffled_scores,
)
from princdiff.selection.suppressors import shuffled_gains, suppression_gains


def standard(X):
    return ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32)


def drawn(seed=0, n_rows=60, n_features=8, shift=0.0, features=(1, 4)):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n_rows, n_features)), rng.permutation(np.arange(n_rows) % 2)
    X[:, list(features)] += shift * y[:, None]
    return standard(X), Labels(y, 2)


def folds_of(X, labels, seed=0, n_folds=3, n_rounds=2, n_jobs=None):
    return fit_folds(X, labels, Wasserstein2(), np.random.default_rng(seed), n_folds, n_rounds, n_jobs)


# ---------------------------------------------------------------- folds


def test_folds_cover_the_rows_once():
    X, labels = drawn(shift=1.0)
    folds = folds_of(X, labels)
    rows = np.sort(np.concatenate([fold.rows for fold in folds]))
    np.testing.assert_array_equal(rows, np.arange(60))
    for fold in folds:
        np.testing.assert_array_equal(fold.labels.codes[0], labels.codes[0][fold.rows])
        # Levels 2, 3 and 5 of eight features, two rounds.
        assert fold.directions.shape == (6, 8)
        assert np.count_nonzero(fold.directions[0]) <= 2


def test_directions_do_not_know_the_rows_left_out(monkeypatch):
    X, labels = drawn(1, shift=1.0)
    # Folds follow from the rows: those of the changed rows must stay the same here.
    parts = held_out_scores.stratified_folds(Samples(X), labels, 5, 0)
    monkeypatch.setattr(held_out_scores, "stratified_folds", lambda *_: parts)
    folds = folds_of(X, labels)
    changed = X.copy()
    changed[folds[1].rows] = np.random.default_rng(0).normal(5.0, 3.0, size=(len(folds[1].rows), 8))
    again = folds_of(changed, labels)
    signs = np.sign(np.einsum("bd,bd->b", folds[1].directions, again[1].directions))
    np.testing.assert_allclose(again[1].directions * signs[:, None], folds[1].directions, atol=1e-6)
    assert not np.allclose(np.abs(again[0].directions), np.abs(folds[0].directions), atol=1e-2)


def test_folds_agree_on_signs_and_do_not_depend_on_threads():
    X, labels = drawn(2, shift=1.0)
    folds = folds_of(X, labels)
    for fold in folds:
        assert (np.einsum("bd,bd->b", fold.directions, folds[0].directions) >= 0).all()
    for first, second in zip(folds, folds_of(X, labels, n_jobs=2), strict=True):
        np.testing.assert_array_equal(first.directions, second.directions)


def test_later_rounds_look_elsewhere():
    # Two differences in opposite corners: the second round finds what the first did not use.
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(300, 12)), np.arange(300) % 2
    X[:, 0] += 3.0 * y
    X[:, 7] *= 1 + 1.5 * y
    X = standard(X)
    fold = folds_of(X, Labels(y, 2), n_folds=2)[0]
    # Levels 2, 3, 5 and 10: the third is taken out before the next round.
    middle = fold.directions[2], fold.directions[6]
    fitted = np.setdiff1d(np.arange(300), fold.rows)
    first, second = (X[fitted].astype(np.float64) @ direction for direction in middle)
    assert abs(np.corrcoef(first, second)[0, 1]) < 1e-3
    assert np.abs(middle[0]).argmax() == 0


def test_constant_features_and_few_features():
    X, labels = drawn(4, n_features=2, features=(0,), shift=1.0)
    folds = folds_of(X, labels)
    assert folds[0].directions.shape == (2, 2)
    X[:, 1] = 0.0
    folds = folds_of(X, labels)
    scores = credit_scores(X, folds, Wasserstein2())
    assert np.isfinite(scores).all()
    assert (np.abs(scores[:, 1]) < 1e-6).all()


# ---------------------------------------------------------------- scores


def displacement_of(projection, codes):
    """Derivative of the distance by every projected row, by differences; mean zero, unit length."""
    slope = approx_fprime(projection, lambda row: between_groups(row, codes), 1e-6)
    slope -= slope.mean()
    return slope / np.linalg.norm(slope)


def test_scores_by_their_definition():
    X, labels = drawn(5, n_rows=40, n_features=6, shift=0.7)
    folds = folds_of(X, labels, n_folds=2, n_rounds=1)
    expected = np.zeros(folds[0].directions.shape)
    for fold in folds:
        part = X[fold.rows].astype(np.float64)
        part = (part - part.mean(axis=0)) / part.std(axis=0)
        for b, direction in enumerate(fold.directions):
            for j in range(6):
                # Judged along the direction without its own weight.
                without = np.where(np.arange(6) == j, 0.0, direction)
                if without.any():
                    displacement = displacement_of(part @ without, fold.labels.codes[0])
                    expected[b, j] += displacement @ part[:, j]
    expected /= np.sqrt(2)
    np.testing.assert_allclose(credit_scores(X, folds, Wasserstein2())[:-1], expected, atol=5e-3)


def test_scores_of_noise_are_standard_normal():
    # A strong difference makes the directions; all other features have nothing to do with it.
    scores = []
    for seed in range(12):
        X, labels = drawn(seed, n_rows=100, n_features=30, shift=2.0)
        folds = folds_of(X, labels, n_folds=4, n_rounds=1)
        scores.append(np.delete(credit_scores(X, folds, Wasserstein2())[0], [1, 4]))
    scores = np.concatenate(scores)
    assert len(scores) == 336
    assert scores.mean() == pytest.approx(0.0, abs=0.2)
    assert scores.std() == pytest.approx(1.0, abs=0.15)


def test_features_that_differ_have_credit():
    X, labels = drawn(6, n_rows=100, n_features=10, shift=1.5)
    scores = np.abs(credit_scores(X, folds_of(X, labels, n_rounds=1), Wasserstein2())).max(axis=0)
    assert scores[[1, 4]].min() > 4
    assert np.delete(scores, [1, 4]).max() < 4


def test_shuffles_move_the_unselected_features_jointly():
    X, labels = drawn(7, n_rows=80, n_features=10, shift=1.5)
    X[:, 9] = -X[:, 8]
    folds = folds_of(X, labels, n_rounds=1)
    features = np.array([0, 2, 8, 9])
    seeds = np.arange(40)
    found = shuffled_scores(X, features, folds, Wasserstein2(), seeds, None)
    assert found.shape == (40, len(folds[0].directions) + 1, 4)
    np.testing.assert_array_equal(found, shuffled_scores(X, features, folds, Wasserstein2(), seeds, 2))
    # What depends on another feature goes on depending on it.
    n_directions = len(folds[0].directions)
    unused = [b for b in range(n_directions) if not any(fold.directions[b, 8:].any() for fold in folds)]
    for b in unused:
        np.testing.assert_allclose(found[:, b, 2], -found[:, b, 3], atol=1e-4)
    # By hand for one shuffle.
    moved = X.copy()
    order, rng = np.arange(80), np.random.default_rng(3)
    for fold in folds:
        # Inside the fold: rows that its directions were fitted on are not among them.
        order[fold.rows] = rng.permutation(fold.rows)
    moved[:, features] = X[order][:, features]
    expected = credit_scores(moved, folds, Wasserstein2())[:, features]
    np.testing.assert_allclose(found[3], expected, atol=1e-5)


def test_shuffles_of_what_differs_lose_its_credit():
    X, labels = drawn(8, n_rows=100, n_features=10, shift=1.5)
    folds = folds_of(X, labels, n_rounds=1)
    null = shuffled_scores(X, np.arange(10), folds, Wasserstein2(), np.arange(30), None)
    observed = credit_scores(X, folds, Wasserstein2())
    assert np.abs(observed[:, 1]).max() > np.abs(null[:, :, 1]).max()
    assert null[:, :-1].std() == pytest.approx(1.0, abs=0.25)


def test_loss_by_its_definition():
    X, labels = drawn(13, n_rows=60, n_features=6, shift=0.7)
    folds = folds_of(X, labels, n_folds=2, n_rounds=1)
    expected = np.zeros(6)
    for fold in folds:
        part = X[fold.rows].astype(np.float64)
        part = (part - part.mean(axis=0)) / part.std(axis=0)
        pair, codes = fold.directions[0], fold.labels.codes[0]
        assert np.count_nonzero(pair) == 2
        whole = np.sqrt(between_groups(part @ pair, codes))
        for j in np.flatnonzero(pair):
            without = np.where(np.arange(6) == j, 0.0, pair)
            expected[j] += whole - np.sqrt(between_groups(part @ without, codes))
    expected = np.maximum(expected, 0) / np.sqrt(2)
    np.testing.assert_allclose(credit_scores(X, folds, Wasserstein2())[-1], expected, atol=1e-4)


def test_a_pair_that_differs_only_jointly_is_seen_by_its_loss():
    rng = np.random.default_rng(12)
    X, y = rng.normal(size=(300, 8)), np.arange(300) % 2
    X[y == 1, 5] = 0.9 * X[y == 1, 2] + np.sqrt(0.19) * X[y == 1, 5]
    X = standard(X)
    folds = folds_of(X, Labels(y, 2), n_rounds=1)
    observed = credit_scores(X, folds, Wasserstein2())
    shuffled = shuffled_scores(X, np.arange(8), folds, Wasserstein2(), np.arange(60), None)
    pvalues = family_wise_pvalues(observed, shuffled)
    assert set(np.flatnonzero(pvalues <= 0.05)) == {2, 5}
    # Credit alone does not show the second: it is judged without its partner.
    assert family_wise_pvalues(observed[:-1], shuffled[:, :-1])[5] > 0.05


# ---------------------------------------------------------------- p-values


def test_family_wise_pvalues_by_hand():
    rng = np.random.default_rng(9)
    observed, shuffled = rng.normal(size=(3, 5)), rng.normal(size=(19, 3, 5))
    observed[1, 2] = 9.0
    pvalues = family_wise_pvalues(observed, shuffled)
    pool = np.concatenate([observed[None], shuffled])
    z = np.abs((pool - pool.mean(axis=0)) / pool.std(axis=0)).max(axis=1)
    for j in range(5):
        reached = sum(z[i].max() >= z[0, j] for i in range(1, 20))
        assert pvalues[j] == pytest.approx((1 + reached) / 20)
    assert pvalues[2] == pytest.approx(0.05)
    assert pvalues.argmin() == 2


def test_family_wise_pvalues_hold_their_level():
    # Data sets alike in distribution, features dependent on each other: any selection is a false one.
    n_sets, rejected = 400, 0
    rng = np.random.default_rng(10)
    for _ in range(n_sets):
        sets = rng.normal(size=(20, 2, 1)) + 0.5 * rng.normal(size=(20, 2, 6))
        rejected += family_wise_pvalues(sets[0], sets[1:]).min() <= 0.1 + 1e-9
    low, high = binom.interval(0.999, n_sets, 0.1)
    assert low <= rejected <= high


def test_a_loud_direction_does_not_hide_the_others():
    rng = np.random.default_rng(11)
    observed, shuffled = rng.normal(size=(2, 8)), rng.normal(size=(39, 2, 8))
    observed[0, 5] = 8.0
    observed[1], shuffled[:, 1] = 100 * observed[1], 100 * shuffled[:, 1]
    assert family_wise_pvalues(observed, shuffled)[5] == pytest.approx(1 / 40)


def test_scores_that_never_change_say_nothing():
    assert (family_wise_pvalues(np.zeros((2, 3)), np.zeros((9, 2, 3))) == 1).all()


# ---------------------------------------------------------------- suppressors


def suppressing(seed=0, n_rows=200):
    """A shifted feature and the noise it shares with another, which is not shifted."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % 2
    noise = rng.normal(size=n_rows)
    target = 0.8 * y + noise + 0.3 * rng.normal(size=n_rows)
    hidden = noise + 0.3 * rng.normal(size=n_rows)
    others = rng.normal(size=(n_rows, 3))
    values = standard(np.column_stack([target, hidden, others]))
    return np.ascontiguousarray(values.T), y


def test_gains_by_their_definition():
    values, y = suppressing(1)
    found = suppression_gains(values[[0, 2]], values[1:], Labels(y, 2), Wasserstein2())
    assert found.shape == (2, 4)
    for i, target in enumerate(values[[0, 2]].astype(np.float64)):
        alone = wasserstein2(target[y == 0], target[y == 1])
        for j, candidate in enumerate(values[1:].astype(np.float64)):
            if i == 1 and j == 1:
                continue
            residual = target - np.corrcoef(target, candidate)[0, 1] * candidate
            residual /= residual.std()
            expected = wasserstein2(residual[y == 0], residual[y == 1]) / alone - 1
            assert found[i, j] == pytest.approx(expected, rel=1e-3, abs=1e-3)


def test_near_duplicates_do_not_explode():
    values, y = suppressing(2)
    twin = values[:1] + np.float32(1e-6)
    found = suppression_gains(values[:1], np.concatenate([twin, values[1:]]), Labels(y, 2), Wasserstein2())
    assert np.isfinite(found).all()
    assert found[0, 0] < found[0, 1]


def test_suppressor_gains_more_than_any_shuffle():
    values, y = suppressing(3)
    labels = Labels(y, 2)
    gains = suppression_gains(values[:1], values[1:], labels, Wasserstein2())
    null = shuffled_gains(values[:1], values[1:], labels, Wasserstein2(), np.arange(60), None)
    assert null.shape == (60,)
    assert gains.argmax() == 0
    assert gains[0, 0] > 2 * null.max()
    assert (gains[0, 1:] <= null.max()).all()
    again = shuffled_gains(values[:1], values[1:], labels, Wasserstein2(), np.arange(60), 2)
    np.testing.assert_array_equal(again, null)


def test_fold_is_frozen():
    fold = Fold(np.arange(2), Labels([0, 1], 2), np.zeros((1, 3)))
    with pytest.raises(AttributeError):
        fold.rows = np.arange(3)
