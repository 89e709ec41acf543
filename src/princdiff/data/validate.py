"""Bad input gets a clear error: it names the column, row or parameter, says what was found and what to do."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray

from princdiff.data.labels import HELD_OUT
from princdiff.data.memory import format_bytes
from princdiff.data.opening import out_of_core
from princdiff.data.row_chunks import RowChunks
from princdiff.data.sparse_structure import check_sparse

_SHOWN = 5
_LONGEST_TEXT = 40
# Weights up to 2**300: their sums and squares stay far from the largest double, 2**1024.
_SAFE_EXPONENT = 300


def check_rows(
    estimator: Any, X: Any, *, reset: bool, streams: bool = False, names: Any = None
) -> NDArray | sp.csr_matrix | RowChunks:
    """Rows as a finite float array or CSR matrix; feature names are remembered or compared.

    Rows out of core that fit into their budget of memory are loaded; others stay where they are if the
    caller can stream them, and are refused otherwise. Messages call the features by ``names``, if given.
    """
    chunked = out_of_core(X)
    if chunked is not None:
        X = _loaded_if_it_fits(chunked)
        if isinstance(X, RowChunks):
            return _check_chunks(estimator, X, reset, streams)
    _refuse_text_columns(X)
    _refuse_other_entries(X)
    if isinstance(X, np.ma.MaskedArray):
        # What lies under a mask is no value; NaN is refused below, with the name of its column.
        X = np.ma.filled(X.astype(np.float64), np.nan)
    if sp.issparse(X):
        check_sparse(X, "X")
    from sklearn.utils.validation import validate_data

    rows = validate_data(
        estimator,
        X,
        reset=reset,
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        ensure_all_finite=False,
        ensure_min_samples=2 if reset else 1,
    )
    refuse_non_finite(rows, getattr(estimator, "feature_names_in_", None) if names is None else names)
    if sp.issparse(rows) and not rows.has_canonical_format:
        # Entries of one place that are stored apart mean their sum.
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def _loaded_if_it_fits(rows: RowChunks) -> Any:
    if not rows.fits:
        return rows
    loaded = rows.load()
    if rows.feature_names is None or sp.issparse(loaded):
        return loaded
    return pd.DataFrame(loaded, columns=rows.feature_names, copy=False)


def _check_chunks(estimator: Any, rows: RowChunks, reset: bool, streams: bool) -> RowChunks:
    """Rows out of core: their shape and names; the values are checked as they pass."""
    if not streams:
        refuse_streams(rows)
    if reset and rows.shape[0] < 2:
        raise ValueError(f"{rows.label} has {rows.shape[0]} row(s); at least two groups of two are needed")
    if rows.shape[1] < 1:
        raise ValueError(f"{rows.label} has no features")
    # scikit-learn looks at names and shape only: an empty table, or an array without memory, has them.
    named: Any = np.broadcast_to(np.float32(0), rows.shape)
    if rows.feature_names is not None:
        named = pd.DataFrame(columns=rows.feature_names)
    from sklearn.utils.validation import _check_feature_names, _check_n_features

    _check_feature_names(estimator, named, reset=reset)
    _check_n_features(estimator, named, reset=reset)
    return rows


def refuse_streams(rows: RowChunks) -> NoReturn:
    """Say that a function needs rows in memory which do not fit."""
    raise ValueError(
        f"{rows.label} ({rows.shape[0]} x {rows.shape[1]}) does not fit into its memory budget of "
        f"{format_bytes(rows.memory)}, and this function needs all rows in memory: give a larger memory= to "
        "open_rows, or a sample of the rows; PDA, SPARDA and permutation_test work out of core"
    )


def _refuse_text_columns(X: Any) -> None:
    """A DataFrame with text, dates or two columns of one name: say which."""
    if not hasattr(X, "dtypes") or not hasattr(X, "columns"):
        return
    names = pd.Index(map(str, X.columns))
    if names.has_duplicates:
        twice = names[names.duplicated()].unique().tolist()
        raise ValueError(f"{_listed('column', twice)} in X more than once; rename or leave out the others")
    if len(X.columns) == 0:
        # Without a dtype to look at scikit-learn would stumble over the table before it counts.
        raise ValueError(f"Found array with 0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
    wrong = [
        str(name)
        for name, dtype in zip(X.columns, X.dtypes, strict=True)
        if getattr(dtype, "kind", "f") not in "biuf"
    ]
    if wrong:
        raise ValueError(
            f"{_listed('column', wrong)} not numeric; leave out such columns or encode them as numbers"
        )


def _refuse_other_entries(X: Any) -> None:
    """An array that holds no numbers: say so, instead of a message from inside of NumPy."""
    dtype = getattr(X, "dtype", None)
    kind = getattr(dtype, "kind", "f")
    if kind == "c":
        raise ValueError(
            "Complex data not supported: X holds complex numbers; pass real and imaginary parts as columns"
        )
    if kind in "mM":
        raise ValueError(f"X holds dates or durations ({dtype}); encode them as numbers, missing ones as NaN")
    if kind in "US" or (kind == "O" and not hasattr(X, "columns") and not sp.issparse(X)):
        _refuse_text(np.asarray(X))


def _refuse_text(entries: NDArray) -> None:
    """Text in an array: say where the first one is that is no number."""
    try:
        entries.astype(np.float64)
    except ValueError:
        for place, entry in np.ndenumerate(entries):
            if isinstance(entry, (str, bytes)) and not _is_number(entry):
                where = f" in column {place[1]}, row {place[0]} (counting from 0)" if len(place) == 2 else ""
                shown = _as_text(entry)[:_LONGEST_TEXT]
                raise ValueError(
                    f"X holds text, but numbers are needed: {shown!r}{where}; encode categories as numbers, "
                    "or pass a table to princdiff.compare, which does it"
                ) from None
    except TypeError:
        # Other objects: scikit-learn says what they are.
        return


def _as_text(entry: str | bytes) -> str:
    return entry.decode(errors="replace") if isinstance(entry, bytes) else str(entry)


def _is_number(entry: str | bytes) -> bool:
    try:
        float(entry)
    except ValueError:
        return False
    return True


def refuse_non_finite(rows: Any, names: NDArray | None) -> None:
    """Name the columns that hold NaN or infinity."""
    values: Any = rows.data if sp.issparse(rows) else rows
    with np.errstate(over="ignore", invalid="ignore"):
        finite_sum = np.isfinite(values.sum(dtype=np.float64))
    if finite_sum or np.isfinite(values).all():
        return
    bad = ~np.isfinite(values)
    if sp.issparse(rows):
        per_column = np.bincount(rows.indices[bad], minlength=rows.shape[1])
    else:
        per_column = bad.sum(axis=0)
    columns = np.flatnonzero(per_column)
    labels = [str(column) if names is None else str(names[column]) for column in columns]
    counts = ", ".join(str(int(per_column[column])) for column in columns[:_SHOWN])
    raise ValueError(
        f"Input X contains NaN or infinity: {_listed('column', labels)} affected "
        f"({counts} value{'s' if per_column.sum() > 1 else ''}); drop or impute them first"
    )


def _listed(noun: str, names: list[str]) -> str:
    """Some names as words: "columns 'a', 'b' and 3 more are"."""
    shown = ", ".join(repr(name) for name in names[:_SHOWN])
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    plural = len(names) > 1
    return f"{noun}{'s' if plural else ''} {shown}{more} {'are' if plural else 'is'}"


def check_groups(y: Any, n_rows: int) -> tuple[NDArray, NDArray[np.uint8]]:
    """Group names, sorted, and each row's group as a code."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None: y says which group a row is in")
    if isinstance(y, (list, tuple)) and len({isinstance(label, str) for label in y}) == 2:
        # NumPy would write the numbers among them as texts, and 1 and "1" would be one group.
        y = np.array(y, dtype=object)
    from sklearn.utils.validation import column_or_1d

    y = column_or_1d(y, warn=True)
    if len(y) != n_rows:
        raise ValueError(f"y has {len(y)} labels but X has {n_rows} rows; they must agree")
    refuse_missing(y, "y")
    _refuse_measurements(y)
    try:
        classes, codes = np.unique(y, return_inverse=True)
    except TypeError as error:
        kinds = ", ".join(sorted({type(label).__name__ for label in y.tolist()}))
        raise ValueError(f"y mixes labels that cannot be sorted ({kinds}); use strings or numbers") from error
    if len(classes) < 2:
        only = str(classes[0])
        raise ValueError(f"y has only one class, {only!r}: at least two groups are needed to compare")
    if len(classes) >= HELD_OUT:
        raise ValueError(f"y has {len(classes)} groups; at most {HELD_OUT - 1} can be compared")
    small_codes = codes.astype(np.uint8)
    refuse_small_groups(small_codes, classes)
    return classes, small_codes


