"""Charts of directions, columns, pairs and tests, as Vega-Lite specifications: plain dicts that Vega draws.

Names from users' files are only ever values of the data, never names of fields or parts of an expression.
Colours are the page's CSS variables, so light, dark and print need no second drawing.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from princdiff.show import figures
from princdiff.show.figures import MOST_BARS, is_far, null_edges
from princdiff.show.vega import (
    SHOWN,
    Spec,
    group_colour,
    group_curves,
    group_dash,
    hover_strips,
    labels,
    layered_chart,
    rounded,
    tooltips,
    with_room,
    x_axis,
)

_WHISKERS = 12
# Levels and values are numbered: a level may have any name, __proto__ too.
_NAMES = {"name": "names", "value": []}
_NAME = "names[datum.value]"


def projection(quantiles: list[NDArray[np.float64]], rows: list[int], names: list[str]) -> Spec:
    """The groups' densities along a direction, from their quantiles at evenly spaced levels.

    Parameters
    ----------
    quantiles : list of arrays of shape (n_levels,)
        One array a group.
    rows : list of int
        Rows in each group: few rows are smoothed more.
    names : list of str
        Groups.

    Returns
    -------
    dict
        Specification.
    """
    grid, densities = figures.curves(quantiles, rows)
    levels = (np.arange(len(quantiles[0])) + 0.5) / len(quantiles[0])
    curves, strips = (
        [],
        [{"x": rounded(a), "x2": rounded(b), "at": rounded((a + b) / 2, 3)} for a, b in pairwise(grid[::2])],
    )
    for index, (points, density) in enumerate(zip(quantiles, densities, strict=True)):
        curves += [
            {"x": rounded(x), "y": rounded(y, 4), "group": index} for x, y in zip(grid, density, strict=True)
        ]
        for strip in strips:
            below = np.interp((strip["x"] + strip["x2"]) / 2, points, levels, left=0.0, right=1.0)
            strip[f"g{index}"] = f"{100 * below:.0f} %"
    medians = [{"x": rounded(np.median(points)), "group": index} for index, points in enumerate(quantiles)]
    horizontal = x_axis("x", "score", domain=[rounded(grid[0]), rounded(grid[-1])])
    vertical = {"field": "y", "type": "quantitative", "axis": None}
    chart = layered_chart(
        [
            *group_curves({"name": "curves"}, horizontal, vertical, len(names)),
            {
                "data": {"values": medians},
                "transform": SHOWN,
                "mark": {"type": "rule", "strokeWidth": 1.5, "strokeDash": [2, 3]},
                "encoding": {"x": {"field": "x", "type": "quantitative"}, "color": group_colour(len(names))},
            },
            hover_strips(strips, {"at": "score"}, [f"{label}, rows below" for label in labels(names)]),
        ],
    )
    return {**chart, "datasets": {"curves": curves}}


def pictures(names: list[str]) -> dict[str, Spec]:
    """What the page draws of single columns and pairs, without their data: it fills these in by name.

    Returns
    -------
    dict
        ``number``: histograms, with mean and standard deviation above; ``values``: a number that takes few
        values; ``levels``: proportions of levels, flags or missing values; ``pair``: two correlated columns.
    """
    return {
        "number": number(names),
        "values": values(names),
        "levels": levels(names),
        "pair": pair(names),
    }


def number(names: list[str]) -> Spec:
    """Histograms of a number; datasets ``steps``, ``bins`` and ``moments``."""
    many = len(names) > MOST_BARS
    top = _WHISKERS * (1 if many else len(names)) + 10
    vertical = {
        "field": "y",
        "type": "quantitative",
        "scale": {"range": [{"expr": "height"}, top]},
        "axis": {"format": "~%", "tickCount": 3, "title": None},
    }
    place = {"field": "at", "type": "quantitative", "scale": None, "axis": None}
    across = x_axis("x", None, nice=False, ticks=5)
    mean = {"field": "mean", "type": "quantitative"}
    whiskers = [
        {
            "data": {"name": "moments"},
            "transform": SHOWN,
            "mark": {"type": "rule", "strokeWidth": 2, "clip": True},
            "encoding": {
                "x": {"field": "low", "type": "quantitative"},
                "x2": {"field": "high"},
                "y": place,
                "color": group_colour(len(names)),
            },
        },
        {
            "data": {"name": "moments"},
            "transform": SHOWN,
            "mark": {"type": "point", "filled": True, "size": 55, "opacity": 1, "clip": True},
            "encoding": {"x": mean, "y": place, "color": group_colour(len(names))},
        },
    ]
    return layered_chart(
        [
            *group_curves({"name": "steps"}, across, vertical, len(names), "step-after"),
            *(whiskers[1:] if many else whiskers),
            hover_strips({"name": "bins"}, {"range": "value"}, labels(names)),
        ],
        height=160,
    )


def values(names: list[str]) -> Spec:
    """Shares of the few values that a number takes; dataset ``bars`` with place, group, share, text."""
    across = {
        "field": "place",
        "type": "ordinal",
        "axis": {
            "title": None,
            "labelExpr": _NAME,
            "labelAngle": 0,
            "labelOverlap": "greedy",
            "labelLimit": 70,
            "ticks": False,
        },
    }
    up = {
        "field": "share",
        "type": "quantitative",
        "axis": {"format": "~%", "tickCount": 3, "title": None},
    }
    tips = tooltips({"value": "value", "name": "group", "text": "share of its rows"})
    if len(names) > MOST_BARS:
        shown = [
            {
                "data": {"name": "bars"},
                "transform": SHOWN,
                "mark": {"type": "line", "point": {"size": 40}, "strokeWidth": 1.5},
                "encoding": {
                    "x": across,
                    "y": up,
                    "color": group_colour(len(names)),
                    "strokeDash": group_dash(len(names)),
                    "tooltip": tips,
                },
            }
        ]
    else:
        shown = [
            {
                "data": {"name": "bars"},
                "transform": SHOWN,
                "mark": {"type": "bar"},
                "encoding": {
                    "x": across,
                    "xOffset": {"field": "group", "type": "nominal"},
                    "y": up,
                    "color": group_colour(len(names)),
                    "tooltip": tips,
                },
            }
        ]
    return layered_chart(shown, height=150, params=[_NAMES])


def levels(names: list[str]) -> Spec:
    """Proportions, the levels one below the other.

    Dataset ``bars`` with place, level, group, share, text, low and high of the level. The page sets the
    height, which depends on the number of levels, ``names`` and ``top``, the end of the axis.
    """
    down = {
        "field": "place",
        "type": "ordinal",
        "axis": {
            "title": None,
            "labelExpr": _NAME,
            "labelLimit": 130,
            "labelPadding": 6,
            "labelColor": "var(--ink)",
        },
    }
    across = {
        "field": "share",
        "type": "quantitative",
        "scale": {"domainMin": 0, "domainMax": {"expr": "top"}, "nice": False},
        "axis": None,
    }
    tips = tooltips({"level": "level", "name": "group", "text": "share of its rows"})
    colour = group_colour(len(names))
    offset = {"field": "group", "type": "nominal", "scale": {"domain": list(range(len(names)))}}
    place: Spec = {"y": down, "yOffset": offset, "x": {**across, "stack": None}}
    layers: list[Spec] = [
        {"mark": {"type": "bar"}, "encoding": {**place, "color": colour, "tooltip": tips}},
        {
            "mark": {"type": "text", "align": "left", "dx": 4, "fontSize": 12, "color": "var(--ink)"},
            "encoding": {**place, "text": {"field": "text", "type": "nominal"}},
        },
    ]
    if len(names) > MOST_BARS:
        axis = {"format": "~%", "tickCount": 4, "title": None}
        layers = [
            {
                "mark": {"type": "rule", "color": "var(--line)", "strokeWidth": 3},
                "encoding": {
                    "y": down,
                    "x": {**across, "field": "low", "axis": axis},
                    "x2": {"field": "high"},
                },
            },
            {
                "mark": {"type": "point", "filled": True, "size": 70, "opacity": 0.9},
                "encoding": {"y": down, "x": {**across, "axis": axis}, "color": colour, "tooltip": tips},
            },
        ]
    spec = layered_chart(layers, height=80, params=[_NAMES, {"name": "top", "value": 1}])
    return {**spec, "data": {"name": "bars"}, "transform": SHOWN}


def pair(names: list[str]) -> Spec:
    """Outlines of clouds with each group's correlation; dataset ``outlines`` with x, y, group, place."""
    axis = {"labels": False, "ticks": False, "grid": False, "titleLimit": 190, "titlePadding": 4}
    scale = {"domain": [-2.3, 2.3], "nice": False}
    encoding = {
        "x": {"field": "x", "type": "quantitative", "scale": scale, "axis": {**axis, "title": ""}},
        "y": {
            "field": "y",
            "type": "quantitative",
            "scale": scale,
            "axis": {**axis, "title": "", "domain": True, "titleLimit": 110},
        },
        "color": group_colour(len(names)),
        "strokeDash": group_dash(len(names)),
        "order": {"field": "place", "type": "quantitative"},
    }
    return layered_chart(
        [
            {
                "data": {"name": "outlines"},
                "transform": SHOWN,
                "mark": {"type": "line", "strokeWidth": 2.5},
                "encoding": encoding,
            }
        ],
        height=160,
    )


