"""Time budgets, with a clock that runs as the tests want: nothing here depends on the machine."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from princdiff import SPARDA, Config, auto_choices, compare, compare_groups, deadline, relax, time_budget
from princdiff import comparison_steps as steps
from princdiff.data.labels import Labels
from princdiff.data.problem import Design, Problem, Run
from princdiff.data.samples import Samples
from princdiff.deadline import OutOfTime, give_up_if_late, part_of_the_time, time_is_up, undivided, until
from princdiff.divergences import Wasserstein2
from princdiff.parallel import in_threads
from princdiff.relaxation.upper_bound import ProofEffort, upper_bound
from princdiff.solvers.ascent import ascend, walk_ridge
from princdiff.solvers.sparsity import Sparsity
from princdiff.statistics.permutation_result import PermutationOptions
from princdiff.statistics.permutation_runs import run_permutations
from princdiff.statistics.tuning import choose_level

PAST = -1.0


def table(n_rows=120, n_features=6, shift=1.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    y = np.arange(n_rows) % 2
    X[y == 1, 2] += shift
    return X, y


def test_without_a_deadline_there_is_time():
    assert not time_is_up()
    give_up_if_late()
    with until(np.inf, strict=True):
        assert not time_is_up()
    with part_of_the_time(0.1), undivided():
        assert not time_is_up()


def test_work_ends_or_is_given_up():
    with until(PAST, strict=False) as limit:
        give_up_if_late()
        assert not limit.passed
        assert time_is_up() and limit.passed
        with pytest.raises(OutOfTime), undivided():
            give_up_if_late()
        # The inner deadline is gone again.
        give_up_if_late()
    with until(PAST, strict=True), pytest.raises(OutOfTime):
        give_up_if_late()
    assert not time_is_up()


def test_a_part_tells_the_whole_that_it_was_cut():
    with until(time.monotonic() + 1000, strict=False) as limit:
        with part_of_the_time(0.0):
            assert time_is_up()
        assert limit.passed
        assert not time_is_up()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_threads_know_the_deadline(n_jobs):
    with until(PAST, strict=True), pytest.raises(OutOfTime):
        in_threads(abs, [-1, 2, -3, 4], n_jobs)
    with until(PAST, strict=False):
        assert in_threads(lambda item: (item, time_is_up()), [1, 2], n_jobs) == [(1, True), (2, True)]


def test_an_ascent_that_is_cut_short_has_what_it_began_with():
    X, y = table()
    samples, labels = Samples(X, "pooled"), Labels(y, 2)
    starts = np.eye(6)[:3]
    begin = Wasserstein2().value(samples.project(starts.astype(samples.dtype)), labels.repeat(3))
    for ascent in (ascend, walk_ridge):
        arguments = (samples, labels.repeat(3), Wasserstein2(), Sparsity(np.full(3, 6)), starts)
        with until(PAST, strict=False):
            found = ascent(*arguments)
        np.testing.assert_allclose(found.objective, begin, rtol=1e-5)
        with until(PAST, strict=True), pytest.raises(OutOfTime):
            ascent(*arguments)
        assert (ascent(*arguments).objective >= found.objective).all()


@pytest.mark.parametrize("penalty", [0.0, 0.05])
def test_a_relaxation_that_is_cut_short_has_bounds_that_hold(penalty):
    X, y = table(n_features=12)
    whole = relax(X, y, penalty=penalty, tol=1e-4, random_state=0)
    with until(PAST, strict=False) as limit:
        cut = relax(X, y, penalty=penalty, tol=1e-4, random_state=0)
    assert limit.passed and cut.n_iter < whole.n_iter
    assert cut.lower_bound <= whole.upper_bound * (1 + 1e-9)
    assert cut.upper_bound >= whole.lower_bound * (1 - 1e-9)


def test_a_proof_that_is_cut_short_is_still_a_proof():
    X, y = table(n_features=12)
    best = SPARDA(n_features=5, certify=False, random_state=0).fit(X, y).divergences_[0]
    for k in (5, None):
        cut = upper_bound(X, y, k, effort=ProofEffort(stop=lambda: True))
        assert cut.kind == "certificate" and cut.upper_bound >= best


@pytest.mark.parametrize("n_features", ["auto", 1, 2, None])
@pytest.mark.parametrize("effort", ["fast", "default"])
def test_a_fit_without_time_is_still_a_fit(n_features, effort):
    X, y = table(shift=4.0)
    estimator = SPARDA(n_features=n_features, effort=effort, random_state=0)
    with until(PAST, strict=False) as limit:
        cut = estimator.fit(X, y)
    assert limit.passed or n_features == 1
    assert np.linalg.norm(cut.components_[0]) == pytest.approx(1)
    assert np.abs(cut.components_[0]).argmax() == 2
    value = cut.divergences_[0]
    whole = SPARDA(n_features=n_features, effort=effort, random_state=0).fit(X, y)
    assert 0 < value <= whole.divergences_[0] * (1 + 1e-6) or n_features == "auto"


def test_levels_that_were_not_looked_at_bring_nothing_new():
    X, y = table(n_features=40, shift=3.0)
    samples, labels = Samples(X, "pooled"), Labels(y, 2)
    with until(PAST, strict=False):
        path = choose_level(samples, labels, Wasserstein2(), np.random.default_rng(0))
    # The single feature and all of them were; what lies between can only repeat the single one.
    assert path.chosen == 1
    assert np.isfinite(path.held_out).all()
    assert (path.n_selected[:, :-1] == 1).all()


def test_relabellings_are_given_up_not_cut_short():
    X, y = table()
    problem = Problem.from_arrays(X, y)
    with until(PAST, strict=True), pytest.raises(OutOfTime):
        run_permutations(problem, Run(0), PermutationOptions(n_permutations=19))


class Clock:
    """A clock that moves when something is paid for."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def pay(self, seconds: float) -> None:
        """Work of so many seconds, given up at the deadline where it is strict."""
        current = deadline._CURRENT.get()
        if current is not None and current.strict and self.now + seconds > current.moment:
            self.now = max(self.now, current.moment)
            raise OutOfTime("late")
        self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(time, "monotonic", made)
    return made


