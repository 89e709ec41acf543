"""From whatever users have to rows of numbers: the work before a comparison, with notes on what was done.

Everything that is left out, dropped, filled or converted on the way is said in `Prepared.notes`: a result
that silently rests on fewer rows or columns than the user believes is a wrong result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from princdiff.data.memory import parse_memory
from princdiff.data.validate import check_choice
from princdiff.options import Dates, Missing, option
from princdiff.tables import messages
from princdiff.tables.alignment import align
from princdiff.tables.column_info import ColumnInfo, describe
from princdiff.tables.column_types import Column, Rules, is_about_rows
from princdiff.tables.encoding import Coding, FeatureKind, codings_of, expand, feature_names
from princdiff.tables.frames import Table, as_list
from princdiff.tables.large_tables import open_table
from princdiff.tables.pooled_columns import Pool, bad_cells, gather
from princdiff.tables.roles import Layout, Roles, assign_roles
from princdiff.tables.rows_in_pairs import note_matched
from princdiff.tables.units import warn_of_cells_without_blocks


@dataclass(frozen=True, eq=False)
class Prepared:
    """Rows of numbers, ready to be compared, and what was done to get them.

    Attributes
    ----------
    rows : array or CSR matrix of shape (n_rows, n_features)
        Finite numbers, float64 or float32. May share memory with the input.
    codes : array of shape (n_rows,), dtype uint8
        Group of each row, ``0 ... n_groups - 1``.
    groups : tuple of str
        Group names, by code.
    features : tuple of str
        Feature names, all different.
    origin : tuple of str
        The column each feature comes from.
    kinds : tuple of str
        Kind of each feature: "number", "flag" (the one 0/1 feature of a column with two values), "level"
        (0/1: one level of a category) or "missing" (0/1: the value is missing).
    feature_levels : tuple of str
        What a feature shows of its column: the level that 1 stands for, "other levels", "missing", a part
        of a date; empty for a number or a column that was 0/1 already.
    column_info : dict of str to ColumnInfo
        What each compared column is, in the order of the table.
    codings : tuple of Coding
        How each column became features; `encode` applies them to other rows.
    kept : array of shape (n_rows,)
        Number of each row in the input, first table first, from 0.
    table_sizes : tuple of int
        Rows of each table of the input.
    left_out : dict
        Columns that were not compared, and why.
    missing : dict
        Missing values in each column that had some, by group: those filled, those of dropped rows, and those
        of columns left out.
    filled : dict
        Rows whose value was filled, by feature (the "missing" feature aside).
    notes : tuple of str
        Everything that was left out, dropped, filled or converted, in sentences.
    weights : array of shape (n_rows,) or None
        Row weights.
    blocks : array of shape (n_rows,) or None
        Block of each row, as a code.
    covariates : array of shape (n_rows, n_covariates) or None
        Encoded covariates.
    covariate_names, covariate_columns : tuple of str
        Their names, and the columns that each comes from.
    block_column : str
        Column that holds the blocks; empty where they came as a vector.

    Examples
    --------
    >>> import pandas as pd
    >>> from princdiff.tables import prepare
    >>> frame = pd.DataFrame({"age": [31.5, 40.2, 28.9, 55.1] * 3, "city": ["Bern", "Basel", "Chur"] * 4})
    >>> prepared = prepare(frame, groups=["a", "a", "b", "b"] * 3)
    >>> prepared.features
    ('age', 'city = Basel', 'city = Bern', 'city = Chur')
    >>> prepared.groups, prepared.rows.shape
    (('a', 'b'), (12, 4))
    """

    rows: Any
    codes: NDArray[np.uint8]
    groups: tuple[str, ...]
    features: tuple[str, ...]
    origin: tuple[str, ...]
    kinds: tuple[FeatureKind, ...]
    feature_levels: tuple[str, ...]
    column_info: dict[str, ColumnInfo]
    codings: tuple[Coding, ...]
    kept: NDArray[np.intp]
    table_sizes: tuple[int, ...] = ()
    left_out: dict[str, str] = field(default_factory=dict)
    missing: dict[str, tuple[int, ...]] = field(default_factory=dict)
    filled: dict[str, NDArray[np.intp]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    weights: NDArray[np.float64] | None = None
    blocks: NDArray[np.intp] | None = None
    covariates: NDArray | None = None
    covariate_names: tuple[str, ...] = ()
    covariate_columns: tuple[str, ...] = ()
    block_column: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that were compared, in the order of the table."""
        return tuple(coding.column for coding in self.codings)

    def take_rows(self, index: NDArray[np.intp]) -> Prepared:
        """The same table with some of its rows, or all of them in another order.

        Parameters
        ----------
        index : array of int
            Rows to take, each at most once.

        Returns
        -------
        Prepared
        """

        def taken(values: Any) -> Any:
            return None if values is None else values[index]

        was_filled = np.zeros(len(self.codes), dtype=bool)
        filled = {}
        for name, rows in self.filled.items():
            was_filled[rows] = True
            filled[name] = np.flatnonzero(was_filled[index])
            was_filled[rows] = False
        return replace(
            self,
            rows=self.rows[index],
            codes=self.codes[index],
            kept=self.kept[index],
            weights=taken(self.weights),
            blocks=taken(self.blocks),
            covariates=taken(self.covariates),
            filled=filled,
        )

    def by_column(self, values: ArrayLike) -> dict[str, float]:
        """Sum a value per feature, such as a share, over the features of each column.

        Parameters
        ----------
        values : array of shape (n_features,)
            One value for each feature.

        Returns
        -------
        dict
            One value for each column.
        """
        totals = dict.fromkeys(self.columns, 0.0)
        for column, value in zip(self.origin, np.asarray(values, dtype=np.float64), strict=True):
            totals[column] += float(value)
        return totals


