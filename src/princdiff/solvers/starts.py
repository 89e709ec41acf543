"""Where to begin: what makes a non-convex search reliable.

No single family of starts is best on all kinds of difference, so several are pooled: means for shifts,
eigenvectors of the covariance difference for spread and dependence, single features and small subsets for
sparse differences, random directions for the rest. Everything is computed with the two products of the
operator, for all labellings of a batch at once; no features x features matrix is formed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from princdiff.data.labels import Labels
from princdiff.data.samples import Samples
from princdiff.divergences import Divergence
from princdiff.parallel import in_threads
from princdiff.solvers.sparsity import normalised

_BLOCK_ELEMENTS = 1 << 20


def marginal_divergences(
    samples: Samples, labels: Labels, divergence: Divergence, n_jobs: int | None = None
) -> NDArray[np.float64]:
    """Divergence of every single feature under every column's labels, shape (n_columns, n_features)."""
    # Out of core a pass costs the same for many features as for one.
    step = samples.columns_per_pass or max(1, _BLOCK_ELEMENTS // samples.n_rows)
    n_jobs = n_jobs if samples.columns_per_pass is None else 1
    blocks = [
        np.arange(start, min(start + step, samples.n_features))
        for start in range(0, samples.n_features, step)
    ]
    operators = [samples.for_labels(labels.take(np.array([column]))) for column in range(labels.n_columns)]

    def run(features: NDArray[np.intp]) -> NDArray[np.float64]:
        # Without label-dependent scaling all columns see the same values.
        plain = samples.feature_columns(features) if operators[0] is samples else None
        result = np.empty((labels.n_columns, len(features)))
        for column, operator in enumerate(operators):
            values = operator.feature_columns(features) if plain is None else plain
            own = labels.labelling(int(labels.columns[column])).repeat(len(features))
            result[column] = divergence.value(values, own)
        return result

    result = np.concatenate(in_threads(run, blocks, n_jobs), axis=1)
    result[:, ~samples.varying] = 0.0
    return result


def contrasts(labels: Labels) -> NDArray[np.float64]:
    """Row weights that subtract one group's average from the others', (n_contrasts, n_columns, n_rows).

    Two groups have one contrast, more groups one each (group against the rest).
    """
    weights = np.ones(labels.n_rows) if labels.weights is None else labels.weights
    codes = labels.codes[labels.columns]
    inside = codes < labels.n_groups
    groups = [0] if labels.n_groups == 2 else range(labels.n_groups)
    result = []
    for group in groups:
        own, rest = (codes == group) * weights, (inside & (codes != group)) * weights
        result.append(own / own.sum(axis=1, keepdims=True) - rest / rest.sum(axis=1, keepdims=True))
    return np.stack(result)


def mean_directions(samples: Samples, labels: Labels) -> NDArray:
    """Differences of means, unit length, shape (n_columns, n_contrasts, n_features)."""
    operator = samples.for_labels(labels)
    means = [operator.backproject(weights.astype(samples.dtype)) for weights in contrasts(labels)]
    return np.stack([normalised(mean) for mean in means], axis=1)


def spread_directions(
    samples: Samples,
    labels: Labels,
    count: int,
    rng: np.random.Generator,
    n_iter: int = 8,
    *,
    exact: bool = False,
) -> NDArray:
    """Extreme eigenvectors of the covariance difference, shape (n_columns, n_contrasts * count, n_features).

    Block power iteration, which finds the eigenvalues largest in magnitude, of either sign. Two of equal
    magnitude (features that correlate in opposite ways) have any basis of their plane, unless ``exact``
    asks for the eigenvectors themselves.
    """
    n_columns, count = labels.n_columns, min(count, samples.n_features)
    wide = labels.repeat(count)
    operator = samples.for_labels(wide)
    codes = labels.codes[wide.columns]
    result = []
    for weights in contrasts(labels):
        signed = np.repeat(weights, count, axis=0).astype(samples.dtype)
        sides = [signed > 0, (signed < 0) & (codes < labels.n_groups)]
        block = np.tile(rng.standard_normal((count, samples.n_features)), (n_columns, 1))
        block = (block * samples.varying).astype(samples.dtype)
        before = basis = np.zeros((n_columns, count, samples.n_features))
        for _ in range(n_iter):
            projections = operator.project(normalised(block))
            for side in sides:
                mass = np.abs(signed) * side
                mean = np.einsum("cn,cn->c", projections, mass)
                projections -= mean[:, None] * side
            block = operator.backproject(projections * signed)
            images = block.reshape(n_columns, count, -1).astype(np.float64)
            orthogonal, _ = np.linalg.qr(images.transpose(0, 2, 1))
            before, basis = basis, orthogonal.transpose(0, 2, 1)
            block = basis.reshape(n_columns * count, -1).astype(samples.dtype)
        if exact:
            # Images of the last basis but one, seen in that basis: the difference restricted to its span.
            small = before @ images.transpose(0, 2, 1)
            vectors = np.linalg.eigh((small + small.transpose(0, 2, 1)) / 2)[1]
            block = (vectors.transpose(0, 2, 1) @ before).reshape(n_columns * count, -1)
            block = normalised(block).astype(samples.dtype)
        result.append(block.reshape(n_columns, count, -1))
    return np.concatenate(result, axis=1)


def dependence_directions(samples: Samples, labels: Labels, level: int, count: int) -> NDArray:
    """Few features whose covariances differ, for one labelling.

    Every feature with those to which its covariance differs most makes a support; the leading eigenvector of
    the difference of covariances on it is a start, and those of the largest eigenvalues are kept: at most
    ``count`` for a contrast, shape (n_starts, n_features). Eigenvectors of all features, cut to the largest
    weights, miss a block among many that differ by chance.
    """
    size = min(level, samples.n_features)
    values = samples.for_labels(labels).feature_columns(np.arange(samples.n_features)).astype(np.float64)
    found = []
    for weights in contrasts(labels)[:, 0]:
        difference = np.zeros((samples.n_features, samples.n_features))
        for side in (np.maximum(weights, 0.0), np.minimum(weights, 0.0)):
            centred = values - (values @ np.abs(side))[:, None]
            difference += (centred * side) @ centred.T
        related = np.abs(difference)
        # Every feature is in its own support, whatever its variance.
        np.fill_diagonal(related, np.inf)
        supports = np.sort(np.argsort(-related, axis=1, kind="stable")[:, :size], axis=1)
        supports = np.unique(supports, axis=0)
        roots, vectors = np.linalg.eigh(difference[supports[:, :, None], supports[:, None, :]])
        leading = np.argmax(np.abs(roots), axis=1)
        places = np.arange(len(supports))
        best = np.argsort(-np.abs(roots[places, leading]), kind="stable")[:count]
        directions = np.zeros((len(best), samples.n_features))
        directions[np.arange(len(best))[:, None], supports[best]] = vectors[best, :, leading[best]]
        found.append(directions)
    return np.concatenate(found)


def random_directions(samples: Samples, count: int, rng: np.random.Generator) -> NDArray:
    """Gaussian directions over the features that vary, shape (count, n_features)."""
    draws = rng.standard_normal((count, samples.n_features)) * samples.varying
    return normalised(draws).astype(samples.dtype)


def single_feature_directions(
    marginals: NDArray[np.float64], count: int, rng: np.random.Generator, noise: float = 0.15
) -> NDArray:
    """Top single features with a little noise, shape (n_columns, count, n_features).

    Never exactly on an axis: on tied data an axis is a kink that no gradient leaves.
    """
    n_columns, n_features = marginals.shape
    count = min(count, n_features)
    top = np.argsort(-marginals, axis=1, kind="stable")[:, :count]
    draws = rng.standard_normal((count, n_features)) * noise / np.sqrt(n_features)
    result = np.where(marginals[:, None, :] > 0, draws[None], 0.0)
    result[np.arange(n_columns)[:, None], np.arange(count), top] += 1.0
    return result


def subset_directions(
    marginals: NDArray[np.float64], level: int, count: int, rng: np.random.Generator
) -> NDArray:
    """Random subsets of the top features, weights +- sqrt(divergence): (n_columns, count, n_features)."""
    n_columns, n_features = marginals.shape
    pool = min(n_features, max(10, 2 * level))
    size = min(level, pool)
    top = np.argsort(-marginals, axis=1, kind="stable")[:, :pool]
    result = np.zeros((n_columns, count, n_features))
    for draw in range(count):
        chosen = top[:, rng.permutation(pool)[:size]]
        signs = rng.choice([-1.0, 1.0], size=size)
        weights = signs * np.sqrt(np.take_along_axis(marginals, chosen, axis=1))
        np.put_along_axis(result[:, draw], chosen, weights, axis=1)
    return result
