"""The HTML report: the sentences it opens with, and the text around charts and tables.

The page is a template around plain data, and opens from a file, without a network, for years: so the
charting library travels inside it (`docs/decisions/0002-report-charts.md` says which and why).

Whatever comes from users' files reaches the page in one of two ways: as text that the template escapes,
or inside one block of JSON that cannot close its own script element, and that the page only ever shows with
``textContent``. A content security policy with the hashes of our two scripts stands behind that.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from princdiff.result.rows import SIDES_IN_WORDS, cell
from princdiff.show import charts, vega
from princdiff.show.figures import centred, visible_range
from princdiff.show.html import named, page, shipped, unbroken, visible
from princdiff.show.page_data import group_labels, leading, page_data
from princdiff.show.plot_style import COLOURS
from princdiff.words import on_directions, on_pairs, wording
from princdiff.words.readable_figures import group_sizes, listed, numbers

if TYPE_CHECKING:
    from princdiff.result import DifferenceResult
    from princdiff.result.parts import TestPart

# COLOURS on a dark ground: the same hues, light enough to be seen.
_DARK_COLOURS = ("#56A8E0", "#F2874B", "#35C29A", "#E39CC5", "#F0B63C", "#9AD0F5", "#F4F4F4")
_LONGEST_VALUE = 300
_SHOWN_PAIRS = 30
_SHOWN_WEIGHTS = 12
# Squares of a picture that would hardly be seen are left out.
_FAINTEST = 0.02
_SHOWN_ROW_COLUMNS = 20
_BEHAVIOUR = ("page_text.js", "page_pictures.js", "page_table.js", "page.js")

_SCALES = {
    "pooled": "each feature divided by its standard deviation over all rows",
    "within": "each feature standardised within its group",
    None: "none, features as they are",
}
_LEVELS = {"auto": "chosen by the difference on rows held out"}
_MISSING = {
    "error": "none allowed",
    "impute": "filled with the median, and marked by a feature of their own",
    "drop": "rows that have any were left out",
}


def render(result: DifferenceResult, beside: DifferenceResult | None = None) -> str:
    """The whole page.

    Parameters
    ----------
    result : DifferenceResult
        What `princdiff.compare` found.
    beside : DifferenceResult, optional
        Another comparison whose report should have the same scales.

    Returns
    -------
    str
        HTML.
    """
    scripts = [f"(function () {{\n{vega.library()}\n}})();", _lean("\n".join(map(shipped, _BEHAVIOUR)))]
    names = group_labels(result)
    first = leading(result)
    return page(
        "page.html.jinja",
        scripts,
        title=" and ".join(vega.labels(names)) if len(names) == 2 else f"{len(names)} groups",
        headline=unbroken(wording.headline(result)),
        details=unbroken(wording.details(result)),
        decision=_decision(result),
        shown=bool(result.pvalue <= wording.LEVEL),
        figures=_figures(result),
        groups=[
            {
                "name": name,
                "rows": rows,
                "shade": index % vega.PALETTE_SIZE,
                "dashed": index >= vega.PALETTE_SIZE,
            }
            for index, (name, rows) in enumerate(zip(names, group_sizes(result, _count), strict=True))
        ],
        leading=first,
        numbers_first=any(
            result.columns["kind"].iloc[place] in ("shift", "spread", "shape", "value")
            and not _has_few_values(result, str(result.columns["column"].iloc[place]))
            for place in first["columns"]
        ),
        n_columns=len(result.columns),
        selection=_sentence(wording.selection_sentence(result)),
        projections=_projections(result, names),
        contrast=_contrast(result, names),
        witness=_witness(result, names),
        pairs=_pairs(result),
        rows=_rows(result),
        test=_test_section(result),
        certainty=visible(on_directions.certainty(result)),
        bound=_bound(result),
        path=_path_section(result),
        notes=[visible(note) for note in result.notes],
        left_out=[(visible(k), visible(v)) for k, v in result.parameters.get("left_out", {}).items()],
        settings=[*_settings(result), *_shared(beside)],
        seconds=_seconds(result),
        colours=list(enumerate(zip(COLOURS, _DARK_COLOURS, strict=True))),
        data=embedded(page_data(result, beside)),
    )


def embedded(data: Any) -> Markup:
    r"""JSON that is safe inside a script element, whatever strings it holds.

    Examples
    --------
    >>> print(embedded({"name": "</script><b>&"}))
    {"name":"\u003c/script\u003e\u003cb\u003e\u0026"}
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


