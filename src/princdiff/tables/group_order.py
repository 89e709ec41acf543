"""Which group comes first: the one that the others are compared with, from which every arrow points.

An order that depends on the labels alone: of the same rows in another order, or in a file of another type,
the same is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from princdiff.tables.frames import listed, suggestion

# Labels that say themselves that others are compared with them.
_REFERENCES = {
    "baseline", "before", "control", "controls", "ctrl", "healthy", "normal", "old", "placebo", "pre",
    "reference", "ref", "then", "train", "training", "untreated", "vehicle", "wild type", "wild-type", "wt",
}  # fmt: skip


def order_of_labels(labels: pd.Series, values: Sequence[Any], names: Sequence[str]) -> list[int]:
    """Positions of distinct labels in the order in which groups are compared.

    Parameters
    ----------
    labels : Series of shape (n_rows,)
        A label for each row.
    values : sequence of length n_groups
        Its distinct labels.
    names : sequence of str, of length n_groups
        What they are called.

    Returns
    -------
    list of int
        Categories of pandas in their own order. Others sorted, but one that is called "control", "before" or
        the like comes first, if only one is.

    Examples
    --------
    >>> labels = pd.Series(["after", "before"])
    >>> order_of_labels(labels, list(labels), list(labels))
    [1, 0]
    """
    positions = range(len(values))
    if isinstance(labels.dtype, pd.CategoricalDtype):
        place = {level: position for position, level in enumerate(labels.cat.categories)}
        return sorted(positions, key=lambda position: place[values[position]])
    try:
        order = sorted(positions, key=lambda position: values[position])
    except TypeError:
        order = sorted(positions, key=lambda position: names[position])
    return _first(order, [position for position in order if says_reference(names[position])])


def says_reference(name: str) -> bool:
    """Whether a label says itself that others are compared with it.

    Examples
    --------
    >>> says_reference("Control"), says_reference("wild_type"), says_reference("b")
    (True, True, False)
    """
    return name.strip().lower().replace("_", " ") in _REFERENCES


def in_order_of_names(names: Sequence[str]) -> list[str]:
    """Names of groups in the order in which they are compared.

    Examples
    --------
    >>> in_order_of_names(["treated", "control", "sham"])
    ['control', 'sham', 'treated']
    """
    return _first(sorted(names), [name for name in names if says_reference(name)])


def with_reference(
    codes: NDArray[np.uint8], names: tuple[str, ...], reference: Any
) -> tuple[NDArray[np.uint8], tuple[str, ...]]:
    """Groups with the one that was asked for first, the others in the order they had.

    Parameters
    ----------
    codes : array of shape (n_rows,)
        Group of each row.
    names : tuple of str
        Names of the groups.
    reference : str, number or None
        The group to come first; None: as they are.

    Returns
    -------
    codes : array of shape (n_rows,)
    names : tuple of str

    Examples
    --------
    >>> with_reference(np.array([0, 1, 2], dtype=np.uint8), ("a", "b", "c"), "b")
    (array([1, 0, 2], dtype=uint8), ('b', 'a', 'c'))
    """
    if reference is None:
        return codes, names
    place = place_of(names, reference)
    order = [place, *(position for position in range(len(names)) if position != place)]
    return np.argsort(order)[codes].astype(np.uint8), tuple(names[position] for position in order)


def place_of(names: Sequence[str], reference: Any) -> int:
    """Where the reference is among the names of groups.

    Examples
    --------
    >>> place_of(["1", "2"], 2)
    1
    """
    if str(reference) not in names:
        hint = suggestion(str(reference), names) or f"; the groups are {listed(names)}"
        raise ValueError(f"reference: there is no group {str(reference)!r}{hint}")
    return list(names).index(str(reference))


def _first(order: list[Any], chosen: list[Any]) -> list[Any]:
    """The one that was chosen first; more than one choose none."""
    if len(chosen) != 1:
        return order
    return [*chosen, *(item for item in order if item != chosen[0])]
