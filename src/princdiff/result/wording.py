"""The result in words: what a person who is no statistician reads first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from princdiff.result.columns import in_brackets
from princdiff.result.readable_figures import from_to, number

if TYPE_CHECKING:
    import pandas as pd

    from princdiff.result import DifferenceResult
    from princdiff.result.parts import ContrastPart

LEVEL = 0.05
_KINDS = {"location": "a shift", "scale": "a change of spread", "shape": "a change of shape"}
_NAMED = 4
# So many pairs, and so large a part of them with one column, and it is named as the one that changed.
_HUB_PAIRS, _HUB_SHARE = 3, 0.6
# Change of a correlation that two ovals side by side show.
SEEN_CHANGE = 0.1
_BARE = ("yes", "no", "true", "false", "y", "n", "t", "f")
_DIRECTION_FEATURES = 3
# A difference along a direction is called one of spread or shape if that is more than this part of it.
_MOSTLY = 0.6
# How much better a direction can be at most: what is called nothing, and what is called loose.
_NOTHING_MORE, _LOOSE = 0.0101, 0.25
# A feature's part this many times an even one stands out.
_STANDS_OUT = 2.0
# Directions that are shown.
SIZE, SHARPEST, SUM = "largest difference in size", "sharpest contrast", "sum of the scaled features"


def headline(result: DifferenceResult) -> str:
    """The answer in one to three sentences: whether they differ, in what, and how far apart they are."""
    names = _listed(group_names(result))
    pvalue = format_pvalue(result)
    if np.isnan(result.pvalue):
        return f"The groups {names} were not tested. {distance_sentence(result)}"
    if not result.pvalue <= LEVEL:
        return f"No difference between {names} could be shown ({pvalue}).{_would_have_shown(result)}"
    cut_short = not result.test.exact and result.test.n_permutations < result.test.asked
    if cut_short and result.test.smallest_attainable_pvalue >= LEVEL:
        return (
            f"Whether {names} differ was not decided in time: {result.test.n_permutations} of "
            f"{result.test.asked} relabellings can give no p-value below {pvalue[4:]}."
        )
    # Where no direction led, how far apart they are along one says nothing; nor does a distance of nothing.
    nowhere = result.witness is not None or (second_contrast(result) is None and _is_nothing(result.effect))
    apart = "" if nowhere else f" {distance_sentence(result)}"
    return f"The groups {names} differ ({pvalue}). {what_differs(result)}{apart}"


def _would_have_shown(result: DifferenceResult) -> str:
    """How large a difference such a test usually finds."""
    if not np.isfinite(result.test.detectable):
        return ""
    return (
        f" A shift of one column by {result.test.detectable:.2g} standard deviations would have been found "
        "in four of five such tables."
    )


def group_names(result: DifferenceResult) -> list[str]:
    """What the groups are called; a bare 0, 1, yes or no is named with the column it stands in."""
    names = [str(name) for name in result.groups]
    column = result.parameters.get("groups")
    bare = all(name.lstrip("-").isdigit() or name.lower() in _BARE for name in names)
    return [f"{column} = {name}" for name in names] if column and bare else names


def format_pvalue(result: DifferenceResult) -> str:
    """P-value with as many digits as it deserves."""
    if np.isnan(result.pvalue):
        return "not tested"
    return f"p = {result.pvalue:.2g}"


def what_differs(result: DifferenceResult) -> str:
    """The columns that differ, from what to what; else the pairs; else where the test saw it."""
    alone = columns_alone(result)
    pairs = selected_relations(result)
    sentences = []
    if len(alone):
        sentences.append(_columns_sentence(result, alone))
    if len(pairs):
        sentences += _pairs_sentence(result, len(alone) > 0)
    other = result.columns[result.columns["selected"]].drop(index=alone.index)
    in_pairs = (
        {str(name) for name in [*pairs["first column"], *pairs["second column"]]} if len(pairs) else set()
    )
    rest = [str(name) for name in other["column"] if str(name) not in in_pairs]
    if rest:
        sentences.append(f"{_some(rest)} differ{'s' if len(rest) == 1 else ''} in combination with others.")
    if sentences:
        return " ".join(sentences)
    if not result.selection.made:
        return result.test.leading or "The columns were not tested."
    leading = result.test.leading or "No single column shows it on its own."
    return f"{leading} No single column or pair of columns could be named with confidence."


def columns_alone(result: DifferenceResult) -> pd.DataFrame:
    """Columns that differ on their own."""
    by_itself = result.columns["reason"].astype(str).str.startswith("alone")
    return result.columns[result.columns["selected"] & by_itself]


def further_columns(result: DifferenceResult, shown: pd.DataFrame) -> str:
    """How many columns differ beside those shown, counted as the headline counts them; "" if none."""
    hidden = result.columns[result.columns["selected"].astype(bool)].index.difference(shown.index)
    alone = len(hidden.intersection(columns_alone(result).index))
    together = len(hidden) - alone
    own = f"{alone} more that {_differ(alone)}" if alone else ""
    rest = f"{together}{'' if alone else ' more'} that {_differ(together)} together with others"
    return ", and ".join(filter(None, (own, rest if together else "")))


def _differ(count: int) -> str:
    return "differs" if count == 1 else "differ"


def _columns_sentence(result: DifferenceResult, alone: pd.DataFrame) -> str:
    count, total = len(alone), len(result.columns)
    telling = [str(name) for name in result.parameters.get("telling_columns") or ()]
    # A column that determines the group is most often the grouping itself, and no news.
    known = alone["column"].astype(str).isin(telling).to_numpy()
    shown = alone.iloc[np.argsort(known, kind="stable")].head(_NAMED)
    rest = alone[known]["column"].astype(str).tolist() if known.any() and not known.all() else []
    certain = (
        f" {_some(rest)} determine{'s' if len(rest) == 1 else ''} the group of every row." if rest else ""
    )
    brief = len(shown) > 2
    parts = [
        f"{_cut(str(row.column), 60)} ({in_brackets(str(row.change), first_only=brief)})"
        for row in shown.itertuples()
    ]
    named = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    of = f" of {total}" if total > count else ""
    if count == 1:
        return f"One{of} column{'s' if of else ''} differs: {named}.{certain}"
    if total == count:
        opening = "Both columns differ" if count == 2 else f"All {count} columns differ"
    else:
        opening = f"{_number(count)}{of} columns differ"
    return f"{opening}{', led by' if count > _NAMED else ':'} {named}.{certain}"


def _pairs_sentence(result: DifferenceResult, also: bool) -> list[str]:
    """Pairs that go together differently; where one column is in most of them, it is named as such.

    With many rows a change of a correlation can be certain and too small to matter: beside columns that
    differ on their own the table is enough for these.
    """
    pairs = named_pairs(result)
    seen = pairs[pairs["change"] >= SEEN_CHANGE] if also else pairs
    if seen.empty:
        return []
    opening = "Also, " if also else "No column differs on its own, but "
    row = seen.iloc[0]
    # Counts are those of the table and of the page: of all pairs.
    hub, others = _hub(pairs)
    if others and hub in (row["first column"], row["second column"]):
        other = row["second"] if row["first column"] == hub else row["first"]
        return [
            f"{opening}{_cut(hub, 40)} is related differently to {others} other columns, "
            f"most clearly {_cut(str(other), 40)} ({pair_change(result, row)})."
        ]
    first = f"{_cut(str(row['first']), 40)} and {_cut(str(row['second']), 40)} are related differently"
    more = ""
    if len(pairs) > 1:
        more = "; so is one more pair" if len(pairs) == 2 else f"; so are {len(pairs) - 1} more pairs"
    return [f"{opening}{first} ({pair_change(result, row)}){more}."]


def pair_change(result: DifferenceResult, row: Mapping[Any, Any] | pd.Series) -> str:
    """How a pair goes together in the groups."""
    values = [float(row[f"dependence {group}"]) for group in result.groups]
    rows = list(result.groups.values())
    return f"correlation {from_to(values, correlations(values), list(result.groups), rows)}"


def named_pairs(result: DifferenceResult) -> pd.DataFrame:
    """Pairs that go together differently in the order in which they are mentioned: those of a hub first."""
    pairs = selected_relations(result)
    if pairs.empty:
        return pairs
    hub, others = _hub(pairs)
    if not others:
        return pairs
    outside = (pairs["first column"] != hub) & (pairs["second column"] != hub)
    return pairs.iloc[np.argsort(outside.to_numpy(), kind="stable")]


def _hub(pairs: pd.DataFrame) -> tuple[str, int]:
    """The column that most pairs share, and with how many others; 0 where there is no such column."""
    hub, share = _most_frequent(pairs)
    if len(pairs) < _HUB_PAIRS or share < _HUB_SHARE:
        return hub, 0
    own = pairs[(pairs["first column"] == hub) | (pairs["second column"] == hub)]
    others = {str(name) for name in [*own["first column"], *own["second column"]]} - {hub}
    return hub, len(others) if len(others) > 1 else 0


def _most_frequent(pairs: pd.DataFrame) -> tuple[str, float]:
    """The column that is in most pairs, and in which share of them."""
    counts: dict[str, int] = {}
    for first, second in zip(pairs["first column"], pairs["second column"], strict=True):
        for name in {str(first), str(second)}:
            counts[name] = counts.get(name, 0) + 1
    hub = max(counts, key=lambda name: counts[name])
    return hub, counts[hub] / len(pairs)


def correlations(values: list[float]) -> list[str]:
    """Correlations with as many digits as tell them apart.

    Examples
    --------
    >>> correlations([0.8, -0.3]), correlations([0.9957, 0.9973])
    (['0.80', '-0.30'], ['0.996', '0.997'])
    """
    known = [value for value in values if not np.isnan(value)]
    for digits in (2, 3, 4):
        texts = [f"{value:.{digits}f}" for value in values]
        if not known or len({round(value, digits) for value in (min(known), max(known))}) > 1:
            break
    return [text.replace("-0.00", "0.00") if float(text) == 0 else text for text in texts]


def selected_relations(result: DifferenceResult) -> pd.DataFrame:
    """Pairs that go together differently, with control of the error."""
    return result.relations[result.relations["selected"].astype(bool)]


def distance_sentence(result: DifferenceResult) -> str:
    """How far apart the groups are along the direction found, and what it is made of."""
    frame = result.table[result.table["weight"] != 0]
    if frame.empty:
        return "No direction tells them apart."
    order = frame["share"].fillna(frame["weight"] ** 2).sort_values(ascending=False, kind="stable").index
    columns = list(dict.fromkeys(map(str, frame.loc[order, "column"])))
    kind = _main_kind(result, frame)
    apart = f"they {_size(result, result.effect, *result.effect_interval, kind=kind)}"
    other = second_contrast(result)
    if other is None:
        return f"Along the direction found ({_made_of(columns)}) {apart}."
    size = f"{result.effect:.2g} along the {SIZE} ({_made_of(columns)})"
    made_of = f" ({_made_of(contrast_columns(result, other))})" if other.name == SHARPEST else ""
    return (
        f"Along the {other.name}{made_of} they {_size(result, other.effect, other.low, other.high)}, {size}."
    )


def second_contrast(result: DifferenceResult) -> ContrastPart | None:
    """A direction that tells the groups apart better than that of the largest difference in size."""
    return next((part for part in result.contrasts if part.name != SIZE), None)


def _main_kind(result: DifferenceResult, features: pd.DataFrame) -> str:
    """What most of the difference along the direction is; "location" where nothing else is, or of flags."""
    main = max(result.kind, key=lambda name: result.kind[name])
    flags = features["kind"].isin(["proportion", "missing"]).any()
    return "location" if flags or result.kind[main] <= _MOSTLY else main


def _size(result: DifferenceResult, effect: float, low: float, high: float, kind: str = "location") -> str:
    """How far apart groups are; where it is their spread or shape that differs, that it is no distance."""
    size, interval = size_and_interval(effect, low, high)
    unit = "standard deviation" if size == "1" else "standard deviations"
    bounds = f" ({interval})" if interval else ""
    average = " on average" if len(result.groups) > 2 else ""
    if kind != "location":
        return f"differ by {size} {unit}{average}{bounds}, mostly in {kind.replace('scale', 'spread')}"
    return f"are {size} {unit} apart{average}{bounds}"


def _is_nothing(effect: float) -> bool:
    return bool(effect < 0.005)


def size_and_interval(effect: float, low: float, high: float) -> tuple[str, str]:
    """How far apart groups are and between which bounds, with digits enough to tell these apart.

    Examples
    --------
    >>> size_and_interval(1.994, 1.96, 2.03), size_and_interval(0.5, np.nan, np.nan)
    (('1.99', '1.96 to 2.03'), ('0.5', ''))
    """
    if np.isnan(low):
        return f"{effect:.2g}", ""
    # With many rows two digits would make an interval of one number.
    form = next((form for form in (".2g", ".3g", ".4g") if f"{low:{form}}" != f"{high:{form}}"), ".5g")
    return f"{effect:{form}}", f"{low:{form}} to {high:{form}}"


def _made_of(columns: list[str]) -> str:
    if len(columns) <= _DIRECTION_FEATURES:
        return _listed(columns)
    return f"{_listed(columns[:2])} and {len(columns) - 2} more"


def contrast_columns(result: DifferenceResult, part: ContrastPart) -> list[str]:
    """Columns of the user's table that a direction is made of, the largest weight first."""
    origin = dict(zip(result.table["feature"], result.table["column"], strict=True))
    order = np.argsort(-np.abs(part.weights), kind="stable")
    names = [str(result.directions.index[place]) for place in order if part.weights[place] != 0]
    return list(dict.fromkeys(str(origin[name]) for name in names))


