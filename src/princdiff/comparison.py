"""The front door: two tables in, one result out."""

from __future__ import annotations

import platform
import time
import warnings
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from princdiff import checks, explain
from princdiff.estimators import SPARDA
from princdiff.inference.permutation import permutation_test
from princdiff.inference.selection import select_features
from princdiff.inference.split import split_test
from princdiff.inference.stability import stability_selection
from princdiff.result import DifferenceResult
from princdiff.samples import Samples, Scale
from princdiff.tables import Prepared, prepare

# Numbers (rows x features x labellings) up to which every relabelling is fitted.
AFFORDABLE_PERMUTATIONS = 3 * 10**9
# Numbers (rows x features) up to which all features that take part are looked for.
AFFORDABLE_SELECTION = 2 * 10**6
_REFERENCE_LEVELS = (np.arange(500) + 0.5) / 500
_MOST_DISTRIBUTIONS = 300
_BINS = 24
_PILOT = 19


def compare(
    X: Any,
    Y: Any = None,
    *,
    groups: Any = None,
    features: list[str] | None = None,
    n_features: int | str = "auto",
    scale: Scale = "pooled",
    n_permutations: int = 999,
    blocks: Any = None,
    permute: str = "within",
    covariates: Any = None,
    sample_weight: Any = None,
    missing: str = "error",
    strict: bool = False,
    certify: bool | str = "auto",
    select: bool = True,
    time_budget: float | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: bool = False,
) -> DifferenceResult:
    """Compare groups of rows: do they differ, in what, and how sure is that.

    Parameters
    ----------
    X, Y : path, DataFrame (pandas or polars), array, scipy.sparse matrix or AnnData
        Two tables with the same columns, or one table and ``groups``.
    groups : str or array of shape (n_rows,), optional
        Column that tells the groups, or a label for each row.
    features : list of str, optional
        Columns to compare; default all.
    n_features : int or "auto", default="auto"
        Features that the direction may use; "auto": chosen by held-out divergence.
    scale : {"pooled", None, "within"}, default="pooled"
        Scaling of the features, see `princdiff.PDA`.
    n_permutations : int, default=999
        Relabellings; 0 leaves out the test.
    blocks : str or array of shape (n_rows,), optional
        Pairs, strata or donors.
    permute : {"within", "whole"}, default="within"
        Whether rows are relabelled inside their block, or whole blocks.
    covariates : str, list of str or array, optional
        Columns whose linear effect is taken out in the test.
    sample_weight : str or array of shape (n_rows,), optional
        Row weights.
    missing : {"error", "impute", "drop"}, default="error"
        What to do with missing values.
    strict : bool, default=False
        Columns that cannot be compared are an error, not a warning.
    certify : {"auto", True, False}, default="auto"
        Bound the best possible divergence; "auto": where that is cheap.
    select : bool, default=True
        Look for all features that take part.
    time_budget : float, optional
        Seconds after which remaining steps are shortened or left out. The result then depends on the
        machine, and says what was cut.
    random_state : int, RandomState or None, default=0
        Seed.
    n_jobs : int, optional
        Threads.
    progress : bool, default=False
        Show progress bars.

    Returns
    -------
    DifferenceResult

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> before = pd.DataFrame(rng.normal(size=(60, 3)), columns=["age", "height", "weight"])
    >>> after = before + [0.0, 0.0, 1.5]
    >>> result = compare(before, after, n_permutations=99)
    >>> result.pvalue, result.selected
    (0.01, ['weight'])
    """
    if isinstance(n_permutations, bool) or not isinstance(n_permutations, int) or n_permutations < 0:
        raise ValueError(f"n_permutations must be a whole number, 0 or more, got {n_permutations!r}")
    clock = _Clock(time_budget)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        prepared = prepare(
            X,
            Y,
            groups=groups,
            features=features,
            weights=sample_weight,
            blocks=blocks,
            covariates=covariates,
            missing=missing,  # type: ignore[arg-type]
            strict=strict,
        )
        clock.done("reading")
        seed = int(checks.generator(random_state).integers(2**31))
        comparison = _Comparison(
            prepared,
            scale,
            n_permutations,
            permute,
            n_features,
            certify,
            select,
            clock,
            seed,
            n_jobs,
            progress,
        )
        result = comparison.run()
    notes = list(prepared.notes) + comparison.notes
    for warning in caught:
        text = str(warning.message)
        told = any(note in text or text in note for note in notes)
        if issubclass(warning.category, UserWarning) and not told:
            notes.append(text)
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    asked = {
        "scale": scale,
        "n_features": n_features,
        "n_permutations": n_permutations,
        "permute": permute if prepared.blocks is not None else None,
        "missing": missing,
        "features": None if features is None else list(features),
        "random_state": random_state if isinstance(random_state, int | None) else str(random_state),
        "covariates": list(prepared.covariate_names),
        "time_budget": time_budget,
        "left_out": prepared.left_out,
        "versions": {name: version(name) for name in ("princdiff", "numpy", "scipy", "scikit-learn")},
        "python": platform.python_version(),
        "seconds": clock.seconds,
    }
    return DifferenceResult(**{**result, "notes": notes, "parameters": asked})


