"""What a statistic of the adaptive test is, and what it gives.

A statistic looks at rows and gives cells: numbers of which every labelling gets one, by the same rule.
*Anything* may be a cell, since the observed labelling is one of many that are treated alike. Its values
become scores, about -log of a p-value, and `combining` makes one number of all the scores of a labelling.

To add a statistic: a file with a function from `TestedRows` to `CellValues`, and its name in `registry`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from princdiff.statistics.scores import gamma_scores, tempered
from princdiff.statistics.tested_rows import TestedRows

SINGLE = ("single features", 1)


@dataclass(frozen=True)
class Cell:
    """One number of every labelling.

    Attributes
    ----------
    family : str
        What kind of difference it sees.
    name : str
        Short and unique.
    metric : str
        Of directions "euclidean" or "whitened"; of other cells what they are computed on.
    level : int
        Features of a direction at most; 0 for other cells.
    weight : float
        Weight of its inverse p-value.
    detail : str
        What sets it apart from other cells that see the same kind of difference.
    share : float
        Part of the error that is its own, whatever other cells say.
    sentence : str
        In what the groups differ, where this cell leads.
    complexity : int
        How much there is to say: cells of a lower number are named first.
    """

    family: str
    name: str
    metric: str = "scaled"
    level: int = 0
    weight: float = 1.0
    detail: str = ""
    share: float = 0.0
    sentence: str = ""
    complexity: int = 5

    @property
    def key(self) -> tuple[str, int]:
        """Metric and number of features of a direction; name and number of other cells."""
        if self.family == "direction":
            return self.metric, self.level
        return SINGLE if self.name == "one column" else (self.name, 0)

    @property
    def words(self) -> str:
        """What it looks at, in words that no other cell of a test has.

        Examples
        --------
        >>> Family("column", "one column alone", 0).cell("one mean", detail="by its mean").words
        'one column alone, by its mean'
        """
        return f"{self.sentence}, {self.detail}" if self.detail else self.sentence


class Family(NamedTuple):
    """A kind of difference: its name, the words for it where one of its cells leads, and how simple it is."""

    name: str
    sentence: str
    complexity: int

    def cell(self, name: str, **more: Any) -> Cell:
        """A cell that sees this kind of difference."""
        return Cell(self.name, name, sentence=self.sentence, complexity=self.complexity, **more)


@dataclass(frozen=True)
class CellValues:
    """Cells and their values for all labellings.

    Attributes
    ----------
    cells : list of Cell
        What was looked at.
    values : array of shape (n_labellings, n_cells)
        Statistics, the observed labelling first; large values speak against the null hypothesis.
    """

    cells: list[Cell]
    values: NDArray

    def __add__(self, other: CellValues | None) -> CellValues:
        if other is None:
            return self
        return CellValues([*self.cells, *other.cells], np.column_stack([self.values, other.values]))

    @cached_property
    def scores(self) -> NDArray[np.float32]:
        """Comparable scores, shape (n_labellings, n_cells)."""
        return tempered(gamma_scores(self.values))


class Statistic(Protocol):
    """A function that gives cells of tested rows, or None where it does not suit them or takes too long.

    It may use labels through the labellings only, and must treat all of them alike.
    """

    def __call__(self, rows: TestedRows, /) -> CellValues | None:
        """Cells, and their values for all labellings."""
        ...
