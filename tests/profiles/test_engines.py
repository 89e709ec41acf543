"""What every engine must do: the same sums and p-values for the same rows, and refuse what is broken.

Engines that are not installed are left out, but for `make test-engines`, which installs all and says so.
"""

from __future__ import annotations

import importlib.util
import os
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import princdiff
from princdiff.profiles.chunk_sums import ChunkLabellings, Chunks
from princdiff.profiles.chunk_tests import ChunkTests
from princdiff.profiles.engines import open_source

OPTIONAL = ("dask", "polars", "duckdb", "pyspark", "ray")
INSTALLED = [name for name in OPTIONAL if importlib.util.find_spec(name) is not None]
IN_MEMORY = ("pandas", "table", "reader", "sqlite")
ON_DISK = ("parquet", "folder", "address", "dataset", "csv")


def table(n_rows: int = 12_000, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "row": np.arange(n_rows),
            "group": rng.choice(["a", "b"], n_rows),
            "size": rng.normal(3, 2, n_rows),
            "count": rng.poisson(3, n_rows),
            "city": rng.choice(["Oslo", "Rome", "Riga"], n_rows, p=[0.5, 0.3, 0.2]),
        }
    )
    frame.loc[frame["group"] == "b", "size"] += 0.2
    frame.loc[rng.random(n_rows) < 0.02, "size"] = np.nan
    return frame


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return table()


@pytest.fixture(scope="module")
def folder(frame: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("parts")
    for place, part in enumerate(np.array_split(np.arange(len(frame)), 3)):
        pq.write_table(
            pa.Table.from_pandas(frame.iloc[part], preserve_index=False),
            folder / f"part-{place}.parquet",
            row_group_size=2500,
        )
    return folder


@pytest.fixture(scope="module")
def reference(frame: pd.DataFrame) -> princdiff.Profile:
    ruler = princdiff.profile(frame, groups="group", exclude=["row"], sample_rows=0)
    return princdiff.profile(frame, groups="group", like=ruler, blocks="row", sample_rows=50)


@pytest.fixture(scope="module")
def spark() -> Iterator[object]:
    from pyspark.sql import SparkSession

    # The workers are of this environment.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    yield session
    session.stop()


@pytest.fixture(scope="module")
def started_ray() -> Iterator[object]:
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield ray
    ray.shutdown()


def source(name: str, frame: pd.DataFrame, folder: Path, request: pytest.FixtureRequest) -> object:
    """The same table as each engine has it."""
    files = sorted(map(str, folder.glob("*.parquet")))
    match name:
        case "pandas":
            return frame
        case "table":
            return pa.Table.from_pandas(frame, preserve_index=False)
        case "reader":
            batches = pa.Table.from_pandas(frame, preserve_index=False).to_batches(1000)
            return pa.RecordBatchReader.from_batches(batches[0].schema, batches)
        case "sqlite":
            connection = sqlite3.connect(":memory:")
            frame.to_sql("orders", connection, index=False)
            return connection, "select * from orders"
        case "parquet":
            return files
        case "folder":
            return str(folder)
        case "address":
            return f"file://{folder}"
        case "dataset":
            return ds.dataset(files)
        case "csv":
            path = folder.parent / "table.csv"
            frame.to_csv(path, index=False)
            return str(path)
        case "polars":
            import polars

            return polars.scan_parquet(files)
        case "dask":
            import dask.dataframe as dd

            return dd.read_parquet(files, split_row_groups=True)
        case "duckdb":
            import duckdb

            return duckdb.read_parquet(files)
        case "pyspark":
            return request.getfixturevalue("spark").read.parquet(*files)
        case "ray":
            return request.getfixturevalue("started_ray").data.read_parquet(files)
    raise AssertionError(name)


def pvalues(profile: princdiff.Profile) -> np.ndarray:
    chunks = Chunks(profile.ruler, tuple(profile.groups), tuple(profile.groups.values()))
    tests = ChunkTests(chunks, ChunkLabellings.drawn(chunks, 99, np.random.default_rng(0)))
    return np.append(tests.tested().level_pvalues, tests.tested().pvalue)


def test_make_test_engines_has_all_of_them():
    wanted = OPTIONAL if os.environ.get("PRINCDIFF_ALL_ENGINES") else ()
    assert set(wanted) <= set(INSTALLED)


@pytest.mark.parametrize("name", [*IN_MEMORY, *ON_DISK, *INSTALLED])
def test_the_same_sums_and_pvalues_wherever_the_table_lies(name, frame, folder, reference, request):
    found = princdiff.profile(
        source(name, frame, folder, request), groups="group", like=reference, blocks="row", sample_rows=50
    )
    assert found.ruler.names == reference.ruler.names
    assert found.n_rows == len(frame)
    for group, sums in reference.groups.items():
        own = found.groups[group]
        np.testing.assert_array_equal(own.rows, sums.rows)
        np.testing.assert_array_equal(own.products, sums.products)
        for counts, others in zip(own.counts, sums.counts, strict=True):
            np.testing.assert_array_equal(counts, others)
        for totals, others in zip(own.sums, sums.sums, strict=True):
            np.testing.assert_allclose(totals, others, atol=1e-8)
        assert set(found.sample.keys[group]) == set(reference.sample.keys[group])
    np.testing.assert_array_equal(pvalues(found), pvalues(reference))


@pytest.mark.parametrize("name", [*IN_MEMORY, *ON_DISK, *INSTALLED])
def test_a_column_that_is_not_there_is_named(name, frame, folder, request):
    with pytest.raises(ValueError, match=r"'wieght'.*row, group, size"):
        princdiff.profile(source(name, frame, folder, request), groups="wieght")


def test_parts_without_a_label_are_refused(frame):
    holes = frame.astype({"group": object})
    holes.loc[3, "group"] = None
    with pytest.raises(ValueError, match="1 rows of 0 have no group in column 'group'"):
        princdiff.profile(holes, groups="group")


def test_a_truncated_file_is_refused(folder, tmp_path):
    for path in sorted(folder.glob("*.parquet")):
        (tmp_path / path.name).write_bytes(path.read_bytes()[: -(200 if path.name > "part-1" else 0) or None])
    with pytest.raises(ValueError, match="cannot be read as parquet"):
        princdiff.profile(str(tmp_path / "*.parquet"), groups="group")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda frame: frame.assign(size="large"), r"'size'|b\.parquet"),
        (lambda frame: frame.drop(columns="size"), r"'size' is in a\.parquet but not in b\.parquet"),
        (lambda frame: frame.assign(weight=1.0), r"'weight' is in b\.parquet but not in a\.parquet"),
    ],
)
def test_files_with_other_columns_are_refused(change, said, frame, tmp_path):
    frame.to_parquet(tmp_path / "a.parquet", index=False)
    change(frame).to_parquet(tmp_path / "b.parquet", index=False)
    with pytest.raises(ValueError, match=said):
        princdiff.profile([tmp_path / "a.parquet", tmp_path / "b.parquet"], groups="group")