def contrast_sentence(result: DifferenceResult, part: ContrastPart) -> str:
    """One direction: its largest weights, and how well it tells the groups apart on rows held out."""
    order = np.argsort(-np.abs(part.weights), kind="stable")
    used = [place for place in order if part.weights[place] != 0]
    shown = [
        f"{part.weights[place]:+.2f} {_cut(str(result.directions.index[place]), 40)}" for place in used[:6]
    ]
    more = f", and {len(used) - 6} more" if len(used) > 6 else ""
    sure = "" if np.isnan(part.auc) else f", area under the curve {part.auc:.2f}"
    return (
        f"{part.name[:1].upper()}{part.name[1:]}: {', '.join(shown)}{more} (of the scaled features); "
        f"{part.effect:.2g} standard deviations{sure}, on rows held out."
    )


def witness_sentences(result: DifferenceResult) -> list[str]:
    """What can be shown of a difference that is not along one direction."""
    found = result.witness
    if found is None:
        return []
    # The headline says where the test saw it.
    opening = found.sentence.removeprefix(result.test.leading).strip()
    lines = [opening] if opening else []
    if found.features:
        if found.parts[0] * len(result.table) < _STANDS_OUT and len(found.features) > 2:
            lines.append("All features take part about alike; none stands out.")
        else:
            named = [
                f"{_cut(name, 40)} ({100 * part:.0f} %)"
                for name, part in zip(found.features[:_NAMED], found.parts, strict=False)
            ]
            lines.append(f"Features that take part most: {', '.join(named)}.")
    rows = [
        f"{name}: {', '.join(map(str, found.typical[group]))}"
        for name, group in zip(group_names(result), result.groups, strict=True)
    ]
    lines.append(f"Rows most typical of their group (numbered from 0): {'; '.join(rows)}.")
    return lines


