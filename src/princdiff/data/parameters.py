"""One rule for every parameter of the public functions, written once and checked before any work is done.

A parameter that has one meaning everywhere (``n_jobs``, ``random_state``, ``scale``, ...) has its rule in
`RULES`; a function with a narrower one says so where it calls `check`. What depends on the data (a number of
features, a weight for each row) is checked with the data, see `princdiff.data.validate`. The command line
reads the rules of its options before it knows what is computed: NumPy is imported where it is needed.
"""

from __future__ import annotations

import math
import numbers
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from princdiff.data.memory import parse_memory

MOST = 10**8
"""Of anything that is counted: larger numbers are mistakes, and would fill the memory before they fail."""


class Rule(Protocol):
    """What a parameter may be."""

    @property
    def words(self) -> str:
        """What may be given, to follow "must be"."""
        ...

    def allows(self, value: Any) -> bool:
        """Whether a value may be given."""
        ...


@dataclass(frozen=True)
class Whole:
    """A whole number from ``low`` to ``high``, of any integer type but bool."""

    low: int = 1
    high: int | None = MOST

    @property
    def words(self) -> str:
        """As a noun."""
        if self.high is not None and self.high < MOST:
            return f"a whole number from {self.low} to {self.high}"
        words = {0: "a whole number, 0 or more", 1: "a positive whole number"}.get(
            self.low, f"a whole number, at least {self.low}"
        )
        return words if self.high is None else f"{words} (up to {self.high})"

    def allows(self, value: Any) -> bool:
        """Whether a value may be given."""
        if isinstance(value, bool) or not isinstance(value, numbers.Integral):
            return False
        return self.low <= int(value) and (self.high is None or int(value) <= self.high)


@dataclass(frozen=True)
class Number:
    """A finite number in an interval; ``closed`` says which ends belong to it: "", "low", "high", "both"."""

    low: float = 0.0
    high: float = math.inf
    closed: str = ""

    @property
    def words(self) -> str:
        """As a noun."""
        lower, upper = self.closed in ("low", "both"), self.closed in ("high", "both")
        if self.low == -math.inf:
            return "a finite number"
        if self.high == math.inf:
            if self.low == 0:
                return "a number >= 0" if lower else "a positive number"
            return f"a number {'>=' if lower else '>'} {self.low:g}"
        if not self.closed:
            return f"between {self.low:g} and {self.high:g}"
        low, high = "at least" if lower else "above", "at most" if upper else "below"
        return f"{low} {self.low:g} and {high} {self.high:g}"

    def allows(self, value: Any) -> bool:
        """Whether a value may be given."""
        if isinstance(value, bool) or not isinstance(value, numbers.Real) or not math.isfinite(value):
            return False
        number = float(value)
        above = self.low <= number if self.closed in ("low", "both") else self.low < number
        below = number <= self.high if self.closed in ("high", "both") else number < self.high
        return above and below


class Choice:
    """One of a few texts, booleans or None."""

    def __init__(self, *choices: Any) -> None:
        self.choices = choices

    @property
    def words(self) -> str:
        """As a noun."""
        return "one of " + ", ".join(map(repr, self.choices))

    def allows(self, value: Any) -> bool:
        """Whether a value may be given."""
        if Flag().allows(value):
            value = bool(value)
        return any(value is choice or (isinstance(value, str) and value == choice) for choice in self.choices)


class Either:
    """What any of several rules allows; texts and None stand for themselves."""

    def __init__(self, *rules: Rule | str | None) -> None:
        self.rules: list[Rule] = [
            Choice(rule) if rule is None or isinstance(rule, str) else rule for rule in rules
        ]

    @property
    def words(self) -> str:
        """As a noun."""
        parts = [
            ", ".join(map(repr, rule.choices)) if isinstance(rule, Choice) else rule.words
            for rule in self.rules
        ]
        return " or ".join(part for part in (", ".join(parts[:-1]), parts[-1]) if part)

    def allows(self, value: Any) -> bool:
        """Whether a value may be given."""
        return any(rule.allows(value) for rule in self.rules)


class Flag:
    """True or False."""

    words = "True or False"

    def allows(self, value: Any) -> bool:
        """Whether a value may be given."""
        return isinstance(value, bool) or (type(value).__module__ == "numpy" and _is_numpys_flag(value))


def _is_numpys_flag(value: Any) -> bool:
    import numpy as np

    return isinstance(value, np.bool_)


class Jobs:
    """A number of threads as in joblib: -1 is all processors, 0 has no meaning."""

    words = "a whole number from -1024 to 1024 other than 0 (-1: all processors) or None"

    def allows(self, value: Any) -> bool:
        """Whether a value may be given."""
        return value is None or (Whole(-1024, 1024).allows(value) and value != 0)


class Level:
    """A number of features, whose range is checked with the data, or a word for a choice by the function."""

    words = "a whole number or 'auto'"

    def allows(self, value: Any) -> bool:
        """Whether a value may be given."""
        if isinstance(value, str):
            return value == "auto"
        # Zero and less are refused with the data, where it is known how many features there are.
        return isinstance(value, numbers.Integral) and not isinstance(value, bool)


class Seed:
    """What scikit-learn takes as random_state, and a numpy Generator."""

    words = "a whole number from 0 to 2**32 - 1, a RandomState, a numpy Generator or None"

    def allows(self, value: Any) -> bool:
        """Whether a value may be given."""
        import numpy as np

        if value is None or value is np.random:
            return True
        if isinstance(value, (np.random.Generator, np.random.RandomState)):
            return True
        return Whole(0, 2**32 - 1).allows(value)


