"""The front door: two tables in, one result out."""

from __future__ import annotations

import platform
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from typing import Any, Literal, Unpack

import numpy as np
from numpy.typing import NDArray

from princdiff.caught_warnings import caught_warnings, warn_again
from princdiff.comparison_steps import Clock, Comparison, Options
from princdiff.data.problem import Run
from princdiff.data.row_keys import group_ranks, row_keys
from princdiff.data.samples import Scale
from princdiff.data.validate import settle_weights
from princdiff.divergences import Divergence
from princdiff.labellings.execution import refuse_unseeded
from princdiff.options import Config, ConfigOptions, ErrorRate, Missing, Permute, described, option, settled
from princdiff.parallel import single_threaded_blas
from princdiff.profiles.large_sources import profile_of_sources
from princdiff.profiles.profile_comparison import ProfileComparison, prepared_sample
from princdiff.profiles.profiling import Profile
from princdiff.profiles.sums_of_rows import sums_of_rows, thinned, worth_sums
from princdiff.result import DifferenceResult
from princdiff.result.column_order import as_in_table, by_name
from princdiff.tables import Prepared, prepare
from princdiff.tables.preparation import reading_of
from princdiff.words.on_design import blocks_of_groups, how_blocks_were_relabelled
from princdiff.words.on_faults import repeated_sentences

# Numbers up to which rows are copied into an order of their own.
_LARGEST_SORTED = 3 * 10**8


@described
def compare(
    X: Any,
    Y: Any = None,
    *,
    groups: Any = None,
    reference: Any = None,
    features: str | Sequence[str] | None = None,
    exclude: str | Sequence[str] | None = None,
    n_features: int | Literal["auto"] = "auto",
    n_components: int | Literal["auto"] = 1,
    divergence: str | Divergence | Callable = "auto",
    scale: Scale = "pooled",
    n_permutations: int = 999,
    quick: bool = False,
    blocks: Any = None,
    permute: Permute = "auto",
    covariates: Any = None,
    sample_weight: Any = None,
    missing: Missing = "error",
    error: ErrorRate = "fwer",
    random_state: Any = 0,
    config: Config | None = None,
    **options: Unpack[ConfigOptions],
) -> DifferenceResult:
    """Compare groups of rows: do they differ, in what, and how sure is that.

    Parameters
    ----------
    X, Y : path, DataFrame (pandas or polars), array, sparse matrix, AnnData, Profile, `open_rows`
        Two tables with the same columns, or one table and ``groups``. Several parquet files are one table: a
        list of them, a pattern such as ``"big/*.parquet"``, or their folder.
    {options}

    Returns
    -------
    DifferenceResult

    See Also
    --------
    compare_groups : Every pair of several groups.
    compare_batches : Batches of rows in order of time, each with a reference.
    permutation_test : The test alone.
    select_features : The naming of columns alone.

    Notes
    -----
    The how-to guides show more: :doc:`tables of mixed columns </howto/tables>`, :doc:`drift </howto/drift>`,
    :doc:`pairs and several groups </howto/groups>`, :doc:`cells of donors </howto/singlecell>` and
    :doc:`large tables </howto/scale>`.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from princdiff import compare
    >>> rng = np.random.default_rng(0)
    >>> before = pd.DataFrame(rng.normal(size=(60, 3)), columns=["age", "height", "weight"])
    >>> after = before + [0.0, 0.0, 1.5]
    >>> result = compare(before, after, n_permutations=99)
    >>> result.pvalue, result.selected
    (0.01, ['weight'])
    """
    named = {name: value for name, value in locals().items() if name not in ("X", "Y", "options")}
    given = settled("compare", {**named, **options})
    looked_for, run, clock = Options.of(given), run_of(given), Clock()
    asked = asked_of(given)
    profile = profile_of_sources(X, Y, given, run)
    if profile is not None:
        clock.done("reading")
        return compare_profile(profile, looked_for, run, clock, asked)
    with caught_warnings() as caught:
        prepared = prepare(X, Y, **reading_of(given))
    notes = (*prepared.notes, *_new_warnings(caught, prepared.notes))
    clock.done("reading")
    return compare_prepared(replace(prepared, notes=notes), looked_for, run, clock, asked)


def run_of(given: Mapping[str, Any]) -> Run:
    """How a comparison is run, of options that were settled."""
    checkpoint, time_budget = given["checkpoint"], given["time_budget"]
    seed = given.get("random_state", 0)
    refuse_unseeded(checkpoint, seed)
    if checkpoint is not None and time_budget is not None:
        raise ValueError(
            f"{option('checkpoint')} and {option('time_budget')} cannot be combined: what is cut "
            "depends on the machine"
        )
    return Run.from_options(seed, given["n_jobs"], given["progress"], time_budget=time_budget)


