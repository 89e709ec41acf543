"""Draw docs/images/divergences.png: what each divergence finds on four small data sets.

Run it from anywhere: python docs/make_divergences_picture.py
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import gaussian_kde

from princdiff import divergences
from princdiff.data.labels import Labels
from princdiff.data.samples import Samples
from princdiff.show.plot_style import COLOURS
from princdiff.solvers.effort import SearchSettings
from princdiff.solvers.solve import solve

N_ROWS, N_FEATURES = 400, 10
# A direction nearer to the planted one than this counts as found.
NEAR = 30.0


def make(kind: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, groups and the direction, in the first two of ten features, along which the groups differ."""
    X = rng.normal(size=(2 * N_ROWS, N_FEATURES))
    y = np.repeat([0, 1], N_ROWS)
    planted = np.zeros(N_FEATURES)
    planted[:2] = [0.8, 0.6]
    if kind == "dependence only":
        planted[:2] = [0.5**0.5, -(0.5**0.5)]
    along = X @ planted
    wanted = along.copy()
    if kind == "shift":
        wanted[y == 1] += 1.0
    elif kind == "spread":
        wanted[y == 1] *= 2.2
    elif kind == "two modes":
        modes = 1.4 * rng.choice([-1.0, 1.0], size=N_ROWS) + 0.35 * along[y == 1]
        wanted[y == 0] *= modes.std()
        wanted[y == 1] = modes - modes.mean()
    elif kind == "dependence only":
        # Correlation 0.8 of two standard normal features, against none.
        other = np.zeros(N_FEATURES)
        other[:2] = 0.5**0.5
        X[y == 1] += np.outer((np.sqrt(1.8) - 1) * (X[y == 1] @ other), other)
        wanted[y == 1] *= np.sqrt(0.2)
    return X + np.outer(wanted - along, planted), y, planted


def angle(direction: np.ndarray, planted: np.ndarray) -> float:
    return float(np.degrees(np.arccos(min(1.0, abs(direction @ planted)))))


def draw_scatter(ax: plt.Axes, X: np.ndarray, y: np.ndarray, planted: np.ndarray, kind: str) -> None:
    order = np.random.default_rng(0).permutation(len(X))
    ax.scatter(X[order, 0], X[order, 1], s=4, c=np.array(COLOURS)[y[order]], alpha=0.5, linewidths=0)
    reach = 3.9
    ax.plot(
        [-reach * planted[0], reach * planted[0]],
        [-reach * planted[1], reach * planted[1]],
        color="black",
        lw=1,
        ls=(0, (4, 3)),
    )
    ax.set(xlim=(-4, 4), ylim=(-4, 4), xticks=[], yticks=[], aspect="equal")
    ax.set_title(kind, fontsize=11)


def draw_densities(ax: plt.Axes, values: np.ndarray, y: np.ndarray, degrees: float) -> None:
    values = (values - values.mean()) / values.std()
    points = np.linspace(-3.6, 3.6, 200)
    for group, colour in enumerate(COLOURS[:2]):
        density = gaussian_kde(values[y == group])(points)
        ax.fill_between(points, density, color=colour, alpha=0.35, lw=0)
        ax.plot(points, density, color=colour, lw=1)
    found = degrees < NEAR
    ax.text(
        0.985,
        0.95,
        f"{degrees:.0f}°",
        transform=ax.transAxes,
        ha="right",
        va="top",
        fontsize=9,
        color="black" if found else "#999999",
        weight="bold" if found else "normal",
    )
    ax.set(xlim=(-3.6, 3.6), ylim=(0, None), xticks=[], yticks=[])
    for side in ("top", "left", "right"):
        ax.spines[side].set_visible(False)


def main() -> None:
    kinds = ["shift", "spread", "two modes", "dependence only"]
    names = divergences.available()
    figure, axes = plt.subplots(
        len(names) + 1,
        len(kinds),
        figsize=(9.6, 2.3 + 0.52 * len(names)),
        gridspec_kw={"height_ratios": [4.2] + [1.0] * len(names), "hspace": 0.22, "wspace": 0.08},
    )
    for column, kind in enumerate(kinds):
        X, y, planted = make(kind, np.random.default_rng(column + 1))
        draw_scatter(axes[0, column], X, y, planted, kind)
        labels = Labels(y, 2)
        for row, name in enumerate(names, start=1):
            solution = solve(
                Samples(X),
                labels,
                divergences.get(name),
                SearchSettings(N_FEATURES),
                rng=np.random.default_rng(0),
            )
            degrees = angle(solution.direction, planted)
            print(f"{kind:18} {name:28} {degrees:5.1f} degrees")
            sign = 1.0 if solution.direction @ planted > 0 else -1.0
            draw_densities(axes[row, column], sign * (X @ solution.direction), y, degrees)
            if column == 0:
                axes[row, 0].set_ylabel(
                    name, rotation=0, ha="right", va="center", fontsize=9, family="monospace"
                )
    handles = [
        plt.Line2D([], [], color=COLOURS[g], marker="o", ls="", label=f"group {'ab'[g]}") for g in (0, 1)
    ]
    handles.append(plt.Line2D([], [], color="black", lw=1, ls=(0, (4, 3)), label="where they differ"))
    axes[0, 0].legend(
        handles=handles, loc="center right", bbox_to_anchor=(-0.2, 0.5), frameon=False, fontsize=9
    )
    path = Path(__file__).parent / "images" / "divergences.png"
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=110, bbox_inches="tight", metadata={"Software": None})


if __name__ == "__main__":
    main()