# The parts of the page.


def _decision(result: DifferenceResult) -> str:
    """What the rule of a pipeline said, and how far to trust it."""
    if result.decision is None:
        return ""
    caution = f" {_sentence(result.decision.caution)}" if result.decision.caution else ""
    return unbroken(result.decision.sentence + caution)


def _figures(result: DifferenceResult) -> list[dict[str, str]]:
    """The numbers one looks for first, each with what it means."""
    tested = not np.isnan(result.pvalue)
    size, interval = on_directions.size_and_interval(result.effect, *result.effect_interval)
    unit = "in standard deviations along the direction found, corrected for chance"
    figures = [
        {
            "label": "p-value",
            "value": f"{result.pvalue:.2g}" if tested else "not tested",
            "help": "how often chance alone would give a difference this large"
            if tested
            else "whether this may be chance was not asked",
        },
        {
            "label": "how far apart the groups are",
            "value": f"{size} sd",
            "help": unbroken(f"95 % interval {interval}, {unit}") if interval else unit,
        },
    ]
    if result.selection.made:
        figures.append(_columns_figure(result))
    pairs = len(on_pairs.selected_relations(result))
    if pairs:
        figures.append(
            {
                "label": "pairs related differently",
                "value": _count(pairs),
                "help": "their correlation differs between the groups",
            }
        )
    else:
        figures.append(
            {
                "label": "rows compared",
                "value": _count(sum(result.groups.values())),
                "help": f"in {_count(len(result.groups))} groups"
                + (f": {listed(blocks)}" if (blocks := result.parameters.get("blocks")) else ""),
            }
        )
    return figures


def _has_few_values(result: DifferenceResult, column: str) -> bool:
    """Whether a number is drawn as bars, above which there is no mean."""
    stored = result.distributions.get(column)
    return stored is not None and len(stored.values) > 0


def _columns_figure(result: DifferenceResult) -> dict[str, str]:
    names = wording.columns_alone(result)["column"]
    alone, following = len(names), int(names.isin(list(result.explanation.follows)).sum())
    together = int(result.columns["selected"].sum()) - alone
    words = "" if alone else "none could be named with confidence"
    if together:
        words = f"{_count(together)} more differ only together with others"
    elif following:
        # The first sentence counts the others.
        words = f"{_count(following)} of them follow{'s' if following == 1 else ''} from others"
    return {
        "label": "columns that differ on their own",
        "value": f"{_count(alone)} of {_count(len(result.columns))}",
        "help": words,
    }


def _projections(result: DifferenceResult, names: list[str]) -> list[dict[str, Any]]:
    """What is said beside each direction."""
    captions = []
    for number, component in enumerate(result.reference.components):
        members = [component[group] for group in result.groups]
        quantiles = centred(members)
        low, high = visible_range(quantiles, [group.rows for group in members])
        lost = max(float(np.mean((points < low) | (points > high))) for points in quantiles)
        medians = _medians(names, quantiles)
        captions.append(
            {
                "medians": medians,
                "alternative": "Densities of the score in each group; medians: "
                + ", ".join(f"{name} {median}" for name, median in medians),
                "cut": f"up to {100 * lost:.1f} % of a group's rows" if lost > 0 else "",
                "facts": _component_facts(result, number),
                "separation": _separation(result, number) if len(names) > 2 else [],
                "weights": int(np.count_nonzero(result.directions.iloc[:, number])),
            }
        )
    return captions


def _medians(names: list[str], quantiles: list[NDArray[np.float64]]) -> list[tuple[str, str]]:
    texts = numbers([float(np.median(points)) for points in quantiles])
    return [(name, _minus(text)) for name, text in zip(names, texts, strict=True)]


_CONTRASTS = {
    on_directions.SHARPEST: "It has the largest difference relative to the variance along it",
    on_directions.SUM: "All numbers count alike in it",
}