def asked_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """How the rows were prepared and the comparison run, for the record."""
    groups, reference, seed = given.get("groups"), given.get("reference"), given.get("random_state", 0)
    plain = seed is None or isinstance(seed, int | np.integer)
    return {
        "missing": given.get("missing", "error"),
        "features": given["features"],
        "groups": groups if isinstance(groups, str) else None,
        "reference": None if reference is None else str(reference),
        "random_state": (seed if seed is None else int(seed)) if plain else str(seed),
        "time_budget": given["time_budget"],
    }


def compare_profile(
    profile: Profile, options: Options, run: Run, clock: Clock, asked: dict[str, Any]
) -> DifferenceResult:
    """Compare the groups of one profile."""
    if asked.get("reference") is not None:
        profile = profile.with_reference(asked["reference"])
    steps = partial(ProfileComparison, profile)
    return compare_prepared(prepared_sample(profile, run), options, run, clock, asked, steps)


def compare_prepared(
    prepared: Prepared,
    options: Options,
    run: Run,
    clock: Clock,
    asked: dict[str, Any],
    steps: Callable[..., Comparison] = Comparison,
) -> DifferenceResult:
    """Compare rows that are ready.

    Parameters
    ----------
    prepared : Prepared
        Rows and groups.
    options : Options
        What to look for.
    run : Run
        Seed, threads, progress and deadline.
    clock : Clock
        Running since the beginning.
    asked : dict
        How the rows were prepared, for the record.
    steps : callable
        The steps of the comparison, of such rows.

    Returns
    -------
    DifferenceResult
    """
    asked_in = prepared
    # The columns of profiles have an order already.
    prepared = by_name(prepared) if steps is Comparison else prepared
    if steps is Comparison and in_sums(prepared, options):
        prepared = thinned(prepared, run)
        if in_sums(prepared, options):
            with single_threaded_blas:
                profile, prepared = sums_of_rows(prepared, run)
            steps = partial(ProfileComparison, profile)
    prepared, keys = in_canonical_order(prepared)
    with caught_warnings() as caught, single_threaded_blas:
        comparison = steps(prepared, options, run, clock, keys)
        with comparison.first_look():
            result = as_in_table(comparison.run(), asked_in)
    blocks = how_blocks_were_relabelled(comparison.problem, prepared.block_column)
    about_blocks = [blocks] if blocks and options.n_permutations else []
    said = [*about_blocks, *prepared.notes, *comparison.notes, *comparison.cut]
    notes = [*said, *_new_warnings(caught, prepared.notes)]
    adjusted = bool(comparison.problem.covariate_names)
    asked_for = {
        **options.to_dict(),
        **asked,
        "divergence": comparison.divergence.name,
        "why_divergence": comparison.why_divergence,
        "permute": comparison.problem.permute,
        "blocks": blocks_of_groups(comparison.problem, prepared.block_column),
        "covariates": list(dict.fromkeys(prepared.covariate_columns)) if adjusted else [],
        "left_out": prepared.left_out,
        "telling_columns": comparison.telling,
        "cut": comparison.cut,
        "versions": {name: version(name) for name in ("princdiff", "numpy", "scipy", "scikit-learn")},
        "python": platform.python_version(),
        "seconds": clock.seconds,
    }
    result = replace(result, parameters=asked_for)
    return replace(result, notes=[*notes, *repeated_sentences(result)])


def in_sums(prepared: Prepared, options: Options) -> bool:
    """Whether rows are so many that sums over chunks of them are compared."""
    plain = options.scale == "pooled" and options.checkpoint is None
    return plain and worth_sums(prepared, options.permute)


def in_canonical_order(prepared: Prepared) -> tuple[Prepared, NDArray[np.uint64] | None]:
    """The same rows in an order that depends on their values only, and their keys; see `data.row_keys`.

    What is drawn at random (permutations, folds, samples) then depends neither on the order in which rows
    came nor on which group came first: swapping groups changes signs and nothing else.
    """
    if prepared.weights is not None and not prepared.weights.all():
        # A row without weight is a row that is not there, but every group must keep one.
        settle_weights(prepared.weights, prepared.codes, prepared.groups)
        prepared = prepared.take_rows(np.flatnonzero(prepared.weights))
    n_rows, n_features = prepared.rows.shape
    if n_rows * n_features > _LARGEST_SORTED:
        return prepared, None
    keys = row_keys(prepared.rows, prepared.weights)
    # Rows that are alike may be of different groups, and which group came first must not matter.
    ranks = group_ranks(keys, prepared.codes, len(prepared.groups))
    order = np.lexsort((ranks[prepared.codes], keys))
    return prepared.take_rows(order), keys[order]


def _new_warnings(caught: list[warnings.WarningMessage], known: Iterable[str]) -> list[str]:
    """Warn again of what was caught; return the users' warnings that no note contains yet."""
    notes: list[str] = []
    for warning in caught:
        text = str(warning.message)
        is_known = any(note.rstrip(".") in text or text in note for note in [*known, *notes])
        if issubclass(warning.category, UserWarning) and not is_known:
            notes.append(text)
    warn_again(caught)
    return notes
