"""Principal differences analysis: one direction over all features."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from princdiff.data.samples import Scale
from princdiff.data.shared_docs import with_shared_docs
from princdiff.divergences import Divergence
from princdiff.estimators.base import PrincipalDifferences


@with_shared_docs
class PDA(PrincipalDifferences):
    """Principal differences analysis: the direction on which the groups are furthest apart.

    Maximises the squared 2-Wasserstein distance between the projected groups over all unit directions.

    Parameters
    ----------
    n_components : int or "auto", default=1
        Directions in succession, each orthogonal to those before it; with ``metric="whitened"`` or a
        divergence that does not depend on scale, each with projections uncorrelated to theirs. "auto":
        until what is left does not differ significantly (99 permutations, 5 %).
    {divergence}
    {scale}
    metric : {"euclidean", "whitened"}, default="euclidean"
        "euclidean": the divergence along unit directions, as in the paper. "whitened": relative to the
        (shrunk) variance of all rows along the direction, an extension that sees differences in directions
        of small variance.
    {max_iter}
    {tol}
    {effort}
    {subsample}
    {certify}
    random_state : int, RandomState or None, default=None
        Seed of the random starts.
    {n_jobs}

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        Unit directions in the scaled space; the first non-zero weight of each is positive.
    divergences_ : array of shape (n_components,)
        Squared Wasserstein distance (or another divergence) along each.
    upper_bounds_ : array of shape (n_components,)
        No unit direction with as many features, orthogonal to the earlier ones, has a larger divergence;
        NaN where not computed. The fit is at most a share 1 - divergence / upper bound below the optimum.
    certificates_ : list of Certificate or None
        Where the bounds come from, in words, and whether they are proven.
    shares_ : array of shape (n_components, n_features)
        Share of each feature in the divergence; a row sums to 1. Beyond the first direction a share may be
        negative. NaN for divergences that do not depend on scale, which have no shares.
    support_ : bool array of shape (n_features,)
        Features with a weight in any direction.
    scale_ : array of shape (n_features,)
        What features are divided by in `transform`: ones, their standard deviation over all rows
        ("pooled"), or within the groups ("within").
    group_means_, group_deviations_ : arrays of shape (n_groups, n_features)
        For ``scale="within"``: moments of each group, used by `transform` where it is given the groups.
    component_pvalues_ : array of shape (n_components,)
        For "auto": p-values of what was left when each direction was found. Descriptive, since the earlier
        directions were found with the same labels.
    classes_ : array of shape (n_groups,)
        The groups.
    n_iter_ : int
        Evaluations made in the search.
    n_features_in_, feature_names_in_
        What was seen in `fit`.

    See Also
    --------
    SPARDA : The same with few features.

    Examples
    --------
    >>> import numpy as np
    >>> from princdiff import PDA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> X[100:, 1] *= 3
    >>> pda = PDA(random_state=0).fit(X, np.repeat(["a", "b"], 100))
    >>> int(np.abs(pda.components_[0]).argmax())
    1
    """

    def __init__(
        self,
        n_components: int | str = 1,
        *,
        divergence: str | Divergence | Callable = "wasserstein2",
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
        self.n_components = n_components
        self.divergence = divergence
        self.scale = scale
        self.metric = metric
        self.max_iter = max_iter
        self.tol = tol
        self.effort = effort
        self.subsample = subsample
        self.certify = certify
        self.random_state = random_state
        self.n_jobs = n_jobs
