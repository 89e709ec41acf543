"""What a permutation test works on: rows, groups and relabellings, checked and ready."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from princdiff.data import validate
from princdiff.data.labels import Labels
from princdiff.data.row_chunks import RowChunks
from princdiff.data.samples import Samples, Scale
from princdiff.divergences import Divergence
from princdiff.inference.direction_grid import Grid, solve_grid
from princdiff.inference.relabelling import Scheme
from princdiff.inference.tuning import held_out_by_level


@dataclass(frozen=True)
class Problem:
    """Rows, labels and relabellings, checked and ready."""

    samples: Samples
    codes: NDArray[np.uint8]
    n_groups: int
    weights: NDArray[np.float64] | None
    nuisance: NDArray[np.float64] | None
    scheme: Scheme
    seed: int
    divergence: Divergence

    @classmethod
    def prepare(
        cls,
        X: ArrayLike,
        y: ArrayLike,
        n_permutations: int,
        divergence: Divergence,
        metric: str,
        scale: Scale,
        blocks: ArrayLike | None,
        permute: str,
        covariates: ArrayLike | None,
        sample_weight: ArrayLike | None,
        random_state: Any,
    ) -> Problem:
        """Check everything a user can get wrong."""
        validate.check_choice("scale", scale, (None, "pooled", "within"))
        validate.check_choice("permute", permute, ("within", "whole"))
        if metric == "whitened" and scale == "within":
            raise ValueError(
                'metric="whitened" standardises directions over all rows; use scale="pooled" or None'
            )
        if permute == "whole" and blocks is None:
            raise ValueError('permute="whole" moves whole blocks: give blocks=, the block of each row')
        rows = validate.check_rows(BaseEstimator(), X, reset=True, streams=True)
        classes, codes = validate.check_groups(y, rows.shape[0])
        weights = validate.check_weights(sample_weight, rows, codes, classes)
        rng = validate.generator(random_state)
        seed = int(rng.integers(2**31))
        block_codes, block_names = _check_blocks(blocks, len(codes))
        weighted = weights is not None
        if weights is not None and not weights.all():
            # A row without weight is a row that is not there; a relabelling must not make a group of them.
            present = weights > 0
            rows, codes, weights = rows[present], codes[present], weights[present]
            weights = None if (weights == weights[0]).all() else weights
            if block_codes is not None:
                block_names, block_codes = np.unique(np.asarray(blocks)[present], return_inverse=True)
        moving = covariates is not None
        scheme = Scheme(codes, n_permutations, seed, block_codes, permute, block_names, moving)
        _warn_if_coarse(scheme, n_permutations)
        nuisance = None
        if covariates is not None:
            if permute == "whole" and blocks is not None:
                raise ValueError(
                    'covariates cannot be combined with permute="whole": residuals move row by row'
                )
            if weighted:
                raise ValueError("covariates and sample_weight cannot be combined")
            nuisance = _covariate_basis(covariates, len(codes))
            rows = _dense(rows, "covariates")
            rows = rows - nuisance @ (nuisance.T @ rows)
        if scale == "within":
            rows = _standardised_within(_dense(rows, 'scale="within"'), codes, weights)
        samples = Samples(rows, scale, weights=weights)
        samples.refuse_overflow(divergence.degree)
        return cls(samples, codes, len(classes), weights, nuisance, scheme, seed, divergence)

    def labels(self, indices: NDArray[np.intp]) -> Labels:
        """Labellings with the given numbers."""
        nuisance = None
        if self.nuisance is not None:
            nuisance = np.array([self.nuisance[self.scheme.order(int(index))] for index in indices])
        return Labels(self.scheme.codes(indices), self.n_groups, weights=self.weights, nuisance=nuisance)

    def values(
        self, grid: Grid, whitened: Samples | None, indices: NDArray[np.intp], keep: bool | str
    ) -> tuple[NDArray, NDArray | None]:
        """Divergences of some labellings over the grid, and their directions if wanted."""
        path = solve_grid(self.samples, self.labels(indices), self.divergence, grid, self.seed, whitened)
        # Relative divergences have no unit; the others are told in that of the scaled features.
        unit = self.samples.unit**self.divergence.degree
        units = np.repeat([unit, 1.0], [len(grid.euclidean), len(grid.whitened)])
        if not keep:
            return path.values * units, None
        # The largest level ends the plain metric's; a grid without that metric has one level.
        wanted = slice(None) if keep is True else slice(len(grid.euclidean) - 1, len(grid.euclidean) or None)
        return path.values * units, path.directions[:, wanted]

    def paper_values(
        self, grid: Grid, whitened: Samples | None, indices: NDArray[np.intp], keep: bool | str
    ) -> tuple[NDArray, NDArray | None]:
        """As `values`, with a last column: the number of the level that cross-validation chooses."""
        values, directions = self.values(grid, whitened, indices, keep)
        held_out = held_out_by_level(
            self.samples, self.labels(indices), self.divergence, np.array(grid.euclidean), self.seed
        )
        return np.column_stack([values, held_out.argmax(axis=1)]), directions


def _check_blocks(blocks: ArrayLike | None, n_rows: int) -> tuple[NDArray[np.intp] | None, NDArray | None]:
    if blocks is None:
        return None, None
    blocks = np.asarray(blocks)
    if blocks.shape != (n_rows,):
        raise ValueError(f"blocks must have one entry per row, shape ({n_rows},), got shape {blocks.shape}")
    validate.refuse_missing(blocks, "blocks")
    names, codes = np.unique(blocks, return_inverse=True)
    return codes, names


def _warn_if_coarse(scheme: Scheme, n_permutations: int) -> None:
    if scheme.exhaustive and scheme.smallest_pvalue > 0.05:
        warnings.warn(
            f"this design has only {scheme.n_labellings} distinct relabellings: no p-value can be below "
            f"{scheme.smallest_pvalue:.3g}, so nothing can be significant at 5 %",
            UserWarning,
            stacklevel=4,
        )
    elif not scheme.exhaustive and n_permutations < 19:
        warnings.warn(
            f"n_permutations={n_permutations} cannot give a p-value below 1/{n_permutations + 1}: "
            "use at least 19 for a decision at 5 %, better 999",
            UserWarning,
            stacklevel=4,
        )


def _covariate_basis(covariates: ArrayLike, n_rows: int) -> NDArray[np.float64]:
    """Orthonormal columns that span the covariates and a constant, shape (n_rows, rank)."""
    try:
        table = np.asarray(covariates, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "covariates must be numbers; encode categories as indicator columns first"
        ) from error
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or len(table) != n_rows:
        raise ValueError(f"covariates must have one row per row of X ({n_rows}), got shape {table.shape}")
    if not np.isfinite(table).all():
        raise ValueError("covariates contain NaN or infinity; drop or impute them first")
    centred = table - table.mean(axis=0)
    basis, values, _ = np.linalg.svd(centred, full_matrices=False)
    basis = basis[:, values > 1e-10 * max(values.max(initial=0.0), 1e-300)]
    constant = np.full((n_rows, 1), 1 / np.sqrt(n_rows))
    basis = np.column_stack([constant, basis])
    if basis.shape[1] > n_rows // 2:
        raise ValueError(f"{basis.shape[1]} covariates for {n_rows} rows leave too little to compare")
    return basis


def _dense(rows: Any, what: str) -> NDArray:
    if isinstance(rows, RowChunks):
        raise ValueError(f"{what} needs all rows in memory, and {rows.label} does not fit its memory budget")
    if not sp.issparse(rows):
        return rows
    if rows.shape[0] * rows.shape[1] > 2 * 10**8:
        raise ValueError(
            f"{what} needs dense rows, and {rows.shape[0]} x {rows.shape[1]} are too many to make dense"
        )
    return rows.toarray()


def _standardised_within(
    rows: NDArray, codes: NDArray[np.uint8], weights: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Rows with mean zero and unit variance in each observed group; constants become zero."""
    result = np.zeros(rows.shape)
    for group in np.unique(codes):
        members = codes == group
        part = Samples(
            rows[members], "pooled", weights=None if weights is None else weights[members], dtype=np.float64
        )
        result[members] = part.feature_columns(np.arange(rows.shape[1])).T
    return result
