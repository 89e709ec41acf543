"""What a rule learned from some donors tells of others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# Halvings of the donors, and genes that a learned direction uses.
_N_HALVINGS, _N_LEARNED_GENES = 20, 50
# Least spread of cells, as a share of the distance.
_LEAST_SPREAD = 1e-2


def held_out_change(
    rows: Any, codes: NDArray[np.uint8], members: NDArray[np.intp], n_learned: int, seed: int
) -> float:
    """How far apart groups are in donors that were not learned from: 0 by chance.

    Parameters
    ----------
    rows : array or CSR matrix of shape (n_cells, n_genes)
        Expression.
    codes : array of shape (n_cells,)
        0 or 1.
    members : int array of shape (n_cells,)
        Donor of each cell; donors are halved at random, and the halves change roles.
    n_learned : int
        Cells of each group that are learned from, and as many that are judged.
    seed : int
        For halves and cells.

    Returns
    -------
    float
        Distance of the groups' means along the direction learned from the other half, in standard deviations
        of the cells of a group; mean over halvings. Unlike a share of errors it does not end where there are
        none, so that types that all respond can be ranked.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows, codes = rng.normal(size=(200, 20)), np.repeat([0, 1], 100).astype(np.uint8)
    >>> same = held_out_change(rows, codes, np.arange(200), 40, seed=0)
    >>> apart = held_out_change(rows + 2 * codes[:, None], codes, np.arange(200), 40, seed=0)
    >>> bool(abs(same) < 0.4), bool(apart > 2.5)
    (True, True)
    """
    rng = np.random.default_rng([seed, 5])
    found = []
    for _ in range(_N_HALVINGS):
        half = half_of_members(rng, codes, members)
        for learned in (half, ~half):
            first = _drawn(rng, codes, learned, n_learned)
            second = _drawn(rng, codes, ~learned, n_learned)
            direction = _direction(_dense(rows[first]), codes[first])
            found.append(_distance(_dense(rows[second]) @ direction, codes[second]))
    return float(np.mean(found))


def half_of_members(
    rng: np.random.Generator, codes: NDArray[np.uint8], members: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Cells of a random half of the donors, of each group where they belong to one.

    Examples
    --------
    >>> codes, members = np.array([0, 0, 0, 1, 1, 1], dtype=np.uint8), np.array([0, 1, 1, 2, 3, 3])
    >>> half = half_of_members(np.random.default_rng(0), codes, members)
    >>> bool(half[1] == half[2]), bool(half[0] != half[1]), bool(half[3] != half[4])
    (True, True, True)
    """
    taken = np.zeros(members.max() + 1, dtype=bool)
    group = np.full(members.max() + 1, 2)
    for code in (0, 1):
        own = np.unique(members[codes == code])
        group[own] = np.where(group[own] == 2, code, 2)
    for code in (0, 1, 2):
        own = rng.permutation(np.intersect1d(np.flatnonzero(group == code), members))
        taken[own[: len(own) // 2 + int(rng.random() < 0.5) * (len(own) % 2)]] = True
    return taken[members]


def _drawn(
    rng: np.random.Generator, codes: NDArray[np.uint8], allowed: NDArray[np.bool_], count: int
) -> NDArray[np.intp]:
    """As many cells of each group, at random; some more than once where there are fewer."""
    parts = []
    for code in (0, 1):
        own = np.flatnonzero(allowed & (codes == code))
        parts.append(rng.choice(own, count, replace=len(own) < count))
    return np.concatenate(parts)


def _dense(rows: Any) -> NDArray[np.float64]:
    return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)


def _direction(rows: NDArray[np.float64], codes: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Differences of means over variances, of the genes whose means differ most clearly."""
    sides = [rows[codes == code] for code in (0, 1)]
    apart = sides[0].mean(axis=0) - sides[1].mean(axis=0)
    variances = (sides[0].var(axis=0) + sides[1].var(axis=0)) / 2
    varying = variances > 0
    if not varying.any():
        return apart
    # Genes that few cells show have small variances by chance.
    variances = variances + np.median(variances[varying])
    clear = np.abs(apart) / np.sqrt(variances)
    kept = clear >= np.sort(clear)[-min(_N_LEARNED_GENES, len(clear))]
    return np.where(kept, apart / variances, 0.0)


def _distance(projected: NDArray[np.float64], codes: NDArray[np.uint8]) -> float:
    """Distance of the first group's mean from the second's, in standard deviations within groups."""
    first, second = (projected[codes == code] for code in (0, 1))
    apart = first.mean() - second.mean()
    # Cells that do not vary at all are as far apart as can be told, but not infinitely far.
    spread = np.sqrt((first.var() + second.var()) / 2 + (_LEAST_SPREAD * apart) ** 2)
    return float(apart / spread) if spread > 0 else 0.0