@dataclass(frozen=True, eq=False)
class Reading:
    """What the columns of the tables are for, and how they are read.

    Attributes
    ----------
    groups : str or array of shape (n_rows,)
        Column of `X` that holds the groups, or a label for each row.
    features : list of str, optional
        Columns to compare; default: all. Whole numbers asked for here are never taken for identifiers, and
        a column asked for that cannot be compared is an error.
    exclude : list of str, optional
        Columns to leave out.
    weights, blocks : str or array of shape (n_rows,), optional
        Column name, or a value per row, those of `X` first.
    covariates : str, list of str, array or DataFrame of shape (n_rows, n_covariates), optional
        Column names, or values per row.
    missing : {"error", "impute", "drop"}
        Missing values, blank text among them: an error; filled with the median over all rows and marked in a
        feature of their own (a category: one more level); or their rows left out, as those without a group.
    dates : {"skip", "parts"}
        Columns of dates and times: left out, or compared by the parts that vary: year, month, weekday (Monday
        is 0), hour, and days since the first date of the table.
    strict : bool
        Whether a column that cannot be compared is an error instead of a warning.
    memory : int, optional
        Budget in bytes: tables that would not fit are kept in files.
    min_rows : int, optional
        Rows that every group must have, those dropped for missing values aside.
    reference : str or number, optional
        The group that the others are compared with.
    """

    groups: Any = None
    features: Any = None
    exclude: Any = None
    weights: Any = None
    blocks: Any = None
    covariates: Any = None
    missing: Missing = "error"
    dates: Dates = "skip"
    strict: bool = False
    memory: int | None = None
    min_rows: int | None = None
    reference: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", as_list(self.features))
        object.__setattr__(self, "exclude", as_list(self.exclude))
        check_choice("missing", self.missing, ("error", "impute", "drop"))
        check_choice("dates", self.dates, ("skip", "parts"))


def reading_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """What of the options of `compare`, once settled, says how tables are read: fields of `Reading`."""
    found = {field.name: given[field.name] for field in fields(Reading) if field.name in given}
    memory = given.get("memory")
    return {
        **found,
        "weights": given.get("sample_weight"),
        "memory": None if memory is None else parse_memory(memory),
    }


