"""Pictures of a comparison: what `DifferenceResult.plot_...` draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from princdiff.show import feature_plots, plot_style, plots
from princdiff.show.figures import centred, upper_group
from princdiff.words import on_directions, on_pairs, readable_figures, wording

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from princdiff.result import DifferenceResult

_MOST_LEVELS = 14


def projection(result: DifferenceResult, component: int, ax: Axes | None) -> Axes:
    """The groups along a direction, with the answer above."""
    names = readable_figures.group_names(result)
    stored = result.reference.components[component]
    members = [stored[group] for group in result.groups]
    quantiles = dict(zip(names, centred(members), strict=True))
    rows = dict(zip(names, (group.rows for group in members), strict=True))
    effect = f"{result.effect:.2g} standard deviations apart"
    title = f"{wording.format_pvalue(result)}, {effect}"
    if component > 0:
        title = f"component {component + 1}: {on_directions.component_facts(result, component)}".rstrip(".")
    return plots.quantile_densities(quantiles, result.reference.levels, rows=rows, title=title, ax=ax)


def contrast(result: DifferenceResult, name: str | None, ax: Axes | None) -> Axes:
    """The groups along one of the contrasts; default the one that led.

    Raises
    ------
    ValueError
        If there is no such contrast.
    """
    found = {part.name: part for part in result.contrasts}
    name = next(iter(found), None) if name is None else name
    if name not in found:
        known = ", ".join(map(repr, found)) or "none"
        raise ValueError(f"name: no contrast of this result is called {name!r}; it has {known}")
    part = found[name]
    members = [part.groups[group] for group in result.groups]
    quantiles = dict(zip(readable_figures.group_names(result), centred(members), strict=True))
    rows = dict(zip(quantiles, (group.rows for group in members), strict=True))
    title = f"{name}: {part.effect:.2g} standard deviations apart"
    return plots.quantile_densities(quantiles, result.reference.levels, rows=rows, title=title, ax=ax)


def witness(result: DifferenceResult, axes: Sequence[Axes] | None) -> NDArray[np.object_]:
    """Where the rows of each group lie, in two coordinates.

    Raises
    ------
    ValueError
        If the groups differ along a direction, so that there is nothing else to draw.
    """
    found = result.witness
    if found is None or not found.axes:
        raise ValueError(
            "there is no picture of rows in two dimensions: directions and columns show it better"
        )
    shares = {
        name: found.shares[group].reshape(len(found.edges[0]) - 1, -1)
        for name, group in zip(readable_figures.group_names(result), result.groups, strict=True)
    }
    return feature_plots.densities_by_group(found.edges, shares, found.axes, axes=axes)


def weights(result: DifferenceResult, component: int, top: int, ax: Axes | None) -> Axes:
    """The leading features' weights and shares."""
    direction = result.directions.iloc[:, component]
    column = "share" if component == 0 else f"share {component + 1}"
    shares = None
    if result.table[column].notna().any():
        shares = result.table.set_index("feature")[column].reindex(direction.index).to_numpy()
    upper = upper_group(result.reference.components[component])
    return plots.weights(
        direction.to_numpy(),
        direction.index,
        shares=shares,
        top=top,
        upper=upper,
        ax=ax,
    )


def columns(result: DifferenceResult, top: int, ax: Axes | None) -> Axes:
    """How much the leading columns differ, and what changed."""
    frame = result.columns
    chosen = frame[frame["selected"].astype(bool)]
    shown = chosen if len(chosen) else frame.sort_values("effect", ascending=False, kind="stable")
    shown = shown.head(top)
    ax = feature_plots.sizes(
        shown["column"].astype(str).tolist(),
        shown["effect"].to_numpy(float),
        shown["selected"].to_numpy(bool),
        changes=[result.change_of(name) for name in shown["column"].astype(str)],
        intervals=[wording.interval_text(row) for row in shown.to_dict("records")],
        ax=ax,
    )
    names = " and ".join(plot_style.shortened(name, 24) for name in readable_figures.group_names(result))
    names = names if len(result.groups) <= 2 else f"{len(result.groups)} groups"
    ax.set_title(f"{names}: {wording.format_pvalue(result)}", loc="left", fontsize="medium")
    return ax


