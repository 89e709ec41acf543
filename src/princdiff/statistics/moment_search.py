"""Directions along which groups differ in mean and spread, for many labellings at once, from moments alone.

Along a direction b the squared 2-Wasserstein distance is a difference of means, of standard deviations and of
shapes. The first two need the groups' means and covariances only: once these are known for a labelling (one
matrix product for all labellings), a step of a search costs nothing in the number of rows and sorts nothing.
What is found this way is where an ascent on the divergence itself begins, see `direction_cells`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from princdiff.data.labels import PackedCodes
from princdiff.kernels.labelled_sums import labelled_sums, packed

# Elements of products of features held at a time (single precision).
_BLOCK_ELEMENTS = 8_000_000
_TINY = 1e-12


class GroupMoments(NamedTuple):
    """Moments of every group under every labelling.

    Attributes
    ----------
    shares : array of shape (n_labellings, n_groups)
        Share of each group in the (weighted) rows.
    means : array of shape (n_labellings, n_groups, n_features)
        Means.
    covariances : array of shape (n_labellings, n_groups, n_features, n_features)
        Covariances, divided by the number of rows.
    """

    shares: NDArray[np.float32]
    means: NDArray[np.float32]
    covariances: NDArray[np.float32]

    def mixed(self, mixing: NDArray[np.float64]) -> GroupMoments:
        """Moments of ``mixing @ x`` instead of x."""
        single = mixing.astype(np.float32)
        means: NDArray[np.float32] = self.means @ single.T
        covariances = (single @ self.covariances @ single.T).astype(np.float32, copy=False)
        return self._replace(means=means, covariances=covariances)


def group_moments(
    rows: NDArray[np.float32],
    codes: NDArray[np.uint8],
    n_groups: int,
    weights: NDArray[np.float64] | None = None,
) -> GroupMoments:
    """Means and covariances of every group under every labelling.

    Parameters
    ----------
    rows : array of shape (n_rows, n_features)
        Numbers, about centred: moments are computed in single precision.
    codes : array of shape (n_labellings, n_rows)
        Groups.
    n_groups : int
        Number of groups.
    weights : array of shape (n_rows,), optional
        Row weights.

    Returns
    -------
    GroupMoments

    Examples
    --------
    >>> rows = np.array([[0.0], [2.0], [5.0], [5.0]], dtype=np.float32)
    >>> found = group_moments(rows, np.array([[0, 0, 1, 1]], dtype=np.uint8), 2)
    >>> found.means.ravel(), found.covariances.ravel()
    (array([1., 5.], dtype=float32), array([1., 0.], dtype=float32))
    """
    n_features = rows.shape[1]
    first, second = np.triu_indices(n_features)

    def with_products(block: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.concatenate([block, block[:, first] * block[:, second]], axis=1)

    totals = _group_masses(codes, n_groups, weights)
    sums = _group_sums(rows, codes, totals, weights, with_products)
    sums /= totals.T[:, :, None]
    means = np.ascontiguousarray(sums[:, :, :n_features].transpose(1, 0, 2), dtype=np.float32)
    covariances = np.empty((len(codes), n_groups, n_features, n_features), dtype=np.float32)
    products = sums[:, :, n_features:].transpose(1, 0, 2)
    covariances[:, :, first, second] = products
    covariances[:, :, second, first] = products
    covariances -= means[:, :, :, None] * means[:, :, None, :]
    shares = totals / totals.sum(axis=1, keepdims=True)
    return GroupMoments(shares.astype(np.float32), means, covariances)


def group_means(
    rows: NDArray[np.float32],
    codes: NDArray[np.uint8] | PackedCodes,
    n_groups: int,
    weights: NDArray[np.float64] | None = None,
) -> NDArray[np.float32]:
    """Means of `group_moments` alone, shape (n_labellings, n_groups, n_features)."""
    totals = _group_masses(codes, n_groups, weights)
    sums = _group_sums(rows, codes, totals, weights, np.copy)
    sums /= totals.T[:, :, None]
    return np.ascontiguousarray(sums.transpose(1, 0, 2), dtype=np.float32)


def group_shares(
    codes: NDArray[np.uint8], n_groups: int, weights: NDArray[np.float64] | None = None
) -> NDArray[np.float32]:
    """Shares of `group_moments` alone, shape (n_labellings, n_groups)."""
    totals = _group_masses(codes, n_groups, weights)
    return (totals / totals.sum(axis=1, keepdims=True)).astype(np.float32)


def _group_sums(
    rows: NDArray[np.float32],
    codes: NDArray[np.uint8] | PackedCodes,
    totals: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    columns_of: Callable[[NDArray], NDArray],
) -> NDArray[np.float64]:
    """Weighted sums over groups of columns made from the rows, (n_groups, n_labellings, n_columns)."""
    n_groups = totals.shape[1]
    # What the largest group has is what the others leave of all rows.
    largest = int(totals.sum(axis=0).argmax())
    n_columns = columns_of(rows[:1]).shape[1]
    sums = np.zeros((n_groups, len(codes), n_columns))
    everything = np.zeros(n_columns)
    step = max(1, _BLOCK_ELEMENTS // max(n_columns, len(codes)))
    for start in range(0, len(rows), step):
        columns = columns_of(rows[start : start + step])
        if weights is not None:
            columns *= weights[start : start + step, None].astype(np.float32)
        everything += columns.sum(axis=0, dtype=np.float64)
        for group in range(n_groups):
            if group != largest:
                sums[group] += labelled_sums(packed(codes[:, start : start + step] == group), columns)
    sums[largest] = everything - sums.sum(axis=0)
    return sums


def _group_masses(
    codes: NDArray[np.uint8] | PackedCodes, n_groups: int, weights: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Weight of each group under each labelling, shape (n_labellings, n_groups)."""
    if isinstance(codes, PackedCodes):
        return np.concatenate([_group_masses(line[None], n_groups, weights) for line in codes])
    if weights is None:
        counts = [np.count_nonzero(codes == group, axis=1) for group in range(n_groups)]
        return np.stack(counts, axis=1).astype(np.float64)
    return np.stack([(codes == group) @ weights for group in range(n_groups)], axis=1)


