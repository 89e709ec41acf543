"""Features: SPARDA beside scikit-learn's logistic lasso and discriminant analysis, and sparse PCA.

Three of 60 features differ, in one of four ways (500 rows a group): in their means, their spread, their
number of modes along a direction, or only in how they depend on each other. Every method names three
features. The share of seeds in which they are exactly the planted ones, how many of them are planted on
average, and seconds of processor time. MADELON has its own picture, `paper/fig1b.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from threadpoolctl import threadpool_limits

from benchmarks import sections
from benchmarks.divergences import KINDS, N_FEATURES, N_PLANTED, planted
from benchmarks.sparse_paths import logistic_lasso, sparse_pca
from princdiff import SPARDA

SETTINGS = {"full": {"kinds": KINDS}, "quick": {"kinds": ["shift", "dependence"]}}


def sparda(X: np.ndarray, y: np.ndarray, seed: int) -> np.ndarray:
    return SPARDA(N_PLANTED, certify=False, random_state=seed, n_jobs=1).fit(X, y).support_


def discriminant(X: np.ndarray, y: np.ndarray, seed: int) -> np.ndarray:
    weights = np.abs(LinearDiscriminantAnalysis().fit(X, y).coef_[0])
    return weights >= np.sort(weights)[-N_PLANTED]


def _densest(path: Callable) -> Callable:
    """The densest point of a path with no more features than wanted."""

    def select(X: np.ndarray, y: np.ndarray, seed: int) -> np.ndarray:
        supports = path(X - X.mean(axis=0), y, N_PLANTED)
        allowed = supports[supports.sum(axis=1) <= N_PLANTED]
        return allowed[-1] if len(allowed) else np.zeros(X.shape[1], dtype=bool)

    return select


METHODS = {
    "princdiff SPARDA": sparda,
    "scikit-learn logistic lasso": _densest(logistic_lasso),
    "scikit-learn LDA, largest weights": discriminant,
    "sparse PCA": _densest(sparse_pca),
}


def main(argv: Sequence[str] | None = None) -> None:
    options = sections.parse(__doc__, argv, seeds=10, quick_seeds=1)
    settings = SETTINGS["quick" if options.quick else "full"]
    section = sections.Section("peers-features", "Peers: features found (scikit-learn)", options)
    found: dict = {}
    with threadpool_limits(1):
        for seed in options.seeds:
            for kind in settings["kinds"]:
                X, y = planted(kind, np.random.default_rng([17, seed]))
                for name, select in METHODS.items():
                    begin = time.process_time()
                    selected = select(X, y, seed)
                    spent = time.process_time() - begin
                    found.setdefault((name, kind), []).append((selected[:N_PLANTED].sum(), spent))
    section.say(
        f"Exactly the {N_PLANTED} planted of {N_FEATURES} features (average number of them found), share of "
        f"{len(options.seeds)} seeds:"
    )
    rows = []
    for name in METHODS:
        cells = []
        for kind in settings["kinds"]:
            hits = np.array(found[name, kind])[:, 0]
            cells.append(f"{np.mean(hits == N_PLANTED):.2f} ({hits.mean():.1f})")
        seconds = np.median([spent for kind in settings["kinds"] for _, spent in found[name, kind]])
        rows.append([name, *cells, f"{seconds:.3f}"])
    section.table(["method", *settings["kinds"], "seconds"], rows)
    section.say(
        "Logistic regression and discriminant analysis look at means, so they find shifts, in a fraction of "
        "our time, and nothing else; sparse PCA does not look at the groups, and finds the planted features "
        "where they happen to have the largest variance, also in a fraction of our time."
    )
    section.write()


if __name__ == "__main__":
    main()
