"""Finished steps of a comparison in a file, from which one that was cut off goes on.

The direction, the test and the selection are what takes long; each is kept as soon as it is done, as plain
numbers and texts, and the same call takes them from there. Anything else is worked out again, which is exact:
all random numbers follow from the seed and the name of the step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from princdiff.findings import Why
from princdiff.labellings.pvalues import Interval
from princdiff.relaxation.upper_bound import Certificate
from princdiff.resume import read_finished, write_finished
from princdiff.selection.explanation import Explanation
from princdiff.selection.selected import SelectionResult
from princdiff.statistics.permutation_result import PermutationResult
from princdiff.statistics.protocol import Cell
from princdiff.statistics.tuning import SparsityPath

# What may be read from a file: nothing else is ever built from one.
_KINDS = (
    PermutationResult,
    Cell,
    Interval,
    SelectionResult,
    SparsityPath,
    Certificate,
    Why,
    Explanation,
)
_KNOWN = {kind.__name__: kind for kind in _KINDS}


class ComparisonCheckpoint:
    """Steps that are done.

    Parameters
    ----------
    path : str or Path
        The file. It is written beside its place and renamed, so it is whole at any
        time.
    depends_on : dict of str to str
        What the results depend on, by name; a file with another content is refused.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first = ComparisonCheckpoint(f"{folder}/run.npz", {"seed": "0"}).step(
    ...         "fit", lambda: {"x": np.eye(1)}
    ...     )
    ...     ComparisonCheckpoint(f"{folder}/run.npz", {"seed": "0"}).step("fit", lambda: None)
    {'x': array([[1.]])}
    """

    def __init__(self, path: str | Path, depends_on: dict[str, str]) -> None:
        self._path = Path(path)
        self._depends_on = depends_on
        self._steps: dict[str, Any] = {}
        self._arrays: dict[str, np.ndarray] = {}
        if self._path.exists():
            self._arrays, self._steps = read_finished(self._path, self._depends_on)

    def step(self, name: str, work: Callable[[], Any]) -> Any:
        """What a step gives: from the file, or by work, and then into the file."""
        if name in self._steps:
            return self._decoded(self._steps[name])
        result = work()
        self._steps[name] = self._encoded(result, name)
        write_finished(self._path, self._depends_on, self._arrays, self._steps)
        return result

    # Values as plain data: arrays beside, everything else as JSON.

    def _encoded(self, value: Any, name: str) -> Any:
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, np.generic) and not isinstance(value, np.str_):
            value = np.asarray(value)
        if isinstance(value, float):
            # As it is printed a float is exact; JSON has no word for what is not finite.
            return {"float": repr(value)}
        if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
            self._arrays[name] = value
            return {"array": name}
        if isinstance(value, np.ndarray):
            return {"texts": [self._encoded(item, f"{name}.{i}") for i, item in enumerate(value.tolist())]}
        if isinstance(value, pd.DataFrame):
            columns = [
                [str(label), self._encoded(value[label].to_numpy(), f"{name}.{i}")]
                for i, label in enumerate(value.columns)
            ]
            return {"frame": columns, "rows": len(value)}
        if isinstance(value, dict):
            return {"dict": [[key, self._encoded(item, f"{name}.{key}")] for key, item in value.items()]}
        if type(value).__name__ in _KNOWN:
            names = [f.name for f in fields(value)] if is_dataclass(value) else value._fields
            parts = {part: self._encoded(getattr(value, part), f"{name}.{part}") for part in names}
            return {"is": type(value).__name__, "parts": parts}
        if isinstance(value, list | tuple):
            items = [self._encoded(item, f"{name}.{i}") for i, item in enumerate(value)]
            return {"list" if isinstance(value, list) else "tuple": items}
        raise TypeError(f"{type(value).__name__} cannot be kept in a checkpoint")

    def _decoded(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        if "float" in value:
            return float(value["float"])
        if "array" in value:
            array = self._arrays[value["array"]]
            return array.copy() if array.ndim else array[()]
        if "texts" in value:
            texts = np.empty(len(value["texts"]), dtype=object)
            texts[:] = [self._decoded(item) for item in value["texts"]]
            return texts
        if "frame" in value:
            columns = {label: self._decoded(part) for label, part in value["frame"]}
            return pd.DataFrame(columns, index=pd.RangeIndex(value["rows"]))
        if "dict" in value:
            return {key: self._decoded(item) for key, item in value["dict"]}
        if "is" in value:
            return _KNOWN[value["is"]](**{k: self._decoded(part) for k, part in value["parts"].items()})
        kind = list if "list" in value else tuple
        return kind(self._decoded(item) for item in value["list" if kind is list else "tuple"])