def gathered_moments(
    rows: NDArray[np.float32], index: NDArray[np.intp], codes: NDArray[np.uint8], n_groups: int
) -> GroupMoments:
    """As `group_moments`, where every labelling has rows of its own and all share one vector of groups.

    Parameters
    ----------
    rows : array of shape (n_rows, n_features)
        Numbers.
    index : int array of shape (n_labellings, n_taken)
        Rows of each labelling.
    codes : array of shape (n_taken,)
        Their groups, ascending, the same for every labelling.
    n_groups : int
        Number of groups.

    Returns
    -------
    GroupMoments
    """
    n_features = rows.shape[1]
    sizes = np.bincount(codes, minlength=n_groups)
    ends = np.cumsum(sizes)
    means = np.empty((len(index), n_groups, n_features), dtype=np.float32)
    covariances = np.empty((len(index), n_groups, n_features, n_features), dtype=np.float32)
    # One after the other, so that what is gathered stays in the cache.
    for place, taken in enumerate(index):
        for group, own in enumerate(np.split(taken, ends[:-1])):
            part = np.take(rows, own, axis=0)
            means[place, group] = part.mean(axis=0)
            part -= means[place, group]
            np.matmul(part.T, part, out=covariances[place, group])
    covariances /= sizes[:, None, None].astype(np.float32)
    shares = sizes.astype(np.float32) / len(codes)
    return GroupMoments(np.broadcast_to(shares, (len(index), n_groups)), means, covariances)


