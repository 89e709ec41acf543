"""What comparisons of several groups, two at a time, found: one table, and a result for each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from princdiff.data import parameters, validate
from princdiff.data.shared_docs import with_shared_docs
from princdiff.result.difference import DifferenceResult
from princdiff.result.saved import Saved
from princdiff.result.schema import from_plain, to_plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

REST = "rest"
LEVEL = 0.05
_NUMBERS = ("divergence", "effect", "pvalue", "adjusted")


@dataclass(frozen=True)
class _Stored:
    """What a file holds, apart from the results."""

    table: pd.DataFrame
    adjustment: str


@with_shared_docs
@dataclass(frozen=True, eq=False, repr=False)
class GroupsResult(Saved):
    """Comparisons of several groups, two at a time.

    Attributes
    ----------
    table : DataFrame with one row per comparison
        ``group``, ``other``, ``divergence``, ``effect``, ``pvalue``, ``adjusted`` (for the number of
        comparisons), ``features`` (the leading ones whose p-values pass adjusted for the number of
        comparisons as well, comma-separated).
    results : dict
        A `DifferenceResult` for each (group, other).
    adjustment : str
        How p-values were adjusted.

    Examples
    --------
    {example_groups}
    >>> result = princdiff.compare_groups(X, groups=y, n_permutations=99)
    >>> result
    <GroupsResult 3 comparisons of 3 groups: 2 differ>
    >>> result.table.loc[result.table["adjusted"] < 0.05, ["group", "other"]]
      group other
    1     a     c
    2     b     c
    >>> result.results["a", "c"].pvalue
    0.01
    """

    KIND = "princdiff comparison of groups"
    FORMAT = 1

    table: pd.DataFrame
    results: dict[tuple[str, ...], DifferenceResult]
    adjustment: str

    # Reading.

    def matrix(self, column: str = "adjusted") -> pd.DataFrame:
        """A column of the table as groups x groups (or groups x rest); NaN on the diagonal.

        Parameters
        ----------
        column : str, default="adjusted"
            "divergence", "effect", "pvalue" or "adjusted".

        Returns
        -------
        DataFrame
        """
        validate.check_choice("column", column, _NUMBERS)
        wide = self.table.pivot(index="group", columns="other", values=column)
        if self.against_rest:
            return wide.rename_axis(index=None, columns=None)
        names = self.groups
        wide = wide.reindex(index=names, columns=names)
        both = wide.combine_first(wide.T).reindex(index=names, columns=names)
        return both.rename_axis(index=None, columns=None)

    def to_frame(self) -> pd.DataFrame:
        """Every feature in every comparison, those that differ first.

        Returns
        -------
        DataFrame
            ``group`` and ``other``, then the columns of `DifferenceResult.to_frame` that are not of a group:
            feature, selected, pvalue, reason, kind, effect, difference and so on. ``pvalue`` is adjusted for
            the features of one comparison, ``pvalue_adj`` for the number of comparisons as well. Selected is
            what passes both, in groups that could be shown to differ after adjustment.
        """
        records: list[dict[Any, Any]] = []
        for (group, other), result in self.results.items():
            frame = self._adjusted_over_pairs((group, other), result.to_frame())
            frame = frame[[name for name in frame if not str(name).startswith(("mean ", "sd "))]]
            frame = frame.iloc[np.argsort(~frame["selected"].to_numpy(bool), kind="stable")]
            records += [{"group": group, "other": other, **row} for row in frame.to_dict("records")]
        table = pd.DataFrame(records)
        place = int(table.columns.get_loc("pvalue")) + 1  # type: ignore[arg-type]
        times = times_compared(self.table["adjusted"].to_numpy(float), self.adjustment)
        table.insert(place, "pvalue_adj", np.minimum(1.0, table["pvalue"] * times))
        return table

    @property
    def groups(self) -> list[str]:
        """Names of the groups, in their order."""
        names = dict.fromkeys([*self.table["group"], *self.table["other"]])
        return [name for name in names if not (self.against_rest and name == REST)]

    @property
    def against_rest(self) -> bool:
        """Whether each group was compared with all the others together."""
        return bool((self.table["other"] == REST).all())

    def columns_frame(self, column: str = "effect") -> pd.DataFrame:
        """What differs in which comparison: columns of the user's table x comparisons.

        Parameters
        ----------
        column : {"effect", "pvalue", "selected"}, default="effect"
            Size in standard deviations, adjusted p-value (for the columns of one comparison), or whether
            the column is selected with p-values adjusted for the number of comparisons as well.

        Returns
        -------
        DataFrame
            Columns selected most often first, then the larger differences.
        """
        validate.check_choice("column", column, ("effect", "pvalue", "selected"))
        by_name = {
            _pair_words(pair): self._adjusted_over_pairs(pair, result.columns).set_index("column")
            for pair, result in self.results.items()
        }
        effects = pd.DataFrame({name: frame["effect"] for name, frame in by_name.items()})
        often = pd.DataFrame({name: frame["selected"] for name, frame in by_name.items()}).sum(axis=1)
        order = pd.DataFrame({"often": often, "largest": effects.max(axis=1)})
        order = order.sort_values(["often", "largest"], ascending=False, kind="stable").index
        wanted = pd.DataFrame({name: frame[column] for name, frame in by_name.items()})
        return wanted.reindex(order).rename_axis(index=None, columns=None)

    def _adjusted_over_pairs(self, pair: tuple[str, ...], frame: pd.DataFrame) -> pd.DataFrame:
        """Nothing is selected that would not be with p-values adjusted for the comparisons as well."""
        differs = bool(self.table.set_index(["group", "other"])["adjusted"][pair] <= LEVEL)
        times = times_compared(self.table["adjusted"].to_numpy(float), self.adjustment)
        # A p-value is missing where a column was chosen without a test.
        clear = ~(frame["pvalue"].astype(float) * times > LEVEL)
        return frame.assign(selected=frame["selected"].astype(bool) & clear & differs)

    @property
    def headline(self) -> str:
        """Which groups differ, in one sentence."""
        count, total = int((self.table["adjusted"] <= LEVEL).sum()), len(self.table)
        what = "groups" if self.against_rest else "pairs of groups"
        if self.table["adjusted"].isna().all():
            return f"{total} comparisons were made and none was tested."
        if count == 0:
            return f"None of {total} {what} could be shown to differ{_from_rest(self)} ({self._control()})."
        apart = self.table[~(self.table["adjusted"] <= LEVEL)]
        alike = [_pair_words(pair) for pair in zip(apart["group"], apart["other"], strict=True)]
        rest = ""
        if 0 < len(alike) <= 3:
            rest = f"; no difference could be shown for {', '.join(alike)}"
        all_of = f"All {total}" if count == total else f"{count} of {total}"
        return f"{all_of} {what} differ{_from_rest(self)} ({self._control()}){rest}."

    def _control(self) -> str:
        if self.adjustment == "none":
            return "p-values not adjusted for the number of comparisons"
        name = {"holm": "Holm", "benjamini-hochberg": "Benjamini and Hochberg"}[self.adjustment]
        return f"p-values adjusted for the number of comparisons, {name}"

    def summary(self) -> str:
        """A text that a person reads: the answer, then the table of comparisons."""
        shown = self.table[["group", "other", "effect", "pvalue", "adjusted", "features"]]
        return f"{self.headline}\n\n{shown.to_string(index=False, float_format='{:.3g}'.format)}"

    def __repr__(self) -> str:
        differ = int((self.table["adjusted"] <= LEVEL).sum())
        return f"<GroupsResult {len(self.table)} comparisons of {len(self.groups)} groups: {differ} differ>"

    def _repr_html_(self) -> str:
        from princdiff.show.group_pages import groups_html

        return groups_html(self)

    def __eq__(self, other: object) -> bool:
        """Whether everything but the time it took is the same."""
        if not isinstance(other, GroupsResult):
            return NotImplemented
        same = self.adjustment == other.adjustment and self.table.equals(other.table)
        return same and self.results == other.results

    # Pictures.

    @with_shared_docs
    def plot_matrix(self, column: str = "effect", *, ax: Axes | None = None) -> Axes:
        """Draw groups x groups, a star where the difference is significant at 5 % after adjustment.

        Parameters
        ----------
        column : {"effect", "divergence", "pvalue", "adjusted"}, default="effect"
            What is shown.
        {ax}

        Returns
        -------
        Axes
        """
        parameters.check({"column": column, "ax": ax}, column=parameters.Choice(*_NUMBERS))
        from princdiff.show.group_pages import matrix_picture

        return matrix_picture(self, column, ax)

    @with_shared_docs
    def plot_columns(self, *, top: int = 15, ax: Axes | None = None) -> Axes:
        """Draw columns x comparisons: how much each differs, a dot where it was selected.

        Parameters
        ----------
        top : int, default=15
            How many columns, those that differ most often first.
        {ax}

        Returns
        -------
        Axes
        """
        parameters.check({"top": top, "ax": ax}, top=parameters.Whole(1))
        from princdiff.show.group_pages import columns_picture

        return columns_picture(self, top, ax)

    # Files.

    def _to_plain(self) -> dict[str, Any]:
        return {
            **to_plain(_Stored(self.table, self.adjustment)),
            "results": [{"pair": list(pair), **result.to_dict()} for pair, result in self.results.items()],
        }

    @classmethod
    def _from_plain(cls, content: dict[str, Any]) -> GroupsResult:
        stored = from_plain(_Stored, content, "result")
        results = _stored_results(content.get("results"))
        if list(results) != list(zip(stored.table["group"], stored.table["other"], strict=True)):
            raise ValueError("the results are not those of the table")
        return cls(stored.table, results, stored.adjustment)

    def _page(self) -> str:
        from princdiff.show.group_pages import groups_page

        return groups_page(self)


def _stored_results(content: Any) -> dict[tuple[str, ...], DifferenceResult]:
    results: dict[tuple[str, ...], DifferenceResult] = {}
    if not isinstance(content, list):
        raise ValueError("result.results should be a list")
    for item in content:
        pair = item.pop("pair") if isinstance(item, dict) else None
        if not isinstance(pair, list) or not all(isinstance(name, str) for name in pair):
            raise ValueError("a result does not say which groups it compares")
        results[tuple(pair)] = DifferenceResult._from_plain(item)
    return results


def times_compared(adjusted: NDArray[np.float64], adjustment: str) -> float:
    """What p-values of columns, adjusted within a comparison, are multiplied by for all of them.

    Bonferroni over the comparisons where no claim at all may be false. Where a share of the comparisons
    may be, those that differ count only (Benjamini and Bogomolov 2014): the share of columns named by
    mistake is bounded on average over the comparisons that are reported.

    Examples
    --------
    >>> adjusted = np.array([0.01, 0.03, 0.2])
    >>> [times_compared(adjusted, name) for name in ("holm", "benjamini-hochberg", "none")]
    [3.0, 1.5, 1.0]
    """
    if adjustment == "none":
        return 1.0
    differ = 1 if adjustment == "holm" else max(1, int((adjusted <= LEVEL).sum()))
    return len(adjusted) / differ


def _pair_words(pair: tuple[str, ...]) -> str:
    return " and ".join(pair) if pair[1] != REST else pair[0]


def _from_rest(result: GroupsResult) -> str:
    return " from the rest" if result.against_rest else ""