class _Clock:
    """Seconds of each step, and what is left of the budget."""

    def __init__(self, budget: float | None) -> None:
        if budget is not None and not budget > 0:
            raise ValueError(f"time_budget must be a positive number of seconds, got {budget!r}")
        self.budget = budget
        self.seconds: dict[str, float] = {}
        self._begin = self._last = time.perf_counter()

    def done(self, step: str) -> None:
        now = time.perf_counter()
        self.seconds[step] = round(now - self._last, 3)
        self._last = now

    @property
    def left(self) -> float:
        """Seconds left; infinite without a budget."""
        return np.inf if self.budget is None else self.budget - (time.perf_counter() - self._begin)


class _Comparison:
    """The steps of a comparison, in the order of their importance."""

    def __init__(
        self,
        prepared: Prepared,
        scale: Scale,
        n_permutations: int,
        permute: str,
        n_features: int | str,
        certify: bool | str,
        select: bool,
        clock: _Clock,
        seed: int,
        n_jobs: int | None,
        progress: bool,
    ) -> None:
        self.data, self.scale, self.permute = prepared, scale, permute
        self.n_permutations, self.n_features, self.certify, self.select = (
            n_permutations,
            n_features,
            certify,
            select,
        )
        self.clock, self.seed, self.n_jobs, self.progress = clock, seed, n_jobs, progress
        self.notes: list[str] = []
        self.y = np.asarray(prepared.groups, dtype=object)[prepared.codes]
        self.size = prepared.rows.shape[0] * prepared.rows.shape[1]

    def run(self) -> dict[str, Any]:
        fit = self._fit()
        test = self._test()
        selected, selection, adjusted = self._select(fit)
        stability = self._stability(fit)
        table = self._table(fit, selected, adjusted, stability)
        self.clock.done("explaining")
        projection = self._projection(fit)
        kind = explain.split_difference(projection[None], self.data.codes, self.data.weights)
        total = float(kind.total[0]) or 1.0
        certificate = fit.certificates_[0]
        return {
            "pvalue": float(test.pop("pvalue")),
            "statistic": float(test.pop("statistic")),
            "divergences": fit.divergences_,
            "upper_bounds": fit.upper_bounds_,
            "effect": explain.effect_size(projection, self.data.codes, self.data.weights),
            "kind": {name: float(part[0]) / total for name, part in kind._asdict().items()},
            "directions": pd.DataFrame(
                fit.components_.T, index=list(self.data.features), columns=["component 1"]
            ),
            "groups": {
                name: int((self.data.codes == code).sum()) for code, name in enumerate(self.data.groups)
            },
            "table": table,
            "test": test,
            "selection": selection,
            "certificate": (
                {"how": self._why_no_bound()}
                if certificate is None
                else {"kind": certificate.kind, "how": certificate.how}
            ),
            "path": _path(fit),
            "reference": self._reference(fit, projection),
            "distributions": self._distributions(table),
            "codings": [vars(coding) for coding in self.data.codings],
        }

    def _fit(self) -> SPARDA:
        fit = SPARDA(
            n_features=self.n_features,
            scale=self.scale,
            certify=self.certify,
            random_state=self.seed,
            n_jobs=self.n_jobs,
        )
        fit.fit(self.data.rows, self.data.codes, sample_weight=self.data.weights)
        self.clock.done("fitting")
        return fit

    def _why_no_bound(self) -> str:
        if len(self.data.groups) > 2:
            return "No bound on the best possible direction exists for more than two groups."
        return "No bound on the best possible direction was computed; ask for it with certify=True."

    # The test.

    def _test(self) -> dict[str, Any]:
        if self.n_permutations == 0:
            return {"name": "none", "pvalue": np.nan, "statistic": np.nan}
        special = self.data.blocks is not None or self.data.covariates is not None
        special = special or self.data.weights is not None or self.scale == "within"
        affordable = self.size * (self.n_permutations + 1) <= AFFORDABLE_PERMUTATIONS
        outcome = self._permutation_test() if affordable or special else self._split_test()
        self.clock.done("testing")
        return outcome

    def _permutation_test(self) -> dict[str, Any]:
        count = self._permutations_in_time()
        test = self._permuted(count)
        return {
            "name": "permutation",
            "pvalue": test.pvalue,
            "statistic": test.statistic,
            "null": test.null,
            "n_permutations": test.n_permutations,
            "exact": test.exact,
            "smallest_attainable_pvalue": test.smallest_attainable_pvalue,
            "levels": [list(level) for level in test.levels],
            "level_pvalues": test.level_pvalues,
            "best_level": list(test.best_level),
        }

    def _permuted(self, count: int) -> Any:
        return permutation_test(
            self.data.rows,
            self.data.codes,
            n_permutations=count,
            scale=self.scale,
            blocks=self.data.blocks,
            permute=self.permute,
            covariates=self.data.covariates,
            sample_weight=self.data.weights,
            random_state=self.seed,
            n_jobs=self.n_jobs,
            progress=self.progress,
        )

    def _permutations_in_time(self) -> int:
        """As many relabellings as asked for, or as half of the time left allows."""
        if not np.isfinite(self.clock.left):
            return self.n_permutations
        begin = time.perf_counter()
        self._permuted(min(_PILOT, self.n_permutations))
        each = (time.perf_counter() - begin) / (_PILOT + 1)
        count = int(np.clip(0.5 * self.clock.left / each, _PILOT, self.n_permutations))
        if count < self.n_permutations:
            self.notes.append(
                f"time budget: {count} instead of {self.n_permutations} permutations were made "
                "(this depends on the machine)"
            )
        return count

    def _split_test(self) -> dict[str, Any]:
        self.notes.append(
            "the table is too large to refit every permutation; a split test was used, which is valid too "
            "but has less power"
        )
        test = split_test(
            self.data.rows,
            self.data.codes,
            n_permutations=self.n_permutations,
            n_features=self.n_features,
            scale=self.scale,
            effort="fast",
            random_state=self.seed,
            n_jobs=self.n_jobs,
        )
        return {
            "name": "split",
            "pvalue": test.pvalue,
            "statistic": float(np.median(test.statistics)),
            "pvalues": test.pvalues,
            "rule": test.rule,
            "n_permutations": self.n_permutations,
        }

    # Features.

    def _select(self, fit: SPARDA) -> tuple[NDArray[np.bool_], dict[str, Any], NDArray[np.float64]]:
        """Features that take part, with error control where that is possible and affordable."""
        unknown = np.full(len(fit.support_), np.nan)
        reason = self._no_selection()
        if reason is None:
            found = select_features(
                self.data.rows,
                self.data.codes,
                random_state=self.seed,
                n_jobs=self.n_jobs,
                progress=self.progress,
                n_permutations=99,
            )
            self.clock.done("selecting")
            selection = {
                "goal": "all",
                "control": found.control,
                "complement_pvalue": found.complement_pvalue,
            }
            return found.selected, selection, found.table["pvalue"].to_numpy(float)
        if self.select:
            self.notes.append(f"features selected are those with a weight, without error control: {reason}")
        control = "the features with a weight, without control of the error"
        return fit.support_, {"goal": "support", "control": control}, unknown

    def _no_selection(self) -> str | None:
        if not self.select:
            return "not asked for"
        if self.data.blocks is not None or self.data.covariates is not None or self.data.weights is not None:
            return "blocks, covariates or weights were given"
        if self.scale == "within":
            return "features were standardised within the groups"
        if self.size > AFFORDABLE_SELECTION:
            return f"the table is large ({self.data.rows.shape[0]} x {self.data.rows.shape[1]})"
        if self.clock.left < 0:
            return "the time budget was used up (this depends on the machine)"
        return None

    def _stability(self, fit: SPARDA) -> NDArray[np.float64]:
        unknown = np.full(len(fit.support_), np.nan)
        smallest = np.bincount(self.data.codes).min()
        if self.size > AFFORDABLE_SELECTION or self.clock.left < 0 or smallest < 4:
            return unknown
        level = max(1, int(fit.support_.sum()))
        found = stability_selection(
            self.data.rows,
            self.data.codes,
            n_features=level,
            n_pairs=25,
            scale=self.scale,
            random_state=self.seed,
            n_jobs=self.n_jobs,
        )
        self.clock.done("stability")
        return found.frequencies

    def _table(
        self,
        fit: SPARDA,
        selected: NDArray[np.bool_],
        adjusted: NDArray[np.float64],
        stability: NDArray[np.float64],
    ) -> pd.DataFrame:
        alone = self._single_features()
        head = pd.DataFrame(
            {
                "feature": list(self.data.features),
                "column": list(self.data.origin),
                "weight": fit.components_[0],
                "share": fit.shares_[0],
                "selected": selected,
                "pvalue": adjusted,
                "stability": stability,
            }
        )
        table = pd.concat([head, alone.drop(columns="feature")], axis=1)
        order = np.lexsort((-table["divergence"], ~table["selected"], -table["share"]))
        return table.iloc[order].reset_index(drop=True)

    def _single_features(self) -> pd.DataFrame:
        """Each feature by itself; divergences are of the scaled feature, means as measured."""
        rows = self.data.rows
        names, groups = self.data.features, self.data.groups
        if sp.issparse(rows):
            rows = rows.tocsc()
        step = max(1, 20_000_000 // rows.shape[0])
        blocks = []
        for start in range(0, rows.shape[1], step):
            block = rows[:, start : start + step]
            block = block.toarray() if sp.issparse(block) else np.asarray(block)
            blocks.append(
                explain.feature_table(
                    np.ascontiguousarray(block.T, dtype=np.float64),
                    names[start : start + step],
                    self.data.codes,
                    groups,
                    self.data.weights,
                )
            )
        table = pd.concat(blocks, ignore_index=True)
        if self.scale == "pooled":
            deviation = Samples(self.data.rows, "pooled", weights=self.data.weights).deviation
            square = np.where(deviation > 0, deviation, np.inf) ** 2
            for name in ("divergence", "location", "scale", "shape"):
                table[name] = table[name].to_numpy() / square
        return table

    # What is kept for pictures and for new rows.

    def _projection(self, fit: SPARDA) -> NDArray[np.float64]:
        labels = self.data.codes if self.scale == "within" else None
        return np.asarray(fit.transform(self.data.rows, labels), dtype=np.float64)[:, 0]

    def _reference(self, fit: SPARDA, projection: NDArray[np.float64]) -> dict[str, Any]:
        component = {}
        for code, name in enumerate(self.data.groups):
            own = projection[self.data.codes == code]
            component[name] = {
                "quantiles": np.quantile(own, _REFERENCE_LEVELS),
                "sd": float(own.std()),
                "rows": len(own),
            }
        factors = np.ones(len(fit.support_))
        if self.scale == "pooled":
            factors = np.divide(1.0, fit.scale_, out=np.zeros_like(fit.scale_), where=fit.scale_ > 0)
        return {"levels": _REFERENCE_LEVELS, "factors": factors, "components": [component]}

    def _distributions(self, table: pd.DataFrame) -> dict[str, Any]:
        """Histograms of the leading features, by share and then by their own divergence."""
        place = {name: position for position, name in enumerate(self.data.features)}
        result = {}
        for name in table["feature"].head(_MOST_DISTRIBUTIONS):
            column = self.data.rows[:, [place[name]]]
            values = (
                (column.toarray() if sp.issparse(column) else np.asarray(column)).ravel().astype(np.float64)
            )
            result[name] = _histogram(values, self.data.codes, self.data.groups)
        return result


def _histogram(values: NDArray[np.float64], codes: NDArray[np.uint8], groups: ArrayLike) -> dict[str, Any]:
    """Shares of each group in common bins; a long tail is gathered in the outermost ones."""
    low, high = np.quantile(values, [0.005, 0.995])
    if low == high:
        low, high = float(values.min()), float(values.max())
    if low == high:
        low, high = low - 0.5, high + 0.5
    edges = np.linspace(low, high, _BINS + 1)
    inside = np.clip(values, low, high)
    shares = {}
    for code, name in enumerate(np.asarray(groups)):
        counts = np.histogram(inside[codes == code], edges)[0]
        shares[str(name)] = counts / max(1, counts.sum())
    return {"edges": edges, "shares": shares}


def _path(fit: SPARDA) -> dict[str, Any]:
    if not hasattr(fit, "path_"):
        return {}
    path = fit.path_
    return {
        "grid": path.grid,
        "fitted": path.fitted.mean(axis=0),
        "held_out": path.held_out.mean(axis=0),
        "chosen": float(path.chosen),
    }
