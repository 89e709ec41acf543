"""Further directions: each as different as possible, and orthogonal to those before it.

All features: the rows lose what they have along the earlier directions, and the search goes on. Few
features: orthogonal directions may share features, as long as their weights cancel; or supports are kept
disjoint, which makes them orthogonal as well and easier to read.

Where the length of a direction does not count (scale-free divergences, the whitened metric), orthogonal
weights would not do: with collinear features another direction can have the very same projections. There
the projections are uncorrelated over all rows instead, which is orthogonality to S b rather than to b.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from princdiff.data.labels import Labels
from princdiff.data.samples import Samples, orthonormal_basis
from princdiff.divergences import Divergence
from princdiff.solvers.solve import Solution, evaluate
from princdiff.solvers.sparsity import normalised, oriented
from princdiff.solvers.whitening import LARGEST_WHITENED

Search = Callable[[Samples, int], Solution]


@dataclass(frozen=True)
class Apart:
    """How a further direction differs from the earlier ones.

    Attributes
    ----------
    disjoint : bool
        It uses none of their features.
    uncorrelated : bool
        Its projections are uncorrelated with theirs over all rows, instead of weights orthogonal.
    """

    disjoint: bool
    uncorrelated: bool = False


def constraints(
    samples: Samples, labels: Labels, earlier: NDArray[np.float64], apart: Apart
) -> NDArray[np.float64]:
    """What a further direction is orthogonal to, shape (n_constraints, n_features): b, or S b.

    In the latter case also to directions along which no row differs: where length does not count, their
    rounding errors would be as good as any projection.
    """
    if not apart.uncorrelated:
        return earlier
    exact = samples.astype(np.float64)
    weights = np.ones(samples.n_rows) if labels.weights is None else labels.weights
    operator = exact.for_labels(labels.repeat(len(earlier)))
    along = operator.backproject(operator.project(earlier) * (weights / weights.sum()))
    if samples.n_features > LARGEST_WHITENED:
        return along
    sizes, vectors = np.linalg.eigh(exact.covariance())
    empty = vectors.T[sizes <= 1e-10 * sizes[-1]]
    # Each of its own length, so that none is taken for a rounding error of another.
    return np.concatenate([normalised(along), empty])


def remainder(
    samples: Samples, earlier: NDArray[np.float64], disjoint: bool, taken_out: NDArray[np.float64]
) -> Samples:
    """What is left to differ after some directions, shape (n_earlier, n_features).

    Without the features they use, or without what rows have along ``taken_out``, see `constraints`.
    """
    return samples.without((earlier != 0).any(axis=0)) if disjoint else samples.deflated(taken_out)


def is_spread(samples: Samples, labels: Labels, direction: NDArray[np.float64]) -> bool:
    """Whether rows differ along a direction at all, by more than rounding."""
    projection = samples.astype(np.float64).for_labels(labels).project(direction[None])[0]
    largest = float((samples.deviation * samples.factor).max(initial=0.0)) / samples.unit
    return float(projection.std()) > 1e-6 * largest


def next_direction(
    samples: Samples,
    labels: Labels,
    divergence: Divergence,
    earlier: NDArray[np.float64],
    level: int,
    search: Search,
    apart: Apart,
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
        Finds the best direction of given samples with this many features.
    apart : Apart
        How it has to differ from the earlier ones.

    Returns
    -------
    Solution
        All zero where nothing is left.
    """
    taken_out = constraints(samples, labels, earlier, apart)
    if not apart.disjoint and len(orthonormal_basis(taken_out)) >= samples.n_features:
        return Solution.nothing(samples.n_features)
    found = search(remainder(samples, earlier, apart.disjoint, taken_out), level)
    if apart.disjoint:
        return found
    if level >= samples.n_features:
        found = _within(found, taken_out)
    else:
        # The search above saw features less their part in the earlier directions: its support is a good
        # one, its weights are not yet orthogonal. Features never used before are a candidate as well, and
        # so are those of every earlier direction, of which other weights may be left.
        unused = search(remainder(samples, earlier, True, taken_out), level).direction
        supports = np.unique(np.array([found.direction, unused, *earlier]) != 0, axis=0)
        found = max(
            (_on_support(samples, taken_out, support, search) for support in supports),
            key=lambda solution: solution.value,
        )
    gradient = evaluate(samples.astype(np.float64), labels, divergence, found.direction)[1]
    return found._replace(gradient=gradient * samples.unit**divergence.degree)


def _on_support(
    samples: Samples, earlier: NDArray[np.float64], support: NDArray[np.bool_], search: Search
) -> Solution:
    """Best direction on some features that is orthogonal to the earlier ones."""
    features = np.flatnonzero(support)
    if len(features) == 0:
        return Solution.nothing(samples.n_features)
    few = earlier[:, features]
    if len(orthonormal_basis(few)) >= len(features):
        return Solution.nothing(samples.n_features)
    found = _within(search(samples.restrict(features).deflated(few), len(features)), few)
    direction, gradient = (_spread(part, features, samples) for part in (found.direction, found.gradient))
    return found._replace(direction=direction, gradient=gradient)


def _within(found: Solution, earlier: NDArray[np.float64]) -> Solution:
    """The same solution without its part along the earlier directions, which changed nothing."""
    basis = orthonormal_basis(earlier)
    direction = found.direction
    # Twice: of a direction that lay mostly along the earlier ones little is left but rounding errors.
    for _ in range(2):
        direction = normalised((direction - (direction @ basis.T) @ basis)[None])[0]
    return found._replace(direction=oriented(direction))


def _spread(values: NDArray, features: NDArray[np.intp], samples: Samples) -> NDArray[np.float64]:
    result = np.zeros(samples.n_features)
    result[features] = values
    return result