def _some(names: list[str]) -> str:
    return (
        _listed(names)
        if len(names) <= _NAMED
        else f"{_listed(names[: _NAMED - 1])} and {len(names) - _NAMED + 1} more"
    )


def component_facts(result: DifferenceResult, number: int) -> str:
    """How large the difference along a further direction is, of what kind, and whether it may be chance."""
    row = result.components.iloc[number].to_dict()
    main = max(_KINDS, key=lambda name: float(row[name]))
    pvalue = "" if np.isnan(row["pvalue"]) else f" (p = {row['pvalue']:.2g}, descriptive)"
    return f"{row['effect']:.2g} standard deviations{pvalue}, mostly {_KINDS[main]}."


def components_sentences(result: DifferenceResult) -> list[str]:
    """What further directions there are, and which groups each tells apart."""
    lines = [
        f"Component {number + 1}: {component_facts(result, number)}"
        for number in range(1, len(result.components))
    ]
    if len(result.groups) > 2:
        for number in range(len(result.components)):
            frame = result.separation_frame(number)
            values = np.where(np.triu(np.ones(frame.shape), 1) > 0, frame.to_numpy(), -np.inf)
            g, h = np.unravel_index(values.argmax(), values.shape)
            names = _listed([str(frame.index[g]), str(frame.index[h])])
            lines.append(f"Component {number + 1} tells {names} apart most.")
    return lines


