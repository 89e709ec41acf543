"""What a comparison answers: how sure, and which columns; in full, or without what changes neither."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

from princdiff import compare
from princdiff.comparison import in_canonical_order
from princdiff.comparison_steps import Clock, Comparison, Options
from princdiff.data.problem import Run
from princdiff.selection.explanation import Explanation
from princdiff.tables import prepare


@dataclass(frozen=True)
class Answer:
    """The p-value, the columns named, seconds of processor, and what explains the difference."""

    pvalue: float
    columns: list[str]
    seconds: float
    explanation: Explanation


def full_answer(*tables: Any, **options: Any) -> Answer:
    """The answer of `princdiff.compare`."""
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = compare(*tables, **options)
    seconds = time.process_time() - begin
    return Answer(result.pvalue, result.selected_columns, seconds, result.explanation)


def quick_answer(
    *tables: Any, groups: Any = None, missing: str = "error", n_permutations: int = 999, random_state: int = 0
) -> Answer:
    """The same p-value and names without direction, stability and effect: each step has its own seed."""
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prepared, keys = in_canonical_order(prepare(*tables, groups=groups, missing=missing))  # type: ignore[arg-type]
        run = Run.from_options(random_state, None, False)
        comparison = Comparison(prepared, Options(n_permutations=n_permutations), run, Clock(), keys)
        found = comparison._tested()
        pvalue = float("nan") if found is None else float(found.pvalue)
        chosen = comparison._select(pvalue)[0]
    named = dict.fromkeys(
        column for column, selected in zip(prepared.origin, chosen["selected"], strict=True) if selected
    )
    return Answer(pvalue, list(named), time.process_time() - begin, comparison.explaining)
