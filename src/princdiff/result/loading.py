"""Results from the files they were saved in; a damaged file is refused, with what is wrong in it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pandas as pd

from princdiff.findings import Reason
from princdiff.options import Missing
from princdiff.result.difference import DifferenceResult
from princdiff.result.schema import checked, from_plain
from princdiff.tables.encoding import feature_names


def load(path: str | Path) -> DifferenceResult:
    """Read a result that was saved with `DifferenceResult.save`.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    DifferenceResult

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from princdiff import compare, load
    >>> rng = np.random.default_rng(0)
    >>> result = compare(rng.normal(size=(30, 2)), rng.normal(size=(30, 2)) + 1, n_permutations=19)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = result.save(f"{folder}/result.json")
    ...     load(path) == result
    True
    """
    return DifferenceResult.load(path)


def result_from(content: dict[str, Any]) -> DifferenceResult:
    """A result from what `DifferenceResult.to_dict` made of it; ValueError where it is damaged."""
    result = from_plain(DifferenceResult, content, "result")
    for name, declared in _declared(result).items():
        _complete(getattr(result, name), f"result.{name}", declared)
    checked(_PARAMETERS, result.parameters, "result.parameters")
    _check_consistency(result)
    return result


# What pages and words read from the parameters.
_PARAMETERS = {
    "seconds": dict[str, float],
    "versions": dict[str, str],
    "missing": Missing,
    "left_out": dict[str, str],
    "why_divergence": str | None,
    "cut": list[str],
}
_NEEDED = object()
# What pages, plots and words read from the tables of a result, with what stands for a column that files of an
# older version do not have: nothing known. Without those that are needed nothing could be shown.
_JUDGED = {
    "selected": (bool, _NEEDED),
    "pvalue": (float, math.nan),
    "reason": (str, ""),
    "kind": (str, _NEEDED),
    "effect": (float, _NEEDED),
    "measure": (str, ""),
    "difference": (float, math.nan),
    "difference_low": (float, math.nan),
    "difference_high": (float, math.nan),
    "share": (float, math.nan),
}
_PARTS = dict.fromkeys(("divergence", "location", "scale", "shape"), (float, _NEEDED))
_NAMES = {"first": (str, _NEEDED), "second": (str, _NEEDED)}
_TABLES: dict[str, dict[str, tuple[type, Any]]] = {
    "columns": {"column": (str, _NEEDED), "type": (str, "number"), "change": (str, _NEEDED), **_JUDGED},
    "table": {
        "feature": (str, _NEEDED),
        "column": (str, _NEEDED),
        "weight": (float, _NEEDED),
        "stability": (float, math.nan),
        **_PARTS,
        **_JUDGED,
    },
    "relations": {
        **_NAMES,
        "first column": (str, _NEEDED),
        "second column": (str, _NEEDED),
        "change": (float, _NEEDED),
        "pvalue": (float, math.nan),
        "selected": (bool, _NEEDED),
    },
    "balance": {"covariate": (str, _NEEDED), "before": (float, _NEEDED), "after": (float, _NEEDED)},
    "components": {
        "component": (str, _NEEDED),
        "effect": (float, _NEEDED),
        "upper bound": (float, math.nan),
        "pvalue": (float, math.nan),
        **_PARTS,
    },
}


def _declared(result: DifferenceResult) -> dict[str, dict[str, tuple[type, Any]]]:
    """Columns of the tables of a result, those of its groups and directions too."""
    by_group = {f"{name} {group}": (float, _NEEDED) for name in ("mean", "sd") for group in result.groups}
    dependence = {f"dependence {group}": (float, _NEEDED) for group in result.groups}
    further = range(2, len(result.divergences) + 1)
    weights = {f"weight {number}": (float, _NEEDED) for number in further}
    shares = {f"share {number}": (float, math.nan) for number in further}
    return {
        **_TABLES,
        "table": {**_TABLES["table"], **by_group, **weights, **shares},
        "relations": {**_TABLES["relations"], **dependence},
    }


_WORDS = {bool: "true or false", float: "numbers", str: "texts"}


def _complete(frame: pd.DataFrame, where: str, declared: dict[str, tuple[type, Any]]) -> None:
    """Check the columns of a table, and add those that files of older versions do not have."""
    if not len(frame):
        return
    for name, (kind, otherwise) in declared.items():
        if name not in frame:
            if otherwise is _NEEDED:
                raise ValueError(f"{where} lacks the column {name!r}")
            frame[name] = otherwise
        elif not _holds(frame[name], kind):
            raise ValueError(f"{where}[{name!r}] should hold {_WORDS[kind]}")
    if "reason" in declared and "differs" not in frame:
        frame["differs"] = _as_words_tell(frame["reason"])


def _holds(values: pd.Series, kind: type) -> bool:
    if kind is str:
        return all(isinstance(value, str) for value in values)
    return values.dtype == bool if kind is bool else values.dtype.kind in "fiu"


def _as_words_tell(reasons: pd.Series) -> list[str]:
    """How columns differ, from the words of files that were saved before it had a column of its own."""
    first = [words.partition(" ")[0].rstrip(":") for words in reasons]
    return [word if word in set(Reason) else str(Reason.NONE) for word in first]


def _check_consistency(result: DifferenceResult) -> None:
    """Parts that belong together must agree in size and names, or reading would fail later and elsewhere."""
    if len(result.groups) < 2:
        raise ValueError(f"result.groups names {len(result.groups)} groups; a comparison has at least two")
    names = feature_names(result.codings)[0]
    n_features, n_components = len(names), len(result.divergences)
    sizes = {
        "directions": (result.directions.shape, (n_features, n_components)),
        "upper_bounds": (len(result.upper_bounds), n_components),
        "components": (len(result.components), n_components),
        "reference.components": (len(result.reference.components), n_components),
    }
    for name, (found, wanted) in sizes.items():
        if found != wanted:
            raise ValueError(f"result.{name} has size {found} where {wanted} belongs")
    columns = [coding.column for coding in result.codings]
    listed = {
        "table['feature']": (result.table, "feature", names),
        "columns['column']": (result.columns, "column", columns),
    }
    for name, (frame, column, expected) in listed.items():
        if sorted(frame[column] if len(frame) else ()) != sorted(expected):
            raise ValueError(f"result.{name} does not name the features or columns of result.codings")
    if not set(result.changes) <= set(columns):
        raise ValueError("result.changes names a column that result.codings does not")
    for fault in result.faults:
        if not {*fault.columns} <= {*columns} or fault.group not in result.groups:
            raise ValueError("result.faults names a column or a group that is not there")
    for group in result.groups:
        for name in ("factors", "offsets"):
            stored = getattr(result.reference, name)
            if group not in stored or len(stored[group]) != n_features:
                raise ValueError(f"result.reference.{name} lacks group {group!r}")
