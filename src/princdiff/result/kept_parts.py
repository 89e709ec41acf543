"""What a result keeps of a fit, a test and a selection, in its own parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import scipy.sparse as sp

from princdiff.data.problem import Problem
from princdiff.divergences import Divergence, Wasserstein2
from princdiff.options import option
from princdiff.result.feature_tables import observed
from princdiff.result.parts import CertificatePart, Distribution, PathPart, TestPart
from princdiff.result.shown import leading_cell, leading_sentence
from princdiff.statistics.directions import SparseDirections
from princdiff.statistics.permutation_result import PermutationResult
from princdiff.statistics.planning import detectable_effect
from princdiff.tables import Prepared


def kept_test(found: PermutationResult | None, problem: Problem, asked: int) -> tuple[float, float, TestPart]:
    """P-value, statistic and what the result keeps of the test, of which so many permutations were asked."""
    if found is None:
        return float("nan"), float("nan"), TestPart(asked=asked)
    low, high = (np.nan, np.nan) if found.monte_carlo is None else found.monte_carlo
    lead = leading_cell(found)
    part = TestPart(
        name="permutation",
        null=found.null,
        n_permutations=found.n_permutations,
        asked=asked,
        exact=found.exact,
        smallest_attainable_pvalue=found.smallest_attainable_pvalue,
        monte_carlo_error=(high - low) / 2,
        cells=[cell.words for cell in found.cells],
        cell_pvalues=found.level_pvalues,
        leading=leading_sentence(found, problem),
        leading_cell=found.leading if lead is None else lead.words,
        detectable=_detectable(problem),
    )
    return float(found.pvalue), float(found.statistic), part


def _detectable(problem: Problem) -> float:
    """The shift of one feature that such a test usually finds; NaN where rows are not simply rows."""
    plain = problem.blocks is None and problem.covariates is None and problem.weights is None
    if not plain or problem.n_groups != 2:
        return float("nan")
    return detectable_effect(problem.sizes.tolist(), problem.n_features)


def kept_certificate(fit: SparseDirections, divergence: Divergence) -> CertificatePart:
    """The bound on the first direction, or why there is none."""
    found = fit.certificates_[0]
    if found is not None:
        return CertificatePart(found.kind, found.how, found.n_features)
    if not isinstance(divergence, Wasserstein2):
        why = "A bound on the best possible direction exists for the squared Wasserstein distance only."
    else:
        why = f"No bound worth telling was found in short time; {option('certify', True)} takes longer."
    return CertificatePart("", why)


def kept_path(fit: SparseDirections) -> PathPart:
    """How the number of features was chosen; empty where it was given."""
    if not hasattr(fit, "path_"):
        return PathPart()
    path = fit.path_
    return PathPart(
        np.asarray(path.grid, dtype=float),
        path.fitted.mean(axis=0),
        path.held_out.mean(axis=0),
        float(path.chosen),
    )


def kept_relations(pairs: pd.DataFrame, prepared: Prepared) -> pd.DataFrame:
    """Pairs with the columns of the user's table that they belong to."""
    origin = dict(zip(prepared.features, prepared.origin, strict=True))
    shown = pairs.rename(columns={"pvalue_adj": "pvalue"})
    shown.insert(2, "first column", [origin[name] for name in shown["first"]])
    shown.insert(3, "second column", [origin[name] for name in shown["second"]])
    return shown.reset_index(drop=True)


def no_relations(groups: Sequence[str]) -> pd.DataFrame:
    """The table of pairs where none were looked at."""
    names = ["first", "second", "first column", "second column"]
    numbers = [*(f"dependence {group}" for group in groups), "change", "pvalue"]
    empty = pd.DataFrame({name: pd.Series(dtype=object) for name in names})
    return empty.assign(**{name: pd.Series(dtype=float) for name in numbers}, selected=pd.Series(dtype=bool))


# Histograms of the features that a result draws.


_BINS = 24
_FEW_VALUES = 12
_WHOLE_NUMBERS = 0.9


def distributions(prepared: Prepared, leading: list[str]) -> dict[str, Distribution]:
    """Histograms of some features."""
    place = {name: position for position, name in enumerate(prepared.features)}
    if sp.issparse(prepared.rows):
        prepared = replace(prepared, rows=prepared.rows.tocsc())
    return {name: _histogram(prepared, place[name]) for name in leading}


def _histogram(prepared: Prepared, place: int) -> Distribution:
    """Shares of each group in common bins; a long tail is gathered in the outermost ones."""
    values, codes, weights, _ = observed(prepared, place)
    if len(values) == 0:
        return Distribution(np.array([-0.5, 0.5]), {name: np.zeros(1) for name in prepared.groups}, values)
    distinct = np.unique(values)
    few = np.empty(0)
    if len(distinct) <= _FEW_VALUES and len(distinct) > 1:
        # One bin per value: a change of a rare value must be seen.
        few = distinct
        middles = (distinct[1:] + distinct[:-1]) / 2
        edges = np.concatenate([[2 * distinct[0] - middles[0]], middles, [2 * distinct[-1] - middles[-1]]])
    else:
        low, high = np.quantile(values, [0.005, 0.995])
        if low == high:
            low, high = float(values.min()), float(values.max())
        if low == high:
            low, high = low - 0.5, high + 0.5
        edges = np.linspace(low, high, _BINS + 1)
        if np.mean(values == np.round(values)) > _WHOLE_NUMBERS and high - low >= 1:
            # Bins narrower than the steps between whole numbers would be empty, and look like gaps.
            step = np.ceil((high - low + 1) / _BINS)
            edges = np.arange(np.ceil(low) - 0.5, np.floor(high) + 0.5 + step, step)
    inside = np.clip(values, edges[0], edges[-1])
    shares = {}
    for code, name in enumerate(prepared.groups):
        members = codes == code
        inner = None if weights is None else weights[members]
        counts = np.histogram(inside[members], edges, weights=inner)[0].astype(np.float64)
        shares[name] = counts / max(counts.sum(), np.finfo(float).tiny)
    return Distribution(edges, shares, few)
