"""What the page's charts and tables show, as plain data: columns, their features, pairs; no rows of tables.

A table of ten thousand columns must stay small, so everything is said once: a column that is one feature has
its p-value and size with the column only, words that come again and again are numbers into a list, and means
are kept for the leading columns.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from princdiff.findings import Reason
from princdiff.show import charts, vega
from princdiff.show.figures import bar_end, centred, upper_group
from princdiff.show.html import named, unbroken, visible
from princdiff.tables.encoding import feature_names
from princdiff.words import on_directions, on_pairs, readable_figures, wording
from princdiff.words.readable_figures import from_to, numbers, percentages

if TYPE_CHECKING:
    from princdiff.result import DifferenceResult

# Means and standard deviations (one pair a group) that the page keeps; the leading columns come first.
_MOST_MOMENTS = 24_000
_DIGITS = 4
_MOST_PAIRS = 200
_LEADING_COLUMNS = 4
_LEADING_PAIRS = 2
_PARTS = ("location", "scale", "shape")


def group_labels(result: DifferenceResult) -> list[str]:
    """What the groups are called on the page."""
    return [named(name) for name in readable_figures.group_names(result)]


def page_data(result: DifferenceResult, beside: DifferenceResult | None = None) -> dict[str, Any]:
    """Everything that the page's script needs.

    Parameters
    ----------
    result : DifferenceResult
        What `princdiff.compare` found.
    beside : DifferenceResult, optional
        Another comparison, which the scales have to hold too.

    Returns
    -------
    dict
        ``groups``, ``columns``, ``features`` (those of a column follow each other), ``histograms``,
        ``scales``, ``pairs``, ``leading``, ``upper``, ``pictures`` and ``charts``.
    """
    groups = group_labels(result)
    rows, widths = _features_by_column(result)
    return {
        "groups": groups,
        "labels": vega.labels(groups),
        "columns": _columns(result, widths),
        "features": _features(result, rows, widths),
        "histograms": _histograms(result, rows),
        "scales": _scales(result, beside, rows),
        "pairs": _pairs(result),
        "leading": leading(result),
        "upper": [upper_group(component) for component in result.reference.components],
        "pictures": charts.pictures(groups),
        "charts": _charts(result, groups),
    }


def _features_by_column(result: DifferenceResult) -> tuple[list[int], list[int]]:
    """Rows of the table of features in the order of the columns, and how many each column has."""
    names, origin = feature_names(result.codings)
    place = {str(name): row for row, name in enumerate(result.table["feature"])}
    members: dict[str, list[int]] = {coding.column: [] for coding in result.codings}
    for name, column in zip(names, origin, strict=True):
        members[column].append(place[name])
    ordered = [members[str(column)] for column in result.columns["column"]]
    return [row for own in ordered for row in own], [len(own) for own in ordered]


def _columns(result: DifferenceResult, widths: list[int]) -> dict[str, Any]:
    frame = result.columns
    codings = {coding.column: coding for coding in result.codings}
    return {
        "name": [named(name) for name in frame["column"]],
        "width": widths,
        "type": _listed(frame["type"]),
        "kind": _listed(frame["kind"]),
        "differs": _listed(frame["differs"]),
        "reason": _listed(frame["reason"]),
        "selected": [int(bool(chosen)) for chosen in frame["selected"]],
        "pvalue": vega.rounded(frame["pvalue"].to_numpy(float), _DIGITS),
        "effect": vega.rounded(frame["effect"].to_numpy(float), _DIGITS),
        "change": [unbroken(change) for change in frame["change"]],
        "interval": [unbroken(wording.interval_text(row)) for row in frame.to_dict("records")],
        # Of ordered categories the numbers stand for levels.
        "levels": {
            str(place): [visible(level) for level in codings[str(name)].levels or ()]
            for place, name in enumerate(frame["column"])
            if codings[str(name)].type == "ordered"
        },
    }


def _listed(values: pd.Series) -> dict[str, list[Any]]:
    """Words that come again and again: each word once, and where it stands."""
    words = list(dict.fromkeys(str(value) for value in values))
    place = {word: index for index, word in enumerate(words)}
    return {"words": [visible(word) for word in words], "at": [place[str(value)] for value in values]}


def _features(result: DifferenceResult, rows: list[int], widths: list[int]) -> dict[str, Any]:
    frame = result.table.iloc[rows]
    columns = [
        str(name) for name, width in zip(result.columns["column"], widths, strict=True) for _ in range(width)
    ]
    codings = {coding.column: coding for coding in result.codings}
    shown = [str(name) for name in result.columns["column"]]
    n_components = len(result.divergences)
    suffixes = ["", *(f" {number + 1}" for number in range(1, n_components))]
    kept = _MOST_MOMENTS // len(result.groups)
    total = np.maximum(frame["divergence"].to_numpy(float), np.finfo(float).tiny)
    return {
        "name": [
            None if str(name) == column else named(name)
            for name, column in zip(frame["feature"], columns, strict=True)
        ],
        "level": [visible(level) for name in shown for level in codings[name].feature_levels],
        "kind": _listed(pd.Series([kind for name in shown for kind in codings[name].kinds], dtype=object)),
        "weight": [vega.rounded(frame[f"weight{end}"].to_numpy(float), _DIGITS) for end in suffixes],
        "share": [vega.rounded(frame[f"share{end}"].to_numpy(float), _DIGITS) for end in suffixes],
        "stability": vega.rounded(frame["stability"].to_numpy(float), 2),
        "parts": [
            [
                round(100 * part) if math.isfinite(part) else None
                for part in frame[name].to_numpy(float) / total
            ]
            for name in _PARTS
        ],
        "mean": _moments(result, frame, "mean", kept),
        "sd": _moments(result, frame, "sd", kept),
        "own": _own(result, frame, widths),
    }


def _moments(result: DifferenceResult, frame: pd.DataFrame, moment: str, kept: int) -> list[Any]:
    return [
        vega.rounded(frame[f"{moment} {group}"].to_numpy(float)[:kept], _DIGITS) for group in result.groups
    ]


def _own(result: DifferenceResult, frame: pd.DataFrame, widths: list[int]) -> dict[str, Any]:
    """What the features of a column with several have each for themselves, by their place."""
    means = frame[[f"mean {group}" for group in result.groups]].to_numpy(float)
    own: dict[str, Any] = {}
    place = 0
    for width in widths:
        for feature in range(place, place + width if width > 1 else place):
            row = frame.iloc[feature]
            of_rows = row["kind"] in ("proportion", "missing")
            texts = (percentages if of_rows else numbers)(means[feature].tolist())
            own[str(feature)] = {
                "selected": int(bool(row["selected"])),
                "pvalue": vega.rounded(float(row["pvalue"]), _DIGITS),
                "effect": vega.rounded(float(row["effect"]), _DIGITS),
                "kind": visible(row["kind"]),
                "change": unbroken(("" if of_rows else "mean ") + from_to(means[feature], texts)),
            }
        place += width
    return own


def _histograms(result: DifferenceResult, rows: list[int]) -> dict[str, Any]:
    """Histograms of numbers by the feature's place; for proportions the means say it all."""
    kept = {}
    for place, row in enumerate(rows):
        name = str(result.table["feature"].iat[row])
        stored = result.distributions.get(name)
        if stored is None or result.table["kind"].iat[row] in ("proportion", "missing"):
            continue
        kept[str(place)] = {
            "edges": vega.rounded(stored.edges),
            "shares": [vega.rounded(stored.shares.get(group, []), 3) for group in result.groups],
        }
        if len(stored.values):
            kept[str(place)]["values"] = vega.rounded(stored.values)
    return kept


