"""What was found when batches were compared with a reference."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from princdiff.batches.over_time import ColumnOverTime
from princdiff.data import parameters
from princdiff.data.validate import check_choice
from princdiff.printable import printable
from princdiff.result import DifferenceResult
from princdiff.result.saved import Saved
from princdiff.result.schema import from_plain, to_plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEVEL = 0.05


@dataclass(frozen=True, eq=False, repr=False)
class BatchesResult(Saved):
    """Outcome of `compare_batches`.

    Attributes
    ----------
    frame : DataFrame with one row per batch, in their order
        Columns batch, rows, effect, low, high (about 95 % confidence, in standard deviations), pvalue,
        adjusted (p-value adjusted for the number of batches), differs (the adjusted p-value is at most
        ``alpha`` and the effect at least ``min_effect``), columns (names of those that differ, with the
        family-wise error over all columns and batches, the clearest first), changes (the same in words),
        short (why a batch is no whole one: few rows, or it ends early; it never leads; else "").
    results : dict of str to DifferenceResult
        The comparison of each batch with the reference, where rows were compared.
    reference : str
        What the batches are compared with.
    reference_rows : int
        Its rows.
    band : (float, float)
        Smallest and largest effect of parts of the reference against the rest of it; NaN if not looked for.
    alpha : float
        Level at which a batch differs.
    skipped : dict
        Batches that were not compared, and why.
    notes : list of str
        What was left out or changed.
    min_effect : float or None
        Effect that a batch needs as well to differ; None: any.
    history : list of ColumnOverTime
        The columns that differ in some batch, with their values in all of them, the earliest first.
    decision : str
        Where the command line was given a rule (``--fail-below``): the outcome, in words.

    Examples
    --------
    >>> import numpy as np
    >>> import princdiff
    >>> rng = np.random.default_rng(0)
    >>> batches = {name: rng.normal(size=(40, 3)) for name in ("may", "june", "july")}
    >>> batches["july"][:, 1] += 2
    >>> result = princdiff.compare_batches(batches, n_permutations=99, band=False)
    >>> result.began
    'july'
    """

    KIND = "princdiff comparison of batches"
    FORMAT = 1

    frame: pd.DataFrame
    results: dict[str, DifferenceResult]
    reference: str
    reference_rows: int
    band: tuple[float, float] = (math.nan, math.nan)
    alpha: float = LEVEL
    skipped: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    min_effect: float | None = None
    history: list[ColumnOverTime] = field(default_factory=list)
    decision: str = ""

    def to_frame(self, by: str = "batch") -> pd.DataFrame:
        """The answer as a table.

        Parameters
        ----------
        by : {"batch", "column"}, default="batch"
            One row per batch, or one per column that differs in some batch.

        Returns
        -------
        DataFrame
            By batch: `frame`. By column, the earliest first: column, first (batch in which it differs, a
            short one only where there is no other), batches (in how many it differs), stayed (whether it
            differs in all since), change (in the first, in words), effect (standard deviations).
        """
        check_choice("by", by, ("batch", "column"))
        return self.frame.copy() if by == "batch" else self._by_column()

    def _by_column(self) -> pd.DataFrame:
        names = list(self.frame["batch"])
        return pd.DataFrame(
            [
                {
                    "column": one.column,
                    "first": names[one.lead],
                    "batches": one.count,
                    "stayed": all(one.named[one.lead :]),
                    "change": one.change,
                    "effect": one.effect,
                }
                for one in self.history
            ],
            columns=["column", "first", "batches", "stayed", "change", "effect"],
        )

    def over_time(self, column: str) -> pd.DataFrame:
        """Values of a column that differs in some batch.

        Parameters
        ----------
        column : str
            Its name.

        Returns
        -------
        DataFrame with one row per batch
            Columns batch, rows, value, low and high (between which it usually lies if nothing changed),
            differs, short.
        """
        parameters.check({"column": column}, column=parameters.Text())
        known = {one.column: one for one in self.history}
        if column not in known:
            there_are = f"; those that do are {', '.join(known)}" if known else ""
            raise ValueError(f"column {column!r} differs in no batch{there_are}")
        one = known[column]
        return pd.DataFrame(
            {
                "batch": self.frame["batch"],
                "rows": self.frame["rows"],
                "value": one.values,
                "low": one.low,
                "high": one.high,
                "differs": one.named,
                "short": self.frame["short"],
            }
        )

    @property
    def began(self) -> str | None:
        """The first batch that differs from the reference, a short one only where no other does; or None."""
        first = self.first
        return None if first is None else str(self.frame["batch"].iloc[first])

    @property
    def first(self) -> int | None:
        """The place of that batch."""
        differ = self.frame["differs"].to_numpy(bool)
        whole = differ & (self.frame["short"] == "").to_numpy()
        return int((whole if whole.any() else differ).argmax()) if differ.any() else None

    @property
    def headline(self) -> str:
        """Whether batches differ, since when, and in what."""
        count, total = int(self.frame["differs"].sum()), len(self.frame)
        if self.first is None:
            return self._none_differs(total)
        first = self.frame.iloc[self.first]
        what = f" in {first['changes']}" if first["changes"] else self._named_later()
        adjusted = f"adjusted p = {first['adjusted']:.2g}"
        if first["short"]:
            return (
                f"Only {'batches that are short differ' if count > 1 else 'one batch that is short differs'} "
                f"from {self.reference}: {first['batch']} ({first['short']}; {adjusted}) differs{what}."
            )
        if total == 1:
            return f"{first['batch']} differs from {self.reference} ({adjusted}){what}."
        short = int((self.frame["differs"] & (self.frame["short"] != "")).sum())
        aside = "" if not short else ", one of them short" if short == 1 else f", {short} of them short"
        which = "the first is" if not short else "the first whole one is"
        return (
            f"{count} of {total} batches differ{'s' if count == 1 else ''} from {self.reference}{aside}; "
            f"{which} {first['batch']} ({adjusted}), which differs{what}."
        )

    def _named_later(self) -> str:
        """Of a batch that differs in no column that could be named: the first that does."""
        whole = [one for one in self.history if not self.frame["short"].iloc[one.lead]]
        what = ", though in no single column that can be named"
        if not whole:
            return what
        batch = self.frame["batch"].iloc[whole[0].lead]
        return f"{what}; the first column named is {whole[0].column}, in {batch} ({whole[0].change})"

    def _none_differs(self, total: int) -> str:
        small = self.frame[self.too_small]
        if small.empty:
            extreme = self._as_small_as_possible
            if extreme:
                return (
                    f"Too few permutations to say which of {total} batches differ from {self.reference}: "
                    f"{extreme} of them {'has' if extreme == 1 else 'have'} the smallest p-value possible, "
                    f"{self.frame['pvalue'].min():.2g}."
                )
            if total == 1:
                return (
                    f"Batch {self.frame['batch'].iloc[0]} could not be shown to differ from {self.reference}."
                )
            return f"None of {total} batches could be shown to differ from {self.reference}."
        opening = f"None of {total} batches differs from {self.reference} by the rule given"
        if len(small) > 1:
            return f"{opening}; {len(small)} have small p-values, but effects below {self.min_effect:.2g}."
        only = small.iloc[0]
        return (
            f"{opening}; {only['batch']} has a small p-value (adjusted p = {only['adjusted']:.2g}), but its "
            f"effect {only['effect']:.2g} is below {self.min_effect:.2g}."
        )

    @property
    def _as_small_as_possible(self) -> int:
        """Batches that more permutations might show to differ: their p-value is the smallest there can be."""
        smallest = {name: one.test.smallest_attainable_pvalue for name, one in self.results.items()}
        return sum(
            row.pvalue <= smallest.get(row.batch, 0.0) and row.adjusted > self.alpha
            for row in self.frame.itertuples()
        )

    @property
    def too_small(self) -> pd.Series:
        """Batches whose p-value is small, but whose effect is below ``min_effect``: they do not differ."""
        return (self.frame["adjusted"] <= self.alpha) & ~self.frame["differs"]

    def summary(self, width: int = 100) -> str:
        """A text that a person reads: the answer, a chart of the effects, and the columns.

        Parameters
        ----------
        width : int, default=100
            Columns of the terminal.

        Returns
        -------
        str
        """
        parameters.check({"width": width}, width=parameters.Whole(20, 1000))
        from princdiff.show.batch_views import batches_lines
        from princdiff.show.screen import Screen

        return "\n".join(batches_lines(self, Screen(width=width)))

    def __repr__(self) -> str:
        return (
            f"<BatchesResult {len(self.frame)} batches against {printable(self.reference)}: "
            f"{int(self.frame['differs'].sum())} differ>"
        )

    def _repr_html_(self) -> str:
        from princdiff.show.batch_pages import batches_html

        return batches_html(self)

    def __eq__(self, other: object) -> bool:
        """Whether everything but the time it took is the same."""
        if not isinstance(other, BatchesResult):
            return NotImplemented
        mine, others = (replace(one, results={}) for one in (self, other))
        return self.results == other.results and to_plain(mine) == to_plain(others)

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the effect of each batch with its interval, and the band of the reference.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; default a new figure.

        Returns
        -------
        Axes
        """
        parameters.check({"ax": ax})
        from princdiff.show.batch_plots import effects_over_batches

        return effects_over_batches(self, ax)

    def plot_column(self, column: str, *, ax: Axes | None = None) -> Axes:
        """Draw the values of a column that differs in some batch, and what is usual for batches of this size.

        Parameters
        ----------
        column : str
            Its name.
        ax : Axes, optional
            Where to draw; default a new figure.

        Returns
        -------
        Axes
        """
        parameters.check({"ax": ax})
        from princdiff.show.batch_plots import column_over_batches

        return column_over_batches(self, self.over_time(column), column, ax)

    # Files.

    def _to_plain(self) -> dict[str, Any]:
        results = {name: result.to_dict() for name, result in self.results.items()}
        return {**to_plain(replace(self, results={})), "results": results}

    @classmethod
    def _from_plain(cls, content: dict[str, Any]) -> BatchesResult:
        results = content.pop("results", None)
        if not isinstance(results, dict):
            raise ValueError("result.results should be a group of named values")
        whole = from_plain(cls, {**content, "results": {}}, "result")
        _check_consistency(whole, list(results))
        return replace(
            whole, results={name: DifferenceResult._from_plain(own) for name, own in results.items()}
        )

    def _page(self) -> str:
        from princdiff.show.batch_pages import batches_page

        return batches_page(self)


def about_skipped(skipped: Mapping[str, str]) -> str:
    """Which batches were not compared, and why."""
    return f"Batches not compared: {', '.join(f'{name} ({why})' for name, why in skipped.items())}."


_COLUMNS = ("batch", "rows", "effect", "low", "high", "pvalue", "adjusted", "differs", "columns", "changes")


def _check_consistency(whole: BatchesResult, results: list[str]) -> None:
    """Parts that belong together must agree in size and names."""
    for name in (*_COLUMNS, "short"):
        if name not in whole.frame:
            raise ValueError(f"result.frame lacks the column {name!r}")
    if whole.min_effect is None and whole.too_small.any():
        raise ValueError("result.frame calls an effect too small where result.min_effect is none")
    batches = list(whole.frame["batch"])
    if results and results != batches:
        raise ValueError("the results are not those of the batches in result.frame")
    for one in whole.history:
        sizes = {len(one.values), len(one.low), len(one.high), len(one.named)}
        if sizes != {len(batches)} or not 0 <= one.lead < len(batches):
            raise ValueError(f"result.history of {one.column!r} has other batches than result.frame")
