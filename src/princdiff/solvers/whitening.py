"""The whitened metric: divergence relative to the variance of all rows along the direction.

For all features the rows are put into whitened coordinates; for few features the divergence is divided by
the variance of the projection, so that only their own block of the covariance plays a part.
"""

from __future__ import annotations

import numpy as np

from princdiff.data.labels import Labels
from princdiff.data.samples import Samples
from princdiff.divergences import Divergence
from princdiff.divergences.relative import relative
from princdiff.solvers.effort import SearchSettings
from princdiff.solvers.solve import Solution, evaluate, solve
from princdiff.solvers.sparsity import normalised, oriented

# A features x features matrix is made up to here.
LARGEST_WHITENED = 1000


def shrinkage(level: int, n_rows: int) -> float:
    """Share of the identity in a covariance block: small blocks need little, large ones a tenth.

    Examples
    --------
    >>> shrinkage(2, 200), shrinkage(60, 200)
    (0.03, 0.1)
    """
    return min(0.1, 0.02 + level / n_rows)


def whitening_share(level: int, n_rows: int) -> float:
    """Share of the identity in a covariance of this many features: little where rows are many.

    Directions of tiny variance are where the sharpest contrasts are (the shape of an animal, not its size),
    and a few features need no help against chance.

    Examples
    --------
    >>> [round(whitening_share(level, 200), 4) for level in (3, 10, 60)]
    [0.0021, 0.0135, 0.1]
    """
    return min(0.1, 1e-3 + 5 * (level / n_rows) ** 2)


def relative_divergence(samples: Samples, divergence: Divergence, level: int) -> Divergence:
    """The divergence relative to the variance along the direction, shrunk as a level needs."""
    varying = samples.varying
    spread = samples.deviation * samples.factor / samples.unit
    typical = float(np.mean(spread[varying] ** 2)) if varying.any() else 1.0
    return relative(divergence, shrinkage(level, samples.n_rows), typical)


def refuse_to_whiten(n_features: int) -> None:
    """Say that this many features cannot be whitened together, if that is so."""
    if n_features > LARGEST_WHITENED:
        raise ValueError(
            f'metric="whitened" for all of {n_features} features would need a {n_features} x {n_features} '
            f"matrix; ask for fewer features (at most {LARGEST_WHITENED} can be whitened together)"
        )


def solve_whitened(
    samples: Samples,
    labels: Labels,
    divergence: Divergence,
    settings: SearchSettings,
    rng: np.random.Generator,
) -> Solution:
    """Best direction in the whitened metric; parameters as in `solve`."""
    level = settings.level
    if level < samples.n_features:
        compared = relative_divergence(samples, divergence, level)
        found = solve(samples, labels, compared, settings, rng=rng)
    else:
        refuse_to_whiten(level)
        whitened = samples.whitened(shrinkage(level, samples.n_rows))
        found = solve(whitened, labels, divergence, settings, rng=rng)
        assert whitened.mixing is not None
        direction = oriented(normalised(found.direction[None] @ whitened.mixing)[0])
        found = found._replace(direction=direction, value=found.value / samples.unit**divergence.degree)
    # A relative divergence does not grow with the direction: shares are those of the plain one.
    gradient = evaluate(samples.astype(np.float64), labels, divergence, found.direction)[1]
    return found._replace(gradient=gradient)