@dataclass(frozen=True)
class MomentObjective:
    """Difference of means and standard deviations along directions, over a power of the variance.

    Attributes
    ----------
    moments : GroupMoments
        Of every labelling.
    metric : array of shape (n_features, n_features) or None
        The variance along b is b' metric b; None: not divided.
    power : float
        Of the variance.
    """

    moments: GroupMoments
    metric: NDArray[np.float32] | None = None
    power: float = 0.0

    def __call__(self, directions: NDArray[np.float32]) -> tuple[NDArray, NDArray]:
        """Values, (n_labellings, n_starts), and gradients, (n_labellings, n_starts, n_features)."""
        of_groups = self._of_two if self.moments.means.shape[1] == 2 else self._of_several
        value, gradient = of_groups(directions)
        if self.metric is None:
            return value, gradient
        product = directions @ self.metric
        variance = np.maximum(np.einsum("lsd,lsd->ls", product, directions), _TINY)
        scaled = variance**-self.power
        gradient -= (2.0 * self.power * value / variance)[:, :, None] * product
        return value * scaled, gradient * scaled[:, :, None]

    def _of_two(self, directions: NDArray[np.float32]) -> tuple[NDArray, NDArray]:
        """Two groups: squared differences of their means and standard deviations, whatever their shares."""
        _, means, covariances = self.moments
        apart = means[:, 0] - means[:, 1]
        location = (directions @ apart[:, :, None])[:, :, 0]
        turned = [directions @ covariances[:, group] for group in (0, 1)]
        first, second = (_spread(product, directions) for product in turned)
        scale = first - second
        gradient = location[:, :, None] * apart[:, None]
        gradient += (scale / first)[:, :, None] * turned[0]
        gradient -= (scale / second)[:, :, None] * turned[1]
        gradient *= 2.0
        return location * location + scale * scale, gradient

    def _of_several(self, directions: NDArray[np.float32]) -> tuple[NDArray, NDArray]:
        """Any number of groups: scatter of their means and standard deviations over that of their labels."""
        shares, means, covariances = self.moments
        share = shares[:, None, :]
        along = directions @ means.transpose(0, 2, 1)
        turned = [directions @ covariances[:, group] for group in range(means.shape[1])]
        spread = np.stack([_spread(product, directions) for product in turned], axis=2)
        pairs = 0.5 * (1.0 - np.sum(shares * shares, axis=1))[:, None]
        location = along - (share * along).sum(axis=2, keepdims=True)
        scale = spread - (share * spread).sum(axis=2, keepdims=True)
        value = (share * (location * location + scale * scale)).sum(axis=2) / pairs
        weight = 2.0 * share / pairs[:, :, None]
        gradient = (weight * location) @ means
        for group, product in enumerate(turned):
            gradient += (weight * scale / spread)[:, :, group, None] * product
        return value, gradient

    def of_axes(self) -> NDArray[np.float32]:
        """Values of the single features, shape (n_labellings, n_features)."""
        shares, means, covariances = self.moments
        share = shares[:, :, None]
        spread = np.sqrt(np.maximum(np.einsum("lgdd->lgd", covariances), 0.0))
        pairs = 0.5 * (1.0 - np.sum(shares * shares, axis=1))[:, None]
        centred = [part - (share * part).sum(axis=1, keepdims=True) for part in (means, spread)]
        value = sum((share * part * part).sum(axis=1) for part in centred) / pairs
        if self.metric is None:
            return value
        return value / np.maximum(np.diag(self.metric), _TINY) ** self.power


def _spread(product: NDArray[np.float32], directions: NDArray[np.float32]) -> NDArray[np.float32]:
    """Standard deviations along directions, from their products with the covariances."""
    return np.sqrt(np.maximum(np.einsum("lsd,lsd->ls", product, directions), _TINY))


@dataclass(frozen=True)
class Found:
    """Directions of every labelling, best first.

    Attributes
    ----------
    values : array of shape (n_labellings, n_kept)
        Of the objective.
    directions : array of shape (n_labellings, n_kept, n_features)
        Unit directions.
    """

    values: NDArray[np.float32]
    directions: NDArray[np.float32]

    def best(self, count: int) -> Found:
        """The best few of each labelling."""
        order = np.argsort(-self.values, axis=1, kind="stable")[:, :count]
        row = np.arange(len(order))[:, None]
        return replace(self, values=self.values[row, order], directions=self.directions[row, order])


class SearchEffort(NamedTuple):
    """Steps from all starts, how many starts go on, and their further steps."""

    screening_steps: int = 3
    finalists: int = 3
    steps: int = 6


