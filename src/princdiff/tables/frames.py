"""A table as the rest of the package sees it, made from objects in memory.

Data frames, arrays, sparse matrices and AnnData objects all become a `Table`, so that nothing after this
module asks what the rows were kept in. Files are read in `readers`, which hands what it finds to this module.
"""

from __future__ import annotations

import difflib
import importlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray

from princdiff.data.row_chunks import RowChunks
from princdiff.data.sparse_structure import check_sparse

_SHOWN = 5

BIG_NUMBERS = "whole numbers beyond 2**53 were rounded to floating point."
"""The message for a whole number that does not fit."""


@dataclass(frozen=True, eq=False)
class Table:
    """Rows under column names, as they were found.

    Attributes
    ----------
    values : DataFrame, array or CSR matrix of shape (n_rows, n_columns)
        A DataFrame where columns have kinds of their own; an array of floats or a matrix where all are
        numbers.
    columns : tuple of str
        Column names, all different.
    label : str
        What messages call it: the file name, or X or Y.
    named : bool
        False where the columns had no names and were numbered ``x0, x1, ...``.
    about : DataFrame or None
        Columns that describe rows without being features: AnnData's ``obs``, the vectors of an npz file, the
        named index of a DataFrame.
    notes : tuple of str
        What was done while reading.
    path : Path or None
        The file it came from.
    written : callable or None
        Gives a column as it is written in the text file, where the values come from one.
    """

    values: pd.DataFrame | NDArray | sp.csr_matrix
    columns: tuple[str, ...]
    label: str
    named: bool = True
    about: pd.DataFrame | None = None
    notes: tuple[str, ...] = ()
    path: Path | None = None
    written: Callable[[str], pd.Series] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.values.shape[0])

    @property
    def is_frame(self) -> bool:
        """Whether columns have kinds of their own."""
        return isinstance(self.values, pd.DataFrame)

    @property
    def index(self) -> pd.Index | None:
        """Names of the rows, where they have any."""
        if isinstance(self.values, pd.DataFrame):
            # What describes the rows of a frame was its index.
            return self.values.index
        return None if self.about is None else self.about.index

    def describing(self) -> list[str]:
        """Names that `column` knows: those about rows first."""
        return [*([] if self.about is None else self.about.columns), *self.columns]

    def column(self, name: str) -> pd.Series:
        """One column, from those about rows or from the values."""
        if self.about is not None and name in self.about.columns:
            return self.about[name]
        if isinstance(self.values, pd.DataFrame):
            return self.values[name]
        values: Any = self.values[:, [self.columns.index(name)]]
        return pd.Series(np.asarray(values.toarray() if sp.issparse(values) else values).ravel(), name=name)

    def frame(self) -> Any:
        """The values as a DataFrame; a dense array is shared, not copied."""
        values = self.values.toarray() if sp.issparse(self.values) else self.values  # type: ignore[union-attr]
        return (
            values if isinstance(values, pd.DataFrame) else pd.DataFrame(values, columns=list(self.columns))
        )

    def take(self, names: Sequence[str]) -> Table:
        """The table with these columns, in this order."""
        if tuple(names) == self.columns:
            return self
        if isinstance(self.values, pd.DataFrame):
            values: Any = self.values[list(names)]
        else:
            place = {name: position for position, name in enumerate(self.columns)}
            values = self.values[:, [place[name] for name in names]]
        return replace(self, values=values, columns=tuple(names))

    def take_rows(self, index: NDArray[np.intp]) -> Table:
        """The table with some of its rows, in their order."""
        written = self.written
        if isinstance(self.values, pd.DataFrame):
            values: Any = self.values.iloc[index]
        else:
            values = self.values[index]
        return replace(
            self,
            values=values,
            about=None if self.about is None else self.about.iloc[index],
            written=None if written is None else lambda name: written(name).iloc[index],
        )


def as_list(names: str | Iterable[str] | None) -> list[str] | None:
    """Names as a list; one name alone is a list of one.

    Examples
    --------
    >>> as_list("age"), as_list(("age", "sex")), as_list(None)
    (['age'], ['age', 'sex'], None)
    """
    if names is None:
        return None
    return [names] if isinstance(names, str) else list(names)


def listed(names: Iterable[Any], shown: int = _SHOWN) -> str:
    """Some names as words: "'a', 'b' and 3 more"."""
    words = [repr(str(name)) for name in names]
    more = f" and {len(words) - shown} more" if len(words) > shown else ""
    return ", ".join(words[:shown]) + more


