"""What rows are measured with: bins of numbers and levels of categories, fixed before rows are counted.

Bins and levels must not depend on which rows belong to which group among those counted. They come from rows
that are left out of the sums, or from those that another profile left out; see docs/explanation/promises.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri

from princdiff.kernels.binned_columns import MOST_BOUNDS, Bins
from princdiff.tables import Coding, prepare
from princdiff.tables.encoding import feature_names

# Normal scores are whole numbers of this part of a standard deviation: sums of their products are then exact.
SCORE_STEP = 1 / 32
# Features whose pairs are looked at, at most: their products are kept for every chunk.
MOST_IN_PAIRS = 96


@dataclass(frozen=True)
class CountedColumn:
    """How one column is counted.

    Attributes
    ----------
    coding : Coding
        How the column becomes features.
    bounds : tuple of float
        Bounds of the bins of a number; empty for levels.
    centre, scale : float
        Of a number, about its median and spread.
    values : tuple of float
        The mean of each bin, for pictures and rows made up.
    scores : tuple of int
        Of each bin, in steps of `SCORE_STEP`, and last of a gap.
    """

    coding: Coding
    bounds: tuple[float, ...] = ()
    centre: float = 0.0
    scale: float = 1.0
    values: tuple[float, ...] = ()
    scores: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """What the column is called."""
        return self.coding.column

    @property
    def is_number(self) -> bool:
        """Whether values are put into bins; otherwise they are looked up among levels."""
        return not self.coding.one_hot

    @property
    def n_bins(self) -> int:
        """Bins or levels; with a level for all others, and one for gaps."""
        return (len(self.bounds) + 1 if self.is_number else len(self.coding.levels or ()) + 1) + 1

    @cached_property
    def bins(self) -> Bins:
        """The bins of a number, as the kernel takes them."""
        return Bins(
            np.array(self.bounds, dtype=np.float64),
            np.array(self.scores, dtype=np.float32),
            self.centre,
            self.scale,
        )

    @property
    def feature_bins(self) -> list[list[int]]:
        """The bins whose rows make up each 0/1 feature; of a number an empty list."""
        others = self.n_bins - 2
        if not self.is_number:
            place = {-1: others + 1}
            return [[place.get(code, code)] for code in self.coding.codes]
        return [[], [others + 1]] if self.coding.indicator else [[]]


@dataclass(frozen=True)
class Ruler:
    """What all rows of a profile are measured with, and of all profiles that are merged or compared.

    Attributes
    ----------
    columns : tuple of Column
        Columns that are counted.
    left_out : dict
        Columns that are not, and why.
    notes : tuple of str
        What else was found while looking at the first rows.
    """

    columns: tuple[CountedColumn, ...]
    left_out: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return [column.name for column in self.columns]

    @cached_property
    def features(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names of all features, and the column of each."""
        return feature_names([column.coding for column in self.columns])

    @cached_property
    def in_pairs(self) -> NDArray[np.intp]:
        """Features whose products are added up, by number: numbers and flags first, then frequent levels."""
        kinds = [kind for column in self.columns for kind in column.coding.kinds]
        bins = [column.n_bins for column in self.columns for _ in column.coding.kinds]
        ranks = {"number": 0, "flag": 0, "level": 1, "missing": 2}
        # Of very many numbers those of many different values: of genes that hardly occur little can be seen.
        order = sorted(range(len(kinds)), key=lambda place: (ranks[kinds[place]], -bins[place]))
        chosen = [place for place in order if kinds[place] != "missing"][:MOST_IN_PAIRS]
        return np.sort(np.array(chosen, dtype=np.intp))

    @cached_property
    def first_features(self) -> list[int]:
        """The number of the first feature of each column."""
        return np.cumsum([0, *(len(column.coding.kinds) for column in self.columns)])[:-1].tolist()

    @property
    def starts(self) -> NDArray[np.intp]:
        """Where the bins of each column begin among all bins, and their end."""
        return np.concatenate([[0], np.cumsum([column.n_bins for column in self.columns])])


