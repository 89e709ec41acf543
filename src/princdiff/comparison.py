"""The front door: two tables in, one result out."""

from __future__ import annotations

import platform
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from princdiff.caught_warnings import caught_warnings, warn_again
from princdiff.comparison_steps import Clock, Comparison, Options
from princdiff.data import parameters
from princdiff.data.memory import parse_memory
from princdiff.data.problem import Run
from princdiff.data.row_keys import group_ranks, row_keys
from princdiff.data.samples import Scale
from princdiff.data.shared_docs import with_shared_docs
from princdiff.data.validate import settle_weights
from princdiff.divergences import Divergence
from princdiff.labellings.execution import refuse_unseeded
from princdiff.options import option
from princdiff.parallel import single_threaded_blas
from princdiff.profiles.large_sources import profile_of_sources
from princdiff.profiles.profile_comparison import ProfileComparison, prepared_sample
from princdiff.profiles.profiling import Profile
from princdiff.profiles.sums_of_rows import sums_of_rows, thinned, worth_sums
from princdiff.result import DifferenceResult
from princdiff.result.column_order import as_in_table, by_name
from princdiff.tables import Prepared, prepare
from princdiff.tables.frames import as_list
from princdiff.words.on_blocks import how_blocks_were_relabelled

# Numbers up to which rows are copied into an order of their own.
_LARGEST_SORTED = 3 * 10**8


