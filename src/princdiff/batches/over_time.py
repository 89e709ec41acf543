"""One column over all batches: its values beside what chance allows, when it began to differ, did it stay."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from princdiff.result import DifferenceResult
from princdiff.words.readable_figures import numbers, percentages

# Standard errors to both sides of the reference between which values of an unchanged column usually lie.
USUAL = 1.96
# A batch with less than this part of the usual number of rows is called short.
_FEW = 0.5
_SPARKS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True, eq=False)
class ColumnOverTime:
    """A column that differs in some batch, and its values in all of them.

    Attributes
    ----------
    column : str
        Its name.
    measure : str
        What the values are: "mean", "sd", "missing", or the level whose share they are.
    is_share : bool
        Whether they are shares.
    reference : float
        The value in the reference.
    values : array of shape (n_batches,)
        The value in each batch; NaN where it is not known.
    low, high : arrays of shape (n_batches,)
        Between which values usually lie if nothing changed, with as many rows.
    named : list of bool
        In which batches the column is said to differ.
    change : str
        What changed in the batch that speaks for the column, in words.
    effect : float
        How much, in standard deviations.
    lead : int
        That batch: the first in which the column differs, of those that are not short where there are some.
    told_alike : bool
        Whether ``change`` tells the measure that the values are of; what changed most may be a quantile, of
        which only the batch that speaks is known.

    Examples
    --------
    >>> band = np.full(3, 1.0), np.full(3, 3.0)
    >>> named = [False, True, True]
    >>> age = ColumnOverTime(
    ...     "age", "mean", False, 2.0, np.array([2, 5, 6.0]), *band, named, "mean 2 → 5", 1, 1
    ... )
    >>> age.stayed, age.sparkline(), age.sentence(["may", "june", "july"], ["", "", ""])
    (True, '▁▆█', 'age: mean 2 → 5 since june, in both batches; 6 in july, the last batch.')
    """

    column: str
    measure: str
    is_share: bool
    reference: float
    values: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    named: list[bool]
    change: str
    effect: float
    lead: int
    told_alike: bool = True

    @property
    def count(self) -> int:
        """In how many batches the column differs."""
        return sum(self.named)

    @property
    def stayed(self) -> bool:
        """Whether it differs in every batch from the first that it differs in."""
        return self.count > 0 and all(self.named[self.named.index(True) :])

    @property
    def lasts(self) -> bool:
        """Whether it differs in the last batch."""
        return bool(self.named) and self.named[-1]

    def texts(self, *values: float) -> list[str]:
        """Values as they are read, with as many digits as tell them apart."""
        return texts_of(values, self.is_share)

    def ends(self, short: Sequence[str] = ()) -> tuple[float, float]:
        """The smallest and the largest value that count: a short batch does not set a scale."""
        whole = [value for place, value in enumerate(self.values.tolist()) if not (short and short[place])]
        known = [value for value in (self.reference, *whole) if not math.isnan(value)]
        return min(known, default=0.0), max(known, default=0.0)

    def sparkline(self, drawn: bool = True, short: Sequence[str] = ()) -> str:
        """The values as signs of different heights; "" where these cannot be written."""
        if not drawn:
            return ""
        low, high = self.ends(short)
        wide, top = max(high - low, 1e-300), len(_SPARKS) - 1
        places = [
            0 if math.isnan(v) else round(top * (min(max(v, low), high) - low) / wide) for v in self.values
        ]
        return "".join(
            " " if math.isnan(value) else _SPARKS[place]
            for place, value in zip(places, self.values, strict=True)
        )

    def sentence(self, batches: Sequence[str], short: Sequence[str]) -> str:
        """When it began, from what to what, and whether it stayed.

        Parameters
        ----------
        batches : list of str
            Names of the batches.
        short : list of str
            Why a batch is short; "" where it is not.

        Returns
        -------
        str
        """
        first, since = batches[self.lead], self.named[self.lead :]
        what = f"{self.column}: {self.change}"
        if short[self.lead]:
            return f"{what} in {first} only, a short batch ({short[self.lead]})."
        whole = max(place for place, why in enumerate(short) if not why)
        which = "batch" if whole == len(batches) - 1 else "whole batch"
        if self.lead == whole:
            return f"{what} in {first}, the last {which}."
        last = f"; {self._text(whole)} in {batches[whole]}, the last {which}"
        if all(since):
            return f"{what} since {first}, in {_all_of(len(since))}{last}."
        if sum(since) == 1:
            return f"{what} in {first}, and not shown again{last}."
        return (
            f"{what} in {first}, and again in {sum(since) - 1} of the {len(since) - 1} batches since{last}."
        )

    def _text(self, place: int) -> str:
        what = "" if self.is_share or self.told_alike else f"{self.measure} "
        return what + self.texts(self.reference, float(self.values[place]))[1]


def texts_of(values: Sequence[float], is_share: bool) -> list[str]:
    """Values, or shares, as they are read, with as many digits as tell them apart."""
    return percentages(values) if is_share else numbers(values)


def _all_of(count: int) -> str:
    return "both batches" if count == 2 else f"all {count} batches"


def columns_over_time(
    results: Mapping[str, DifferenceResult], named: Sequence[Sequence[str]], short: Sequence[str]
) -> list[ColumnOverTime]:
    """Columns that differ in some batch, the earliest first.

    Parameters
    ----------
    results : dict of str to DifferenceResult
        The comparison of each batch with the reference.
    named : list of list of str
        Which columns differ in each batch.
    short : list of str
        Why a batch is short; "" where it is not.

    Returns
    -------
    list of ColumnOverTime
    """
    parts = [_Part(result) for result in results.values()]
    found = []
    for column in dict.fromkeys(name for names in named for name in names):
        own = [column in names for names in named]
        places = [place for place, yes in enumerate(own) if yes]
        lead = next((place for place in places if not short[place]), places[0])
        found.append(_followed(column, parts, own, lead))
    return sorted(found, key=lambda one: (bool(short[one.lead]), one.lead, -one.effect))


def _followed(column: str, parts: Sequence[_Part], named: list[bool], lead: int) -> ColumnOverTime:
    """One column, by the measure that changed in the batch that speaks for it."""
    row = parts[lead].columns.loc[column]
    feature, measure, is_share = parts[lead].measured(column, str(row["kind"]))
    known = [part.value(column, feature, measure) for part in parts]
    reference, spread = parts[lead].reference(feature, measure)
    error = np.array([part.error for part in parts]) * spread / (math.sqrt(2) if measure == "sd" else 1.0)
    return ColumnOverTime(
        column,
        measure,
        is_share,
        reference,
        np.array(known),
        reference - USUAL * error,
        reference + USUAL * error,
        named,
        str(row["change"]),
        float(row["effect"]),
        lead,
        str(row["measure"]) in ("", measure),
    )


class _Part:
    """One comparison, as its columns are read."""

    def __init__(self, result: DifferenceResult) -> None:
        self.result = result
        self.before, self.after = list(result.groups)
        self.columns = result.columns.set_index("column")
        self.table = result.table.set_index("feature")
        self.codings = {coding.column: coding for coding in result.codings}
        rows = list(result.groups.values())
        self.error = math.sqrt(1 / rows[0] + 1 / rows[1])

    def measured(self, column: str, kind: str) -> tuple[str, str, bool]:
        """The feature of a column that is followed, its measure, and whether it is a share."""
        own = self.table[self.table["column"] == column]
        coding = self.codings[column]
        kinds = dict(zip(coding.features, coding.kinds, strict=True))
        levels = dict(zip(coding.features, coding.feature_levels, strict=True))
        if coding.one_hot:
            named = own[own["selected"].astype(bool)]
            moved = (named if len(named) else own).eval(f"`mean {self.after}` - `mean {self.before}`").abs()
            feature = str(moved.idxmax())
            return feature, levels.get(feature, ""), True
        if kind == "missing":
            feature = next(str(name) for name in own.index if kinds.get(str(name)) == "missing")
            return feature, "missing", True
        feature = str(own["effect"].idxmax()) if coding.type == "date" else str(own.index[0])
        if kinds.get(feature) == "flag":
            return feature, "1", True
        return feature, "sd" if kind == "spread" else "mean", False

    def reference(self, feature: str, measure: str) -> tuple[float, float]:
        """Value and standard deviation of a feature in the reference."""
        row = self.table.loc[feature]
        mean, spread = float(row[f"mean {self.before}"]), float(row[f"sd {self.before}"])
        return (spread, spread) if measure == "sd" else (mean, spread)

    def value(self, column: str, feature: str, measure: str) -> float:
        """Value of a feature in the batch; of a level that neither table has: none."""
        if feature in self.table.index:
            row = self.table.loc[feature]
            return float(row[f"{'sd' if measure == 'sd' else 'mean'} {self.after}"])
        coding = self.codings.get(column)
        if coding is None:
            return math.nan
        if measure == "missing" or (coding.one_hot and measure not in (coding.levels or ())):
            return 0.0 if not coding.pooled else math.nan
        own = self.table[self.table["column"] == column]
        # Of two levels one has a feature.
        return 1.0 - float(own[f"mean {self.after}"].iloc[0]) if len(own) == 1 else math.nan


def short_batches(rows: Sequence[int], usual: Sequence[int], cut: Sequence[str]) -> list[str]:
    """Why each batch is short: it has few rows beside the others, or ends early.

    Parameters
    ----------
    rows : list of int
        Rows of the batches.
    usual : list of int
        Rows of batches of the reference.
    cut : list of str
        Where a batch ends, if that is early.

    Returns
    -------
    list of str

    Examples
    --------
    >>> short_batches([900, 43, 1100, 800], [1000], ["", "", "", "ends at 2024-05-20"])
    ['', '43 rows', '', 'ends at 2024-05-20']
    """
    median = float(np.median([*rows, *usual]))
    few = [f"{count} rows" if count < _FEW * median else "" for count in rows]
    return [" and ".join(filter(None, pair)) for pair in zip(few, cut, strict=True)]