def plural(count: int, noun: str) -> str:
    """A count with its noun: "1 column", "2 columns"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def suggestion(name: str, options: Iterable[str]) -> str:
    """A hint at names that are close, or nothing.

    Examples
    --------
    >>> suggestion("wieght", ["height", "weight", "age"])
    "; did you mean 'weight' or 'height'?"
    >>> suggestion("order.csv", ["before.csv", "after.csv"])
    ''
    """
    # An ending that is the same makes no two names alike.
    ending = Path(name).suffix
    folded: dict[str, str] = {}
    for option in map(str, options):
        folded.setdefault(option.removesuffix(ending).strip().casefold(), option)
    close = difflib.get_close_matches(name.removesuffix(ending).strip().casefold(), folded, n=3, cutoff=0.65)
    return f"; did you mean {' or '.join(repr(folded[match]) for match in close)}?" if close else ""


def decoded(vector: NDArray) -> NDArray:
    """Text kept as bytes, as text."""
    return np.char.decode(vector, "utf-8") if vector.dtype.kind == "S" else vector


def take_object(source: Any, label: str) -> Table:
    """An object in memory as a table."""
    if isinstance(source, RowChunks) or type(source).__module__.split(".")[0] == "dask":
        raise TypeError(
            f"{label} is out of core, and here tables are in memory: give a sample of the rows, or use "
            "compare, PDA, SPARDA and permutation_test, which need not have all of them"
        )
    if isinstance(source, pd.Series) or _is_polars(source, "Series"):
        _refuse_vector(label, "to_frame()")
    if isinstance(source, pd.DataFrame):
        return from_frame(source, label)
    if sp.issparse(source):
        return _from_sparse(source, label)
    if all(hasattr(source, name) for name in ("X", "obs", "var_names")):
        return from_anndata(source, label)
    if _is_polars(source, "DataFrame", "LazyFrame"):
        return from_frame(_polars_to_pandas(source), label)
    if hasattr(source, "to_pandas"):
        return from_frame(source.to_pandas(), label)
    if isinstance(source, dict):
        return from_frame(pd.DataFrame(source), label)
    return _from_array(source, label)


def _is_polars(source: Any, *kinds: str) -> bool:
    return type(source).__module__.split(".")[0] == "polars" and type(source).__name__ in kinds


def _refuse_vector(label: str, remedy: str) -> NoReturn:
    raise ValueError(
        f"{label} has one dimension, but rows and columns are needed: pass labels of rows as groups=, "
        f"and a single feature as {label}.{remedy}"
    )


def from_frame(frame: pd.DataFrame, label: str) -> Table:
    """A pandas DataFrame as a table; column names become text."""
    names = [" / ".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in frame.columns]
    refuse_duplicates(names, label)
    notes = []
    if any(name is not None for name in frame.index.names):
        kept_out = listed(name for name in frame.index.names if name is not None)
        notes.append(f"{label}: the row index ({kept_out}) is not a feature and was not compared.")
    if len(names) and all(
        isinstance(dtype, pd.SparseDtype) and dtype.fill_value == 0 for dtype in frame.dtypes
    ):
        matrix = _from_sparse(frame.sparse.to_coo(), label)
        return replace(matrix, columns=tuple(names), named=True, notes=(*matrix.notes, *notes))
    frame = frame.copy(deep=False)
    frame.columns = names
    return Table(frame, tuple(names), label, about=_named_index(frame), notes=tuple(notes))


def _named_index(frame: pd.DataFrame) -> pd.DataFrame | None:
    """Levels of the row index that have a name: they may hold the group, or the block, of a row."""
    named = [name for name in frame.index.names if name is not None and str(name) not in frame.columns]
    if not named:
        return None
    return pd.DataFrame({str(name): frame.index.get_level_values(name).to_numpy() for name in named})


def refuse_duplicates(names: Sequence[str], label: str) -> None:
    """Two columns of one name could not be distinguished in any result."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(f"{label} has columns with the same name: {listed(twice)}; rename them")


def renamed(table: Table, names: Sequence[Any]) -> Table:
    """The table with column names of its own."""
    columns = [name.decode() if isinstance(name, bytes) else str(name) for name in names]
    refuse_duplicates(columns, table.label)
    values = table.values
    if isinstance(values, pd.DataFrame):
        values = values.set_axis(columns, axis=1)
    return replace(table, values=values, columns=tuple(columns), named=True)


