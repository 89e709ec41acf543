"""Tables that do not fit are compared from files, and the answer is that of the same table in memory."""

import warnings

import dask.array
import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from princdiff import compare, open_rows
from princdiff.cli.main import main
from princdiff.data.stored_columns import StoredColumns
from princdiff.tables import large_tables, prepare

N_ROWS = 12_000


def table(n_rows=N_ROWS):
    rng = np.random.default_rng(0)
    later = np.arange(n_rows) % 2 == 1
    amount = rng.normal(size=n_rows) + 0.3 * later
    amount[rng.random(n_rows) < 0.05] = np.nan
    return pd.DataFrame(
        {
            "month": np.where(later, "May", "April"),
            "amount": amount,
            "delay": rng.gamma(2.0, size=n_rows),
            "items": rng.poisson(3, size=n_rows),
            "late": rng.random(n_rows) < 0.1 + 0.1 * later,
            "city": np.array(["Oslo", "Rome", "Bern", "Basel"])[rng.integers(4, size=n_rows)],
            "size": pd.Categorical.from_codes(rng.integers(3, size=n_rows), ["S", "M", "L"], ordered=True),
            "remark": [f"no {number}" for number in range(n_rows)],
            "when": pd.date_range("2026", periods=n_rows, freq="min"),
            "row_id": np.arange(n_rows),
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("big")
    whole = table()
    whole.iloc[:5000].to_parquet(place / "a.parquet", index=False, row_group_size=1500)
    whole.iloc[5000:].to_parquet(place / "b.parquet", index=False)
    return place


@pytest.fixture(autouse=True)
def _small_libraries(monkeypatch):
    """A budget of some megabytes, in which the libraries do not count."""
    monkeypatch.setattr(large_tables, "LIBRARIES", 0)


BUDGET = 6_000_000


def quiet(function, *args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return function(*args, **options)


@pytest.mark.parametrize("missing", ["impute", "drop"])
@pytest.mark.parametrize("dates", ["skip", "parts"])
def test_preparation_is_the_same_column_by_column(folder, missing, dates):
    ours = quiet(
        prepare, str(folder / "*.parquet"), groups="month", missing=missing, dates=dates, memory=BUDGET
    )
    theirs = quiet(prepare, table(), groups="month", missing=missing, dates=dates)
    assert isinstance(ours.rows, StoredColumns)
    np.testing.assert_array_equal(ours.rows[:], theirs.rows)
    np.testing.assert_array_equal(ours.codes, theirs.codes)
    assert (ours.features, ours.kinds, ours.groups) == (theirs.features, theirs.kinds, theirs.groups)
    assert ours.column_info == theirs.column_info and ours.codings == theirs.codings
    assert ours.left_out == theirs.left_out and ours.missing == theirs.missing
    assert ours.notes == theirs.notes
    for name, rows in theirs.filled.items():
        np.testing.assert_array_equal(ours.filled[name], rows)


def test_the_answer_is_the_same(folder):
    options = {"groups": "month", "missing": "impute", "n_permutations": 99}
    ours = quiet(compare, folder, memory=BUDGET, **options)
    theirs = quiet(compare, table(), **options)
    assert ours.pvalue == theirs.pvalue and ours.selected == theirs.selected
    assert {"amount", "late"} <= {str(name).split(" = ")[0] for name in ours.selected}
    np.testing.assert_allclose(ours.directions.to_numpy(), theirs.directions.to_numpy(), atol=1e-4)
    np.testing.assert_allclose(ours.effect, theirs.effect, rtol=1e-3)
    columns = ["divergence", "mean April", "sd May", "pvalue"]
    both = (result.table.set_index("feature").sort_index()[columns] for result in (ours, theirs))
    np.testing.assert_allclose(*both, rtol=1e-6)
    assert ours.notes == theirs.notes


@pytest.mark.parametrize("kind", ["npy", "memmap", "dask"])
def test_rows_of_numbers_out_of_core(kind, tmp_path):
    rng = np.random.default_rng(1)
    rows, groups = rng.normal(size=(N_ROWS, 5)), np.arange(N_ROWS) % 2
    rows[groups == 1, 3] += 0.2
    np.save(tmp_path / "rows.npy", rows)
    source = {
        "npy": lambda: open_rows(tmp_path / "rows.npy", memory=BUDGET),
        "memmap": lambda: np.load(tmp_path / "rows.npy", mmap_mode="r"),
        "dask": lambda: dask.array.from_array(rows, chunks=(3000, 5)),
    }[kind]()
    assert isinstance(prepare(source, groups=groups, memory=BUDGET).rows, StoredColumns)
    ours = compare(source, groups=groups, memory=BUDGET, n_permutations=99)
    theirs = compare(rows, groups=groups, n_permutations=99)
    assert ours.pvalue == theirs.pvalue and ours.selected == theirs.selected == ["x3"]
    np.testing.assert_allclose(ours.directions.to_numpy(), theirs.directions.to_numpy(), atol=1e-4)


def test_a_dask_frame_is_the_table_it_stands_for():
    options = {"groups": "month", "missing": "impute"}
    dataframe = pytest.importorskip("dask.dataframe")
    frame = dataframe.from_pandas(table(), npartitions=5)
    ours = quiet(prepare, frame, memory=BUDGET, **options)
    theirs = quiet(prepare, table(), **options)
    assert isinstance(ours.rows, StoredColumns)
    np.testing.assert_array_equal(ours.rows[:], theirs.rows)
    assert (ours.features, ours.kinds, ours.groups) == (theirs.features, theirs.kinds, theirs.groups)
    assert ours.column_info == theirs.column_info and ours.left_out == theirs.left_out
    small = quiet(prepare, frame, **options)
    np.testing.assert_array_equal(small.rows, theirs.rows)


@pytest.mark.parametrize(("kind", "sparse"), [("h5ad", True), ("zarr", False), ("backed", True)])
@pytest.mark.filterwarnings("ignore:Writing zarr v2")
def test_cells_of_a_file(kind, sparse, tmp_path, monkeypatch):
    anndata = pytest.importorskip("anndata")
    if kind == "zarr":
        pytest.importorskip("zarr")
    rng = np.random.default_rng(3)
    # Of few entries nothing else is stored.
    counts = rng.poisson(0.1 if kind == "backed" else 0.3, size=(N_ROWS, 6)).astype(np.float32)
    treated = np.arange(N_ROWS) % 2 == 1
    counts[treated, 2] += rng.poisson(0.1, size=treated.sum())
    cells = anndata.AnnData(scipy.sparse.csr_matrix(counts) if sparse else counts)
    cells.var_names = [f"gene{number}" for number in range(6)]
    cells.obs["condition"] = np.where(treated, "treated", "control")
    cells.obs_names = [f"cell{number}" for number in range(N_ROWS)]
    path = tmp_path / f"cells.{'zarr' if kind == 'zarr' else 'h5ad'}"
    cells.write_zarr(path) if kind == "zarr" else cells.write_h5ad(path)
    source = anndata.read_h5ad(path, backed="r") if kind == "backed" else path
    if sparse:
        assert scipy.sparse.issparse(prepare(source, groups="condition", memory=BUDGET).rows)
        # As if there were more of them.
        monkeypatch.setattr(large_tables, "SPARSE_COPIES", 100)
    stored = prepare(source, groups="condition", memory=BUDGET).rows
    assert isinstance(stored, StoredColumns) and stored.sparse == (kind == "backed")
    ours = compare(source, groups="condition", memory=BUDGET, n_permutations=99)
    theirs = compare(cells, groups="condition", n_permutations=99)
    assert ours.pvalue == theirs.pvalue and ours.selected == theirs.selected == ["gene2"]
    assert list(prepare(source, groups="condition").features) == list(cells.var_names)


def test_three_groups(folder):
    rng = np.random.default_rng(2)
    rows, groups = rng.normal(size=(N_ROWS, 4)), np.arange(N_ROWS) % 3
    rows[groups == 2, 1] += 0.2
    np.save(folder / "three.npy", rows)
    options = {"groups": groups, "n_permutations": 19}
    ours = compare(open_rows(folder / "three.npy", memory=BUDGET), **options)
    theirs = compare(rows, **options)
    assert ours.pvalue == theirs.pvalue and ours.selected == theirs.selected


def test_what_fits_is_read_into_memory(folder):
    found = quiet(prepare, folder, groups="month", missing="impute", memory=10**9)
    assert isinstance(found.rows, np.ndarray)
    found = quiet(prepare, [folder / "a.parquet", folder / "b.parquet"], groups="month", missing="impute")
    assert isinstance(found.rows, np.ndarray) and len(found.rows) == N_ROWS


def test_errors_name_what_is_wrong(folder, tmp_path):
    with pytest.raises(ValueError, match="missing values in 1 column"):
        quiet(compare, folder, groups="month", memory=BUDGET)
    with pytest.raises(ValueError, match="too little for the 12000 rows"):
        compare(folder, groups="month", memory=10**6)
    with pytest.raises(ValueError, match="memory must be a number of bytes"):
        compare(folder, groups="month", memory="much")
    with pytest.raises(FileNotFoundError, match="no file matches"):
        compare(str(tmp_path / "*.parquet"), groups="month")
    pd.DataFrame({"month": ["May"], "other": [1.0]}).to_parquet(tmp_path / "c.parquet")
    with pytest.raises(ValueError, match=r"column '.*' is in a.parquet but not in c.parquet"):
        compare([folder / "a.parquet", tmp_path / "c.parquet"], groups="month")


def test_nearly_numbers_and_infinity_are_refused_by_name(tmp_path):
    frame = table()[["month", "delay"]].assign(price=[str(number) for number in range(N_ROWS)])
    frame.loc[7, "price"] = "cheap"
    frame.to_parquet(tmp_path / "dirty.parquet")
    with pytest.raises(ValueError, match=r"'price' holds numbers but for 'cheap' \(the first in row 7"):
        compare(tmp_path / "dirty.parquet", groups="month", memory=BUDGET)
    frame = table()[["month", "delay", "items"]]
    frame.loc[5, "delay"] = np.inf
    frame.to_parquet(tmp_path / "infinite.parquet")
    with pytest.raises(ValueError, match=r"infinite values, or .* in 1 column: 'delay'"):
        compare(tmp_path / "infinite.parquet", groups="month", memory=1_900_000)


def test_the_command_line_takes_the_files_of_one_table(folder, capsys, monkeypatch):
    files = [str(folder / "a.parquet"), str(folder / "b.parquet")]
    words = ["compare", *files, "--groups", "month", "--missing", "impute", "--memory", "6MB"]
    assert main([*words, "--n-permutations", "19", "--quiet", "--fail-below", "0.1"]) == 1
    assert "differ" in capsys.readouterr().out
    assert main(["compare", *files, "third.csv", "--groups", "month"]) == 2
    assert "all must be parquet" in capsys.readouterr().err
    assert main(["compare", *files, files[0]]) == 2
    assert main([*words[:-1], "much"]) == 2


def test_effects_of_very_many_rows_are_measured_on_some_of_them(monkeypatch):
    from princdiff import comparison_steps

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4000, 3)), rng.integers(0, 2, 4000)
    X[y == 1, 1] += 0.8
    options = {"groups": y, "n_permutations": 19, "n_components": 2, "random_state": 0}
    whole = compare(X, **options)
    monkeypatch.setattr(comparison_steps, "_MOST_EFFECT_ROWS", 1000)
    some = compare(X, **options)
    assert some.effect == pytest.approx(whole.effect, abs=0.15) and some.effect != whole.effect
    assert some.pvalue == whole.pvalue
    assert some.components["location"][0] == pytest.approx(whole.components["location"][0], abs=0.2)
