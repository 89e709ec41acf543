"""More than two groups, two at a time: every pair, or each group against all the others."""

from __future__ import annotations

import typing
from dataclasses import replace
from itertools import combinations
from typing import Any, Literal, Unpack

import numpy as np
import pandas as pd

from princdiff.caught_warnings import caught_warnings, warn_again
from princdiff.comparison import asked_of, compare_prepared, compare_profile, run_of
from princdiff.comparison_steps import Clock, Options
from princdiff.data import parameters
from princdiff.data.parameters import Choice
from princdiff.data.validate import refuse_small_groups
from princdiff.labellings.pvalues import adjusted_pvalues
from princdiff.options import PassedOn, settled
from princdiff.profiles import Profile
from princdiff.profiles.large_sources import profile_of_sources
from princdiff.result import DifferenceResult, GroupsResult
from princdiff.result.groups import LEVEL, REST, times_compared
from princdiff.tables import Prepared, prepare
from princdiff.tables.preparation import reading_of

Adjustment = Literal["holm", "benjamini-hochberg", "none"]


def compare_groups(
    X: Any,
    *,
    groups: Any = None,
    against: Literal["each other", "rest"] = "each other",
    adjustment: Adjustment = "holm",
    reference: Any = None,
    **options: Unpack[PassedOn],
) -> GroupsResult:
    """Compare several groups two at a time, with p-values adjusted for their number.

    Parameters
    ----------
    X : path, DataFrame (pandas or polars), array, scipy.sparse matrix, AnnData or Profile
        Rows of all groups, or a profile of them, whatever `princdiff.profile` made it of.
    groups : str or array of shape (n_rows,), optional
        Column that holds the groups, or a label for each row; a profile has its own.
    against : {"each other", "rest"}, default="each other"
        Every pair of groups, or each group against all others together.
    adjustment : {"holm", "benjamini-hochberg", "none"}, default="holm"
        "holm" bounds the chance of any false claim, "benjamini-hochberg" the share of false claims.
    reference : str or number, optional
        The group that the others are compared with.
    **options
        Passed to `princdiff.compare`, which is called once per comparison.

    Returns
    -------
    GroupsResult

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from princdiff import compare_groups
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame(rng.normal(size=(90, 2)), columns=["height", "weight"])
    >>> table["site"] = np.repeat(["a", "b", "c"], 30)
    >>> table.loc[table["site"] == "c", "weight"] += 2
    >>> result = compare_groups(table, groups="site", n_permutations=99)
    >>> result.table.loc[result.table["adjusted"] <= 0.05, ["group", "other", "adjusted"]].values.tolist()
    [['a', 'c', 0.03], ['b', 'c', 0.03]]
    """
    parameters.check(
        {"against": against, "adjustment": adjustment},
        against=Choice("each other", "rest"),
        adjustment=Choice(*typing.get_args(Adjustment)),
    )
    given = settled("compare_groups", {**options, "groups": groups, "reference": reference})
    chosen, run = Options.of(given), run_of(given)
    asked = asked_of(given)
    # The two groups of a pair are in their order already.
    del asked["reference"]
    found: Profile | Prepared | None = profile_of_sources(X, None, given, run)
    if found is None:
        with caught_warnings() as caught:
            found = prepare(X, **reading_of(given))
        warn_again(caught)
        refuse_small_groups(found.codes, found.groups)
    elif isinstance(found, Profile) and reference is not None:
        found = found.with_reference(reference)
    names = tuple(found.groups)
    if len(names) < 3:
        raise ValueError(f"found {len(names)} groups; with two groups use princdiff.compare")
    if against == "rest" and REST in names:
        raise ValueError(f'a group is called {REST!r}, which against="rest" uses for the others; rename it')
    numbers = range(len(names))
    pairs = list(combinations(numbers, 2)) if against == "each other" else [(g, None) for g in numbers]
    results: dict[tuple[str, ...], DifferenceResult] = {}
    for number, (g, h) in enumerate(run.bar("comparisons", pairs)):
        own = run.with_share(1 / (len(pairs) - number))
        pair = names[g], REST if h is None else names[h]
        if isinstance(found, Profile):
            others = [name for name in names if name != names[g]] if h is None else [names[h]]
            part = found.of_two(names[g], others, pair[1])
            results[pair] = compare_profile(part, chosen, own, Clock(), asked)
        else:
            results[pair] = compare_prepared(_two_groups(found, g, h), chosen, own, Clock(), asked)
    return GroupsResult(_table(results, adjustment), results, adjustment)


def _two_groups(prepared: Prepared, group: int, other: int | None) -> Prepared:
    """Rows of one group and of another one, or of all the others."""
    codes = prepared.codes
    inside = np.ones(len(codes), dtype=bool) if other is None else (codes == group) | (codes == other)
    names = (prepared.groups[group], REST if other is None else prepared.groups[other])
    part = prepared.take_rows(np.flatnonzero(inside))
    return replace(part, codes=(part.codes != group).astype(np.uint8), groups=names)


def _table(results: dict[tuple[str, ...], DifferenceResult], adjustment: str) -> pd.DataFrame:
    pvalues = np.array([result.pvalue for result in results.values()])
    chances = adjusted_pvalues(pvalues, adjustment)
    times = times_compared(chances, adjustment)
    leading = [", ".join(_clear(result, times)[:5]) for result in results.values()]
    return pd.DataFrame(
        {
            "group": [group for group, _ in results],
            "other": [other for _, other in results],
            "divergence": [float(result.divergences[0]) for result in results.values()],
            "effect": [result.effect for result in results.values()],
            "pvalue": pvalues,
            "adjusted": chances,
            "features": np.where(chances <= LEVEL, np.array(leading, dtype=object), ""),
        }
    )


def _clear(result: DifferenceResult, times: float) -> list[str]:
    """Selected columns whose p-values pass when all comparisons are counted."""
    pvalues = result.table.set_index("feature")["pvalue"].astype(float)
    return [name for name in result.selected if not pvalues.get(name, 0.0) * times > LEVEL]
