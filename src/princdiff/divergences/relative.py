"""A divergence relative to the variance along the direction: b'Sb = 1 instead of b'b = 1.

Under strong correlations the directions of large variance drown the others. Dividing by the variance of
the projection, labels ignored, puts all directions on one footing; on a support of k features only their
k x k block of the covariance plays a part, and nothing needs to be inverted.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from princdiff.data.labels import HELD_OUT, Labels
from princdiff.divergences.protocol import Divergence, PlannedDivergence
from princdiff.divergences.sorting import Workspace
from princdiff.kernels import over_variance


def relative(base: Divergence, shrinkage: float, typical: float = 1.0) -> Divergence:
    """A divergence relative to the variance along the direction; one without a scale as it is.

    Parameters are those of `Relative`.

    Examples
    --------
    >>> from princdiff.divergences import Energy, KolmogorovSmirnov
    >>> relative(Energy(), 0.1).name, relative(KolmogorovSmirnov(), 0.1).name
    ('relative energy', 'kolmogorov_smirnov')
    """
    if base.degree == 0:
        return base
    kind = PlannedRelative if isinstance(base, PlannedDivergence) else Relative
    return kind(base, shrinkage, typical)


class Relative:
    """Another divergence over the (shrunk) variance of all projected rows, to the power of half its degree.

    Parameters
    ----------
    base : Divergence
        What is divided.
    shrinkage : float
        Share of ``typical`` in the denominator, which keeps nearly constant projections harmless.
    typical : float
        Variance of a typical feature, in the units of the projections.

    Examples
    --------
    >>> from princdiff.divergences import Wasserstein2
    >>> labels = Labels([[0, 0, 1, 1]], 2)
    >>> Relative(Wasserstein2(), 0.0, 1.0).value(np.array([[0.0, 1.0, 2.0, 3.0]]), labels)
    array([3.2])
    """

    degree = 0.0

    def __init__(self, base: Divergence, shrinkage: float, typical: float = 1.0) -> None:
        self.base, self.shrinkage, self.typical = base, shrinkage, typical
        self.name = f"relative {base.name}"

    def value(self, projections: NDArray, labels: Labels) -> NDArray[np.float64]:
        """Values, shape (n_columns,)."""
        if over_variance.takes(projections, labels):
            values = self.base.value(projections, labels)
            over_variance.divide(projections, labels, self._kernel_denominator, values)
            return values
        denominator = self._denominator(projections, labels)[0]
        return self.base.value(projections, labels) / denominator ** (self.base.degree / 2)

    def value_and_slope(
        self, projections: NDArray, labels: Labels, workspace: Workspace
    ) -> tuple[NDArray[np.float64], NDArray]:
        """Values and slopes of the quotient."""
        pair = self.base.value_and_slope(projections, labels, workspace)
        return self._quotient(pair, projections, labels)

    def _quotient(
        self, pair: tuple[NDArray[np.float64], NDArray], projections: NDArray, labels: Labels
    ) -> tuple[NDArray[np.float64], NDArray]:
        values, slopes = pair
        if over_variance.takes(projections, labels) and slopes.dtype == np.float32:
            over_variance.divide(projections, labels, self._kernel_denominator, values, slopes)
            return values, slopes
        denominator, centred, mass = self._denominator(projections, labels)
        power = denominator ** (self.base.degree / 2)
        rate = self.base.degree * (1 - self.shrinkage) * values / denominator
        centred *= rate[:, None].astype(slopes.dtype) * mass
        return values / power, (slopes - centred) / power[:, None].astype(slopes.dtype)

    @property
    def _kernel_denominator(self) -> over_variance.Denominator:
        return over_variance.Denominator(self.shrinkage, self.typical, self.base.degree)

    def _denominator(self, projections: NDArray, labels: Labels) -> tuple[NDArray, NDArray, NDArray]:
        """Shrunk variance, shape (n_columns,); centred projections; rows' shares of the total weight."""
        weights = (labels.codes != HELD_OUT) * (1.0 if labels.weights is None else labels.weights)
        share = (weights / weights.sum(axis=1, keepdims=True)).astype(projections.dtype)
        share = np.broadcast_to(share, projections.shape) if labels.shared else share[labels.columns]
        centred = projections - np.einsum("cn,cn->c", projections, share)[:, None]
        variance = np.einsum("cn,cn,cn->c", centred, centred, share).astype(np.float64)
        denominator = (1 - self.shrinkage) * variance + self.shrinkage * self.typical
        return np.maximum(denominator, np.finfo(np.float32).tiny), centred, share


class PlannedRelative(Relative):
    """A relative divergence whose base is a minimum over plans, and which therefore is one too."""

    base: PlannedDivergence

    def along_plan(
        self, projections: NDArray, labels: Labels, order: NDArray[np.intp], workspace: Workspace
    ) -> tuple[NDArray[np.float64], NDArray]:
        """Values and slopes of the quotient for fixed plans."""
        pair = self.base.along_plan(projections, labels, order, workspace)
        return self._quotient(pair, projections, labels)
