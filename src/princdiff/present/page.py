"""From a result to the page: the data it embeds, the sentences it opens with, and the text around them.

Whatever comes from users' files reaches the page in one of two ways: as text that the template escapes,
or inside one block of JSON that cannot close its own script element, and that the page only ever shows with
``textContent``. A content security policy with the hashes of our two scripts stands behind that.
"""

from __future__ import annotations

import base64
import hashlib
import json
import unicodedata
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from princdiff.present import charts
from princdiff.present.plots import COLOURS
from princdiff.result import wording
from princdiff.result.parts import GroupReference

if TYPE_CHECKING:
    from princdiff.result import DifferenceResult

# COLOURS on a dark ground: the same hues, light enough to be seen.
_DARK_COLOURS = ("#56A8E0", "#F2874B", "#35C29A", "#E39CC5", "#F0B63C", "#9AD0F5", "#F4F4F4")
# Means and standard deviations (one pair a group) that the page keeps; the leading features come first.
_MOST_MOMENTS = 24_000
_DIGITS = 4
_LONGEST_VALUE = 300
_BIDI = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f")
_NUMBERS = ("weight", "share", "pvalue", "stability", "divergence", "location", "scale", "shape")

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


def render(result: DifferenceResult) -> str:
    """The whole page.

    Parameters
    ----------
    result : DifferenceResult
        What `princdiff.compare` found.

    Returns
    -------
    str
        HTML.
    """
    library = f"(function () {{\n{charts.library()}\n}})();"
    scripts = [_script(library), _script(_file("page.js"))]
    names = [visible(name) for name in result.groups]
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    template = environment.from_string(_file("template.html.jinja"))
    return template.render(
        title=" and ".join(charts.labels(names)) if len(names) == 2 else f"{len(names)} groups",
        headline=visible(wording.headline(result)),
        shown=bool(result.pvalue <= wording.LEVEL),
        figures=_figures(result),
        groups=[
            {
                "name": name,
                "rows": _count(rows),
                "shade": index % charts.PALETTE_SIZE,
                "dashed": index >= charts.PALETTE_SIZE,
            }
            for index, (name, rows) in enumerate(zip(names, result.groups.values(), strict=True))
        ],
        n_features=_count(len(result.table)),
        projections=_projection_captions(result, names),
        selection=visible(wording.selection_sentence(result)),
        test=_test_section(result),
        certainty=visible(wording.certainty(result)),
        bound=_bound(result),
        path=_path_section(result),
        notes=[visible(note) for note in result.notes],
        left_out=[(visible(k), visible(v)) for k, v in result.parameters.get("left_out", {}).items()],
        settings=_settings(result),
        seconds=_seconds(result),
        colours=list(enumerate(zip(COLOURS, _DARK_COLOURS, strict=True))),
        style=Markup(_file("page.css")),
        data=embedded(page_data(result)),
        library=scripts[0],
        behaviour=scripts[1],
        policy=f"default-src 'none'; script-src {' '.join(map(_hash, scripts))}; "
        "style-src 'unsafe-inline'; img-src data:",
    )


def page_data(result: DifferenceResult) -> dict[str, Any]:
    """What the charts and the table of features show, as plain data; no rows of the user's tables.

    Parameters
    ----------
    result : DifferenceResult
        What `princdiff.compare` found.

    Returns
    -------
    dict
    """
    content = result.to_dict()
    groups = [visible(name) for name in content["groups"]]
    table = dict(zip(content["table"]["columns"], content["table"]["data"], strict=True))
    names = [visible(str(name)) or "(no name)" for name in table["feature"]]
    columns = [visible(str(name)) or "(no name)" for name in table["column"]]
    features: dict[str, Any] = {name: charts.rounded(table[name], _DIGITS) for name in _NUMBERS}
    features["name"] = names
    features["column"] = [
        None if column == name else column for name, column in zip(names, columns, strict=True)
    ]
    features["selected"] = [int(bool(chosen)) for chosen in table["selected"]]
    kept = _MOST_MOMENTS // len(groups)
    for moment in ("mean", "sd"):
        features[moment] = [
            charts.rounded(table[f"{moment} {group}"][:kept], _DIGITS) for group in content["groups"]
        ]
    return {
        "groups": groups,
        "labels": charts.labels(groups),
        "features": features,
        "histograms": _histograms(content["distributions"], table["feature"], list(content["groups"])),
        "charts": _charts(result, groups),
    }


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


def visible(text: str) -> str:
    r"""Text without what a browser cannot show or what turns the text around it: controls, overrides.

    Examples
    --------
    >>> visible("a\x00b\u202ec") == "a\ufffdb\ufffdc"
    True
    """
    return "".join(
        "\ufffd" if character in _BIDI or unicodedata.category(character) in ("Cc", "Cs") else character
        for character in str(text).replace("\n", " ").replace("\t", " ")
    )


# The parts of the page.


def _figures(result: DifferenceResult) -> list[dict[str, str]]:
    """The numbers one looks for first, each with what it means."""
    pvalue = "not tested" if np.isnan(result.pvalue) else f"{result.pvalue:.2g}"
    kind = {name: result.kind[name] for name in ("location", "scale", "shape")}
    words = {"location": "shift", "scale": "spread", "shape": "shape"}
    main = max(kind, key=lambda name: kind[name])
    rest = ", ".join(f"{words[name]} {100 * kind[name]:.0f} %" for name in kind if name != main)
    return [
        {
            "label": "p-value",
            "value": pvalue,
            "help": "how often chance alone would show so large a difference",
        },
        {
            "label": "size",
            "value": f"{result.effect:.2g} sd",
            "help": "distance of the groups along the direction found, in standard deviations",
        },
        {
            "label": "features selected",
            "value": f"{_count(len(result.selected))} of {_count(len(result.table))}",
            "help": "that take part in the difference",
        },
        {"label": "kind", "value": f"{100 * kind[main]:.0f} % {words[main]}", "help": f"the rest: {rest}"},
    ]


