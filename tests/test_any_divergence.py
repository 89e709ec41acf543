"""Every divergence, through everything that takes one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ks_2samp

from princdiff import (
    PDA,
    SPARDA,
    compare,
    divergences,
    load,
    permutation_test,
    select_features,
    split_test,
    stability_selection,
)

pytestmark = pytest.mark.whole

NAMES = divergences.available()
SCALE_FREE = [name for name in NAMES if divergences.get(name).degree == 0]


@pytest.fixture(scope="module")
def shifted():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 5)), np.repeat([0, 1], 60)
    X[y == 1, 3] += 2.5
    return X, y


@pytest.mark.parametrize("name", NAMES)
def test_estimators_and_tests(name, shifted):
    X, y = shifted
    fit = SPARDA(1, divergence=name, random_state=0, effort="fast").fit(X, y)
    assert np.flatnonzero(fit.support_).tolist() == [3]
    assert np.isnan(fit.shares_).all() == (name in SCALE_FREE)
    if name not in SCALE_FREE:
        assert fit.shares_[0, 3] == 1.0
    exact = divergences.report(divergences.get(name), X[None, :, 3], _labels(y))[0]
    assert fit.divergences_[0] == pytest.approx(exact)
    assert fit.score(X, y) == pytest.approx(exact)
    test = permutation_test(X, y, divergence=name, n_permutations=19, random_state=0)
    assert test.pvalue == 1 / 20
    assert np.isnan(fit.upper_bounds_[0]) == (name != "wasserstein2")


def _labels(y):
    from princdiff.data.labels import Labels

    return Labels(y, 2)


@pytest.mark.parametrize("name", ["energy", "kolmogorov_smirnov"])
def test_selection_splits_and_stability(name, shifted):
    X, y = shifted
    found = select_features(X, y, goal="directions", divergence=name, n_permutations=199, random_state=0)
    assert np.flatnonzero(found.selected).tolist() == [3]
    assert split_test(X, y, divergence=name, n_permutations=99, random_state=0).pvalue <= 0.05
    stable = stability_selection(X, y, n_features=1, divergence=name, n_pairs=5, random_state=0)
    assert np.flatnonzero(stable.stable).tolist() == [3]


def test_whitened_metric_for_other_degrees(shifted):
    X, y = shifted
    mixed = X @ np.linalg.cholesky(0.1 * np.eye(5) + 0.9).T
    for name in ("energy", "wasserstein1"):
        fit = PDA(divergence=name, metric="whitened", random_state=0).fit(mixed, y)
        rescaled = PDA(divergence=name, metric="whitened", random_state=0).fit(7 * mixed, y)
        assert rescaled.divergences_[0] == pytest.approx(fit.divergences_[0], rel=1e-4)


@pytest.mark.parametrize("name", ["kolmogorov_smirnov", "wasserstein1"])
def test_comparison_says_what_is_not_defined(name, shifted, tmp_path):
    X, y = shifted
    frame = pd.DataFrame(X, columns=["age", "height", "pulse", "weight", "width"])
    result = compare(frame, groups=y, divergence=name, n_permutations=19, n_features=1)
    assert result.parameters["divergence"] == name
    assert result.table["feature"].iloc[0] == "weight"
    text = result.summary()
    assert ("shares are not defined" in text) == (name in SCALE_FREE)
    assert "bound" not in text
    assert load(result.save(tmp_path / "r.json")) == result
    assert "nan" not in text
    if name == "kolmogorov_smirnov":
        expected = ks_2samp(X[y == 0, 3], X[y == 1, 3]).statistic
        assert result.divergences[0] == pytest.approx(expected)
        assert result.by_column().isna().all()
    page = result.to_html(tmp_path / "r.html").read_text(encoding="utf-8")
    assert "NaN" not in page.split('type="application/json"')[1].split("</script>")[0]
    result.plot_weights()


def test_a_function_of_ones_own(shifted):
    X, y = shifted
    fit = SPARDA(
        1, divergence=lambda a, b: abs(a.mean() - b.mean()), random_state=0, effort="fast", certify=False
    ).fit(X[:, 2:], y)
    assert np.flatnonzero(fit.support_).tolist() == [1]
    mean = X[y == 1, 3].mean() - X[y == 0, 3].mean()
    assert fit.divergences_[0] == pytest.approx(mean)


def test_several_components_of_several_groups(tmp_path):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(150, 4)), np.repeat(["a", "b", "c"], 50)
    X[y == "b", 0] += 3
    X[y == "c", 1] += 3
    result = compare(X, groups=y, n_components=2, n_permutations=19, n_features=2)
    assert result.directions.shape == (4, 2) and len(result.components) == 2
    assert result.components["pvalue"].iloc[0] == result.pvalue
    assert result.components["pvalue"].iloc[1] <= 0.05
    matrix = result.separation_frame(0)
    assert list(matrix) == ["a", "b", "c"] and np.allclose(matrix, matrix.T)
    along = X @ (result.directions["component 1"].to_numpy() * result.reference.factors["a"])
    p, q = np.sort(along[y == "a"]), np.sort(along[y == "c"])
    assert matrix.loc["a", "c"] == pytest.approx(np.mean((p - q) ** 2), rel=1e-5)
    assert load(result.save(tmp_path / "r.json")) == result
    assert "Component 2" in result.summary() and "apart most" in result.summary()
    assert {"weight 2", "share 2"} <= set(result.to_frame())
    assert "Which groups it separates" in result.to_html(tmp_path / "r.html").read_text(encoding="utf-8")
    assert len(result.score(X)) == 6
    result.plot_weights(component=1)
    result.plot_projection(component=1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"divergence": "wassertein2"}, "did you mean 'wasserstein2'"),
        ({"divergence": divergences.Energy}, "give Energy\\(\\)"),
        ({"divergence": 3}, "must be a name"),
        ({"divergence": "energy", "certify": True}, "squared Wasserstein distance only"),
        ({"divergence": lambda a, b: np.nan}, "nan|NaN"),
        ({"divergence": lambda a, b: a[:2]}, "number|scalar|shape"),
    ],
)
def test_bad_divergences(options, words, shifted):
    with pytest.raises((ValueError, TypeError), match=words):
        PDA(**options).fit(*shifted)


def test_a_bandwidth_must_be_positive():
    with pytest.raises(ValueError, match="bandwidth"):
        divergences.JensenShannon(bandwidth=0)


def test_a_group_with_one_row():
    X, y = np.random.default_rng(2).normal(size=(6, 2)), np.array([0, 1, 1, 1, 1, 1])
    for name in NAMES:
        try:
            value = PDA(divergence=name, random_state=0).fit(X, y).divergences_[0]
        except ValueError as error:
            assert "row" in str(error)
        else:
            assert np.isfinite(value)


def test_groups_that_overlap_have_no_carriers():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 3)), np.repeat(["u", "v", "w"], 30)
    X[60:, 1] += 1
    text = compare(X, groups=y, divergence="margin", n_permutations=19).summary()
    assert "u and u" not in text and "carry" not in text


def test_a_group_of_one_row_is_named():
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(ValueError, match="group 'z' is too small: only one row"):
        compare(X, groups=["z"] + ["a"] * 19)
