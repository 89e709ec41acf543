"""What a result depends on, as a short text that is the same in every process.

A checkpoint must know whether it belongs to the same rows and the same divergence. A user's function has
another address in the next process, and its name says nothing about what it does: so a divergence is known by
what it gives for some numbers.
"""

from __future__ import annotations

import hashlib
from typing import Any

import joblib
import numpy as np
import scipy.sparse as sp

from princdiff.data.labels import Labels
from princdiff.data.row_chunks import RowChunks
from princdiff.divergences import Divergence

# Rows of the smaller and of the larger group of the numbers that are compared.
_PROBED = 60, 140


def identity_of(divergence: Divergence) -> str:
    """A hash of what a divergence gives for numbers of several sizes, with ties and without.

    Examples
    --------
    >>> from princdiff.divergences import CustomDivergence
    >>> first, same, other = (
    ...     identity_of(CustomDivergence(lambda x, y, power=power: abs(x.mean() - y.mean()) ** power))
    ...     for power in (1, 1, 2)
    ... )
    >>> first == same, first == other
    (True, False)
    """
    rng = np.random.default_rng(0)
    size = sum(_PROBED)
    rows = np.stack([rng.normal(size=size), rng.lognormal(size=size), rng.poisson(2.0, size=size)])
    numbers = np.concatenate([rows * unit for unit in (1e-3, 1.0, 1e3)])
    numbers[:, : _PROBED[0]] *= 1.5
    labels = Labels(np.repeat([0, 1], _PROBED).astype(np.uint8), 2).repeat(len(numbers))
    values = divergence.value(numbers - numbers.mean(axis=1, keepdims=True), labels)
    return f"{divergence.name} {joblib.hash(np.asarray(values, dtype=np.float64))}"


def rows_identity(rows: Any) -> str:
    """A hash of every value of a table, in memory or out of core, whatever the size of its blocks.

    Examples
    --------
    >>> rows_identity(np.eye(3)) == rows_identity(np.eye(3)[[0, 2, 1]])
    False
    """
    blocks: Any = rows.blocks() if isinstance(rows, RowChunks) else [(slice(None), rows)]
    digests = [hashlib.sha256() for _ in range(3)]
    for _, block in blocks:
        if sp.issparse(block):
            lengths = np.diff(block.indptr).astype(np.int64)
            streams = [block.data, block.indices.astype(np.int64), lengths]
        else:
            streams = [np.asarray(block)]
        for digest, stream in zip(digests, streams, strict=False):
            digest.update(np.ascontiguousarray(stream).tobytes())
    return " ".join(digest.hexdigest() for digest in digests)
