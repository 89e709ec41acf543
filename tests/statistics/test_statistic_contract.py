"""What every statistic of the adaptive test promises: a new one is tried here as soon as it is registered."""

from __future__ import annotations

import numpy as np
import pytest

from princdiff.data.problem import Design, Problem
from princdiff.labellings.schemes import Scheme
from princdiff.statistics.registry import STATISTICS
from princdiff.statistics.tested_rows import TestedRows

each = pytest.mark.parametrize("statistic", STATISTICS, ids=lambda one: one.__name__)


class Reordered:
    """The labellings of a scheme, another one taken for the observed one."""

    exhaustive, conditional, units, bits = False, False, None, None

    def __init__(self, scheme, order):
        self.scheme, self.order = scheme, order
        self.n_rows, self.n_labellings = scheme.n_rows, scheme.n_labellings

    def codes(self, indices):
        return self.scheme.codes(self.order[indices])


def table(n_rows=48, n_groups=2, kind="numbers"):
    """Four columns that differ in mean, in spread and in how they go together."""
    rng = np.random.default_rng(3)
    codes = np.arange(n_rows) % n_groups
    rows = rng.normal(size=(n_rows, 4))
    rows[:, 3] += rows[:, 0] * (codes == 1)
    rows[codes == 1, 1] = 2.0 * rows[codes == 1, 1] + 1.0
    if kind == "ties":
        rows = np.round(rows)
    if kind == "constants":
        rows[:, 2] = 7.0
    return rows, codes


def found(statistic, rows, codes, n_permutations=9, scheme=None, seed=5, **options):
    problem = Problem.from_arrays(rows, codes, **options).ordered
    scheme = scheme or Scheme(problem.codes, n_permutations, seed=0)
    return statistic(TestedRows(problem, scheme, seed))


@each
@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("kind", ["numbers", "ties", "constants"])
def test_gives_a_number_for_every_labelling_and_says_what_it_is(statistic, kind, n_groups):
    given = found(statistic, *table(n_groups=n_groups, kind=kind))
    assert given is not None
    assert given.values.shape == (10, len(given.cells)) and np.isfinite(given.values).all()
    assert len({cell.name for cell in given.cells}) == len(given.cells)
    for cell in given.cells:
        assert cell.weight > 0 and 0 <= cell.share < 1
        assert cell.family and cell.sentence and not cell.sentence.endswith(".")


@each
@pytest.mark.parametrize("kind", ["numbers", "ties"])
def test_treats_all_labellings_alike(statistic, kind):
    rows, codes = table(kind=kind)
    problem = Problem.from_arrays(rows, codes).ordered
    scheme = Scheme(problem.codes, 9, seed=0)
    order = np.r_[6, 2, np.setdiff1d(np.arange(10), [6, 2])]
    first, other = (
        statistic(TestedRows(problem, given, 5)).values for given in (scheme, Reordered(scheme, order))
    )
    np.testing.assert_allclose(other, first[order], rtol=1e-4, atol=1e-4)


@each
def test_depends_on_neither_units_of_columns_nor_the_order_of_rows(statistic):
    rows, codes = table()
    first = found(statistic, rows, codes).values
    moved = found(statistic, 1000.0 * rows - 50.0, codes).values
    np.testing.assert_allclose(moved, first, rtol=2e-3, atol=2e-3)
    order = np.random.default_rng(0).permutation(len(rows))
    shuffled = found(statistic, rows[order], codes[order]).values
    np.testing.assert_allclose(shuffled, first, rtol=2e-3, atol=2e-3)


@each
def test_weights_that_are_equal_change_nothing(statistic):
    rows, codes = table()
    plain, weighed = (
        found(statistic, rows, codes, **options)
        for options in ({}, {"design": Design(np.full(len(rows), 3.0))})
    )
    assert [cell.name for cell in weighed.cells] == [cell.name for cell in plain.cells]
    observed = weighed.values[0] / np.abs(plain.values).max(axis=0)
    np.testing.assert_allclose(observed, plain.values[0] / np.abs(plain.values).max(axis=0), atol=0.25)


def test_names_are_those_of_one_statistic_only():
    names = [cell.name for statistic in STATISTICS for cell in found(statistic, *table()).cells]
    assert len(names) == len(set(names))
