"""What the solver asks of a divergence between one-dimensional samples."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from princdiff.divergences.sorting import Workspace
from princdiff.labels import Labels


class Divergence(Protocol):
    """A divergence between groups of numbers, evaluated for a batch of columns at once.

    Attributes
    ----------
    name : str
        How users call it.
    degree : float
        Homogeneity: multiplying all numbers by c multiplies the value by c ** degree.
    """

    name: str
    degree: float

    def value(self, projections: NDArray, labels: Labels) -> NDArray[np.float64]:
        """Value of each column, shape (n_columns,), from projections of shape (n_columns, n_rows)."""
        ...

    def value_and_slope(
        self, projections: NDArray, labels: Labels, workspace: Workspace
    ) -> tuple[NDArray[np.float64], NDArray]:
        """Value and its derivative with respect to every projection, zero for held-out rows."""
        ...


@runtime_checkable
class PlannedDivergence(Divergence, Protocol):
    """A divergence that is a minimum of smooth functions, one for each order of the rows."""

    def along_plan(
        self, projections: NDArray, labels: Labels, order: NDArray[np.intp], workspace: Workspace
    ) -> tuple[NDArray[np.float64], NDArray]:
        """Value and slope of the function that belongs to an order; an upper bound on the divergence."""
        ...