def kind_sentence(result: DifferenceResult) -> str:
    """Whether the difference along the direction is mostly a shift, a change of spread or of shape."""
    main = max(result.kind, key=lambda name: result.kind[name])
    share = result.kind[main]
    amount = "mostly" if share > 0.6 else "in good part"
    return f"Along the direction the difference is {amount} {_KINDS[main]} ({100 * share:.0f} %)."


def certainty(result: DifferenceResult) -> str:
    """How much more any direction could separate the groups."""
    bound, value = result.upper_bound, float(result.divergences[0])
    if not np.isfinite(bound) or bound <= 0:
        return result.certificate.how or "No bound on the best possible direction was computed."
    allowed = result.certificate.n_features
    features = "" if allowed is None else f" with at most {allowed} feature{'s' if allowed > 1 else ''}"
    more = max(bound / value - 1, 0.0) if value > 0 else np.inf
    if result.certificate.kind != "certificate":
        return f"A direction{features} separates the groups at most {_more(more)} more, by an estimate."
    if more <= _NOTHING_MORE:
        return f"No direction{features} separates the groups more (proved to within {_more(more)})."
    if more <= _LOOSE:
        return f"A direction{features} could separate the groups at most {_more(more)} more (proved)."
    return (
        f"A direction{features} could separate the groups at most {_more(more)} more (proved); the bound is "
        "loose here, as it often is with many features and few rows."
    )


