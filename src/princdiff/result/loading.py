"""Results from the files they were saved in; a damaged file is refused, with what is wrong in it."""

from __future__ import annotations

from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import pandas as pd

from princdiff.data import parameters
from princdiff.findings import Reason
from princdiff.result.difference import FORMAT, KIND, DifferenceResult
from princdiff.result.schema import from_plain, read_saved, refuse_other_files


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
    parameters.check({"path": path}, path=parameters.File())
    content = read_saved(path, KIND)
    if content.get("kind_of_file") == f"{KIND} of groups":
        raise ValueError(f"{path} holds comparisons of several groups: read it with GroupsResult.load")
    refuse_other_files(path, content, KIND, FORMAT)
    lost = [
        part.name
        for part in fields(DifferenceResult)
        if part.name not in content and part.default is MISSING and part.default_factory is MISSING
    ]
    if lost:
        raise ValueError(f"{path} is incomplete: {', '.join(lost)} is missing")
    try:
        return result_from(content)
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}") from None


def result_from(content: dict[str, Any]) -> DifferenceResult:
    """A result from what `DifferenceResult.to_dict` made of it; ValueError where it is damaged."""
    result = from_plain(DifferenceResult, content, "result")
    for frame in (result.columns, result.table):
        if "reason" in frame and "differs" not in frame:
            frame.insert(int(frame.columns.get_loc("reason")), "differs", _as_once_told(frame["reason"]))
    _check_consistency(result)
    return result


def _as_once_told(reasons: pd.Series) -> list[str]:
    """How columns differ, from the words of files that were saved before it had a column of its own."""
    first = [str(words).partition(" ")[0].rstrip(":") for words in reasons]
    return [word if word in set(Reason) else str(Reason.NONE) for word in first]


# What pages, plots and words read from the tables of a result.
_JUDGED = ("selected", "pvalue", "differs", "reason", "kind", "effect", "share")
_TABLES = {
    "columns": ("column", "type", "change", *_JUDGED),
    "table": ("feature", "column", "weight", "divergence", "location", "scale", "shape", *_JUDGED),
    "relations": ("first", "second", "change", "pvalue", "selected"),
    "components": (
        "component",
        "divergence",
        "upper bound",
        "pvalue",
        "effect",
        "location",
        "scale",
        "shape",
    ),
}


def _check_consistency(result: DifferenceResult) -> None:
    """Parts that belong together must agree in size, or reading would fail later and elsewhere."""
    if len(result.groups) < 2:
        raise ValueError(f"result.groups names {len(result.groups)} groups; a comparison has at least two")
    n_features = sum(len(coding.features) for coding in result.codings)
    n_components = len(result.divergences)
    sizes = {
        "directions": (result.directions.shape, (n_features, n_components)),
        "table": (len(result.table), n_features),
        "columns": (len(result.columns), len(result.codings)),
        "upper_bounds": (len(result.upper_bounds), n_components),
        "components": (len(result.components), n_components),
        "reference.components": (len(result.reference.components), n_components),
    }
    for name, (found, wanted) in sizes.items():
        if found != wanted:
            raise ValueError(f"result.{name} has size {found} where {wanted} belongs")
    for name, wanted_columns in _TABLES.items():
        frame = getattr(result, name)
        lost = [column for column in wanted_columns if len(frame) and column not in frame]
        if lost:
            raise ValueError(f"result.{name} lacks the column {lost[0]!r}")
    for group in result.groups:
        for name in ("factors", "offsets"):
            stored = getattr(result.reference, name)
            if group not in stored or len(stored[group]) != n_features:
                raise ValueError(f"result.reference.{name} lacks group {group!r}")
