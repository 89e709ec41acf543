"""Rows with the bins and correlations of a profile that holds none: for directions and pictures only."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr

from princdiff.profiles.group_sums import GroupSums
from princdiff.profiles.profiling import Profile
from princdiff.profiles.ruler import CountedColumn

_ROWS = 10_000


def rows_made_up(profile: Profile, rng: np.random.Generator) -> list[pd.DataFrame]:
    """Rows of each group: a normal copula with the correlations of its scores, and its bins and levels.

    Parameters
    ----------
    profile : Profile
    rng : Generator

    Returns
    -------
    list of DataFrame
        One for each group, with the columns that were counted.
    """
    return [_of_group(profile, group, rng) for group in profile.groups.values()]


def _of_group(profile: Profile, group: GroupSums, rng: np.random.Generator) -> pd.DataFrame:
    columns = profile.ruler.columns
    ranks = ndtr(rng.normal(size=(_ROWS, len(columns))) @ _root(profile, group).T)
    frame = {
        column.name: _values(column, group.counts[number].sum(axis=0), ranks[:, number], rng)
        for number, column in enumerate(columns)
    }
    return pd.DataFrame(frame)


def _root(profile: Profile, group: GroupSums) -> NDArray[np.float64]:
    """A root of the correlations of the numbers; columns of levels are independent of all others."""
    columns = profile.ruler.columns
    first = profile.ruler.first_features
    line = {feature: place for place, feature in enumerate(profile.ruler.in_pairs.tolist())}
    own = [k for k, column in enumerate(columns) if column.is_number and first[k] in line]
    lines = [line[first[k]] for k in own]
    rows = max(1.0, float(group.rows.sum()))
    means = np.array([group.counts[k].sum(axis=0) @ np.array(columns[k].scores) for k in own]) / rows
    covariance = group.products.sum(axis=0)[np.ix_(lines, lines)] / rows - np.outer(means, means)
    spread = np.sqrt(np.maximum(np.diag(covariance), 1e-12)) if len(own) else np.ones(0)
    correlations = np.eye(len(columns))
    correlations[np.ix_(own, own)] = covariance / spread[:, None] / spread if len(own) else 0.0
    np.fill_diagonal(correlations, 1.0)
    values, vectors = np.linalg.eigh(correlations)
    root: NDArray[np.float64] = vectors * np.sqrt(np.maximum(values, 0.0))
    return root / np.sqrt((root**2).sum(axis=1, keepdims=True))


def _values(
    column: CountedColumn, counts: NDArray[np.int64], ranks: NDArray[np.float64], rng: np.random.Generator
) -> NDArray:
    """A value for each rank: of the bin it falls into, its middle or a place between its neighbours."""
    known = counts[:-1].astype(np.float64)
    if not column.is_number and not column.coding.pooled:
        known[-1] = 0.0
    bounds = np.cumsum(known) / max(known.sum(), 1.0)
    place = np.minimum(np.searchsorted(bounds, ranks, side="right"), len(known) - 1)
    gap = rng.random(len(ranks)) < counts[-1] / max(counts.sum(), 1) if column.coding.indicator else None
    if column.is_number:
        values = np.array(column.values)[place]
        return values if gap is None else np.where(gap, np.nan, values)
    names = np.array([*(column.coding.levels or ()), "other levels"], dtype=object)[place]
    return names if gap is None else pd.Series(names).mask(gap).to_numpy()