def paid_tests(monkeypatch, clock, each):
    """Tests that cost so many seconds for a row and a labelling; rows and relabellings of those done."""
    done = []
    true = time_budget._permuted

    def permuted(problem, run, count, watch=None):
        clock.pay(each * problem.n_rows * (count + 1))
        done.append((problem.n_rows, count))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = true(problem, run, min(count, 3))
        return replace(found, n_permutations=count, pvalue=1 / (count + 1))

    monkeypatch.setattr(time_budget, "_permuted", permuted)
    return done


@pytest.mark.parametrize("each", [1e-7, 1e-5, 1e-4, 1e-3, 3e-3, 1.0])
def test_a_test_obeys_its_part_of_the_budget(monkeypatch, clock, each):
    X, y = table(2000)
    done = paid_tests(monkeypatch, clock, each)
    begin = clock.now
    result = compare(X, groups=y, config=Config(time_budget=20))
    assert clock.now - begin <= 20
    cut = [note for note in result.notes if "time budget" in note]
    if each * 2000 * 1000 < 5:
        assert done[-1] == (2000, 999) and not cut
    elif each == 1.0:
        assert not done and "no test was made" in cut[0] and np.isnan(result.pvalue)
    else:
        rows, count = done[-1]
        assert cut and (count < 999 or rows < 2000)
        # A good part of the time is used.
        assert each * rows * (count + 1) >= 1.0 and count >= 19


def test_a_part_of_the_rows_is_as_large_in_every_group():
    X, _ = table(3000)
    y = np.repeat(["few", "some", "many"], [50, 450, 2500])
    problem = Problem.from_arrays(X, y)
    part = time_budget.part_of_rows(problem, 0.3, Run(0))
    assert part.sizes.tolist() == [50, 750, 135]
    again = time_budget.part_of_rows(problem, 0.3, Run(0))
    np.testing.assert_array_equal(part.rows, again.rows)
    assert time_budget.part_of_rows(problem, 1.0, Run(0)) is problem