def _scales(result: DifferenceResult, beside: DifferenceResult | None, rows: list[int]) -> dict[str, Any]:
    """Ends of the scales of this report and another: sizes, and pictures of features by their place."""
    if beside is None:
        return {"effect": _bar_end(result), "features": {}}
    both = [result, beside]
    shares = [_largest_shares(one) for one in both]
    ends: dict[str, Any] = {}
    for place, row in enumerate(rows):
        name = str(result.table["feature"].iat[row])
        drawn = [one.distributions[name] for one in both if name in one.distributions]
        if result.table["kind"].iat[row] in ("proportion", "missing"):
            ends[str(place)] = {"top": round(max(own.get(name, 0.0) for own in shares), _DIGITS)}
        elif drawn:
            x = [min(float(own.edges[0]) for own in drawn), max(float(own.edges[-1]) for own in drawn)]
            top = max(float(np.max(values)) for own in drawn for values in own.shares.values())
            ends[str(place)] = {"x": charts.rounded(x), "top": round(top, _DIGITS)}
    return {"effect": max(map(_bar_end, both)), "features": ends}


def _bar_end(result: DifferenceResult) -> float:
    return round(bar_end(result.columns["effect"], result.columns["selected"]), _DIGITS)


def _largest_shares(result: DifferenceResult) -> dict[str, float]:
    # A group without any value has no mean.
    means = np.nan_to_num(result.table[[f"mean {group}" for group in result.groups]].to_numpy(float))
    return dict(zip(map(str, result.table["feature"]), means.max(axis=1).tolist(), strict=True))