def refuse_other_order(index: Any, entries: Any, name: str, label: str = "X") -> None:
    """Refuse entries whose index has the rows in another order: they are matched by position.

    Parameters
    ----------
    index : pandas Index or anything else
        Of the rows; only an Index is looked at.
    entries : Series, DataFrame or anything else
        One entry for each row.
    name, label : str
        What messages call the entries and the rows.

    Examples
    --------
    >>> X = pd.DataFrame({"age": [31, 40]}, index=["anna", "ben"])
    >>> refuse_other_order(X.index, pd.Series([0, 1], index=["ben", "anna"]), "y")
    Traceback (most recent call last):
    ValueError: y has the rows of X in another order, by its index; pass y.loc[X.index], ...
    """
    if not isinstance(index, pd.Index) or not isinstance(entries, (pd.Series, pd.DataFrame)):
        return
    if entries.index.equals(index) or not (entries.index.is_unique and index.is_unique):
        return
    if len(entries.index.difference(index)) == 0:
        raise ValueError(
            f"{name} has the rows of {label} in another order, by its index; "
            f"pass {name}.loc[{label}.index], or {name}.to_numpy() if the order is right"
        )


def _refuse_measurements(y: NDArray) -> None:
    """Numbers with fractions, nearly all different, are no groups."""
    if y.dtype.kind != "f" or (y == np.floor(y)).all():
        return
    example = float(y[y != np.floor(y)][0])
    raise ValueError(
        f"y must name the group of each row, but holds numbers with fractions such as {example:g} (unknown "
        "label type: continuous); cut them into groups first, for instance with pandas.cut, or give the "
        "groups as text"
    )


