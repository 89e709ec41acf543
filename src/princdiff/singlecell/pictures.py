"""Pictures of results in AnnData, `princdiff.pl`: each takes and returns matplotlib Axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import NDArray

from princdiff.data import parameters
from princdiff.data.parameters import Either, Names, Pair, Text, Whole
from princdiff.data.shared_docs import with_shared_docs
from princdiff.show import feature_plots, plot_style, plots
from princdiff.singlecell.anndata_input import REST, in_memory, unknown
from princdiff.singlecell.getters import chosen_column, pda_df, pda_gene_sets_df, pda_statistics, result_of

_BINS = 40


@with_shared_docs
def pda(
    adata: Any, key: str = "pda", *, group: str | None = None, component: int = 1, ax: Axes | None = None
) -> Axes:
    """Draw the cells of a comparison on a direction, a density for each group.

    Parameters
    ----------
    {adata}
    {key}
    {one_comparison}
    {one_direction}
    {ax}

    Returns
    -------
    Axes

    Examples
    --------
    {example_cells}
    >>> princdiff.tl.pda(cells, "tissue", n_features=3, n_permutations=19)
    >>> axes = princdiff.pl.pda(cells)
    >>> axes.get_xlabel()
    'component 1 (p = 0.05)'
    """
    parameters.check({"ax": ax})
    result = result_of(adata, key)
    place, chosen = chosen_column(result, group, component)
    sides = _sides(adata, result, chosen)
    shown = sides != ""
    values = np.asarray(adata.obsm[f"X_{key}"])[shown, place]
    label = f"component {component}"
    if np.isfinite(chosen["pvalue"]):
        label += f" (p = {chosen['pvalue']:.2g})"
    order = _order(sides[shown], chosen)
    ax = plots.projection(values, sides[shown], order=order, ax=ax, xlabel=label)
    legend = ax.get_legend()
    for text in legend.get_texts() if legend else []:
        text.set_text(text.get_text().replace(" rows)", " cells)"))
    return ax


@with_shared_docs
def pda_genes(
    adata: Any,
    key: str = "pda",
    *,
    group: str | None = None,
    component: int = 1,
    top: int = 15,
    ax: Axes | None = None,
) -> Axes:
    """Draw the largest weights of a direction, and each gene's share of the difference.

    Parameters
    ----------
    {adata}
    {key}
    {one_comparison}
    {one_direction}
    top : int, default=15
        How many genes.
    {ax}

    Returns
    -------
    Axes

    Examples
    --------
    {example_cells}
    >>> princdiff.tl.pda(cells, "tissue", n_features=3, n_permutations=0)
    >>> axes = princdiff.pl.pda_genes(cells)
    >>> axes.get_title()
    'cortex against hippocampus'
    """
    parameters.check({"top": top, "ax": ax}, top=Whole(1))
    _, chosen = chosen_column(result_of(adata, key), group, component)
    table = pda_df(adata, key, group=chosen["group"], component=component, top=top)
    ax = plots.weights(table["weight"], table["gene"], shares=table["share"], top=top, ax=ax)
    ax.set_title(f"{chosen['group']} against {chosen['reference']}", fontsize="medium")
    return ax


@with_shared_docs
def pda_heatmap(
    adata: Any,
    key: str = "pda",
    *,
    component: int = 1,
    groups: Sequence[str] | None = None,
    top: int = 4,
    ax: Axes | None = None,
) -> Axes:
    """Draw genes x groups: weights of the leading genes of every comparison in all of them.

    Parameters
    ----------
    adata : AnnData
        After `princdiff.tl.pda`, of several groups.
    {key}
    component : int, default=1
        Which direction of each comparison.
    groups : sequence of str, optional
        Comparisons to show; default all.
    top : int, default=4
        Genes of each comparison.
    {ax}

    Returns
    -------
    Axes
        Red weights pull towards the group, blue ones away from it.

    Examples
    --------
    {example_cells}
    >>> cells.obs["layer"] = ["1", "2", "3"] * 20
    >>> princdiff.tl.pda(cells, "layer", n_features=2, n_permutations=0)
    >>> axes = princdiff.pl.pda_heatmap(cells)
    >>> [label.get_text() for label in axes.get_xticklabels()]
    ['1', '2', '3']
    """
    parameters.check({"top": top, "groups": groups, "ax": ax}, top=Whole(1), groups=Either(Names(), None))
    statistics = pda_statistics(adata, key)
    names = list(dict.fromkeys(statistics["group"])) if groups is None else list(groups)
    for name in names:
        chosen_column(result_of(adata, key), name, component)
    table = pda_df(adata, key, component=component)
    table = table[table["group"].isin(names)]
    leading = table[(table["rank"] <= top) & (table["weight"] != 0)]
    genes = list(
        dict.fromkeys(gene for name in names for gene in leading.loc[leading["group"] == name, "gene"])
    )
    shown = table[table["gene"].isin(genes)]
    weights = shown.pivot_table(index="gene", columns="group", values="weight", observed=True)
    weights = weights.reindex(index=genes, columns=names).fillna(0.0)
    ax = plot_style.new_axes(ax, (2.4 + 0.45 * len(names), 2.6 + 0.22 * len(genes)))
    limit = float(np.abs(weights.to_numpy()).max()) or 1.0
    drawn = ax.imshow(weights.to_numpy(), aspect="auto", cmap="RdBu_r", vmin=-limit, vmax=limit)
    ax.set_xticks(np.arange(len(names)), names, rotation=45, ha="right", rotation_mode="anchor")
    ax.set_yticks(np.arange(len(genes)), genes, fontsize="small")
    ax.tick_params(length=0)
    for boundary in np.arange(1, len(names)):
        ax.axvline(boundary - 0.5, color="white", linewidth=1.5)
    ax.spines[:].set_visible(False)
    ax.figure.colorbar(drawn, ax=ax, label="weight", shrink=0.6)
    return ax


@with_shared_docs
def pda_scatter(
    adata: Any,
    color: str | None = None,
    key: str = "pda",
    *,
    components: tuple[int, int] = (1, 2),
    group: str | tuple[str, str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw all cells on two directions, coloured by any column of ``obs``.

    Parameters
    ----------
    {adata}
    color : str, optional
        Column of ``obs``, categories or numbers; default that of the groups.
    {key}
    components : pair of int, default=(1, 2)
        Directions of one comparison, across and up.
    group : str or pair of str, optional
        Which comparison. A pair: the first direction of one comparison across, of the other up.
    {ax}

    Returns
    -------
    Axes

    Examples
    --------
    {example_cells}
    >>> princdiff.tl.pda(cells, "tissue", n_features=3, n_permutations=0, n_components=2)
    >>> axes = princdiff.pl.pda_scatter(cells, "tissue")
    >>> axes.get_xlabel(), axes.get_ylabel()
    ('component 1', 'component 2')
    """
    parameters.check({"components": components, "ax": ax}, components=Pair())
    result = result_of(adata, key)
    if isinstance(group, str) or group is None:
        axes = [(group, component) for component in components]
    else:
        axes = [(name, 1) for name in group]
    if len(axes) != 2:
        raise ValueError("two directions are drawn: give two components, or a pair of groups")
    if isinstance(group, str | None) and int(result["statistics"]["component"].max()) < 2:
        raise ValueError(
            "there is one component only: call tl.pda with n_components=2, or give a pair of groups, group="
        )
    chosen = [chosen_column(result, name, component) for name, component in axes]
    color = result["params"]["groupby"] if color is None else color
    if color not in adata.obs.columns:
        raise unknown("color", color, "adata.obs", adata.obs.columns)
    points = np.asarray(adata.obsm[f"X_{key}"])[:, [place for place, _ in chosen]]
    ax = plot_style.new_axes(ax, (6.2, 4.6))
    _colour_points(ax, points, adata, color)
    labels = [f"component {row['component']}" for _, row in chosen]
    if isinstance(group, tuple | list):
        labels = [f"{row['group']} against {row['reference']}" for _, row in chosen]
    ax.set_xlabel(labels[0])
    ax.set_ylabel(labels[1])
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _colour_points(ax: Axes, points: NDArray, adata: Any, color: str) -> None:
    column = adata.obs[color]
    size = float(np.clip(6000 / max(1, len(points)), 2, 30))
    numbers = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    if numbers:
        drawn = ax.scatter(
            points[:, 0], points[:, 1], c=column.to_numpy(float), s=size, linewidth=0, cmap="viridis"
        )
        ax.figure.colorbar(drawn, ax=ax, label=color)
        return
    categories = column.astype("category").cat.remove_unused_categories().cat.categories
    colours = _colours(adata, color, column, len(categories))
    names = column.astype(object).to_numpy()
    # In random order, so that no category hides the others by being drawn last.
    order = np.random.default_rng(0).permutation(len(points))
    lookup = dict(zip(categories, colours, strict=True))
    # Cells without a category are light grey.
    shown = [lookup.get(names[i], "0.85") for i in order]
    ax.scatter(points[order, 0], points[order, 1], c=shown, s=size, linewidth=0, alpha=0.8)
    for name in categories:
        ax.scatter([], [], color=lookup[name], s=30, label=str(name))
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize="small", title=color)


