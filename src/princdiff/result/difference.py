"""What a comparison found: plain data, frozen, that can be read, drawn, saved and asked about new rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from princdiff.caught_warnings import warn_user
from princdiff.data import parameters, validate
from princdiff.data.parameters import Choice, Either, Flag, Names
from princdiff.files import write_text
from princdiff.findings import ChangePart, Fault
from princdiff.options import option
from princdiff.printable import printable
from princdiff.result.new_rows import FromGroup, from_group, new_rows_like
from princdiff.result.parts import (
    CertificatePart,
    ContrastPart,
    Distribution,
    PathPart,
    ReferencePart,
    RowsPart,
    SelectionPart,
    TestPart,
    WitnessPart,
)
from princdiff.result.pass_or_fail import DecisionPart
from princdiff.result.saved import Saved
from princdiff.result.schema import to_plain
from princdiff.result.table_one import Form, in_form, table_one
from princdiff.selection.explanation import Explanation
from princdiff.tables import Coding, encode

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class DifferenceResult(Saved):
    """Outcome of `princdiff.compare`.

    Attributes
    ----------
    pvalue : float
        How likely so large a difference is if the groups do not differ.
    statistic : float
        Statistic of the test.
    effect : float
        Distance of the groups along the first direction, in standard deviations, measured on rows that the
        direction was not fitted on and less what chance gives: near 0 where nothing differs.
    effect_interval : (float, float)
        About 95 % confidence for it, by a bootstrap of the rows, or of blocks such as donors and pairs. NaN
        where a group has a single block.
    groups : dict
        Rows in each group.
    columns : DataFrame
        One row per column of the user's table: does it differ, how, by how much; see `to_frame`.
    table : DataFrame
        One row per feature (a level of a category is one); see `to_frame`.
    relations : DataFrame
        Pairs of features that go together differently in the groups: first, second, their dependence in each
        group, change, pvalue (adjusted), selected.
    divergences, upper_bounds : arrays of shape (n_components,)
        Divergence along each direction, and what no direction can exceed (NaN: not computed).
    kind : dict
        Parts of the projected difference due to location, scale and shape; they sum to 1.
    directions : DataFrame of shape (n_features, n_components)
        Unit directions of the scaled features, along which the last group has a larger mean than the first.
    components : DataFrame with one row per direction
        Columns component, divergence, upper bound, pvalue (of the first: that of the test; of the others:
        whether anything was left to differ, descriptive), effect, location, scale, shape.
    separation : list of lists of shape (n_components, n_groups, n_groups)
        Divergence between every two groups along each direction; see `separation_frame`.
    test : TestPart
        Which test was made, and what it looked at.
    selection : SelectionPart
        What "selected" promises.
    certificate : CertificatePart
        How far from the best possible direction the one found can be.
    path : PathPart
        Divergence against the number of features.
    reference : ReferencePart
        Scaling of the features and quantiles of the projected groups, for `score`.
    distributions : dict
        Histograms of the leading features by group.
    codings : list of Coding
        How columns of the table became features.
    notes : list of str
        Warnings, and everything that was left out or changed.
    parameters : dict
        What was asked for, the seed, versions and timings.
    contrasts : list of ContrastPart
        The first direction, which has the largest difference in size, and the sharpest contrast where that is
        another one; the one that led comes first.
    witness : WitnessPart or None
        Where the groups differ most clearly in something else than a direction, what can be shown of it.
    rows : RowsPart
        Rows to look at, where ``Config(show_rows=)`` asked for some; see `typical_rows`.
    changes : dict
        What changed in each column, part by part; ``columns["change"]`` tells it in words.
    explanation : Explanation
        The fewest columns that explain the difference, how many changed at least, which others could stand
        for one of them, and the test of all the rest.
    faults : list of Fault
        What the columns that explain the difference look like, where it is something that happens to values
        on their way into a table: a mark for missing values, another unit, a limit, rounding, two columns
        exchanged, levels joined; and rows that are there more than once. Described, not tested.
    balance : DataFrame
        Where there are covariates, one row for each: standardised mean difference before and after rows were
        weighted so that the groups have the same covariates, and the means of the groups. Otherwise empty.
    measured : DataFrame
        Counts, means, standard deviations and quartiles of the columns by group; see `table1`.
    decision : DecisionPart or None
        Where the command line was given a rule (``--fail-below``): the rule, the outcome and the reason.

    Examples
    --------
    >>> import numpy as np
    >>> import princdiff
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(60, 3)), np.repeat(["a", "c"], 30)
    >>> X[y == "c", 1] += 2
    >>> result = princdiff.compare(X, groups=y, n_permutations=99)
    >>> result.pvalue, result.selected, result.effect > 1
    (0.01, ['x1'], True)
    >>> result.columns[["column", "kind"]].head(1)
      column   kind
    0     x1  shift
    """

    KIND = "princdiff comparison"
    FORMAT = 2

    pvalue: float
    statistic: float
    effect: float
    effect_interval: tuple[float, float]
    groups: dict[str, int]
    columns: pd.DataFrame
    table: pd.DataFrame
    relations: pd.DataFrame
    divergences: NDArray[np.float64]
    upper_bounds: NDArray[np.float64]
    kind: dict[str, float]
    directions: pd.DataFrame
    components: pd.DataFrame
    separation: list[list[list[float]]]
    test: TestPart
    selection: SelectionPart
    certificate: CertificatePart
    path: PathPart
    reference: ReferencePart
    distributions: dict[str, Distribution]
    codings: list[Coding]
    notes: list[str]
    parameters: dict[str, Any]
    contrasts: list[ContrastPart] = field(default_factory=list)
    witness: WitnessPart | None = None
    rows: RowsPart = field(default_factory=RowsPart)
    changes: dict[str, list[ChangePart]] = field(default_factory=dict)
    explanation: Explanation = field(default_factory=Explanation)
    faults: list[Fault] = field(default_factory=list)
    decision: DecisionPart | None = None
    balance: pd.DataFrame = field(default_factory=pd.DataFrame)
    measured: pd.DataFrame = field(default_factory=pd.DataFrame)

    # Reading.

    def to_frame(self, by: str = "feature") -> pd.DataFrame:
        """The answer as a table.

        Parameters
        ----------
        by : {"feature", "column"}, default="feature"
            One row per feature, or one per column of the user's table.

        Returns
        -------
        DataFrame
            By feature, the largest share first: feature, column (of the user's table), weight, share,
            selected, pvalue (adjusted), reason (why it was selected), kind (shift, spread, shape,
            proportion, missing), effect (in standard deviations, chance taken off), measure and difference
            (of features that differ alone, two groups: second minus first, in the feature's own unit) with
            difference_low and difference_high (of these intervals at most 5 % are expected to miss, the
            choice of features allowed for), stability, divergence (of the feature alone), location, scale,
            shape, then mean and sd of each group, then weight and share in further directions. Shares are NaN
            for a divergence that does not depend on scale.

            By column, the selected ones first: column, type, selected, pvalue, reason, kind, effect, measure,
            difference, difference_low, difference_high, change (in words), share.
        """
        validate.check_choice("by", by, ("feature", "column"))
        return (self.table if by == "feature" else self.columns).copy()

    def table1(
        self, form: Form = "frame", *, median: bool | Sequence[str] = False, overall: bool = True
    ) -> Any:
        """The table that opens a paper: each column in each group, as text to be pasted.

        Parameters
        ----------
        form : {"frame", "markdown", "latex", "html"}, default="frame"
            A data frame, or text.
        median : bool or list of str, default=False
            Whether numbers are told by median [quartiles] instead of mean (standard deviation); or the
            columns that are.
        overall : bool, default=True
            Whether there is a column for all rows together.

        Returns
        -------
        DataFrame or str
            Indexed by column and level: what the figures are, each group, overall, missing values, the
            standardised mean difference (SMD; of several groups the largest of two) and the p-value adjusted
            for the number of columns. Of a column with two values one line is enough.

        Raises
        ------
        ValueError
            If the result holds no such figures: of weighted rows, of profiles, of very many features.

        Examples
        --------
        >>> import numpy as np
        >>> import pandas as pd
        >>> from princdiff import compare
        >>> rng = np.random.default_rng(0)
        >>> table = pd.DataFrame({"age": rng.normal(50, 10, 200), "arm": np.repeat(["control", "drug"], 100)})
        >>> print(compare(table, groups="arm", n_permutations=99).table1("markdown", overall=False))
        | column | level | figures | control (n = 100) | drug (n = 100) | missing | SMD | adjusted p |
        | --- | --- | --- | --- | --- | --- | --- | --- |
        | age |  | mean (SD) | 50.8 (9.67) | 49.5 (9.61) | 0 | 0.14 | 0.53 |
        """
        parameters.check(
            {"form": form, "median": median, "overall": overall},
            form=Choice("frame", "markdown", "latex", "html"),
            median=Either(Flag(), Names()),
            overall=Flag(),
        )
        return in_form(table_one(self, median, overall), form)

    def change_of(self, column: str) -> list[ChangePart]:
        """What changed in a column, part by part; one part where the result comes from an older file."""
        words = self.columns["change"].to_numpy(object)
        return self.changes.get(column) or [
            ChangePart(str(words[place])) for place in np.flatnonzero(self.columns["column"] == column)
        ]

    @property
    def upper_bound(self) -> float:
        """Bound on the divergence of the first direction; NaN where not computed."""
        return float(self.upper_bounds[0])

    @property
    def null(self) -> NDArray[np.float64]:
        """Statistics of the permutations; empty for a split test."""
        return self.test.null

    @property
    def selected(self) -> list[str]:
        """Features in which the groups differ, with control of the error, the largest share first."""
        return self.table.loc[self.table["selected"], "feature"].tolist()

    @property
    def selected_columns(self) -> list[str]:
        """Columns of the user's table in which the groups differ, the clearest difference first."""
        return self.columns.loc[self.columns["selected"], "column"].tolist()

    def by_column(self) -> pd.Series:
        """Share of each column of the user's table: one-hot features are summed back."""
        return (
            self.table.groupby("column", sort=False)["share"]
            .sum(min_count=1)
            .sort_values(ascending=False, kind="stable")
        )

    def typical_rows(self) -> pd.DataFrame:
        """Rows to look at: the middle of each group, and those that lie like rows of another group.

        Returns
        -------
        DataFrame
            The columns compared, those that differ first; indexed by group, side ("typical" or "other side")
            and number of the row in its table.
        """
        if not self.rows:
            raise ValueError(
                f"no rows were kept: compare with {option('show_rows', 5)}, or as many as you want to see"
            )
        order = [str(name) for name in self.columns["column"]]
        frame = self.rows.values[order].copy()
        frame.index = pd.MultiIndex.from_frame(self.rows.where[["group", "side", "row"]])
        return frame

    def separation_frame(self, component: int = 0) -> pd.DataFrame:
        """Divergence between every two groups along a direction: which groups it tells apart.

        Parameters
        ----------
        component : int, default=0
            Number of the direction.

        Returns
        -------
        DataFrame of shape (n_groups, n_groups)
        """
        self._check_drawn(component=component)
        names = list(self.groups)
        return pd.DataFrame(self.separation[component], index=names, columns=names)

    @property
    def headline(self) -> str:
        """The answer in one sentence: whether the groups differ, how sure that is, and in what most."""
        from princdiff.words.wording import headline

        return headline(self)

    def summary(self) -> str:
        """A text that a person reads."""
        from princdiff.words.wording import summary

        return summary(self)

    def __repr__(self) -> str:
        names = " vs ".join(map(printable, self.groups))
        count = len(self.selected_columns)
        differ = "1 column differs" if count == 1 else f"{count} columns differ"
        return f"<DifferenceResult {names}: p = {self.pvalue:.3g}, {differ}>"

    def _repr_html_(self) -> str:
        from princdiff.show.notebook import result_html

        return result_html(self)

    def __eq__(self, other: object) -> bool:
        """Whether everything but the time it took is the same."""
        if not isinstance(other, DifferenceResult):
            return NotImplemented
        return self._comparable() == other._comparable()

    def _comparable(self) -> str:
        content = self.to_dict()
        content["parameters"].pop("seconds", None)
        return json.dumps(content, sort_keys=True)

    # New rows.

    def score(self, rows: Any) -> pd.DataFrame:
        """Judge new rows along the directions found, against the groups' reference quantiles.

        Parameters
        ----------
        rows : path, DataFrame or array of shape (n_rows, n_features)
            A new batch with the columns of the comparison. Missing values are filled as before if the
            comparison did so, otherwise an error.

        Returns
        -------
        DataFrame
            One row per component and group: ``distance`` (Wasserstein, in the units of the projection,
            chance not taken off), ``effect`` (in standard deviations, counted like that of a comparison of
            the group with the new rows: what chance gives is taken off, and it is 0 where chance explains
            the distance), ``by_chance`` (part of batches of as many rows drawn from the group itself that
            lie as far from it; above 0.05 the effect is 0), ``rows`` (how many are new) and ``closest``
            (whether the effect is the smallest). A group's own rows are at distance 0 from it.
        """
        encoded = encode(rows, self.codings, missing=self.parameters["missing"])
        for note in encoded.notes:
            warn_user(note)
        records = []
        for number, name in enumerate(self.directions.columns):
            direction = self.directions.iloc[:, number].to_numpy()
            groups = self.reference.components[number]
            like = new_rows_like(groups, float(self.components["effect"].iloc[number]))
            for group, stored in groups.items():
                # Each group's rows were scaled in their own way where scale="within".
                weights = direction * self.reference.factors[group]
                own = np.asarray(encoded.rows @ weights).ravel() - self.reference.offsets[group] @ weights
                seen = from_group(own, stored, self.reference.levels, like[group])
                records.append((name, group, *seen, len(own)))
        frame = pd.DataFrame(records, columns=["component", "group", *FromGroup._fields, "rows"])
        # By the effect, which is what is shown; by the distance where groups have no spread.
        ranked = frame.sort_values(["component", "effect", "distance"], kind="stable")
        frame["closest"] = frame.index.isin(ranked.groupby("component", sort=False).head(1).index)
        return frame

    # Pictures.

    def plot_columns(self, *, top: int = 12, ax: Axes | None = None) -> Axes:
        """Draw how much the leading columns differ, in standard deviations, and what changed."""
        from princdiff.show import result_plots

        self._check_drawn(top=top, ax=ax)
        return result_plots.columns(self, top, ax)

    def plot_projection(self, *, component: int = 0, ax: Axes | None = None) -> Axes:
        """Draw the groups' projected distributions, with the differences of their quantiles."""
        from princdiff.show import result_plots

        self._check_drawn(component=component, ax=ax)
        return result_plots.projection(self, component, ax)

    def plot_contrast(self, name: str | None = None, *, ax: Axes | None = None) -> Axes:
        """Draw the groups along one of the ``contrasts``."""
        from princdiff.show import result_plots

        self._check_drawn(name=name, ax=ax)
        return result_plots.contrast(self, name, ax)

    def plot_witness(self, *, axes: Sequence[Axes] | None = None) -> NDArray[np.object_]:
        """Draw where the rows of each group lie, in the two coordinates that show most.

        Parameters
        ----------
        axes : sequence of Axes, optional
            Where to draw: one for each group.

        Returns
        -------
        array of Axes of shape (n_groups,)
        """
        from princdiff.show import result_plots

        return result_plots.witness(self, axes)

    def plot_weights(self, *, component: int = 0, top: int = 15, ax: Axes | None = None) -> Axes:
        """Draw the leading features' weights and shares."""
        from princdiff.show import result_plots

        self._check_drawn(component=component, top=top, ax=ax)
        return result_plots.weights(self, component, top, ax)

    def plot_relations(self, *, top: int = 10, ax: Axes | None = None) -> Axes:
        """Draw the correlations of ``top`` pairs in each group, those first that were shown to differ."""
        from princdiff.show import result_plots

        self._check_drawn(top=top, ax=ax)
        return result_plots.relations(self, top, ax)

    def plot_null(self, *, ax: Axes | None = None) -> Axes:
        """Draw the statistic of the permutations, and the observed one."""
        from princdiff.show import plots

        self._check_drawn(ax=ax)
        if len(self.null) == 0:
            why = (
                "a split test was made, which has no common one"
                if self.test.name == "split"
                else "no test was made"
            )
            raise ValueError(f"there is no null distribution to draw: {why}")
        return plots.null_distribution(self.null, self.statistic, self.pvalue, ax=ax)

    def plot_balance(self, *, ax: Axes | None = None) -> Axes:
        """Draw how far the groups are apart in the covariates, as they are and adjusted (a love plot)."""
        from princdiff.show import result_plots

        self._check_drawn(ax=ax)
        return result_plots.balance(self, ax)

    def plot_path(self, *, ax: Axes | None = None) -> Axes:
        """Draw fitted and held-out divergence against the number of features."""
        from princdiff.show import plots

        self._check_drawn(ax=ax)
        if not self.path:
            raise ValueError("the number of features was given, so there is no path to draw")
        return plots.sparsity_path(
            self.path.grid, self.path.fitted, self.path.held_out, self.path.chosen, ax=ax
        )

    def plot_feature(self, feature: str, *, ax: Axes | None = None) -> Axes:
        """Draw a column, or one of its features, in each group: proportions as bars, else histograms."""
        from princdiff.show import result_plots

        self._check_drawn(ax=ax, feature=feature)
        return result_plots.feature(self, feature, ax)

    def _check_drawn(self, **values: Any) -> None:
        """Refuse a direction that does not exist, and what is no place to draw."""
        parameters.check(
            values,
            component=parameters.Whole(0, len(self.divergences) - 1),
            top=parameters.Whole(1),
            feature=parameters.Text(empty=True),
            name=parameters.Either(parameters.Text(), None),
        )

    # Files.

    def _to_plain(self) -> dict[str, Any]:
        plain: dict[str, Any] = to_plain(self)
        return plain

    @classmethod
    def _from_plain(cls, content: dict[str, Any]) -> DifferenceResult:
        from princdiff.result.loading import result_from

        return result_from(content)

    def to_json(self, path: str | Path | None = None) -> str:
        """Write as JSON text, to a file if a path is given."""
        text = json.dumps(self.to_dict(), allow_nan=False)
        if path is not None:
            write_text(path, text)
        return text

    def to_html(self, path: str | Path, *, beside: DifferenceResult | None = None) -> Path:
        """Write the report: one page that works offline.

        Parameters
        ----------
        path : str or Path
            The file. An existing one is replaced at once or, if anything fails, not at all.
        beside : DifferenceResult, optional
            Another comparison of the same columns whose report will lie beside this one: bars of sizes and
            pictures of columns get scales that hold both. Give each report the other result.

        Returns
        -------
        Path
            The file written.
        """
        parameters.check({"path": path}, path=parameters.File())
        if beside is not None and not isinstance(beside, DifferenceResult):
            raise ValueError(f"beside must be another result of a comparison, got {beside!r}")
        if beside is None:
            return super().to_html(path)
        write_text(path, self._page(beside))
        return Path(path)

    def _page(self, beside: DifferenceResult | None = None) -> str:
        from princdiff.show.page import render

        return render(self, beside)