def _components(result: DifferenceResult) -> list[list[GroupReference]]:
    return [
        [component[group] for group in result.groups if group in component]
        for component in result.reference.components
    ]


def _projection_captions(result: DifferenceResult, names: list[str]) -> list[dict[str, Any]]:
    captions = []
    for number, component in enumerate(_components(result)):
        quantiles = [group.quantiles for group in component]
        low, high = charts.visible_range(quantiles, [group.rows for group in component])
        lost = max(float(np.mean((points < low) | (points > high))) for points in quantiles)
        captions.append(
            {
                "medians": [
                    (name, f"{np.median(points):.3g}") for name, points in zip(names, quantiles, strict=False)
                ],
                "cut": f"up to {100 * lost:.1f} % of a group's rows" if lost > 0 else "",
                "facts": wording.component_facts(result, number) if number else "",
                "separation": _separation(result, number) if len(names) > 2 else [],
            }
        )
    return captions


def _separation(result: DifferenceResult, number: int) -> list[list[str]]:
    """Cells of the groups x groups table of divergences along a direction."""
    return [
        ["" if g == h else f"{value:.3g}" for h, value in enumerate(row)]
        for g, row in enumerate(result.separation[number])
    ]


def _test_section(result: DifferenceResult) -> dict[str, Any]:
    test = result.test
    section: dict[str, Any] = {
        "sentence": visible(wording.test_sentence(result)),
        "pvalue": visible(wording.format_pvalue(result)),
        "null": len(result.null) > 0 and bool(np.isfinite(result.null).all()),
        "splits": test.name == "split" and len(test.split_pvalues) > 1,
        "beyond": 0,
        "levels": [],
    }
    if section["null"]:
        section["beyond"] = int((result.null >= result.statistic).sum())
    section["count"] = len(result.null)
    for cell, pvalue in zip(test.cells, test.cell_pvalues, strict=True):
        section["levels"].append((visible(cell), f"{pvalue:.2g}"))
    return section


def _bound(result: DifferenceResult) -> dict[str, str]:
    bound = result.upper_bound
    found = float(result.divergences[0])
    return {
        "found": f"{found:.4g}",
        "bound": f"{bound:.4g}" if np.isfinite(bound) else "",
        "how": visible(result.certificate.how).rstrip(".") if np.isfinite(bound) else "",
    }


def _path_section(result: DifferenceResult) -> dict[str, str] | None:
    return {"chosen": f"{result.path.chosen:.4g}"} if result.path else None


def _settings(result: DifferenceResult) -> list[tuple[str, str]]:
    asked = result.parameters
    rows = [
        ("groups", ", ".join(f"{visible(name)} ({_count(n)} rows)" for name, n in result.groups.items())),
        ("features", _count(len(result.table))),
        ("scaling", _words(asked.get("scale"), _SCALES)),
        ("features in the direction", _words(asked.get("n_features"), _LEVELS)),
        ("divergence", _words(asked.get("divergence"))),
        ("relabellings asked for", _words(asked.get("n_permutations"))),
        ("missing values", _words(asked.get("missing"), _MISSING)),
        ("columns asked for", _words(asked.get("features"))),
        ("covariates", _words(asked.get("covariates"))),
        ("relabelling of blocks", _words(asked.get("permute"))),
        ("time budget, seconds", _words(asked.get("time_budget"))),
        ("seed", _words(asked.get("random_state")) or "none: another run may differ a little"),
    ]
    rows += [(visible(name), _words(number)) for name, number in asked.get("versions", {}).items()]
    rows += [("Python", _words(asked.get("python")))]
    return [(name, text) for name, text in rows if text]


def _seconds(result: DifferenceResult) -> list[tuple[str, str]]:
    steps = result.parameters.get("seconds", {})
    rows = [(visible(step), f"{seconds:.2f} s") for step, seconds in steps.items()]
    return [*rows, ("together", f"{sum(steps.values()):.2f} s")] if rows else []


def _charts(result: DifferenceResult, names: list[str]) -> dict[str, Any]:
    specs: dict[str, Any] = {"feature": charts.feature(names)}
    for index, component in enumerate(_components(result)):
        specs[f"projection-{index}"] = charts.projection(
            [group.quantiles for group in component],
            [group.rows for group in component],
            names,
        )
    test = _test_section(result)
    if test["null"]:
        specs["null"] = charts.null(result.null, result.statistic)
    if test["splits"]:
        specs["splits"] = charts.splits(result.test.split_pvalues)
    if result.path:
        specs["path"] = charts.path(
            result.path.grid.tolist(),
            result.path.fitted.tolist(),
            result.path.held_out.tolist(),
            result.path.chosen,
        )
    return specs


def _histograms(stored: dict[str, Any], features: list[str], groups: list[str]) -> dict[str, Any]:
    """Histograms by the feature's row in the table: names of any kind make poor keys in JavaScript."""
    return {
        str(row): {
            "edges": charts.rounded(stored[name]["edges"]),
            "shares": [charts.rounded(stored[name]["shares"].get(group, []), 3) for group in groups],
        }
        for row, name in enumerate(features)
        if name in stored
    }


# Small things.


def _file(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _script(text: str) -> Markup:
    """Script text that cannot close its element, with the line ends that a browser hashes."""
    return Markup(text.replace("\r\n", "\n").replace("</script", "<\\/script"))


def _hash(script: str) -> str:
    digest = hashlib.sha256(script.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


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
