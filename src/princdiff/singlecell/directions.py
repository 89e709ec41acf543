"""Directions of cells: a search among all genes, unless the genes that differ by themselves do better.

Among thousands of genes a search finds directions that part the cells at hand and no others. So it is judged
on donors (or cells) that it did not see, beside a direction made of as many genes that differ most clearly by
themselves.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princdiff.caught_warnings import warn_user
from princdiff.estimators import PDA, SPARDA
from princdiff.result import shift_spread_shape
from princdiff.singlecell.anndata_input import CellComparison
from princdiff.singlecell.held_out import half_of_members

Estimator = PDA | SPARDA

# Genes from which a search is judged on cells that it did not see; it costs a fit on half of the cells.
MANY_GENES = 2000


class Wanted(NamedTuple):
    """What directions to look for.

    Attributes
    ----------
    n_features : int, "auto" or None
        Genes that a direction may use.
    n_components : int
        How many directions.
    options : dict
        Further options of `PDA` and `SPARDA`.
    """

    n_features: int | str | None
    n_components: int
    options: dict[str, Any]

    def fitted(self, rows: Any, codes: NDArray[np.uint8], n_features: int | str | None) -> Estimator:
        """Directions of so many genes."""
        options = {**self.options, "n_components": self.n_components}
        estimator = PDA(**options) if n_features is None else SPARDA(n_features, **options)
        return estimator.fit(rows, codes)


def fit_directions(rows: Any, comparison: CellComparison, members: NDArray, wanted: Wanted) -> Estimator:
    """Directions turned so that positive weights pull towards the group.

    Parameters
    ----------
    rows : array or CSR matrix of shape (n_cells, n_genes)
        Cells of the comparison.
    comparison : CellComparison
        Groups.
    members : int array of shape (n_cells,)
        What is held out together: donors, or each cell by itself.
    wanted : Wanted
        How many, of how many genes.

    Returns
    -------
    PDA or SPARDA
    """
    codes = comparison.codes
    estimator = wanted.fitted(rows, codes, wanted.n_features)
    scale = wanted.options["scale"]
    sparse = wanted.n_features is not None and scale != "within" and not comparison.joint
    if sparse and rows.shape[1] >= MANY_GENES:
        level = int(np.count_nonzero(estimator.components_[0]))
        judged = _judged(rows, codes, members, (level, wanted))
        if judged is not None and judged[1] >= judged[0]:
            estimator = wanted.fitted(_only(rows, clearest_genes(rows, codes, level)), codes, level)
            warn_user(
                f"{comparison.group} against {comparison.reference}: a direction searched among all "
                f"{rows.shape[1]} genes carries nothing beyond single genes (on held-out cells it reaches a "
                f"divergence of {judged[0]:.2g}, the {level} genes that differ most by themselves "
                f"{judged[1]:.2g}); the latter make the direction"
            )
    if comparison.joint:
        return estimator
    projected = projected_cells(estimator, rows, comparison)
    gap = projected[codes == 0].mean(axis=0) - projected[codes == 1].mean(axis=0)
    if estimator.scale == "within":
        # The means are equal; what is left of a sign is that the larger weights be positive.
        gap = (estimator.components_**3).sum(axis=1)
    # Adding zero turns -0.0 into 0.0.
    estimator.components_ = estimator.components_ * np.where(gap < 0, -1.0, 1.0)[:, None] + 0.0
    return estimator


def projected_cells(fitted: Estimator, rows: Any, comparison: CellComparison) -> NDArray[np.float64]:
    """Cells of the comparison on its directions, shape (n_cells, n_components)."""
    labels = comparison.codes if fitted.scale == "within" else None
    return np.asarray(fitted.transform(rows, labels), dtype=np.float64)


def _judged(
    rows: Any, codes: NDArray[np.uint8], members: NDArray, what: tuple[int, Wanted]
) -> tuple[float, float] | None:
    """Divergence, on the other half, of a search in one half and of the clearest genes of that half."""
    level, wanted = what
    rng = np.random.default_rng([wanted.options["random_state"], 6])
    half = half_of_members(rng, codes, members)
    if min(np.bincount(codes[half], minlength=2).min(), np.bincount(codes[~half], minlength=2).min()) < 2:
        return None
    inside, known = rows[half], codes[half]
    one = wanted._replace(n_components=1, options={**wanted.options, "certify": False})
    singles = _only(inside, clearest_genes(inside, known, level))
    found = [one.fitted(part, known, level).components_[0] for part in (inside, singles)]
    projected = np.stack([np.asarray(rows[~half] @ direction).ravel() for direction in found])
    searched, alone = shift_spread_shape.split_difference(projected, codes[~half]).total
    return float(searched), float(alone)


def clearest_genes(rows: Any, codes: NDArray[np.uint8], count: int) -> NDArray[np.intp]:
    """Genes with the largest t statistics of their means.

    Examples
    --------
    >>> rows = (
    ...     np.random.default_rng(0).normal(size=(60, 9)) + 2 * np.eye(9)[4] * np.repeat([0, 1], 30)[:, None]
    ... )
    >>> clearest_genes(rows, np.repeat([0, 1], 30), 1)
    array([4])
    """
    means, variances = [], []
    for code in (0, 1):
        own = rows[codes == code]
        squares = own.multiply(own) if sp.issparse(own) else own**2
        mean = np.asarray(own.mean(axis=0), dtype=np.float64).ravel()
        spread = np.asarray(squares.mean(axis=0), dtype=np.float64).ravel() - mean**2
        means.append(mean)
        variances.append(np.maximum(spread, 0.0) / own.shape[0])
    spread = variances[0] + variances[1]
    # What a single cell shows varies little by chance.
    floor = 1e-3 * np.median(spread[spread > 0]) if (spread > 0).any() else 1.0
    clear = np.abs(means[0] - means[1]) / np.sqrt(spread + floor)
    return np.sort(np.argsort(-clear, kind="stable")[:count])


def _only(rows: Any, genes: NDArray[np.intp]) -> Any:
    """The same cells, all other genes zero: a fit gives these no weight."""
    kept = np.zeros(rows.shape[1], dtype=rows.dtype)
    kept[genes] = 1
    if not sp.issparse(rows):
        return rows * kept
    found = sp.csr_matrix(rows.multiply(kept))
    found.eliminate_zeros()
    return found