def test_blocks_are_not_torn_apart():
    X, y = table(3000)
    problem = Problem.from_arrays(X, y, design=Design(blocks=np.arange(3000) // 2, permute="within"))
    assert time_budget.part_of_rows(problem, 0.1, Run(0)) is problem


def test_selection_does_with_less(monkeypatch, clock):
    X, y = table(300)
    tried = []
    true = steps.select

    def select(problem, run, options):
        tried.append((options.relations, options.n_permutations))
        clock.pay(12.0 if options.relations else 0.5)
        return true(problem, run, options)

    monkeypatch.setattr(steps, "select", select)
    paid_tests(monkeypatch, clock, 1e-6)
    result = compare(X, groups=y, config=Config(time_budget=20))
    assert tried == [(True, 999), (False, 199)]
    assert "time budget: pairs of columns were not tested" in result.notes
    assert result.selected == ["x2"]
    monkeypatch.setattr(steps, "select", lambda *_: clock.pay(1e9))
    result = compare(X, groups=y, config=Config(time_budget=20))
    assert not result.selection.made and "time budget was used up" in result.selection.control


def test_no_time_at_all():
    X, y = table(200)
    result = compare(X, groups=y, config=Config(time_budget=1e-6))
    assert np.isnan(result.pvalue) and result.selected == []
    assert str(result).startswith("The groups 0 and 1 were not tested.")
    assert any("no test was made" in note for note in result.notes)
    result.to_dict()


def test_pairs_of_groups_share_the_budget(monkeypatch, clock):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(400, 2)), columns=["a", "b"]).assign(g=np.arange(400) % 4)
    done = paid_tests(monkeypatch, clock, 1e-4)
    begin = clock.now
    result = compare_groups(frame, groups="g", config=Config(time_budget=30))
    assert clock.now - begin <= 30
    # The last of the six comparisons had as much as the first.
    assert len(result.results) == 6 and done[-1][1] >= done[1][1] > 19


def test_long_tests_are_announced(clock, caplog):
    announcement = time_budget.Announcement()
    clock.pay(1000.0)  # before the first labelling
    announcement(0, 1000)
    clock.pay(9.0)
    announcement(100, 1000)
    clock.pay(9.0)
    announcement(200, 1000)
    assert caplog.text.count("the test takes about 3 minutes (999 permutations)") == 1
    caplog.clear()
    announcement = time_budget.Announcement(n_jobs=3)
    announcement(0, 1000)
    clock.pay(8.0)
    announcement(100, 1000)
    assert not caplog.text and announcement.expected(100, 1000) == pytest.approx(160 / 3)


def test_only_a_test_of_any_length_is_announced(monkeypatch, caplog):
    X, y = table(200)
    compare(X, groups=y, n_permutations=199)
    assert not caplog.text
    monkeypatch.setattr(auto_choices, "LONG", 0.0)
    compare(X, groups=y, n_permutations=199)
    assert caplog.text.count("(199 permutations)") == 1
    caplog.clear()
    compare(X, groups=y, n_permutations=199, config=Config(time_budget=600))
    assert not caplog.text


def test_a_run_that_was_cut_short_does_not_claim_a_difference(monkeypatch, clock):
    X, y = table(400, shift=5.0)
    monkeypatch.setattr(
        time_budget, "_permuted", lambda problem, run, count, watch=None: paid(clock, problem, run, count)
    )
    result = compare(X, groups=y, config=Config(time_budget=20))
    assert result.test.n_permutations == 19 and result.pvalue == 0.05
    assert "was not decided in time: 19 of 999 permutations" in str(result).replace("\n", " ")
    assert "differ (p" not in str(result)


def paid(clock, problem, run, count):
    clock.pay(0.23 * (count + 1))
    return run_permutations(problem, run, PermutationOptions(n_permutations=count))
