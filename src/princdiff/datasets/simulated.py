"""The simulated pairs of supplement S1, where the truth is known."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from numpy.typing import NDArray

Seed = int | np.random.SeedSequence | np.random.Generator | np.random.RandomState | None
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Supplement S1, the distributions of Fig. 1a.
_PAIR_COVARIANCE_FIRST = np.array([[1.0, 0.2, 0.4], [0.2, 1.0, 0.0], [0.4, 0.0, 1.0]])
_PAIR_COVARIANCE_SECOND = np.array([[1.0, -0.9, 0.0], [-0.9, 1.0, 0.0], [0.0, 0.0, 1.0]])

_BLOCK = 3


def make_gaussian_pair(n_samples: int = 1000, *, random_state: Seed = None) -> tuple[FloatArray, IntArray]:
    """Draw the two 3-dimensional Gaussians of the paper's first figure (1a).

    Both have mean zero and unit variances; only the correlations differ, so no single feature
    separates the groups. The divergence over directions has a poor local optimum into which a
    search from one random start often falls.

    Parameters
    ----------
    n_samples : int, default=1000
        Rows in each group.
    random_state : int, Generator, RandomState, SeedSequence or None, default=None
        Source of randomness; the same int gives the same data.

    Returns
    -------
    X : ndarray of shape (2 * n_samples, 3)
        Pooled rows, the first group first.
    y : ndarray of shape (2 * n_samples,)
        0 for the first group (the paper's X), 1 for the second (Y).

    Examples
    --------
    >>> import numpy as np
    >>> from princdiff.datasets import make_gaussian_pair
    >>> X, y = make_gaussian_pair(500, random_state=0)
    >>> X.shape
    (1000, 3)
    >>> [bool(abs(np.corrcoef(X[y == g, 0], X[y == g, 1])[0, 1]) > 0.8) for g in (0, 1)]
    [False, True]
    """
    n_samples = _check_count(n_samples, "n_samples")
    seeds = _seed_sequence(random_state).spawn(2)
    covariances = (_PAIR_COVARIANCE_FIRST, _PAIR_COVARIANCE_SECOND)
    groups = [
        np.random.default_rng(seed).standard_normal((n_samples, 3)) @ np.linalg.cholesky(cov).T
        for seed, cov in zip(seeds, covariances, strict=True)
    ]
    return np.concatenate(groups), _group_labels(n_samples, n_samples)


def make_block_gaussians(
    n_features: int = 60,
    n_samples: int = 100,
    *,
    n_samples_second: int | None = None,
    null: bool = False,
    random_state: Seed = None,
) -> tuple[FloatArray, IntArray]:
    """Draw the block-Gaussian pairs of the paper's first figure (1c).

    The features come in independent blocks of three with mean zero. The covariance of a block is
    drawn from the Wishart distribution with identity scale and 3 degrees of freedom, and is the
    same in both groups, except in the first block, where each group has its own: all differences
    lie in the first three features.

    Parameters
    ----------
    n_features : int, default=60
        Number of features, a multiple of 3.
    n_samples : int, default=100
        Rows in the first group.
    n_samples_second : int or None, default=None
        Rows in the second group; None means as many as in the first.
    null : bool, default=False
        Share the covariance of the first block too, so that the groups do not differ. The first
        group stays the same.
    random_state : int, Generator, RandomState, SeedSequence or None, default=None
        Source of randomness. For the same int, more features means more columns appended: the
        smaller data set is the first columns of the larger, as in the paper's experiment.

    Returns
    -------
    X : ndarray of shape (n_samples + n_samples_second, n_features)
        Pooled rows, the first group first.
    y : ndarray of shape (n_samples + n_samples_second,)
        0 for the first group, 1 for the second.

    Examples
    --------
    >>> import numpy as np
    >>> from princdiff.datasets import make_block_gaussians
    >>> X, y = make_block_gaussians(6, 50, n_samples_second=80, random_state=0)
    >>> X.shape
    (130, 6)
    >>> wider, _ = make_block_gaussians(60, 50, n_samples_second=80, random_state=0)
    >>> bool(np.array_equal(X, wider[:, :6]))
    True
    """
    n_features = _check_count(n_features, "n_features")
    if n_features % _BLOCK:
        raise ValueError(f"n_features must be a multiple of {_BLOCK}, got {n_features}")
    n_first = _check_count(n_samples, "n_samples")
    n_second = n_first if n_samples_second is None else _check_count(n_samples_second, "n_samples_second")
    seeds = _seed_sequence(random_state).spawn(n_features // _BLOCK)
    blocks = [
        _draw_block(seed, n_first, n_second, shared=null or number > 0) for number, seed in enumerate(seeds)
    ]
    return np.concatenate(blocks, axis=1), _group_labels(n_first, n_second)


def _draw_block(seed: np.random.SeedSequence, n_first: int, n_second: int, *, shared: bool) -> FloatArray:
    """Rows of both groups for one block of features, shape (n_first + n_second, 3).

    Each quantity has its own stream, so that changing a sample size, or `shared`, changes
    nothing else.
    """
    factor_first, factor_second, rows_first, rows_second = (
        np.random.default_rng(child) for child in seed.spawn(4)
    )
    # A standard normal matrix A with 3 columns makes A A' a Wishart(I, 3) covariance, and
    # A times a standard normal vector has that covariance.
    first = factor_first.standard_normal((_BLOCK, _BLOCK))
    second = first if shared else factor_second.standard_normal((_BLOCK, _BLOCK))
    return np.concatenate(
        [
            rows_first.standard_normal((n_first, _BLOCK)) @ first.T,
            rows_second.standard_normal((n_second, _BLOCK)) @ second.T,
        ]
    )


def _group_labels(n_first: int, n_second: int) -> IntArray:
    return np.repeat(np.arange(2, dtype=np.int64), [n_first, n_second])


def _check_count(value: object, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    if value < 1:
        raise ValueError(f"{name} must be at least 1, got {value}")
    return int(value)


def _seed_sequence(random_state: Seed) -> np.random.SeedSequence:
    if isinstance(random_state, np.random.SeedSequence):
        # Spawning counts up inside the sequence: a copy gives the same data at every call.
        return np.random.SeedSequence(
            random_state.entropy, spawn_key=random_state.spawn_key, pool_size=random_state.pool_size
        )
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(random_state.integers(2**32, size=4).tolist())
    if isinstance(random_state, np.random.RandomState):
        words = random_state.randint(2**32, size=4, dtype=np.uint32)
        return np.random.SeedSequence(words.tolist())
    return np.random.SeedSequence(random_state)
