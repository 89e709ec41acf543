"""The result in words: what a person who is no statistician reads first."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from princdiff.findings import Reason
from princdiff.options import option
from princdiff.tables.column_types import units_recur
from princdiff.words import on_explanation
from princdiff.words.on_directions import distance_sentence, is_nothing, second_contrast
from princdiff.words.on_explanation import LEVEL
from princdiff.words.on_faults import fault_sentences
from princdiff.words.on_pairs import pairs_clause, pairs_sentence
from princdiff.words.readable_figures import NAMED, cut, group_names, listed, number, some

if TYPE_CHECKING:
    import pandas as pd

    from princdiff.result import DifferenceResult


_SUMMARY_WIDTH = 100
# Of a first sentence; where names of columns are long, fewer of them are in it.
_MOST_WORDS = 25


def headline(result: DifferenceResult) -> str:
    """The answer in one sentence: whether they differ, how sure that is, and in what most of all."""
    names = listed(group_names(result))
    pvalue = format_pvalue(result)
    if np.isnan(result.pvalue):
        return f"The groups {names} were not tested."
    how = " in how columns go together" if only_relations(result) else ""
    if not result.pvalue <= LEVEL:
        return f"{_adjusted(result, 'No')} difference between {names}{how} could be shown ({pvalue})."
    if _undecided(result):
        return (
            f"Whether {names} differ was not decided in time: {result.test.n_permutations} of "
            f"{result.test.asked} permutations can give no p-value below {pvalue[4:]}."
        )
    sentences = [
        f"{_adjusted(result, 'The')} groups {names} differ{how} ({pvalue}){_in_what(result, most)}."
        for most in (NAMED, 2, 1)
    ]
    return next((sentence for sentence in sentences if _words(sentence) <= _MOST_WORDS), sentences[-1])


def _words(sentence: str) -> int:
    """Words and numbers, without signs that stand alone."""
    return sum(any(map(str.isalnum, word)) for word in sentence.split())


def details(result: DifferenceResult) -> str:
    """What belongs to the answer beside its first sentence: what follows, how far apart, on what it rests."""
    if np.isnan(result.pvalue):
        return distance_sentence(result)
    if not result.pvalue <= LEVEL:
        shown = _NOT_ALONE if only_relations(result) else _would_have_shown(result)
        return _together([shown, _if_independent(result)])
    if _undecided(result):
        return ""
    if only_relations(result):
        return _together([*_also(result), _NOT_ALONE, _if_independent(result)])
    # Where no direction led, how far apart they are along one says nothing; nor does a distance of nothing.
    nowhere = result.witness is not None or (second_contrast(result) is None and is_nothing(result.effect))
    apart = "" if nowhere else distance_sentence(result)
    return _together([*_also(result), apart, _if_independent(result)])


def opening(result: DifferenceResult) -> str:
    """The answer with its details, as one paragraph."""
    return _together([headline(result), details(result)])


def _together(sentences: list[str]) -> str:
    return " ".join(sentence for sentence in sentences if sentence)


def _undecided(result: DifferenceResult) -> bool:
    """Whether time ran out before any p-value could have been small."""
    test = result.test
    cut_short = not test.exact and test.n_permutations < test.asked
    return cut_short and test.smallest_attainable_pvalue >= LEVEL


def _in_what(result: DifferenceResult, most: int) -> str:
    """Where the difference lies, as the end of a sentence."""
    alone = _on_their_own(result)
    if len(alone):
        return _in_columns(result, alone, most)
    together = on_explanation.together_clause(result)
    return f", and {together}" if together else pairs_clause(result)


def _in_columns(result: DifferenceResult, alone: pd.DataFrame, named: int) -> str:
    count, total = len(alone), len(result.columns)
    first, *others = alone["column"].astype(str).tolist()
    most = f"{cut(first, 60)} ({result.change_of(first)[0].text})"
    if on_explanation.explains(result) and count == len(result.explanation.columns) <= NAMED:
        columns = "column explains" if count == 1 else "columns explain"
        apart = " and" if min(len(others), named) == 1 else ","
        further = f"{apart} {some(others, named)}" if others else ""
        return f", and {on_explanation.in_words(count).lower()} {columns} it: {most}{further}"
    if total == 1:
        return f": {most}"
    if count == 1:
        return f" in one of {total} columns: {most}"
    all_of = "both columns" if count == total == 2 else f"all {total} columns"
    return f" in {all_of if count == total else f'{count} of {total} columns'}, most in {most}"


def _on_their_own(result: DifferenceResult) -> pd.DataFrame:
    """Columns that differ on their own and follow from no other; last those that determine the group.

    These are most often the grouping itself, and no news.
    """
    alone = columns_alone(result)
    alone = alone[~alone["column"].isin(list(result.explanation.follows))]
    known = alone["column"].astype(str).isin(_telling(result)).to_numpy()
    return alone.iloc[np.argsort(known, kind="stable")]


def _telling(result: DifferenceResult) -> list[str]:
    return [str(name) for name in result.parameters.get("telling_columns") or ()]


def _also(result: DifferenceResult) -> list[str]:
    """What differs beside what the first sentence names."""
    named, known = _on_their_own(result)["column"].astype(str).tolist(), _telling(result)
    rest = [name for name in named if name in known]
    rest = rest if len(rest) < len(named) else []
    determine = "determines" if len(rest) == 1 else "determine"
    sentences = [f"{some(rest)} {determine} the group of every row."] if rest else []
    sentences += on_explanation.follows_sentence(result)
    if len(columns_alone(result)):
        sentences += pairs_sentence(result)
    sentences += fault_sentences(result)
    if result.explanation.rest_pvalue <= LEVEL:
        sentences.append(on_explanation.rest_sentence(result))
    if sentences or named or on_explanation.together_clause(result) or pairs_clause(result):
        return sentences
    if not result.selection.made:
        return [result.test.leading or "The columns were not tested."]
    leading = result.test.leading or "No single column shows it on its own."
    return [leading, "No single column or pair of columns could be named with confidence."]


# Of a comparison with scale="within".
_NOT_ALONE = "What columns do on their own was not compared."


def only_relations(result: DifferenceResult) -> bool:
    """Whether only relationships between columns were compared."""
    return bool(result.parameters.get("scale") == "within")


def about_largest(result: DifferenceResult) -> str:
    """What the columns with the largest differences are worth where no difference could be shown."""
    if only_relations(result):
        return "Columns by the size of their difference, which was not tested:"
    return "Columns by the size of their difference, which may well be chance:"


def _adjusted(result: DifferenceResult, first: str) -> str:
    """The first word of the answer, after the covariates at equal values of which groups were compared."""
    names = result.parameters.get("covariates") or ()
    return f"Adjusted for {some(names)}, {first.lower()}" if names else first


def _if_independent(result: DifferenceResult) -> str:
    """What the answer rests on, where a column that was left out names units of several rows."""
    if result.parameters.get("permute") is not None:
        return ""
    left_out = (result.parameters.get("left_out") or {}).items()
    units = [(name, how) for name, reason in left_out if (how := units_recur(name, reason))]
    if not units:
        return ""
    name, how = units[0]
    return (
        f"Rows of the same {cut(name, 40)} recur ({how}): they are hardly independent, as this takes "
        f"all rows to be; compare with {option('blocks', name)}."
    )


def _would_have_shown(result: DifferenceResult) -> str:
    """How large a difference such a test usually finds."""
    if not np.isfinite(result.test.detectable):
        return ""
    return (
        f"A shift of one column by {result.test.detectable:.2g} standard deviations would have been found "
        "in four of five such tables."
    )


def format_pvalue(result: DifferenceResult) -> str:
    """P-value with as many digits as it deserves."""
    if np.isnan(result.pvalue):
        return "not tested"
    return f"p = {result.pvalue:.2g}"


def columns_alone(result: DifferenceResult) -> pd.DataFrame:
    """Columns that differ on their own."""
    return result.columns[result.columns["differs"] == Reason.ALONE]


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
            f"Permutation test, {made} permutations{asked}; "
            f"no p-value below {test.smallest_attainable_pvalue:.2g} is possible here.{searched}"
        )
    if test.name == "split":
        return f"Split test: {test.rule}; the direction was fitted on other rows than tested."
    return "No test was made."


def summary(result: DifferenceResult) -> str:
    """Several lines: the answer, the columns, the test, how sure the optimum is, and notes."""
    from princdiff.show.screen import Screen
    from princdiff.show.terminal import answer

    # Printed to a terminal lines must fit; elsewhere the text is the same everywhere.
    width = Screen.of(sys.stdout).width if sys.stdout.isatty() else _SUMMARY_WIDTH
    return "\n".join(answer(result, Screen(width=min(width, _SUMMARY_WIDTH)), notes=result.notes))


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
        return f"{made.control} Column p-values use {made.n_permutations} permutations."
    return made.control