def refuse_small_groups(codes: NDArray[np.uint8], classes: Sequence[Any] | NDArray) -> None:
    """No distribution can be seen in one row: name the groups that have no more."""
    small = np.flatnonzero(np.bincount(codes, minlength=len(classes)) < 2)
    if len(small):
        names = _listed("group", [str(classes[int(group)]) for group in small])
        raise ValueError(
            f"{names} too small: only one row (n_samples = 1), and every group needs at least two rows"
        )


def refuse_missing(y: NDArray, name: str) -> None:
    """Labels of rows must all be there."""
    missing = np.asarray(pd.isna(y))
    if missing.any():
        first = int(np.flatnonzero(missing)[0])
        raise ValueError(
            f"Input {name} contains NaN: it is missing in {int(missing.sum())} of {len(y)} rows, "
            f"the first is row {first}"
        )


def check_weights(
    sample_weight: Any, rows: Any, codes: NDArray[np.uint8], classes: NDArray
) -> NDArray[np.float64] | None:
    """Row weights, or None where they are all equal."""
    if sample_weight is None:
        return None
    try:
        from sklearn.utils.validation import _check_sample_weight

        weights = _check_sample_weight(sample_weight, rows, dtype=np.float64)
    except ValueError as error:
        if "sample_weight" in str(error):
            raise
        raise ValueError(f"sample_weight: {error}") from None
    return settle_weights(weights, codes, classes)


def settle_weights(
    weights: NDArray[np.float64] | None, codes: NDArray[np.uint8], classes: Sequence[Any] | NDArray
) -> NDArray[np.float64] | None:
    """Finite weights, one for each row, in a safe range; None where they are all equal."""
    if weights is None:
        return None
    # One number for all rows is not looked at by scikit-learn.
    if not np.isfinite(weights).all():
        raise ValueError(f"sample_weight must be finite: it is {weights[~np.isfinite(weights)][0]:g}")
    negative = np.flatnonzero(weights < 0)
    if len(negative):
        row = negative[0]
        raise ValueError(
            f"sample_weight must not be negative: it is in {len(negative)} of {len(weights)} rows, "
            f"the first is row {row} with {weights[row]:g}"
        )
    empty = [str(name) for code, name in enumerate(classes) if not weights[codes == code].any()]
    if empty:
        raise ValueError(f"{_listed('group', empty)} left without weight: all its sample weights are zero")
    if (weights == weights[0]).all():
        return None
    return bring_near_one(weights)


