"""What a watch says of its columns: which measure of each, from what to what, since when."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from princdiff.batches.over_time import USUAL, ColumnOverTime, texts_of
from princdiff.batches.row_features import OTHER, RowFeature, Summary
from princdiff.result.columns import before_figure, unmistakable

if TYPE_CHECKING:
    from princdiff.batches.watching import Watch

_NAMED = 3
# What is easiest to picture comes first: means, spreads, shares of levels and ranges, correlations.
_ORDER = {"mean": 0, "score": 0, "square": 1, "share": 2, "product": 3}


def followed(watch: Watch, short: Sequence[str]) -> list[ColumnOverTime]:
    """Columns and pairs that were named, the earliest first."""
    names = watch.features.names
    found: dict[str, list[list[int]]] = {}
    alone: set[str] = set()
    for place, batch in enumerate(watch.seen):
        named = {feature for look in batch.looks for feature in look.named}
        alone |= {names[feature].columns[0] for feature in named if len(names[feature].columns) == 1}
        for feature in sorted(named):
            columns = names[feature].columns
            # A pair is news where neither of its columns changed alone.
            if len(columns) == 1 or not alone & set(columns):
                own = found.setdefault(" and ".join(columns), [[] for _ in watch.seen])
                own[place].append(feature)
    parts = []
    for column, by_batch in found.items():
        places = [place for place, features in enumerate(by_batch) if features]
        lead = next((place for place in places if not short[place]), places[0])
        parts.append(_over_time(watch, column, by_batch, lead))
    return sorted(parts, key=lambda one: (bool(short[one.lead]), one.lead, -one.effect))


def _over_time(watch: Watch, column: str, by_batch: Sequence[Sequence[int]], lead: int) -> ColumnOverTime:
    names = watch.features.names
    feature = min(by_batch[lead], key=lambda place: (_ORDER[names[place].measure], place))
    if names[feature].measure == "share":
        # Of several levels the one whose share moved most.
        marks = [place for place in by_batch[lead] if names[place].measure == "share"]
        feature = max(marks, key=lambda place: abs(_moved(watch, place, lead)))
    reading = _Reading(watch, names[feature], feature)
    reference, spread = reading.of(watch.summary)
    values = [reading.of(batch.summary)[0] for batch in watch.seen]
    rows = np.array([batch.summary.rows for batch in watch.seen])
    error = spread * np.sqrt(1 / watch.summary.rows + 1 / rows)
    window = _shortest_window(watch, by_batch[lead], lead)
    there = _over_window(watch, reading, lead, window)
    before, after = texts_of([reference, there], reading.is_share)
    together = f" over {window} batches" if window > 1 else ""
    return ColumnOverTime(
        column,
        reading.measure,
        reading.is_share,
        reference,
        np.array(values),
        reference - USUAL * error,
        reference + USUAL * error,
        [bool(features) for features in by_batch],
        f"{before_figure(unmistakable(reading.measure))} {before} → {after}{together}",
        reading.effect(reference, there),
        lead,
    )


def _moved(watch: Watch, feature: int, place: int) -> float:
    return float(watch.seen[place].summary.means[feature] - watch.summary.means[feature])


def _shortest_window(watch: Watch, features: Sequence[int], place: int) -> int:
    return min(look.window for look in watch.seen[place].looks if set(look.named) & set(features))


def _over_window(watch: Watch, reading: _Reading, place: int, window: int) -> float:
    """The value over the batches of a window, by their rows."""
    looked = [batch for batch in watch.seen[: place + 1] if batch.looks][-window:]
    values = np.array([reading.of(batch.summary)[0] for batch in looked])
    rows = np.array([batch.summary.rows for batch in looked])
    known = ~np.isnan(values)
    return float(np.average(values[known], weights=rows[known])) if known.any() else math.nan


class _Reading:
    """How the value of a feature is read from what is kept of a batch."""

    def __init__(self, watch: Watch, feature: RowFeature, place: int) -> None:
        self.feature = feature
        self._place = place
        self._scores = {
            (one.columns[0], one.measure): k
            for k, one in enumerate(watch.features.names)
            if one.measure in ("score", "square")
        }
        first: dict[str, int] = {}
        for k, one in enumerate(watch.features.names):
            if one.measure == "share":
                first.setdefault(one.columns[0], k)
        self._flags = {column: k + 1 for column, k in first.items()}
        self.is_share = feature.measure == "share"
        kinds = {"mean": "mean", "score": "mean", "square": "sd", "product": "correlation"}
        self.measure = feature.of if self.is_share else kinds[feature.measure]
        if feature.of == OTHER and not watch.summary.means[place] > 0:
            self.measure = "levels that the reference lacks"
        self._spread = watch.summary.numbers.get(feature.columns[0], (math.nan, math.nan))[1]

    def of(self, summary: Summary) -> tuple[float, float]:
        """The value, and the standard deviation of a row's part in it."""
        if self.is_share:
            share = float(summary.means[self._place])
            return share, math.sqrt(max(share * (1 - share), 0.0))
        if self.feature.measure == "product":
            return self._correlation(summary), 1.0
        mean, spread = summary.numbers[self.feature.columns[0]]
        return (spread, spread / math.sqrt(2)) if self.measure == "sd" else (mean, spread)

    def effect(self, before: float, after: float) -> float:
        """How far two values are apart, in standard deviations."""
        if self.is_share:
            middle = (before + after) / 2
            return abs(after - before) / math.sqrt(max(middle * (1 - middle), 1e-12))
        return (
            abs(after - before) / (self._spread or 1.0)
            if self.measure != "correlation"
            else abs(after - before)
        )

    def _correlation(self, summary: Summary) -> float:
        means, spreads = zip(
            *(self._moments(summary, column) for column in self.feature.columns), strict=True
        )
        wide = spreads[0] * spreads[1]
        return float((summary.means[self._place] - means[0] * means[1]) / wide) if wide > 0 else math.nan

    def _moments(self, summary: Summary, column: str) -> tuple[float, float]:
        """Mean and standard deviation of a column's scores."""
        if (column, "score") in self._scores:
            mean = float(summary.means[self._scores[column, "score"]])
            square = float(summary.means[self._scores[column, "square"]])
            return mean, math.sqrt(max(square - mean**2, 0.0))
        share = float(summary.means[self._flags[column]])
        return share - 0.5, math.sqrt(max(share * (1 - share), 0.0))


