"""Results as plain data and back: what a saved file may hold is what the dataclasses declare.

JSON knows no NaN and no infinity, so a missing number is ``null`` and the infinities are words. On the way
back every value is checked against the declared type of its field: a damaged file is refused with the place
of the damage, and nothing in a file is ever executed.
"""

from __future__ import annotations

import json
import math
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
import pandas as pd

_DEEPEST = 40
_INFINITIES = {"Infinity": math.inf, "-Infinity": -math.inf}
_DTYPES = {"number": np.float64, "whole": np.int64, "boolean": np.bool_, "text": object}

Part = TypeVar("Part")


def read_saved(path: str | Path, what: str) -> dict[str, Any]:
    """Content of a saved file; a file that is no JSON object is refused as not ``what``."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FileNotFoundError(f"no such file: {path}") from None
    except IsADirectoryError:
        raise ValueError(f"{path} is a folder; a saved {what} is one file") from None
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"{path} is not a saved {what}: {error}") from None
    if not isinstance(content, dict):
        raise ValueError(f"{path} is not a saved {what}")
    return content


def refuse_other_files(path: str | Path, content: dict[str, Any], kind: str, number: int) -> None:
    """A file of another kind or format is refused."""
    if content.get("kind_of_file") != kind:
        raise ValueError(f"{path} is not a saved {kind}")
    if content.get("format") != number:
        raise ValueError(
            f"{path} has format {content.get('format')!r}; this version of princdiff reads format {number}"
        )


def to_plain(value: Any) -> Any:
    """A value as dicts, lists, strings and finite numbers.

    Examples
    --------
    >>> to_plain({"a": np.array([1.0, np.nan, np.inf])})
    {'a': [1.0, None, 'Infinity']}
    """
    if isinstance(value, float | np.floating):
        number = float(value)
        if math.isnan(number):
            return None
        return number if math.isfinite(number) else ("Infinity" if number > 0 else "-Infinity")
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return [to_plain(item) for item in value.tolist()]
    if isinstance(value, pd.DataFrame):
        return _plain_frame(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    return value


def _plain_frame(frame: pd.DataFrame) -> dict[str, Any]:
    return {
        "index": to_plain(list(frame.index)),
        "columns": [str(name) for name in frame.columns],
        "kinds": [_column_kind(frame[name]) for name in frame.columns],
        "data": [to_plain(frame[name].tolist()) for name in frame.columns],
    }


def _column_kind(column: pd.Series) -> str:
    if column.dtype == bool:
        return "boolean"
    return {"f": "number", "i": "whole", "u": "whole"}.get(column.dtype.kind, "text")


def from_plain(cls: type[Part], content: Any, where: str) -> Part:
    """A dataclass from plain data, every field checked.

    Parameters
    ----------
    cls : type
        The dataclass.
    content : object
        What `to_plain` made of it, perhaps damaged since.
    where : str
        What the content is called in messages.

    Returns
    -------
    object of type ``cls``

    Raises
    ------
    ValueError
        Where a field is missing or holds something else than declared.
    """
    return _dataclass(cls, content, where, 0)


def checked(kinds: Mapping[str, Any], content: Mapping[str, Any], where: str) -> None:
    """Refuse values of a dict that are not of the kind declared for their key; other keys are free."""
    for name, kind in kinds.items():
        if name in content:
            _decoded(kind, content[name], f"{where}.{name}", 0)


def _dataclass(cls: type[Part], content: Any, where: str, depth: int) -> Part:
    _demand(isinstance(content, dict), where, "a group of named values", content)
    hints = get_type_hints(cls)
    values = {}
    for field in fields(cls):  # type: ignore[arg-type]
        place = f"{where}.{field.name}"
        if field.name in content:
            values[field.name] = _decoded(hints[field.name], content[field.name], place, depth + 1)
        elif field.default is MISSING and field.default_factory is MISSING:
            raise ValueError(f"{place} is missing")
    try:
        return cls(**values)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{where}: {error}") from None


def _decoded(kind: Any, content: Any, where: str, depth: int) -> Any:
    if depth > _DEEPEST:
        raise ValueError(f"{where} is nested too deeply")
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        _bounded(content, where, depth)
        return content
    if origin in (Union, types.UnionType):
        if content is None and type(None) in arguments:
            return None
        plain = [argument for argument in arguments if argument is not type(None)]
        return _first_fitting(plain, content, where, depth)
    if origin is Literal:
        _demand(isinstance(content, str) and content in arguments, where, f"one of {arguments}", content)
        return content
    if kind is pd.DataFrame:
        return _frame(content, where)
    if kind is np.ndarray or origin is np.ndarray:
        return _numbers(content, where)
    if is_dataclass(kind):
        return _dataclass(kind, content, where, depth)  # type: ignore[arg-type]
    if origin is list:
        _demand(isinstance(content, list), where, "a list", content)
        return [
            _decoded(arguments[0], item, f"{where}[{place}]", depth + 1) for place, item in enumerate(content)
        ]
    if origin is tuple:
        _demand(isinstance(content, list), where, "a list", content)
        inner = [arguments[0]] * len(content) if arguments[-1] is ... else list(arguments)
        _demand(len(inner) == len(content), where, f"{len(inner)} values", content)
        return tuple(
            _decoded(argument, item, f"{where}[{place}]", depth + 1)
            for place, (argument, item) in enumerate(zip(inner, content, strict=True))
        )
    if origin is dict:
        _demand(isinstance(content, dict), where, "a group of named values", content)
        return {
            key: _decoded(arguments[1], item, f"{where}[{key!r}]", depth + 1) for key, item in content.items()
        }
    return _scalar(kind, content, where)


def _scalar(kind: Any, content: Any, where: str) -> Any:
    if kind is float:
        if content is None:
            return math.nan
        if isinstance(content, str) and content in _INFINITIES:
            return _INFINITIES[content]
        _demand(
            isinstance(content, int | float) and not isinstance(content, bool), where, "a number", content
        )
        return float(content)
    if kind is int:
        _demand(isinstance(content, int) and not isinstance(content, bool), where, "a whole number", content)
    elif kind is bool:
        _demand(isinstance(content, bool), where, "true or false", content)
    elif issubclass(kind, StrEnum):
        _demand(
            isinstance(content, str) and content in set(kind),
            where,
            f"one of {list(map(str, kind))}",
            content,
        )
        return kind(content)
    else:
        _demand(isinstance(content, kind), where, {str: "text"}.get(kind, kind.__name__), content)
    return content


def _first_fitting(kinds: list[Any], content: Any, where: str, depth: int) -> Any:
    for kind in kinds[:-1]:
        try:
            return _decoded(kind, content, where, depth)
        except ValueError:
            continue
    return _decoded(kinds[-1], content, where, depth)


def _numbers(content: Any, where: str) -> np.ndarray:
    _demand(isinstance(content, list), where, "a list of numbers", content)
    return np.array([_scalar(float, item, where) for item in content], dtype=np.float64)


def _frame(content: Any, where: str) -> pd.DataFrame:
    _demand(isinstance(content, dict), where, "a table", content)
    for name in ("index", "columns", "kinds", "data"):
        if name not in content:
            raise ValueError(f"{where}.{name} is missing")
        _demand(isinstance(content[name], list), f"{where}.{name}", "a list", content[name])
    index, columns, kinds, data = (content[name] for name in ("index", "columns", "kinds", "data"))
    _demand(len(columns) == len(kinds) == len(data), where, "as many columns as names", len(data))
    frame = {}
    for name, kind, values in zip(columns, kinds, data, strict=True):
        place = f"{where}[{name!r}]"
        _demand(isinstance(name, str), place, "a name", name)
        _demand(isinstance(kind, str) and kind in _DTYPES, place, "a known kind of column", kind)
        _demand(isinstance(values, list) and len(values) == len(index), place, f"{len(index)} values", values)
        wanted = {"number": float, "whole": int, "boolean": bool}.get(kind)
        if wanted is None:
            cells = [_decoded(Any, item, place, 1) for item in values]
            column = pd.Series(cells, index=index, dtype=object)
            # From pandas 3 on a column of texts has a type of its own.
            texts = all(isinstance(cell, str) for cell in cells)
            frame[name] = column.infer_objects() if texts else column
        else:
            frame[name] = pd.Series(
                [_scalar(wanted, item, place) for item in values], index=index, dtype=_DTYPES[kind]
            )
    return pd.DataFrame(frame, index=index, columns=columns)


def _bounded(content: Any, where: str, depth: int) -> None:
    """Refuse what is nested so deeply that reading it would exhaust the stack."""
    if depth > _DEEPEST:
        raise ValueError(f"{where} is nested too deeply")
    items = content.values() if isinstance(content, dict) else content if isinstance(content, list) else ()
    for item in items:
        _bounded(item, where, depth + 1)


def _demand(holds: bool, where: str, wanted: str, found: Any) -> None:
    if not holds:
        text = repr(found)
        raise ValueError(
            f"{where} should be {wanted}, but is {text if len(text) <= 60 else text[:57] + '...'}"
        )
