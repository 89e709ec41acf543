"""Batches over time as lines for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from princdiff.printable import printable
from princdiff.show.screen import Screen, TextColumn, bar, drawn_table, shorten

# Columns in the text of a terminal, and values in a line of signs.
_TOLD = 10
_SPARKS = 60
# Batches in the table of a terminal.
_LINES = 40

if TYPE_CHECKING:
    from princdiff.batches import BatchesResult


def batches_lines(result: BatchesResult, screen: Screen, notes: Sequence[str] | None = None) -> list[str]:
    """The answer in lines for a terminal.

    Parameters
    ----------
    result : BatchesResult
        What was found.
    screen : Screen
        Where it goes.
    notes : list of str, optional
        Default those of the result.

    Returns
    -------
    list of str
    """
    # Here, not above: a message about a mistyped option must not wait for NumPy.
    from princdiff.show.figures import bar_end

    lines = [screen.bold(line) for line in screen.prose(result.headline)]
    frame = result.frame.tail(_LINES)
    earlier = len(result.frame) - len(frame)
    longest = bar_end(frame["effect"], frame["differs"])
    width = max(8, min(30, screen.width // 4))
    marks = [
        "; ".join(filter(None, ["differs" if differs else "too small" if small else "", short and "short"]))
        for differs, small, short in zip(
            frame["differs"], result.too_small.tail(_LINES), frame["short"], strict=True
        )
    ]
    names = [shorten(printable(name), 30) for name in frame["batch"]]
    room = max(10, screen.width - max(map(len, names)) - width - 45)
    columns = [
        TextColumn("batch", names),
        TextColumn("rows", [str(rows) for rows in frame["rows"]], right=True),
        TextColumn("effect", [f"{effect:.2f}" for effect in frame["effect"]], right=True),
        TextColumn("", [bar(effect / longest, width, screen.drawn) for effect in frame["effect"]]),
        TextColumn("adjusted p", [f"{pvalue:.2g}" for pvalue in frame["adjusted"]], right=True),
        TextColumn("", marks),
        TextColumn("columns", [shorten(printable(", ".join(names)), room) for names in frame["columns"]]),
    ]
    lines += ["", *drawn_table(columns, screen)]
    if earlier:
        count = int(result.frame["differs"].head(earlier).sum())
        lines.append(f"{earlier} earlier batches are not shown, of which {count or 'none'} differ.")
    if not result.results:
        lines += screen.prose(
            "Effect: the largest move of any column, in standard deviations, chance included."
        )
    if result.band[1] == result.band[1]:
        lines += screen.prose(
            f"Effects are in standard deviations; parts of {result.reference} differ from the rest by up "
            f"to {result.band[1]:.2f}."
        )
    if result.too_small.any():
        lines += screen.prose(
            f"Too small: the adjusted p-value is small, but the effect is below {result.min_effect:.2g}."
        )
    lines += _columns_told(result, screen)
    for note in result.notes if notes is None else notes:
        lines += screen.prose(f"Note: {note}", indent=" " * 6)
    return lines


def _columns_told(result: BatchesResult, screen: Screen) -> list[str]:
    """Each column that differs: when it began, its values as a line of signs, and whether it stayed."""
    if not result.history:
        return []
    batches, short = list(result.frame["batch"]), list(result.frame["short"])
    lines = [""]
    for one in result.history[:_TOLD]:
        line = one.sparkline(screen.drawn and len(batches) <= _SPARKS, short)
        lines += screen.prose(f"{line} {one.sentence(batches, short)}".strip(), indent="  ")
    more = len(result.history) - _TOLD
    if more > 0:
        lines.append(f"and {more} more column{'s' if more > 1 else ''}")
    if any(short):
        which = [f"{name} ({why})" for name, why in zip(batches, short, strict=True) if why]
        they = "it says" if len(which) == 1 else "they say"
        lines += screen.prose(f"Short: {', '.join(which)}; what {they} may be due to that.")
    return lines