# Charts of how sure a result is: the permutations, the splits, and how many features a direction needs.


def null(values: NDArray[np.float64], observed: float) -> Spec:
    """Histogram of the statistic under permutation, and the observed one.

    Parameters
    ----------
    values : array of shape (n_permutations,)
        Statistics of the permutations.
    observed : float
        Statistic of the groups as they are.

    Returns
    -------
    dict
        Specification.
    """
    counts, edges = np.histogram(values, null_edges(values))
    bars = [
        {"x": rounded(a), "x2": rounded(b), "n": int(n), "range": f"{a:.3g} to {b:.3g}"}
        for a, b, n in zip(edges[:-1], edges[1:], counts, strict=True)
    ]
    steps = [{"x": bar["x"], "n": bar["n"]} for bar in bars] + [{"x": bars[-1]["x2"], "n": bars[-1]["n"]}]
    spread = float(edges[-1] - edges[0])
    # To scale, permutations far from the observed value would be a hairline that nobody sees.
    far = is_far(values, observed)
    low, high = min(float(edges[0]), observed), max(float(edges[-1]), observed)
    if far:
        high = float(edges[-1]) + 0.6 * spread
    margin = 0.04 * (high - low)
    horizontal = x_axis("x", "statistic", domain=[rounded(low - margin), rounded(high + margin)])
    height = {
        "field": "n",
        "type": "quantitative",
        "axis": {"title": "permutations", "tickCount": 4, "tickMinStep": 1, "format": "d"},
    }
    # The label stands on the side where there is room.
    right = far or observed > (low + high) / 2
    mark = {"data": {"values": [{"x": rounded(high), "label": "observed →"}]}}
    if not far:
        mark = {"data": {"values": [{"x": rounded(observed), "label": "observed"}]}}
    position = {"field": "x", "type": "quantitative"}
    text = {
        **mark,
        "mark": {
            "type": "text",
            "color": "var(--accent)",
            "align": "right" if right else "left",
            "dx": 0 if far else -7 if right else 7,
            "y": 10,
            "fontWeight": 600,
            "fontSize": 13,
        },
        "encoding": {"x": position, "text": {"field": "label", "type": "nominal"}},
    }
    rule = {
        **mark,
        "mark": {"type": "rule", "color": "var(--accent)", "strokeWidth": 2.5},
        "encoding": {"x": position},
    }
    return layered_chart(
        [
            {
                "data": {"values": steps},
                "mark": {
                    "type": "area",
                    "interpolate": "step-after",
                    "color": "var(--quiet)",
                    "opacity": 1,
                    "line": {"color": "var(--quiet)", "interpolate": "step-after", "strokeWidth": 1},
                },
                "encoding": {"x": horizontal, "y": height},
            },
            {
                "data": {"values": bars},
                "mark": {"type": "rect", "opacity": 0},
                "encoding": {
                    "x": position,
                    "x2": {"field": "x2"},
                    "tooltip": tooltips({"range": "statistic", "n": "permutations"}),
                },
            },
            *([text] if far else [rule, text]),
        ],
        height=200,
    )