def told(
    watch: Watch, history: Sequence[ColumnOverTime]
) -> tuple[list[list[str]], list[str], NDArray[np.float64]]:
    """Of each batch the columns named, what changed in the first of them, and the largest move."""
    order = sorted(history, key=lambda one: -one.effect)
    columns = [[one.column for one in order if one.named[place]] for place in range(len(watch.seen))]
    changes: list[str] = []
    effects = np.zeros(len(watch.seen))
    for place, batch in enumerate(watch.seen):
        texts: list[str] = []
        for one in order:
            if one.named[place] and len(texts) < _NAMED:
                if place == one.lead:
                    texts.append(f"{one.column} ({one.change})")
                else:
                    before, after = one.texts(one.reference, float(one.values[place]))
                    texts.append(f"{one.column} ({before} → {after})")
        changes.append("; ".join(texts))
        moved = [
            abs(batch.summary.numbers[name][0] - mean) / spread
            for name, (mean, spread) in watch.summary.numbers.items()
            if spread > 0 and not math.isnan(batch.summary.numbers[name][0])
        ]
        shares = [
            abs(_moved(watch, k, place)) / math.sqrt(share * (1 - share))
            for k, one in enumerate(watch.features.names)
            if one.measure == "share" and 0.01 < (share := float(watch.summary.means[k])) < 0.99
        ]
        effects[place] = max([*moved, *shares], default=0.0)
    return columns, changes, effects
