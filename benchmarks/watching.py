"""Streams of batches: how often a watch is ever wrong, and how soon it sees a change.

Batches of 300 rows with seven columns (normal, skewed, counts, a category, a flag, two that go together) are
watched against 3000 rows. Nothing changes, or from batch 50 on: a column moves by .3 standard deviations, a
new level has 1 % of the rows, or two columns no longer go together; or a column drifts by .005 standard
deviations a batch from the first one on. Beside `Watch`: a test per column in every batch (Kolmogorov-Smirnov
or chi-squared) with Holm's correction over columns, river's ADWIN on every column of numbers, evidently's
default, and as a yardstick the same tests made once, at the best moment, on all batches since the change:
the number of batches after which that single look would have seen it in half of the streams.

    python -m benchmarks.watching [--clean 1000] [--changes shift drift] [--methods princdiff Holm]
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

import princdiff
from benchmarks import sections

ROWS, REFERENCE, LENGTH, BEGIN, LEVEL = 300, 3000, 200, 50, 0.05
CHANGES = ("shift", "level", "correlation", "drift")
SHIFT, SHARE, DRIFT = 0.3, 0.01, 0.005
# After so many batches without an alarm a change counts as not seen.
PATIENCE = 150

Stream = Iterator[pd.DataFrame]


def rows_of(rng: np.random.Generator, n: int, change: str = "none", number: int = 0) -> pd.DataFrame:
    """Rows of one batch; ``number`` counts from 1, and 0 is the reference."""
    changed = number >= BEGIN
    follower = rng.normal(size=n)
    leader = follower if not (changed and change == "correlation") else rng.normal(size=n)
    level = rng.choice(["basic", "plus", "pro"], n, p=[0.7, 0.25, 0.05]).astype(object)
    if changed and change == "level":
        level[rng.random(n) < SHARE] = "trial"
    moved = {"shift": SHIFT * changed, "drift": DRIFT * number}.get(change, 0.0)
    return pd.DataFrame(
        {
            "size": rng.normal(size=n) + moved,
            "price": np.exp(rng.normal(size=n)),
            "visits": rng.poisson(2, n),
            "plan": level,
            "returned": rng.random(n) < 0.05,
            "width": follower,
            "height": 0.7 * leader + 0.7 * rng.normal(size=n),
        }
    )


def stream(seed: int, change: str) -> tuple[pd.DataFrame, Stream]:
    """The reference, and batches without end."""
    rng = np.random.default_rng([41, seed, CHANGES.index(change) if change in CHANGES else 9])

    def batches() -> Stream:
        number = 0
        while True:
            number += 1
            yield rows_of(rng, ROWS, change, number)

    return rows_of(rng, REFERENCE), batches()


def princdiff_alarms(reference: pd.DataFrame, seed: int) -> Callable[[pd.DataFrame], bool]:
    """Whether the watch said for the first time that a batch differs."""
    watch = princdiff.Watch.begin(reference, random_state=seed)
    return lambda batch: bool(watch.add(batch).frame["differs"].iloc[-1])


def column_pvalues(reference: pd.DataFrame, batch: pd.DataFrame) -> list[float]:
    """A p-value for every column, from the tests that most people would take."""
    found = []
    for name in reference:
        a, b = reference[name], batch[name]
        if a.dtype.kind == "f":
            found.append(stats.ks_2samp(a, b).pvalue)
        else:
            counts = pd.crosstab(np.repeat([0, 1], [len(a), len(b)]), np.concatenate([a, b]))
            found.append(stats.chi2_contingency(counts).pvalue if counts.shape[1] > 1 else 1.0)
    return found


def holm_alarms(reference: pd.DataFrame, seed: int) -> Callable[[pd.DataFrame], bool]:
    """Whether a column differs in this batch, by Holm's correction over its columns."""
    return lambda batch: min(column_pvalues(reference, batch)) * reference.shape[1] <= LEVEL


def adwin_alarms(reference: pd.DataFrame, seed: int) -> Callable[[pd.DataFrame], bool]:
    """Whether ADWIN, fed row by row, saw a change in any column of numbers or flags."""
    from river.drift import ADWIN

    numeric = [name for name in reference if reference[name].dtype.kind in "fiub"]
    detectors = {name: ADWIN(delta=0.002) for name in numeric}

    def alarm(batch: pd.DataFrame) -> bool:
        seen = False
        for name, detector in detectors.items():
            for value in batch[name].to_numpy(float):
                detector.update(value)
                seen |= detector.drift_detected
        return seen

    alarm(reference)
    return alarm


