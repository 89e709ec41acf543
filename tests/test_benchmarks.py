"""The benchmarks run, and what they compare us with is what it claims to be."""

from __future__ import annotations

import argparse
import re
from importlib import import_module
from itertools import permutations

import matplotlib.image
import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from scipy.stats import ttest_1samp, ttest_ind
from sklearn.datasets import make_classification
from sklearn.decomposition import SparsePCA
from sklearn.linear_model import ElasticNet
from sklearn.svm import LinearSVC
from sklearn.utils import Bunch

from benchmarks import collect, sections, sparse_paths, two_sample
from benchmarks.paper import fig1b, fig1c
from princdiff import permutation_test

pytestmark = pytest.mark.whole


@pytest.fixture
def labelled() -> tuple[np.ndarray, np.ndarray]:
    """Rows and four labellings of them, groups of 15."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((30, 4)) @ rng.standard_normal((4, 4))
    y = np.repeat([0, 1], 15)
    X[y == 1, 0] += 1
    return X, np.array([y, *[rng.permutation(y) for _ in range(3)]])


# ---------------------------------------------------------------------------------------------
# Statistics of other tests
# ---------------------------------------------------------------------------------------------


def test_pvalue_counts_the_observed_labelling():
    assert two_sample.pvalue(np.array([3.0, 1.0, 3.0, 5.0])) == 3 / 4
    assert two_sample.pvalue(np.array([9.0, 1.0, 3.0, 5.0])) == 1 / 4


def test_energy_and_mmd_follow_their_definitions(labelled):
    X, labels = labelled
    median = np.median([np.linalg.norm(a - b) for a, b in permutations(X, 2)])
    for k, row in enumerate(labels):
        x, z = X[row == 0], X[row == 1]
        energy = 2 * cdist(x, z).mean() - cdist(x, x).mean() - cdist(z, z).mean()
        kernel = [np.exp(-(cdist(*pair) ** 2) / (2 * median**2)).mean() for pair in ((x, x), (z, z), (x, z))]
        assert two_sample.energy(X, labels)[k] == pytest.approx(energy)
        assert two_sample.mmd(X, labels)[k] == pytest.approx(kernel[0] + kernel[1] - 2 * kernel[2])


def test_energy_and_mmd_order_labellings_as_hyppo_does(labelled):
    ksample = pytest.importorskip("hyppo.ksample", reason="hyppo is not installed (extra bench)")
    X, labels = labelled
    for ours, theirs in ((two_sample.mmd, ksample.MMD), (two_sample.energy, ksample.Energy)):
        values = [theirs().statistic(X[row == 0], X[row == 1]) for row in labels]
        assert np.corrcoef(ours(X, labels), values)[0, 1] == pytest.approx(1, abs=1e-6)


def test_wasserstein_is_the_best_assignment(labelled):
    X, labels = labelled
    for value, row in zip(two_sample.wasserstein(X, labels), labels, strict=True):
        costs = cdist(X[row == 0], X[row == 1], "sqeuclidean")
        assert value == pytest.approx(costs[linear_sum_assignment(costs)].mean())


def test_cross_match_counts_mixed_pairs_of_the_best_matching():
    pytest.importorskip("rustworkx", reason="rustworkx is not installed (extra bench)")
    # Three tight pairs far from each other: the matching is plain to see.
    X = np.array([[0, 0], [0, 1], [50, 0], [50, 1.5], [0, 90], [1.2, 91]], dtype=float)
    labels = np.array([[0, 0, 0, 1, 1, 1], [0, 1, 0, 1, 0, 1]])
    assert two_sample.cross_match(X, labels).tolist() == [-1, -3]


def test_svm_direction_is_scikit_learns(labelled):
    X, labels = labelled
    for direction, row in zip(two_sample.svm_directions(X, labels), labels, strict=True):
        # A large scaling leaves the intercept free, as ours is.
        fit = LinearSVC(dual=False, tol=1e-9, intercept_scaling=100).fit(X, row)
        assert cosine(direction, fit.coef_[0]) > 0.9999


def test_dwd_direction_solves_the_cone_programme(labelled):
    cp = pytest.importorskip("cvxpy", reason="cvxpy is not installed (extra test)")
    X, labels = labelled
    directions = two_sample.dwd_directions(X, labels)
    for direction, row in zip(directions[:2], labels[:2], strict=True):
        C = 100 / np.median(cdist(X[row == 0], X[row == 1])) ** 2
        weights, offset, slack = cp.Variable(4), cp.Variable(), cp.Variable(30)
        distance = cp.multiply(2 * row - 1, X @ weights + offset) + slack
        cost = cp.sum(cp.inv_pos(distance)) + C * cp.sum(slack)
        cp.Problem(cp.Minimize(cost), [slack >= 0, cp.norm(weights) <= 1]).solve(solver="CLARABEL")
        assert cosine(direction, weights.value) > 0.9999


def test_diproperm_is_welchs_t_along_each_labellings_own_direction(labelled):
    X, labels = labelled
    values = two_sample.diproperm(X, labels, two_sample.centroid_directions)
    for value, row in zip(values, labels, strict=True):
        line = X @ (X[row == 1].mean(axis=0) - X[row == 0].mean(axis=0))
        expected = ttest_ind(line[row == 1], line[row == 0], equal_var=False).statistic
        assert value == pytest.approx(expected)


def test_random_projections_stay_below_the_best_of_more(labelled):
    X, labels = labelled
    few, many = (two_sample.random_projections(X, labels, count) for count in (20, 2000))
    assert (few > 0).all() and (few <= many * 1.2).all() and few.mean() < many.mean()
    with pytest.raises(ValueError, match="groups of one size"):
        two_sample.random_projections(X, np.repeat([[0, 1]], [12, 18], axis=1))


def test_peers_get_the_permutations_of_our_test(labelled):
    X, labels = labelled
    y = labels[0]
    ours = permutation_test(
        X, y, n_permutations=25, statistic="divergence", n_features=1, scale=None, random_state=5
    )
    relabelled = fig1c.labellings(X, y, 25, seed=5)
    assert np.array_equal(relabelled[0], y)
    columns = np.ascontiguousarray(X.T)
    single = [two_sample._line_distances(columns, row).max() for row in relabelled]
    assert np.allclose(ours.values[:, 0], single, rtol=1e-4)


# ---------------------------------------------------------------------------------------------
# Paths of other sparse methods
# ---------------------------------------------------------------------------------------------


@pytest.fixture
def classes() -> tuple[np.ndarray, np.ndarray]:
    X, y = make_classification(
        150, 12, n_informative=3, n_redundant=2, class_sep=1.5, shuffle=False, random_state=0
    )
    return X - X.mean(axis=0), y


def test_sparse_component_is_scikit_learns(classes):
    X, _ = classes
    left = sparse_paths.leading_scores(X)
    for penalty in (5.0, 12.0):
        found = sparse_paths.sparse_component(X, penalty, left)
        fit = SparsePCA(
            1, alpha=penalty, ridge_alpha=0, method="cd", tol=1e-12,
            U_init=left[:, None], V_init=(X.T @ left)[None],
        ).fit(X)  # fmt: skip
        assert np.array_equal(found != 0, fit.components_[0] != 0)
        assert cosine(found, fit.components_[0]) > 0.9999


def test_sparse_lda_is_fishers_direction_without_and_an_elastic_net_with_penalty(classes):
    X, y = classes
    ridge = 0.01
    penalties, path = sparse_paths.sparse_lda_path(X, y, ridge, most=200)
    means = [X[y == group].mean(axis=0) for group in (0, 1)]
    scatter = X.T @ X / len(X) + ridge * np.eye(12)
    assert penalties[-1] == pytest.approx(0, abs=1e-9)
    assert cosine(path[:, -1], np.linalg.solve(scatter, means[1] - means[0])) > 0.9999
    at = len(penalties) // 2
    total = penalties[at] + ridge
    net = ElasticNet(alpha=total, l1_ratio=penalties[at] / total, fit_intercept=False, tol=1e-10)
    assert np.allclose(net.fit(X, (y - y.mean()) / y.std()).coef_, path[:, at], atol=1e-5)


@pytest.mark.parametrize(
    "method", [sparse_paths.sparse_pca, sparse_paths.sparse_lda, sparse_paths.logistic_lasso]
)
def test_paths_begin_sparse_and_reach_the_wanted_size(classes, method):
    sizes = method(*classes, 6).sum(axis=1)
    assert sizes[0] <= 2 and sizes[-1] >= 6 and len(np.unique(sizes)) > 3


def test_curve_is_the_best_point_with_at_most_so_many():
    supports = np.array([[1, 0, 0, 0], [1, 0, 1, 0], [1, 1, 1, 1]], dtype=bool)
    assert fig1b.curve(supports, np.array([0, 1]), 4).tolist() == [1, 1, 1, 2]


# ---------------------------------------------------------------------------------------------
# The scripts
# ---------------------------------------------------------------------------------------------

TINY = {
    "paper.fig1a": {"rows": 60, "starts": 6, "grid": 15, "optimum": 400},
    "paper.fig1b": {"most": 6, "halves": 1, "selection": {"n_permutations": 39}, "subsets": ("train",)},
    "paper.fig1c": {"features": (3, 6), "null_features": (3,), "rows": 12, "permutations": 19},
    "paper.theorems": {
        "rows": (20, 40), "features": (2, 3), "draws": 3, "population": 2000, "strengths": 3,
        "sparse_rows": (30, 60), "sparse_features": (6,), "sparse_draws": 2, "relax_rows": (30,),
        "relax_draws": 1,
    },
    "peers.directions": {"projections": (10, 100), "problems": ["blocks, 100 + 100, d = 15"]},
    "peers.features": {"kinds": ["dependence"]},
    "peers.tables": {"cells": (60, 120), "rows": 400},
}  # fmt: skip
PICTURES = {"paper.fig1a", "paper.fig1b", "paper.fig1c", "paper.theorems", "peers.directions"}


def small_madelon(path=None, *, subset="train"):
    X, y = make_classification(
        80, 10, n_informative=3, n_redundant=1, class_sep=2.0, shuffle=False, random_state=1
    )
    return Bunch(data=np.round(10 * X), target=2 * y - 1, relevant=np.arange(4))


@pytest.mark.parametrize("name", TINY)
@pytest.mark.filterwarnings("ignore")
def test_script_writes_a_stamped_section(name, tmp_path, monkeypatch, capsys):
    script = import_module(f"benchmarks.{name}")
    monkeypatch.setitem(script.SETTINGS, "quick", TINY[name])
    if name == "paper.fig1b":
        monkeypatch.setattr(script, "load_madelon", small_madelon)
        (tmp_path / "madelon.npz").touch()
        monkeypatch.setenv("PRINCDIFF_DATA", str(tmp_path))
    script.main(["--quick", "--out", str(tmp_path / "out"), "--first-seed", "4", "--seeds", "2"])
    (section,) = (tmp_path / "out").glob("*.md")
    text = section.read_text()
    assert text.startswith("## ") and "|---|" in text
    assert "quick run; princdiff" in text and "seeds 4 to 5" in text and "cores" in text
    assert not re.search(r"\bnan\b", text)
    assert capsys.readouterr().out.count("|---|") == text.count("|---|")
    pictures = list((tmp_path / "out" / "figures").glob("*.png"))
    assert len(pictures) == (name in PICTURES)
    for picture in pictures:
        assert matplotlib.image.imread(picture)[..., :3].std() > 0.01
        assert f"(out/figures/{picture.name})" in text


@pytest.mark.parametrize("name, file", [("fig1b", "madelon.npz"), ("brain", "zeisel.npz")])
def test_data_that_are_not_here_are_asked_for(name, file, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PRINCDIFF_DATA", str(tmp_path))
    if name == "brain":
        pytest.importorskip("anndata")
    with pytest.raises(SystemExit):
        import_module(f"benchmarks.paper.{name}").main(["--quick"])
    assert f"{file} is needed: name its folder with --data" in capsys.readouterr().err


def test_fig1c_redraws_from_its_numbers(tmp_path, monkeypatch):
    monkeypatch.setitem(fig1c.SETTINGS, "quick", TINY["paper.fig1c"] | {"features": (3,)})
    for name in list(fig1c.METHODS):
        if name not in (fig1c.OURS, fig1c.PAPERS, "PDA", "MMD", "Wasserstein in R^d", "DiProPerm, DWD-t"):
            monkeypatch.delitem(fig1c.METHODS, name)
    fig1c.main(["--quick", "--out", str(tmp_path), "--seeds", "3"])
    section = tmp_path / "fig1c.md"
    first = section.read_text()
    section.unlink()
    fig1c.main(["--quick", "--out", str(tmp_path), "--seeds", "1", "--redraw"])
    assert section.read_text() == first


def test_results_name_what_was_not_run(tmp_path):
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / "fig1c.md").write_text("## Fig. 1c: power\n\ntext of it\n")
    collect.main(["--results", str(folder)])
    text = (tmp_path / "RESULTS.md").read_text()
    assert "[Fig. 1c: power as irrelevant features are added](#fig1c)" in text and "text of it" in text
    assert "not run here; `python -m benchmarks.paper.brain`" in text


def test_interval_is_students():
    values = [0.3, 0.1, 0.4, 0.15]
    low, high = ttest_1samp(values, 0).confidence_interval(0.95)
    assert sections.mean_interval(values) == pytest.approx((np.mean(values), low, high))
    assert sections.mean_interval([0.2, 0.2]) == (0.2, 0.2, 0.2)


def test_options_keep_quick_runs_apart():
    quick, full = (sections.parse("", argv, seeds=7, quick_seeds=2) for argv in (["--quick"], []))
    assert isinstance(full, argparse.Namespace)
    assert (len(full.seeds), len(quick.seeds)) == (7, 2)
    assert full.out == sections.RESULTS and quick.out != full.out


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def test_printed_tables_become_sections(tmp_path, capsys):
    """A table begins after an empty line, headings stay below that of the section."""
    evidence = import_module("benchmarks.evidence")
    assert evidence._as_part("# Page\nwords\n| a |\n|---|\n| 1 |\n") == (
        "**Page**\nwords\n\n| a |\n|---|\n| 1 |"
    )
    evidence.main(["mixed", "--quick", "--out", str(tmp_path / "sections")])
    text = collect.collect(tmp_path / "sections")
    assert "| made | shift |" in text and "benchmarks.tables.planted --quick --draws 1" in text
    assert "not run here; `python -m benchmarks.evidence power`" in text


def test_a_shortened_run_is_stamped_as_one(tmp_path, monkeypatch, capsys):
    evidence = import_module("benchmarks.evidence")
    for printed in evidence.SECTIONS.values():
        assert printed.shortened or "--quick" not in printed.full
    small = evidence.Printed("Small", "benchmarks.tables.planted", ("--help",), (), "one row of two")
    monkeypatch.setitem(evidence.SECTIONS, "small", small)
    evidence.main(["small", "--out", str(tmp_path)])
    assert "<sub>shortened run: one row of two; princdiff" in (tmp_path / "small.md").read_text()


def test_work_that_was_ended_says_so(monkeypatch):
    engine = import_module("benchmarks.engine")
    ended = argparse.Namespace(returncode=-9, stdout="", stderr="")
    monkeypatch.setattr(engine.subprocess, "run", lambda *arguments, **options: ended)
    assert engine.measured("brain_cells") == (
        "not measured: the process was ended before it was done, by signal 9",
        "",
    )