def balance(result: DifferenceResult, ax: Axes | None) -> Axes:
    """Standardised differences of the covariates, before and after the adjustment.

    Raises
    ------
    ValueError
        If the comparison was made without covariates.
    """
    table = result.balance
    if table.empty:
        raise ValueError("the comparison was made without covariates, so there is no balance to draw")
    return feature_plots.differences_before_and_after(
        table["covariate"].astype(str).tolist(),
        table["before"].abs().to_numpy(float),
        table["after"].abs().to_numpy(float),
        ax=ax,
    )


def feature(result: DifferenceResult, name: str, ax: Axes | None) -> Axes:
    """A column or one of its features in each group: levels and flags as bars, numbers as histograms.

    Raises
    ------
    ValueError
        If there is no such column or feature, or its distribution is not kept.
    """
    table = result.table
    own = table[table["feature"] == name]
    if own.empty:
        own = table[table["column"] == name]
    if own.empty:
        raise ValueError(f"no column or feature is called {name!r}")
    kinds = own["kind"].tolist()
    if all(kind in ("proportion", "missing") for kind in kinds):
        return _proportions(result, own["feature"].tolist(), name, ax)
    # Of a number and the mark of its gaps, or the parts of a date, the one that moved most.
    numbers = own[~own["kind"].isin(["proportion", "missing"])]
    leading = str(numbers["feature"].iat[int(np.argmax(numbers["effect"].to_numpy(float)))])
    if leading not in result.distributions:
        raise ValueError(f"no distribution of {leading!r} is kept; only those of the leading features are")
    stored = result.distributions[leading]
    names = readable_figures.group_names(result)
    shares = {label: stored.shares[group] for label, group in zip(names, result.groups, strict=True)}
    return feature_plots.histograms(stored.edges, shares, leading, values=stored.values, ax=ax)


def _proportions(result: DifferenceResult, features: list[str], name: str, ax: Axes | None) -> Axes:
    """Levels, the largest change first; what there is no room for is one line."""
    means = result.table.set_index("feature").loc[features, [f"mean {group}" for group in result.groups]]
    # A group without any value has no bar.
    values = np.nan_to_num(means.to_numpy(float))
    order = np.argsort(-np.ptp(values, axis=1), kind="stable")
    labels = [_level(result, feature) for feature in features]
    shown = [labels[place] for place in order]
    values = values[order]
    if len(shown) > _MOST_LEVELS + 1:
        rest = len(shown) - _MOST_LEVELS
        values = np.vstack([values[:_MOST_LEVELS], values[_MOST_LEVELS:].sum(axis=0)])
        shown = [*shown[:_MOST_LEVELS], f"{rest} other levels"]
    return feature_plots.bars(
        shown, dict(zip(readable_figures.group_names(result), values.T, strict=True)), name, ax=ax
    )


def _level(result: DifferenceResult, feature: str) -> str:
    """What a feature shows of its column."""
    column = str(result.table.loc[result.table["feature"] == feature, "column"].iat[0])
    if feature == column:
        return "1"
    return feature.removeprefix(f"{column} = ") if feature != f"{column} (missing)" else "missing"


def relations(result: DifferenceResult, top: int, ax: Axes | None) -> Axes:
    """The correlations of pairs in each group, those first that were shown to differ.

    Raises
    ------
    ValueError
        If no pair was looked at.
    """
    named = on_pairs.named_pairs(result)
    pairs = named if len(named) else result.relations
    if pairs.empty:
        raise ValueError("no pairs of features were compared, so there is nothing to draw")
    pairs = pairs.head(top)
    rows = pairs.to_dict("records")
    values = np.array([on_pairs.dependence(result, row) for row in rows]).T
    return feature_plots.correlations(
        [(str(row["first"]), str(row["second"])) for row in rows],
        dict(zip(readable_figures.group_names(result), values, strict=True)),
        selected=pairs["selected"].to_numpy(bool),
        ax=ax,
    )
