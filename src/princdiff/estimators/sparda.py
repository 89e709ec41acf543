"""Sparse principal differences analysis: a direction with few features."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from princdiff.data import parameters, validate
from princdiff.data.parameters import Choice, Either, Level, Number, Whole
from princdiff.data.samples import Scale
from princdiff.data.shared_docs import with_shared_docs
from princdiff.divergences import Divergence, Wasserstein2, get
from princdiff.estimators.base import PrincipalDifferences
from princdiff.solvers.sparsity import partners_of
from princdiff.statistics.directions import SparseDirections


@with_shared_docs
class SPARDA(SparseDirections, PrincipalDifferences):
    """Sparse principal differences analysis: a direction with few features, which names them.

    Parameters
    ----------
    n_features : int, "auto" or None, default=None
        At most this many features get a weight. "auto", or neither this nor ``penalty`` given: the number
        with the largest held-out divergence.
    penalty : float, "auto" or None, default=None
        Instead of a number of features: maximise divergence - penalty * (sum of absolute weights) ** 2
        over unit directions.
    one_standard_error : bool, default=False
        For "auto": the sparsest choice within one standard error of the best.
    n_components : int or "auto", default=1
        Directions in succession, as in `PDA`.
    supports : {"shared", "disjoint"}, default="shared"
        "shared": later directions may use the same features again and are orthogonal to the earlier ones
        (their weights on common features cancel). "disjoint": they use other features only.
    {divergence}
    method : {"search", "paper"}, default="search"
        "paper": the paper's pipeline as printed (RELAX at ``penalty``, then tightening from its leading
        eigenvector at that sparsity) instead of our search; two groups.
    {scale}
    metric : {"euclidean", "whitened"}, default="euclidean"
        As in `PDA`; "whitened" goes with ``n_features``, not with ``penalty``.
    {max_iter}
    {tol}
    {effort}
    {subsample}
    {certify}
    random_state : int, RandomState or None, default=None
        Seed of the random starts and of the folds.
    {n_jobs}

    Attributes
    ----------
    components_, divergences_, upper_bounds_, certificates_, shares_, support_, scale_, classes_, n_iter_
        As in `PDA`.
    path_ : SparsityPath
        For "auto": the held-out divergence along the path, and what was chosen.

    See Also
    --------
    PDA : Without the restriction to few features.

    Examples
    --------
    >>> import numpy as np
    >>> from princdiff import SPARDA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 20))
    >>> X[100:, 7] += 2
    >>> sparda = SPARDA(n_features=1).fit(X, np.repeat([0, 1], 100))
    >>> np.flatnonzero(sparda.support_)
    array([7])
    """

    def __init__(
        self,
        n_features: int | str | None = None,
        *,
        penalty: float | str | None = None,
        one_standard_error: bool = False,
        n_components: int | str = 1,
        supports: str = "shared",
        divergence: str | Divergence | Callable = "wasserstein2",
        method: str = "search",
        scale: Scale = None,
        metric: str = "euclidean",
        max_iter: int = 500,
        tol: float = 1e-9,
        effort: str = "default",
        subsample: int | str | None = "auto",
        certify: bool | str = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_features = n_features
        self.penalty = penalty
        self.one_standard_error = one_standard_error
        self.n_components = n_components
        self.supports = supports
        self.divergence = divergence
        self.method = method
        self.scale = scale
        self.metric = metric
        self.max_iter = max_iter
        self.tol = tol
        self.effort = effort
        self.subsample = subsample
        self.certify = certify
        self.random_state = random_state
        self.n_jobs = n_jobs

    def partners(self, X: ArrayLike, n_partners: int = 20, min_explained: float = 0.5) -> pd.DataFrame:
        """Other features that carry what those of the directions carry.

        Of features that go together a sparse direction takes one or two. This lists the others: each in
        turn the one of whose variance the features before it explain most, by a linear rule, whatever the
        groups. It is a list to look at, with no error control; `select_features` has that.

        Parameters
        ----------
        X : array, DataFrame or scipy.sparse matrix of shape (n_rows, n_features)
            Rows, as a rule those of the fit.
        n_partners : int, default=20
            How many to list at most.
        min_explained : float, default=0.5
            Share of the variance that must be explained, from 0 to 1.

        Returns
        -------
        DataFrame
            Columns ``feature`` (name, or number where there are no names) and ``explained``.

        Examples
        --------
        >>> import numpy as np
        >>> from princdiff import SPARDA
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(200, 6))
        >>> X[100:, 2] += 2
        >>> X[:, 4] = X[:, 2] + 0.3 * X[:, 4]
        >>> SPARDA(n_features=1, random_state=0).fit(X, np.repeat([0, 1], 100)).partners(X).round(2)
           feature  explained
        0        2       0.97
        """
        check_is_fitted(self)
        given = {"n_partners": n_partners, "min_explained": min_explained}
        parameters.check(given, n_partners=Whole(), min_explained=Number(0, 1, closed="both"))
        rows = validate.check_rows(self, X, reset=False)
        chosen = np.flatnonzero(self.support_)
        order = np.argsort(-np.abs(self.components_[:, chosen]).max(axis=0), kind="stable")
        features, explained = partners_of(rows, chosen[order], n_partners, min_explained)
        names = getattr(self, "feature_names_in_", np.arange(rows.shape[1]))
        return pd.DataFrame({"feature": names[features], "explained": explained})

    _rules = {
        "n_features": Either(Level(), None),
        "penalty": Either(Number(0, closed="low"), "auto", None),
        "method": Choice("search", "paper"),
        "supports": Choice("shared", "disjoint"),
    }

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.n_features is not None and self.penalty is not None:
            raise ValueError(
                f"give n_features or penalty, not both (got {self.n_features!r} and {self.penalty!r})"
            )
        if self.method == "paper" and self.penalty is None:
            raise ValueError('method="paper" starts from a penalty: give penalty=')
        if self.method == "paper" and not isinstance(get(self.divergence), Wasserstein2):
            raise ValueError('method="paper" relaxes the squared Wasserstein distance; use "search"')
        if self.method == "paper" and self.n_components != 1:
            raise ValueError(f'method="paper" finds one direction, got n_components={self.n_components!r}')
        if self.penalty is not None and self.n_components != 1 and self.supports != "disjoint":
            raise ValueError(
                'several directions with a penalty need supports="disjoint"; or give n_features instead'
            )
        if self.penalty is not None and self.metric == "whitened":
            raise ValueError('metric="whitened" goes with n_features, not with penalty')
