"""Persons in one group and persons in several: what moves, among which, and that tests are exact."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from princdiff import permutation_test
from princdiff.labellings.schemes import Scheme
from princdiff.labellings.units import Units
from princdiff.selection.intervals import Sampling, effect_interval


def persons(rng, kind, n_persons=12):
    """Rows of persons that differ, in one group each, in both, or half of each kind."""
    block = np.repeat(np.arange(n_persons), rng.integers(2, 5, n_persons))
    codes = np.zeros(len(block), dtype=np.uint8)
    for person in range(n_persons):
        own = np.flatnonzero(block == person)
        crossed = kind == "crossed" or (kind == "mixed" and person % 2 == 0)
        codes[own] = rng.permutation(np.arange(len(own)) % 2) if crossed else person // 2 % 2
    rows = 2 * rng.normal(size=(n_persons, 3))[block] + rng.normal(size=(len(block), 3))
    return rows, codes, block


def test_what_moves_and_among_which():
    rng = np.random.default_rng(0)
    _, codes, block = persons(rng, "mixed")
    scheme = Scheme(codes, 400, 1, block, "mixed")
    every = scheme.codes(np.arange(401))
    np.testing.assert_array_equal(every[0], codes)
    crossed = np.array([len(set(codes[block == person])) > 1 for person in range(12)])
    for person in range(12):
        own = every[:, block == person]
        if crossed[person]:
            # Rows change sides, and the person keeps as many in each group.
            assert (own.sum(axis=1) == own[0].sum()).all() and (own != own[0]).any()
        else:
            assert (own == own[:, :1]).all() and len(np.unique(own)) == 2
    whole = every[:, [np.flatnonzero(block == person)[0] for person in np.flatnonzero(~crossed)]]
    assert (whole.sum(axis=1) == whole[0].sum()).all()


def test_all_labellings_of_a_small_design():
    # One person with a row in each group, and four with two rows in one.
    codes = np.array([0, 1, 0, 0, 0, 0, 1, 1, 1, 1], dtype=np.uint8)
    block = np.array([0, 0, 1, 1, 2, 2, 3, 3, 4, 4])
    scheme = Scheme(codes, 999, 0, block, "mixed")
    # Two ways times six, each with its mirror image.
    assert scheme.exhaustive and scheme.n_labellings == 6


@pytest.mark.parametrize("kind", ["nested", "crossed", "mixed"])
def test_level(kind):
    rejected, n_sets = 0, 30
    for seed in range(n_sets):
        rows, codes, block = persons(np.random.default_rng([1, seed]), kind)
        options = {"statistic": "divergence", "n_permutations": 19, "random_state": seed}
        rejected += permutation_test(rows, codes, blocks=block, **options).pvalue <= 0.05
    assert rejected <= binom.ppf(0.999, n_sets, 0.05)


def test_a_shift_within_and_between_persons_is_found():
    rows, codes, block = persons(np.random.default_rng(2), "mixed", 24)
    rows[codes == 1, 1] += 3
    assert permutation_test(rows, codes, blocks=block, n_permutations=99, random_state=0).pvalue <= 0.02


def test_interval_of_persons_of_both_kinds():
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(200):
        rows, codes, block = persons(rng, "mixed", 24)
        found = effect_interval(rows[:, 0], Sampling(codes == 1, blocks=block, whole=True))
        covered += found.low <= 0 <= found.high
    assert covered >= binom.ppf(0.001, 200, 0.93)


def test_units_of_some_rows():
    codes = np.array([0, 1, 0, 0, 1, 1], dtype=np.uint8)
    taken = Units.of(codes, np.array([0, 0, 1, 1, 2, 2]), "mixed").take(np.array([1, 2, 3, 5]))
    assert taken.of_row.tolist() == [0, 1, 1, 2] and taken.strata.tolist() == [0, 1, 1]
    np.testing.assert_array_equal(taken.averaged(np.arange(4.0)[:, None])[:, 0], [0, 1.5, 3])
    np.testing.assert_array_equal(taken.stratum_means(np.arange(4.0)[:, None])[:, 0], [0, 2, 2, 2])
