"""Kernel statistics of many labellings: what no single direction shows.

With c = +1/n in one group and -1/m in the other, the squared maximum mean discrepancy is c'Kc: one matrix
product for all labellings. Kernels at several bandwidths see differences at several distances, from a shift
of everything to the arrangement of near neighbours. Kernel matrices are exact for as many rows as they are
cheap for; of more rows, random Fourier features take their place, on all rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from princdiff.statistics.cell_weights import CellWeights
from princdiff.statistics.contrasts import MANY_ROWS, Contrasts, Relabellings
from princdiff.statistics.protocol import Cell, CellValues, Family
from princdiff.statistics.row_view import RowView
from princdiff.statistics.tested_rows import TestedRows

COVARIANCE = Family("covariance", "the covariances as a whole", 8)
_WIDE = Family("kernel", "many features together", 6)
_LOCAL = Family("kernel", "local structure", 9)
# Rows up to which kernel matrices are made.
MATRIX_ROWS = 1500
# Multiplications that random features may take, over all labellings, and features of a kernel at most.
_FEATURE_WORK = 2 * 10**10
_MOST_FEATURES = 256
_FEWEST_FEATURES = 16
# Rows from which distances are sampled.
_DISTANCE_ROWS = 600


@dataclass(frozen=True)
class RowKernel:
    """A kernel with its bandwidth as a quantile of the distances between rows.

    Attributes
    ----------
    shape : {"gaussian", "laplace", "energy", "products"}
        exp(-t^2 / 2), exp(-t), -t of the distance t in bandwidths; or the squared inner product, which
        compares covariances as a whole.
    quantile : float
        Of the distances between rows.
    """

    shape: str
    quantile: float = 0.5


# Local and wide, with light and heavy tails.
KERNELS = (
    RowKernel("gaussian", 0.005),
    RowKernel("laplace", 0.05),
    RowKernel("gaussian", 0.25),
    RowKernel("energy"),
)


def kernels(rows: TestedRows) -> CellValues:
    """Kernels at several bandwidths."""
    rows = rows.sampled
    return _cells(rows, rows.view, "", KERNELS)


def whitened_kernels(rows: TestedRows) -> CellValues | None:
    """The energy distance relative to the covariance of all rows."""
    rows = rows.sampled
    return None if rows.whitened is None else _cells(rows, rows.whitened, "whitened ", (RowKernel("energy"),))


def _cells(rows: TestedRows, view: RowView, prefix: str, chosen: tuple[RowKernel, ...]) -> CellValues:
    if view.n_rows <= MATRIX_ROWS:
        chosen = (*chosen, RowKernel("products"))
    values = kernel_statistics(view, rows.contrasts, chosen, np.random.default_rng(rows.seed))
    return CellValues([_cell(kernel, prefix, rows.weights) for kernel in chosen], values)


def _cell(kernel: RowKernel, prefix: str, weights: CellWeights) -> Cell:
    metric = "whitened" if prefix else "scaled"
    relative = "relative to the covariance of all rows" if prefix else ""
    if kernel.shape == "products":
        weight = weights.covariances(metric)
        return COVARIANCE.cell(f"{prefix}covariances", metric=metric, weight=weight, detail=relative)
    if kernel.shape == "energy":
        detail = ", ".join(filter(None, ["by the distances between rows", relative]))
        return _WIDE.cell(f"{prefix}energy", metric=metric, weight=weights.energy(metric), detail=detail)
    family, local = (_LOCAL, "local ") if kernel.quantile < 0.1 else (_WIDE, "")
    weight = {0.005: weights.local, 0.05: 1.0}.get(kernel.quantile, 0.5)
    detail = f"by the closest {100 * kernel.quantile:g} % of distances between rows"
    name = f"{local}{kernel.shape} {kernel.quantile:g}"
    return family.cell(name, metric=metric, weight=weight, detail=detail)


def kernel_statistics(
    rows: RowView, contrasts: Contrasts, kernels: tuple[RowKernel, ...], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Statistics of all labellings, one column per kernel.

    Parameters
    ----------
    rows : RowView
        Rows, scaled as distances between them should be.
    contrasts : Contrasts
        Labellings.
    kernels : tuple of RowKernel
        What to compare by.
    rng : numpy Generator
        For random features.

    Returns
    -------
    array of shape (n_labellings, n_kernels)

    Examples
    --------
    >>> from princdiff.labellings.schemes import Scheme
    >>> rows = np.random.default_rng(0).normal(size=(40, 2))
    >>> rows[20:] += 2
    >>> design = Relabellings(Scheme(np.repeat([0, 1], 20).astype(np.uint8), 99, seed=0), 2)
    >>> from princdiff.data.samples import Samples
    >>> view = RowView(Samples(rows, "pooled"), np.ones(2, dtype=np.float32))
    >>> values = kernel_statistics(view, Contrasts(design), KERNELS, np.random.default_rng(0))
    >>> values.shape, bool((values[0, 3] > values[1:, 3]).all())
    ((100, 4), True)
    """
    if rows.n_rows <= MATRIX_ROWS:
        return _by_matrices(rows.dense, contrasts.labellings, kernels)
    return _by_features(rows, contrasts, kernels, rng)