def splits(pvalues: NDArray[np.float64]) -> Spec:
    """P-values of the splits of a split test, each a tick on the line from 0 to 1."""
    points = [{"x": rounded(value, 3), "split": index + 1} for index, value in enumerate(pvalues)]
    return layered_chart(
        [
            {
                "data": {"values": points},
                "mark": {"type": "tick", "color": "var(--accent)", "thickness": 2, "size": 30},
                "encoding": {
                    "x": x_axis("x", "p-value of a split", domain=[0, 1], nice=False),
                    "tooltip": [
                        {"field": "split", "type": "quantitative"},
                        {"field": "x", "type": "quantitative", "title": "p-value"},
                    ],
                },
            }
        ],
        height=60,
    )


def path(grid: list[float], fitted: list[float], held_out: list[float], chosen: float) -> Spec:
    """Divergence against the number of features, on the rows fitted and on rows held out."""
    curves = [
        {"k": rounded(k), "y": rounded(value), "curve": curve}
        for curve, values in enumerate((fitted, held_out))
        for k, value in zip(grid, values, strict=True)
    ]
    wide = min(grid) > 0 and max(grid) / min(grid) > 20
    horizontal: Spec = {
        "field": "k",
        "type": "quantitative",
        "scale": {
            "domain": with_room(grid, wide),
            "nice": False,
            **({"type": "log"} if wide else {"zero": False}),
        },
        "axis": {
            "title": "features used",
            "format": "~s",
            "labelOverlap": "greedy",
            "labelSeparation": 6,
            "grid": False,
            "tickMinStep": 1,
        },
    }
    if wide:
        # Round numbers, and never two labels in one place.
        horizontal["axis"]["values"] = [
            m * 10**e for e in range(7) for m in (1, 2, 5) if min(grid) <= m * 10**e <= max(grid)
        ]
    curve = {
        "field": "curve",
        "type": "nominal",
        "legend": None,
        "scale": {"domain": [0, 1], "range": ["var(--quiet)", "var(--accent)"]},
    }
    return layered_chart(
        [
            {
                "data": {"values": [{"k": rounded(chosen)}]},
                "mark": {"type": "rule", "color": "var(--ink)", "strokeDash": [3, 3]},
                "encoding": {"x": {"field": "k", "type": "quantitative"}},
            },
            {
                "data": {"values": curves},
                "mark": {"type": "line", "point": {"size": 40, "filled": True}},
                "encoding": {
                    "x": horizontal,
                    "y": {
                        "field": "y",
                        "type": "quantitative",
                        "axis": {"title": "divergence", "tickCount": 5},
                    },
                    "color": curve,
                    # The wider line stays visible where the two coincide, which is the good case.
                    "strokeWidth": {**curve, "type": "ordinal", "scale": {"domain": [0, 1], "range": [6, 2]}},
                    "tooltip": [
                        {"field": "k", "type": "quantitative", "title": "features"},
                        {"field": "y", "type": "quantitative", "title": "divergence", "format": ".4~g"},
                    ],
                },
            },
        ],
        height=200,
    )
