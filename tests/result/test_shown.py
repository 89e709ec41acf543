from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import princdiff
from princdiff.words import on_directions, wording

pytestmark = pytest.mark.whole


@pytest.fixture(scope="module")
def animals():
    """Two kinds of the same size that differ in one proportion."""
    rng = np.random.default_rng(0)
    size, y = rng.normal(30, 6, size=120), np.repeat([0, 1], 60)
    rows = np.outer(size, [1.0, 0.8, 0.5]) + 0.4 * rng.standard_normal((120, 3))
    rows[:, 0] += 3.0 * y
    frame = pd.DataFrame(rows, columns=["width", "length", "depth"])
    return princdiff.compare(frame, groups=np.array(["blue", "orange"])[y], n_permutations=99)


@pytest.fixture(scope="module")
def lattice():
    """Clusters that are round in one group and slanted in the other."""
    rng = np.random.default_rng(0)
    rows = 10.0 * rng.integers(0, 3, size=(500, 2))
    noise = rng.standard_normal((500, 2))
    noise[250:, 1] = 0.95 * noise[250:, 0] + np.sqrt(1 - 0.95**2) * noise[250:, 1]
    frame = pd.DataFrame(rows + noise, columns=["x", "y"])
    return princdiff.compare(frame, groups=np.repeat(["round", "slanted"], 250), n_permutations=99)


