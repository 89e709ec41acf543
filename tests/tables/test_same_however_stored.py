"""The second half of a table stored in another way: the rows that are compared must not change by it."""

from __future__ import annotations

import decimal
import gzip
import unicodedata
import warnings

import numpy as np
import pandas as pd
import pytest

from princdiff.tables import prepare

N = 120
CITIES = ["Zürich", "Genève", "Bern"]


def _table() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 330, 2 * N), unit="D")
    return pd.DataFrame(
        {
            "height": rng.normal(170, 9, 2 * N),
            "ratio": rng.integers(0, 40, 2 * N) / 7,
            "half": rng.choice([0.1, 0.7], 2 * N),
            "price": rng.lognormal(2, 1, 2 * N).round(2),
            "count": rng.poisson(3, 2 * N),
            "member": rng.random(2 * N) < 0.4,
            "city": rng.choice(CITIES, 2 * N),
            "zip": rng.choice(["00501", "06390", "10001"], 2 * N),
            "since": day + pd.to_timedelta(rng.integers(6, 12, 2 * N), unit="h"),
        }
    )


TABLE = _table()
FIRST, SECOND = TABLE[:N], TABLE[N:].reset_index(drop=True)


def _numbers(dtype: str):
    return lambda frame, _: frame.astype({"height": dtype, "ratio": dtype, "half": dtype, "price": dtype})


def _column(name: str, function):
    return lambda frame, _: frame.assign(**{name: function(frame[name])})


def _text(write, name: str = "b.csv"):
    """A text file made of what pandas would write."""

    def stored(frame, folder):
        path = folder / name
        write(path, frame.to_csv(index=False))
        return path

    return stored


def _csv(**options):
    def stored(frame, folder):
        frame.to_csv(folder / "b.csv", index=False, **options)
        return folder / "b.csv"

    return stored


def _arrow(frame, _):
    pytest.importorskip("pyarrow")
    return frame.convert_dtypes(dtype_backend="pyarrow")


def _polars(frame, _):
    polars = pytest.importorskip("polars")
    return polars.DataFrame({name: frame[name].to_numpy() for name in frame})


def _parquet(frame, folder):
    pytest.importorskip("pyarrow")
    frame.to_parquet(folder / "b.parquet")
    return folder / "b.parquet"


def _dictionary_parquet(frame, folder):
    return _parquet(frame.astype({"city": "category", "zip": "category"}), folder)


def _zones(series: pd.Series) -> pd.Series:
    return series.dt.strftime("%Y-%m-%dT%H:%M:%S+09:00")


SAME = {
    "order of columns": lambda frame, _: frame[frame.columns[::-1]],
    "index": lambda frame, _: frame.set_index(np.arange(N) * 7 + 3),
    "named index": lambda frame, _: frame.rename_axis("row"),
    "float32": _numbers("float32"),
    "nullable floats": _numbers("Float64"),
    "object numbers": _numbers("object"),
    "numbers as text": _numbers("str"),
    "string type": lambda frame, _: frame.astype({"city": "string", "zip": "string"}),
    "categories": lambda frame, _: frame.astype({"city": "category", "zip": "category"}),
    "nullable": lambda frame, _: frame.convert_dtypes(),
    "arrow types": _arrow,
    "polars": _polars,
    "decimals": _column("price", lambda c: c.map(lambda v: decimal.Decimal(f"{v:.2f}"))),
    "small integers": _column("count", lambda c: c.astype("uint8")),
    "integers as floats": _column("count", lambda c: c.astype(float)),
    "integers with gaps": _column("count", lambda c: c.astype("Int64")),
    "integers as categories": _column("city", lambda c: c.astype("category")),
    "booleans as 0 and 1": _column("member", lambda c: c.astype(int)),
    "booleans as objects": _column("member", lambda c: c.astype(object)),
    "booleans in capitals": _column("member", lambda c: c.map({True: "TRUE", False: "FALSE"})),
    "booleans as answers": _column("member", lambda c: c.map({True: "yes", False: "no"})),
    "decomposed": _column("city", lambda c: c.map(lambda v: unicodedata.normalize("NFD", v))),
    "without width": _column("city", lambda c: c + "\u200b"),
    "padded": _column("city", lambda c: c.str.ljust(12)),
    "no-break space": _column("city", lambda c: "\u00a0" + c),
    "names of columns": lambda frame, _: frame.rename(columns={"height": "\ufeffheight", "city": " city "}),
    "codes as numbers": _column("zip", lambda c: c.astype(int)),
    "codes without zeros": _column("zip", lambda c: c.str.lstrip("0")),
    "ISO": _column("since", lambda c: c.dt.strftime("%Y-%m-%dT%H:%M")),
    "dots": _column("since", lambda c: c.dt.strftime("%d.%m.%Y %H:%M")),
    "months first": _column("since", lambda c: c.dt.strftime("%m/%d/%Y %H:%M")),
    "days first": _column("since", lambda c: c.dt.strftime("%d/%m/%y %H:%M")),
    "zone": _column("since", lambda c: c.dt.tz_localize("Asia/Tokyo")),
    "zone as text": _column("since", _zones),
    "objects of dates": _column("since", lambda c: c.astype(object)),
    "seconds": _column("since", lambda c: c.astype("datetime64[s]")),
    "parquet": _parquet,
    "parquet with dictionaries": _dictionary_parquet,
    "csv": _csv(),
    "csv of R": _csv(float_format="%.15g"),
    "csv of six decimals": _csv(float_format="%.6f"),
    "csv in quotes": _csv(quoting=1),
    "csv of Windows": _csv(lineterminator="\r\n"),
    "csv with its mark": _csv(encoding="utf-8-sig"),
    "csv with semicolons": _csv(sep=";"),
    "csv with blanks": _text(lambda path, text: path.write_text(text.replace(",", ", "))),
    "csv with blanks before commas": _text(lambda path, text: path.write_text(text.replace(",", " ,"))),
    "csv with empty lines": _text(lambda path, text: path.write_text(text.replace("\n", "\n\n"))),
    "gzip": _text(lambda path, text: path.write_bytes(gzip.compress(text.encode())), "b.csv.gz"),
    "tabs": _text(lambda path, text: path.write_text(text.replace(",", "\t")), "b.tsv"),
}


def prepared(second):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return prepare(FIRST, second, dates="parts")


@pytest.fixture(scope="module")
def plain():
    return prepared(SECOND)


@pytest.mark.parametrize("way", SAME)
def test_the_same_rows(way, plain, tmp_path):
    found = prepared(SAME[way](SECOND, tmp_path))
    assert found.columns == plain.columns
    assert found.left_out == plain.left_out
    np.testing.assert_allclose(found.rows, plain.rows, rtol=1e-6, atol=1e-6)
    # What is equal stays equal: ties would tell the groups apart.
    for one, other in zip(found.rows.T, plain.rows.T, strict=True):
        assert len(np.unique(one)) == len(np.unique(other))
