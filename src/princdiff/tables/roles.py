"""What the user says about rows: their group, weight, block and covariates.

Each may be given as the name of a column, which then is no feature, or as a vector with one entry per row.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray

from princdiff.data.labels import HELD_OUT
from princdiff.data.validate import bring_near_one, refuse_other_order
from princdiff.options import option
from princdiff.tables.column_types import Rules
from princdiff.tables.column_values import level_name, read_column
from princdiff.tables.encoding import codings_of, expand, feature_names
from princdiff.tables.frames import Table, decoded, listed, plural, suggestion
from princdiff.tables.group_order import order_of_labels, with_reference
from princdiff.tables.levels import OTHER
from princdiff.tables.pooled_columns import bad_cells, gather
from princdiff.tables.readers import read, stem
from princdiff.tables.spelling import joined_in_words, seen_alike, spelled_alike, visible


@dataclass(frozen=True, eq=False)
class Layout:
    """Where each pooled row came from.

    Attributes
    ----------
    labels : tuple of str
        What the tables are called.
    sizes : tuple of int
        Their numbers of rows.
    kept : array of shape (n_rows,) or None
        Numbers of the rows that have a group, where some have none; None: all.
    """

    labels: tuple[str, ...]
    sizes: tuple[int, ...]
    kept: NDArray[np.intp] | None = None

    @property
    def n_rows(self) -> int:
        """Rows of all tables, those without a group aside."""
        return self.all_rows if self.kept is None else len(self.kept)

    @property
    def all_rows(self) -> int:
        """Rows of all tables, with those that have no group."""
        return sum(self.sizes)

    @property
    def rows(self) -> NDArray[np.intp]:
        """Number of each row in the input."""
        return np.arange(self.all_rows) if self.kept is None else self.kept

    def where(self, row: int) -> str:
        """Words for a pooled row; rows count from 0, as in pandas and NumPy."""
        row = row if self.kept is None else int(self.kept[row])
        for label, size in zip(self.labels, self.sizes, strict=True):
            if row < size:
                return f"row {row} of {label}"
            row -= size
        raise IndexError(row)


@dataclass(frozen=True, eq=False)
class Roles:
    """Everything about rows that is no feature.

    Attributes
    ----------
    codes : array of shape (n_rows,), dtype uint8
        Group of each row.
    groups : tuple of str
        Group names, by code.
    reserved : dict
        Columns taken from the tables, and what for.
    weights : array of shape (n_rows,) or None
        Row weights.
    blocks : array of shape (n_rows,) or None
        Block of each row, as a code.
    covariates : array of shape (n_rows, n_covariates) or None
        Encoded covariates.
    covariate_names, covariate_columns : tuple of str
        Their names, and the columns that each comes from.
    gaps : dict
        Rows where a weight, block or covariate is missing, by what is missing.
    notes : list of str
        What was converted.
    """

    codes: NDArray[np.uint8]
    groups: tuple[str, ...]
    reserved: dict[str, str] = field(default_factory=dict)
    weights: NDArray[np.float64] | None = None
    blocks: NDArray[np.intp] | None = None
    covariates: NDArray | None = None
    covariate_names: tuple[str, ...] = ()
    covariate_columns: tuple[str, ...] = ()
    gaps: dict[str, NDArray] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def with_reference(self, reference: Any) -> Roles:
        """The same with the group first that the others are compared with."""
        codes, groups = with_reference(self.codes, self.groups, reference)
        return replace(self, codes=codes, groups=groups)

    def take_rows(self, kept: NDArray[np.intp]) -> Roles:
        """The roles of some of the rows, none of which has a gap."""
        return replace(
            self,
            codes=self.codes[kept],
            weights=None if self.weights is None else self.weights[kept],
            blocks=None if self.blocks is None else self.blocks[kept],
            covariates=None if self.covariates is None else self.covariates[kept],
            gaps={},
        )


def assign_roles(
    tables: Sequence[Table],
    layout: Layout,
    groups: Any,
    weights: Any,
    blocks: Any,
    covariates: Any,
    drop_unlabelled: bool = False,
) -> tuple[Roles, Layout]:
    """Find groups, weights, blocks and covariates.

    Parameters
    ----------
    tables : list of Table
        One table, or two.
    layout : Layout
        Their rows.
    groups, weights, blocks : str, array of shape (n_rows,) or None
        Column name or vector.
    covariates : str, list of str, array or DataFrame of shape (n_rows, n_covariates), or None
        Column names or values.
    drop_unlabelled : bool
        Whether rows without a label are left out; otherwise they are an error.

    Returns
    -------
    roles : Roles
        Of the rows that have a group.
    layout : Layout
        Which rows these are.
    """
    if groups is None:
        codes, names = np.repeat(np.arange(len(tables)), layout.sizes).astype(np.uint8), table_names(tables)
        roles = Roles(codes, names)
    else:
        reserved: dict[str, str] = {}
        labels = _vector(groups, "groups", tables, layout, reserved)
        notes: list[str] = []
        if drop_unlabelled:
            labels, layout = _labelled(labels, layout, notes)
        roles = Roles(*group_codes(_of_one_spelling(labels, notes), layout.where), reserved, notes=notes)
    if weights is not None:
        values = _weights(_vector(weights, "sample_weight", tables, layout, roles.reserved))
        _note_gaps(roles, "sample_weight", np.isnan(values))
        roles = replace(roles, weights=values)
    if blocks is not None:
        labels = _vector(blocks, "blocks", tables, layout, roles.reserved)
        blocked = pd.factorize(_of_one_spelling(labels, roles.notes))[0]
        _note_gaps(roles, "blocks", blocked < 0)
        roles = replace(roles, blocks=blocked)
    if covariates is not None:
        table = _covariate_table(covariates, tables, layout, roles.reserved)
        matrix, (names, columns) = _covariates(table, roles, layout)
        roles = replace(roles, covariates=matrix, covariate_names=names, covariate_columns=columns)
    return roles, layout


def _note_gaps(roles: Roles, what: str, missing: NDArray) -> None:
    if missing.any():
        roles.gaps[what] = np.flatnonzero(missing)


def table_names(tables: Sequence[Table]) -> tuple[str, ...]:
    """Groups of two tables are called after the files; equal file names after their folders."""
    names = [table.label if table.path is None else stem(table.path) for table in tables]
    if len(set(names)) < len(names):
        paths = [table.path for table in tables]
        folders = ["" if path is None else path.absolute().parent.name for path in paths]
        names = [folder or name for folder, name in zip(folders, names, strict=True)]
    if len(set(names)) < len(names):
        names = [f"{name} ({mark})" for name, mark in zip(names, "XY", strict=False)]
    return tuple(names)


# Columns and vectors ----------------------------------------------------------------------------------------


def _vector(
    value: Any, what: str, tables: Sequence[Table], layout: Layout, reserved: dict[str, str]
) -> pd.Series:
    """A column of the tables, or what was passed, one entry per row."""
    if isinstance(value, (str, int, np.integer)):
        pieces = [find_column(table, value, what, reserved) for table in tables]
        series = pieces[0] if len(pieces) == 1 else pd.concat(pieces, ignore_index=True)
        return series if layout.kept is None else series.iloc[layout.kept].reset_index(drop=True)
    series = _as_series(value, what)
    if len(series) != layout.all_rows:
        labels = " and ".join(layout.labels)
        raise ValueError(
            f"{what} has {len(series)} entries, but there are {layout.all_rows} rows in {labels}; "
            "one for each row is needed"
        )
    if len(tables) == 1:
        refuse_other_order(tables[0].index, value, what, tables[0].label)
    return (series if layout.kept is None else series.iloc[layout.kept]).reset_index(drop=True)


def find_column(table: Table, name: str | int | np.integer, what: str, reserved: dict[str, str]) -> pd.Series:
    """A column by name (or by position, where columns have no names), which then is no feature."""
    known = table.describing()
    column = str(name) if isinstance(name, str) or table.named else _numbered_name(int(name), table)
    if column not in known:
        hint = suggestion(column, known) or f"; it has {listed(known)}"
        raise ValueError(f"{what}: there is no column {column!r} in {table.label}{hint}")
    series = table.column(column)
    if table.about is None or column not in table.about.columns:
        reserved[column] = what
        if what in ("groups", "blocks") and table.written is not None and series.dtype.kind == "f":
            # Versions 1.1 and 1.10 are one number, but two groups.
            texts = table.written(column)
            return texts if texts.nunique() > series.nunique() else series
    return series


def _numbered_name(position: int, table: Table) -> str:
    return f"x{position + len(table.columns) if position < 0 else position}"


def _as_series(value: Any, what: str) -> pd.Series:
    if isinstance(value, pd.DataFrame) and value.shape[1] == 1:
        return value.iloc[:, 0]
    if isinstance(value, (pd.Series, pd.Categorical, pd.Index)):
        return pd.Series(value)
    if hasattr(value, "to_list"):
        return pd.Series(value.to_list())
    if isinstance(value, (list, tuple)):
        # Not through NumPy, which would write a missing label among words as the word "nan".
        return pd.Series(list(value))
    array = np.asarray(value)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{what} must be a column name or have one entry per row, got shape {array.shape}")
    return pd.Series(decoded(array))


# Groups -----------------------------------------------------------------------------------------------------


def group_codes(labels: pd.Series, where: Callable[[int], str]) -> tuple[NDArray[np.uint8], tuple[str, ...]]:
    """Groups from a label per row.

    Parameters
    ----------
    labels : Series of shape (n_rows,)
        Numbers, text, booleans or categories, none missing.
    where : callable
        Words for a row.

    Returns
    -------
    codes : array of shape (n_rows,), dtype uint8
        Group of each row.
    names : tuple of str
        Group names, in the order of `order_of_labels`.

    Examples
    --------
    >>> group_codes(pd.Series(["new", "old", "new"]), str)
    (array([1, 0, 1], dtype=uint8), ('old', 'new'))
    """
    found, values = _factorized(labels)
    names = [level_name(value) for value in values]
    missing = _unlabelled(found, names)
    if len(missing):
        raise ValueError(
            f"groups: {plural(len(missing), 'row')} without a label, the first is {where(int(missing[0]))}; "
            f"give these rows a label, or leave them out with {option('missing', 'drop')} (in text files NA, "
            "null and the like count as missing)"
        )
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"groups: {twice!r} occurs as text and as a number; use one of them")
    if len(names) == 1:
        raise ValueError(f"groups: there is only one group, {names[0]!r}; at least two are needed to compare")
    if len(names) >= HELD_OUT:
        raise ValueError(
            f"groups: there are {len(names)} different labels, and at most {HELD_OUT - 1} groups can be "
            "compared; is this a column of groups?"
        )
    alike = spelled_alike(names)
    if alike:
        warnings.warn(
            f"groups {alike[0]!r} and {alike[1]!r} differ in capitals only, and count as two",
            stacklevel=2,
        )
    order = order_of_labels(labels, list(values), names)
    codes = np.argsort(order)[found].astype(np.uint8)
    return codes, tuple(names[position] for position in order)


def _of_one_spelling(labels: pd.Series, notes: list[str]) -> pd.Series:
    """Labels that look the same as one."""
    names = seen_alike(label for label in _factorized(labels)[1] if isinstance(label, str))
    if not names:
        return labels
    notes.append(f"Column of groups or blocks: {joined_in_words(names)}.")
    if isinstance(labels.dtype, pd.CategoricalDtype):
        order = dict.fromkeys(names.get(level, level) for level in labels.cat.categories)
        return pd.Series(pd.Categorical(labels.astype(object).replace(names), categories=list(order)))
    return labels.astype(object).replace(names)


def _factorized(labels: pd.Series) -> tuple[NDArray[np.intp], Any]:
    """Codes and distinct labels; -1 stands for a missing one."""
    try:
        return pd.factorize(labels)
    except TypeError:
        odd = next((place, label) for place, label in enumerate(labels) if not isinstance(label, Hashable))
        raise ValueError(
            f"groups: row {odd[0]} holds a {type(odd[1]).__name__}, and groups must be texts or numbers"
        ) from None


def _unlabelled(found: NDArray[np.intp], names: Sequence[str]) -> NDArray[np.intp]:
    """Rows whose label is missing or blank; -1 stands for a missing one."""
    blank = np.array([not visible(name) for name in names] + [True])
    return np.flatnonzero(blank[found])


def _labelled(labels: pd.Series, layout: Layout, notes: list[str]) -> tuple[pd.Series, Layout]:
    """The labels of rows that have one, and which these are."""
    found, values = _factorized(labels)
    missing = _unlabelled(found, [level_name(value) for value in values])
    if not len(missing):
        return labels, layout
    if len(missing) == len(labels):
        raise ValueError("groups: no row has a label")
    notes.append(f"{len(missing)} of {plural(len(labels), 'row')} left out: they have no group.")
    kept = np.delete(np.arange(len(labels)), missing)
    return labels.iloc[kept].reset_index(drop=True), replace(layout, kept=kept)


# Weights and covariates -------------------------------------------------------------------------------------


def _weights(series: pd.Series) -> NDArray[np.float64]:
    part = read_column(series)
    if part.kind not in ("number", "boolean", "empty"):
        raise ValueError(f"sample_weight must be numbers, got {part.kind}")
    values = part.as_numbers().astype(np.float64)
    if np.isinf(values).any():
        raise ValueError(
            f"sample_weight: the weight of row {int(np.flatnonzero(np.isinf(values))[0])} is infinite"
        )
    return bring_near_one(values)


def _covariate_table(
    covariates: Any, tables: Sequence[Table], layout: Layout, reserved: dict[str, str]
) -> Table:
    names = [covariates] if isinstance(covariates, str) else covariates
    if isinstance(names, (list, tuple)) and names and all(isinstance(name, str) for name in names):
        columns = {name: _vector(name, "covariates", tables, layout, reserved) for name in names}
        return read(pd.DataFrame(columns), "covariates")
    if isinstance(covariates, pd.Series):
        covariates = covariates.to_frame("covariate" if covariates.name is None else covariates.name)
    elif np.ndim(covariates) == 1:
        covariates = np.reshape(covariates, (-1, 1))
    table = read(covariates, "covariates")
    if table.n_rows != layout.all_rows:
        raise ValueError(
            f"covariates has {table.n_rows} rows, but there are {layout.all_rows} rows in "
            f"{' and '.join(layout.labels)}; one for each row is needed"
        )
    if len(tables) == 1:
        refuse_other_order(tables[0].index, covariates, "covariates", tables[0].label)
    return table if layout.kept is None else table.take_rows(layout.kept)


def _covariates(
    table: Table, roles: Roles, layout: Layout
) -> tuple[NDArray, tuple[tuple[str, ...], tuple[str, ...]]]:
    """Covariates are encoded as features are, but all of them must be usable."""
    pool, remarkable = gather([table], roles.codes, layout.where, Rules(asked=True))
    wrong = [
        f"{column.name!r} ({column.reason or column.fault})" for column in remarkable if not column.usable
    ]
    if wrong:
        raise ValueError(f"covariates: {', '.join(wrong)} cannot be used")
    infinite = bad_cells(pool, infinite=True)
    if infinite:
        raise ValueError(f"covariates: {listed(infinite)} holds infinite values")
    roles.notes.extend(f"Covariate {column.name!r}: {column.remark}." for column in remarkable)
    for name, rows in bad_cells(pool, infinite=False).items():
        roles.gaps[f"covariate {name!r}"] = rows
    pool = pool.rare_levels_pooled()
    roles.notes.extend(
        f"Covariate {name!r}: {levels.pooled} rare levels pooled into {OTHER!r}."
        for name, levels in pool.levels.items()
        if levels.pooled
    )
    codings = codings_of(pool, {})
    values = expand(pool, codings, {})
    return np.asarray(values.toarray() if sp.issparse(values) else values), feature_names(codings)
