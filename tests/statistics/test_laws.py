"""Laws of sums under relabelling: against enumeration of all relabellings, and laws known in closed form."""

from itertools import chain, combinations, product
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from princdiff.statistics import laws
from princdiff.statistics.laws import (
    Drawing,
    Grams,
    Points,
    SquaresLaw,
    _moments_of_squares,
    bins_of,
    harmonic,
    sum_law,
    variance_of_sums,
)

DESIGNS = {
    "free": (np.zeros(12, dtype=int), np.repeat([0, 1], [4, 8])),
    "strata": (np.repeat([0, 1, 2], [4, 4, 3]), np.array([0, 0, 1, 1, 0, 1, 1, 1, 0, 0, 1])),
    "pairs": (np.repeat(np.arange(7), 2), np.tile([0, 1], 7)),
    "three groups": (np.zeros(12, dtype=int), np.repeat([0, 1, 2], [3, 4, 5])),
}


def every_sum(columns, drawing, group=0):
    """Sums of one group under all relabellings."""
    members = [
        combinations(np.flatnonzero(drawing.strata == stratum), taken)
        for stratum, taken in enumerate(drawing.taken[group])
    ]
    return np.array([columns[list(chain(*own))].sum(axis=0) for own in product(*members)])


def centred(columns, strata):
    means = np.array([columns[strata == stratum].mean(axis=0) for stratum in range(strata.max() + 1)])
    return columns - means[strata]


@pytest.mark.parametrize("design", DESIGNS)
def test_moments_by_enumeration(design):
    strata, codes = DESIGNS[design]
    drawing = Drawing.of(codes, strata)
    rng = np.random.default_rng(0)
    columns = centred(np.exp(rng.normal(size=(len(codes), 2, 3))), strata)
    sums = every_sum(columns, drawing)
    np.testing.assert_allclose(
        variance_of_sums(columns.reshape(len(codes), -1), drawing, 0), sums.var(axis=0).ravel()
    )
    weights = np.array([1.0, 0.5, 0.2])
    squares = (sums / sums.std(axis=0)) ** 2 @ weights
    normal, excess, _ = _moments_of_squares(
        Grams.of(columns, drawing), np.broadcast_to(weights, (2, 3)), drawing, 0
    )
    np.testing.assert_allclose(squares.mean(axis=0), weights.sum())
    np.testing.assert_allclose(squares.var(axis=0), normal + excess)


@pytest.mark.parametrize(
    "law", [lambda rng, n: rng.normal(size=n), lambda rng, n: np.exp(rng.normal(size=n))]
)
@pytest.mark.parametrize("taken", [8, 5])
def test_tails_of_few_rows_by_enumeration(law, taken):
    rng = np.random.default_rng(1)
    columns = law(rng, 17)[:, None]
    drawing = Drawing.of((np.arange(17) >= taken).astype(int), np.zeros(17, dtype=int))
    sums = every_sum(columns, drawing)[:, 0] - taken * columns.mean()
    scores = sum_law(Points.of(columns, drawing), drawing, 0).scores(
        sums[:, None] / np.sqrt(variance_of_sums(columns, drawing, 0))
    )[:, 0]
    ranked = np.sort(sums)
    for share in (0.2, 0.05, 0.01, 0.002):
        for threshold in np.quantile(ranked, [share, 1 - share], method="closest_observation"):
            exact = 2 * min((ranked <= threshold).mean(), (ranked >= threshold).mean())
            assert np.exp(-scores[np.argmin(abs(sums - threshold))]) == pytest.approx(exact, rel=0.35)


