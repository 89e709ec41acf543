"""Words on the fewest columns that explain a difference, and on the test of all others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from princdiff.words.on_pairs import dependence, pair_change, selected_relations
from princdiff.words.readable_figures import NAMED, cut, listed

if TYPE_CHECKING:
    import pandas as pd

    from princdiff.result import DifferenceResult

LEVEL = 0.05
# Standard errors of a correlation of nothing within which a relationship is said to be gone, or new.
_NO_RELATION = 2.5
# Of more columns that follow from others their number is enough.
_FOLLOWERS = 2


def explains(result: DifferenceResult) -> bool:
    """Whether the columns named explain all: the others were tested together, and show no difference."""
    # NaN, where that test was not made, compares as False.
    return bool(result.explanation.columns) and result.explanation.rest_pvalue > LEVEL


def together_phrases(result: DifferenceResult) -> list[str]:
    """The columns of the explanation that do not differ on their own, each with what changed."""
    found = result.explanation
    return [_phrase(result, name, found.alternatives.get(name, [])) for name in found.partners]


def together_clause(result: DifferenceResult) -> str:
    """The explanation where no column differs on its own; "" where some do, or others differ too."""
    found = result.explanation
    if not explains(result) or len(found.partners) < len(found.columns):
        return ""
    phrases = together_phrases(result)
    if len(phrases) == 1:
        return phrases[0] if found.alternatives else f"one column explains it: {phrases[0]}"
    return f"{in_words(len(phrases)).lower()} columns explain it: {joined(phrases)}"


def follows_sentence(result: DifferenceResult) -> list[str]:
    """The columns that differ only because others do."""
    found = result.explanation
    parts = []
    for name, parents in list(found.follows.items())[:_FOLLOWERS]:
        back = [source for source, others in found.alternatives.items() if name in others]
        reverse = (
            " (or the reverse)" if back == list(parents) else f" (or {listed(back)} from it)" if back else ""
        )
        parts.append(f"{cut(name, 40)} follows from {listed(parents)}{reverse}")
    more = len(found.follows) - len(parts)
    parts += [f"{more} more follow{'s' if more == 1 else ''} from others"] if more else []
    return [f"{'; '.join(parts)}."] if parts else []


def rest_sentence(result: DifferenceResult) -> str:
    """What the test of all other columns says; "" where it was not made."""
    found = result.explanation
    if np.isnan(found.rest_pvalue):
        return ""
    count = len(found.rest)
    p = f"p = {found.rest_pvalue:.2g}"
    if not explains(result):
        others = "The other column differs" if count == 1 else f"The other {count} columns differ together"
        return f"{others} as well ({p}), in no way that could be named."
    others = "The other column shows" if count == 1 else f"The other {count} columns show"
    return f"{others} no difference{' together' if count > 1 else ''} ({p})."


def bound_sentence(result: DifferenceResult) -> str:
    """How many columns changed at least, where it says more than the names do."""
    found = result.explanation
    if found.lower_bound < 2 or not found.partners:
        return ""
    return f"At least {found.lower_bound} columns changed (95 % confidence)."


def about_others(result: DifferenceResult) -> str:
    """What stands below the headline: the test of the others, unless that says it, and the bound."""
    rest = rest_sentence(result) if explains(result) else ""
    return " ".join(filter(None, (rest, bound_sentence(result))))


def _phrase(result: DifferenceResult, name: str, instead: list[str]) -> str:
    partners = result.explanation.partners[name]
    own = _pairs_of(result, name)
    clearest = "" if own.empty else pair_change(result, own.iloc[0])
    what = _fate(result, own)
    if len(partners) > 1 and instead:
        # Threes of columns of which no two need to go together differently.
        names = [cut(one, 40) for one in (name, *instead)]
        return f"one of {listed(names)} explains it: they go together differently"
    if instead:
        both = f"{cut(name, 40)} and {cut(instead[0], 40)}"
        brackets = f" ({clearest})" if clearest else ""
        return f"either of {both} explains it: their relationship {what}{brackets}"
    if len(partners) == 1:
        brackets = f" ({clearest})" if clearest else ""
        return f"{cut(name, 40)}, whose relationship to {cut(partners[0], 40)} {what}{brackets}"
    brackets = ""
    if clearest:
        row = own.iloc[0]
        other = row["second"] if row["first column"] == name else row["first"]
        brackets = f" (most clearly {cut(str(other), 40)}: {clearest})"
    return f"{cut(name, 40)}, whose relationship to {len(partners)} others {what}{brackets}"


def _pairs_of(result: DifferenceResult, name: str) -> pd.DataFrame:
    pairs = selected_relations(result)
    return pairs[(pairs["first column"] == name) | (pairs["second column"] == name)]


def _fate(result: DifferenceResult, pairs: pd.DataFrame) -> str:
    """What became of the relationships: gone or new where all are, as far as so many rows can tell."""
    if pairs.empty or len(result.groups) != 2:
        return "differs"
    sizes = np.abs([dependence(result, row) for row in pairs.to_dict("records")])
    nothing = sizes < _NO_RELATION / np.sqrt(list(result.groups.values()))
    if nothing[:, 1].all() and not nothing[:, 0].any():
        return "is gone"
    return "is new" if nothing[:, 0].all() and not nothing[:, 1].any() else "changed"


def joined(phrases: list[str]) -> str:
    """Phrases that may have commas, as a list."""
    shown = phrases if len(phrases) <= NAMED else [*phrases[: NAMED - 1], f"{len(phrases) - NAMED + 1} more"]
    return shown[0] if len(shown) == 1 else f"{'; '.join(shown[:-1])}; and {shown[-1]}"


def in_words(count: int) -> str:
    """A small number as a word, at the beginning of a sentence.

    Examples
    --------
    >>> in_words(2), in_words(30)
    ('Two', '30')
    """
    words = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")
    return words[count] if count < len(words) else str(count)
