"""Slow, independent definitions of the divergences, one pair of weighted samples at a time."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import ot
from scipy import stats

from princdiff.data.labels import HELD_OUT

REACH, MARGIN, EVEN_SHARE, BEND = 6.0, 4.0, 1e-3, 1e-3
N_POINTS = 6001


def between_groups(name, values, codes, weights=None, bandwidth=None, **options):
    """Average over pairs of groups, weighted by the product of their proportions; held-out rows ignored."""
    values, codes = np.asarray(values, dtype=np.float64), np.asarray(codes)
    inside = codes != HELD_OUT
    mass = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=np.float64)
    if name in PAIRS_OF_DENSITIES or name == "margin":
        centred = values - np.average(values[inside], weights=mass[inside])
        spread = np.sqrt(np.average(centred[inside] ** 2, weights=mass[inside]))
        if name == "margin":
            options["spread"] = spread
        else:
            values = centred / spread
            smallest = min(np.bincount(codes[inside]))
            options["bandwidth"] = bandwidth or rule(name, smallest, weights)
    if name == "standardised_mean":
        options["within"] = _within(values[inside], codes[inside], mass[inside])
    pair = PAIRS.get(name) or (lambda *sample, **more: density_pair(name, *sample, **more))
    total = norm = 0.0
    for g, h in combinations(np.unique(codes[inside]), 2):
        first, second = codes == g, codes == h
        product = mass[first].sum() * mass[second].sum()
        total += product * pair(values[first], values[second], mass[first], mass[second], **options)
        norm += product
    return total / norm


def rule(name, smallest, weights=None):
    """Bandwidth in standard deviations."""
    if weights is not None:
        smallest = max(1.0, smallest * np.sum(weights) ** 2 / np.sum(np.square(weights)) / len(weights))
    return smallest ** (-1 / 3 if name in ("kolmogorov_smirnov", "cramer_von_mises") else -1 / 5)


def wasserstein(x, y, a, b, p=1.0):
    return float(ot.wasserstein_1d(x, y, a / a.sum(), b / b.sum(), p=p))


def energy(x, y, a, b):
    return stats.energy_distance(x, y, a, b) ** 2


def mean(x, y, a, b):
    return (np.average(x, weights=a) - np.average(y, weights=b)) ** 2


def _within(values, codes, mass):
    variances = []
    for g in np.unique(codes):
        own = codes == g
        centre = np.average(values[own], weights=mass[own])
        variances.append(mass[own] @ (values[own] - centre) ** 2)
    return sum(variances) / mass.sum()


def standardised_mean(x, y, a, b, within):
    return mean(x, y, a, b) / within


def gap(x, y, a, b, fraction=0.0):
    """Largest of the two gaps between averages over the tails."""

    def tail(values, mass, sign):
        order = np.argsort(sign * values)
        values, mass = values[order], mass[order] / mass.sum()
        if fraction == 0:
            return values[mass > 0][0]
        left, total = fraction, 0.0
        for value, share in zip(values, mass, strict=True):
            total += value * min(share, left)
            left -= min(share, left)
        return total / fraction

    return max(tail(x, a, 1) - tail(y, b, -1), tail(y, b, 1) - tail(x, a, -1))


def margin(x, y, a, b, spread, fraction=0.0):
    found = gap(x, y, a, b, fraction)
    return 0.5 * (found + np.sqrt(found**2 + (2 * BEND * spread) ** 2))


PAIRS = {
    "wasserstein1": wasserstein,
    "wasserstein2": lambda *sample: wasserstein(*sample, p=2.0),
    "wasserstein1.5": lambda *sample: wasserstein(*sample, p=1.5),
    "wasserstein3": lambda *sample: wasserstein(*sample, p=3.0),
    "energy": energy,
    "mean": mean,
    "standardised_mean": standardised_mean,
    "margin": margin,
}

PAIRS_OF_DENSITIES = {
    "kullback_leibler",
    "reverse_kullback_leibler",
    "jensen_shannon",
    "hellinger",
    "total_variation",
    "kolmogorov_smirnov",
    "cramer_von_mises",
}


def density_pair(name, x, y, a, b, bandwidth):
    """Divergences of Gaussian kernel estimates, by sums over all rows and the trapezoidal rule."""
    edge = REACH + MARGIN * bandwidth
    points = np.linspace(-edge, edge, N_POINTS)

    def kernel(function, sample, mass):
        sample = np.clip(sample, -REACH, REACH)
        return function((points[:, None] - sample) / bandwidth) @ (mass / mass.sum())

    p, q = (kernel(stats.norm.pdf, *sample) / bandwidth for sample in ((x, a), (y, b)))
    difference = kernel(stats.norm.cdf, x, a) - kernel(stats.norm.cdf, y, b)

    def integral(values):
        return float(np.trapezoid(values, points))

    if name == "reverse_kullback_leibler":
        p, q, name = q, p, "kullback_leibler"
    if name == "kullback_leibler":
        p, q = ((1 - EVEN_SHARE) * f + EVEN_SHARE / (2 * edge) for f in (p, q))
        return integral(p * np.log(p / q))
    if name == "jensen_shannon":
        tiny = np.finfo(float).tiny
        middle = (p + q) / 2 + tiny
        return 0.5 * integral(p * np.log((p + tiny) / middle) + q * np.log((q + tiny) / middle))
    if name == "hellinger":
        return 1.0 - integral(np.sqrt(p * q))
    if name == "total_variation":
        return 0.5 * integral(np.abs(p - q))
    if name == "kolmogorov_smirnov":
        return float(np.abs(difference).max())
    share = a.sum() / (a.sum() + b.sum())
    return integral(difference**2 * (share * p + (1 - share) * q))