@pytest.mark.parametrize("rows", [0, 5000, 12_000])
def test_a_file_that_changes_between_two_passes_is_refused(rows, frame, tmp_path):
    path = tmp_path / "a.parquet"
    frame.to_parquet(path, index=False)
    engine = open_source(path)
    engine.run(lambda part, batches: sum(batch.num_rows for batch in batches), ["size"], most_rows=10)
    path.unlink()
    if rows:
        frame[::-1].head(rows).to_parquet(path, index=False)
    with pytest.raises(ValueError, match=r"a\.parquet was changed or removed while it was being read"):
        engine.run(lambda part, batches: sum(batch.num_rows for batch in batches), ["size"])


def test_a_stream_is_read_once(frame):
    batches = pa.Table.from_pandas(frame, preserve_index=False).to_batches(1000)
    reader = pa.RecordBatchReader.from_batches(batches[0].schema, batches)
    engine = open_source(reader)
    assert engine.run(lambda part, found: sum(batch.num_rows for batch in found), ["size"]) == len(frame)
    with pytest.raises(ValueError, match="read already"):
        engine.run(lambda part, found: 0, ["size"])


def test_what_is_no_table_is_refused():
    with pytest.raises(TypeError, match="got int"):
        princdiff.profile(3)
    with pytest.raises(FileNotFoundError, match="no such file"):
        princdiff.profile("no-such-file.parquet")
