"""The whitened metric: divergence relative to the variance of all rows along the direction.

For all features the rows are put into whitened coordinates; for few features the divergence is divided by
the variance of the projection, so that only their own block of the covariance plays a part.
"""

from __future__ import annotations

import numpy as np

from princdiff.divergences import Divergence, Wasserstein2
from princdiff.divergences.relative import Relative
from princdiff.labels import Labels
from princdiff.samples import Samples
from princdiff.solvers.solve import Solution, evaluate, solve
from princdiff.sparsity import normalised, oriented

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


def relative_divergence(samples: Samples, divergence: Divergence, level: int) -> Relative:
    """The divergence relative to the variance along the direction, shrunk as a level needs."""
    varying = samples.varying
    spread = samples.deviation * samples.factor / samples.unit
    typical = float(np.mean(spread[varying] ** 2)) if varying.any() else 1.0
    return Relative(divergence, shrinkage(level, samples.n_rows), typical)  # type: ignore[arg-type]


def solve_whitened(samples: Samples, labels: Labels, *, level: int, **options: object) -> Solution:
    """Best direction of at most ``level`` features in the whitened metric; options as in `solve`."""
    if level < samples.n_features:
        relative = relative_divergence(samples, Wasserstein2(), level)
        found = solve(samples, labels, relative, level=level, **options)  # type: ignore[arg-type]
    else:
        if level > LARGEST_WHITENED:
            raise ValueError(
                f'metric="whitened" for all of {level} features would need a {level} x {level} matrix; '
                f"use SPARDA with fewer features (at most {LARGEST_WHITENED} can be whitened together)"
            )
        whitened = samples.whitened(shrinkage(level, samples.n_rows))
        found = solve(whitened, labels, Wasserstein2(), level=level, **options)  # type: ignore[arg-type]
        assert whitened.mixing is not None
        direction = oriented(normalised(found.direction[None] @ whitened.mixing)[0])
        found = found._replace(direction=direction, value=found.value / samples.unit**2)
    # A relative divergence does not grow with the direction: shares are those of the plain one.
    gradient = evaluate(samples.astype(np.float64), labels, Wasserstein2(), found.direction)[1]
    return found._replace(gradient=gradient)
