"""Names of groups and columns in a sentence: some of many, cut to a length that can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from princdiff.result import DifferenceResult

NAMED = 4
"""Names in a sentence at most; of more the others are counted."""
_BARE = ("yes", "no", "true", "false", "y", "n", "t", "f")


def group_names(result: DifferenceResult) -> list[str]:
    """What the groups are called; a bare 0, 1, yes or no is named with the column it stands in."""
    names = [str(name) for name in result.groups]
    column = result.parameters.get("groups")
    bare = all(name.lstrip("-").isdigit() or name.lower() in _BARE for name in names)
    return [f"{column} = {name}" for name in names] if column and bare else names


def some(names: list[str], most: int = NAMED) -> str:
    """The first names, and how many more there are.

    Examples
    --------
    >>> some(["age", "sex"]), some(["a", "b", "c", "d", "e"])
    ('age and sex', 'a, b, c and 2 more')
    """
    return listed(names if len(names) <= most else [*names[: most - 1], f"{len(names) - most + 1} more"])


def listed(names: list[str]) -> str:
    """All names, as a sentence lists them."""
    names = [cut(name, 60) for name in names]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def cut(text: str, length: int) -> str:
    """The beginning of a text that is longer."""
    return text if len(text) <= length else text[: length - 1] + "…"
