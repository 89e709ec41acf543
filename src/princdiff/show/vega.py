"""Pieces of Vega-Lite charts: the library itself, axes, colours, curves and tooltips."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from princdiff.show.screen import shorten

Spec = dict[str, Any]
PALETTE_SIZE = 7
_LONGEST_LABEL = 28
_HEIGHT = 240
# Groups that the reader has switched off.
_HIDDEN = {"name": "hidden", "value": []}
SHOWN = [{"filter": "indexof(hidden, datum.group) < 0"}]


@cache
def library() -> str:
    """The JavaScript of Vega, Vega-Lite and Vega-Embed, out of the installed package.

    Bundling takes seconds, hence the cache.
    """
    try:
        import vl_convert
    except ImportError as error:
        raise ImportError(
            "the HTML report needs its charting library, which is not installed; "
            "install it with: pip install 'princdiff[report]'"
        ) from error
    return vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")


def rounded(value: Any, digits: int = 5) -> Any:
    """Numbers short enough for the page; what is not a finite number is None."""
    if isinstance(value, list | tuple | np.ndarray):
        return [rounded(item, digits) for item in value]
    if value is None or not np.isfinite(value):
        return None
    short = float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short


def labels(names: list[str]) -> list[str]:
    """Short and distinct names for tooltips, where a line is all the room there is."""
    result: list[str] = []
    for name in names:
        short = shorten(name, _LONGEST_LABEL)
        alike = sum(other == short or other.startswith(f"{short} (") for other in result)
        result.append(short if alike == 0 else f"{short} ({alike + 1})")
    return result


def with_room(grid: list[float], log: bool) -> list[float]:
    """Ends of an axis that leave the outermost points whole."""
    low, high = min(grid), max(grid)
    if log:
        return [rounded(low * (low / high) ** 0.03), rounded(high * (high / low) ** 0.03)]
    margin = 0.04 * (high - low) or 0.5
    return [rounded(low - margin), rounded(high + margin)]


def group_curves(data: Spec, x: Spec, y: Spec, count: int, interpolate: str = "linear") -> list[Spec]:
    """A filled curve for each group; the outline is a layer of its own because only lines can be dashed."""
    encoding = {"x": x, "y": {**y, "stack": None}, "color": group_colour(count)}
    fill = 0.28 if count <= 3 else 0.06
    return [
        {
            "data": data,
            "transform": SHOWN,
            "mark": {"type": "area", "interpolate": interpolate, "fillOpacity": fill},
            "encoding": encoding,
        },
        {
            "data": data,
            "transform": SHOWN,
            "mark": {"type": "line", "interpolate": interpolate, "strokeWidth": 2},
            "encoding": {"x": x, "y": y, "color": group_colour(count), "strokeDash": group_dash(count)},
        },
    ]


def hover_strips(data: Any, first: dict[str, str], names: list[str]) -> Spec:
    """Strips over the whole height, unseen until pointed at, that show every group's figure at once."""
    values = data if isinstance(data, dict) else {"values": data}
    tips = tooltips({**first, **{f"g{index}": label for index, label in enumerate(names)}})
    return {
        "data": values,
        "params": [
            {"name": "pointed", "select": {"type": "point", "on": "pointerover", "clear": "pointerout"}}
        ],
        "mark": {"type": "rect", "color": "var(--ink)", "cursor": "crosshair"},
        "encoding": {
            "x": {"field": "x", "type": "quantitative"},
            "x2": {"field": "x2"},
            "opacity": {"condition": {"param": "pointed", "empty": False, "value": 0.15}, "value": 0},
            "tooltip": tips,
        },
    }


def tooltips(fields: dict[str, str]) -> list[Spec]:
    """What a tooltip shows: fields and their titles."""
    return [{"field": field, "type": "nominal", "title": title} for field, title in fields.items()]


def x_axis(
    field: str,
    title: str | None,
    *,
    domain: list[float] | None = None,
    nice: bool | None = None,
    ticks: int = 8,
) -> dict[str, Any]:
    """A horizontal axis of numbers."""
    scale: dict[str, Any] = {"zero": False}
    if domain is not None:
        scale = {"domain": domain, "nice": False}
    elif nice is not None:
        scale["nice"] = nice
    axis = {"title": title, "grid": False, "labelOverlap": "greedy", "labelSeparation": 6, "tickCount": ticks}
    return {"field": field, "type": "quantitative", "scale": scale, "axis": axis}


def group_colour(count: int) -> dict[str, Any]:
    """The colour of a group, as a variable of the page's style."""
    shades = [f"var(--g{index % PALETTE_SIZE})" for index in range(count)]
    scale = {"domain": list(range(count)), "range": shades}
    return {"field": "group", "type": "nominal", "legend": None, "scale": scale}


def group_dash(count: int) -> dict[str, Any]:
    """Beyond the palette's end its colours come again, dashed."""
    dashes = [[1, 0], [6, 3], [2, 2]]
    chosen = [dashes[min(index // PALETTE_SIZE, 2)] for index in range(count)]
    scale = {"domain": list(range(count)), "range": chosen}
    return {"field": "group", "type": "nominal", "legend": None, "scale": scale}


def layered_chart(layers: list[Spec], *, height: int = _HEIGHT, params: list[Spec] | None = None) -> Spec:
    """A chart as wide as its place. The page says in words what it shows, so Vega need not."""
    ink = {"labelColor": "var(--soft)", "titleColor": "var(--soft)"}
    return {
        "width": "container",
        "height": height,
        "autosize": {"type": "fit", "contains": "padding"},
        "background": "transparent",
        "padding": {"left": 2, "right": 8, "top": 6, "bottom": 2},
        "params": [_HIDDEN, *(params or [])],
        "layer": layers,
        "config": {
            "aria": False,
            "font": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif",
            "view": {"stroke": None},
            "axis": {
                **ink,
                "labelFontSize": 12,
                "titleFontSize": 12,
                "titleFontWeight": "normal",
                "titlePadding": 8,
                "domainColor": "var(--line)",
                "tickColor": "var(--line)",
                "gridColor": "var(--line)",
                "gridOpacity": 0.6,
            },
            "axisY": {"domain": False, "ticks": False},
        },
    }