def _colours(adata: Any, color: str, column: pd.Series, count: int) -> list[Any]:
    """Scanpy's colours of the categories if it has chosen some, else ours."""
    given = adata.uns.get(f"{color}_colors")
    if given is not None and isinstance(column.dtype, pd.CategoricalDtype):
        present = column.cat.categories.isin(column.dropna().unique())
        if len(given) == len(present):
            return [str(one) for one, kept in zip(given, present, strict=True) if kept]
    if count <= len(plot_style.COLOURS):
        return list(plot_style.COLOURS[:count])
    import matplotlib

    palette = matplotlib.colormaps["tab20" if count <= 20 else "gist_ncar"]
    return [palette(place % 20 if count <= 20 else place / count) for place in range(count)]


@with_shared_docs
def pda_gene(
    adata: Any, gene: str, key: str = "pda", *, group: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the distribution of one gene in the groups of a comparison.

    Parameters
    ----------
    {adata}
    gene : str
        Name in ``var_names``.
    {key}
    {one_comparison}
    {ax}

    Returns
    -------
    Axes

    Examples
    --------
    {example_cells}
    >>> princdiff.tl.pda(cells, "tissue", n_features=3, n_permutations=0)
    >>> axes = princdiff.pl.pda_gene(cells, "2")
    >>> axes.get_xlabel(), axes.get_ylabel()
    ('2', 'share of cells')
    """
    parameters.check({"gene": gene, "ax": ax}, gene=Text())
    result = result_of(adata, key)
    _, chosen = chosen_column(result, group, 1)
    if gene not in adata.var_names:
        raise unknown("gene", gene, "adata.var_names", adata.var_names)
    layer = result["params"].get("layer")
    place = adata.var_names.get_loc(gene)
    part = adata[:, [place]]
    column = in_memory(part.X if layer is None else part.layers[layer])
    values = np.asarray(column.toarray() if hasattr(column, "toarray") else column, dtype=float).ravel()
    sides = _sides(adata, result, chosen)
    names = _order(sides[sides != ""], chosen)
    edges = np.histogram_bin_edges(values[sides != ""], bins=_BINS)
    shares = {}
    for name in names:
        counts = np.histogram(values[sides == name], edges)[0]
        shares[name] = counts / counts.sum()
    ax = feature_plots.histograms(edges, shares, gene, ax=ax)
    ax.set_ylabel("share of cells")
    return ax


@with_shared_docs
def pda_gene_sets(adata: Any, key: str = "pda", *, top: int = 12, ax: Axes | None = None) -> Axes:
    """Draw the most enriched gene sets: how many of their genes lead, and how sure that is.

    Parameters
    ----------
    adata : AnnData
        After `princdiff.tl.pda_gene_sets`.
    key : str, default="pda"
        Where results are.
    top : int, default=12
        How many sets.
    {ax}

    Returns
    -------
    Axes
        Bars: -log10 of the hypergeometric p-value, adjusted; dots: of the permutation p-value, adjusted.

    Examples
    --------
    {example_cells}
    >>> princdiff.tl.pda(cells, "tissue", n_features=3, n_permutations=19)
    >>> princdiff.tl.pda_gene_sets(cells, {"even": ["0", "2", "4", "6"]}, n_top=2, min_size=2)
    >>> axes = princdiff.pl.pda_gene_sets(cells)
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['even']
    """
    parameters.check({"top": top, "ax": ax}, top=Whole(1))
    table = pda_gene_sets_df(adata, key).head(top)
    ax = plot_style.new_axes(ax, (7.0, 1.2 + 0.32 * len(table)))
    rows = np.arange(len(table))
    bars = -np.log10(np.maximum(table["pvalue_adjusted"].to_numpy(float), 1e-300))
    ax.barh(rows, bars, height=0.7, color=plot_style.COLOURS[5], label="hypergeometric")
    dots = table["pvalue_permutation_adjusted"].to_numpy(float)
    if np.isfinite(dots).any():
        ax.plot(
            -np.log10(dots),
            rows,
            "D",
            color=plot_style.COLOURS[1],
            markersize=6,
            clip_on=False,
            label="permutation",
        )
    ax.axvline(-np.log10(0.05), color="0.3", linestyle="--", linewidth=1, label="5 %")
    right = max(float(bars.max()), 1.4)
    for row, (bar, overlap, size) in enumerate(zip(bars, table["overlap"], table["size"], strict=True)):
        dot = -np.log10(dots[row]) if np.isfinite(dots[row]) else 0.0
        ax.annotate(
            f"{overlap} of {size}",
            (max(bar, dot), row),
            xytext=(7, 0),
            textcoords="offset points",
            va="center",
            fontsize="small",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0},
        )
    ax.set_xlim(0, 1.18 * right)
    ax.set_yticks(rows, [plot_style.shortened(str(name)) for name in table["gene_set"]])
    ax.invert_yaxis()
    ax.set_xlabel("-log10 of the adjusted p-value")
    ax.spines[["top", "right"]].set_visible(False)
    plot_style.add_legend(ax, beside=True)
    return ax


def _order(sides: NDArray, chosen: pd.Series) -> list[str]:
    """The reference, then the group, coloured as by `compare`; or all groups that were compared jointly."""
    if chosen["group"] == "all":
        return sorted(set(sides))
    return [str(chosen["reference"]), str(chosen["group"])]


def _sides(adata: Any, result: dict[str, Any], chosen: pd.Series) -> NDArray:
    """Each cell's side of a comparison, or nothing for a cell outside."""
    groupby = result["params"]["groupby"]
    if groupby not in adata.obs.columns:
        raise unknown("groupby", groupby, "adata.obs any more", adata.obs.columns)
    labels = np.asarray(adata.obs[groupby].astype(object).map(str), dtype=object)
    group, reference = str(chosen["group"]), str(chosen["reference"])
    if group == "all":
        return np.where(np.isin(labels, [str(name) for name in result["params"]["groups"]]), labels, "")
    sides = np.where(labels == group, group, "").astype(object)
    sides[labels == reference if reference != REST else labels != group] = reference
    return sides
