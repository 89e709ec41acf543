"""The same units measured twice: before and after, left and right.

Two questions. Along which direction have units moved most: the largest principal component of the uncentred
differences, which maximises the squared distance between the projected differences and a point at zero
(every unit keeps its partner, so nothing needs to be sorted). And: do the two occasions differ? The answer to
the first is no test statistic, since it does not change when a unit's two rows are swapped; the test uses
the two-sample statistic with labels swapped within pairs.
"""

from __future__ import annotations

from inspect import signature
from typing import Any, Self

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from princdiff.data import parameters, validate
from princdiff.data.row_chunks import times
from princdiff.estimators.base import ProjectingEstimator
from princdiff.solvers.sparsity import oriented
from princdiff.statistics.permutation import permutation_test
from princdiff.statistics.permutation_result import PermutationResult


class PairedPDA(ProjectingEstimator):
    """Directions along which units moved most between two measurements.

    Parameters
    ----------
    n_components : int, default=1
        Directions, orthogonal to each other.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        Unit directions; the first non-zero weight of each is positive.
    divergences_ : array of shape (n_components,)
        Mean squared movement of the units along each.
    shares_ : array of shape (n_components, n_features)
        Share of each feature in that, the square of its weight.
    n_features_in_, feature_names_in_
        What was seen in `fit`.

    See Also
    --------
    paired_test : Whether the two measurements differ.

    Notes
    -----
    ``y`` is a table of the shape of ``X``, not a label for each row, and scikit-learn has no tag for that: of
    the 48 checks of its `check_estimator` 29 pass a column of labels, which is refused with a message, and
    so fail. With the labels made into a second table all of them pass.

    Examples
    --------
    >>> import numpy as np
    >>> from princdiff import PairedPDA
    >>> rng = np.random.default_rng(0)
    >>> before = rng.normal(size=(50, 3))
    >>> after = before + [0.0, 2.0, 0.0] + 0.1 * rng.normal(size=(50, 3))
    >>> np.abs(PairedPDA().fit(before, after).components_).round(1)
    array([[0., 1., 0.]])
    """

    def __init__(self, n_components: int = 1) -> None:
        self.n_components = n_components

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Find the directions.

        Parameters
        ----------
        X, y : arrays, DataFrames or scipy.sparse matrices of shape (n_units, n_features)
            First and second measurement of the same units. Arrays have them in the same order; two
            DataFrames must have the same index, and their columns are matched by name.

        Returns
        -------
        self
        """
        parameters.check(self.get_params(deep=False), n_components=parameters.Whole(1))
        before, after = _checked_pair(self, X, y)
        if self.n_components > min(before.shape):
            raise ValueError(
                f"n_components={self.n_components} is more than the {min(before.shape)} directions that "
                f"{before.shape[0]} units with {before.shape[1]} features can have"
            )
        _, sizes, rows = np.linalg.svd(after - before, full_matrices=False)
        self.divergences_ = sizes[: self.n_components] ** 2 / len(before)
        # Along a direction in which no unit moved there is nothing to name.
        moved = self.divergences_ > 0
        self.components_ = np.array([oriented(row) for row in rows[: self.n_components]]) * moved[:, None]
        self.shares_ = self.components_**2
        return self

    def transform(self, X: ArrayLike) -> NDArray:
        """Project rows on the directions, shape (n_rows, n_components)."""
        check_is_fitted(self)
        rows = validate.check_rows(self, X, reset=False, streams=True)
        return times(rows, self.components_.T.astype(rows.dtype))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.two_d_labels = True
        return tags


def paired_test(X: ArrayLike, Y: ArrayLike, **options: Any) -> PermutationResult:
    """Test whether two measurements of the same units differ; labels are swapped within units.

    Parameters
    ----------
    X, Y : arrays or DataFrames of shape (n_units, n_features)
        First and second measurement of the same units. Arrays have them in the same order; two DataFrames
        must have the same index, and their columns are matched by name.
    **options
        Passed to `princdiff.permutation_test`.

    Returns
    -------
    PermutationResult

    Examples
    --------
    >>> import numpy as np
    >>> from princdiff import paired_test
    >>> rng = np.random.default_rng(0)
    >>> before = rng.normal(size=(30, 3))
    >>> after = before + 0.3 + 0.1 * rng.normal(size=(30, 3))
    >>> paired_test(before, after, n_permutations=99, random_state=0).pvalue
    0.01
    """
    for name in ("blocks", "permute", "y"):
        if name in options:
            raise ValueError(f"paired_test sets {name} itself: each unit is a block of two rows")
    unknown = [name for name in options if name not in signature(permutation_test).parameters]
    if unknown:
        raise TypeError(f"paired_test has no parameter {unknown[0]!r}, and neither has permutation_test")
    before, after = _checked_pair(BaseEstimator(), X, Y)
    n_units = len(before)
    return permutation_test(
        np.concatenate([before, after]),
        np.repeat([0, 1], n_units),
        blocks=np.tile(np.arange(n_units), 2),
        permute="within",
        **options,
    )


def _checked_pair(estimator: BaseEstimator, X: Any, Y: Any) -> tuple[NDArray, NDArray]:
    """Both measurements as finite numbers of one shape; columns of two DataFrames are matched by name."""
    if Y is None:
        raise ValueError(
            "requires y to be passed, but the target y is None: y is the second measurement of the units"
        )
    if hasattr(X, "columns") and hasattr(Y, "columns"):
        lost = [str(name) for name in X.columns if name not in Y.columns]
        if lost or len(X.columns) != len(Y.columns):
            raise ValueError(
                f"the two measurements have different columns; not in the second: {', '.join(lost) or 'none'}"
            )
        Y = Y[list(X.columns)]
        _refuse_other_units(X, Y)
    before, after = (
        np.asarray(_dense(validate.check_rows(owner, rows, reset=True)), dtype=np.float64)
        for owner, rows in ((estimator, X), (BaseEstimator(), Y))
    )
    if before.shape != after.shape:
        raise ValueError(
            f"pairs need two measurements of the same shape, got {before.shape} and {after.shape}: one row "
            "per unit in both, in the same order"
        )
    return before, after


def _refuse_other_units(X: Any, Y: Any) -> None:
    """Rows are paired by their place; row labels that say otherwise must not be ignored."""
    first, second = getattr(X, "index", None), getattr(Y, "index", None)
    if first is None or second is None or first.equals(second):
        return
    if any(
        isinstance(index, pd.RangeIndex) and index.start == 0 and index.step == 1 for index in (first, second)
    ):
        # Numbered rows: their labels are their places and say nothing about units.
        return
    only = [
        f"{len(labels)} only in the {which}, such as {str(labels[0])!r}"
        for which, labels in (("first", first.difference(second)), ("second", second.difference(first)))
        if len(labels)
    ]
    if only:
        raise ValueError(
            f"the two measurements are of different units: {' and '.join(only)} (by their row labels). Give "
            "the units of both, both = X.index.intersection(Y.index), as X.loc[both] and Y.loc[both]; or "
            "to_numpy() of both, if rows that stand at the same place belong together"
        )
    raise ValueError(
        "the two measurements have the same row labels in another order, and pairs are matched by "
        "place: give the second as Y.loc[X.index]"
    )


def _dense(rows: Any) -> Any:
    return rows.toarray() if sp.issparse(rows) else rows
