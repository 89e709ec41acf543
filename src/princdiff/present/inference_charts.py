"""Charts of how sure a result is: the relabellings, the splits, and how many features a direction needs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from princdiff.present.figures import is_far, null_edges
from princdiff.present.vega import Spec, layered_chart, rounded, tooltips, with_room, x_axis


def null(values: NDArray[np.float64], observed: float) -> Spec:
    """Histogram of the statistic under relabelling, and the observed one.

    Parameters
    ----------
    values : array of shape (n_permutations,)
        Statistics of the relabellings.
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
    # To scale, relabellings far from the observed value would be a hairline that nobody sees.
    far = is_far(values, observed)
    low, high = min(float(edges[0]), observed), max(float(edges[-1]), observed)
    if far:
        high = float(edges[-1]) + 0.6 * spread
    margin = 0.04 * (high - low)
    horizontal = x_axis("x", "statistic", domain=[rounded(low - margin), rounded(high + margin)])
    height = {
        "field": "n",
        "type": "quantitative",
        "axis": {"title": "relabellings", "tickCount": 4, "tickMinStep": 1, "format": "d"},
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
                    "tooltip": tooltips({"range": "statistic", "n": "relabellings"}),
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