@pytest.fixture(scope="module")
def mixture():
    """Normal rows against rows of the same variances, some of which lie far out."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((160, 20))
    rows[80:] *= np.sqrt(3 / rng.chisquare(5, size=80))[:, None]
    return princdiff.compare(rows, groups=np.repeat(["a", "b"], 80), n_permutations=99)


@pytest.fixture(scope="module")
def drift():
    """All columns a little higher."""
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((160, 40))
    rows[80:] += 0.11
    return princdiff.compare(rows[:80], rows[80:], n_permutations=99)


def test_the_sharpest_contrast_is_shown_where_it_is_another_direction(animals):
    sharpest, size = animals.contrasts
    assert (sharpest.name, sharpest.led) == ("sharpest contrast", True)
    assert (size.name, size.led) == ("largest difference in size", False)
    assert sharpest.auc > 0.97 > 0.8 > size.auc
    assert sharpest.effect > 2 * size.effect
    np.testing.assert_allclose(np.linalg.norm(sharpest.weights), 1)
    # Wider at the same length: against the others, and larger in the second group.
    weights = dict(zip(animals.directions.index, sharpest.weights, strict=True))
    assert weights["width"] > 0 > min(weights["length"], weights["depth"])
    assert "Along the sharpest contrast" in wording.opening(animals)


def test_the_contrast_is_told_in_terminal_notebook_and_page(animals, tmp_path):
    assert "Sharpest contrast: " in animals.summary()
    assert "area under the curve" in animals.summary()
    # The bound is on the other direction, and this one separates the groups more.
    assert "separates the groups more" not in animals.summary()
    assert "difference in size" in on_directions.certainty(animals)
    assert "score along the sharpest contrast" in animals._repr_html_()
    page = animals.to_html(tmp_path / "page.html").read_text()
    assert 'id="contrast"' in page and 'data-chart="contrast"' in page
    ax = animals.plot_contrast()
    assert "sharpest contrast" in ax.get_title(loc="left") + ax.get_title()
    with pytest.raises(ValueError, match="no contrast of this result is called 'blunt'"):
        animals.plot_contrast("blunt")


def test_quantiles_are_those_of_the_rows_along_the_contrast(animals):
    for part in animals.contrasts:
        for group, stored in part.groups.items():
            assert stored.rows == animals.groups[group]
            assert np.all(np.diff(stored.quantiles) >= 0)
    medians = {group: np.median(stored.quantiles) for group, stored in animals.contrasts[0].groups.items()}
    assert medians["orange"] > medians["blue"]


def test_one_direction_is_enough_where_the_other_is_no_sharper():
    rng = np.random.default_rng(1)
    rows, y = rng.standard_normal((80, 4)), np.repeat([0, 1], 40)
    rows[40:, 2] += 2
    result = princdiff.compare(rows, groups=y, n_permutations=99)
    assert [part.name for part in result.contrasts] == ["largest difference in size"]
    assert result.witness is None
    with pytest.raises(ValueError, match="no picture of rows in two dimensions"):
        result.plot_witness()


def test_nothing_is_said_to_lead_where_no_difference_was_shown():
    rng = np.random.default_rng(3)
    rows, y = rng.standard_normal((60, 3)), np.repeat([0, 1], 30)
    result = princdiff.compare(rows, groups=y, n_permutations=39)
    assert result.pvalue > 0.05
    assert result.test.leading == ""
    assert "They differ" not in str(result)


def test_local_structure_is_shown(lattice):
    assert lattice.pvalue <= 0.05
    assert "not along any one direction: in how two features go together" in wording.opening(lattice)
    # How far apart they are along a direction says nothing here.
    assert "apart" not in wording.opening(lattice)
    found = lattice.witness
    assert sorted(found.features) == ["x", "y"] and sorted(found.axes) == ["x", "y"]
    for group, numbers in found.typical.items():
        low = 0 if group == "round" else 250
        assert all(low <= number < low + 250 for number in numbers)
    for share in found.shares.values():
        assert share.sum() == pytest.approx(1)
    assert len(lattice.plot_witness()) == 2


def test_local_structure_is_told_in_terminal_notebook_and_page(lattice, tmp_path):
    assert "Rows most typical of their group" in lattice.summary()
    assert "Rows most typical of their group" in lattice._repr_html_()
    page = lattice.to_html(tmp_path / "page.html").read_text()
    assert 'id="witness"' in page and "Where the rows of slanted lie" in page


def test_nothing_else_is_told_beside_columns_that_are_named():
    rng = np.random.default_rng(0)
    groups = np.repeat(["a", "b"], 100)
    rows = rng.standard_normal((200, 8)) + 0.8 * (groups == "b")[:, None]
    result = princdiff.compare(rows, groups=groups, n_permutations=99, random_state=0)
    assert len(result.selected) == 8
    assert result.witness is None
    assert "typical" not in result.summary() and "most clearly" not in result.summary()


def test_overall_spread_is_told_with_its_figures(mixture):
    assert mixture.witness.about == "overall spread"
    assert "Distance from the centre: mean" in mixture.summary()
    assert mixture.witness.axes[0] == "distance from the centre"


def test_a_drift_of_all_columns_is_told_and_shown(drift, tmp_path):
    headline = wording.opening(drift)
    assert "many features a little, mostly the same way" in headline
    assert "are higher in Y than in X" in headline and "Along the sum of the scaled features" in headline
    total, size = drift.contrasts
    assert (total.name, total.led, size.led) == ("sum of the scaled features", True, False)
    np.testing.assert_allclose(total.weights, 40**-0.5)
    assert total.effect > size.effect and total.auc > 0.6
    assert "score along the sum of the scaled features" in drift._repr_html_()
    page = drift.to_html(tmp_path / "page.html").read_text()
    assert "The sum of the scaled features</h2>" in page and 'data-chart="contrast"' in page


@pytest.mark.parametrize("name", ["animals", "lattice", "mixture", "drift"])
def test_saved_and_loaded(name, request, tmp_path):
    result = request.getfixturevalue(name)
    again = princdiff.load(result.save(tmp_path / "result.json"))
    assert again == result
    assert again.summary() == result.summary()


def test_no_difference_says_what_would_have_been_seen():
    rng = np.random.default_rng(2)
    result = princdiff.compare(rng.standard_normal((60, 5)), groups=np.repeat([0, 1], 30), n_permutations=99)
    assert result.pvalue > 0.05
    expected = princdiff.detectable_effect((30, 30), 5)
    assert result.test.detectable == pytest.approx(expected)
    assert f"by {expected:.2g} standard deviations would have been found" in wording.opening(result)
    assert result.witness is None and len(result.contrasts) == 1


def test_several_groups_have_no_area_under_the_curve():
    rng = np.random.default_rng(3)
    size, y = rng.normal(30, 6, size=150), np.repeat([0, 1, 2], 50)
    rows = np.outer(size, [1.0, 0.8]) + 0.4 * rng.standard_normal((150, 2))
    rows[:, 0] += 2.0 * y
    result = princdiff.compare(rows, groups=y, n_permutations=99)
    assert [np.isnan(part.auc) for part in result.contrasts] == [True] * len(result.contrasts)
    assert "area under" not in result.summary()


def test_covariates_and_scaling_within_groups_have_the_first_direction_only():
    rng = np.random.default_rng(4)
    rows, y = rng.standard_normal((60, 3)), np.repeat([0, 1], 30)
    rows[30:, 0] += 2
    adjusted = princdiff.compare(rows, groups=y, covariates=rng.standard_normal(60), n_permutations=99)
    within = princdiff.compare(rows, groups=y, scale="within", n_permutations=99)
    for result in (adjusted, within):
        assert len(result.contrasts) == 1 and result.witness is None