def _contrast(result: DifferenceResult, names: list[str]) -> dict[str, Any]:
    """The sharpest contrast or the sum, where it is another direction than the first."""
    part = on_directions.second_contrast(result)
    if part is None:
        return {}
    order = [place for place in np.argsort(-np.abs(part.weights), kind="stable") if part.weights[place] != 0]
    members = [part.groups[group] for group in result.groups]
    medians = _medians(names, centred(members))
    return {
        "name": part.name,
        "about": _CONTRASTS[part.name],
        "led": part.led,
        "effect": f"{part.effect:.2g}",
        "size": f"{result.effect:.2g}",
        "auc": "" if np.isnan(part.auc) else f"{part.auc:.2f}",
        "weights": [
            (named(result.directions.index[place]), _minus(f"{part.weights[place]:+.2f}"))
            for place in order[:_SHOWN_WEIGHTS]
        ],
        "more": max(0, len(order) - _SHOWN_WEIGHTS),
        "alternative": "Densities of the score in each group; medians: "
        + ", ".join(f"{name} {median}" for name, median in medians),
    }


def _witness(result: DifferenceResult, names: list[str]) -> dict[str, Any]:
    """What can be shown where the groups differ in something else than a direction."""
    found = result.witness
    if found is None:
        return {}
    pictures = []
    if found.axes:
        width = len(found.edges[0]) - 1
        tallest = max(float(share.max()) for share in found.shares.values())
        for name, group in zip(names, result.groups, strict=True):
            share = found.shares[group].reshape(width, -1) / tallest
            squares = [
                (int(x), int(share.shape[1] - 1 - y), round(float(share[x, y]), 2))
                for x, y in np.argwhere(share >= _FAINTEST)
            ]
            pictures.append({"name": name, "squares": squares})
    return {
        "sentences": [visible(line) for line in on_directions.witness_sentences(result)],
        "axes": [named(name) for name in found.axes],
        "pictures": pictures,
        "bins": len(found.edges[0]) - 1 if found.axes else 0,
    }


def _component_facts(result: DifferenceResult, number: int) -> str:
    if number:
        return visible(on_directions.component_facts(result, number))
    return visible(on_directions.kind_sentence(result))


def _pairs(result: DifferenceResult) -> dict[str, Any]:
    """Pairs of columns whose correlation differs; where the groups stand on the line from -1 to 1."""
    found = on_pairs.named_pairs(result)
    rows = [
        {
            "first": named(row["first"]),
            "second": named(row["second"]),
            "values": [_minus(text) for text in on_pairs.correlation_texts(result, row)],
            "places": [round(100 + 92 * value, 1) for value in on_pairs.dependence(result, row)],
            "pvalue": f"{row['pvalue']:.2g}",
        }
        for row in found.head(_SHOWN_PAIRS).to_dict("records")
    ]
    return {"rows": rows, "more": max(0, len(found) - _SHOWN_PAIRS), "looked": len(result.relations) > 0}


def _rows(result: DifferenceResult) -> dict[str, Any] | None:
    """Rows to look at, where they were asked for; the columns that differ first."""
    if not result.rows:
        return None
    values = result.typical_rows()
    shown = values.iloc[:, :_SHOWN_ROW_COLUMNS]
    names = dict(zip(result.groups, group_labels(result), strict=True))
    places = {group: place for place, group in enumerate(result.groups)}
    where = result.rows.where
    return {
        "columns": [named(name) for name in shown.columns],
        "more": values.shape[1] - shown.shape[1],
        "rows": [
            {
                "group": names[group],
                "place": places[group],
                "side": SIDES_IN_WORDS[side],
                "number": _count(row),
                "cells": [visible(cell(value)) for value in shown.iloc[line]],
            }
            for line, (group, side, row) in enumerate(
                zip(where["group"], where["side"], where["row"], strict=True)
            )
        ],
    }


def _separation(result: DifferenceResult, number: int) -> list[list[str]]:
    """Cells of the groups x groups table of divergences along a direction."""
    return [
        ["" if g == h else f"{value:.3g}" for h, value in enumerate(row)]
        for g, row in enumerate(result.separation[number])
    ]


def _test_section(result: DifferenceResult) -> dict[str, Any]:
    test = result.test
    lead = _leading_place(test)
    has_null = len(result.null) > 0 and bool(np.isfinite(result.null).all())
    return {
        "sentence": visible(wording.test_sentence(result)),
        "leading": visible(test.leading),
        "pvalue": visible(wording.format_pvalue(result)),
        "null": has_null,
        "splits": test.name == "split" and len(test.split_pvalues) > 1,
        "beyond": int((result.null >= result.statistic).sum()) if has_null else 0,
        "count": len(result.null),
        "observed": f"{result.statistic:.3g}",
        "far": has_null and charts.is_far(result.null, result.statistic),
        "cells": [
            {"words": visible(cell), "pvalue": f"{pvalue:.2g}", "leading": place == lead}
            for place, (cell, pvalue) in enumerate(zip(test.cells, test.cell_pvalues, strict=True))
        ],
    }


