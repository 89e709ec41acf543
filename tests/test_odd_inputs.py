"""Odd tables through the public doors: read as a person means them, or refused in words that help."""

from __future__ import annotations

import decimal
import gzip

import numpy as np
import pandas as pd
import pytest

import princdiff
from princdiff import PDA, compare, permutation_test, select_features

pytestmark = pytest.mark.whole

ROWS = 80
QUICK = {"n_permutations": 19, "random_state": 0}


def table() -> tuple[pd.DataFrame, np.ndarray]:
    """Two columns; only ``v`` differs between the groups."""
    rng = np.random.default_rng(0)
    groups = np.repeat(["a", "b"], ROWS // 2)
    frame = pd.DataFrame({"u": rng.normal(size=ROWS), "v": rng.normal(size=ROWS).round(3)})
    frame.loc[groups == "b", "v"] += 2
    return frame, groups


DOORS = [permutation_test, select_features, lambda X, y, **_: PDA(certify=False).fit(X, y)]


@pytest.mark.parametrize("door", DOORS)
def test_what_lies_under_a_mask_is_no_value(door):
    frame, groups = table()
    masked = np.ma.masked_array(frame.to_numpy(copy=True), mask=False)
    masked[3, 1] = np.ma.masked
    masked.data[3, 1] = 1e9
    with pytest.raises(ValueError, match="contains NaN or infinity: column '1' is affected"):
        door(masked, groups, **QUICK)
    unmasked = np.ma.masked_array(frame.to_numpy(), mask=False)
    door(unmasked, groups, **QUICK)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: X + 1j, "Complex data not supported: X holds complex numbers; pass real and imaginary"),
        (lambda X: (X * 1e9).astype("timedelta64[ns]"), r"X holds dates or durations \(timedelta64\[ns\]\)"),
        (lambda X: (X * 1e9).astype("datetime64[s]"), "X holds dates or durations"),
        (
            lambda X: np.where(X > 0, "high", "low"),
            r"X holds text, but numbers are needed: '(high|low)' in column 0",
        ),
        (
            lambda X: np.where(X == X[3, 1], "n/a", X.astype(object)),
            "'n/a' in column 1, row 3 [(]counting from 0[)]",
        ),
    ],
)
def test_arrays_of_something_else_than_numbers(door, change, message):
    frame, groups = table()
    with pytest.raises(ValueError, match=message) as caught:
        door(change(frame.to_numpy()), groups, **QUICK)
    assert len(str(caught.value)) < 200


def test_numbers_written_as_text_in_an_array_are_read():
    frame, groups = table()
    as_text = permutation_test(frame.to_numpy().astype(str), groups, **QUICK)
    assert as_text.pvalue == permutation_test(frame.to_numpy(), groups, **QUICK).pvalue


@pytest.mark.parametrize("door", DOORS)
def test_two_columns_of_one_name(door):
    frame, groups = table()
    frame.columns = ["u", "u"]
    with pytest.raises(ValueError, match="column 'u' is in X more than once"):
        door(frame, groups, **QUICK)


