"""The demonstration: what separates malignant from benign tumours.

Run with ``princdiff demo`` or ``python -m princdiff.demo``. The data come with scikit-learn: 569 tumours, 30
measurements each.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer

from princdiff.comparison import compare
from princdiff.files import replacing
from princdiff.options import Config
from princdiff.result import DifferenceResult
from princdiff.show.screen import Screen
from princdiff.show.terminal import answer

FOLDER = Path("demo")


def main(n_permutations: int = 999) -> None:
    """Compare, print the table of features, draw the picture, write the report."""
    table, groups = breast_cancer()
    print(f"Breast cancer: {len(table)} tumours, {table.shape[1]} measurements, malignant against benign.")
    print(f"Comparing them, with {n_permutations} permutations: a few seconds.\n", flush=True)
    config = Config(n_jobs=-1, progress=sys.stderr.isatty())
    result = compare(table, groups=groups, n_permutations=n_permutations, config=config)
    print("\n".join(answer(result, Screen.of(sys.stdout))))
    FOLDER.mkdir(exist_ok=True)
    print(f"\nPicture: {draw(result, FOLDER / 'breast-cancer.png')}")
    try:
        print(f"Report, to open in a browser: {result.to_html(FOLDER / 'report.html')}")
    except ImportError as error:
        print(f"No report: {error}")


def breast_cancer() -> tuple[pd.DataFrame, np.ndarray]:
    """The measurements, and "malignant" or "benign" for each tumour."""
    bunch = load_breast_cancer(as_frame=True)
    return bunch.data, np.asarray(bunch.target_names)[bunch.target]


def draw(result: DifferenceResult, path: Path) -> Path:
    """The projected groups beside the columns that differ most; written beside, then renamed."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.2, 1))
    result.plot_projection(ax=left)
    result.plot_columns(top=10, ax=right)
    before, after = result.groups
    right.set_title(f"what differs most, {before} → {after}", loc="left", fontsize=10)
    with replacing(path) as beside:
        figure.savefig(beside, dpi=150)
    return path


if __name__ == "__main__":
    main()
