"""The claim that nothing moved by more than a margin, which a test that found no difference does not support.

A column is within the margin if its whole interval is. All columns are, with error alpha, if the interval
of each of them at coverage 1 - 2 alpha is: a false claim needs a mistake about the one column that is not
(Berger 1982), so there is nothing to adjust for. That some column is beyond the margin is claimed by
intervals adjusted for the number of features (Bonferroni).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm

from princdiff.data import parameters
from princdiff.data.parameters import Number
from princdiff.data.problem import Problem
from princdiff.options import CompareOptions, settled
from princdiff.selection.intervals import Difference, Sampling, effect_interval
from princdiff.statistics.column_batches import column_of
from princdiff.tables import Prepared, prepare
from princdiff.tables.preparation import reading_of
from princdiff.words.readable_figures import some

_KNOWN = ("groups", "reference", "features", "exclude", "blocks", "covariates", "missing", "config")
_WITHIN, _BEYOND, _OPEN = "within", "beyond", "not decided"


@dataclass(frozen=True, eq=False, repr=False)
class EquivalenceResult:
    """Outcome of `equivalent`.

    Attributes
    ----------
    answer : {"equivalent", "different", "not decided"}
        All columns are within their margins, some is beyond, or neither can be shown.
    table : DataFrame with one row per feature
        Columns feature, column, measure ("mean" or "proportion"), difference, low, high (coverage
        1 - 2 alpha), unit (a standard deviation; of proportions 1), margin, answer ("within", "beyond", "not
        decided").
    margin, share_margin, alpha : float
        What was asked for.
    rows : dict
        Rows of the groups.
    more_rows : float
        How many more rows of the second group would do, if nothing moved further: all of each column's
        interval would lie within its margin. Infinite where more rows of that group alone cannot do it; NaN
        where it is decided.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from princdiff import equivalent
    >>> rng = np.random.default_rng(0)
    >>> january, february = ({"age": rng.normal(size=5000)} for _ in range(2))
    >>> equivalent(pd.DataFrame(january), pd.DataFrame(february)).answer
    'equivalent'
    """

    answer: str
    table: pd.DataFrame
    margin: float
    share_margin: float
    alpha: float
    rows: dict[str, int]
    more_rows: float

    def __bool__(self) -> bool:
        """Whether the groups were shown to be equivalent."""
        return self.answer == "equivalent"

    @property
    def sentence(self) -> str:
        """The answer with its reason."""
        claim = f"{self.margin:g} sd in its mean or {100 * self.share_margin:g} points in a share"
        sure = f"{100 * (1 - self.alpha):g} %"
        if self:
            return f"No column moved by more than {claim} ({sure} confidence)."
        chosen = self.table[self.table["answer"] == (_BEYOND if self.answer == "different" else _OPEN)]
        names = some(list(dict.fromkeys(chosen["column"])))
        if self.answer == "different":
            return f"Moved by more than {claim}: {names} ({sure} confidence)."
        second = list(self.rows)[-1]
        more = (
            f"{self.more_rows:,.0f} more rows of {second} would do if the means stay as they are"
            if math.isfinite(self.more_rows)
            else f"more rows of {second} alone would not do"
        )
        return f"Not decided whether every column moved by less than {claim}, for {names}: {more}."

    def __repr__(self) -> str:
        return f"<EquivalenceResult {self.answer}: {self.sentence}>"


def equivalent(
    X: Any,
    Y: Any = None,
    *,
    margin: float = 0.1,
    share_margin: float = 0.02,
    alpha: float = 0.05,
    **options: Unpack[CompareOptions],
) -> EquivalenceResult:
    """Show that no column moved by more than a margin, that one did, or that neither is shown.

    Parameters
    ----------
    X, Y : path, DataFrame or array
        Two tables with the same columns, or one table and ``groups``.
    margin : float, default=0.1
        How far the mean of a number may move, in its standard deviations over all rows.
    share_margin : float, default=0.02
        How far the share of a level, a flag or of missing values may move.
    alpha : float, default=0.05
        Chance of claiming equivalence where some column moved by its margin or more; and of claiming that any
        column moved by more that did not.
    **options
        How tables are read, as for `compare`: groups, reference, features, exclude, blocks, covariates,
        missing (default "impute": gaps count as a share of their own, means are of what is known), and of
        config dates, strict and min_rows.

    Returns
    -------
    EquivalenceResult
        It is true where equivalence was shown. Means and shares are looked at, not how columns go together.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from princdiff import equivalent
    >>> rng = np.random.default_rng(0)
    >>> old, new = rng.normal(size=(400, 2)), rng.normal(size=(400, 2))
    >>> equivalent(old, new, margin=0.3).answer, equivalent(old, new + 1, margin=0.3).answer
    ('equivalent', 'different')
    >>> print(equivalent(old, new).sentence)
    Not decided whether every column moved by less than 0.1 sd ... rows of Y ...
    """
    parameters.check(
        {"margin": margin, "share_margin": share_margin, "alpha": alpha},
        margin=Number(0),
        share_margin=Number(0, 1),
    )
    given = settled("equivalent", {"missing": "impute", **options}, _KNOWN)
    prepared = prepare(X, Y, **reading_of(given))
    if len(prepared.groups) != 2:
        raise ValueError(f"equivalent compares two groups, and there are {len(prepared.groups)}")
    problem = Problem.from_prepared(prepared)
    table = _judged(problem, prepared, (float(margin), float(share_margin), float(alpha)))
    answers = set(table["answer"])
    answer = "different" if _BEYOND in answers else "not decided" if _OPEN in answers else "equivalent"
    counts = np.bincount(prepared.codes, minlength=2).tolist()
    rows = {str(name): count for name, count in zip(prepared.groups, counts, strict=True)}
    more = _more_rows(table, counts) if answer == "not decided" else math.nan
    return EquivalenceResult(answer, table, float(margin), float(share_margin), float(alpha), rows, more)


def _judged(problem: Problem, prepared: Prepared, asked: tuple[float, float, float]) -> pd.DataFrame:
    """Each feature beside its margin."""
    margin, share_margin, alpha = asked
    sampling = Sampling.of(problem)
    gaps = _gaps(prepared)
    records = []
    for feature, (name, column, kind) in enumerate(
        zip(prepared.features, prepared.origin, prepared.kinds, strict=True)
    ):
        values = column_of(problem.rows, feature)
        own = sampling
        if kind == "number" and column in gaps:
            known = np.flatnonzero(column_of(problem.rows, gaps[column]) == 0)
            values, own = values[known], sampling.take(known)
        share = bool(((values == 0) | (values == 1)).all())
        unit = 1.0 if share else float(values.std())
        limit = share_margin if share else margin * unit
        spread = 0.0 if share else margin * _error_of_deviation(values)
        inner = _widened(effect_interval(values, own, 1 - 2 * alpha), spread, alpha)
        strict = alpha / len(prepared.features)
        outer = _widened(effect_interval(values, own, 1 - strict), spread, strict / 2)
        records.append(
            {
                "feature": name,
                "column": column,
                "measure": "proportion" if share else "mean",
                "difference": inner.estimate,
                "low": inner.low,
                "high": inner.high,
                "unit": unit,
                "margin": limit,
                "answer": _answer(inner, outer, limit),
            }
        )
    return pd.DataFrame(records)


def _gaps(prepared: Prepared) -> dict[str, int]:
    """The feature that marks missing values, of columns that have some."""
    marks = zip(prepared.origin, prepared.kinds, strict=True)
    return {column: place for place, (column, kind) in enumerate(marks) if kind == "missing"}


def _answer(inner: Difference, outer: Difference, limit: float) -> str:
    if inner.estimate == inner.low == inner.high == 0.0:
        # A constant did not move.
        return _WITHIN
    if -limit < inner.low and inner.high < limit:
        return _WITHIN
    # NaN, where there are too few rows or blocks, decides nothing.
    return _BEYOND if outer.low > limit or outer.high < -limit else _OPEN


def _error_of_deviation(values: NDArray[np.float64]) -> float:
    """Standard error of a standard deviation: the margin is a multiple of an estimate."""
    away = (values - values.mean()) ** 2
    variance = float(away.mean())
    return float(away.std() / (2 * math.sqrt(variance * len(values)))) if variance > 0 else 0.0


def _widened(found: Difference, error: float, tail: float) -> Difference:
    """An interval with one more independent source of error."""
    more = float(norm.isf(tail)) * error
    down, up = found.estimate - found.low, found.high - found.estimate
    return Difference(
        found.estimate, found.estimate - math.hypot(down, more), found.estimate + math.hypot(up, more)
    )


def _more_rows(table: pd.DataFrame, counts: list[int]) -> float:
    """Rows that the second group needs beside those it has."""
    needed = 0.0
    for row in table[table["answer"] == _OPEN].itertuples():
        room = row.margin - abs(row.difference)
        reach = max(row.high - row.difference, row.difference - row.low)
        if not room > 0 or not math.isfinite(reach):
            return math.inf
        # Half of an interval goes with the root of 1/n + 1/m.
        wanted = (1 / counts[0] + 1 / counts[1]) * (room / reach) ** 2 - 1 / counts[0]
        if wanted <= 0:
            return math.inf
        needed = max(needed, 1 / wanted - counts[1])
    return float(math.ceil(needed))