@pytest.mark.parametrize("name", ["y", "blocks", "sample_weight", "covariates"])
def test_an_index_in_another_order_is_not_ignored(name):
    frame, groups = table()
    given = {
        "y": pd.Series(groups),
        "blocks": pd.Series(np.arange(ROWS) % (ROWS // 2)),
        "sample_weight": pd.Series(np.ones(ROWS)),
        "covariates": pd.DataFrame({"c": np.arange(ROWS) % 7}),
    }
    entries = {"y": given["y"], name: given[name][::-1]}
    with pytest.raises(ValueError, match=rf"{name} has the rows of X in another order.*pass {name}\.loc"):
        permutation_test(frame, **entries, **QUICK)
    permutation_test(frame, **{**entries, name: given[name]}, **QUICK)


def test_covariates_that_determine_the_groups_are_refused():
    frame, groups = table()
    frame["site"] = np.where(groups == "a", "north", "south")
    with pytest.raises(ValueError, match="the groups do not overlap in the covariate 'site = south'"):
        compare(frame, groups=groups, covariates="site", **QUICK)


def test_durations_are_numbers_of_days():
    frame, groups = table()
    frame["v"] = pd.to_timedelta(frame["v"], unit="h")
    result = compare(frame, groups=groups, **QUICK)
    assert result.selected == ["v"] and "Column 'v': durations, in days." in result.notes
    objects = frame.assign(v=frame["v"].astype(object))
    assert compare(objects, groups=groups, **QUICK).selected == ["v"]


def test_gaps_in_durations_are_missing_values():
    frame, groups = table()
    frame["v"] = pd.to_timedelta(frame["v"], unit="h")
    frame.loc[4, "v"] = pd.NaT
    with pytest.raises(ValueError, match=r"missing values in 1 column \(1 of 80 rows\)"):
        compare(frame, groups=groups, **QUICK)


@pytest.mark.parametrize(
    "written",
    [
        lambda x: f"{x}%",
        lambda x: f"${x}",
        lambda x: f"{x} €".replace(" ", "\N{NO-BREAK SPACE}"),
        lambda x: f"{x}".replace("-", "\N{MINUS SIGN}"),
        lambda x: f"{round(1e6 + 1e5 * x):_}".replace("_", "\N{NARROW NO-BREAK SPACE}"),
        lambda x: f"{round(1e6 + 1e5 * x):_}".replace("_", "'"),
    ],
    ids=["percent", "dollar", "euro", "minus", "spaces", "apostrophes"],
)
def test_numbers_with_signs_are_not_left_out_in_silence(written):
    frame, groups = table()
    frame["v"] = [written(x) for x in frame["v"]]
    with pytest.raises(ValueError, match=r"column 'v' holds numbers (with signs or units|but for) \("):
        compare(frame, groups=groups, **QUICK)
    assert compare(frame, groups=groups, exclude=["v"], **QUICK).selected == []


def test_groups_and_categories_typed_in_two_ways_are_noted():
    frame, groups = table()
    frame["plan"] = np.where(np.arange(ROWS) % 3 == 0, "Basic", "basic")
    typed = np.where(np.arange(ROWS) % 2, groups, np.char.upper(groups))
    with pytest.warns(UserWarning, match="groups 'a' and 'A' differ in capitals only|'A' and 'a'"):
        result = compare(frame, groups=typed, n_permutations=0)
    assert any("'Basic' and 'basic' differ in capitals only" in note for note in result.notes)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("data.xlsx", b"PK\x03\x04", "or read it with pandas and pass the DataFrame"),
        ("data.csv", gzip.compress(b"u,v\n1,2\n"), "is a gzip file; give it a name that ends in .gz"),
    ],
    # Without names the bytes are in the name of the test, and with them the time of the compression.
    ids=["workbook", "gzip"],
)
def test_files_that_cannot_be_read(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        compare(path, groups="g")


def test_an_address_is_not_a_file():
    with pytest.raises(ValueError, match="is an address, not a file; download the table first"):
        compare("https://example.org/table.csv", groups="g")


def frames():
    """The same table, its second column kept in another way; all must give one answer."""
    frame, groups = table()
    yield "float32", frame.astype("float32"), groups
    yield "nullable", frame.astype("Float64"), groups
    yield "decimal", frame.assign(v=[decimal.Decimal(str(x)) for x in frame["v"]]), groups
    yield "object", frame.astype(object), groups
    yield "text", frame.assign(v=frame["v"].astype(str)), groups
    yield "sparse", frame.astype(pd.SparseDtype(float)), groups
    yield "records", frame.to_records(index=False), groups
    yield "columns of lists", {name: column.tolist() for name, column in frame.items()}, groups
    yield (
        "two levels of names",
        frame.set_axis(pd.MultiIndex.from_product([["m"], ["u", "v"]]), axis=1),
        groups,
    )
    yield "unused level", frame, pd.Categorical(groups, categories=["a", "b", "c"])
    yield "pyarrow", frame.convert_dtypes(dtype_backend="pyarrow"), groups


@pytest.mark.parametrize(("rows", "groups"), [pytest.param(*case[1:], id=case[0]) for case in frames()])
def test_one_table_kept_in_many_ways(rows, groups):
    result = compare(rows, groups=groups, n_permutations=99)
    assert [name.split(" / ")[-1] for name in result.selected] == ["v"]
    assert result.pvalue == 0.01


def test_numbers_of_all_odd_types_reach_the_test_alike():
    frame, groups = table()
    plain = permutation_test(frame, groups, **QUICK)
    for rows in (frame.astype("Float64"), frame.to_numpy(), frame.to_numpy().astype(np.longdouble)):
        assert permutation_test(rows, groups, **QUICK).pvalue == plain.pvalue


def test_single_cells_with_odd_labels():
    anndata = pytest.importorskip("anndata")
    frame, groups = table()
    obs = pd.DataFrame(
        {"flag": groups == "b", "number": (groups == "b").astype(int)}, index=frame.index.astype(str)
    )
    for column in obs:
        cells = anndata.AnnData(np.exp(frame.to_numpy() / 4), obs=obs.copy())
        princdiff.tl.pda(cells, column, n_permutations=19, values=None)
        assert princdiff.get.pda_df(cells)["gene"].iloc[0] == "1"