def prepare(X: Any, Y: Any = None, **options: Any) -> Prepared:
    """Turn two tables, or one with groups, into rows of numbers.

    Parameters
    ----------
    X, Y : path, DataFrame (pandas or polars), array, scipy.sparse matrix, AnnData
        Two tables with the same columns, in any order, or only `X` together with `groups`. Files: csv, tsv
        (also .gz), parquet, feather, npz, npy, h5ad, zarr. Sparse tables stay sparse.
    **options
        Fields of `Reading`: groups, features, exclude, weights, blocks, covariates, missing, dates, strict,
        memory, min_rows, reference.

    Returns
    -------
    Prepared

    Warns
    -----
    UserWarning
        If columns are left out: dates, free text, identifiers, columns without values.

    Notes
    -----
    The columns of arrays, sparse matrices and AnnData are numbers and are all used; those of data frames and
    text files are looked at one by one. Numbers stay numbers, but for a column of two different numbers (20
    rows or more), which is a flag: ``sex = 2``. Categories become one 0/1 feature for each level; levels held
    by fewer than 5 rows (in tables below 500 rows: by fewer than 1 %), and those beyond the 64 most frequent,
    become one feature, ``city = other levels``. Ordered categories of pandas become the numbers 0, 1, 2 ...

    Examples
    --------
    >>> import pandas as pd
    >>> from princdiff.tables import prepare
    >>> old = pd.DataFrame({"size": [1.5, 2.0, 2.5], "city": ["Oslo", "Rome", "Rome"]})
    >>> new = pd.DataFrame({"city": ["Oslo", "Oslo", "Oslo"], "size": [2.5, None, 3.0]})
    >>> table = prepare(old, new, missing="impute")
    >>> table.features
    ('size', 'size (missing)', 'city = Rome')
    >>> table.rows[4]
    array([2.5, 1. , 0. ])
    >>> table.kinds
    ('number', 'missing', 'flag')
    >>> table.column_info["size"].missing
    (0, 1)
    >>> table.by_column([0.25, 0.5, 0.25])
    {'size': 0.75, 'city': 0.25}
    """
    reading = Reading(**options)
    tables = _read_all(X, Y, reading.groups, reading.memory)
    layout = Layout(tuple(table.label for table in tables), tuple(table.n_rows for table in tables))
    roles, layout = assign_roles(
        tables,
        layout,
        reading.groups,
        reading.weights,
        reading.blocks,
        reading.covariates,
        reading.missing == "drop",
    )
    roles = roles.with_reference(reading.reference)
    before = roles
    if layout.kept is not None:
        tables = [table.take_rows(layout.kept) for table in tables]
    if roles.blocks is None:
        column = reading.groups if isinstance(reading.groups, str) else None
        warn_of_cells_without_blocks([table.about for table in tables], column, roles.codes)
    notes = [note for table in tables for note in table.notes] + roles.notes
    tables, left_out = align(tables, reading.features, roles.reserved, notes, reading.exclude)
    asked = reading.features is not None
    rules = Rules(asked=asked, dates=reading.dates == "parts")
    pool, remarkable = gather(tables, roles.codes, layout.where, rules)
    pool, holes = _leave_out(pool, remarkable, left_out)
    messages.refuse_infinite(pool, layout)
    messages.note_left_out(left_out, pool.order, notes, error=reading.strict or asked)
    messages.note_remarks(remarkable, notes)
    if roles.blocks is None:
        names_rows = [name for name, reason in left_out.items() if is_about_rows(reason)]
        note_matched(tables, names_rows, roles.codes, notes)
    pool, roles, kept, holes, counts = _settle_missing(pool, roles, layout, holes, reading.missing, notes)
    if reading.min_rows is not None:
        messages.refuse_few_rows(roles, reading.min_rows)
    messages.note_small_groups(roles, notes)
    unused = {column.name: column.missing for column in remarkable if column.missing is not None}
    counts |= {name: messages.by_group(rows, before) for name, rows in unused.items() if len(rows)}
    pool = pool.rare_levels_pooled()
    codings = codings_of(pool, holes)
    info = describe(pool, codings, roles.codes, counts, len(roles.groups))
    messages.note_codings(codings, pool, roles, notes)
    messages.note_pooled(info.values(), roles, notes)
    if reading.missing == "impute":
        messages.note_filled(codings, {name: counts[name] for name in holes}, roles, notes)
    names, origin = feature_names(codings)
    return Prepared(
        rows=expand(pool, codings, holes),
        codes=roles.codes,
        groups=roles.groups,
        features=names,
        origin=origin,
        kinds=tuple(kind for coding in codings for kind in coding.kinds),
        feature_levels=tuple(level for coding in codings for level in coding.feature_levels),
        column_info=info,
        codings=tuple(codings),
        kept=layout.rows[kept],
        table_sizes=layout.sizes,
        left_out=left_out,
        missing=counts,
        filled=_filled(codings, holes, names),
        notes=tuple(notes),
        weights=roles.weights,
        blocks=roles.blocks,
        covariates=roles.covariates,
        covariate_names=roles.covariate_names,
        covariate_columns=roles.covariate_columns,
        block_column=reading.blocks if isinstance(reading.blocks, str) else "",
    )


