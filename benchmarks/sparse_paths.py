"""Paths of other sparse methods: which features each selects as its penalty falls.

Each function takes centred rows and groups (0 and 1) and gives a boolean array of shape
(n_points, n_features), one row a point of the path, from sparse to dense, until more than ``most`` features
are selected.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, lars_path_gram
from sklearn.svm import l1_min_c

Array = np.ndarray


def sparse_pca(X: Array, y: Array, most: int, points: int = 80) -> Array:
    """Leading sparse principal component (Zou); it does not see the groups."""
    left = leading_scores(X)
    loadings = np.sort(np.abs(X.T @ left))[::-1]
    # A penalty just below a loading of the plain component selects about as many features as are above it.
    wanted = np.unique(np.geomspace(1, min(3 * most, X.shape[1] - 1), points).astype(int))
    supports = []
    for penalty in loadings[wanted]:
        supports.append(sparse_component(X, penalty, left) != 0)
        if supports[-1].sum() > most:
            break
    return np.array(supports)


def leading_scores(X: Array) -> Array:
    """Unit scores of the leading principal component."""
    scores = X @ np.linalg.eigh(X.T @ X)[1][:, -1]
    return scores / np.linalg.norm(scores)


def sparse_component(X: Array, penalty: float, left: Array, max_iter: int = 500) -> Array:
    """Loadings v that minimise ||X - uv'||^2 / 2 + penalty ||v||_1 over unit scores u.

    scikit-learn's SparsePCA with one component solves the same problem; with one component both of its
    alternating steps are explicit, and a path costs what one of its fits does.
    """
    loadings = np.zeros(X.shape[1])
    for _ in range(max_iter):
        plain = X.T @ left
        loadings = np.sign(plain) * np.maximum(np.abs(plain) - penalty, 0)
        if not loadings.any():
            break
        scores = X @ loadings
        scores /= np.linalg.norm(scores)
        done = np.linalg.norm(scores - left) < 1e-9
        left = scores
        if done:
            break
    return loadings


def sparse_lda(X: Array, y: Array, most: int, ridge: float = 1e-3) -> Array:
    """Sparse discriminant analysis by optimal scoring (Clemmensen), a path in the l1 penalty."""
    return sparse_lda_path(X, y, ridge, most)[1].T != 0


def sparse_lda_path(X: Array, y: Array, ridge: float, most: int) -> tuple[Array, Array]:
    """Penalties and directions (n_features, n_points) of two-class optimal scoring with an elastic net.

    With two classes the scores of the classes are fixed by their constraints (mean zero, unit variance over
    the rows), so the alternation over scores ends at once and what is left is one elastic net,
    ||s - Xb||^2 / 2n + ridge ||b||^2 / 2 + penalty ||b||_1, whose path in the penalty is exact by least-angle
    regression. At penalty 0 it is Fisher's direction with a ridge.
    """
    scores = (y - y.mean()) / y.std()
    gram = X.T @ X + ridge * len(X) * np.eye(X.shape[1])
    penalties, _, path = lars_path_gram(
        X.T @ scores, gram, n_samples=len(X), method="lasso", max_iter=int(1.5 * most) + 1
    )
    return penalties, path


def logistic_lasso(X: Array, y: Array, most: int, points: int = 40) -> Array:
    """Logistic regression with an l1 penalty, from the smallest penalty that selects nothing."""
    supports = []
    smallest = l1_min_c(X, y, loss="log", fit_intercept=False)
    # Newer versions of scikit-learn say it by the ratio alone.
    lasso = {"l1_ratio": 1.0} if LogisticRegression().penalty == "deprecated" else {"penalty": "l1"}
    for C in smallest * np.geomspace(1.02, 8, points):
        fit = LogisticRegression(C=C, solver="liblinear", fit_intercept=False, tol=1e-5, **lasso)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            supports.append(fit.fit(X, y).coef_[0] != 0)
        if supports[-1].sum() > most:
            break
    return np.array(supports)
