"""Databases: ``(connection, query)``, and tables in a file of DuckDB as ``"duckdb:///file.db?table=orders"``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from princdiff.extras import extra
from princdiff.profiles.arrow_columns import arrow
from princdiff.profiles.engines import TableEngine
from princdiff.profiles.engines.arrow_streams import Stream

# Rows fetched at a time from a connection that has no Arrow.
_ROWS = 100_000


def opened(source: Any) -> TableEngine | None:
    """What a query gives, as a stream."""
    if isinstance(source, str) and source.startswith("duckdb://"):
        return _duckdb_table(source)
    pair = isinstance(source, tuple) and len(source) == 2 and isinstance(source[1], str)
    if not pair or not any(hasattr(source[0], name) for name in ("cursor", "execute")):
        return None
    return _asked(*source)


def _asked(connection: Any, query: str) -> TableEngine:
    asking = connection if hasattr(connection, "execute") else connection.cursor()
    # A cursor of DB-API may return nothing.
    found = asking.execute(query) or asking
    for name in ("to_arrow_reader", "fetch_record_batch"):
        if hasattr(found, name):
            reader = getattr(found, name)(_ROWS)
            return Stream("query", reader.schema, reader)
    return _rows_of(found)


def _duckdb_table(address: str) -> TableEngine:
    parts = urlsplit(address)
    asked = parse_qs(parts.query)
    if set(asked) not in ({"table"}, {"query"}):
        raise ValueError(f"{address!r}: say which with duckdb:///file.db?table=orders, or ?query=select ...")
    path = Path(
        parts.netloc + parts.path.removeprefix("/") if not parts.path.startswith("//") else parts.path[1:]
    )
    if not path.is_file():
        raise FileNotFoundError(f"no such file: {str(path)!r}")
    duckdb = extra("duckdb", "duckdb", f"reading {path.name}")
    connection = duckdb.connect(str(path), read_only=True)
    table = asked.get("table", [""])[0].replace('"', '""')
    query = asked["query"][0] if "query" in asked else f'select * from "{table}"'
    try:
        return _asked(connection, query)
    except duckdb.Error as error:
        raise ValueError(f"{path.name}: {str(error).splitlines()[0]}") from error


def _rows_of(cursor: Any) -> TableEngine:
    """Rows of a cursor of DB-API, whose types are those of the first rows."""
    pa = arrow()
    names = [str(one[0]) for one in cursor.description]
    first = _batch(cursor.fetchmany(_ROWS), names, None)

    def batches() -> Iterator[Any]:
        yield first
        while rows := cursor.fetchmany(_ROWS):
            yield _batch(rows, names, first.schema)

    empty = [field.name for field in first.schema if pa.types.is_null(field.type)]
    if empty:
        raise ValueError(
            f"column {empty[0]!r} of the query is empty in its first {first.num_rows} rows: leave it out"
        )
    return Stream("query", first.schema, batches())


def _batch(rows: list[Any], names: list[str], schema: Any) -> Any:
    pa = arrow()
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    types = [None] * len(names) if schema is None else schema.types
    try:
        arrays = list(map(pa.array, columns, types))
    except pa.ArrowException as error:
        raise ValueError(f"the query gives values of several types in one column: {error}") from error
    return pa.RecordBatch.from_arrays(arrays, names)
