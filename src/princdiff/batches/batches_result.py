"""What was found when batches were compared with a reference."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pandas as pd

from princdiff.data import parameters
from princdiff.data.validate import check_choice
from princdiff.printable import printable
from princdiff.result import DifferenceResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEVEL = 0.05


@dataclass(frozen=True, eq=False, repr=False)
class BatchesResult:
    """Outcome of `compare_batches`.

    Attributes
    ----------
    frame : DataFrame with one row per batch, in their order
        Columns batch, rows, effect, low, high (about 95 % confidence, in standard deviations), pvalue,
        adjusted (p-value adjusted for the number of batches), differs (the adjusted p-value is at most
        ``alpha`` and the effect at least ``min_effect``), columns (names of those that differ, with the
        family-wise error over all columns and batches, the clearest first), changes (the same in words).
    results : dict of str to DifferenceResult
        The comparison of each batch with the reference.
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

    frame: pd.DataFrame
    results: dict[str, DifferenceResult]
    reference: str
    reference_rows: int
    band: tuple[float, float] = (math.nan, math.nan)
    alpha: float = LEVEL
    skipped: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    min_effect: float | None = None

    def to_frame(self, by: str = "batch") -> pd.DataFrame:
        """The answer as a table.

        Parameters
        ----------
        by : {"batch", "column"}, default="batch"
            One row per batch, or one per column that differs in some batch.

        Returns
        -------
        DataFrame
            By batch: `frame`. By column, the earliest first: column, first (batch in which it differs),
            batches (in how many), change (in the last of them, in words).
        """
        check_choice("by", by, ("batch", "column"))
        return self.frame.copy() if by == "batch" else self._by_column()

    def _by_column(self) -> pd.DataFrame:
        found: dict[str, dict[str, Any]] = {}
        for batch, named in zip(self.frame["batch"], self.frame["columns"], strict=True):
            changes = self.results[batch].columns.set_index("column")["change"]
            for name in named:
                entry = found.setdefault(name, {"column": name, "first": batch, "batches": 0, "change": ""})
                entry["batches"] += 1
                entry["change"] = str(changes[name])
        return pd.DataFrame(list(found.values()), columns=["column", "first", "batches", "change"])

    @property
    def began(self) -> str | None:
        """The first batch that differs from the reference, or None."""
        batches = self.frame.loc[self.frame["differs"], "batch"]
        return None if batches.empty else str(batches.iloc[0])

    def headline(self) -> str:
        """Whether batches differ, since when, and in what."""
        count, total = int(self.frame["differs"].sum()), len(self.frame)
        if not count:
            return self._none_differs(total)
        first = self.frame[self.frame["differs"]].iloc[0]
        what = f" in {first['changes']}" if first["changes"] else ""
        return (
            f"{count} of {total} batches differ{'s' if count == 1 else ''} from {self.reference}; the first "
            f"is {first['batch']} (adjusted p = {first['adjusted']:.2g}), which differs{what}."
        )

    def _none_differs(self, total: int) -> str:
        small = self.frame[self.too_small]
        if small.empty:
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

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return (
            f"<BatchesResult {len(self.frame)} batches against {printable(self.reference)}: "
            f"{int(self.frame['differs'].sum())} differ>"
        )

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
        from princdiff.show.batch_views import effects_over_batches

        return effects_over_batches(self, ax)
