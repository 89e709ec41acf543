"""Batches over time against a reference: when did it begin to differ, and in what.

Each batch is compared with the reference by `princdiff.compare`; the p-values are adjusted for the number of
batches (Holm), whatever their dependence through the common reference. What batches of the reference differ
among themselves is the band that the effects are read against.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Unpack, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from princdiff.batches.batch_rows import BatchPlan, Period, plan_in_time, plan_of_list
from princdiff.batches.batches_result import LEVEL, BatchesResult, about_skipped
from princdiff.batches.over_time import columns_over_time, short_batches
from princdiff.caught_warnings import caught_warnings, warn_again
from princdiff.comparison import compare
from princdiff.data import parameters
from princdiff.data.parameters import Choice, Either, Flag, Number, Text
from princdiff.data.run import Run
from princdiff.labellings.pvalues import adjusted_pvalues
from princdiff.options import Config, PassedOn, folded, option, settled
from princdiff.profiles import Profile, load_profile
from princdiff.profiles.given_profiles import is_profiled, profiled_like
from princdiff.result import DifferenceResult
from princdiff.tables.frames import Table, plural
from princdiff.tables.readers import read

# Parts of the reference that are compared with the rest of it, where it has no batches of its own.
_PARTS = 5
_FEWEST_ROWS = 2
_NAMED = 3


def compare_batches(
    batches: Any,
    *,
    reference: Any = None,
    time: str | None = None,
    every: Period = "month",
    band: bool = True,
    alpha: float = LEVEL,
    min_effect: float | Literal["auto"] | None = None,
    **options: Unpack[PassedOn],
) -> BatchesResult:
    """Compare batches of rows with a reference, one after the other.

    Parameters
    ----------
    batches : table, or list or dict of tables
        One table with a column of dates (`time`), or the batches in their order: paths, data frames or
        arrays; a dict gives them names.
    reference : table, str, int or list of str, optional
        What they are compared with. For a list of batches: a table, default the first batch. For one table
        with dates: a table, the name of a period ("2024-01") or a list of them, or how many of the first
        periods; default 1.
    time : str, optional
        Column of dates that assigns each row to a batch. It is not compared.
    every : {"hour", "day", "week", "month", "quarter", "year"}, default="month"
        Length of a batch.
    band : bool, default=True
        Whether parts of the reference are compared with the rest of it, to see what effect is usual.
    alpha : float, default=0.05
        Level at which a batch differs, over all batches together.
    min_effect : float or "auto", optional
        Effect, in standard deviations, that a batch needs as well to differ; "auto": that of the part of the
        reference that differs most from the rest of it. By default any.
    **options
        Passed to `compare`: features, missing, n_permutations, config ... A time budget is shared out among
        the comparisons.

    Returns
    -------
    BatchesResult

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from princdiff import compare_batches
    >>> rng = np.random.default_rng(0)
    >>> days = pd.date_range("2024-01-01", periods=600, freq="12h")
    >>> table = pd.DataFrame({"day": days, "size": rng.normal(size=600), "age": rng.normal(size=600)})
    >>> table.loc[table["day"] >= "2024-08-01", "age"] += 1
    >>> found = compare_batches(table, time="day", every="month", reference=4, n_permutations=199)
    >>> found.began, found.to_frame(by="column")["column"].tolist()
    ('2024-08', ['age'])
    """
    parameters.check(
        {"time": time, "every": every, "band": band, "alpha": alpha, "min_effect": min_effect},
        time=Either(Text(), None),
        every=Choice(*get_args(Period)),
        band=Flag(),
        min_effect=Either(Number(0, closed="low"), "auto", None),
    )
    if min_effect == "auto" and not band:
        raise ValueError("min_effect='auto' is read off the parts of the reference, and needs band=True")
    for name in ("groups", "Y"):
        if name in options:
            raise ValueError(f"compare_batches: the batches are the groups; {name}= cannot be given")
    settled("compare_batches", options)
    passed_on = folded(options)
    if time is None:
        plan = plan_of_list(batches, reference)
    else:
        plan = plan_in_time(batches, reference, time, every)
    with caught_warnings() as caught:
        found = _compared(plan, band, alpha, min_effect, passed_on)
    # What is so in every batch is said once.
    warn_again({str(one.message): one for one in caught}.values())
    return found


def _compared(
    plan: BatchPlan, band: bool, alpha: float, min_effect: float | str | None, options: dict[str, Any]
) -> BatchesResult:
    config = options.get("config") or Config()
    profiled = isinstance(plan.reference, Profile)
    reference: Any = plan.reference if isinstance(plan.reference, Profile) else plan.reference.frame()
    n_reference = plan.reference.n_rows
    # Of a profile no rows are left that could be compared with the rest of it.
    band = band and not profiled
    parts = plan.parts or (_random_parts(n_reference) if band else [])
    if config.time_budget is not None:
        each = config.time_budget / (len(plan.batches) + (len(parts) if band else 0))
        config = replace(config, time_budget=each)
    options = {**options, "config": config}
    _refuse_few_rows(f"the reference {plan.name!r}", n_reference, config)
    results: dict[str, DifferenceResult] = {}
    rows: dict[str, int] = {}
    skipped: dict[str, str] = {}
    for name, table in plan.batches.items():
        batch = _batch(table, name, plan.reference, options)
        rows[name] = batch.n_rows
        _refuse_few_rows(f"batch {name!r}", batch.n_rows, config)
        if batch.n_rows < _FEWEST_ROWS:
            skipped[name] = "only one row"
            continue
        try:
            rows_of_batch = batch if isinstance(batch, Profile) else batch.frame()
            results[name] = compare(reference, rows_of_batch, **options)
        except ValueError as error:
            raise ValueError(f"batch {name!r}: {error}") from error
    if not results:
        raise ValueError("no batch has enough rows to be compared")
    notes = list(plan.notes)
    if skipped:
        notes.append(about_skipped(skipped))
    notes += _common_notes(results)
    usual = _usual_effects(reference, parts, options) if band else (math.nan, math.nan)
    if min_effect == "auto" and profiled:
        raise ValueError("min_effect='auto' is read off the parts of the reference, and a profile has none")
    least = usual[1] if min_effect == "auto" else None if min_effect is None else float(min_effect)
    if least is not None and math.isnan(least):
        least = None
        notes.append("The reference has too few rows to say which effect is usual; none is asked of a batch.")
    frame = _frame(results, rows, alpha, least)
    usual_rows = [len(part) for part in plan.parts] or [n_reference]
    cut = [plan.cut.get(name, "") for name in results]
    frame["short"] = short_batches(frame["rows"].tolist(), usual_rows, cut)
    history = columns_over_time(results, frame["columns"].tolist(), frame["short"].tolist())
    smallest = max(result.test.smallest_attainable_pvalue for result in results.values())
    if smallest * len(results) > alpha:
        notes.append(
            f"No p-value below {smallest:.2g} is possible, so that one of {len(results)} batches alone "
            f"cannot be shown to differ at {alpha:g} over all of them; use a larger "
            f"{option('n_permutations')}."
        )
    return BatchesResult(frame, results, plan.name, n_reference, usual, alpha, skipped, notes, least, history)


def _batch(table: Any, name: str, reference: Table | Profile, options: Mapping[str, Any]) -> Table | Profile:
    """The rows of a batch; a profile of them where one of the two is a profile."""
    if isinstance(reference, Profile):
        return profiled_like(reference, table, Run.from_options(options.get("random_state", 0)))
    if is_profiled(table):
        return table if isinstance(table, Profile) else load_profile(table)
    return read(table, name)


def _refuse_few_rows(name: str, count: int, config: Config) -> None:
    """Said here with the name of the batch, which `compare` does not know."""
    least = config.min_rows
    if least is not None and count < least:
        raise ValueError(f"{name} has {plural(count, 'row')}, fewer than {option('min_rows', least)}")


def _frame(
    results: Mapping[str, DifferenceResult], rows: Mapping[str, int], alpha: float, least: float | None
) -> pd.DataFrame:
    adjusted = adjusted_pvalues([result.pvalue for result in results.values()])
    records = []
    for (name, result), pvalue in zip(results.items(), adjusted, strict=True):
        # The one place that says so: texts, charts, files and exit codes all read it here.
        differs = bool(pvalue <= alpha and (least is None or result.effect >= least))
        named = _named_columns(result, alpha / len(results)) if differs else []
        records.append(
            {
                "batch": name,
                "rows": rows[name],
                "effect": result.effect,
                "low": result.effect_interval[0],
                "high": result.effect_interval[1],
                "pvalue": result.pvalue,
                "adjusted": pvalue,
                "differs": differs,
                "columns": named,
                "changes": "; ".join(f"{one} ({result.change_of(one)[0].text})" for one in named[:_NAMED]),
            }
        )
    return pd.DataFrame(records)


def _named_columns(result: DifferenceResult, level: float) -> list[str]:
    """Columns that differ, at a level that leaves room for the other batches."""
    columns = result.columns
    # A product of a p-value and a count of batches may miss the level by rounding.
    return columns.loc[columns["selected"] & (columns["pvalue"] <= level * (1 + 1e-12)), "column"].tolist()


def _random_parts(n_rows: int) -> list[NDArray[np.intp]]:
    count = min(_PARTS, n_rows // _FEWEST_ROWS)
    if count < 2:
        return []
    return [np.sort(part) for part in np.array_split(np.random.default_rng(0).permutation(n_rows), count)]


def _usual_effects(
    reference: pd.DataFrame, parts: Sequence[NDArray[np.intp]], options: Mapping[str, Any]
) -> tuple[float, float]:
    """Effects of parts of the reference against the rest of it, without a test."""
    config = replace(options["config"], progress=False, min_rows=None)
    untested = {**options, "n_permutations": 0, "config": config}
    effects = []
    for part in parts:
        inside = np.zeros(len(reference), dtype=bool)
        inside[part] = True
        if inside.sum() < _FEWEST_ROWS or (~inside).sum() < _FEWEST_ROWS:
            continue
        effects.append(compare(reference[~inside], reference[inside], **untested).effect)
    return (min(effects), max(effects)) if effects else (math.nan, math.nan)


def _common_notes(results: Mapping[str, DifferenceResult]) -> list[str]:
    """Notes that all comparisons share; what concerns one batch stays in its result."""
    every: list[set[str]] = [set(result.notes) for result in results.values()]
    first = next(iter(results.values())).notes
    return [note for note in first if all(note in notes for notes in every)]
