"""Profiles that are given to be compared: two of them, one with groups, or one beside a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from princdiff.data.run import Run
from princdiff.profiles.profile_file import is_profile, load_profile
from princdiff.profiles.profiling import Profile, profile, refuse_other_bins


def is_profiled(source: Any) -> bool:
    """Whether a source is a profile, or the file of one."""
    return isinstance(source, Profile) or is_profile(source)


def profiles_of(X: Any, Y: Any, run: Run) -> Profile:
    """One profile of all groups; a table beside a profile is profiled like it."""
    read = [load_profile(one) if is_profile(one) else one for one in (X, Y)]
    like = next(one for one in read if isinstance(one, Profile))
    first, second = [None if one is None else profiled_like(like, one, run) for one in read]
    assert first is not None
    return joined(first, second, names_of(X, Y))


def names_of(X: Any, Y: Any) -> list[str]:
    """What two sources are called: files by their names, unless both have the same.

    Examples
    --------
    >>> names_of("data/january.parquet", "february.profile"), names_of("a/sales.csv", "b/sales.csv")
    (['january', 'february'], ['X', 'Y'])
    """
    given = {"X": X, "Y": Y}
    names = [Path(one).stem if isinstance(one, (str, Path)) else name for name, one in given.items()]
    return names if names[0] != names[1] else list(given)


def profiled_like(like: Profile, source: Any, run: Run) -> Profile:
    """A profile of a source that can be compared with a given one; of a profile itself."""
    if is_profiled(source):
        return source if isinstance(source, Profile) else load_profile(source)
    return profile(
        source,
        like=like,
        sample_rows=like.sample_rows,
        random_state=run.seed,
        blocks=like.about.get("blocks"),
        progress=run.progress,
    )


def joined(first: Profile, second: Profile | None, names: Sequence[str] = ("X", "Y")) -> Profile:
    """The profile that holds the groups to compare.

    Parameters
    ----------
    first, second : Profile
        One with groups, or two of one group each.
    names : two str
        What the groups of two profiles are called.

    Returns
    -------
    Profile
    """
    if second is None:
        if len(first.groups) < 2:
            raise ValueError(
                "this profile has one group: compare it with another profile, or make it with groups="
            )
        return first
    refuse_other_bins(first, second)
    both = [first, second]
    for part in both:
        if len(part.groups) != 1:
            raise ValueError(
                f"a profile with the groups {', '.join(part.groups)} is compared alone, not with another"
            )
    one, other = (part.renamed(name) for part, name in zip(both, names, strict=True))
    grouped = replace(one, grouped=True, groups=dict(one.groups))
    return grouped + replace(other, grouped=True)