def _filled(
    codings: Sequence[Coding], holes: Mapping[str, NDArray], names: Sequence[str]
) -> dict[str, NDArray[np.intp]]:
    filled = {}
    at = 0
    for coding in codings:
        if coding.fill is not None:
            own = names[at : at + len(coding.kinds) - 1]
            filled.update(dict.fromkeys(own, holes[coding.column]))
        at += len(coding.kinds)
    return filled


def _read_all(X: Any, Y: Any, groups: Any, memory: int | None) -> list[Table]:
    if Y is None and groups is None:
        raise ValueError(
            f"one table alone has nothing to differ from: pass a second table, or {option('groups')}"
        )
    if Y is not None and groups is not None:
        raise ValueError(f"pass two tables, or one table with {option('groups')}, not both")
    if Y is None:
        return [open_table(X, "X", memory)]
    tables = [open_table(X, "X", memory), open_table(Y, "Y", memory)]
    if tables[0].label == tables[1].label:
        # Files of one name in two folders are distinguished by the whole path.
        tables = [replace(table, label=str(table.path or table.label)) for table in tables]
    return tables


def _leave_out(
    pool: Pool, columns: Sequence[Column], left_out: dict[str, str]
) -> tuple[Pool, dict[str, NDArray]]:
    """Enter the reasons, and take out columns of a matrix without any value; rows with missing ones."""
    messages.refuse_faults(columns)
    left_out |= {column.name: column.reason for column in columns if column.reason}
    n_rows = pool.numbers.shape[0]
    holes = bad_cells(pool, infinite=False)
    empty = [name for name, rows in holes.items() if len(rows) == n_rows]
    left_out |= dict.fromkeys(empty, "has no values")
    if empty:
        pool = pool.without(empty)
    return pool, {name: rows for name, rows in holes.items() if name not in empty}


def _settle_missing(
    pool: Pool,
    roles: Roles,
    layout: Layout,
    holes: dict[str, NDArray],
    missing: Missing,
    notes: list[str],
) -> tuple[Pool, Roles, NDArray[np.intp], dict[str, NDArray], dict[str, tuple[int, ...]]]:
    """Refuse rows with missing values, or drop them, or leave the holes to be filled."""
    counts = {name: messages.by_group(rows, roles) for name, rows in holes.items()}
    kept = np.arange(layout.n_rows)
    if missing == "drop" and (holes or roles.gaps):
        kept = messages.rows_without({**holes, **roles.gaps}, layout.n_rows)
        messages.note_dropped(kept, {**holes, **roles.gaps}, roles, notes)
        return pool.take_rows(kept).compacted(), roles.take_rows(kept), kept, {}, counts
    messages.refuse_missing(holes if missing == "error" else {}, layout, roles)
    messages.refuse_gaps(roles.gaps, layout)
    return pool, roles, kept, holes, counts