def _by_matrices(
    rows: NDArray[np.float32], design: Relabellings, kernels: tuple[RowKernel, ...]
) -> NDArray[np.float64]:
    weights = np.ones(len(rows)) if design.weights is None else design.weights
    mass = weights / weights.sum()
    inner = np.asarray(rows, dtype=np.float64)
    inner = inner @ inner.T
    lengths = np.diag(inner)
    distances = np.sqrt(np.maximum(lengths[:, None] + lengths - 2 * inner, 0.0))
    np.fill_diagonal(distances, 0.0)
    parts = list(_memberships(design, mass))
    if design.scheme.conditional:
        _take_out_means(parts)
    result = np.empty((design.n_labellings, len(kernels)))
    for place, kernel in enumerate(kernels):
        products = kernel.shape == "products"
        matrix = inner * inner if products else kernel_of_distances(kernel, distances)
        # Groups' masses differ from that of all rows by vectors that sum to zero: centring changes nothing
        # but the rounding.
        rounding = 1e-12 * np.abs(matrix).max()
        matrix = matrix - (matrix @ mass)[:, None]
        matrix -= mass @ matrix
        single = np.where(np.abs(matrix) > rounding, matrix, 0.0).astype(np.float32)
        begin = 0
        for groups, shares in parts:
            result[begin : begin + len(shares), place] = _between(single, groups, shares)
            begin += len(shares)
    return result


