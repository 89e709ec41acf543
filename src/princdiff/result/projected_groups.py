"""What a result keeps of the groups along its directions: their quantiles, and how far apart they are."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from princdiff.data.labels import Labels
from princdiff.data.moments import inverse_or_zero
from princdiff.divergences import Divergence, report
from princdiff.result.clearest_change import weighted_quantiles
from princdiff.result.parts import GroupReference, ReferencePart
from princdiff.statistics.directions import SparseDirections
from princdiff.tables import Prepared

REFERENCE_LEVELS = (np.arange(500) + 0.5) / 500


def projected(prepared: Prepared, fit: SparseDirections) -> NDArray[np.float64]:
    """Rows on the directions, each group scaled as it is for new rows, (n_components, n_rows)."""
    factors, offsets = scaling(fit, prepared.groups)
    result = np.empty((len(fit.components_), len(prepared.codes)))
    for code, name in enumerate(prepared.groups):
        members = prepared.codes == code
        weights = (fit.components_ * factors[name]).T
        projections = np.asarray(prepared.rows[members] @ weights, dtype=np.float64)
        result[:, members] = (projections - offsets[name] @ weights).T
    return result


def scaling(fit: SparseDirections, groups: Sequence[str]) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
    """How rows are scaled before they are compared with each group."""
    width = len(fit.support_)
    if fit.scale == "within":
        factors = {name: inverse_or_zero(fit.group_deviations_[code]) for code, name in enumerate(groups)}
        return factors, {name: fit.group_means_[code] for code, name in enumerate(groups)}
    common = inverse_or_zero(fit.scale_) if fit.scale == "pooled" else np.ones(width)
    return dict.fromkeys(groups, common), dict.fromkeys(groups, np.zeros(width))


def reference(
    prepared: Prepared,
    projections: NDArray[np.float64],
    factors: dict[str, NDArray[np.float64]],
    offsets: dict[str, NDArray[np.float64]],
) -> ReferencePart:
    """Quantiles of the projected groups.

    Parameters
    ----------
    prepared : Prepared
        Rows and groups.
    projections : array of shape (n_components, n_rows)
        Rows on the directions.
    factors, offsets : dicts from group to arrays of shape (n_features,)
        How a row is scaled before it is compared with a group.
    """
    components = []
    for projection in projections:
        component = {}
        for code, name in enumerate(prepared.groups):
            members = prepared.codes == code
            inner = None if prepared.weights is None else prepared.weights[members]
            own = projection[members]
            mean = np.average(own, weights=inner)
            component[name] = GroupReference(
                quantiles=_reference_quantiles(own, inner),
                sd=float(np.sqrt(np.average((own - mean) ** 2, weights=inner))),
                rows=len(own),
            )
        components.append(component)
    return ReferencePart(REFERENCE_LEVELS, factors, offsets, components)


def _reference_quantiles(
    values: NDArray[np.float64], weights: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Quantiles at `REFERENCE_LEVELS`; rows without weight do not count.

    Examples
    --------
    >>> plain = _reference_quantiles(np.array([0.0, 1.0, 9.0]), np.array([1.0, 1.0, 0.0]))
    >>> bool(plain.max() <= 1.0)
    True
    """
    if weights is not None:
        values, weights = values[weights > 0], weights[weights > 0]
        if (weights == weights[0]).all():
            # As if there were no weights, to the last digit: a group's own rows are at no distance from it.
            weights = None
    return weighted_quantiles(values, weights, REFERENCE_LEVELS)


def separation(
    projection: NDArray[np.float64], prepared: Prepared, divergence: Divergence
) -> list[list[float]]:
    """Divergence between every two groups along a direction, (n_groups, n_groups)."""
    n_groups = len(prepared.groups)
    matrix = np.zeros((n_groups, n_groups))
    for g, h in combinations(range(n_groups), 2):
        inside = (prepared.codes == g) | (prepared.codes == h)
        weights = None if prepared.weights is None else prepared.weights[inside]
        own = projection[inside]
        # Some divergences have a direction; the reverse is the other entry.
        for first, second in ((g, h), (h, g)):
            labels = Labels((prepared.codes[inside] == second).astype(np.uint8), 2, weights=weights)
            matrix[first, second] = report(divergence, (own - own.mean())[None], labels)[0]
    return matrix.tolist()
