"""Finished steps of a comparison in a file, from which one that was cut off goes on.

The direction, the test and the selection are what takes long; each is kept as soon as it is done, as plain
numbers and texts, and the same call takes them from there. Anything else is worked out again, which is exact:
all random numbers follow from the seed and the name of the step.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from princdiff.files import replacing
from princdiff.inference.cells import Cell
from princdiff.inference.permutation_result import PermutationResult
from princdiff.inference.pvalues import Interval
from princdiff.inference.selection_result import SelectionResult
from princdiff.inference.tuning import SparsityPath
from princdiff.relaxation.upper_bound import Certificate

_FORMAT = 1
# What may be read from a file: nothing else is ever built from one.
_KNOWN = {
    kind.__name__: kind
    for kind in (PermutationResult, Cell, Interval, SelectionResult, SparsityPath, Certificate)
}


class ComparisonCheckpoint:
    """Steps that are done.

    Parameters
    ----------
    path : str, Path or None
        The file; None: nothing is kept. It is written beside its place and renamed, so it is whole at any
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

    def __init__(self, path: str | Path | None, depends_on: dict[str, str]) -> None:
        self._path = None if path is None else Path(path)
        self._depends_on = depends_on
        self._steps: dict[str, Any] = {}
        self._arrays: dict[str, np.ndarray] = {}
        if self._path is not None and self._path.exists():
            self._load(self._path)

    def step(self, name: str, work: Callable[[], Any]) -> Any:
        """What a step gives: from the file, or by work, and then into the file."""
        if name in self._steps:
            return self._decoded(self._steps[name])
        result = work()
        if self._path is not None:
            self._steps[name] = self._encoded(result, name)
            self._save(self._path)
        return result

    # Files.

    def _save(self, path: Path) -> None:
        head = {"format": _FORMAT, "depends_on": self._depends_on, "steps": self._steps}
        text = json.dumps(head, sort_keys=True)
        checksum = np.array(_checksum(text, self._arrays))
        with replacing(path) as beside, open(beside, "wb") as file:
            np.savez(file, head=np.array(text), checksum=checksum, **self._arrays)  # type: ignore[arg-type]

    def _load(self, path: Path) -> None:
        try:
            with np.load(path, allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in stored.files if name not in ("head", "checksum")}
                text, checksum = str(stored["head"]), str(stored["checksum"])
            head = json.loads(text)
            steps, depends_on = head["steps"], head["depends_on"]
        except Exception as error:
            # An archive with a flipped bit fails in a dozen ways; all of them mean the same.
            reason = (str(error) or type(error).__name__).splitlines()[0]
            raise ValueError(
                f"checkpoint {str(path)!r} is cut off, damaged or no checkpoint of a comparison ({reason}); "
                "delete it to start anew"
            ) from error
        if checksum != _checksum(text, arrays):
            raise ValueError(f"checkpoint {str(path)!r} is damaged; delete it to start anew")
        known = {**dict.fromkeys(self._depends_on), **depends_on}
        differing = [name for name, value in known.items() if value != self._depends_on.get(name)]
        if differing:
            raise ValueError(
                f"checkpoint {str(path)!r} belongs to another comparison, which differs in "
                f"{', '.join(differing)}; give another path, or delete it to start anew"
            )
        self._steps, self._arrays = steps, arrays

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


def _checksum(text: str, arrays: dict[str, np.ndarray]) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
