"""Fig. 1a: the objective over directions, and where tightening ends with and without RELAX before it.

Two 3-dimensional Gaussians with equal margins, 1000 rows each. The picture shows the divergence over the
second and third weight (the first follows from unit length), as the paper draws it; the table repeats the
experiment over fresh data: ascents from random starts, RELAX followed by tightening, and the default fit,
against the optimum of a dense grid.
"""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np

from benchmarks import sections
from benchmarks.search import grid_optimum, values_of
from princdiff import PDA, relax
from princdiff.data.labels import Labels
from princdiff.data.samples import Samples
from princdiff.datasets import make_gaussian_pair
from princdiff.divergences import Wasserstein2
from princdiff.solvers.ascent import Tolerance, ascend
from princdiff.solvers.sparsity import Sparsity

SETTINGS = {
    "full": {"rows": 1000, "starts": 100, "grid": 181, "optimum": 20_000},
    "quick": {"rows": 300, "starts": 20, "grid": 61, "optimum": 4000},
}


def tighten(X: np.ndarray, y: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where the ascent ends from each start: directions with a non-negative first weight, and values."""
    samples, count = Samples(X), len(starts)
    found = ascend(
        samples,
        Labels(y, 2).repeat(count),
        Wasserstein2(),
        Sparsity(np.full(count, X.shape[1])),
        starts,
        Tolerance(300, 1e-7, 8),
    )
    directions = found.directions * np.where(found.directions[:, :1] < 0, -1, 1)
    return directions, found.objective * samples.unit**2


def objective_grid(X: np.ndarray, points: int) -> tuple[np.ndarray, np.ndarray]:
    """Values over the second and third weight in [-1, 1], NaN outside the disc."""
    axis = np.linspace(-1, 1, points)
    second, third = np.meshgrid(axis, axis, indexing="xy")
    inside = second**2 + third**2 <= 1
    first = np.sqrt(np.clip(1 - second**2 - third**2, 0, None))
    directions = np.stack([first[inside], second[inside], third[inside]], axis=1)
    values = np.full(second.shape, np.nan)
    values[inside] = np.concatenate(
        [values_of(part @ X.T) for part in np.array_split(directions, max(1, len(directions) // 200))]
    )
    return axis, values


def repeat(seed: int, settings: dict) -> dict:
    """One data set: the optimum, and what each way of searching reaches."""
    rng = np.random.default_rng(seed)
    X, y = make_gaussian_pair(settings["rows"], random_state=seed)
    optimum = grid_optimum(X, rng, settings["optimum"])
    ends, reached = tighten(X, y, rng.normal(size=(settings["starts"], 3)))
    relaxed = relax(X, y, random_state=seed)
    printed = relax(X, y, method="paper")
    from_relax, from_printed = (tighten(X, y, result.directions[:, :1].T) for result in (relaxed, printed))
    fit = PDA(random_state=seed, n_jobs=1).fit(X, y)
    return {
        "X": X,
        "optimum": optimum,
        "random": reached / optimum,
        "ends": ends,
        "relax only": values_of(relaxed.directions[:, 0] @ X.T) / optimum,
        "RELAX": from_relax[1][0] / optimum,
        "RELAX as printed": from_printed[1][0] / optimum,
        "end of RELAX": from_relax[0][0],
        "default fit": fit.divergences_[0] / optimum,
        "spectrum": relaxed.spectrum[0],
    }


def draw(result: dict, settings: dict) -> plt.Figure:
    axis, values = objective_grid(result["X"], settings["grid"])
    figure, axes = plt.subplots(figsize=(5.6, 4.6))
    filled = axes.contourf(axis, axis, values, levels=24, cmap="Greys")
    axes.contour(axis, axis, values, levels=12, colors="#ffffff", linewidths=0.4)
    figure.colorbar(filled, ax=axes, label="squared Wasserstein distance")
    poor = result["random"] < 0.99
    if poor.any():
        axes.scatter(*result["ends"][poor, 1:].T, s=45, c="#27ae60", edgecolors="white", linewidths=0.6)
        at = result["ends"][poor][0]
        share = (
            f"{poor.mean():.0%} of random starts end here\n({result['random'][poor].mean():.2f} of the best)"
        )
        place = (0.02, 0.02)
        axes.annotate(
            share, at[1:], place, textcoords="axes fraction", color="#1b7a43", fontsize=9,
            arrowprops={"arrowstyle": "-", "color": "#27ae60"},
        )  # fmt: skip
    end = result["end of RELAX"]
    axes.scatter(*end[1:], s=150, c="#c0392b", marker="*", edgecolors="white", linewidths=0.6)
    axes.annotate(
        "RELAX, then tightening", end[1:], (0.98, 0.97), textcoords="axes fraction", color="#c0392b",
        fontsize=9, va="top", ha="right", arrowprops={"arrowstyle": "-", "color": "#c0392b"},
    )  # fmt: skip
    axes.add_patch(plt.Circle((0, 0), 1, fill=False, color=sections.INK, linewidth=0.6))
    axes.set(xlabel="second weight", ylabel="third weight", aspect="equal")
    axes.set(xticks=[-1, -0.5, 0, 0.5, 1], yticks=[-1, -0.5, 0, 0.5, 1])
    axes.set_title("Divergence over directions (first weight from unit length)", fontsize=10)
    return figure


def main(argv: Sequence[str] | None = None) -> None:
    options = sections.parse(__doc__, argv, seeds=20, quick_seeds=2)
    settings = SETTINGS["quick" if options.quick else "full"]
    section = sections.Section("fig1a", "Fig. 1a: a problem with a poor local optimum", options)
    results = [repeat(seed, settings) for seed in options.seeds]
    section.figure(
        draw(results[0], settings),
        "The objective between the two 3-d Gaussians; green: where tightening from random starts ends when "
        "it misses the optimum, red: RELAX followed by tightening.",
    )
    plt.close("all")
    lost = np.array([np.mean(result["random"] < 0.99) for result in results])
    poor = np.concatenate([result["random"][result["random"] < 0.99] for result in results])
    rows = [
        [
            "tightening from one random start",
            f"{1 - lost.mean():.0%} ({1 - lost.max():.0%} to {1 - lost.min():.0%} by data set)",
            f"{np.mean([result['random'].mean() for result in results]):.4f}",
            f"{min(result['random'].min() for result in results):.4f}",
        ]
    ]
    names = {
        "relax only": "RELAX alone (leading eigenvector)",
        "RELAX": "RELAX, then tightening",
        "RELAX as printed": "the paper's algorithm as printed, then tightening",
        "default fit": "default fit",
    }
    for key, name in names.items():
        ratios = np.array([result[key] for result in results])
        rows.append([name, f"{np.mean(ratios >= 0.99):.0%}", f"{ratios.mean():.4f}", f"{ratios.min():.4f}"])
    section.table(["search", "within 1 % of the optimum", "mean share of the optimum", "worst"], rows)
    section.say(
        f"""{len(results)} data sets of {settings["rows"]} rows a group, {settings["starts"]} random starts
        each; the optimum is that of a dense grid over the half sphere with refinement,
        {np.mean([result["optimum"] for result in results]):.4f} on average (spread
        {np.std([result["optimum"] for result in results]):.4f}). The paper says that tightening from a random
        start ends "significantly inferior" to RELAX: when it misses, it reaches
        {poor.mean() if len(poor) else np.nan:.2f} of the optimum on average. The relaxation is close to tight
        here: the leading eigenvalue of B is {np.mean([result["spectrum"] for result in results]):.3f} of its
        trace."""
    )
    section.write()


if __name__ == "__main__":
    main()
