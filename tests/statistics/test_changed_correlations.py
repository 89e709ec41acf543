from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats

from princdiff.labellings.pvalues import step_down_pvalues
from princdiff.labellings.schemes import Scheme
from princdiff.statistics import changed_correlations as module
from princdiff.statistics import group_correlations
from princdiff.statistics.changed_correlations import (
    _advantages,
    _normal_scores,
    has_few_values,
    product_relation_scores,
    relation_scores,
)
from princdiff.statistics.contrasts import Relabellings
from princdiff.statistics.group_correlations import GroupCorrelations


def halves(n_rows):
    return np.repeat([0, 1], n_rows // 2).astype(np.uint8)


def relabelled(codes, n_permutations=199, seed=0, **options):
    return Relabellings(Scheme(codes, n_permutations, seed), int(codes.max()) + 1, **options)


def named(found, alpha=0.05):
    """Pairs below a level, as sets of features."""
    adjusted = step_down_pvalues(np.column_stack([found.scores, found.rest]))[:-1]
    return {tuple(pair) for pair in found.pairs[adjusted <= alpha].tolist()}


def coupled(rng, n_rows, n_features, pair=(1, 4), strength=0.9):
    """Independent features, two of which go together in the second half."""
    rows = rng.normal(size=(n_rows, n_features))
    first, second = pair
    own = np.arange(n_rows) >= n_rows // 2
    mixed = strength * rows[:, first] + np.sqrt(1 - strength**2) * rows[:, second]
    rows[own, second] = mixed[own]
    return rows


# ---------------------------------------------------------------- the statistic


@pytest.mark.parametrize("n_groups", [2, 4])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("many_rows", [False, True])
def test_changes_by_their_definition(n_groups, weighted, many_rows, monkeypatch):
    # Many rows are taken together in sums of products, few one labelling after the other.
    monkeypatch.setattr(group_correlations, "_MANY_ROWS", 0 if many_rows else 10**9)
    rng = np.random.default_rng(0)
    codes = rng.permutation(np.arange(60) % n_groups).astype(np.uint8)
    left, right = rng.normal(size=(60, 3)).astype(np.float32), rng.normal(size=(60, 5)).astype(np.float32)
    weights = rng.random(60) + 0.1 if weighted else None
    labellings = relabelled(codes, 9, weights=weights)
    sums = GroupCorrelations(np.concatenate([left, right], axis=1), slice(0, 3), slice(3, None), labellings)
    found = sums.changes(np.ones(15, dtype=bool), None).reshape(10, 3, 5)
    for index, labelling in enumerate(labellings.scheme.codes(np.arange(10))):
        mass, correlations = [], []
        for group in range(n_groups):
            own = labelling == group
            w = np.ones(own.sum()) if weights is None else weights[own]
            covariance = np.cov(np.column_stack([left, right])[own].T, aweights=w, ddof=0)
            spread = np.sqrt(np.diag(covariance))
            correlations.append((covariance / np.outer(spread, spread))[:3, 3:])
            mass.append(w.sum())
        mean = np.average(correlations, axis=0, weights=mass)
        expected = sum(m * (r - mean) ** 2 for m, r in zip(mass, correlations, strict=True))
        np.testing.assert_allclose(found[index], expected, rtol=2e-3, atol=2e-4)
        if index == 0:
            np.testing.assert_allclose(
                sums.observed_correlations().reshape(n_groups, 3, 5), correlations, atol=1e-5
            )


def test_normal_scores():
    values = np.array([5.0, 1.0, 9.0, 2.0])
    scores = _normal_scores(values)
    expected = stats.norm.ppf(([3, 1, 4, 2] - np.float64(0.5)) / 4)
    np.testing.assert_allclose(scores, expected / expected.std())
    assert (_normal_scores(np.ones(5)) == 0).all()
    # A flag stays a flag.
    assert len(np.unique(_normal_scores(np.array([0.0, 1.0, 0.0, 0.0])))) == 2


@pytest.mark.parametrize("weighted", [False, True])
def test_advantages_share_out_the_error(weighted):
    rng = np.random.default_rng(12)
    values = rng.normal(size=(90, 7))
    values[:, 1] += values[:, 0]
    values[:, 6] = values[:, 5]
    weights = rng.uniform(0.5, 2.0, 90) if weighted else None
    share = np.full(90, 1 / 90) if weights is None else weights / weights.sum()
    values = values - share @ values
    values /= np.sqrt(share @ values**2)
    wanted = np.triu(np.ones((7, 7), dtype=bool), 1)
    wanted[2, 3] = False
    found = _advantages(values.astype(np.float32), values.astype(np.float32), wanted, weights)
    # 21 pairs; one is not wanted, one a copy.
    odds = {}
    for i, j in zip(*np.nonzero(wanted), strict=True):
        r = np.cov(values[:, [i, j]].T, aweights=share, ddof=0)[0, 1]
        if (i, j) != (5, 6):
            ratio = np.exp(r**2 / (share**2).sum() / 2)
            odds[i, j] = ratio / (ratio + 19)
    total = sum(odds.values())
    for (i, j), odd in odds.items():
        assert found[i, j] == pytest.approx(np.log(0.5 + 0.5 * 19 * odd / total), abs=2e-4)
    assert np.exp([found[pair] for pair in odds]).sum() == pytest.approx(19, rel=1e-4)
    assert max(odds, key=lambda pair: found[pair]) == (0, 1)


def test_dependent_pairs_compete_with_each_other(monkeypatch):
    # A change of correlation from .8 to .5 drowns among 44 850 pairs, but not among the three that depend.
    rng = np.random.default_rng(18)
    rows, codes = rng.normal(size=(300, 300)), halves(300)
    for first, second in ((0, 1), (2, 3), (4, 5)):
        rows[:, second] = 0.8 * rows[:, first] + 0.6 * rows[:, second]
    own = codes == 1
    rows[own, 1] = 0.5 * rows[own, 0] + np.sqrt(0.75) * rng.normal(size=own.sum())
    labellings = relabelled(codes)
    assert named(relation_scores(rows, labellings), 0.02) == {(0, 1)}
    monkeypatch.setattr(module, "_FAVOURED", 0.0)
    assert named(relation_scores(rows, labellings), 0.1) == set()


def test_every_pair_is_looked_at_once(monkeypatch):
    rng = np.random.default_rng(1)
    rows, labellings = rng.normal(size=(40, 9)), relabelled(halves(40), 19)
    units = np.array([0, 1, 2, 2, 2, 3, 4, 5, 6])
    whole = relation_scores(rows, labellings, units)
    expected = {(i, j) for i in range(9) for j in range(i + 1, 9) if units[i] != units[j]}
    assert whole.n_pairs == len(expected) == 33
    assert set(map(tuple, whole.pairs.tolist())) == expected
    assert (whole.rest == 0).all()
    # In pieces, with threads and with most of the pairs as "the rest": the same.
    monkeypatch.setattr(module, "_BLOCK_STATISTICS", 20 * 20)
    monkeypatch.setattr(module, "_KEPT", 4)
    pieces = relation_scores(rows, labellings, units, n_jobs=2)
    assert pieces.n_pairs == 33
    place = {tuple(pair): column for column, pair in enumerate(whole.pairs.tolist())}
    kept = [place[tuple(pair)] for pair in pieces.pairs.tolist()]
    np.testing.assert_allclose(pieces.scores, whole.scores[:, kept], rtol=1e-4, atol=1e-4)
    others = np.setdiff1d(np.arange(33), kept)
    np.testing.assert_allclose(pieces.rest, whole.scores[:, others].max(axis=1), rtol=1e-4, atol=1e-4)


# ---------------------------------------------------------------- what is named


@pytest.mark.parametrize("seed", range(2))
def test_a_pair_that_goes_together_in_one_group_is_named(seed):
    rows = coupled(np.random.default_rng([2, seed]), 400, 20, strength=0.6)
    found = relation_scores(rows, relabelled(halves(400)))
    assert named(found, 0.01) == {(1, 4)}
    leader = found.scores[0].argmax()
    assert found.correlations[:, leader] == pytest.approx([0.0, 0.6], abs=0.15)


def test_what_features_do_by_themselves_leaves_no_trace():
    rng = np.random.default_rng(3)
    rows, codes = rng.normal(size=(400, 8)) + rng.normal(size=(400, 1)), halves(400)
    rows[200:, 0] += 2
    rows[200:, 1] *= 3
    rows[200:, 2] = np.exp(rows[200:, 2])
    assert named(relation_scores(rows, relabelled(codes)), 0.01) == set()


def test_three_groups_and_donors():
    rng = np.random.default_rng(4)
    rows, codes = rng.normal(size=(300, 6)), (np.arange(300) % 3).astype(np.uint8)
    rows[codes == 2, 5] = 0.8 * rows[codes == 2, 0] + 0.6 * rows[codes == 2, 5]
    assert named(relation_scores(rows, relabelled(codes)), 0.01) == {(0, 5)}

    blocks = np.repeat(np.arange(12), 25)
    codes = (blocks >= 6).astype(np.uint8)
    scheme = Scheme(codes, 999, 0, blocks=blocks, permute="whole")
    rows = coupled(rng, 300, 6)
    found = relation_scores(rows, Relabellings(scheme, 2))
    assert named(found, 0.05) == {(1, 4)}


def test_family_wise_error_of_pairs():
    # Factors, heavy tails, rare flags, unequal groups, other shapes in one group: 40 runs, 99.9 % band.
    false = 0
    for seed in range(40):
        rng = np.random.default_rng([5, seed])
        codes = np.repeat([0, 1], [70, 150]).astype(np.uint8)
        rows = rng.normal(size=(220, 10)) + rng.normal(size=(220, 1))
        rows[:, 7] = rng.random(220) < 0.03
        rows[:, 8] = rng.standard_t(2, size=220)
        rows[codes == 1, :3] = np.exp(rows[codes == 1, :3])
        false += len(named(relation_scores(rows, relabelled(codes, 99, seed)))) > 0
    assert false <= stats.binom.ppf(0.999, 40, 0.05)


def test_products_show_what_no_pair_does():
    # The sign of the third feature is that of the product of the others in one group.
    rng = np.random.default_rng(6)
    rows, codes = rng.normal(size=(600, 8)), halves(600)
    own = codes == 1
    rows[own, 5] = np.abs(rows[own, 5]) * np.sign(rows[own, 0] * rows[own, 2])
    labellings = relabelled(codes)
    assert named(relation_scores(rows, labellings), 0.01) == set()
    factors, others = np.array([(2, -1), (0, -1), (2, 2), (0, 0), (2, 0)]), np.array([1, 3, 4, 5, 6, 7])
    found = product_relation_scores(rows, labellings, factors, others)
    assert found.n_pairs == 5 * 6
    assert named(found, 0.01) == {(2, 0, 5)}
    # Not so if both groups have it.
    rows[~own, 5] = np.abs(rows[~own, 5]) * np.sign(rows[~own, 0] * rows[~own, 2])
    found = product_relation_scores(rows, labellings, factors, others)
    assert named(found, 0.01) == set()


def test_factors_are_what_they_say(monkeypatch):
    # Shares of the error depend on which pairs are looked at, the scores themselves do not.
    monkeypatch.setattr(module, "_FAVOURED", 0.0)
    rng = np.random.default_rng(11)
    rows, labellings = rng.normal(size=(60, 5)), relabelled(halves(60), 19)
    found = product_relation_scores(rows, labellings, np.array([(3, -1), (3, 3), (1, 3)]), np.array([0, 4]))
    pairs = relation_scores(rows, labellings)
    squares = relation_scores(np.column_stack([rows, _squares_within(rows[:, 3])]), labellings)
    for one, other in (((3, -1, 0), (pairs, (0, 3))), ((3, 3, 4), (squares, (4, 5)))):
        scores, pair = other
        mine = found.scores[:, found.pairs.tolist().index(list(one))]
        theirs = scores.scores[:, scores.pairs.tolist().index(list(pair))]
        np.testing.assert_allclose(mine, theirs, rtol=1e-3, atol=1e-3)


def _squares_within(column):
    squares = np.concatenate([_normal_scores(column[:30]) ** 2, _normal_scores(column[30:]) ** 2])
    # Scores are symmetric about zero: their squares tie.
    return np.round(squares, 4)


# ---------------------------------------------------------------- features


def test_few_values():
    rng = np.random.default_rng(7)
    rows = np.column_stack(
        [rng.normal(size=100), rng.random(100) < 0.5, rng.poisson(3, 100), np.arange(100) // 3, np.ones(100)]
    )
    assert has_few_values(rows, np.arange(5)).tolist() == [False, True, True, False, True]
    assert has_few_values(sp.csr_matrix(rows), np.array([3, 1])).tolist() == [False, True]


def test_of_many_features_those_that_depend_on_others(monkeypatch):
    rng = np.random.default_rng(8)
    rows = coupled(rng, 300, 40)
    rows[:, 30:36] += 2 * rng.normal(size=(300, 1))
    monkeypatch.setattr(module, "MOST_FEATURES", 10)
    codes = halves(300)
    found = relation_scores(rows, relabelled(codes, 99))
    assert set(found.features.tolist()) >= {1, 4, *range(30, 36)}
    assert found.n_pairs == 45
    # The choice does not see labels.
    other = relation_scores(rows, relabelled(rng.permutation(codes), 19))
    np.testing.assert_array_equal(other.features, found.features)


def test_storage_does_not_matter():
    rng = np.random.default_rng(9)
    rows = rng.poisson(1.0, size=(80, 6)).astype(float)
    rows[:, 3] = 0.0
    labellings = relabelled(halves(80), 49)
    dense, sparse = relation_scores(rows, labellings), relation_scores(sp.csr_matrix(rows), labellings)
    np.testing.assert_allclose(sparse.scores, dense.scores, rtol=1e-5, atol=1e-6)
    # A constant goes with nothing.
    assert (dense.scores[:, (dense.pairs == 3).any(axis=1)] == 0).all()


def test_one_feature_has_no_pairs():
    found = relation_scores(np.random.default_rng(10).normal(size=(20, 1)), relabelled(halves(20), 9))
    assert found.n_pairs == 0 and found.scores.shape == (10, 0) and found.pairs.shape == (0, 2)


def test_rare_flags_that_never_meet_do_not_rule_the_maximum():
    # A labelling may give a group none of the ones; the zeros left must not count as going together.
    rng = np.random.default_rng(4)
    rows = (rng.random((600, 24)) < np.geomspace(0.003, 0.05, 24)).astype(float)
    codes = np.repeat([0, 1], 300).astype(np.uint8)
    found = relation_scores(rows, Relabellings(Scheme(codes, 199, seed=0), 2))
    largest = np.maximum(found.scores.max(axis=1), found.rest)
    # About exponential, so the largest of 200 x 276 scores is about 11.
    assert largest.max() < 30


def test_of_very_many_rows_a_sample_is_looked_at_under_the_same_labellings(monkeypatch):
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(600, 4))
    rows[300:, 1] = 0.9 * rows[300:, 2] + 0.4 * rows[300:, 1]
    labellings = Relabellings(Scheme(np.repeat([0, 1], 300).astype(np.uint8), 99, seed=0), 2)
    monkeypatch.setattr(module, "_PAIR_WORK", 0.0)
    monkeypatch.setattr(module, "_FEWEST_ROWS", 200)
    found = relation_scores(rows, labellings)
    taken = np.sort(np.random.default_rng(0).permutation(600)[:200])
    monkeypatch.setattr(module, "_FEWEST_ROWS", 600)
    alone = relation_scores(
        rows[taken], Relabellings(_Given(labellings.scheme.codes(np.arange(100))[:, taken]), 2)
    )
    assert (found.n_rows, alone.n_rows) == (200, 200)
    assert found.pairs[found.scores[0].argmax()].tolist() == [1, 2]
    np.testing.assert_allclose(found.scores, alone.scores, rtol=1e-5)
    np.testing.assert_allclose(found.correlations, alone.correlations, rtol=1e-5)


class _Given:
    """Labellings that are listed."""

    conditional, units = False, None

    def __init__(self, codes: np.ndarray) -> None:
        self._codes = codes
        self.n_labellings, self.n_rows = codes.shape

    def codes(self, indices: np.ndarray) -> np.ndarray:
        return self._codes[indices]


def test_ranks_of_all_rows_treat_every_labelling_alike():
    rng = np.random.default_rng(0)
    rows = coupled(rng, 8, 3, pair=(0, 2))
    rows[:, 1] = rows[:, 1] > 0
    maxima = []
    for codes in ([0, 0, 0, 0, 1, 1, 1, 1], [0, 1, 1, 0, 1, 0, 0, 1]):
        # All 70 labellings, each time with another one observed.
        design = relabelled(np.array(codes, dtype=np.uint8))
        found = relation_scores(rows, design, within=False)
        maxima.append(np.sort(np.column_stack([found.scores, found.rest]).max(axis=1)))
    np.testing.assert_allclose(maxima[0], maxima[1], rtol=1e-4, atol=1e-4)