def _more(share: float) -> str:
    """A share in per cent, rounded up to two digits."""
    if not np.isfinite(share):
        return "any amount"
    percent = max(100 * share, 0.01)
    digits = 1 - int(np.floor(np.log10(percent)))
    # what is a round number but for rounding stays one
    return f"{np.ceil(percent * 10.0**digits - 1e-5) / 10.0**digits:.6g} %"


def test_sentence(result: DifferenceResult) -> str:
    """Which test was made."""
    test = result.test
    if test.name == "permutation":
        made = f"all {test.n_permutations} distinct" if test.exact else f"{test.n_permutations} random"
        asked = (
            f" of the {test.asked} asked for" if not test.exact and test.n_permutations < test.asked else ""
        )
        searched = ""
        if test.searched_rows is not None:
            searched = f" Directions were searched on {test.searched_rows} rows and judged on all."
        return (
            f"Permutation test, {made} relabellings{asked}; "
            f"no p-value below {test.smallest_attainable_pvalue:.2g} is possible here.{searched}"
        )
    if test.name == "split":
        return f"Split test: {test.rule}; the direction was fitted on other rows than tested."
    return "No test was made."


def summary(result: DifferenceResult) -> str:
    """Several lines: the answer, the columns, the test, how sure the optimum is, and notes."""
    from princdiff.present.screen import Screen
    from princdiff.present.terminal import answer

    return "\n".join(answer(result, Screen(width=100), notes=result.notes))


def interval_text(row: Mapping[Any, Any] | pd.Series) -> str:
    """The difference of a column in its unit or in percentage points, with its interval; "" if unknown.

    Examples
    --------
    >>> row = {"measure": "mean", "difference": 1.234, "difference_low": 0.8, "difference_high": 1.7}
    >>> interval_text(row)
    'mean +1.23 (+0.8 to +1.7)'
    >>> interval_text({**row, "measure": "proportion of plan = gold", "difference": 0.1})
    'gold: +10 points (+80 to +170)'
    """
    measure = str(row.get("measure") or "")
    values = [float(row.get(name, np.nan)) for name in ("difference", "difference_low", "difference_high")]
    if not measure or np.isnan(values).any():
        return ""
    share = measure.startswith("proportion")
    estimate, low, high = (_signed(100 * value if share else value) for value in values)
    if not share:
        return f"{measure} {estimate} ({low} to {high})"
    # The table has the column's name already.
    _, _, level = measure.partition(" = ")
    return f"{level + ': ' if level else ''}{estimate} points ({low} to {high})"


def _signed(value: float) -> str:
    if np.isinf(value):
        return "any less" if value < 0 else "any more"
    return f"{'+' if value > 0 else ''}{number(value)}"


def selection_sentence(result: DifferenceResult) -> str:
    """What "differs" promises in the table of columns."""
    made = result.selection
    if not made.control:
        return "The columns were not tested."
    if made.made and made.n_permutations != result.test.n_permutations:
        return f"{made.control} Columns were judged by {made.n_permutations} relabellings."
    return made.control


def percent(share: float) -> str:
    """A share, or a dash where it is not defined."""
    return "-" if np.isnan(share) else f"{100 * share:.1f}%"


def _listed(names: list[str]) -> str:
    names = [_cut(name, 60) for name in names]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def _number(count: int) -> str:
    words = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")
    return words[count] if count < len(words) else str(count)