@with_shared_docs
def compare(
    X: Any,
    Y: Any = None,
    *,
    groups: Any = None,
    reference: Any = None,
    features: str | Sequence[str] | None = None,
    exclude: str | Sequence[str] | None = None,
    n_features: int | str = "auto",
    n_components: int | str = 1,
    divergence: str | Divergence | Callable = "auto",
    scale: Scale = "pooled",
    n_permutations: int = 999,
    quick: bool = False,
    blocks: Any = None,
    permute: str = "auto",
    covariates: Any = None,
    sample_weight: Any = None,
    missing: str = "error",
    missing_groups: str = "error",
    strict: bool = False,
    min_rows: int | None = None,
    certify: bool | str = "auto",
    select: bool = True,
    error: str = "fwer",
    dates: str = "skip",
    show_rows: int = 0,
    memory: int | str | None = None,
    checkpoint: str | Path | None = None,
    time_budget: float | None = None,
    random_state: Any = 0,
    rng: Any = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> DifferenceResult:
    """Compare groups of rows: do they differ, in what, and how sure is that.

    Parameters
    ----------
    X, Y : path, DataFrame (pandas or polars), array, sparse matrix, AnnData, Profile, `open_rows`
        Two tables with the same columns, or one table and ``groups``. Several parquet files are one table: a
        list of them, a pattern such as ``"big/*.parquet"``, or their folder.
    groups : str or array of shape (n_rows,), optional
        Column that holds the groups, or a label for each row.
    reference : str or number, optional
        The group that the others are compared with: changes are told from it to the other. Default: the first
        table, or the first group, which is one called "control", "before" or the like, or else the first
        category, number or name.
    features : str or list of str, optional
        Columns to compare; default all.
    exclude : str or list of str, optional
        Columns to leave out.
    n_features : int or "auto", default="auto"
        Features that the direction may use; "auto": chosen by held-out divergence.
    n_components : int or "auto", default=1
        Directions in succession, each orthogonal to those before; "auto": as many as differ.
    divergence : str, Divergence or callable, default="auto"
        What "different" means for two columns of numbers, see `princdiff.divergences.available`. "auto": the
        squared Wasserstein distance where all features are continuous, the energy distance otherwise.
    scale : {"pooled", None, "within"}, default="pooled"
        Scaling of the features, see `princdiff.PDA`.
    n_permutations : int, default=999
        Relabellings; 0 leaves out the test.
    quick : bool, default=False
        A first answer: at most 199 relabellings, and single columns only, without their relations, the test
        of the other columns, stability and contrasts. A note says so.
    blocks : str or array of shape (n_rows,), optional
        Column that says which rows belong together, or a label for each row: the two visits of a patient,
        the rows of a hospital, the cells of a donor. The test then relabels rows inside their block or whole
        blocks, see ``permute``, instead of treating rows as independent.
    permute : {"auto", "within", "whole"}, default="auto"
        Whether rows are relabelled inside their block, or whole blocks; "auto": whole where a block lies in
        one group, inside it where it has rows of several.
    covariates : str, list of str or array, optional
        Columns at equal values of which groups are compared: test, names, means and differences are adjusted
        for them.
    sample_weight : str or array of shape (n_rows,), optional
        Row weights.
    missing : {"error", "impute", "drop"}, default="error"
        What to do with missing values.
    missing_groups : {"error", "drop"}, default="error"
        Rows without a group: an error, or left out and counted in a note.
    strict : bool, default=False
        Columns that cannot be compared are an error, not a warning.
    min_rows : int, optional
        A group with fewer rows is an error: of a table cut short nothing can be shown.
    certify : {"auto", True, False}, default="auto"
        Bound the best possible divergence; "auto": where that is cheap.
    select : bool, default=True
        Name the columns that differ.
    error : {"fwer", "fdr"}, default="fwer"
        What is controlled when columns are named: the chance of any false one, or the expected share of
        false ones.
    dates : {"skip", "parts"}, default="skip"
        Columns of dates and times: left out and named, or compared by year, month, weekday, hour and days
        since the first.
    show_rows : int, default=0
        Keep this many typical rows of each group, and as many that lie furthest on the other side, for
        `DifferenceResult.typical_rows` and the page. By default a result holds none of the data.
    memory : int or str, optional
        Budget of memory for the process, such as "2GB". Files and rows out of core that would not fit are
        compared by sums over chunks of their rows, made where they are; see `princdiff.profile`.
    checkpoint : str or Path, optional
        File in which the direction, the test and the selection are kept as each is done. The same call goes
        on from it after an interruption and gives the same result; ``random_state`` must be a number.
    time_budget : float, optional
        Seconds after which remaining steps are shortened or left out. The result then depends on the
        machine, and says what was cut.
    random_state : int, RandomState, Generator or None, default=0
        Seed.
    {rng}
    {n_jobs}
    {progress}

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
    check_options(locals())
    features, exclude = as_list(features), as_list(exclude)
    options = Options(
        n_features=n_features,
        n_components=n_components,
        divergence=divergence,
        scale=scale,
        n_permutations=int(n_permutations),
        quick=quick,
        permute=permute,
        certify=certify,
        select=select,
        error=error,
        show_rows=int(show_rows),
        checkpoint=checkpoint,
    )
    refuse_unseeded(checkpoint, random_state if rng is None else rng)
    if checkpoint is not None and time_budget is not None:
        raise ValueError(
            f"{option('checkpoint')} and {option('time_budget')} cannot be combined: what is cut "
            "depends on the machine"
        )
    run = Run.from_options(
        random_state if rng is None else None, n_jobs, progress, rng=rng, time_budget=time_budget
    )
    clock = Clock()
    asked = {
        "missing": missing,
        "features": features,
        "groups": groups if isinstance(groups, str) else None,
        "reference": None if reference is None else str(reference),
        "random_state": _plain_seed(random_state if rng is None else rng),
        "time_budget": time_budget,
    }
    reading = {
        "features": features,
        "exclude": exclude,
        "blocks": blocks,
        "covariates": covariates,
        "missing": missing,
        "missing_groups": missing_groups,
        "strict": strict,
        "min_rows": min_rows,
        "dates": dates,
    }
    settled = {**reading, **vars(options), "sample_weight": sample_weight}
    budget = None if memory is None else parse_memory(memory)
    profile = profile_of_sources(X, Y, groups, settled, run, budget)
    if profile is not None:
        clock.done("reading")
        return compare_profile(profile, options, run, clock, asked)
    with caught_warnings() as caught:
        about = {"groups": groups, "weights": sample_weight, "reference": reference}
        prepared = prepare(X, Y, memory=budget, **about, **reading)
    notes = (*prepared.notes, *_new_warnings(caught, prepared.notes))
    clock.done("reading")
    return compare_prepared(replace(prepared, notes=notes), options, run, clock, asked)


def compare_profile(
    profile: Profile, options: Options, run: Run, clock: Clock, asked: dict[str, Any]
) -> DifferenceResult:
    """Compare the groups of one profile."""
    if asked.get("reference") is not None:
        profile = profile.with_reference(asked["reference"])
    steps = partial(ProfileComparison, profile)
    return compare_prepared(prepared_sample(profile, run), options, run, clock, asked, steps)


def check_options(values: Mapping[str, Any]) -> None:
    """Refuse what parameters of `compare` cannot be, here and where they are passed on."""
    parameters.check(
        values,
        default_seed=0,
        n_permutations=parameters.Whole(0),
        divergence=parameters.DivergenceRule(auto=True),
        error=parameters.Choice("fwer", "fdr"),
        dates=parameters.Choice("skip", "parts"),
        show_rows=parameters.Whole(0),
    )


def _plain_seed(state: Any) -> Any:
    return int(state) if isinstance(state, int | np.integer) else None if state is None else str(state)


@single_threaded_blas
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
            profile, prepared = sums_of_rows(prepared, run)
            steps = partial(ProfileComparison, profile)
    prepared, keys = in_canonical_order(prepared)
    with caught_warnings() as caught:
        comparison = steps(prepared, options, run, clock, keys)
        result = as_in_table(comparison.run(), asked_in)
    blocks = how_blocks_were_relabelled(comparison.problem, prepared.block_column)
    about_blocks = [blocks] if blocks and options.n_permutations else []
    notes = [*about_blocks, *prepared.notes, *comparison.notes, *_new_warnings(caught, prepared.notes)]
    asked_for = {
        **options.to_dict(),
        **asked,
        "divergence": comparison.divergence.name,
        "why_divergence": comparison.why_divergence,
        "permute": comparison.problem.permute,
        "covariates": list(comparison.problem.covariate_names),
        "left_out": prepared.left_out,
        "telling_columns": comparison.telling,
        "versions": {name: version(name) for name in ("princdiff", "numpy", "scipy", "scikit-learn")},
        "python": platform.python_version(),
        "seconds": clock.seconds,
    }
    return replace(result, notes=notes, parameters=asked_for)


def in_sums(prepared: Prepared, options: Options) -> bool:
    """Whether rows are so many that sums over chunks of them are compared."""
    plain = options.scale == "pooled" and options.checkpoint is None
    return plain and worth_sums(prepared, options.permute)


def in_canonical_order(prepared: Prepared) -> tuple[Prepared, NDArray[np.uint64] | None]:
    """The same rows in an order that depends on their values only, and their keys; see `data.row_keys`.

    What is drawn at random (relabellings, folds, samples) then depends neither on the order in which rows
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
