"""What a rule learned from some donors tells of others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

# Halvings of the donors, and genes that a learned direction uses.
_N_HALVINGS, _N_LEARNED_GENES = 20, 50


def held_out_change(
    rows: Any, codes: NDArray[np.uint8], members: NDArray[np.intp], n_learned: int, seed: int
) -> float:
    """How well groups are told apart in donors that were not learned from: .5 by chance, 1 without error.

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
        Share of the pairs of judged cells, one of each group, that the direction learned from the other half
        puts in the right order; mean over halvings.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows, codes = rng.normal(size=(200, 20)), np.repeat([0, 1], 100).astype(np.uint8)
    >>> same = held_out_change(rows, codes, np.arange(200), 40, seed=0)
    >>> apart = held_out_change(rows + 2 * codes[:, None], codes, np.arange(200), 40, seed=0)
    >>> bool(0.35 < same < 0.65), bool(apart > 0.95)
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
            found.append(_area(_dense(rows[second]) @ direction, codes[second]))
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


def _area(projected: NDArray[np.float64], codes: NDArray[np.uint8]) -> float:
    """Area under the curve of sensitivity over specificity."""
    ranks = rankdata(projected)
    n_first = int((codes == 0).sum())
    above = ranks[codes == 0].sum() - n_first * (n_first + 1) / 2
    return float(above / (n_first * (len(codes) - n_first)))
