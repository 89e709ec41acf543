"""Do the groups of a profile differ, and in which columns and pairs: by labellings of chunks."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from princdiff.findings import Reason, Why
from princdiff.labellings.pvalues import SCORED, monte_carlo_interval, permutation_pvalue, step_down_pvalues
from princdiff.profiles.chunk_scores import ColumnScores, PairScores, column_scores, pair_scores
from princdiff.profiles.chunk_sums import ChunkLabellings, Chunks
from princdiff.profiles.ruler import MOST_IN_PAIRS
from princdiff.selection.explanation import Changes, Explanation, explained
from princdiff.selection.selected import SelectionResult, promise
from princdiff.selection.steps import MIXED_ALONE, SHARE_ALONE, SelectionOptions
from princdiff.statistics.alone import (
    AloneScores,
    extrapolated,
    levels_adjusted,
    pooled_discovery_rates,
)
from princdiff.statistics.column_cells import COLUMN, COLUMNS
from princdiff.statistics.combining import leading_cell, overall
from princdiff.statistics.direction_cells import direction_cell
from princdiff.statistics.kernel_cells import COVARIANCE
from princdiff.statistics.pair_cells import PAIR
from princdiff.statistics.permutation_result import PermutationResult
from princdiff.statistics.protocol import Cell
from princdiff.statistics.scores import gamma_scores, tempered

# Pairs shown at most.
_LISTED = 200
# Share of the error that is the clearest column's own, see `cell_weights`.
_COLUMN_SHARE = 0.3
# A column that changes itself changes its correlations a little: by no more than this part of how far its
# means, in standard deviations, or the logarithms of its deviations are apart.
_BY_ITSELF = 0.15
_MAY_DIFFER = 0.01


@dataclass(frozen=True, eq=False)
class ChunkTests:
    """Tests of one comparison of chunks.

    Attributes
    ----------
    chunks : Chunks
    labellings : ChunkLabellings
    """

    chunks: Chunks
    labellings: ChunkLabellings

    @cached_property
    def columns(self) -> ColumnScores:
        """Scores of single columns."""
        return column_scores(self.chunks, self.labellings)

    @cached_property
    def pairs(self) -> PairScores:
        """Scores of pairs of features."""
        return pair_scores(self.chunks, self.labellings)

    # The groups as a whole.

    def tested(self) -> PermutationResult:
        """Whether the groups differ in anything that the sums show."""
        cells, scores = self._cells()
        scores = tempered(scores)
        statistic = overall(scores, scores, cells)
        pvalue = float(permutation_pvalue(statistic))
        count = self.labellings.n_labellings
        alone = permutation_pvalue(scores)
        lead = cells[leading_cell(scores[0], alone, cells, count)]
        clearest = int(self.columns.features[0].argmax())
        pair = self.pairs.pairs[self.pairs.scores[0].argmax()] if len(self.pairs.pairs) else None
        return PermutationResult(
            statistic=float(statistic[0]),
            pvalue=pvalue,
            null=statistic[1:],
            levels=[cell.key for cell in cells],
            level_pvalues=alone,
            values=scores.astype(np.float64),
            best_level=lead.key,
            smallest_attainable_pvalue=1 / count,
            n_permutations=count - 1,
            exact=False,
            leading_feature=clearest,
            leading_pair=None if pair is None else (int(pair[0]), int(pair[1])),
            cells=cells,
            cell_scores=scores[0],
            leading=lead.sentence,
            monte_carlo=monte_carlo_interval(pvalue, count, excess=SCORED),
        )

    def _cells(self) -> tuple[list[Cell], NDArray[np.float32]]:
        """What is looked at, and its comparable scores of all labellings."""
        units, pairs = self.columns.units, self.pairs.scores
        cells = [COLUMN.cell("one column", share=_COLUMN_SHARE), COLUMNS.cell("many columns")]
        values = [
            gamma_scores(units.max(axis=1, keepdims=True), prior=1.4),
            gamma_scores(units.sum(axis=1, keepdims=True), prior=2 / np.sqrt(units.shape[1])),
        ]
        direction = self._whitened_means()
        freedom = direction.shape[2] * (self.labellings.n_groups - 1)
        cells.append(direction_cell("whitened", direction.shape[2], "whitened"))
        squares = np.square(direction).sum(axis=(0, 2))
        values.append(gamma_scores(squares[:, None], prior=np.sqrt(8 / freedom)))
        if pairs.shape[1]:
            cells += [PAIR.cell("pairs"), COVARIANCE.cell("covariances")]
            values.append(gamma_scores(pairs.max(axis=1, keepdims=True), prior=1.4))
            values.append(gamma_scores(pairs.sum(axis=1, keepdims=True)))
        return cells, np.concatenate(values, axis=1)

    def _whitened_means(self) -> NDArray[np.float32]:
        """Means of the features in pairs, made uncorrelated, shape (n_groups, n_labellings, n_directions)."""
        chunks = self.chunks
        places = np.arange(len(chunks.ruler.in_pairs))
        sums = chunks.in_pairs
        rows = float(chunks.rows.sum())
        mean = sums.sum(axis=0) / rows
        covariance = chunks.products.sum(axis=0)[np.ix_(places, places)] / rows - np.outer(mean, mean)
        spread = np.sqrt(np.maximum(np.diag(covariance), 1e-12))
        values, vectors = np.linalg.eigh(covariance / spread / spread[:, None])
        # Shares of all levels of a column sum to one.
        kept = values > 1e-6
        turned = vectors[:, kept] / np.sqrt(values[kept])
        return self.labellings.means(chunks.centred(sums / spread @ turned))

    # Columns and pairs.

    def selected(self, options: SelectionOptions) -> SelectionResult:
        """Columns that differ alone and pairs that go together differently, in one step-down maximum."""
        columns, pairs = self.columns, self.pairs
        gate = options.global_pvalue is None or options.global_pvalue <= options.alpha
        least = 0.0 if options.global_pvalue is None else options.global_pvalue
        alone, together = (np.maximum(part, least) for part in self._adjusted(options))
        single = permutation_pvalue(columns.features)
        scores = AloneScores(
            columns.units,
            columns.features,
            columns.unit_of,
            np.zeros((columns.features.shape[1], 0)),
        )
        adjusted = levels_adjusted(scores, alone)
        named, why = self._named_alone(alone, adjusted, options.alpha, gate)
        together = np.where(self._by_themselves(single), 1.0, together)
        self._name_pairs(pairs.pairs, together, options.alpha if gate else -1.0, (named, why, adjusted))
        names, origin = self.chunks.ruler.features
        error = np.sqrt(single * (1 - single) / self.labellings.n_labellings)
        table = pd.DataFrame(
            {
                "feature": names,
                "column": origin,
                "selected": named,
                "reason": list(map(str, why)),
                "score": scores.observed_features,
                "pvalue": single,
                "pvalue_error": error,
                "pvalue_adj": adjusted,
            }
        )
        own = permutation_pvalue(columns.units)
        listed = pd.DataFrame(
            {
                "column": self.chunks.ruler.names,
                "selected": (alone <= options.alpha) & gate,
                "score": scores.observed_units,
                "pvalue": own,
                "pvalue_adj": alone,
                "pvalue_extrapolated": extrapolated(own, scores.observed_units, self.labellings.n_labellings),
            }
        )
        relations = self._listed(together, options.alpha if gate else -1.0)
        count = self.labellings.n_labellings
        explanation = self._explanation((alone, together), options, gate)
        control = self._control(options)
        return SelectionResult(named, table, listed, relations, control, count, why, explanation=explanation)

    def _adjusted(self, options: SelectionOptions) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Adjusted p-values of columns and of pairs."""
        units, pairs = self.columns.units, self.pairs.scores
        plain = all(column.is_number for column in self.chunks.ruler.columns)
        share = SHARE_ALONE if plain else MIXED_ALONE
        if not options.relations or not pairs.shape[1]:
            adjust = step_down_pvalues if options.error == "fwer" else pooled_discovery_rates
            return adjust(units), np.ones(pairs.shape[1])
        if options.error == "fdr":
            return (
                np.minimum(pooled_discovery_rates(units) / share, 1.0),
                np.minimum(step_down_pvalues(pairs) / (1 - share), 1.0),
            )
        # Scores are about -log of a p-value: each kind gets its part of the error, and each of a kind alike.
        handicap = np.log(pairs.shape[1] / units.shape[1]) + np.log(share / (1 - share))
        offsets = np.repeat([0.0, max(0.0, handicap)], [units.shape[1], pairs.shape[1]])
        adjusted = step_down_pvalues(np.concatenate([units, pairs], axis=1), offsets)
        return adjusted[: units.shape[1]], adjusted[units.shape[1] :]

    def _explanation(
        self, adjusted: tuple[NDArray[np.float64], NDArray[np.float64]], options: SelectionOptions, gate: bool
    ) -> Explanation:
        """The fewest columns that are in everything that changed."""
        alone, together = adjusted
        alpha = options.alpha if gate else -1.0
        clarity = self.columns.units[0].astype(np.float64)
        clear = np.flatnonzero(alone <= alpha)
        unit_of = self.columns.unit_of
        changed = [tuple(unit_of[pair].tolist()) for pair in self.pairs.pairs[together <= alpha]]
        order = np.lexsort((-clarity[clear], alone[clear]))
        changes = Changes(clear[order], changed, clarity, of_columns=options.error == "fwer")
        return explained(changes, self.chunks.ruler.names)

    def pvalue_of(self, columns: Collection[str]) -> float:
        """Of the test whether some columns, alone and in pairs among them, differ."""
        inside = np.array([name in columns for name in self.chunks.ruler.names])
        among = inside[self.columns.unit_of][self.pairs.pairs].all(axis=1)
        families = [self.columns.units[:, inside], self.pairs.scores[:, among]]
        largest = [scores.max(axis=1) for scores in families if scores.shape[1]]
        scores = gamma_scores(np.stack(largest, axis=1), prior=1.4)
        return float(permutation_pvalue(np.logaddexp.reduce(tempered(scores).astype(np.float64), axis=1)))

    def _named_alone(
        self, alone: NDArray[np.float64], adjusted: NDArray[np.float64], alpha: float, gate: bool
    ) -> tuple[NDArray[np.bool_], list[Why]]:
        """Features of columns that differ on their own: the levels that do so clearly, else all."""
        named = np.zeros(len(adjusted), dtype=bool)
        for unit in np.flatnonzero(alone <= alpha) if gate else ():
            members = np.flatnonzero(self.columns.unit_of == unit)
            clear = members[adjusted[members] <= alpha]
            named[clear if len(clear) else members] = True
        return named, [Why(Reason.ALONE) if yes else Why() for yes in named]

    def _by_themselves(self, pvalue: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Pairs whose correlation may have changed only because one of the two changed."""
        pairs, columns = self.pairs.pairs, self.columns
        if not len(pairs):
            return np.zeros(0, dtype=bool)
        numbers = np.array([k == "number" for c in self.chunks.ruler.columns for k in c.coding.kinds])
        differs = pvalue <= _MAY_DIFFER
        # The correlation of a flag or level changes if its own share does, which says nothing new.
        flags = (differs & ~numbers)[pairs].any(axis=1)
        spread = np.maximum(columns.deviations.mean(axis=0), 1e-300)
        logarithms = np.log(np.maximum(columns.deviations, 1e-300))
        moved = np.ptp(columns.means, axis=0) / spread + np.ptp(logarithms, axis=0)
        moved = np.where(differs & numbers, moved, 0.0)
        small = np.ptp(self.pairs.correlations, axis=0) < _BY_ITSELF * moved[pairs].max(axis=1)
        return flags | small

    def _name_pairs(
        self,
        pairs: NDArray[np.intp],
        pvalues: NDArray[np.float64],
        alpha: float,
        into: tuple[NDArray[np.bool_], list[Why], NDArray[np.float64]],
    ) -> None:
        """Name both features of every changed pair that no named feature explains; changes its arrays."""
        named, why, adjusted = into
        for place in np.argsort(pvalues, kind="stable"):
            if pvalues[place] > alpha:
                break
            for feature, other in (pairs[place], pairs[place][::-1]):
                adjusted[feature] = min(adjusted[feature], pvalues[place])
                if not named[feature]:
                    named[feature] = True
                    why[feature] = Why(Reason.TOGETHER, (self.chunks.ruler.features[0][other],))

    def _listed(self, adjusted: NDArray[np.float64], alpha: float) -> pd.DataFrame:
        """The pairs that stand out most."""
        pairs, names = self.pairs, self.chunks.ruler.features[0]
        order = np.lexsort((-pairs.scores[0], adjusted))[:_LISTED]
        dependence = {
            f"dependence {group}": pairs.correlations[place, order]
            for place, group in enumerate(self.chunks.names)
        }
        return pd.DataFrame(
            {
                "first": [names[feature] for feature in pairs.pairs[order, 0]],
                "second": [names[feature] for feature in pairs.pairs[order, 1]],
                **dependence,
                "change": np.ptp(pairs.correlations[:, order], axis=0),
                "pvalue_adj": adjusted[order],
                "selected": adjusted[order] <= alpha,
            }
        )

    def _control(self, options: SelectionOptions) -> str:
        several = len(self.columns.unit_of) > len(self.chunks.ruler.columns)
        words = promise(options.alpha, options.error)
        if several:
            words += " Which levels of a column changed, or its missing values, is judged within it."
        looked_at = len(self.chunks.ruler.in_pairs)
        if looked_at == MOST_IN_PAIRS:
            words += f" Pairs were looked at among {looked_at} features."
        return words
