"""The smallest set of columns that explains a difference, and the test of all the others.

The paper asks for the smallest set such that the columns in it differ and those outside do not. A column that
differs on its own must be in it. Of a pair that goes together differently one of the two must be: where one
column was shuffled it goes differently with everything, and the fewest columns that touch every changed pair
are that one.

What is certain: where no more is taken for changed than is (the family-wise error of columns and pairs, at
most alpha), every set whose complement does not differ has a member in each change. A change of a column that
follows from others has its origin in that column or in one of those. So `lower_bound`, the size of the
smallest set with a member in each of these, is a bound on how many columns changed, with confidence
1 - alpha. The set itself is the simplest explanation, not a proof that nothing else changed: for that the
others are tested together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from princdiff.data.problem import Problem, Run
from princdiff.selection.echoes import Echoes
from princdiff.selection.smallest_cover import smallest_cover
from princdiff.statistics.permutation_result import PermutationOptions
from princdiff.statistics.permutation_runs import run_permutations


@dataclass(frozen=True)
class Explanation:
    """The fewest columns that explain the difference.

    Attributes
    ----------
    columns : list of str
        The set: those that differ on their own and follow from no others, and the fewest that are in every
        pair (or three) of columns which go together differently and of which none differs on its own. The
        clearest first.
    lower_bound : int
        At least so many columns changed, with confidence 1 - alpha: no smaller set has the origin of every
        change that was found. Never more than there are in `columns`; zero where nothing is named, or nothing
        is promised of it.
    alternatives : dict of str to list of str
        Columns of the set that others could stand for, and these: nothing tells which of them changed.
    partners : dict of str to list of str
        Columns of the set that do not differ on their own, and those that they go with differently.
    follows : dict of str to list of str
        Columns that differ on their own, but only because others do, and the columns they follow from: given
        these nothing changed.
    rest : list of str
        All other columns.
    rest_pvalue : float
        Of the test of the others together, with the relabellings of the test of all; NaN where it was not
        made. The set was chosen on the same rows, which the p-value does not know.

    Examples
    --------
    >>> import numpy as np
    >>> from princdiff import select_features
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 1)) + 0.5 * rng.normal(size=(300, 6))
    >>> X[150:, 3] = rng.permutation(X[150:, 3])
    >>> y = np.repeat(["a", "b"], 150)
    >>> found = select_features(X, y, goal="explanation", n_permutations=199, random_state=0).explanation
    >>> found.columns, found.lower_bound, found.alternatives
    (['x3'], 1, {})
    """

    columns: list[str] = field(default_factory=list)
    lower_bound: int = 0
    alternatives: dict[str, list[str]] = field(default_factory=dict)
    partners: dict[str, list[str]] = field(default_factory=dict)
    follows: dict[str, list[str]] = field(default_factory=dict)
    rest: list[str] = field(default_factory=list)
    rest_pvalue: float = float("nan")

    @property
    def named(self) -> set[str]:
        """The columns of the set, and those that could stand for one of them."""
        return set(self.columns).union(*self.alternatives.values())


class Changes(NamedTuple):
    """What is known to have changed, columns as their numbers.

    Attributes
    ----------
    alone : int array
        Columns that differ on their own, the clearest first.
    together : list of tuples of int
        Pairs and threes of columns that go together differently.
    clarity : array of shape (n_columns,)
        How clearly each column differs on its own, whether or not it does.
    echoes : Echoes
        Which of those that differ on their own follow from others.
    of_columns : bool
        Whether the family-wise error of the single columns is controlled, as that of pairs always is.
    """

    alone: NDArray[np.intp]
    together: list[tuple[int, ...]]
    clarity: NDArray[np.float64]
    echoes: Echoes = Echoes({}, {})
    of_columns: bool = True


def explained(changes: Changes, names: Sequence[str]) -> Explanation:
    """The smallest set that has a member in every change.

    Parameters
    ----------
    changes : Changes
        What changed.
    names : sequence of str
        Names of the columns.

    Returns
    -------
    Explanation
        Without the test of the others.

    Examples
    --------
    >>> changes = Changes(np.array([2]), [(0, 1), (2, 3)], np.array([0.1, 0.2, 9.0, 0.3]))
    >>> found = explained(changes, ["height", "weight", "age", "sex"])
    >>> found.columns, found.lower_bound, found.alternatives
    (['age', 'weight'], 2, {'weight': ['height']})
    """
    alone = [int(column) for column in changes.alone]
    open_changes = sorted({edge for edge in changes.together if not set(edge) & set(alone)})
    degree = np.zeros(len(names))
    for edge in open_changes:
        degree[list(edge)] += 1
    # Between sets of one size: columns in more changes, then those that are closer to differing alone.
    preference = degree + changes.clarity / (1 + changes.clarity.max(initial=0.0))
    cover = smallest_cover(open_changes, preference)
    others = sorted(cover.places, key=lambda column: (-degree[column], -changes.clarity[column]))
    follows, either = changes.echoes
    chosen = [*(column for column in alone if column not in follows), *others]
    known = {*chosen, *follows}
    certain = [*((column,) for column in alone), *open_changes] if changes.of_columns else changes.together
    instead = either | _stand_ins(others, open_changes)
    partners = {
        column: [other for edge in open_changes if column in edge for other in edge if other != column]
        for column in others
    }
    return Explanation(
        columns=[names[column] for column in chosen],
        lower_bound=smallest_cover(_origins(certain, changes.echoes), np.ones(len(names))).least,
        alternatives={names[c]: [names[other] for other in own] for c, own in instead.items() if own},
        partners={names[c]: [names[other] for other in dict.fromkeys(own)] for c, own in partners.items()},
        follows={names[c]: [names[parent] for parent in own] for c, own in sorted(follows.items())},
        rest=[name for column, name in enumerate(names) if column not in known],
    )


def _origins(certain: Sequence[tuple[int, ...]], echoes: Echoes) -> list[tuple[int, ...]]:
    """Where each change may come from: its columns, and those that they follow from, or could."""
    parents, either = echoes
    of = {column: {*parents.get(column, ()), *either.get(column, ())} for column in {*parents, *either}}
    origins = []
    for change in certain:
        known, new = set(change), set(change)
        while new:
            new = set().union(*(of.get(column, ()) for column in new)) - known
            known |= new
        origins.append(tuple(sorted(known)))
    return origins


def _stand_ins(cover: list[int], edges: list[tuple[int, ...]]) -> dict[int, list[int]]:
    """For each column of a cover, those that touch all that it alone touches."""
    found = {}
    for column in cover:
        own = [set(edge) for edge in edges if set(edge) & set(cover) == {column}]
        found[column] = sorted(set.intersection(*own) - {column}) if own else []
    return found


def with_rest(explanation: Explanation, problem: Problem, run: Run, n_permutations: int) -> Explanation:
    """The same with the test of the columns that it leaves out.

    Parameters
    ----------
    explanation : Explanation
        What is explained by which columns.
    problem : Problem
        All columns.
    run : Run
        Seed and threads: the relabellings are those of the test of all columns with this seed.
    n_permutations : int
        Relabellings.

    Returns
    -------
    Explanation
    """
    others = set(explanation.rest)
    features = np.flatnonzero([column in others for column in problem.units])
    if not explanation.columns or not len(features):
        return explanation
    part = _part(problem.with_ranked_groups.ordered, features)
    found = run_permutations(part, run, PermutationOptions(n_permutations=n_permutations))
    return replace(explanation, rest_pvalue=float(found.pvalue))


def _part(problem: Problem, features: NDArray[np.intp]) -> Problem:
    """Some features only, with the labellings of the whole table and what is known of single columns."""
    part = problem.restrict(features)
    # Rows are told apart by all of their values.
    part.__dict__.update(row_keys=problem.row_keys, ordered=part, with_ranked_groups=part)
    for key, known in problem.memory.items():
        if key[0] == "scheme":
            part.memory[key] = known
        elif key[0] == "alone":
            part.memory[key] = known.of(features)
    return part
