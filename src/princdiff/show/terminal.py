"""A result as text for a terminal: what fits is shown, what does not is shortened, colours only where seen.

Names of features and groups come out of users' files. They may be long, wide or hold control characters that
a terminal would obey, so everything passes through `printable` before colours are added.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from princdiff.printable import printable

if TYPE_CHECKING:
    import pandas as pd

    from princdiff.result import DifferenceResult
from princdiff.show.screen import (
    GAP,
    Screen,
    TextColumn,
    bar,
    clipped,
    columns_of,
    drawn_table,
    shorten,
    table_width,
)

_SHOWN = 10
_SHOWN_PAIRS = 5
# Widths of names and of what changed: what is needed, what is enough.
_LEAST_NAME, _GOOD_NAME = 12, 36
_LEAST_CHANGE = 16
_BAR = 10


def answer(result: DifferenceResult, screen: Screen, *, notes: Sequence[str] = ()) -> list[str]:
    """The whole answer: what differs and how sure that is come first, how it was found last.

    Parameters
    ----------
    result : DifferenceResult
        The result to show.
    screen : Screen
        Where it goes.
    notes : list of str
        What was left out or changed.

    Returns
    -------
    list of str
        Lines.
    """
    # Here, not above: a message about a mistyped option must not wait for NumPy.
    from princdiff.words import on_directions, on_explanation, readable_figures, wording

    lines = [screen.bold(line) for line in screen.prose(wording.headline(result))]
    details = wording.details(result)
    lines += screen.prose(details) if details else []
    lines.append("")
    if result.pvalue > wording.LEVEL:
        lines += screen.prose(wording.about_largest(result))
    lines += column_lines(result, screen)
    lines += relation_lines(result, screen)
    lines += row_lines(result, screen)
    lines.append("")
    groups = zip(readable_figures.group_names(result), readable_figures.group_sizes(result), strict=True)
    sizes = ", ".join(f"{shorten(printable(name), 40)}: {size}" for name, size in groups)
    n_columns, n_features = len(result.columns), len(result.table)
    features = f" as {n_features} features" if n_features != n_columns else ""
    facts = [printable(on_explanation.about_others(result))]
    facts += [f"Compared: {sizes}; {n_columns} column{'s' if n_columns != 1 else ''}{features}."]
    facts += [printable(line) for line in on_directions.witness_sentences(result)]
    if len(result.contrasts) > 1:
        facts += [printable(on_directions.contrast_sentence(result, part)) for part in result.contrasts]
    else:
        facts.append(direction_sentence(result))
    facts += on_directions.components_sentences(result)
    if result.certificate.kind:
        facts.append(on_directions.certainty(result))
    facts += [wording.test_sentence(result), wording.selection_sentence(result)]
    facts += [str(result.parameters.get("why_divergence") or "")]
    for fact in filter(None, facts):
        lines += screen.prose(fact)
    for note in notes:
        first, *rest = screen.prose(f"Note: {note}", indent=" " * 6)
        lines += [screen.paint("Note:", "33") + first[5:], *rest]
    return lines


def direction_sentence(result: DifferenceResult) -> str:
    """The weights of the direction, the largest first."""
    frame = result.table[result.table["weight"] != 0]
    if frame.empty:
        return "No direction separates the groups."
    order = frame["weight"].abs().sort_values(ascending=False, kind="stable").index
    shown = [
        f"{frame.at[i, 'weight']:+.2f} {shorten(printable(frame.at[i, 'feature']), 40)}" for i in order[:6]
    ]
    more = f", and {len(frame) - 6} more" if len(frame) > 6 else ""
    unshared = ""
    if frame["share"].isna().all():
        name = str(result.parameters.get("divergence") or "this divergence").replace("_", " ")
        unshared = f" {name.capitalize()} does not depend on scale, so shares are not defined."
    return f"Direction: {', '.join(shown)}{more} (of the scaled features).{unshared}"


def column_lines(result: DifferenceResult, screen: Screen) -> list[str]:
    """The columns of the user's table: those that differ, or the largest differences where none was shown."""
    from princdiff.words import readable_figures, wording
    from princdiff.words.readable_figures import MOST_ARROWS

    frame = result.columns
    chosen = frame[frame["selected"]]
    shown = (chosen if len(chosen) else frame.sort_values("effect", ascending=False, kind="stable")).head(
        _SHOWN
    )
    if shown.empty:
        return ["No column was compared."]
    lines = drawn_table(_column_columns(result, shown, screen), screen)
    further = wording.further_columns(result, shown)
    remarks = [f"{screen.dots} and {further}"] if further else []
    names = readable_figures.group_names(result)
    if len(names) <= MOST_ARROWS:
        remarks.append(f"from {' to '.join(shorten(printable(name), 30) for name in names)}")
    # Beside a mean the size would be taken for that of the means.
    remarks.append("size: of the whole difference, in spread and shape too")
    if "adjusted p" in lines[0]:
        remarks.append("adjusted p: adjusted for the number of columns tested")
    return lines + [screen.dim(line) for line in (screen.prose("; ".join(remarks)) if remarks else [])]


