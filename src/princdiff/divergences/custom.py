"""A user's own function of two samples as a divergence.

The function sees one pair of samples at a time, so it is called in a loop: slow beside the divergences of
the package, and as general as can be. Where it gives no slope, slopes come from finite differences along
the projected axis: rows that lie together move together, by smooth bumps, so that the number of calls does
not grow with the number of rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from princdiff.data.labels import Labels
from princdiff.divergences.sorting import Workspace
from princdiff.divergences.standardise import group_pairs, standardise

_BUMPS = 16
_STEP = 1e-4
_PROBE_ROWS = 40


class CustomDivergence:
    """A divergence from a function of two one-dimensional samples.

    Parameters
    ----------
    function : callable
        ``function(x, y)`` with float64 arrays of shapes (n,) and (m,); returns the divergence, or a tuple
        of the divergence and its derivatives by ``x`` and by ``y``. It must not be negative and must not
        change when all numbers are shifted alike (rows are centred before they are projected).
    name : str, optional
        How to call it. Default: the function's name.
    standardise : bool, default=False
        Whether to divide by the standard deviation of all projected rows first. A function that is not
        homogeneous (doubling all numbers does not multiply it by a fixed power of two) needs this.
    step : float, optional
        Step of the finite differences, in standard deviations. Default: 1e-4, after a check that the
        function is smooth on this scale. One that depends on ranks or bins is not; 0.1 smooths over.

    Attributes
    ----------
    name : str
    degree : float
        Measured on a pair of samples; 0 with ``standardise``.

    Examples
    --------
    >>> import numpy as np
    >>> from princdiff.data.labels import Labels
    >>> from princdiff.divergences import CustomDivergence
    >>> def medians(x, y):
    ...     return abs(np.median(x) - np.median(y))
    >>> divergence = CustomDivergence(medians)
    >>> divergence.name, divergence.degree
    ('medians', 1.0)
    >>> divergence.value(np.array([[0.0, 1.0, 2.0, 5.0, 6.0, 7.0]]), Labels([[0, 0, 0, 1, 1, 1]], 2))
    array([5.])
    """

    def __init__(
        self,
        function: Callable[[NDArray[np.float64], NDArray[np.float64]], Any],
        *,
        name: str | None = None,
        standardise: bool = False,
        step: float | None = None,
    ) -> None:
        if not callable(function):
            raise TypeError(f"a divergence must be a function of two arrays: got {function!r}")
        if step is not None and not (np.isfinite(step) and step > 0):
            raise ValueError(f"step must be a positive number, in standard deviations: got {step!r}")
        self.function = function
        self.name = name or str(getattr(function, "__name__", type(function).__name__))
        self.standardise = standardise
        self.step = step
        x, y = _probe()
        try:
            first = function(x.copy(), y.copy())
        except Exception as error:
            raise ValueError(
                f"divergence {self.name!r} must be a function of two arrays of numbers; tried with samples "
                f"of {len(x)} and {len(y)} it raised {type(error).__name__}: {error}"
            ) from error
        self.has_slope = isinstance(first, tuple)
        self.degree = 0.0 if standardise else self._measured_degree(x, y)
        if not self.has_slope and step is None:
            self._refuse_rough(x, y)

    def __repr__(self) -> str:
        return f"CustomDivergence({self.name})"

    def value(self, projections: NDArray, labels: Labels) -> NDArray[np.float64]:
        """Values only, shape (n_columns,)."""
        return self._evaluate(projections, labels, slopes=None)

    def value_and_slope(
        self, projections: NDArray, labels: Labels, workspace: Workspace
    ) -> tuple[NDArray[np.float64], NDArray]:
        """Values, shape (n_columns,), and slopes, shape (n_columns, n_rows)."""
        slopes = np.zeros(projections.shape)
        values = self._evaluate(projections, labels, slopes)
        return values, slopes.astype(projections.dtype, copy=False)

    def _evaluate(
        self, projections: NDArray, labels: Labels, slopes: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        """Average over pairs, one call of the function each; slopes are filled in where wanted."""
        if labels.weights is not None:
            raise ValueError(
                f"divergence {self.name!r} is a function of two samples and knows no row weights; "
                "fit without sample_weight, or repeat the rows"
            )
        exact = projections.astype(np.float64)
        standardised = standardise(exact, labels, Workspace())
        points = standardised.values if self.standardise else exact
        rows = [labels.group_rows(group) for group in range(labels.n_groups)]
        values = np.zeros(len(points))
        # Where nothing varies the samples are equal, and many a function would divide by zero.
        for column in np.flatnonzero(standardised.scale[:, 0]):
            for g, h, weight in group_pairs(labels):
                share = weight[column % len(weight)]
                mine, other = (part[column % len(part)] for part in (rows[g], rows[h]))
                x, y = points[column, mine], points[column, other]
                values[column] += share * self._value(x, y)
                if slopes is not None:
                    by_x, by_y = self._slopes(x, y)
                    slopes[column, mine] += share * by_x
                    slopes[column, other] += share * by_y
        if slopes is not None and self.standardise:
            standardised.pull_back(slopes)
        return values

    def _value(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
        result = self.function(x.copy(), y.copy())
        value = np.asarray(result[0] if self.has_slope else result)
        where = f"divergence {self.name!r} for samples of {len(x)} and {len(y)} rows"
        if value.shape != () or value.dtype.kind not in "fiub":
            shape = f"an array of shape {value.shape}" if value.shape else repr(value.item())
            raise ValueError(f"{where} must be one number: the function returned {shape}")
        if not np.isfinite(value):
            raise ValueError(f"{where} must be finite: the function returned {float(value)}")
        if value < -1e-9:
            raise ValueError(
                f"{where} must not be negative: the function returned {float(value):g}; "
                "return max(value, 0.0) if that is what a negative value means"
            )
        return max(float(value), 0.0)

    def _slopes(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[NDArray, NDArray]:
        if not self.has_slope:
            step = (self.step or _STEP) * float(np.concatenate([x, y]).std())
            return (
                _by_bumps(lambda moved: self._value(moved, y), x, step),
                _by_bumps(lambda moved: self._value(x, moved), y, step),
            )
        result = self.function(x.copy(), y.copy())
        if len(result) != 3:
            raise ValueError(
                f"divergence {self.name!r} must return a number or (value, slope by x, slope by y): "
                f"the function returned {len(result)} things"
            )
        by_x, by_y = (np.asarray(part, dtype=np.float64) for part in result[1:])
        for part, sample, which in ((by_x, x, "first"), (by_y, y, "second")):
            if part.shape != sample.shape:
                raise ValueError(
                    f"divergence {self.name!r}: the slope by the {which} sample has shape {part.shape}, "
                    f"but the sample has shape {sample.shape}"
                )
            if not np.isfinite(part).all():
                raise ValueError(f"divergence {self.name!r}: the slope by the {which} sample is not finite")
        return by_x, by_y

    def _measured_degree(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
        """Power of the scale that the function grows with, from a pair of samples."""
        value = self._value(x, y)
        shifted = self._value(x + 1.0, y + 1.0)
        if not np.isclose(shifted, value, rtol=1e-6, atol=1e-12):
            raise ValueError(
                f"divergence {self.name!r} changes from {value:g} to {shifted:g} when all numbers are raised "
                "by 1; rows are centred before they are projected, so only differences between the samples "
                "may count (or give standardise=True)"
            )
        scaled = [self._value(factor * x, factor * y) for factor in (2.0, 4.0)]
        if not (value > 0 and min(scaled) > 0):
            raise ValueError(
                f"divergence {self.name!r} is 0 between two samples that differ in mean and spread; "
                "give standardise=True if it depends on the scale"
            )
        degrees = np.log2([scaled[0] / value, scaled[1] / scaled[0]])
        if abs(degrees[0] - degrees[1]) > 1e-4:
            raise ValueError(
                f"divergence {self.name!r} is not homogeneous: doubling all numbers multiplies it by "
                f"{scaled[0] / value:g}, doubling again by {scaled[1] / scaled[0]:g}; give standardise=True"
            )
        return float(np.round(degrees[0], 4)) + 0.0

    def _refuse_rough(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> None:
        """Differences over a step and over a tenth of it must agree, or there is no slope to speak of."""
        coarse, fine = (
            np.concatenate(
                [
                    _by_bumps(lambda moved: self._value(moved, y), x, step),
                    _by_bumps(lambda moved: self._value(x, moved), y, step),
                ]
            )
            for step in (_STEP, 0.1 * _STEP)
        )
        size = np.abs(coarse).max()
        if size == 0 or np.abs(coarse - fine).max() > 0.2 * size:
            raise ValueError(
                f"divergence {self.name!r} has no slope that finite differences could find: moving rows a "
                "little changes it not at all or in jumps, as for ranks and bins; let the function return "
                "(value, slope by x, slope by y), or give step=0.1 to smooth over a tenth of a standard "
                "deviation"
            )


def _probe() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Two samples that differ in mean and spread."""
    rng = np.random.default_rng(0)
    return rng.normal(size=_PROBE_ROWS), 2.0 * rng.normal(size=_PROBE_ROWS) + 1.5


def _by_bumps(
    function: Callable[[NDArray[np.float64]], float], sample: NDArray[np.float64], step: float
) -> NDArray[np.float64]:
    """Derivative of a function by the members of a sample, smooth along the axis.

    Members move by triangular bumps between quantiles, one bump at a time; the slope that explains these
    differences is a piecewise linear function of position. With no more distinct values than bumps it is
    exact.
    """
    distinct = np.unique(sample)
    if len(distinct) > _BUMPS:
        distinct = np.unique(np.quantile(sample, np.linspace(0.0, 1.0, _BUMPS)))
    bumps = np.stack([np.interp(sample, distinct, unit) for unit in np.eye(len(distinct))])
    changes = [function(sample + step * bump) - function(sample - step * bump) for bump in bumps]
    heights = np.linalg.lstsq(bumps @ bumps.T, np.array(changes) / (2.0 * step), rcond=1e-10)[0]
    return heights @ bumps
