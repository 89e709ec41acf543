"""Parameters and examples that several docstrings share, written once.

A line ``{name}`` in the docstring of a function or class that `with_shared_docs` decorates stands for the
text of that name. What a function means differently it says itself.
"""

from __future__ import annotations

import re
from typing import Any, TypeVar

Documented = TypeVar("Documented", bound=Any)

TEXTS = {
    "X": """
X : array, DataFrame or scipy.sparse matrix of shape (n_rows, n_features)
    Rows of all groups.""",
    "y": """
y : array of shape (n_rows,)
    Group of each row.""",
    "divergence": """
divergence : str, Divergence or callable, default="wasserstein2"
    What "different" means for two columns of numbers: a name from
    `princdiff.divergences.available`, an object, or a function of two arrays.""",
    "scale": """
scale : {None, "pooled", "within"}, default=None
    None: features as measured. "pooled": divided by their standard deviation over all rows.
    "within": mean zero and unit variance inside each group, so that only relationships between
    features can differ.""",
    "max_iter": """
max_iter : int, default=500
    Iterations of the final ascent at most.""",
    "tol": """
tol : float, default=1e-9
    Relative gain below which the final ascent counts a step as none.""",
    "effort": """
effort : {"fast", "default", "thorough"}, default="default"
    How hard to search for the global optimum.""",
    "subsample": """
subsample : int, "auto" or None, default="auto"
    Rows on which to search when there are many; growing samples and at last all rows settle what was
    found. "auto": ten rows per feature, between 10 000 and 50 000, if there are at least five times as
    many. None: search all rows.""",
    "certify": """
certify : {"auto", True, False}, default="auto"
    Compute an upper bound on what any direction could reach (squared Wasserstein distance,
    ``metric="euclidean"``).
    "auto": where that costs no more than the fit.""",
    "sample_weight": """
sample_weight : array of shape (n_rows,), optional
    Row weights; they travel with the rows, so tests assume that they do not depend on the group.""",
    "blocks": """
blocks : array of shape (n_rows,), optional
    Pairs, strata or donors.""",
    "permute": """
permute : {"auto", "within", "whole"}, default="auto"
    Relabel rows inside their block, or whole blocks; "auto": whole blocks where each lies in one group,
    within blocks where each has rows of several groups, and each kind in its way where there are both.""",
    "n_permutations": """
n_permutations : int, default=999
    Random permutations; all distinct ones where they are fewer.""",
    "random_state": """
random_state : int, RandomState, Generator or None
    Seed.""",
    "n_jobs": """
n_jobs : int or None, default=None
    Threads. The result does not depend on it.""",
    "progress": """
progress : bool, default=False
    Show what is being done; `compare` also shows what single columns say, before the rest is worked out.""",
    "adata": """
adata : AnnData
    After `princdiff.tl.pda`.""",
    "key": """
key : str, default="pda"
    Its ``key_added``.""",
    "one_comparison": """
group : str, optional
    Which comparison; needed where there are several.""",
    "one_direction": """
component : int, default=1
    Which direction.""",
    "bandwidth": """
bandwidth : float, optional
    Standard deviation of the Gaussian kernel, in standard deviations of all projected rows. Default:
    Scott's rule ``n ** (-1 / 5)`` for the smallest group.""",
    "ax": """
ax : Axes, optional
    Where to draw.""",
}

# Data that several examples begin with.
EXAMPLES = {
    "example_cells": """
>>> import numpy as np
>>> import anndata
>>> import princdiff
>>> expression = np.log1p(np.random.default_rng(0).poisson(2.0, size=(60, 8)) * 1.1)
>>> expression[30:, 2] += 1.0
>>> cells = anndata.AnnData(expression, obs={"tissue": ["cortex"] * 30 + ["hippocampus"] * 30})""",
    "example_groups": """
>>> import numpy as np
>>> import princdiff
>>> rng = np.random.default_rng(0)
>>> X, y = rng.normal(size=(90, 3)), np.repeat(["a", "b", "c"], 30)
>>> X[y == "c", 1] += 2""",
}


def with_shared_docs(documented: Documented) -> Documented:
    """Put the shared texts where the docstring of a function or class names them.

    Parameters
    ----------
    documented : function or class
        Its docstring may have lines such as ``{n_jobs}``.

    Returns
    -------
    function or class
        The same object.

    Examples
    --------
    >>> @with_shared_docs
    ... def count(rows, n_jobs=None):
    ...     '''Count.
    ...
    ...     Parameters
    ...     ----------
    ...     {n_jobs}
    ...     '''
    >>> print(count.__doc__.splitlines()[4])
        n_jobs : int or None, default=None
    """
    if documented.__doc__:
        documented.__doc__ = re.sub(r"^([ ]*)\{(\w+)\}$", _indented, documented.__doc__, flags=re.MULTILINE)
    return documented


def _indented(place: re.Match[str]) -> str:
    lines = (TEXTS | EXAMPLES)[place[2]].strip("\n").splitlines()
    return "\n".join(place[1] + line for line in lines)
