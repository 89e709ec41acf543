"""The steps of a selection: single columns, pairs, relations to what is named, threes, directions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from princdiff.data.problem import Problem, Run
from princdiff.findings import Reason, Why
from princdiff.labellings.covariates import with_unexplained_rows
from princdiff.labellings.pvalues import permutation_pvalue, step_down_pvalues
from princdiff.labellings.schemes import scheme_of
from princdiff.selection.direction_features import DirectionFeatures
from princdiff.selection.doubtful_pairs import DoubtfulPairs
from princdiff.selection.echoes import echoes
from princdiff.selection.explanation import Changes, Explanation, explained
from princdiff.selection.features_of_pairs import FeatureFacts, features_that_explain
from princdiff.selection.selected import SelectionResult, promise
from princdiff.statistics.alone import (
    alone_scores_of,
    extrapolated,
    levels_adjusted,
    numbered,
    pooled_discovery_rates,
)
from princdiff.statistics.changed_correlations import (
    RelationScores,
    has_few_values,
    product_relation_scores,
    relation_scores,
)
from princdiff.statistics.contrasts import Relabellings
from princdiff.statistics.feature_columns import STATISTICS

# How the error is shared: single columns, pairs, and relations to features that are named already. MADELON:
# all of its 20 features on the training rows, 16 on the validation rows.
SHARE_ALONE, SHARE_PAIRS, SHARE_NAMED = 0.6, 0.25, 0.15
# The same in a table with flags or categories, of which single columns are asked most.
MIXED_ALONE, MIXED_PAIRS, MIXED_NAMED = 0.75, 0.15, 0.10
# In tables of so few numbers that all threes of them can be looked at these have a part of the last.
THREES_NAMED, SHARE_THREES, _MOST_IN_THREES = 0.10, 0.05, 30
# Quantiles, over the labellings, at which the largest scores of columns and pairs are compared. Four columns
# with five near copies each, errors of columns and pairs (meant: .030 and .0125): .029 and .014 by the
# quantile .95, .040 and .003 by numbers of pairs, .006 and .037 by medians.
_COMPARED_AT = (0.94, 0.95, 0.96, 0.97, 0.98)
# Named features whose relations are looked at once more, and those of which products are made.
_MOST_NAMED, _MOST_FACTORS = 20, 8
# Pairs listed in the table of relations, whether or not they are selected.
_LISTED = 200
# Shuffles behind the p-values of goal="directions".
_N_SHUFFLES = 199
# A feature with few values whose own p-value is below this may differ, and its relations because of that.
_MAY_DIFFER = 0.01


@dataclass(frozen=True)
class SelectionOptions:
    """What to select, and how sure to be.

    Attributes
    ----------
    goal : {"all", "explanation", "directions"}
        See `select_features`.
    alpha : float
        Level.
    n_permutations : int
        Relabellings.
    error : {"fwer", "fdr"}
        What is controlled.
    global_pvalue : float, optional
        P-value of a test of the whole difference. Above ``alpha`` nothing is selected, and no adjusted
        p-value is below it.
    relations : bool
        Whether to look at pairs; without them single columns have all of the error.
    """

    goal: str = "all"
    alpha: float = 0.05
    n_permutations: int = 999
    error: str = "fwer"
    global_pvalue: float | None = None
    relations: bool = True


class _Shares(NamedTuple):
    """How the error is shared among kinds of hypotheses; they sum to 1."""

    alone: float
    pairs: float
    named: float
    threes: float = 0.0

    @classmethod
    def of(cls, problem: Problem) -> _Shares:
        if any(kind != "number" for kind in problem.kinds):
            return cls(MIXED_ALONE, MIXED_PAIRS, MIXED_NAMED)
        if 3 <= problem.n_features <= _MOST_IN_THREES:
            return cls(SHARE_ALONE, SHARE_PAIRS, THREES_NAMED, SHARE_THREES)
        return cls(SHARE_ALONE, SHARE_PAIRS, SHARE_NAMED)


class SelectionSteps:
    """The steps of a selection and what they have found so far."""

    def __init__(self, problem: Problem, run: Run, options: SelectionOptions, groups: tuple) -> None:
        self._problem, self._run, self._options = problem, run, options
        # As the user orders them.
        self._groups = groups
        # Half of the error is for directions, where they are asked for.
        self._alpha = options.alpha * (0.5 if options.goal == "directions" else 1.0)
        judged = with_unexplained_rows(problem)
        self._labellings = Relabellings.of(
            # Those of the test, if it has as many: what it worked out for single columns serves here too.
            judged,
            scheme_of(judged, options.n_permutations, run.seed_for()),
        )
        self._rows: Any = judged.rows
        self._shares = _Shares.of(problem)
        self._columns, self._unit_of = numbered(problem.units)
        # What single columns do does not count where each is brought to normal scores within its group.
        self._only_relations = problem.scale == "within"
        self._alone = alone_scores_of(judged, self._labellings.scheme, run.n_jobs)
        self._pvalue = permutation_pvalue(self._alone.units)
        self._feature_pvalue = permutation_pvalue(self._alone.features)
        self._columns_adjusted = np.ones(len(self._columns))
        self._adjusted = np.ones(problem.n_features)
        self._why = [Why()] * problem.n_features
        self._selected = np.zeros(problem.n_features, dtype=bool)
        self._relations = self._listed(None, np.ones(0))
        self._looked_at = np.arange(problem.n_features)
        self._rows_of_pairs = self._rows_of_threes = self._labellings.n_rows
        # No name without a difference of the whole, and no p-value of a part below that of the whole.
        self._least = 0.0 if options.global_pvalue is None else options.global_pvalue
        self._gate = self._least <= options.alpha
        # Pairs and threes of columns that go together differently.
        self._together: list[tuple[int, ...]] = []

    # The steps.

    def single_columns(self) -> None:
        """Columns on their own, with all of the error."""
        scores = self._alone.units
        if self._only_relations:
            return
        self._name_columns(
            step_down_pvalues(scores) if self._options.error == "fwer" else pooled_discovery_rates(scores)
        )

    def columns_and_pairs(self) -> None:
        """Single columns and pairs, in one step-down maximum."""
        pairs = relation_scores(self._rows, self._labellings, self._unit_of, self._run.n_jobs)
        self._looked_at, self._rows_of_pairs = pairs.features, pairs.n_rows
        scores = _with_rest(pairs)
        n_units = len(self._columns)
        if self._only_relations:
            alone = np.ones(n_units)
            together = step_down_pvalues(scores)[:-1] / (self._shares.alone + self._shares.pairs)
        elif self._options.error == "fdr":
            alone = pooled_discovery_rates(self._alone.units) / self._shares.alone
            together = step_down_pvalues(scores)[:-1] / self._shares.pairs
        else:
            handicap = self._handicap_of_pairs(pairs)
            offsets = np.concatenate([np.zeros(n_units), np.full(scores.shape[1], handicap)])
            adjusted = step_down_pvalues(np.column_stack([self._alone.units, scores]), offsets)
            adjusted = adjusted / (self._shares.alone + self._shares.pairs)
            alone, together = adjusted[:n_units], adjusted[n_units:-1]
        self._name_columns(np.minimum(alone, 1.0))
        together = self._without_doubtful(pairs.pairs, np.minimum(together, 1.0))
        self._relations = self._listed(pairs, together)
        self._name_pairs(pairs.pairs, together)

    def _handicap_of_pairs(self, pairs: RelationScores) -> float:
        """What is taken off the scores of pairs, so that they have their part of the error.

        Scores are about -log of a p-value, so the largest of many independent ones grows by the logarithm of
        their number. How many independent ones pairs and columns are worth shows in their largest scores
        over all labellings, out where decisions are made: there are far fewer than pairs where features go
        together. Pairs with flags are tested approximately only, so with these each pair counts, and more
        where rare levels give pairs tails that would drown columns.
        """
        if not pairs.n_pairs:
            return 0.0
        largest = np.maximum(pairs.scores.max(axis=1), pairs.rest)
        of_all_columns = self._alone.units.max(axis=1)
        of_pairs, of_columns = (
            np.quantile(scores, _COMPARED_AT).mean() for scores in (largest, of_all_columns)
        )
        parts = float(np.log(self._shares.alone / self._shares.pairs))
        if all(kind == "number" for kind in self._problem.kinds):
            return float(of_pairs - of_columns) + parts
        each = np.log(pairs.n_pairs / len(self._columns)) + parts
        beyond = [
            np.quantile(scores, 1 - self._alpha * part)
            for scores, part in ((largest, self._shares.pairs), (of_all_columns, self._shares.alone))
        ]
        return float(max(each, beyond[0] - beyond[1]))

    def _without_doubtful(
        self, pairs: NDArray[np.intp], adjusted: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """P-values of pairs, 1 for those that only seem to differ."""
        adjusted = adjusted.copy()
        for place in np.flatnonzero(adjusted <= self._alpha):
            if self._doubtful_pairs.doubtful(*pairs[place].tolist()):
                adjusted[place] = 1.0
        return adjusted

    @cached_property
    def _doubtful_pairs(self) -> DoubtfulPairs:
        problem = self._problem
        plain = problem.weights is None and problem.blocks is None and problem.covariates is None
        return DoubtfulPairs.of(problem.rows, problem.codes, problem.units, problem.kinds, plain=plain)

    def relations_to_named(self) -> None:
        """Features whose relation to a named one, or to the product of two of them, differs."""
        # Flags and counts are left out: what happens to one of them shows in products with all its partners.
        named = np.flatnonzero(self._selected & ~self._few_values)
        named = named[np.lexsort((-self._alone.features[0, named], self._adjusted[named]))][:_MOST_NAMED]
        others = self._looked_at[~self._selected[self._looked_at] & ~self._few_values[self._looked_at]]
        if len(named) == 0 or len(others) == 0:
            return
        families = []
        for factors in (np.column_stack([named, np.full_like(named, -1)]), _products(named)):
            families.append(
                product_relation_scores(self._rows, self._labellings, factors, others, self._run.n_jobs)
            )
        nearby, beyond = families
        # Each of the two has half of the error, however many pairs it has.
        handicap = np.log(beyond.n_pairs / nearby.n_pairs)
        offsets = np.repeat([0.0, handicap], [nearby.scores.shape[1] + 1, beyond.scores.shape[1] + 1])
        adjusted = step_down_pvalues(np.column_stack([_with_rest(nearby), _with_rest(beyond)]), offsets)
        adjusted = np.minimum(np.delete(adjusted, [nearby.scores.shape[1], -1]) / self._shares.named, 1.0)
        triples = np.concatenate([nearby.pairs, beyond.pairs])
        # Products are no pairs: what is looked at once more are relations to one feature.
        count = len(nearby.pairs)
        adjusted[:count] = self._without_doubtful(nearby.pairs[:, [0, 2]], adjusted[:count])
        np.minimum.at(self._adjusted, triples[:, 2], adjusted)
        for position in np.argsort(adjusted, kind="stable")[: np.count_nonzero(adjusted <= self._alpha)]:
            *partners, feature = triples[position].tolist()
            self._note_changed(triples[position])
            self._name_together(feature, [partner for partner in partners if partner >= 0])

    def relations_of_threes(self) -> None:
        """Features of which three go together differently: one with the product of two others."""
        own = np.flatnonzero(~self._few_values)
        if not self._shares.threes or not self._gate or len(own) < 3:
            return
        first, second = np.triu_indices(len(own), 1)
        found = product_relation_scores(
            self._rows,
            self._labellings,
            np.column_stack([own[first], own[second]]),
            own,
            self._run.n_jobs,
            np.arange(len(own)) > second[:, None],
        )
        self._rows_of_threes = found.n_rows
        adjusted = step_down_pvalues(_with_rest(found))[:-1] / self._shares.threes
        # Where two of them are named already they may be all that changed.
        known = self._selected[found.pairs].sum(axis=1) >= 2
        new = np.flatnonzero((adjusted <= self._alpha) & ~known)
        for position in new[np.argsort(adjusted[new], kind="stable")]:
            triple = found.pairs[position]
            self._note_changed(triple)
            np.minimum.at(self._adjusted, triple, adjusted[position])
            for feature in triple.tolist():
                self._name_together(feature, [other for other in triple.tolist() if other != feature])

    def directions(self) -> None:
        """Features that take part in directions."""
        problem = self._problem
        for name in ("weights", "blocks", "covariates"):
            if getattr(problem, name) is not None:
                raise ValueError(f'goal="directions" cannot be combined with {name}; use goal="all"')
        shuffles = min(_N_SHUFFLES, self._options.n_permutations)
        found = DirectionFeatures(problem, self._run, self._selected, self._alpha, shuffles)
        adjusted = np.minimum(2 * found.adjusted, 1.0)
        new = ~self._selected & (found.adjusted <= self._alpha)
        if self._gate:
            for feature in np.flatnonzero(new):
                partner = found.partner[feature]
                hidden = () if partner < 0 else (problem.names[partner],)
                self._why[feature] = Why(Reason.DIRECTION, hidden)
            self._selected |= new
        self._adjusted = np.minimum(np.minimum(2 * self._adjusted, 1.0), adjusted)

    # Names.

    def _name_columns(self, adjusted: NDArray[np.float64]) -> None:
        self._columns_adjusted = adjusted
        self._adjusted = levels_adjusted(self._alone, adjusted)
        if not self._gate:
            return
        clear = self._adjusted <= self._alpha
        for unit in np.flatnonzero(adjusted <= self._alpha):
            members = np.flatnonzero(self._unit_of == unit)
            levels = members[clear[members]]
            # A column may differ as a whole without any level that does so clearly.
            chosen = levels if len(levels) else members
            self._selected[chosen] = True
            for feature in chosen.tolist():
                self._why[feature] = Why(Reason.ALONE)

    @cached_property
    def _few_values(self) -> NDArray[np.bool_]:
        return has_few_values(self._rows, np.arange(self._problem.n_features))

    def _name_pairs(self, pairs: NDArray[np.intp], adjusted: NDArray[np.float64]) -> None:
        """Name features for pairs that go together differently, see `features_of_pairs`."""
        order = np.argsort(adjusted, kind="stable")
        changed = order[: np.count_nonzero(adjusted <= self._alpha)]
        for pair in pairs[changed]:
            self._note_changed(pair)
        facts = FeatureFacts(
            self._unit_of, self._few_values, self._feature_pvalue <= _MAY_DIFFER, self._selected
        )
        explaining = features_that_explain(pairs[changed], facts)
        for feature, partners in explaining.items():
            self._name_together(feature, partners)
        # A feature's p-value is that of its clearest pair, unless another feature explains that pair.
        for place, other in ((0, 1), (1, 0)):
            own = pairs[:, place]
            few = self._few_values[own] | self._few_values[pairs[:, other]]
            mine = ~few | (adjusted > self._alpha) | np.isin(own, list(explaining))
            np.minimum.at(self._adjusted, own[mine], adjusted[mine])

    def _name_together(self, feature: int, partners: list[int]) -> None:
        if self._selected[feature] or not self._gate:
            return
        names = (self._problem.names[partner] for partner in dict.fromkeys(partners))
        self._why[feature] = Why(Reason.TOGETHER, tuple(names))
        self._selected[feature] = True

    def _note_changed(self, features: NDArray[np.intp]) -> None:
        """Features that go together differently, as columns; a negative number is none."""
        if self._gate:
            self._together.append(tuple(sorted(set(self._unit_of[features[features >= 0]].tolist()))))

    def _listed(self, pairs: RelationScores | None, adjusted: NDArray[np.float64]) -> pd.DataFrame:
        """The pairs that stand out most, as a table."""
        names, ranked = self._problem.names, self._problem.classes
        headings = [
            "first",
            "second",
            *(f"dependence {name}" for name in self._groups),
            "change",
            "pvalue_adj",
        ]
        if pairs is None:
            return pd.DataFrame(columns=[*headings, "selected"])
        order = np.lexsort((-pairs.scores[0], adjusted))[:_LISTED]
        table = pd.DataFrame(
            {
                "first": [names[feature] for feature in pairs.pairs[order, 0]],
                "second": [names[feature] for feature in pairs.pairs[order, 1]],
                **{
                    f"dependence {name}": pairs.correlations[ranked.index(name), order]
                    for name in self._groups
                },
                "change": np.ptp(pairs.correlations[:, order], axis=0),
                "pvalue_adj": np.maximum(adjusted[order], self._least),
            }
        )
        # The correlations of a flag or a count change if its own distribution does, which says nothing new.
        doubtful = self._few_values & (self._feature_pvalue <= _MAY_DIFFER)
        plain = ~doubtful[pairs.pairs[order]].any(axis=1)
        table["selected"] = (table["pvalue_adj"] <= self._alpha) & plain & self._gate
        return table

    # The outcome.

    def explanation(self) -> Explanation:
        """The fewest columns that are in everything that changed."""
        clear = np.flatnonzero(self._columns_adjusted <= self._alpha) if self._gate else np.zeros(0, np.intp)
        order = np.lexsort((-self._alone.observed_units[clear], self._columns_adjusted[clear]))
        changes = Changes(
            clear[order],
            self._together,
            np.asarray(self._alone.observed_units, dtype=np.float64),
            echoes(self._rows, self._labellings, self._unit_of, clear[order].tolist()),
            of_columns=self._options.error == "fwer",
        )
        return explained(changes, self._columns)

    def result(self) -> SelectionResult:
        """What was found."""
        problem, alone = self._problem, self._alone
        table = pd.DataFrame(
            {
                "feature": problem.names,
                "column": problem.units,
                "selected": self._selected,
                "reason": list(map(str, self._why)),
                "score": alone.observed_features,
                "pvalue": self._feature_pvalue,
                "pvalue_error": self._monte_carlo_error(),
                "pvalue_adj": np.maximum(self._adjusted, self._least),
            }
        )
        columns = pd.DataFrame(
            {
                "column": self._columns,
                "selected": (self._columns_adjusted <= self._alpha) & self._gate,
                "score": alone.observed_units,
                "pvalue": self._pvalue,
                "pvalue_adj": np.maximum(self._columns_adjusted, self._least),
                "pvalue_extrapolated": extrapolated(
                    self._pvalue, alone.observed_units, self._labellings.n_labellings
                ),
            }
        )
        return SelectionResult(
            self._selected,
            table,
            columns,
            self._relations,
            self._control(),
            self._labellings.n_labellings,
            self._why,
            pd.DataFrame(alone.observed_statistics, columns=list(STATISTICS)),
            self.explanation(),
        )

    def _monte_carlo_error(self) -> NDArray[np.float64]:
        """Standard error of the features' p-values; none where all relabellings were used."""
        if self._labellings.scheme.exhaustive:
            return np.zeros(len(self._feature_pvalue))
        share = self._feature_pvalue
        return np.sqrt(share * (1 - share) / self._labellings.n_labellings)

    def _control(self) -> str:
        alpha, n_features = self._options.alpha, self._problem.n_features
        several = len(np.unique(self._unit_of)) < n_features
        words = promise(alpha, self._options.error)
        if several:
            words += " Which levels of a column changed, or whether its missing values did, is judged "
            words += "within that column."
        if self._options.relations and len(self._looked_at) < n_features:
            words += (
                f" Pairs were tested among the {len(self._looked_at)} features that depend most on others."
            )
        for what, taken in (("Pairs", self._rows_of_pairs), ("Threes of columns", self._rows_of_threes)):
            if taken < self._labellings.n_rows:
                words += f" {what} were judged on {taken} rows drawn at random, single columns on all."
        if self._options.goal == "directions":
            words += (
                " Features named for a direction need not differ themselves: what is assumed is that those "
                "not named are independent of the others."
            )
        return words


def _with_rest(found: RelationScores) -> NDArray[np.float32]:
    """Scores of kept pairs and, last, the maximum of all others, which are never rejected."""
    scores = np.column_stack([found.scores, found.rest])
    scores[0, -1] = -1.0
    return scores


def _products(named: NDArray[np.intp]) -> NDArray[np.intp]:
    """Squares of the named features, and products of two of the clearest."""
    squares = np.column_stack([named, named])
    first, second = np.triu_indices(min(len(named), _MOST_FACTORS), 1)
    return np.concatenate([squares, np.column_stack([named[first], named[second]])])