def evidently_alarms(reference: pd.DataFrame, seed: int) -> Callable[[pd.DataFrame], bool]:
    """Whether evidently's preset, as it comes, finds that any column drifted."""
    from evidently import Report
    from evidently.presets import DataDriftPreset

    def alarm(batch: pd.DataFrame) -> bool:
        metrics: list[dict[str, Any]] = Report([DataDriftPreset()]).run(batch, reference).dict()["metrics"]
        counts = [one["value"]["count"] for one in metrics if "DriftedColumnsCount" in str(one)]
        return bool(counts and counts[0] > 0)

    return alarm


METHODS = {
    "princdiff": princdiff_alarms,
    "Holm in every batch": holm_alarms,
    "ADWIN": adwin_alarms,
    "evidently": evidently_alarms,
}


def watched(method: str, seed: int, change: str, length: int) -> tuple[bool, float, float]:
    """Whether there was an alarm before the change, batches from it to the next alarm, seconds a batch."""
    reference, batches = stream(seed, change)
    alarm = METHODS[method](reference, seed)
    begin = {"none": length + 1, "drift": 1}.get(change, BEGIN)
    early, spent = False, time.process_time()
    for number in range(1, length + 1):
        if alarm(next(batches)):
            if number >= begin:
                return early, number - begin + 1, (time.process_time() - spent) / number
            early = True
            if change == "none":
                break
    return early, np.inf, (time.process_time() - spent) / number


def single_look(change: str, seeds: Sequence[int]) -> int:
    """Batches since the change after which one look at all of them sees it in half of the streams."""
    seen = np.zeros(PATIENCE, dtype=int)
    for seed in seeds:
        reference, batches = stream(seed, change)
        skipped = 0 if change == "drift" else BEGIN - 1
        for _ in range(skipped):
            next(batches)
        together: list[pd.DataFrame] = []
        for look in range(PATIENCE):
            together.append(next(batches))
            seen[look] += _one_test(reference, pd.concat(together, ignore_index=True), change)
            if look > 20 and seen[look] * 2 > len(seeds):
                break
    enough = np.flatnonzero(2 * seen >= len(seeds))
    return int(enough[0]) + 1 if len(enough) else PATIENCE


def _one_test(reference: pd.DataFrame, rows: pd.DataFrame, change: str) -> bool:
    """Whether tests of columns, and of the correlation where it changed, find it with Holm's correction."""
    pvalues = column_pvalues(reference, rows)
    if change == "correlation":
        gap = [np.arctanh(np.corrcoef(part["width"], part["height"])[0, 1]) for part in (reference, rows)]
        spread = np.sqrt(1 / (len(reference) - 3) + 1 / (len(rows) - 3))
        pvalues.append(2 * stats.norm.sf(abs(gap[0] - gap[1]) / spread))
    return min(pvalues) * len(pvalues) <= LEVEL


def main(argv: Sequence[str] | None = None) -> None:
    def add(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--clean", type=int, default=1000, help="streams in which nothing changes")
        parser.add_argument("--changes", nargs="*", choices=CHANGES, default=list(CHANGES))
        parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))

    options = sections.parse(__doc__, argv, seeds=20, quick_seeds=2, add=add)
    section = sections.Section("watching", "Streams of batches (river, evidently)", options)
    clean = 2 if options.quick else options.clean
    section.say(
        f"Any false alarm in streams of {LENGTH} batches in which nothing changed, with the 95 % interval; "
        "then the median number of batches from a change to the next alarm over "
        f"{len(options.seeds)} streams (a quarter of them for evidently), and the milliseconds of processor "
        "time a batch. Methods with false alarms in nearly every stream are soon right about a change, too."
    )
    looks = {change: single_look(change, options.seeds) for change in options.changes}
    rows: list[list[Any]] = [["one look at the best moment", "", *looks.values(), ""]]
    for method in options.methods:
        row = _row(method, options, clean)
        if row is not None:
            rows.append(row)
    section.table(["method", "any false alarm", *options.changes, "ms a batch"], rows)
    section.write()


def _row(method: str, options: argparse.Namespace, clean: int) -> list[Any] | None:
    """A row of the table; None where the library is not installed."""
    # Its report takes a second a batch.
    seeds = options.seeds[: max(1, len(options.seeds) // 4)] if method == "evidently" else options.seeds
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            watched(method, 0, "none", 1)
        except ImportError:
            return None
        streams = clean if method == "princdiff" else len(seeds)
        clear = [watched(method, seed, "none", LENGTH) for seed in range(streams)]
        alarms = sum(early for early, _, _ in clear)
        interval = stats.binomtest(alarms, streams).proportion_ci()
        row = [method, f"{alarms} of {streams} ({interval.low:.3f} to {interval.high:.3f})"]
        for change in options.changes:
            found = [watched(method, seed, change, BEGIN + PATIENCE) for seed in seeds]
            middle = np.median([batches for _, batches, _ in found])
            row.append("never" if np.isinf(middle) else f"{middle:.0f}")
        return [*row, f"{1e3 * np.median([spent for _, _, spent in clear]):.0f}"]


if __name__ == "__main__":
    main()
