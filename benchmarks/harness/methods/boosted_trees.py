"""scikit-learn: boosted trees learn on half of the rows; their scores of the others are compared by ranks.

Columns are named whose permutation lowers the score of those rows clearly: there is no error control for it.
"""

import numpy as np
from scipy.stats import mannwhitneyu
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.inspection import permutation_importance
from sklearn.model_selection import train_test_split

from benchmarks.harness import LEVEL, Answer, by_pvalue, codes

NAME = "boosted trees (scikit-learn)"


def answer(first, second, seed) -> Answer:
    rows, groups = codes(first, second)
    fitted, held, y, labels = train_test_split(
        rows, groups, test_size=0.5, stratify=groups, random_state=seed
    )
    trees = HistGradientBoostingClassifier(max_iter=50, random_state=seed).fit(fitted, y)
    score = trees.predict_proba(held)[:, 1]
    pvalue = mannwhitneyu(score[labels == 1], score[labels == 0], alternative="greater").pvalue
    if pvalue > LEVEL:
        return by_pvalue(pvalue, frozenset())
    lost = permutation_importance(trees, held, labels, scoring="roc_auc", n_repeats=10, random_state=seed)
    clear = lost.importances_mean > np.maximum(3 * lost.importances_std, 0.01)
    return by_pvalue(pvalue, frozenset(first.columns[clear]))