@dataclass(frozen=True)
class Text:
    """A text, which must not be empty unless that is allowed."""

    empty: bool = False

    words: str = "a text"

    def allows(self, value: Any) -> bool:
        """Whether a value may be given."""
        return isinstance(value, str) and (self.empty or bool(value))


@dataclass(frozen=True)
class Names:
    """A list of texts; one text alone, where it may be given, is a list of one and not of its letters."""

    one: bool = False

    @property
    def words(self) -> str:
        """What is accepted."""
        return f"a {'name or a ' if self.one else ''}list of names"

    def allows(self, value: Any) -> bool:
        """Whether a value may be given."""
        if isinstance(value, (str, bytes)):
            return self.one and isinstance(value, str) and bool(value)
        import numpy as np

        if not isinstance(value, (Sequence, np.ndarray)) and not hasattr(value, "to_list"):
            return False
        return np.ndim(value) == 1 and len(value) > 0 and all(isinstance(name, str) for name in value)


class Pair:
    """Two positive whole numbers."""

    words = "two positive whole numbers"

    def allows(self, value: Any) -> bool:
        """Whether a value may be given."""
        several = isinstance(value, (tuple, list)) and len(value) == 2
        return several and all(Whole(1).allows(number) for number in value)


class File:
    """A path."""

    words = "a path"

    def allows(self, value: Any) -> bool:
        """Whether a value may be given."""
        return isinstance(value, os.PathLike) or (isinstance(value, str) and bool(value))


class AxesRule:
    """A matplotlib Axes, recognised by what it can do: matplotlib is not imported for this."""

    words = "a matplotlib Axes"

    def allows(self, value: Any) -> bool:
        """Whether a value may be given."""
        return hasattr(value, "plot") and hasattr(value, "get_figure")


class Data:
    """Checked with the data, by functions that say what is wrong with them."""

    words = "data"

    def allows(self, value: Any) -> bool:
        """Always: others look at it."""
        return True


@dataclass(frozen=True)
class DivergenceRule:
    """A name, an object or a function; `princdiff.divergences.get` says what is wrong.

    With ``auto`` the function that is called may choose on its own.
    """

    auto: bool = False

    words: str = "a divergence"

    def allows(self, value: Any) -> bool:
        """Whether a value may be given."""
        from princdiff.divergences import get

        if not (self.auto and isinstance(value, str) and value == "auto"):
            get(value)
        return True


@dataclass(frozen=True)
class MemoryRule:
    """A number of bytes, or a text such as "2GB"; `princdiff.data.memory` says what is wrong."""

    words: str = "a number of bytes or a text such as '2GB'"

    def allows(self, value: Any) -> bool:
        """Whether a value may be given."""
        return parse_memory(value) > 0


_COUNT, _FLAG = Whole(1), Flag()

# What a parameter may be wherever it occurs. A test holds every public function to it.
RULES: dict[str, Rule] = {
    **dict.fromkeys(("X", "Y", "y", "groups", "blocks", "covariates", "sample_weight"), Data()),
    "n_features": Level(),
    "n_components": Either(_COUNT, "auto"),
    "n_permutations": _COUNT,
    "n_splits": _COUNT,
    "n_pairs": _COUNT,
    "n_draws": _COUNT,
    "max_iter": _COUNT,
    "fraction": Number(0, 1),
    "alpha": Number(0, 1),
    "threshold": Number(0.5, 1, "high"),
    "coverage": Number(0, 1),
    "tol": Number(0),
    "penalty": Number(0, closed="low"),
    "time_budget": Either(Number(0), None),
    "memory": Either(Choice(None), MemoryRule()),
    "divergence": DivergenceRule(),
    "scale": Choice(None, "pooled", "within"),
    "metric": Choice("euclidean", "whitened"),
    "effort": Choice("fast", "default", "thorough"),
    "permute": Choice("auto", "within", "whole"),
    "certify": Choice(True, False, "auto"),
    "subsample": Either(Whole(100), "auto", None),
    "features": Either(Names(one=True), None),
    "exclude": Either(Names(one=True), None),
    "reference": Either(Text(), Number(), None),
    "progress": _FLAG,
    "one_standard_error": _FLAG,
    "random_state": Seed(),
    "n_jobs": Jobs(),
    "checkpoint": Either(File(), None),
    "ax": Either(AxesRule(), None),
}


def check(values: Mapping[str, Any], /, **rules: Rule) -> None:
    """Refuse what a parameter cannot be, by its name.

    Parameters
    ----------
    values : dict
        Every parameter of the calling function: ``locals()`` in its first line, or ``get_params()``.
    **rules : Rule
        Where the function's own rule differs from that in `RULES`, or has none there.

    Examples
    --------
    >>> check({"n_permutations": 99, "scale": None})
    >>> check({"n_permutations": 0}, n_permutations=Whole(0))
    >>> check({"n_permutations": 0})
    Traceback (most recent call last):
        ...
    ValueError: n_permutations must be a positive whole number (up to 100000000), got 0
    >>> check({"fraction": float("nan")})
    Traceback (most recent call last):
        ...
    ValueError: fraction must be between 0 and 1, got nan
    """
    for name, value in values.items():
        rule = rules[name] if name in rules else RULES[name]
        if not rule.allows(value):
            raise ValueError(f"{name} must be {rule.words}, got {value!r}")