@pytest.mark.parametrize(
    ("n_rows", "taken", "ones"), [(1108, 236, 3), (1108, 236, 60), (300, 15, 5), (300, 285, 80), (60, 30, 20)]
)
def test_flags_have_the_hypergeometric_law(n_rows, taken, ones):
    flag = np.repeat([1.0, 0.0], [ones, n_rows - ones])[:, None]
    drawing = Drawing.of((np.arange(n_rows) >= taken).astype(int), np.zeros(n_rows, dtype=int))
    known = stats.hypergeom(n_rows, ones, taken)
    counts = np.arange(max(0, taken + ones - n_rows), min(ones, taken) + 1)
    counts = counts[
        (2 * np.minimum(known.cdf(counts), known.sf(counts - 1)) < 0.5) & (known.pmf(counts) > 1e-8)
    ]
    scores = sum_law(Points.of(flag, drawing), drawing, 0, 1.0).scores(
        ((counts - ones * taken / n_rows) / known.std())[:, None]
    )[:, 0]
    exact = 2 * np.minimum(known.cdf(counts), known.sf(counts - 1))
    np.testing.assert_allclose(-scores, np.log(exact), rtol=0.04, atol=0.2)


def test_pairs_are_as_good_as_exact_far_out():
    rng = np.random.default_rng(9)
    columns = np.exp(rng.normal(size=(28, 1)))
    drawing = Drawing.of(np.tile([0, 1], 14), np.repeat(np.arange(14), 2))
    sums = every_sum(centred(columns, drawing.strata), drawing)[:, 0]
    deviation = np.sqrt(variance_of_sums(columns, drawing, 0))
    ranked = np.sort(sums)
    law = sum_law(Points.of(columns, drawing), drawing, 0)
    for reached in (3, 20, 300, 2000):
        score = law.scores(ranked[[-reached]][:, None] / deviation)[0, 0]
        assert np.exp(-score) == pytest.approx(2 * reached / len(ranked), rel=0.3)


def test_flags_in_strata_have_the_convolution_of_their_laws():
    strata, drawn = np.repeat([0, 1, 2], 20), (5, 10, 15)
    codes = np.concatenate([np.repeat([0, 1], [taken, 20 - taken]) for taken in drawn])
    flag = (np.random.default_rng(2).random(60) < 0.25).astype(float)
    chances = np.ones(1)
    for stratum, taken in enumerate(drawn):
        ones = int(flag[strata == stratum].sum())
        chances = np.convolve(chances, stats.hypergeom(20, ones, taken).pmf(np.arange(ones + 1)))
    counts = np.arange(len(chances))
    mean = chances @ counts
    drawing = Drawing.of(codes, strata)
    deviation = np.sqrt(variance_of_sums(flag[:, None], drawing, 0))
    assert deviation[0] ** 2 == pytest.approx(chances @ (counts - mean) ** 2)
    law = sum_law(Points.of(flag[:, None], drawing), drawing, 0, 1.0)
    tails = np.array([chances[count:].sum() for count in counts])
    some = (tails < 0.2) & (tails > 1e-5)
    found = law.scores(((counts - mean) / deviation)[:, None])[:, 0]
    np.testing.assert_allclose(-found[some], np.log(2 * tails[some]), atol=0.4)


@pytest.mark.parametrize("taken", [15, 150, 285])
@pytest.mark.parametrize("heavy", ["t2", "lognormal", "cauchy"])
def test_tails_of_heavy_tails_in_groups_of_any_size(taken, heavy):
    rng = np.random.default_rng(3)
    draw = {
        "t2": lambda: rng.standard_t(2, size=300),
        "lognormal": lambda: np.exp(1.4 * rng.normal(size=300)),
        "cauchy": lambda: rng.standard_cauchy(size=300),
    }[heavy]
    column = draw()
    fewer = min(taken, 300 - taken)
    order = np.argpartition(rng.random((20_000, 300)), fewer, axis=1)[:, :fewer]
    sums = column[order].sum(axis=1) - fewer * column.mean()
    sums = sums if fewer == taken else -sums
    drawing = Drawing.of((np.arange(300) >= taken).astype(int), np.zeros(300, dtype=int))
    deviation = np.sqrt(variance_of_sums(column[:, None], drawing, 0))
    scores = sum_law(Points.of(column[:, None], drawing), drawing, 0).scores(sums[:, None] / deviation)
    for level in (0.05, 0.01, 0.002):
        assert (scores > -np.log(level)).mean() == pytest.approx(level, rel=0.5)


