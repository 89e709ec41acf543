"""Pictures of genes and cell types without a direction, `princdiff.pl.volcano` and `pda_cell_types`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from princdiff.data import parameters
from princdiff.data.parameters import Whole
from princdiff.data.shared_docs import with_shared_docs
from princdiff.show import plot_style
from princdiff.singlecell.getters import genes_of, pda_cell_types_df
from princdiff.tables.frames import listed

# What differs, and its colour; genes that were not named are grey.
_KINDS = {
    "mean": plot_style.COLOURS[1],
    "alone": plot_style.COLOURS[1],
    "variability": plot_style.COLOURS[0],
    "co-expression": plot_style.COLOURS[2],
}
# Half of the height of a name, as a share of the axes.
_NAME_HEIGHT = 0.022


@with_shared_docs
def volcano(
    adata: Any, key: str = "pda", *, group: str | None = None, top: int = 12, ax: Axes | None = None
) -> Axes:
    """Draw genes by how much they changed and how sure that is.

    Parameters
    ----------
    adata : AnnData
        After `princdiff.tl.pda` with ``n_permutations``.
    {key}
    group : str, optional
        Which comparison, or of ``by`` which cell type; needed where there are several.
    top : int, default=12
        Genes to name, the clearest ones.
    {ax}

    Returns
    -------
    Axes
        Logarithm of the fold change to base 2 and -log10 of the p-value of every gene that was tested. Genes
        that were named, after adjustment for all, are coloured by what differs; p-values that count
        permutations have a least one, at which the clearest genes lie side by side.

    Examples
    --------
    {example_cells}
    >>> princdiff.tl.pda(cells, "tissue", n_components=0)
    >>> axes = princdiff.pl.volcano(cells)
    >>> axes.get_title(loc="left")
    'cortex against hippocampus: 1 gene named'
    """
    parameters.check({"top": top, "ax": ax}, top=Whole(0))
    table = genes_of(adata, key, group)
    names = list(dict.fromkeys(map(str, table["group"])))
    if len(names) > 1:
        raise ValueError(f"there are {len(names)} comparisons; choose one with group=: {listed(names)}")
    if "logfoldchange" not in table or table["pvalue"].isna().all():
        raise ValueError(
            "genes were not tested between two groups; call princdiff.tl.pda with n_permutations"
        )
    seen = (table["pvalue"] < 1.0) | (table["score"] > 0.0)
    tested = table[seen & table["logfoldchange"].notna()]
    change = tested["logfoldchange"].to_numpy(float)
    clear = -np.log10(np.maximum(tested["pvalue"].to_numpy(float), 1e-300))
    chosen = tested["selected"].to_numpy(bool)
    kinds = tested["reason"].astype(str).str.split(" ").str[0].to_numpy()
    ax = plot_style.new_axes(ax, (6.4, 4.8))
    ax.axvline(0.0, color="0.85", linewidth=1, zorder=0)
    ax.scatter(change[~chosen], clear[~chosen], s=8, color="0.75", linewidth=0)
    for kind in dict.fromkeys(kinds[chosen]):
        own = chosen & (kinds == kind)
        label = f"{'distribution' if kind == 'alone' else kind} ({own.sum()})"
        colour = _KINDS.get(kind, plot_style.COLOURS[1])
        ax.scatter(change[own], clear[own], s=16, color=colour, linewidth=0, label=label)
    # A gene that one side does not show has a change of any size.
    widest = 1.1 * float(np.quantile(np.abs(change), 0.999, method="higher")) if len(change) else 1.0
    ax.set_xlim(-widest, widest)
    ax.set_ylim(0, max(1.8, 1.12 * float(clear.max(initial=0.0))))
    _name_genes(ax, tested[chosen].assign(x=change[chosen], y=clear[chosen]), top)
    first = table.iloc[0]
    compared = f"{first['group']} against {first['reference']}"
    if "cell_type" in table:
        compared = (
            f"{first['cell_type']}, {adata.uns[key]['params']['groups'][0]} against {first['reference']}"
        )
    count = int(chosen.sum())
    plot_style.set_title(ax, f"{compared}: {count} gene{'s' * (count != 1)} named")
    ax.set_xlabel("log2 fold change")
    ax.set_ylabel("-log10 of the p-value")
    ax.spines[["top", "right"]].set_visible(False)
    if chosen.any():
        ax.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return ax


def _name_genes(ax: Axes, named: pd.DataFrame, top: int) -> None:
    """Names beside the clearest genes, but none over another."""
    width, height = np.ptp(ax.get_xlim()), np.ptp(ax.get_ylim())
    # Neither other names nor other genes that were named are covered.
    taken: list[tuple[float, float, float]] = []
    points = named[["x", "y"]].to_numpy(float)
    order = named.sort_values(["y", "score"], ascending=False, kind="stable").head(20 * top)
    for _, gene in order.iterrows():
        x, y = float(gene["x"]), float(gene["y"])
        text = plot_style.shortened(str(gene["gene"]), 16)
        long = 0.016 * len(text) * width
        # A little beside its own point.
        left = x + 0.008 * width if x > 0 else x - long - 0.008 * width
        crowded = any(
            left < right and begin < left + long and abs(y - other) < 2 * _NAME_HEIGHT * height
            for begin, right, other in taken
        )
        inside = (points[:, 0] > left) & (points[:, 0] < left + long)
        crowded |= bool((inside & (np.abs(points[:, 1] - y) < _NAME_HEIGHT * height)).any())
        if crowded or len(taken) >= top:
            continue
        taken.append((left, left + long, y))
        ax.annotate(
            text,
            (x, y),
            xytext=(4 if x > 0 else -4, 0),
            textcoords="offset points",
            ha="left" if x > 0 else "right",
            va="center",
            fontsize="small",
        )


@with_shared_docs
def pda_cell_types(adata: Any, key: str = "pda", *, top: int = 30, ax: Axes | None = None) -> Axes:
    """Draw how much every cell type changed, how many of its genes are named, and how its share changed.

    Parameters
    ----------
    adata : AnnData
        After `princdiff.tl.pda` with ``by``.
    key : str, default="pda"
        Where results are.
    top : int, default=30
        Types to draw, the most changed ones.
    {ax}

    Returns
    -------
    Axes
        How far apart the groups are in donors that were not learned from, in standard deviations, 0 by
        chance; types of which no gene is named are hollow.

    Examples
    --------
    {example_cells}
    >>> cells.obs["cell_type"] = ["B", "T"] * 30
    >>> princdiff.tl.pda(cells, "tissue", by="cell_type")
    >>> axes = princdiff.pl.pda_cell_types(cells)
    >>> sorted(label.get_text() for label in axes.get_yticklabels())
    ['B', 'T']
    """
    parameters.check({"top": top, "ax": ax}, top=Whole(1))
    table = pda_cell_types_df(adata, key).head(top)
    ax = plot_style.new_axes(ax, (6.8, 1.3 + 0.34 * len(table)))
    rows = np.arange(len(table))
    change = table["change"].to_numpy(float)
    sure = (table["n_selected"] > 0).to_numpy()
    colour = plot_style.COLOURS[0]
    ax.hlines(rows, 0.0, np.nan_to_num(change), color="0.85", linewidth=2, zorder=1)
    ax.scatter(change[sure], rows[sure], s=55, color=colour, zorder=2, label="genes named")
    ax.scatter(change[~sure], rows[~sure], s=55, facecolor="white", edgecolor=colour, zorder=2, label="none")
    for row, one in zip(rows, table.to_dict("records"), strict=True):
        ax.text(
            1.03,
            float(row),
            _words_of(one),
            transform=ax.get_yaxis_transform(),
            va="center",
            fontsize="small",
        )
    ax.axvline(0.0, color="0.4", linestyle="--", linewidth=1)
    most = float(np.nanmax(change, initial=1.0))
    ax.set_xlim(min(0.0, float(np.nanmin(change, initial=0.0))) - 0.04 * most, 1.04 * most)
    ax.set_ylim(len(table) - 0.5, -0.5)
    ax.set_yticks(rows, [plot_style.shortened(str(name)) for name in table["cell_type"]])
    ax.xaxis.set_major_locator(MaxNLocator(6))
    ax.set_xlabel("distance on held-out cells, in standard deviations (0: by chance)")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return ax


def _words_of(one: dict[str, Any]) -> str:
    """What stands beside a cell type."""
    if not np.isfinite(one["change"]) and not np.isfinite(one["pvalue"]):
        return "too few cells"
    count = int(one["n_selected"])
    words = f"{count} gene{'s' * (count != 1)}"
    if "share" in one and one["share_pvalue_adj"] <= 0.05:
        words += f"; share {100 * one['share_reference']:.2g} to {100 * one['share']:.2g} %"
    return words