def make_ruler(
    rows: pd.DataFrame, features: Sequence[str] | None = None, *, only_numbers: bool = False
) -> Ruler:
    """Bins and levels from rows that are not counted themselves.

    Parameters
    ----------
    rows : DataFrame
        A random sample; of all groups alike, or of a reference.
    features : list of str, optional
        Columns that were asked for: one that cannot be counted is then an error.
    only_numbers : bool
        Whether all columns are numbers, as those of a matrix.

    Returns
    -------
    Ruler

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = pd.DataFrame({"age": rng.normal(40, 9, 500), "plan": rng.choice(["a", "b", "c"], 500)})
    >>> [(column.name, column.n_bins) for column in make_ruler(rows).columns]
    [('age', 65), ('plan', 5)]
    """
    if len(rows) < 2:
        raise ValueError(f"{len(rows)} rows are too few to choose bins from; a profile is for large tables")
    # How columns are read depends on no labels: any two groups serve.
    halves = np.arange(len(rows)) % 2
    if only_numbers:
        # Every column is one of numbers, whatever it holds: nothing is to be found out.
        prepared = prepare(rows.to_numpy(dtype=np.float64), groups=halves, missing="impute")
        names = dict(
            zip((f"x{place}" for place in range(rows.shape[1])), map(str, rows.columns), strict=True)
        )
        codings = [replace(coding, column=names[coding.column]) for coding in prepared.codings]
        left_out = {names[name]: why for name, why in prepared.left_out.items()}
        return Ruler(tuple(_column(coding, rows[coding.column]) for coding in codings), left_out)
    prepared = prepare(_plain(rows), groups=halves, features=features, missing="impute")
    columns = tuple(_column(coding, rows[coding.column]) for coding in prepared.codings)
    # What is counted by halves would be taken for groups.
    notes = tuple(note for note in prepared.notes if " in '0'" not in note)
    return Ruler(columns, dict(prepared.left_out), notes)


def _plain(rows: pd.DataFrame) -> pd.DataFrame:
    """Ordered categories as plain ones: their levels are counted one by one."""
    ordered = [name for name in rows if getattr(rows[name].dtype, "ordered", False)]
    return rows.astype(dict.fromkeys(ordered, object)) if ordered else rows


def _column(coding: Coding, values: pd.Series) -> CountedColumn:
    numbers = np.empty(0) if coding.one_hot else values.to_numpy(dtype=np.float64, na_value=np.nan)
    return counted_column(coding, numbers)


def counted_column(coding: Coding, numbers: NDArray[np.float64]) -> CountedColumn:
    """How a column is counted, with bins from some of its numbers; levels need none."""
    if coding.one_hot:
        return CountedColumn(coding)
    return _number(coding, np.sort(numbers[~np.isnan(numbers)]))


def _number(coding: Coding, ranked: NDArray[np.float64]) -> CountedColumn:
    """Bins of about equal numbers of rows; of few values each has its own."""
    distinct = np.unique(ranked)
    if len(distinct) <= MOST_BOUNDS:
        bounds = distinct[1:] - np.diff(distinct) / 2
    else:
        at = np.linspace(0, len(ranked), MOST_BOUNDS + 2)[1:-1].astype(int)
        # Between two rows: a profile without rows tells the number of none.
        bounds = np.unique(ranked[at - 1] / 2 + ranked[at] / 2)
        bounds = bounds[bounds > ranked[0]]
    bin_of = np.searchsorted(bounds, ranked, side="right")
    counts = np.bincount(bin_of, minlength=len(bounds) + 1)
    middle = (np.cumsum(counts) - counts / 2) / len(ranked)
    scores = np.rint(ndtri(np.clip(middle, 1e-3, 1 - 1e-3)) / SCORE_STEP)
    # Means of the bins; of one in which no row fell, where it ends or begins.
    ends = np.append(bounds, bounds[-1:] if len(bounds) else 0.0)
    values = np.where(counts > 0, np.bincount(bin_of, ranked, len(counts)) / np.maximum(counts, 1), ends)
    quarter = float(ranked[(3 * len(ranked)) // 4] - ranked[len(ranked) // 4])
    scale = quarter / 1.35 or float(ranked.std()) or 1.0
    return CountedColumn(
        coding,
        tuple(bounds.tolist()),
        float(ranked[len(ranked) // 2] / 2 + ranked[max(0, len(ranked) // 2 - 1)] / 2),
        scale,
        tuple(values.tolist()),
        (*scores.astype(int).tolist(), 0),
    )