def starts_of(objective: MomentObjective, n_random: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Where searches begin, shape (n_labellings, n_starts, n_features); random ones are shared by all.

    The difference of means (of each group from the others), the two best single features, the two pairs
    of features whose covariance changes most, and random directions.
    """
    shares, means, covariances = objective.moments
    n_labellings, n_groups, n_features = means.shape
    overall = np.einsum("lg,lgd->ld", shares, means)
    contrasts = means[:, :1] - overall[:, None] if n_groups == 2 else means - overall[:, None]
    parts = [contrasts]
    if objective.metric is not None:
        # The direction that tells means apart best relative to the variance (Fisher's).
        inverse = np.linalg.pinv(objective.metric.astype(np.float64), hermitian=True).astype(np.float32)
        parts.append(contrasts @ inverse)
    values = objective.of_axes()
    top = np.argsort(-values, axis=1, kind="stable")[:, :2]
    parts.append(np.eye(n_features, dtype=np.float32)[top])
    if n_features > 1:
        parts.append(_changed_pairs(shares, covariances, 2))
    draws = rng.standard_normal((n_random, n_features)).astype(np.float32)
    parts.append(np.broadcast_to(draws, (n_labellings, *draws.shape)))
    return _normalised(np.concatenate(parts, axis=1))


def _changed_pairs(
    shares: NDArray[np.float32], covariances: NDArray[np.float32], count: int
) -> NDArray[np.float32]:
    """Sums or differences of the pairs of features whose covariance differs most between groups."""
    n_labellings, _, n_features, _ = covariances.shape
    first, second = np.triu_indices(n_features, 1)
    count = min(count, len(first))
    if covariances.shape[1] == 2:
        own = (covariances[:, 0] - covariances[:, 1])[:, first, second]
        size = np.abs(own)
    else:
        between = covariances[:, :, first, second]
        between = between - np.einsum("lg,lgp->lp", shares, between)[:, None]
        own, size = between[:, 0], np.einsum("lg,lgp->lp", shares, between * between)
    top = np.argpartition(size, -count, axis=1)[:, -count:]
    own = np.take_along_axis(own, top, axis=1)
    result = np.zeros((n_labellings, count, n_features), dtype=np.float32)
    row, place = np.arange(n_labellings)[:, None], np.arange(count)
    result[row, place, first[top]] = 1.0
    # Along the sum of two features a larger covariance is a larger spread, along the difference a smaller.
    result[row, place, second[top]] = np.where(own >= 0, 1.0, -1.0)
    return result


def search(
    objective: MomentObjective, starts: NDArray[np.float32], level: int, effort: SearchEffort
) -> Found:
    """Ascend from all starts; at most ``level`` features a direction.

    After a few steps only the best starts of each labelling go on.
    """
    screened = _ascend(objective, starts, level, effort.screening_steps)
    return _ascend(objective, screened.best(effort.finalists).directions, level, effort.steps)


def _ascend(objective: MomentObjective, starts: NDArray[np.float32], level: int, n_steps: int) -> Found:
    """Steps that do not raise the objective are taken back and shortened, so that values never fall."""
    current = _feasible(starts, level)
    best, gradient = objective(current)
    steps = np.ones(best.shape, dtype=np.float32)
    for _ in range(n_steps):
        candidate = _feasible(current + (steps / _lengths(gradient))[:, :, None] * gradient, level)
        values, slopes = objective(candidate)
        better = values > best
        mask = better[:, :, None]
        current, gradient = np.where(mask, candidate, current), np.where(mask, slopes, gradient)
        best = np.where(better, values, best)
        steps = np.where(better, steps * 2.0, steps * 0.4).astype(np.float32)
    return Found(best, current)


def _feasible(directions: NDArray[np.float32], level: int) -> NDArray[np.float32]:
    n_features = directions.shape[-1]
    if level < n_features:
        size = np.abs(directions)
        smallest = np.partition(size, n_features - level, axis=-1)[..., n_features - level, None]
        directions = np.where(size >= smallest, directions, np.float32(0))
    return _normalised(directions)


def _normalised(directions: NDArray[np.float32]) -> NDArray[np.float32]:
    return directions / _lengths(directions)[..., None]


def _lengths(directions: NDArray[np.float32]) -> NDArray[np.float32]:
    """Lengths to divide by: that of nothing is one."""
    lengths = np.sqrt(np.einsum("...d,...d->...", directions, directions))
    return np.where(lengths > 0, lengths, 1).astype(np.float32)
