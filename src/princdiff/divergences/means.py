"""Differences of means: the classical directions as special cases.

The squared difference in means is largest along the line between the centroids; in multiples of the
standard deviation within groups it is Fisher's criterion, largest along the direction of linear discriminant
analysis. They see a shift and nothing else; the package uses them to be checked against closed forms, and
because sometimes a shift is what is asked for.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from princdiff.data.labels import Labels
from princdiff.divergences.sorting import Workspace
from princdiff.divergences.standardise import is_constant, pair_mass, row_masses

# Where nothing varies within groups the criterion is infinite: at this share of the variance it is cut.
_LEAST_WITHIN = 1e-9


class _Moments:
    """Means of the groups and variances of each column, in float64."""

    def __init__(self, projections: NDArray, labels: Labels) -> None:
        self._masses = np.broadcast_to(row_masses(labels), projections.shape)
        self._codes = labels.codes if labels.shared else labels.codes[labels.columns]
        self._shares = labels.proportions
        mean = np.einsum("cn,cn->c", self._masses, projections, dtype=np.float64)
        self._centred = projections - mean[:, None]
        weighted = self._masses * self._centred
        self.total = np.einsum("cn,cn->c", weighted, self._centred)
        self.total[is_constant(projections, self.total)] = 0.0
        self.means = [
            np.einsum("cn,cn->c", weighted, self._codes == group) / self._shares[:, group]
            for group in range(labels.n_groups)
        ]
        self.between = sum(self._shares[:, g] * mean**2 for g, mean in enumerate(self.means))

    def slopes(self, by_between: NDArray[np.float64], by_total: NDArray[np.float64]) -> NDArray[np.float64]:
        """Derivative by the projections of a function of the two variances, (n_columns, n_rows)."""
        result = by_total[:, None] * self._centred
        for group, mean in enumerate(self.means):
            result += (self._codes == group) * (by_between * mean)[:, None]
        result *= 2.0 * self._masses
        return result


class MeanDifference:
    """Squared difference of the groups' means.

    Examples
    --------
    >>> import numpy as np
    >>> from princdiff.data.labels import Labels
    >>> from princdiff.divergences import MeanDifference
    >>> labels = Labels([[0, 0, 1, 1]], 2)
    >>> MeanDifference().value(np.array([[0.0, 1.0, 3.0, 2.0]]), labels)
    array([4.])
    """

    name = "mean"
    degree = 2.0

    def value(self, projections: NDArray, labels: Labels) -> NDArray[np.float64]:
        """Values only, shape (n_columns,)."""
        return _Moments(projections, labels).between / pair_mass(labels)

    def value_and_slope(
        self, projections: NDArray, labels: Labels, workspace: Workspace
    ) -> tuple[NDArray[np.float64], NDArray]:
        """Values, shape (n_columns,), and slopes, shape (n_columns, n_rows)."""
        moments = _Moments(projections, labels)
        rate = np.broadcast_to(1.0 / pair_mass(labels), len(projections))
        slopes = moments.slopes(rate, np.zeros(len(projections)))
        return moments.between * rate, slopes.astype(projections.dtype, copy=False)


class StandardisedMeanDifference:
    """Squared difference of the groups' means over the variance within groups (squared Cohen's d).

    The variance within is the average over groups, weighted by their proportions, without a correction for
    degrees of freedom. Where it vanishes, a billionth of the total variance stands in for it.

    Examples
    --------
    >>> import numpy as np
    >>> from princdiff.data.labels import Labels
    >>> from princdiff.divergences import StandardisedMeanDifference
    >>> labels = Labels([[0, 0, 1, 1]], 2)
    >>> StandardisedMeanDifference().value(np.array([[0.0, 1.0, 3.0, 2.0]]), labels)
    array([16.])
    """

    name = "standardised_mean"
    degree = 0.0

    def value(self, projections: NDArray, labels: Labels) -> NDArray[np.float64]:
        """Values only, shape (n_columns,)."""
        return self._ratio(_Moments(projections, labels), labels)[0]

    def value_and_slope(
        self, projections: NDArray, labels: Labels, workspace: Workspace
    ) -> tuple[NDArray[np.float64], NDArray]:
        """Values, shape (n_columns,), and slopes, shape (n_columns, n_rows)."""
        moments = _Moments(projections, labels)
        values, by_between, by_total = self._ratio(moments, labels)
        slopes = moments.slopes(by_between, by_total)
        return values, slopes.astype(projections.dtype, copy=False)

    def _ratio(
        self, moments: _Moments, labels: Labels
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Value, and its derivatives by the variance between groups and by the total one."""
        mass = pair_mass(labels)
        floor = _LEAST_WITHIN * moments.total
        cut = moments.total - moments.between <= floor
        within = np.where(cut, floor, moments.total - moments.between)
        inverse = np.divide(1.0, within, out=np.zeros_like(within), where=within > 0) / mass
        values = moments.between * inverse
        steepness = np.divide(values, within, out=np.zeros_like(within), where=within > 0)
        return (
            values,
            inverse + np.where(cut, 0.0, steepness),
            -steepness * np.where(cut, _LEAST_WITHIN, 1.0),
        )