def _leading_place(test: TestPart) -> int | None:
    """Which of the cells led; files of before call several alike, of which it was the clearest."""
    called = [place for place, cell in enumerate(test.cells) if cell == test.leading_cell]
    return min(called, key=lambda place: float(test.cell_pvalues[place])) if called else None


def _bound(result: DifferenceResult) -> dict[str, str]:
    bound = result.upper_bound
    found = float(result.divergences[0])
    return {
        "found": f"{found:.4g}",
        "bound": f"{bound:.4g}" if np.isfinite(bound) else "",
        "how": visible(result.certificate.how).rstrip(".") if np.isfinite(bound) else "",
    }


def _path_section(result: DifferenceResult) -> dict[str, str] | None:
    if not result.path:
        return None
    used = int(np.count_nonzero(result.directions.iloc[:, 0]))
    chosen = f"{result.path.chosen:.4g}"
    rest = "" if chosen == str(used) else f"; {used} of them got a weight"
    return {"chosen": chosen, "rest": rest}


def _settings(result: DifferenceResult) -> list[tuple[str, str]]:
    asked = result.parameters
    rows = [
        ("groups", ", ".join(f"{visible(name)} ({_count(n)} rows)" for name, n in result.groups.items())),
        ("columns", _columns_and_features(result)),
        ("scaling", _words(asked.get("scale"), _SCALES)),
        ("features in the direction", _words(asked.get("n_features"), _LEVELS)),
        ("divergence", _words(asked.get("divergence"))),
        ("permutations asked for", _words(asked.get("n_permutations"))),
        ("missing values", _words(asked.get("missing"), _MISSING)),
        ("columns asked for", _words(asked.get("features"))),
        ("covariates", _words(asked.get("covariates"))),
        ("their standardised differences, before and after", _balance(result)),
        ("permutation of blocks", _words(asked.get("permute"))),
        ("time budget, seconds", _words(asked.get("time_budget"))),
        ("seed", _words(asked.get("random_state")) or "none: another run may differ a little"),
    ]
    rows += [(visible(name), _words(number)) for name, number in asked.get("versions", {}).items()]
    rows += [("Python", _words(asked.get("python")))]
    return [(name, text) for name, text in rows if text]


def _balance(result: DifferenceResult) -> str:
    """How far the groups are apart in each covariate, before and after the adjustment."""
    if result.balance.empty:
        return ""
    rows = zip(*(result.balance[name] for name in ("covariate", "before", "after")), strict=True)
    parts = [f"{visible(name)} {before:.2f} \u2192 {after:.2f}" for name, before, after in rows]
    return _minus(", ".join(parts))


def _shared(beside: DifferenceResult | None) -> list[tuple[str, str]]:
    if beside is None:
        return []
    return [("scales", f"hold this report and that of {', '.join(map(visible, beside.groups))}")]


def _seconds(result: DifferenceResult) -> list[tuple[str, str]]:
    steps = result.parameters.get("seconds", {})
    rows = [(visible(step), f"{seconds:.2f} s") for step, seconds in steps.items()]
    return [*rows, ("together", f"{sum(steps.values()):.2f} s")] if rows else []


# Small things.


def _lean(code: str) -> str:
    """A script without indentation and comment lines, which nobody reads in the page."""
    return re.sub(r"(?m)^[ \t]*(//.*\n)?", "", code)


def _minus(text: str) -> str:
    return text.replace("-", "\u2212")


def _sentence(text: str) -> str:
    text = visible(text)
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?", ")")) else ".")


def _columns_and_features(result: DifferenceResult) -> str:
    columns, features = len(result.columns), len(result.table)
    return _count(columns) + (f", as {_count(features)} features" if features != columns else "")


def _count(number: int) -> str:
    """Thousands apart, with a space that does not break."""
    return f"{number:,}".replace(",", "\u202f")


def _words(value: Any, meanings: dict[Any, str] | None = None) -> str:
    """A setting in words; empty where nothing was asked for."""
    if meanings and isinstance(value, str | None) and value in meanings:
        return meanings[value]
    if value is None:
        return ""
    text = visible(", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value))
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"
