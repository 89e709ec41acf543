"""What the solver asks of a divergence between one-dimensional samples."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from princdiff.data.labels import Labels
from princdiff.divergences.sorting import Workspace


class Divergence(Protocol):
    """A divergence between groups of numbers, evaluated for a batch of columns at once.

    Attributes
    ----------
    name : str
        How users call it.
    degree : float
        Homogeneity: multiplying all numbers by c multiplies the value by c ** degree; 0 for a divergence
        that does not depend on scale. A feature's share ``b_j g_j / (b . g)`` exists for degrees above 0
        only, since ``b . g`` is the degree times the value.

    Values are not negative, do not change under a common shift of all numbers, and are the same from
    `value` and `value_and_slope`.

    Examples
    --------
    >>> import numpy as np
    >>> from princdiff.data.labels import Labels
    >>> from princdiff.divergences import Divergence, Energy
    >>> energy: Divergence = Energy()
    >>> energy.value(np.array([[0.0, 1.0, 2.0, 3.0]]), Labels([[0, 1, 0, 1]], 2))
    array([1.])
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
    """A divergence that is a minimum of smooth functions, one for each order of the rows.

    Examples
    --------
    >>> from princdiff.divergences import Energy, PlannedDivergence, Wasserstein2
    >>> isinstance(Wasserstein2(), PlannedDivergence), isinstance(Energy(), PlannedDivergence)
    (True, False)
    """

    def along_plan(
        self, projections: NDArray, labels: Labels, order: NDArray[np.intp], workspace: Workspace
    ) -> tuple[NDArray[np.float64], NDArray]:
        """Value and slope of the function that belongs to an order; an upper bound on the divergence."""
        ...


@runtime_checkable
class SurrogateDivergence(Divergence, Protocol):
    """A divergence whose values are those of a smooth stand-in; the exact ones are reported.

    Examples
    --------
    >>> from princdiff.divergences import Energy, KolmogorovSmirnov, SurrogateDivergence
    >>> isinstance(KolmogorovSmirnov(), SurrogateDivergence), isinstance(Energy(), SurrogateDivergence)
    (True, False)
    """

    def report(self, projections: NDArray, labels: Labels) -> NDArray[np.float64]:
        """Exact value of each column, shape (n_columns,); not for comparison with `value`."""
        ...


def report(divergence: Divergence, projections: NDArray, labels: Labels) -> NDArray[np.float64]:
    """Value of each column as it is reported: exact, also where the search ascends a stand-in.

    Parameters
    ----------
    divergence : Divergence
        Any divergence.
    projections : array of shape (n_columns, n_rows)
        Projected rows.
    labels : Labels
        Labels of the columns.

    Returns
    -------
    array of shape (n_columns,)

    Examples
    --------
    >>> import numpy as np
    >>> from princdiff.data.labels import Labels
    >>> from princdiff.divergences import KolmogorovSmirnov, Wasserstein2, report
    >>> rows, labels = np.array([[0.0, 1.0, 2.0, 3.0]]), Labels([[0, 1, 0, 1]], 2)
    >>> report(Wasserstein2(), rows, labels), report(KolmogorovSmirnov(), rows, labels)
    (array([1.]), array([0.5]))
    """
    if isinstance(divergence, SurrogateDivergence):
        return divergence.report(projections, labels)
    return divergence.value(projections, labels)
