"""The demonstration: what separates malignant from benign tumours.

Run with ``python -m princdiff.demo``. The data come with scikit-learn: 569 tumours, 30 measurements each.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from princdiff import plots
from princdiff.estimators import SPARDA

FOLDER = Path("demo")


def main() -> None:
    """Fit, print the table of features, draw the picture."""
    table, groups = breast_cancer()
    kept, left_out, kept_groups, left_out_groups = train_test_split(
        table, groups, test_size=0.3, stratify=groups, random_state=0
    )
    print(f"Breast cancer: {len(table)} tumours, {table.shape[1]} measurements; 30 % kept for a check.")
    print("Looking for the few measurements that carry the difference, malignant against benign ...\n")
    sparda = SPARDA(n_features=8, scale="pooled", random_state=0).fit(kept, kept_groups)
    print(feature_table(sparda, kept, kept_groups).to_string(index=False))
    print(
        f"\nSquared Wasserstein distance along the direction: {sparda.divergences_[0]:.2f};"
        f" on the tumours kept aside: {sparda.score(left_out, left_out_groups):.2f}"
    )
    print(f"Picture: {draw(sparda, left_out, left_out_groups)}")


def breast_cancer() -> tuple[pd.DataFrame, np.ndarray]:
    """The measurements, and "malignant" or "benign" for each tumour."""
    bunch = load_breast_cancer(as_frame=True)
    return bunch.data, np.asarray(bunch.target_names)[bunch.target]


def feature_table(sparda: SPARDA, table: pd.DataFrame, groups: np.ndarray) -> pd.DataFrame:
    """One row for each feature with a weight, largest share first."""
    names = np.asarray(table.columns)[sparda.support_]
    means = table.loc[:, names].groupby(groups).mean()
    rows = pd.DataFrame(
        {
            "feature": names,
            "weight": sparda.components_[0, sparda.support_].round(3),
            "share": [f"{100 * share:.0f} %" for share in sparda.shares_[0, sparda.support_]],
        }
    )
    for group in means.index:
        rows[f"mean {group}"] = means.loc[group].to_numpy().round(3)
    order = np.argsort(-sparda.shares_[0, sparda.support_], kind="stable")
    return rows.iloc[order]


def draw(sparda: SPARDA, table: pd.DataFrame, groups: np.ndarray) -> Path:
    """The projected groups beside the weights; written beside, then renamed."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.2, 1))
    plots.projection(sparda.transform(table)[:, 0], groups, ax=left, xlabel="tumours kept aside, projected")
    plots.weights(sparda.components_[0], table.columns, shares=sparda.shares_[0], ax=right)
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / "breast-cancer.png"
    handle, beside = tempfile.mkstemp(dir=FOLDER, suffix=".png")
    os.close(handle)
    figure.savefig(beside, dpi=150)
    os.replace(beside, path)
    return path


if __name__ == "__main__":
    main()