def _memberships(
    design: Relabellings, mass: NDArray[np.float64]
) -> Iterator[tuple[list[NDArray[np.float32]], NDArray[np.float64]]]:
    """For chunks of labellings: the groups' masses over their rows, and the groups' shares."""
    step = max(1, 16_000_000 // (design.n_groups * design.n_rows))
    for start in range(0, design.n_labellings, step):
        codes = design.scheme.codes(np.arange(start, min(start + step, design.n_labellings)))
        inside = [(codes == group) * mass for group in range(design.n_groups)]
        shares = np.stack([part.sum(axis=1) for part in inside], axis=1)
        groups = [(part / shares[:, [group]]).astype(np.float32) for group, part in enumerate(inside)]
        yield groups, shares


def _take_out_means(parts: list[tuple[list[NDArray[np.float32]], NDArray[np.float64]]]) -> None:
    """Given covariates groups are not alike on average: what counts is how far each is from its mean."""
    n_labellings = sum(len(shares) for _, shares in parts)
    for group in range(parts[0][1].shape[1]):
        mean = sum(groups[group].sum(axis=0, dtype=np.float64) for groups, _ in parts) / n_labellings
        for groups, _ in parts:
            groups[group] -= mean.astype(np.float32)


def _between(
    matrix: NDArray[np.float32], groups: list[NDArray[np.float32]], shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Average over pairs of groups of (p - q)'K(p - q), weighted by the product of their shares."""
    if len(groups) == 2:
        contrast = groups[0] - groups[1]
        return np.einsum("li,li->l", contrast @ matrix, contrast, dtype=np.float64)
    total = np.zeros(len(shares))
    for group, part in enumerate(groups):
        total += shares[:, group] * np.einsum("li,li->l", part @ matrix, part, dtype=np.float64)
    return total / (0.5 * (1 - (shares**2).sum(axis=1)))


def kernel_of_distances(kernel: RowKernel, distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Similarities of rows from their distances, for every kernel but "products"."""
    if kernel.shape == "energy":
        return -distances
    scaled = distances / _bandwidth(distances, kernel.quantile)
    return np.exp(-0.5 * scaled * scaled if kernel.shape == "gaussian" else -scaled)


def _bandwidth(distances: NDArray[np.float64], quantile: float) -> float:
    """A quantile of the distances between different rows; 1 where there are none."""
    apart = distances[np.triu_indices(len(distances), 1)]
    apart = apart[apart > 1e-6 * max(apart.max(initial=0.0), 1e-300)]
    return float(np.quantile(apart, quantile)) if len(apart) else 1.0


def _by_features(
    rows: RowView, contrasts: Contrasts, kernels: tuple[RowKernel, ...], rng: np.random.Generator
) -> NDArray[np.float64]:
    design = contrasts.labellings
    kernels_here = [kernel for kernel in kernels if kernel.shape != "products"]
    result = np.zeros((design.n_labellings, len(kernels)))
    sampled = rows.some(np.sort(rng.permutation(rows.n_rows)[:_DISTANCE_ROWS]))
    inner = sampled @ sampled.T
    lengths = np.diag(inner)
    distances = np.sqrt(np.maximum(lengths[:, None] + lengths - 2 * inner, 0.0))
    affordable = _FEATURE_WORK // (2 * rows.n_rows * design.n_labellings * max(1, len(kernels_here)))
    count = int(np.clip(affordable, _FEWEST_FEATURES // 2, _MOST_FEATURES // 2))
    for place, kernel in enumerate(kernels):
        if kernel.shape == "products":
            continue
        frequencies = _frequencies(kernel, distances, sampled.shape[1], count, rng)
        lines = _Waves(rows.project(frequencies).T)
        if rows.n_rows < MANY_ROWS:
            between = contrasts.between(np.stack(list(lines)).T)
        else:
            between = contrasts.between_lines(lines, 2 * count)
        # Columns of little spread count as little as they do in the kernel.
        result[:, place] = between @ lines.spread
    return result


class _Waves:
    """Cosines and sines of angles, one line after the other: together they would take twice their memory.

    Parameters
    ----------
    angles : array of shape (count, n_rows), float32
        Rows on frequencies.

    Attributes
    ----------
    spread : array of shape (2 * count,), float32
        Variances of the lines that were made.
    """

    def __init__(self, angles: NDArray[np.float32]) -> None:
        self._angles = angles
        self.spread = np.zeros(2 * len(angles), dtype=np.float32)

    def __iter__(self) -> Iterator[NDArray[np.float32]]:
        for half, wave in enumerate((np.cos, np.sin)):
            for number, angles in enumerate(self._angles):
                line = wave(angles)
                self.spread[half * len(self._angles) + number] = line.var()
                yield line


def _frequencies(
    kernel: RowKernel, distances: NDArray[np.float64], n_features: int, count: int, rng: np.random.Generator
) -> NDArray[np.float32]:
    """Random frequencies of a kernel's features, shape (n_features, count)."""
    # The energy distance is the limit of wide Laplace kernels.
    quantile = 1.0 if kernel.shape == "energy" else kernel.quantile
    draws = rng.standard_normal((n_features, count))
    if kernel.shape != "gaussian":
        draws /= np.sqrt(rng.chisquare(1, size=count))
    return (draws / _bandwidth(distances, quantile)).astype(np.float32)
