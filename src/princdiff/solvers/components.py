"""Further directions: each as different as possible, and orthogonal to those before it.

All features: the rows lose what they have along the earlier directions, and the search goes on. Few
features: orthogonal directions may share features, as long as their weights cancel; or supports are kept
disjoint, which makes them orthogonal as well and easier to read.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from princdiff.divergences import Divergence
from princdiff.labels import Labels
from princdiff.samples import Samples, orthonormal_basis
from princdiff.solvers.solve import Solution, evaluate
from princdiff.sparsity import normalised, oriented

Search = Callable[[Samples, int], Solution]


def remainder(samples: Samples, earlier: NDArray[np.float64], disjoint: bool) -> Samples:
    """What is left to differ after some directions, shape (n_earlier, n_features)."""
    return samples.without((earlier != 0).any(axis=0)) if disjoint else samples.deflated(earlier)


def next_direction(
    samples: Samples,
    labels: Labels,
    divergence: Divergence,
    earlier: NDArray[np.float64],
    level: int,
    search: Search,
    *,
    disjoint: bool,
) -> Solution:
    """Best direction orthogonal to earlier ones.

    Parameters
    ----------
    samples : Samples
        Pooled rows.
    labels : Labels
        One column.
    divergence : Divergence
        For the gradient, of which shares are made.
    earlier : array of shape (n_earlier, n_features)
        Directions found before.
    level : int
        Features that the direction may use.
    search : callable
        Finds the best direction of given samples with so many features.
    disjoint : bool
        Use no feature of the earlier directions.

    Returns
    -------
    Solution
        All zero where nothing is left.
    """
    found = search(remainder(samples, earlier, disjoint), level)
    if disjoint:
        return found
    if level >= samples.n_features:
        found = _within(found, earlier)
    else:
        # The search above saw features less their part in the earlier directions: its support is a good
        # one, its weights are not yet orthogonal. Features never used before are a candidate as well.
        supports = [found.direction != 0, search(remainder(samples, earlier, True), level).direction != 0]
        found = max(
            (_on_support(samples, earlier, support, search) for support in supports),
            key=lambda solution: solution.value,
        )
    gradient = evaluate(samples.astype(np.float64), labels, divergence, found.direction)[1]
    return found._replace(gradient=gradient * samples.unit**divergence.degree)


def _on_support(
    samples: Samples, earlier: NDArray[np.float64], support: NDArray[np.bool_], search: Search
) -> Solution:
    """Best direction on some features that is orthogonal to the earlier ones."""
    features = np.flatnonzero(support)
    nothing = Solution(0.0, np.zeros(samples.n_features), np.zeros(samples.n_features), 0)
    if len(features) == 0:
        return nothing
    few = earlier[:, features]
    if len(orthonormal_basis(few)) >= len(features):
        return nothing
    found = _within(search(samples.restrict(features).deflated(few), len(features)), few)
    direction, gradient = (_spread(part, features, samples) for part in (found.direction, found.gradient))
    return found._replace(direction=direction, gradient=gradient)


def _within(found: Solution, earlier: NDArray[np.float64]) -> Solution:
    """The same solution without its part along the earlier directions, which changed nothing."""
    basis = orthonormal_basis(earlier)
    remaining = found.direction - (found.direction @ basis.T) @ basis
    return found._replace(direction=oriented(normalised(remaining[None])[0]))


def _spread(values: NDArray, features: NDArray[np.intp], samples: Samples) -> NDArray[np.float64]:
    result = np.zeros(samples.n_features)
    result[features] = values
    return result
