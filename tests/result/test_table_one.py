"""Table 1 against plain pandas, and against closed forms of its differences."""

import numpy as np
import pandas as pd
import pytest

from princdiff import compare, load

OPTIONS = {"n_permutations": 19, "random_state": 0}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.normal(50, 10, 240),
            "sex": rng.choice(["f", "m"], 240),
            "city": rng.choice(["Rome", "Oslo", "Bern"], 240, p=[0.5, 0.3, 0.2]),
            "income": rng.lognormal(10, 1, 240),
            "arm": np.repeat(["control", "drug"], 120),
        }
    )
    frame.loc[::7, "income"] = np.nan
    return frame


@pytest.fixture(scope="module")
def result(table):
    return compare(table, groups="arm", missing="impute", **OPTIONS)


def test_figures_are_those_of_pandas(table, result):
    measured = result.measured.set_index(["column", "level", "group"])
    for arm, own in [*table.groupby("arm"), ("", table)]:
        income = measured.loc[("income", "", arm)]
        assert income["n"] == own["income"].notna().sum() and income["missing"] == own["income"].isna().sum()
        assert income["mean"] == pytest.approx(own["income"].mean())
        assert income["sd"] == pytest.approx(own["income"].std())
        quartiles = own["income"].quantile([0.25, 0.5, 0.75]).tolist()
        assert income[["q1", "median", "q3"]].tolist() == pytest.approx(quartiles)
        assert measured.at[("city", "Oslo", arm), "mean"] == pytest.approx((own["city"] == "Oslo").mean())
        assert measured.at[("sex", "m", arm), "mean"] == pytest.approx((own["sex"] == "m").mean())


def test_lines_are_ready_to_be_pasted(table, result):
    lines = result.table1()
    assert lines.index.get_level_values("column").unique().tolist() == ["age", "sex", "city", "income"]
    drug = table[table["arm"] == "drug"]
    assert lines.at[("sex", "m"), "drug (n = 120)"] == (
        f"{(drug['sex'] == 'm').sum()} ({100 * (drug['sex'] == 'm').mean():.1f})"
    )
    assert (
        lines.at[("age", ""), "overall (n = 240)"] == f"{table['age'].mean():.1f} ({table['age'].std():.1f})"
    )
    assert lines.at[("income", ""), "missing"] == str(table["income"].isna().sum())
    assert "overall (n = 240)" not in result.table1(overall=False)
    medians = result.table1(median=["income"])
    assert medians["figures"].tolist() == ["mean (SD)", "n (%)", "n (%)", "n (%)", "n (%)", "median [IQR]"]
    assert medians.at[("income", ""), "drug (n = 120)"].startswith(f"{drug['income'].median():.0f} [")


def test_differences_are_standardised(table, result):
    first, second = (own for _, own in table.groupby("arm"))
    spread = np.sqrt((first["age"].var() + second["age"].var()) / 2)
    expected = abs(second["age"].mean() - first["age"].mean()) / spread
    assert float(result.table1().at[("age", ""), "SMD"]) == pytest.approx(expected, abs=0.006)
    shares = [(own["sex"] == "m").mean() for own in (first, second)]
    variance = sum(share * (1 - share) for share in shares) / 2
    expected = abs(shares[1] - shares[0]) / np.sqrt(variance)
    assert float(result.table1().at[("sex", "m"), "SMD"]) == pytest.approx(expected, abs=0.006)
    # Of a category it does not matter which level is left out.
    cities = [own["city"].value_counts(normalize=True).sort_index().to_numpy() for own in (first, second)]
    found = []
    for left_out in range(3):
        p, q = (np.delete(share, left_out) for share in cities)
        common = (np.diag(p) - np.outer(p, p) + np.diag(q) - np.outer(q, q)) / 2
        found.append(np.sqrt((q - p) @ np.linalg.solve(common, q - p)))
    assert found == pytest.approx([found[0]] * 3)
    assert float(result.table1().at[("city", "Bern"), "SMD"]) == pytest.approx(found[0], abs=0.006)


def test_forms_and_files(result, tmp_path):
    markdown = result.table1("markdown").splitlines()
    assert markdown[0].startswith("| column | level |") and len(markdown) == 2 + len(result.table1())
    assert result.table1("latex").startswith("\\begin{tabular}") and "<table" in result.table1("html")
    again = load(result.save(tmp_path / "result.json"))
    assert again.table1().equals(result.table1())


def test_of_several_groups_the_largest_difference(table):
    three = table.assign(arm=np.tile(["a", "b", "c"], 80), age=table["age"] + np.tile([0, 0, 20], 80))
    found = compare(three, groups="arm", missing="impute", n_permutations=0).table1()
    assert float(found.at[("age", ""), "SMD"]) > 1.5
    assert found.at[("age", ""), "adjusted p"] == ""


def test_what_it_cannot_do(table, result):
    with pytest.raises(ValueError, match="median: there is no column 'weight'"):
        result.table1(median=["weight"])
    with pytest.raises(ValueError, match="form must be"):
        result.table1("docx")
    weighted = compare(table[["age", "arm"]], groups="arm", sample_weight=np.arange(1.0, 241.0), **OPTIONS)
    with pytest.raises(ValueError, match="rows with weights"):
        weighted.table1()


def test_groups_and_flags_are_named_and_what_determines_the_group_is_infinitely_far():
    rng = np.random.default_rng(0)
    died = np.repeat([0, 1], 60)
    table = pd.DataFrame({"age": rng.normal(50, 9, 120), "smokes": rng.integers(0, 2, 120), "died": died})
    table["fate"] = np.where(died, "buried", "alive")
    found = compare(table, groups="died", n_permutations=19).table1()
    assert list(found.columns[1:3]) == ["died = 0 (n = 60)", "died = 1 (n = 60)"]
    assert ("smokes", "1") in found.index
    assert found.xs("fate")["SMD"].tolist() == ["\N{INFINITY}"]


def test_what_the_test_is_adjusted_for_does_not_change_the_figures(table):
    plain = compare(table[["age", "income", "arm"]], groups="arm", missing="impute", **OPTIONS).table1()
    adjusted = compare(
        table[["age", "income", "arm"]], groups="arm", covariates="age", missing="impute", **OPTIONS
    ).table1()
    figures = [name for name in plain.columns if "(n =" in name]
    assert (adjusted.loc["income", figures] == plain.loc["income", figures]).to_numpy().all()
