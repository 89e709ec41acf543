"""``princdiff watch --state FILE``: the batches of today, with what was said of all those before them."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from princdiff.cli.streams import STANDARD_STREAM

if TYPE_CHECKING:
    from princdiff.batches import BatchesResult, Watch

# Options that change what `compare` does; a watch looks at sums, and gaps are a value of their own in it.
_OTHERS = (
    "missing", "dates", "strict", "n_features", "n_components", "divergence", "n_permutations", "scale",
    "certify", "n_jobs", "time_budget", "min_effect",
)  # fmt: skip


def remember_defaults(parser: argparse.ArgumentParser) -> None:
    """Note what options are if they are not given, so that those without meaning here are refused."""
    parser.set_defaults(others={name: parser.get_default(name) for name in _OTHERS})


def watched(arguments: argparse.Namespace) -> tuple[BatchesResult, list[str], float]:
    """Add the batches given to the watch in the file, which is begun where there is none.

    Parameters
    ----------
    arguments : Namespace
        Of the command.

    Returns
    -------
    result : BatchesResult
        All batches so far.
    new : list of str
        Batches that were added now.
    alpha : float
        Level of the watch.
    """
    from princdiff.batches.watch_file import only_run

    _refuse_others(arguments)
    with only_run(arguments.state):
        watch, batches = _begun(arguments)
        new = []
        for name, batch in batches.items():
            known = len(watch.seen)
            watch.add(batch, name)
            # After each batch: a run that is killed goes on with the next.
            if len(watch.seen) > known:
                new.append(name)
                watch.save(arguments.state)
        if not watch.seen:
            watch.save(arguments.state)
            raise ValueError("the watch has begun; give batches to look at")
        return watch.result(), new, watch.alpha


def _refuse_others(arguments: argparse.Namespace) -> None:
    for name, usual in arguments.others.items():
        if getattr(arguments, name) != usual:
            raise ValueError(f"--{name.replace('_', '-')} has no meaning with --state")
    if STANDARD_STREAM in (arguments.file, *arguments.batches):
        raise ValueError("--state knows batches by the names of their files: give no standard input")


def _begun(arguments: argparse.Namespace) -> tuple[Watch, dict[str, Any]]:
    """The watch and the batches given; of files the first is the reference, if it has not begun."""
    from princdiff.batches import Watch

    exists = Path(arguments.state).exists()
    watch = Watch.load(arguments.state) if exists else None
    reference, name, batches, notes = _sources(arguments, watch)
    if watch is None:
        watch = Watch.begin(
            reference,
            name=name,
            features=arguments.features,
            exclude=arguments.exclude,
            error=arguments.error,
            random_state=arguments.random_state,
            **({} if arguments.fail_below is None else {"alpha": arguments.fail_below}),
        )
        watch.notes += notes
        watch.save(arguments.state)
        return watch, batches
    fixed = {
        "--fail-below": (arguments.fail_below, watch.alpha),
        "--seed": (arguments.random_state or None, watch.seed),
        "--error": (None if arguments.error == "fwer" else arguments.error, watch.error),
    }
    for option, (asked, settled) in fixed.items():
        if asked is not None and asked != settled:
            raise ValueError(f"{option}: this watch has begun with {settled}, which cannot change")
    if arguments.features or arguments.exclude:
        raise ValueError("--features and --exclude were settled when the watch began")
    return watch, batches


def _sources(
    arguments: argparse.Namespace, watch: Watch | None
) -> tuple[Any, str, dict[str, Any], list[str]]:
    """Reference, its name, the batches given, and what was left out."""
    from princdiff.batches.batch_rows import batch_names, plan_in_time
    from princdiff.cli.watch import periods_of_reference
    from princdiff.profiles import Profile

    if arguments.time is not None:
        plan = plan_in_time(arguments.file, periods_of_reference(arguments), arguments.time, arguments.every)
        whole = {period: rows for period, rows in plan.batches.items() if period not in plan.cut}
        if isinstance(plan.reference, Profile):
            raise ValueError("--state needs the rows of the reference, not a profile")
        return plan.reference.frame(), plan.name, whole, plan.notes
    files = [arguments.file, *arguments.batches]
    named = dict(zip(batch_names(files), files, strict=True))
    if watch is None:
        name = next(iter(named))
        return named.pop(name), name, named, []
    known = watch.reference in named and watch.is_reference(named[watch.reference])
    if known:
        del named[watch.reference]
    return None, "", named, []


def decided(result: BatchesResult, new: list[str], alpha: float) -> tuple[list[str], str]:
    """Which of the new batches differ, and the same in words."""
    frame = result.frame.set_index("batch")
    differ = [name for name in new if bool(frame.loc[name, "differs"])]
    rule = f"adjusted p at most {alpha:g} over all batches that ever come"
    if not new:
        return [], f"no batch was added: {rule}"
    if differ:
        return (
            differ,
            f"{', '.join(differ)} differ{'s' if len(differ) == 1 else ''} by the rule given: {rule}",
        )
    few = [name for name in new if math.isnan(frame.loc[name, "adjusted"])]
    also = f"; not looked at, since they have too few rows: {', '.join(few)}" if few else ""
    which = "the new batch does not differ" if len(new) == 1 else f"none of {len(new)} new batches differs"
    return [], f"{which} by the rule given: {rule}{also}"