def _column_columns(result: DifferenceResult, shown: pd.DataFrame, screen: Screen) -> list[TextColumn]:
    """Names, what changed and its size; then, as far as there is room, p-value, alone or not, and kind."""
    from princdiff.show.figures import bar_end

    names = [printable(name) for name in shown["column"]]
    changes = [
        [replace(part, text=printable(part.text)) for part in result.change_of(str(name))]
        for name in shown["column"]
    ]
    effect = TextColumn("size", [f"{value:.2f} sd" for value in shown["effect"]], right=True)
    kind = TextColumn("kind", [str(kind) for kind in shown["kind"]])
    differs = TextColumn("differs", [str(how) or "-" for how in shown["differs"]], paint=_yes_colour)
    pvalue = TextColumn("adjusted p", [_known(p, ".2g") for p in shown["pvalue"]], right=True)
    optional = [pvalue] if shown["pvalue"].notna().any() else []
    # Where all differ on their own there is nothing to tell apart.
    optional += [differs] if set(differs.cells) != {"alone"} else []
    optional += [kind]
    longest = max(len("column"), *map(columns_of, names))
    # Of several levels the first must be read whole; of a mean its change in percent may go.
    wanted = max(_LEAST_CHANGE, *(columns_of(change[0].text) for change in changes))
    while True:
        room = screen.width - table_width([effect, *optional]) - len(GAP)
        if not optional or room >= min(longest, _GOOD_NAME) + wanted:
            break
        optional.pop()
    name_width = min(longest, max(_LEAST_NAME, room - wanted, _GOOD_NAME if room > 80 else 0))
    room -= name_width
    name = TextColumn("column", [shorten(name, name_width, screen.dots) for name in names])
    if room < _LEAST_CHANGE:
        return [name, effect]
    change = TextColumn("what changed", [clipped(change, room, screen.dots) for change in changes])
    end = bar_end(result.columns["effect"], result.columns["selected"])
    bars = TextColumn("", [bar(value / end, _BAR) for value in shown["effect"]])
    room -= change.width
    before = [kind] if any(one is kind for one in optional) else []
    after = [one for one in (differs, pvalue) if any(one is chosen for chosen in optional)]
    drawn = [bars] if screen.drawn and room >= _BAR + len(GAP) else []
    return [name, *before, change, effect, *drawn, *after]


def relation_lines(result: DifferenceResult, screen: Screen) -> list[str]:
    """Pairs that go together differently."""
    from princdiff.words import on_pairs, readable_figures

    pairs = on_pairs.named_pairs(result).head(_SHOWN_PAIRS)
    if pairs.empty:
        return []
    texts = [on_pairs.correlation_texts(result, row) for row in pairs.to_dict("records")]
    groups = [
        TextColumn(shorten(printable(name), 16, screen.dots), [row[place] for row in texts], right=True)
        for place, name in enumerate(readable_figures.group_names(result))
    ]
    pvalue = TextColumn("adjusted p", [_known(p, ".2g") for p in pairs["pvalue"]], right=True)
    names = {side: [printable(name) for name in pairs[side]] for side in ("first", "second")}
    lowest = [min(row, key=float) for row in texts]
    highest = [max(row, key=float) for row in texts]
    span = [TextColumn("lowest", lowest, right=True), TextColumn("highest", highest, right=True)]
    # On a narrow screen the p-values give way first, then the groups.
    for numbers in ([*groups, pvalue], groups, [*span, pvalue], span):
        room = screen.width - table_width(numbers) - len(GAP)
        if room >= 2 * _LEAST_NAME:
            break
    longest = {side: max(len(side), *map(columns_of, own)) for side, own in names.items()}
    first = min(longest["first"], max(room // 2, room - longest["second"]))
    widths = {"first": first, "second": room - first}
    columns = [
        TextColumn(side, [shorten(name, max(4, widths[side]), screen.dots) for name in own])
        for side, own in names.items()
    ]
    total = len(on_pairs.selected_relations(result)) - len(pairs)
    words = f"{screen.dots} and {total} more pair{'s' if total > 1 else ''}"
    return [
        "",
        *screen.prose("Pairs that are related differently (rank correlation in each group):"),
        *drawn_table([*columns, *numbers], screen),
        *([screen.dim(words)] if total > 0 else []),
    ]


def row_lines(result: DifferenceResult, screen: Screen) -> list[str]:
    """Rows to look at, where they were asked for: as many columns as fit, those that differ first."""
    from princdiff.result.rows import SIDES_IN_WORDS, cell

    if not result.rows:
        return []
    where, values = result.rows.where, result.typical_rows()
    columns = [
        TextColumn("group", [shorten(printable(name), 24, screen.dots) for name in where["group"]]),
        TextColumn("", [SIDES_IN_WORDS[side] for side in where["side"]]),
        TextColumn("row", [str(row) for row in where["row"]], right=True),
    ]
    hidden = 0
    for place, name in enumerate(values.columns):
        cells = [shorten(printable(cell(value)), 20, screen.dots) for value in values.iloc[:, place]]
        own = TextColumn(shorten(printable(name), 20, screen.dots), cells)
        if table_width([*columns, own]) > screen.width:
            hidden = values.shape[1] - place
            break
        columns.append(own)
    remark = f"{screen.dots} and {hidden} more columns; rows count from 0" if hidden else "rows count from 0"
    return [
        "",
        *screen.prose("Typical rows of each group, and rows that resemble another group:"),
        *drawn_table(columns, screen),
        screen.dim(remark),
    ]


def _known(value: float, form: str) -> str:
    return format(value, form) if value == value else "-"


def _yes_colour(cell: str) -> str:
    return "2" if cell == "-" else "32"


def judgement(scores: pd.DataFrame, screen: Screen) -> list[str]:
    """How far new rows are from each group."""
    several = scores["component"].nunique() > 1
    columns = [TextColumn("group", [shorten(printable(name), 40) for name in scores["group"]])]
    if several:
        columns.insert(0, TextColumn("component", scores["component"].astype(str).tolist()))
    columns += [
        TextColumn("distance", [f"{value:.3f}" for value in scores["distance"]], right=True),
        TextColumn("effect", [f"{value:.2f} sd" for value in scores["effect"]], right=True),
        TextColumn("", ["closest" if yes else "" for yes in scores["closest"]], paint=lambda cell: "32"),
    ]
    return drawn_table(columns, screen)
