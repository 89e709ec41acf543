"""Draw docs/images/planning.png: rows needed, by the size of a shift and the number of features.

Run it from anywhere: python docs/make_planning_picture.py
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from princdiff import required_rows
from princdiff.show.plot_style import COLOURS


def main() -> None:
    effects = np.linspace(0.2, 1.5, 60)
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
    for place, n_features in enumerate((1, 10, 100, 1000)):
        rows = [required_rows(effect, n_features) for effect in effects]
        axes[0].plot(
            effects, rows, color=COLOURS[place], label=f"{n_features} feature{'s' if n_features > 1 else ''}"
        )
    for place, n_relevant in enumerate((1, 2, 4, 100)):
        rows = [required_rows(effect, 100, n_relevant=n_relevant) for effect in effects]
        axes[1].plot(effects, rows, color=COLOURS[place], label=f"shared by {n_relevant} of 100")
    for ax, title in zip(axes, ("one feature shifts", "several share the shift"), strict=True):
        ax.set(yscale="log", xlabel="shift in standard deviations", title=title)
        ax.grid(True, which="major", color="0.9")
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, fontsize="small")
    axes[0].set_ylabel("rows of both groups together")
    place = Path(__file__).parent / "images" / "planning.png"
    figure.savefig(place, dpi=110, facecolor="white")


if __name__ == "__main__":
    main()