def _pairs(result: DifferenceResult) -> list[dict[str, Any]]:
    """Pairs that go together differently, the clearest first."""
    found = on_pairs.named_pairs(result).head(_MOST_PAIRS)
    return [
        {
            "first": named(row["first"]),
            "second": named(row["second"]),
            "values": vega.rounded(on_pairs.dependence(result, row), 4),
            "texts": on_pairs.correlation_texts(result, row),
            "change": visible(on_pairs.pair_change(result, row)),
            "pvalue": vega.rounded(float(row["pvalue"]), _DIGITS),
        }
        for row in found.to_dict("records")
    ]


def leading(result: DifferenceResult) -> dict[str, Any]:
    """What the first pictures show: what the headline names.

    Returns
    -------
    dict
        ``columns`` and ``pairs``: places in the tables; ``why``: "alone", "together" or "largest".
    """
    frame = result.columns.reset_index(drop=True)
    shown = bool(result.pvalue <= wording.LEVEL)
    alone = frame.index[frame["differs"] == Reason.ALONE].tolist() if shown else []
    pairs = list(range(min(_LEADING_PAIRS, len(on_pairs.named_pairs(result))))) if shown else []
    if alone:
        # With many rows a difference of correlations can be certain and too small to be seen.
        changes = on_pairs.named_pairs(result)["change"].tolist() if pairs else []
        pairs = [place for place in pairs if changes[place] >= on_pairs.SEEN_CHANGE]
    if alone or pairs:
        return {"columns": alone[:_LEADING_COLUMNS], "pairs": pairs, "why": "alone" if alone else "together"}
    by_size = frame["effect"].sort_values(ascending=False, kind="stable").index.tolist()
    return {"columns": by_size[:_LEADING_COLUMNS], "pairs": [], "why": "largest"}


def _charts(result: DifferenceResult, names: list[str]) -> dict[str, Any]:
    specs: dict[str, Any] = {}
    for index, component in enumerate(result.reference.components):
        members = [component[group] for group in result.groups]
        specs[f"projection-{index}"] = charts.projection(
            centred(members), [group.rows for group in members], names
        )
    other = on_directions.second_contrast(result)
    if other is not None:
        members = [other.groups[group] for group in result.groups]
        specs["contrast"] = charts.projection(centred(members), [group.rows for group in members], names)
    if len(result.null) and np.isfinite(result.null).all():
        specs["null"] = charts.null(result.null, result.statistic)
    if result.test.name == "split" and len(result.test.split_pvalues) > 1:
        specs["splits"] = charts.splits(result.test.split_pvalues)
    if result.path:
        specs["path"] = charts.path(
            result.path.grid.tolist(),
            result.path.fitted.tolist(),
            result.path.held_out.tolist(),
            result.path.chosen,
        )
    return specs
