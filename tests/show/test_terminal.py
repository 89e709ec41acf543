"""The answer on a terminal: it fits any width, tells what matters first, and counts wide letters as wide."""

import dataclasses

import pytest
from made_up import NAMES, made_up, mixed

from princdiff.show.screen import Screen, columns_of, wrapped
from princdiff.show.terminal import answer, column_lines, relation_lines
from princdiff.words import wording

WIDE = ["日本語の列の名前はとても長いことがあります", "e\N{COMBINING ACUTE ACCENT}" * 30, *NAMES]


def _results():
    yield mixed()
    yield mixed(groups=("a", "b", "c"))
    yield mixed(groups=tuple(f"group number {j}" for j in range(12)))
    yield made_up(names=WIDE, groups=("日本" * 10, "</script>"))
    yield dataclasses.replace(made_up(), pvalue=0.4)


@pytest.mark.parametrize("width", [40, 50, 60, 72, 80, 100, 120, 200])
def test_no_line_is_wider_than_the_screen(width):
    for result in _results():
        for drawn in (True, False):
            lines = answer(result, Screen(width, drawn=drawn), notes=["日本語" * 40, "a note " * 30])
            # An arrow written as two signs is one column wider; nothing else may be.
            assert max(columns_of(line.replace("->", "→")) for line in lines) <= width


def _head(lines: list[str]) -> list[str]:
    return lines[0].split()


def test_what_changed_is_told_before_anything_else():
    result = mixed()
    narrow = column_lines(result, Screen(46))
    assert "kind" not in _head(narrow)
    assert "adjusted" not in _head(narrow)
    assert narrow[1].split() == ["plan", "free", "40", "%", "→", "20", "%", "0.90", "sd"]
    wide = column_lines(result, Screen(120))
    assert _head(wide) == ["column", "kind", "what", "changed", "size", "differs", "adjusted", "p"]
    assert "free 40 % → 20 %, gold 2 % → 10 %" in wide[1]
    # Both in the order of the result.
    for lines in (narrow, wide):
        assert [line.split()[0] for line in lines[1:7]] == [
            "plan",
            "income",
            "active",
            "age",
            "height",
            "weight",
        ]


def test_bars_are_as_long_as_sizes():
    lines = column_lines(mixed(), Screen(120))
    counts = [line.count("█") for line in lines[1:7]]
    assert counts == [10, 6, 4, 5, 0, 0]
    assert not any("█" in line for line in column_lines(mixed(), Screen(120, drawn=False)))


def test_what_all_share_is_not_told_in_every_line():
    result = made_up()
    assert "differs" not in _head(column_lines(result, Screen(120)))
    assert "differs" in _head(column_lines(mixed(), Screen(120)))


def test_columns_line_up_whatever_their_letters():
    lines = column_lines(made_up(names=WIDE), Screen(100))
    ends = {columns_of(line[: line.index(" sd")]) for line in lines[1:6]}
    assert len(ends) == 1


def test_many_groups_are_told_by_their_extremes():
    result = mixed(groups=tuple(f"group number {j}" for j in range(12)))
    lines = relation_lines(result, Screen(80))
    assert lines[2].split() == ["first", "second", "lowest", "highest", "adjusted", "p"]
    assert lines[3].split() == ["height", "weight", "-0.30", "0.80", "0.01"]
    few = relation_lines(mixed(), Screen(80))
    assert few[3].split() == ["height", "weight", "0.80", "-0.30", "0.01"]


def test_more_pairs_are_counted():
    result = mixed()
    pairs = result.relations.iloc[[0] * 6].reset_index(drop=True)
    assert relation_lines(dataclasses.replace(result, relations=pairs), Screen(80))[-1] == "… and 1 more pair"


@pytest.mark.parametrize("width", [1, 3, 7, 20])
def test_wrapping_loses_nothing(width):
    text = "one 日本語の列 e\N{COMBINING ACUTE ACCENT}" + " averyveryverylongword  two"
    lines = wrapped(text, max(width, 2))
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert max(map(columns_of, lines)) <= max(width, 2)
    assert wrapped("", 10) == [""]


def test_figures_are_not_torn_apart():
    for width in range(40, 100):
        for line in Screen(width).prose(
            "The groups a and b differ (p = 0.01): plan = gold (2 % → 10 %), with +0.25 income."
        ):
            assert not line.endswith(("=", "→", "+0.25"))
            assert not line.startswith(("=", "%"))


def test_relabellings_are_counted_in_words_that_can_be_read():
    drawn = made_up()
    every = dataclasses.replace(drawn, test=dataclasses.replace(drawn.test, exact=True, n_permutations=69))
    assert "Permutation test, all 69 distinct permutations;" in wording.test_sentence(every)
    count = drawn.test.n_permutations
    assert f"Permutation test, {count} random permutations" in wording.test_sentence(drawn)
