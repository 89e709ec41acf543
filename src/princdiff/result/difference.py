"""What a comparison found: plain data, frozen, that can be read, drawn, saved and asked about new rows."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from princdiff.files import write_text
from princdiff.tables import Coding, encode

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KIND = "princdiff comparison"
FORMAT = 1


@dataclass(frozen=True, eq=False, repr=False)
class DifferenceResult:
    """Outcome of `princdiff.compare`.

    Attributes
    ----------
    pvalue : float
        How likely so large a difference is if the groups do not differ.
    statistic : float
        Statistic of the test.
    divergences, upper_bounds : arrays of shape (n_components,)
        Squared Wasserstein distance along each direction, and what no direction can exceed (NaN: not
        computed).
    effect : float
        Wasserstein distance along the first direction, in pooled standard deviations.
    kind : dict
        Parts of the projected difference due to location, scale and shape; they sum to 1.
    directions : DataFrame of shape (n_features, n_components)
        Unit directions of the scaled features.
    components : DataFrame with one row per direction
        Columns component, divergence, upper bound, pvalue (of the first: that of the test; of the others:
        whether anything was left to differ, descriptive), effect, location, scale, shape.
    separation : list of lists of shape (n_components, n_groups, n_groups)
        Divergence between every two groups along each direction; see `separation_frame`.
    groups : dict
        Rows in each group.
    table : DataFrame
        One row per feature; see `to_frame`.
    test, selection, certificate, path : dicts
        What was done in each step, and what came out.
    reference : dict
        Scaling of the features and quantiles of the projected groups, for `score`.
    distributions : dict
        Histograms of the leading features by group.
    codings : list of dict
        How columns of the table became features.
    notes : list of str
        Warnings, and everything that was left out or changed.
    parameters : dict
        What was asked for, the seed, versions and timings.
    """

    pvalue: float
    statistic: float
    divergences: NDArray[np.float64]
    upper_bounds: NDArray[np.float64]
    effect: float
    kind: dict[str, float]
    directions: pd.DataFrame
    components: pd.DataFrame
    separation: list[list[list[float]]]
    groups: dict[str, int]
    table: pd.DataFrame
    test: dict[str, Any]
    selection: dict[str, Any]
    certificate: dict[str, Any]
    path: dict[str, Any]
    reference: dict[str, Any]
    distributions: dict[str, Any]
    codings: list[dict[str, Any]]
    notes: list[str]
    parameters: dict[str, Any]

    # Reading.

    def to_frame(self) -> pd.DataFrame:
        """One row per feature, the largest share first.

        Returns
        -------
        DataFrame
            Columns feature, column (of the user's table), weight, share, selected, pvalue (adjusted),
            stability, divergence (of the feature alone), location, scale, shape, then mean and sd of each
            group, then weight and share in further directions. Shares are NaN for a divergence that does
            not depend on scale.
        """
        return self.table.copy()

    @property
    def upper_bound(self) -> float:
        """Bound on the divergence of the first direction; NaN where not computed."""
        return float(self.upper_bounds[0])

    @property
    def null(self) -> NDArray[np.float64]:
        """Statistics of the relabellings; empty for a split test."""
        return np.asarray(self.test.get("null", []), dtype=np.float64)

    @property
    def selected(self) -> list[str]:
        """Features that take part in the difference, the largest share first."""
        return self.table.loc[self.table["selected"], "feature"].tolist()

    def by_column(self) -> pd.Series:
        """Share of each column of the user's table: one-hot features are summed back."""
        return (
            self.table.groupby("column", sort=False)["share"]
            .sum(min_count=1)
            .sort_values(ascending=False, kind="stable")
        )

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
        names = list(self.groups)
        return pd.DataFrame(self.separation[component], index=names, columns=names)

    def summary(self) -> str:
        """A text that a person reads."""
        from princdiff.result.wording import summary

        return summary(self)

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        names = " vs ".join(self.groups)
        return f"<DifferenceResult {names}: p = {self.pvalue:.3g}, {len(self.selected)} features>"

    def _repr_html_(self) -> str:
        from html import escape

        shown = self.table.head(10)[["feature", "weight", "share", "selected", "divergence"]]
        return f"<pre>{escape(self.summary())}</pre>" + shown.to_html(index=False, float_format="%.3g")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DifferenceResult):
            return NotImplemented
        return json.dumps(self.to_dict(), sort_keys=True) == json.dumps(other.to_dict(), sort_keys=True)

    __hash__ = None  # type: ignore[assignment]

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
            One row per component and group: ``distance`` (Wasserstein, in the units of the projection),
            ``effect`` (in standard deviations of that group), ``closest`` (whether this group is the
            closest one), and the number of new rows.
        """
        missing = self.parameters["missing"]
        codings = [Coding(**{**coding, "levels": _tuple(coding["levels"])}) for coding in self.codings]
        encoded = encode(rows, codings, missing=missing)
        for note in encoded.notes:
            warnings.warn(note, UserWarning, stacklevel=2)
        values = encoded.rows
        factors = np.asarray(self.reference["factors"])
        projected = np.asarray(values @ (self.directions.to_numpy() * factors[:, None]))
        records = []
        for component, name in enumerate(self.directions.columns):
            own = projected[:, component]
            for group, stored in self.reference["components"][component].items():
                levels = np.asarray(self.reference["levels"])
                gaps = np.quantile(own, levels) - np.asarray(stored["quantiles"])
                distance = float(np.sqrt(np.mean(gaps**2)))
                effect = distance / stored["sd"] if stored["sd"] > 0 else np.inf
                records.append((name, group, distance, effect, len(own)))
        frame = pd.DataFrame(records, columns=["component", "group", "distance", "effect", "rows"])
        closest = frame.groupby("component")["distance"].transform("min")
        frame["closest"] = frame["distance"] == closest
        return frame

    # Pictures.

    def plot_projection(self, *, component: int = 0, ax: Axes | None = None) -> Axes:
        """Draw the groups' projected distributions, with the differences of their quantiles."""
        from princdiff.present import plots

        stored = self.reference["components"][component]
        quantiles = {group: np.asarray(part["quantiles"]) for group, part in stored.items()}
        return plots.quantile_densities(quantiles, np.asarray(self.reference["levels"]), ax=ax)

    def plot_weights(self, *, component: int = 0, top: int = 15, ax: Axes | None = None) -> Axes:
        """Draw the leading features' weights and shares."""
        from princdiff.present import plots

        direction = self.directions.iloc[:, component]
        shares = None
        column = "share" if component == 0 else f"share {component + 1}"
        if self.table[column].notna().any():
            shares = self.table.set_index("feature")[column].reindex(direction.index).to_numpy()
        return plots.weights(direction.to_numpy(), direction.index, shares=shares, top=top, ax=ax)

    def plot_null(self, *, ax: Axes | None = None) -> Axes:
        """Draw the statistic of the relabellings, and the observed one."""
        from princdiff.present import plots

        if len(self.null) == 0:
            raise ValueError(
                "this comparison used a split test, which has no common null distribution to draw"
            )
        return plots.null_distribution(self.null, self.statistic, self.pvalue, ax=ax)

    def plot_path(self, *, ax: Axes | None = None) -> Axes:
        """Draw fitted and held-out divergence against the number of features."""
        from princdiff.present import plots

        if not self.path:
            raise ValueError("the number of features was given, so there is no path to draw")
        return plots.sparsity_path(
            self.path["grid"], self.path["fitted"], self.path["held_out"], self.path["chosen"], ax=ax
        )

    def plot_feature(self, feature: str, *, ax: Axes | None = None) -> Axes:
        """Draw one feature's distribution in each group."""
        from princdiff.present import plots

        if feature not in self.distributions:
            raise ValueError(
                f"no distribution of {feature!r} is kept; only those of the leading features are"
            )
        stored = self.distributions[feature]
        return plots.histograms(stored["edges"], stored["shares"], feature, ax=ax)

    # Files.

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain dicts, lists, numbers and strings."""
        content = {field.name: _plain(getattr(self, field.name)) for field in fields(self)}
        return {"kind_of_file": KIND, "format": FORMAT, **content}

    def to_json(self, path: str | Path | None = None) -> str:
        """Write as JSON text, to a file if a path is given; NaN stands as NaN, which Python reads back."""
        text = json.dumps(self.to_dict(), allow_nan=True)
        if path is not None:
            write_text(path, text)
        return text

    def save(self, path: str | Path) -> Path:
        """Write a file that `load` reads back exactly; an old file is replaced at once or not at all."""
        write_text(path, self.to_json())
        return Path(path)

    @classmethod
    def load(cls, path: str | Path) -> DifferenceResult:
        """Read a saved result. Nothing in the file is executed."""
        return load(path)

    def to_html(self, path: str | Path) -> Path:
        """Write the report: one page that works offline."""
        from princdiff.present.report import write_report

        return write_report(self, path)


def load(path: str | Path) -> DifferenceResult:
    """Read a result that was saved with `DifferenceResult.save`.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    DifferenceResult
    """
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FileNotFoundError(f"no such file: {path}") from None
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} is not a saved princdiff comparison: {error}") from None
    if not isinstance(content, dict) or content.get("kind_of_file") != KIND:
        raise ValueError(f"{path} is not a saved princdiff comparison")
    if content.get("format") != FORMAT:
        raise ValueError(
            f"{path} has format {content.get('format')!r}; this version of princdiff reads format {FORMAT}"
        )
    names = [field.name for field in fields(DifferenceResult)]
    lost = [name for name in names if name not in content]
    if lost:
        raise ValueError(f"{path} is incomplete: {', '.join(lost)} is missing")
    values = {name: content[name] for name in names}
    for name in ("divergences", "upper_bounds"):
        values[name] = np.array(values[name], dtype=np.float64)
    for name in ("directions", "components", "table"):
        values[name] = _frame(values[name])
    return DifferenceResult(**values)


def _plain(value: Any) -> Any:
    """NumPy and pandas as what JSON knows."""
    if isinstance(value, pd.DataFrame):
        return {
            "index": _plain(list(value.index)),
            "columns": [str(name) for name in value.columns],
            "data": [_plain(value[name].tolist()) for name in value.columns],
        }
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def _frame(stored: dict[str, Any]) -> pd.DataFrame:
    columns = dict(zip(stored["columns"], stored["data"], strict=True))
    return pd.DataFrame(columns, index=stored["index"], columns=stored["columns"])


def _tuple(levels: Any) -> Any:
    return tuple(levels) if isinstance(levels, list) else levels