def test_sums_of_squares_have_gamma_tails_unless_few_rows_rule_them():
    rng = np.random.default_rng(4)
    drawing = Drawing.of((np.arange(200) >= 30).astype(int), np.zeros(200, dtype=int))
    columns = np.zeros((200, 2, 3))
    columns[:, 0] = rng.uniform(size=(200, 3))
    columns[:1, 1] = rng.normal(size=(1, 3))
    columns -= columns.mean(axis=0)
    weights = np.array([1.0, 0.3, 0.1])
    law = SquaresLaw.of(Grams.of(columns, drawing), weights, drawing)
    assert law.known.tolist() == [True, False]
    deviation = np.sqrt(variance_of_sums(columns.reshape(200, -1), drawing, 0).reshape(2, 3))
    drawn = np.array([columns[rng.permutation(200)[:30]].sum(axis=0) for _ in range(5000)])
    scores = law.scores((drawn / deviation) ** 2 @ weights)
    assert (scores[:, 1] == 0).all()
    for level in (0.2, 0.05, 0.01):
        assert (scores[:, 0] > -np.log(level)).mean() == pytest.approx(level, rel=0.4)


def test_scores_grow_however_far_out():
    column = np.random.default_rng(5).normal(size=(5000, 1))
    drawing = Drawing.of(np.arange(5000) % 2, np.zeros(5000, dtype=int))
    z = np.linspace(-400, 400, 4001)[:, None]
    scores = sum_law(Points.of(column, drawing), drawing, 0).scores(z)[:, 0]
    assert np.isfinite(scores).all()
    assert (np.diff(scores[2001:]) > 0).all() and (np.diff(scores[:2000]) < 0).all()


def test_kernel_and_numpy_read_the_same_scores(monkeypatch):
    rng = np.random.default_rng(8)
    column = np.column_stack([rng.normal(size=60), rng.standard_cauchy(size=60), np.zeros(60)])
    drawing = Drawing.of(np.arange(60) % 2, np.zeros(60, dtype=int))
    law = sum_law(Points.of(column, drawing), drawing, 0)
    values = np.concatenate([rng.normal(size=(40, 3)) * 8, law.knots.T, np.zeros((1, 3))])
    found = law.scores(values)
    monkeypatch.setattr(laws, "_SCORES", SimpleNamespace(available=False))
    np.testing.assert_allclose(law.scores(values), found, rtol=1e-6, atol=1e-7)


def test_constants_have_no_score():
    drawing = Drawing.of(np.arange(50) % 2, np.zeros(50, dtype=int))
    law = sum_law(Points.of(np.full((50, 1), 3.3), drawing), drawing, 0)
    assert law.scores(np.zeros((4, 1))).max() == 0


@pytest.mark.parametrize("size", [1, 2, 15, 16, 17, 40, 999, 1_000_001])
def test_bins_cover_all_places_once(size):
    begins = bins_of(size)
    assert begins[0] == 0 and begins[-1] < size
    assert (np.diff(begins) > 0).all()
    widths = np.diff(np.append(begins, size))
    assert (widths[:6] == 1).all() and (widths[-6:] == 1).all()


def test_harmonic_means_of_p_values():
    pvalues = np.array([[0.01, 1.0], [0.5, 1.0], [0.2, 1.0]])
    found = harmonic(-np.log(pvalues))
    np.testing.assert_allclose(np.exp(-found), stats.hmean(pvalues, axis=0), rtol=1e-5)
    # Dependent or not, it is about a p-value where it is small.
    rng = np.random.default_rng(6)
    shared = rng.exponential(size=(1, 100_000))
    for scores in (rng.exponential(size=(5, 100_000)), np.repeat(shared, 5, axis=0)):
        assert 0.8 < (harmonic(scores) > -np.log(0.01)).mean() / 0.01 < 1.4
