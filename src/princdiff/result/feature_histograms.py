"""Histograms of the features that a result draws."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from princdiff.result.feature_tables import observed
from princdiff.result.parts import Distribution
from princdiff.tables import Prepared

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
