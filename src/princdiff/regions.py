"""Where in a table two groups differ: regions in words, found on half of the rows and tested on others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
import pandas as pd
import scipy.sparse as sp

from princdiff.data import parameters
from princdiff.data.problem import Run
from princdiff.data.row_keys import row_keys, shuffled_members
from princdiff.options import CompareOptions, settled
from princdiff.printable import short_repr
from princdiff.selection.regions import Condition, Conditions, judged, regions_of
from princdiff.tables import Prepared, prepare
from princdiff.tables.preparation import reading_of
from princdiff.words.readable_figures import number, percentages

_KNOWN = ("groups", "reference", "features", "exclude", "missing", "random_state", "config")
# Rows of a half in which regions are looked for: more find the same ones.
_MOST_SEARCHED = 20_000
# Rows of each group without which there is nothing to halve.
_FEWEST_ROWS = 40


@dataclass(frozen=True)
class Region:
    """Rows for which one or two conditions hold.

    Attributes
    ----------
    name : str
        The conditions in words, such as "age above 60 and smoker = yes".
    shares : dict of str to float
        Part of each group's rows that lie in it, on rows that it was not found on.
    pvalue : float
        Of the difference, adjusted for the number of regions.
    """

    name: str
    shares: dict[str, float]
    pvalue: float

    def __str__(self) -> str:
        texts = percentages(list(self.shares.values()))
        shares = ", ".join(f"{text} of {group}" for text, group in zip(texts, self.shares, strict=True))
        return f"{self.name}: {shares} (p = {self.pvalue:.2g})"


@dataclass(frozen=True, repr=False)
class RegionsResult:
    """Regions that hold more of one group than of the other.

    Attributes
    ----------
    regions : list of Region
        In the order in which they were found and tested, those that are significant first.
    alpha : float
        Level.
    n_searched, n_tested : int
        Rows in which they were looked for, and on which they were tested.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from princdiff import find_regions
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame({"age": rng.uniform(20, 80, 2000).round(), "group": np.repeat(["a", "b"], 1000)})
    >>> old = table["age"] > 60
    >>> table.loc[old, "group"] = np.where(rng.random(old.sum()) < 0.8, "b", "a")
    >>> found = find_regions(table, groups="group", n_regions=1)
    >>> type(found).__name__, len(found.significant)
    ('RegionsResult', 1)
    """

    regions: list[Region]
    alpha: float
    n_searched: int
    n_tested: int

    __repr__ = short_repr

    @property
    def significant(self) -> list[Region]:
        """The regions in which the groups differ; the chance of any false one is at most ``alpha``."""
        return [region for region in self.regions if region.pvalue <= self.alpha]

    def to_frame(self) -> pd.DataFrame:
        """One row per region: region, the share of each group, pvalue, significant."""
        return pd.DataFrame(
            [
                {
                    "region": region.name,
                    **{f"share {group}": share for group, share in region.shares.items()},
                    "pvalue": region.pvalue,
                    "significant": region.pvalue <= self.alpha,
                }
                for region in self.regions
            ]
        )

    def __str__(self) -> str:
        """What was found, a line for each region."""
        how = f"Found on {self.n_searched} rows and tested on {self.n_tested} others."
        if not self.significant:
            return f"No region could be shown to hold more of one group than of the other. {how}"
        return "\n".join([*map(str, self.significant), how])


def find_regions(
    X: Any,
    Y: Any = None,
    *,
    n_regions: int = 3,
    alpha: float = 0.05,
    **options: Unpack[CompareOptions],
) -> RegionsResult:
    """Find regions of a table that hold more of one of two groups, in words of at most two columns.

    Parameters
    ----------
    X, Y : path, DataFrame (pandas or polars), array, sparse matrix, AnnData
        Two tables with the same columns, or one table and ``groups``.
    n_regions : int, default=3
        Regions at most.
    alpha : float, default=0.05
        Level.
    **options
        As of `compare`: groups, reference, features, exclude, missing, random_state (of the halves), and of
        config what says how tables are read: dates, strict, min_rows.

    Returns
    -------
    RegionsResult

    See Also
    --------
    compare : Whether the groups differ, and in which columns.

    Notes
    -----
    Numbers are cut at nine quantiles of one half of the rows, rounded; conditions are both sides of each cut,
    levels and their absence. All single conditions and pairs are looked at, and the region whose share
    differs most clearly is kept; further ones are looked for among the other rows. Rows must be independent:
    each region is tested on the other half by Fisher's exact test, in the order in which they were found.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from princdiff import find_regions
    >>> rng = np.random.default_rng(0)
    >>> before, after = (
    ...     pd.DataFrame({"age": rng.integers(18, 80, 2000), "smoker": rng.choice(["no", "yes"], 2000)})
    ...     for _ in range(2)
    ... )
    >>> after.loc[:199, "age"], after.loc[:199, "smoker"] = rng.integers(65, 80, 200), "yes"
    >>> found = find_regions(before, after, n_regions=1)
    >>> found.significant[0].name
    'age above 64 and smoker = yes'
    """
    parameters.check({"n_regions": n_regions, "alpha": alpha}, n_regions=parameters.Whole(1))
    given = settled("find_regions", options, _KNOWN)
    prepared = prepare(X, Y, **reading_of(given))
    _refuse(prepared)
    run = Run.from_options(given.get("random_state", 0))
    keys = row_keys(prepared.rows)
    members = shuffled_members(keys, prepared.codes, 2, run.seed_for("halves"))
    searched = np.concatenate([own[: min(len(own) // 2, _MOST_SEARCHED // 2)] for own in members])
    others = np.concatenate([own[len(own) // 2 :] for own in members])
    regions = regions_of(_dense(prepared, searched), prepared.codes[searched], int(n_regions))
    outcome = judged(regions, _dense(prepared, others), prepared.codes[others])
    found = [
        Region(_in_words(region, prepared), dict(zip(prepared.groups, shares, strict=True)), pvalue)
        for region, (pvalue, shares) in zip(regions, outcome, strict=True)
    ]
    return RegionsResult(found, float(alpha), len(searched), len(others))


def _refuse(prepared: Prepared) -> None:
    if len(prepared.groups) != 2:
        raise ValueError(
            f"regions are found between two groups, and there are {len(prepared.groups)}: "
            "take two of them, or one and all others"
        )
    for name, size in zip(prepared.groups, np.bincount(prepared.codes, minlength=2).tolist(), strict=True):
        if size < _FEWEST_ROWS:
            raise ValueError(
                f"group {name} has {size} rows, and {_FEWEST_ROWS} are needed: half of them find regions, "
                "the others test these"
            )


def _dense(prepared: Prepared, index: np.ndarray) -> np.ndarray:
    rows = prepared.rows[index]
    return np.asarray(rows.toarray() if sp.issparse(rows) else rows, dtype=np.float64)


def _in_words(region: Conditions, prepared: Prepared) -> str:
    """A region: conditions on one feature as a range."""
    by_feature: dict[int, list[Condition]] = {}
    for condition in region:
        by_feature.setdefault(condition.feature, []).append(condition)
    return " and ".join(_condition(own, prepared) for own in by_feature.values())


def _condition(own: list[Condition], prepared: Prepared) -> str:
    feature = own[0].feature
    low, high = max(one.low for one in own), min(one.high for one in own)
    name, column = prepared.features[feature], prepared.origin[feature]
    kind, level = prepared.kinds[feature], prepared.feature_levels[feature]
    if kind == "missing":
        return f"{column} {'missing' if np.isinf(high) else 'known'}"
    if kind != "number":
        if not level:
            return f"{column} = {int(np.isinf(high))}"
        return f"{column} = {level}" if np.isinf(high) else f"{column} other than {level}"
    if np.isinf(high):
        return f"{name} above {number(low)}"
    return (
        f"{name} at most {number(high)}" if np.isinf(low) else f"{name} above {number(low)} to {number(high)}"
    )