def bring_near_one(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divide extreme weights by a power of two, so that no sum or square of them overflows.

    Only ratios of weights matter, and a power of two changes no digit.

    Examples
    --------
    >>> bring_near_one(np.array([1.0, 3.0])).tolist()
    [1.0, 3.0]
    >>> bring_near_one(np.array([2.0**1000, 2.0**999])).tolist()
    [0.5, 0.25]
    """
    exponent = int(np.frexp(np.nanmax(np.abs(weights), initial=0.0))[1])
    return np.ldexp(weights, -exponent) if abs(exponent) > _SAFE_EXPONENT else weights


def check_blocks(blocks: Any, n_rows: int) -> tuple[NDArray[np.intp] | None, tuple[str, ...]]:
    """Block of each row as a code, and the names of the blocks, sorted."""
    if blocks is None:
        return None, ()
    values = np.asarray(blocks)
    if values.shape != (n_rows,):
        raise ValueError(f"blocks must have one entry per row, shape ({n_rows},), got shape {values.shape}")
    refuse_missing(values, "blocks")
    try:
        names, codes = np.unique(values, return_inverse=True)
    except TypeError:
        # Numbers beside texts have no order of their own.
        texts = values.astype(str)
        names, codes = np.unique(texts, return_inverse=True)
        if len(names) < len(pd.unique(values)):
            raise ValueError(
                "blocks holds numbers and texts that look the same, such as 1 and '1'; use one kind"
            ) from None
    return codes, tuple(map(str, names.tolist()))


def check_covariates(covariates: Any, n_rows: int) -> NDArray[np.float64] | None:
    """Covariates as finite numbers of shape (n_rows, n_covariates)."""
    if covariates is None:
        return None
    try:
        table = np.asarray(covariates, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "covariates must be numbers; encode categories as indicator columns first"
        ) from error
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or len(table) != n_rows:
        raise ValueError(f"covariates must have one row per row of X ({n_rows}), got shape {table.shape}")
    bad = np.flatnonzero(~np.isfinite(table).all(axis=0))
    if len(bad):
        names = [str(name) for name in getattr(covariates, "columns", range(table.shape[1]))]
        listed = _listed("column", [names[column] for column in bad])
        raise ValueError(f"covariates contain NaN or infinity: {listed} affected; drop or impute them first")
    return table


def check_level(n_features: Any, available: int) -> int:
    """A number of features between 1 and all."""
    if isinstance(n_features, bool) or not isinstance(n_features, numbers.Integral):
        raise ValueError(f"n_features must be a whole number or 'auto', got {n_features!r}")
    if not 1 <= int(n_features) <= available:
        raise ValueError(
            f"n_features must be between 1 and {available}, got {n_features}: X has {available} feature(s)"
        )
    return int(n_features)


def check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    """A parameter that takes one of a few values."""
    if not any(value is choice or (isinstance(value, str) and value == choice) for choice in choices):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")


def check_positive(name: str, value: Any, *, whole: bool) -> None:
    """A parameter that must be a positive number."""
    kind: Any = numbers.Integral if whole else numbers.Real
    if isinstance(value, bool) or not isinstance(value, kind) or not value > 0:
        raise ValueError(f"{name} must be a positive {'whole ' if whole else ''}number, got {value!r}")


def random_state_of(given: Any) -> np.random.RandomState:
    """What ``random_state`` stands for, as in scikit-learn: None is what `numpy.random.seed` seeds.

    Examples
    --------
    >>> random_state_of(0).randint(10) == np.random.RandomState(0).randint(10)
    True
    """
    if isinstance(given, np.random.RandomState):
        return given
    if given is None or given is np.random:
        return np.random.mtrand._rand
    return np.random.RandomState(given)


def generator(random_state: Any) -> np.random.Generator:
    """A generator from whatever scikit-learn accepts as random_state."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(random_state_of(random_state).randint(2**31))