def _numbered(count: int) -> tuple[str, ...]:
    return tuple(f"x{position}" for position in range(count))


def _from_array(source: Any, label: str) -> Table:
    masked = isinstance(source, np.ma.MaskedArray) and source.dtype.kind in "biuf"
    try:
        array = source.astype(np.float64).filled(np.nan) if masked else np.asarray(source)
    except ValueError as error:
        raise ValueError(f"{label} is not a table: {error}") from error
    if array.dtype.names is not None:
        return from_frame(pd.DataFrame(array), label)
    if array.ndim == 0:
        raise ValueError(
            f"{label} is not a table: {type(source).__name__} cannot be read as rows and columns"
        )
    if array.ndim == 1:
        _refuse_vector(label, "reshape(-1, 1)")
    if array.ndim > 2:
        raise ValueError(f"{label} has shape {array.shape}; reshape it to two dimensions")
    names = _numbered(array.shape[1])
    if array.dtype.kind in "biuf":
        return Table(as_float(array), names, label, named=False, notes=_rounding(array, label))
    if array.dtype.kind == "c":
        raise ValueError(f"{label} holds complex numbers; pass real and imaginary parts as columns")
    frame = pd.DataFrame({name: decoded(array[:, place]) for place, name in enumerate(names)})
    return Table(frame, names, label, named=False)


def as_float(array: Any) -> Any:
    """Float32 stays as it is (half the memory), everything else becomes float64."""
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)


def _rounding(array: NDArray, label: str) -> tuple[str, ...]:
    return (f"{label}: {BIG_NUMBERS}",) if has_big_numbers(array) else ()


def has_big_numbers(array: NDArray) -> bool:
    """Whether whole numbers are too large for float64 to hold exactly."""
    if array.dtype.kind not in "iu" or array.dtype.itemsize < 8 or not array.size:
        return False
    return int(array.max()) > 2**53 or int(array.min()) < -(2**53)


def _from_sparse(source: Any, label: str) -> Table:
    if source.dtype.kind not in "biuf" or source.ndim != 2:
        raise ValueError(
            f"{label} must be a matrix of real numbers, got {source.dtype} of shape {source.shape}"
        )
    check_sparse(source, label)
    matrix = sp.csr_matrix(source)
    notes = _rounding(matrix.data, label)
    matrix = as_float(matrix)
    if not matrix.has_canonical_format:
        # Entries given twice count as their sum; the caller's matrix is left as it is.
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return Table(matrix, _numbered(matrix.shape[1]), label, named=False, notes=notes)


def from_anndata(source: Any, label: str) -> Table:
    """Cells by genes: X with its ``var_names``, and ``obs`` about the rows."""
    if source.X is None:
        raise ValueError(f"{label} has no X; put the layer to compare there")
    if getattr(source, "isbacked", False):
        source = source.to_memory()
    # A view of AnnData wraps its array; the plain one is wanted.
    values = source.X.compute() if hasattr(source.X, "compute") else source.X
    values = values if sp.issparse(values) else np.asarray(values)
    table = renamed(take_object(values, label), list(source.var_names))
    about = source.obs.copy(deep=False)
    about.columns = [str(name) for name in about.columns]
    return replace(table, about=about)


def _polars_to_pandas(source: Any) -> pd.DataFrame:
    """Column by column, because polars' own conversion needs pyarrow."""
    polars = importlib.import_module("polars")
    if isinstance(source, polars.LazyFrame):
        source = source.collect()
    return pd.DataFrame({column.name: _polars_column(column, polars) for column in source.get_columns()})


def _polars_column(column: Any, polars: Any) -> Any:
    kind = column.dtype
    if kind.is_decimal() or (kind.is_integer() and column.null_count()):
        return column.cast(polars.Float64).to_numpy()
    if kind.is_numeric() or (kind == polars.Boolean and not column.null_count()):
        return column.to_numpy()
    if kind == polars.Boolean:
        return pd.array(column.to_list(), dtype="boolean")
    if kind in (polars.Categorical, polars.Enum):
        values = column.cast(polars.String)
        order = kind.categories if kind == polars.Enum else values.unique().drop_nulls().sort()
        return pd.Categorical(values.to_list(), categories=order.to_list())
    if kind in (polars.Date, polars.Datetime, polars.Duration):
        return column.to_numpy()
    return pd.Series(column.to_list(), dtype=object)
