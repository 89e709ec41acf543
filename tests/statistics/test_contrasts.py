from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from princdiff.kernels import labelled_sums as sums_module
from princdiff.labellings.schemes import Scheme
from princdiff.statistics import contrasts as module
from princdiff.statistics.contrasts import Contrasts, Relabellings
from princdiff.statistics.scores import gamma_scores


def between_by_hand(column, codes, weights=None):
    """Between-group sum of squares over the variance, row by row."""
    weights = np.ones(len(column)) if weights is None else weights
    mean = np.average(column, weights=weights)
    total = 0.0
    for group in np.unique(codes):
        own = codes == group
        total += weights[own].sum() * (np.average(column[own], weights=weights[own]) - mean) ** 2
    variance = np.average((column - mean) ** 2, weights=weights) / (1 - 1 / len(column))
    return total / variance


def drawn(seed, n_rows=30, n_groups=2, n_columns=3):
    rng = np.random.default_rng(seed)
    codes = (np.arange(n_rows) % n_groups).astype(np.uint8)
    codes[:3] = 0
    return rng, rng.normal(size=(n_rows, n_columns)) + 3, codes


@pytest.mark.parametrize("n_groups", [2, 3, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_of_squares_by_their_definition(n_groups, weighted):
    rng, columns, codes = drawn(0, n_groups=n_groups)
    weights = rng.random(30) if weighted else None
    scheme = Scheme(codes, 19, seed=1)
    found = Contrasts(Relabellings(scheme, n_groups, weights=weights)).between(columns)
    assert found.shape == (20, 3)
    labellings = scheme.codes(np.arange(20))
    for i in (0, 1, 7, 19):
        for j in range(3):
            expected = between_by_hand(columns[:, j], labellings[i], weights)
            assert found[i, j] == pytest.approx(expected, rel=1e-4)


def test_two_groups_agree_with_students_test():
    _, columns, codes = drawn(1)
    found = Contrasts(Relabellings(Scheme(codes, 9, seed=0), 2)).between(columns)[0]
    t = stats.ttest_ind(columns[codes == 0], columns[codes == 1]).statistic
    np.testing.assert_allclose(found, 29 * t**2 / (t**2 + 28), rtol=1e-5)


def test_whole_blocks_are_rows_that_move_together():
    rng = np.random.default_rng(2)
    blocks = rng.permutation(np.repeat(np.arange(8), [2, 5, 3, 4, 1, 6, 2, 7]))
    codes = (blocks >= 4).astype(np.uint8)
    columns = rng.normal(size=(30, 2))
    scheme = Scheme(codes, 999, seed=0, blocks=blocks, permute="whole")
    assert scheme.exhaustive
    found = Contrasts(Relabellings(scheme, 2)).between(columns)
    labellings = scheme.codes(np.arange(scheme.n_labellings))
    for i in (0, 3, 30):
        assert found[i, 1] == pytest.approx(between_by_hand(columns[:, 1], labellings[i]), rel=1e-4)


def test_levels_of_blocks_do_not_matter_within_them():
    rng = np.random.default_rng(3)
    blocks = np.repeat(np.arange(10), 3)
    codes = np.tile([0, 1, 1], 10).astype(np.uint8)
    columns = rng.normal(size=(30, 2))
    scheme = Scheme(codes, 19, seed=0, blocks=blocks)
    contrasts = Contrasts(Relabellings(scheme, 2))
    found = contrasts.between(columns)
    moved = contrasts.between(columns + 100 * rng.normal(size=(10, 2))[blocks])
    np.testing.assert_allclose(moved, found, rtol=1e-3, atol=1e-5)
    centred = columns - np.array([columns[blocks == b].mean(axis=0) for b in range(10)])[blocks]
    assert found[4, 0] == pytest.approx(
        between_by_hand(centred[:, 0], scheme.codes(np.array([4]))[0]), rel=1e-4
    )


def test_chunks_and_threads_change_nothing(monkeypatch):
    _, columns, codes = drawn(5, n_rows=60)
    labellings = Relabellings(Scheme(codes, 99, seed=0), 2)
    whole = Contrasts(labellings).between(columns)
    monkeypatch.setattr(module, "_CHUNK_ELEMENTS", 700)
    np.testing.assert_allclose(Contrasts(labellings, n_jobs=2).between(columns), whole, rtol=1e-5, atol=1e-6)
    monkeypatch.setattr(module, "_KEPT_BYTES", 10)
    np.testing.assert_allclose(Contrasts(labellings).between(columns), whole, rtol=1e-5, atol=1e-6)


def test_constants_and_units():
    _, columns, codes = drawn(6)
    columns[:, 0] = 7.7
    contrasts = Contrasts(Relabellings(Scheme(codes, 9, seed=0), 2))
    found = contrasts.between(columns)
    assert (found[:, 0] == 0).all()
    np.testing.assert_allclose(
        contrasts.between(columns * [1, 1e-150, 1e150])[:, 1:], found[:, 1:], rtol=1e-4
    )


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("n_rows", [1000, 20_000])
def test_a_single_one_differs_alike_under_every_labelling(n_rows, compiled, monkeypatch):
    if not compiled:
        monkeypatch.setattr(sums_module, "_SUMS", SimpleNamespace(available=False))
    # With groups of equal size it is in one of them or in the other: any variation is rounding, which scores
    # would take for a difference.
    column = np.zeros((n_rows, 1))
    column[0] = 1.0
    codes = np.repeat([0, 1], n_rows // 2).astype(np.uint8)
    statistics = Contrasts(Relabellings(Scheme(codes, 49, seed=0), 2)).between(column)
    np.testing.assert_allclose(statistics, 1.0, rtol=1e-4)
    assert not gamma_scores(statistics).any()
