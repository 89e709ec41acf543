"""Tables that lie elsewhere: compared by sums where they do not fit, read where they do, or refused."""

import warnings

import dask.array
import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from princdiff import Config, compare, open_rows
from princdiff.cli.main import main
from princdiff.tables import large_tables, prepare

pytestmark = pytest.mark.whole

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


def in_sums(result):
    return any("sums over chunks" in note for note in result.notes)


def test_sums_of_files_show_what_rows_in_memory_do(folder):
    options = {"groups": "month", "missing": "impute", "n_permutations": 99}
    ours = quiet(compare, folder, config=Config(memory=BUDGET), **options)
    theirs = quiet(compare, table(), **options)
    assert in_sums(ours) and not in_sums(theirs)
    assert ours.pvalue == theirs.pvalue == 0.01
    assert {"amount", "late"} <= set(ours.selected_columns) & set(theirs.selected_columns)
    assert ours.groups == theirs.groups
    columns = ["mean April", "mean May"]
    both = (
        result.table.set_index("feature").loc["late = True", columns].astype(float)
        for result in (ours, theirs)
    )
    # A tenth of the rows chose the bins.
    np.testing.assert_allclose(*both, atol=0.02)


def test_a_dask_frame_is_read_or_summed_up_where_it_lies():
    dataframe = pytest.importorskip("dask.dataframe")
    frame = dataframe.from_pandas(table(), npartitions=5)
    options = {"groups": "month", "missing": "impute"}
    small = quiet(prepare, frame, **options)
    np.testing.assert_array_equal(small.rows, quiet(prepare, table(), **options).rows)
    large = quiet(compare, frame, n_permutations=99, config=Config(memory=BUDGET), **options)
    assert in_sums(large) and {"amount", "late"} <= set(large.selected_columns)


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
    result = compare(source, groups=groups, n_permutations=99, config=Config(memory=BUDGET))
    assert in_sums(result) and result.selected == ["x3"]
    assert not in_sums(compare(source, groups=groups, n_permutations=19, config=Config(memory=10**9)))


@pytest.mark.parametrize(("kind", "sparse"), [("h5ad", True), ("zarr", False), ("backed", True)])
@pytest.mark.filterwarnings("ignore:Writing zarr v2")
def test_cells_of_a_file(kind, sparse, tmp_path, monkeypatch):
    anndata = pytest.importorskip("anndata")
    if kind == "zarr":
        pytest.importorskip("zarr")
    rng = np.random.default_rng(3)
    counts = rng.poisson(0.3, size=(N_ROWS, 6)).astype(np.float32)
    treated = np.arange(N_ROWS) % 2 == 1
    counts[treated, 2] += rng.poisson(0.1, size=treated.sum())
    cells = anndata.AnnData(scipy.sparse.csr_matrix(counts) if sparse else counts)
    cells.var_names = [f"gene{number}" for number in range(6)]
    cells.obs["condition"] = np.where(treated, "treated", "control")
    cells.obs["donor"] = [f"donor {number % 60}" for number in range(N_ROWS)]
    cells.obs_names = [f"cell{number}" for number in range(N_ROWS)]
    path = tmp_path / f"cells.{'zarr' if kind == 'zarr' else 'h5ad'}"
    cells.write_zarr(path) if kind == "zarr" else cells.write_h5ad(path)
    source = anndata.read_h5ad(path, backed="r") if kind == "backed" else path
    if sparse:
        assert scipy.sparse.issparse(prepare(source, groups="condition", memory=BUDGET).rows)
        # As if there were more of them.
        monkeypatch.setattr(large_tables, "SPARSE_COPIES", 100)
    options = {
        "groups": "condition",
        "config": Config(memory=BUDGET),
        "n_permutations": 99,
        "random_state": 1,
    }
    result = compare(source, **options)
    assert in_sums(result) and result.selected == ["gene2"]
    assert set(result.table["column"]) == set(cells.var_names)
    donors = compare(source, blocks="donor", **options)
    assert in_sums(donors) and donors.selected == ["gene2"]


def test_three_groups(folder):
    rng = np.random.default_rng(2)
    rows, groups = rng.normal(size=(N_ROWS, 4)), np.arange(N_ROWS) % 3
    rows[groups == 2, 1] += 0.2
    np.save(folder / "three.npy", rows)
    result = compare(open_rows(folder / "three.npy", memory=BUDGET // 2), groups=groups, n_permutations=99)
    assert in_sums(result) and list(result.groups.values()) == [4000] * 3
    assert result.selected == ["x1"]


def test_what_fits_is_read_into_memory(folder):
    options = {"groups": "month", "missing": "impute"}
    whole = quiet(prepare, table(), **options)
    for source, memory in ((folder, 10**9), ([folder / "a.parquet", folder / "b.parquet"], None)):
        found = quiet(prepare, source, memory=memory, **options)
        np.testing.assert_array_equal(found.rows, whole.rows)
        assert found.features == whole.features and found.column_info == whole.column_info


def test_long_text_is_summed_up_or_read_by_rows(tmp_path, monkeypatch):
    from princdiff.profiles import large_sources

    monkeypatch.setattr(large_sources, "_LONG_TEXT", 1000)
    frame = table()[["month", "amount", "delay", "city"]]
    frame.to_csv(tmp_path / "rows.csv", index=False)
    options = {"groups": "month", "missing": "impute", "n_permutations": 99}
    found = compare(tmp_path / "rows.csv", **options)
    assert in_sums(found) and found.selected_columns == ["amount"]
    # What its reader takes for one column is several for ours.
    frame.to_csv(tmp_path / "other.csv", index=False, sep=";")
    found = compare(tmp_path / "other.csv", **options)
    assert not in_sums(found) and found.selected_columns == ["amount"]


def test_errors_name_what_is_wrong(folder, tmp_path):
    with pytest.raises(ValueError, match=r"'amount' has \d+ missing values"):
        quiet(compare, folder, groups="month", config=Config(memory=BUDGET))
    with pytest.raises(
        ValueError, match=r"12000 rows of 10 columns, which take about 14\.4 MB .* more than memory="
    ):
        compare(folder, groups="month", covariates="items", missing="impute", config=Config(memory=BUDGET))
    with pytest.raises(ValueError, match="memory must be a number of bytes"):
        compare(folder, groups="month", config=Config(memory="much"))
    with pytest.raises(FileNotFoundError, match="no file matches"):
        compare(str(tmp_path / "*.parquet"), groups="month")
    pd.DataFrame({"month": ["May"], "other": [1.0]}).to_parquet(tmp_path / "c.parquet")
    with pytest.raises(ValueError, match=r"column '.*' is in a.parquet but not in c.parquet"):
        compare([folder / "a.parquet", tmp_path / "c.parquet"], groups="month")
    frame = table()[["month", "delay", "items"]]
    frame.loc[5, "delay"] = np.inf
    frame.to_parquet(tmp_path / "infinite.parquet")
    with pytest.raises(ValueError, match="'delay' has infinite values"):
        compare(tmp_path / "infinite.parquet", groups="month", config=Config(memory=1_900_000))


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
