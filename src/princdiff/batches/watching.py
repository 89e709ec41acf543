"""`Watch`: one batch after the other against a reference, for ever, with one promise over all of them.

The chance that any column is ever named that did not change is at most ``alpha``, however long one watches
and whenever one looks; what was said of a batch never changes. A watch is a file: the ruler and the sums of
the reference, those of the last batches, and what was said.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from princdiff.batches.batches_result import LEVEL, BatchesResult, about_skipped
from princdiff.batches.over_time import short_batches
from princdiff.batches.row_features import RowFeatures, Summary, as_table, summed
from princdiff.batches.spending import WINDOWS, looks
from princdiff.batches.unit_test import UnitTest, unit_test
from princdiff.batches.watched_columns import followed, told
from princdiff.data import parameters
from princdiff.data.run import seed_from
from princdiff.profiles.ruler import Ruler, make_ruler
from princdiff.tables.frames import Table, plural

# Units of the reference: more make a test little sharper and slower.
_UNITS = 200
# Units of a batch or window at most, as a multiple of those of the reference.
_MOST_UNITS = 4
# Rows of the reference that the ruler is made from, and that are not counted: a fifth, at most so many.
_RULER_SHARE, _RULER_ROWS = 0.2, 2_000
# Rows with which a watch can begin.
_FEWEST_ROWS = 50


@dataclass(frozen=True)
class Look:
    """What was seen in one window.

    Attributes
    ----------
    window : int
        How many batches, the last one included.
    part : float
        Of the error that could be spent.
    pvalue : float
    named : list of int
        Features that differ.
    """

    window: int
    part: float
    pvalue: float
    named: list[int]


@dataclass(frozen=True, eq=False)
class Seen:
    """What is kept of one batch, for ever.

    Attributes
    ----------
    name : str
    digest : str
        Of its rows, by which the same batch is known again.
    summary : Summary
    looks : list of Look
        Empty where it had too few rows.
    adjusted : float
        The smallest p-value of the looks, adjusted for all looks that ever were or will be.
    """

    name: str
    digest: str
    summary: Summary
    looks: list[Look]
    adjusted: float


@dataclass(eq=False, repr=False)
class Watch:
    """Batches as they come, against a reference, with one promise over all of them.

    Begin with `Watch.begin`, go on with `Watch.load`.

    Attributes
    ----------
    reference : str
        What it is called.
    digest : str
        Of its rows, by which it is known again.
    alpha : float
        Chance that any column is ever named that did not change; with ``error="fdr"`` the share of batches
        said to differ that is expected not to.
    error : {"fwer", "fdr"}
        Which of the two is promised.
    seed : int
        Of the dealing of rows and of permutations.
    ruler : Ruler
        Bins and levels.
    unit_rows : int
        Rows of a unit.
    summary : Summary
        Of the reference.
    units : array of shape (n_units, n_features)
        Sums of the reference.
    recent : list of arrays of shape (n_units, n_features)
        Those of the last batches that could be looked at, the oldest first.
    seen : list of Seen
        All batches.
    notes : list of str
        What was left out.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from princdiff import Watch
    >>> rng = np.random.default_rng(0)
    >>> def day(shift=0.0):
    ...     return pd.DataFrame({"size": rng.normal(shift, 1, 300), "age": rng.normal(size=300)})
    >>> watch = Watch.begin(pd.concat([day() for _ in range(5)], ignore_index=True))
    >>> for name in ("monday", "tuesday", "wednesday"):
    ...     found = watch.add(day(shift=0.5 * (name == "wednesday")), name)
    >>> found.began, found.to_frame(by="column")["column"].tolist()
    ('wednesday', ['size'])
    """

    reference: str
    digest: str
    alpha: float
    error: str
    seed: int
    ruler: Ruler
    unit_rows: int
    summary: Summary
    units: NDArray[np.float64]
    recent: list[NDArray[np.float64]] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.features = RowFeatures(self.ruler)

    @classmethod
    def begin(
        cls,
        reference: Any,
        *,
        name: str = "the reference",
        features: list[str] | None = None,
        exclude: list[str] | None = None,
        alpha: float = LEVEL,
        error: str = "fwer",
        random_state: Any = 0,
    ) -> Watch:
        """Begin to watch.

        Parameters
        ----------
        reference : path, DataFrame or array
            Rows that batches are compared with.
        name : str
            What it is called.
        features, exclude : list of str, optional
            Columns to watch, or not to.
        alpha : float, default=0.05
            Chance that any column is ever named that did not change.
        error : {"fwer", "fdr"}, default="fwer"
            "fdr": the expected share of batches said to differ that do not, at most ``alpha`` if p-values are
            independent or depend positively on each other (LOND).
        random_state : int, RandomState, Generator or None, default=0
            Seed.

        Returns
        -------
        Watch
        """
        parameters.check(
            {"name": name, "alpha": alpha, "error": error},
            name=parameters.Text(),
            error=parameters.Choice("fwer", "fdr"),
        )
        table = as_table(reference, name)
        if table.n_rows < _FEWEST_ROWS:
            raise ValueError(
                f"{name} has {plural(table.n_rows, 'row')}; a reference to watch by needs {_FEWEST_ROWS}"
            )
        seed = seed_from(random_state)
        order = np.random.default_rng([seed, 0]).permutation(table.n_rows)
        count = min(_RULER_ROWS, math.ceil(_RULER_SHARE * table.n_rows))
        frame = table.frame()
        unknown = [column for column in [*(features or ()), *(exclude or ())] if column not in frame]
        if unknown:
            raise ValueError(
                f"{name} has no column {unknown[0]!r}; its columns are {', '.join(map(str, frame))}"
            )
        chosen = frame.drop(columns=list(exclude or ())).iloc[np.sort(order[:count])].reset_index(drop=True)
        ruler = make_ruler(chosen, features)
        rest = as_table(frame.iloc[np.sort(order[count:])].reset_index(drop=True), name)
        unit_rows = max(1, rest.n_rows // _UNITS)
        watched, rng = RowFeatures(ruler), np.random.default_rng([seed, 1])
        sums, _ = summed(watched, rest, unit_rows, _UNITS, rng)
        # What is told is of all rows, those of the ruler too.
        _, summary = summed(watched, table, unit_rows, 0, rng)
        notes = [f"Column {column!r} is not watched: {why}." for column, why in ruler.left_out.items()]
        digest = _digest(table)
        return cls(name, digest, float(alpha), error, seed, ruler, unit_rows, summary, sums, notes=notes)

    def add(self, batch: Any, name: str = "") -> BatchesResult:
        """Look at the next batch.

        Parameters
        ----------
        batch : path, DataFrame or array
            Its rows.
        name : str, optional
            What it is called; default its number.

        Returns
        -------
        BatchesResult
            All batches so far. A batch that was added before, under its name, is not looked at again.
        """
        name = name or f"batch {len(self.seen) + 1}"
        table = as_table(batch, name)
        digest = _digest(table)
        if self._is_known(name, digest):
            return self.result()
        number = len(self.seen) + 1
        rng = np.random.default_rng([self.seed, 2, number])
        sums, summary = summed(self.features, table, self.unit_rows, _MOST_UNITS * len(self.units), rng)
        self._look(sums, Seen(name, digest, summary, [], math.nan), rng)
        return self.result()

    def is_reference(self, rows: Any) -> bool:
        """Whether rows are those that the watch began with."""
        return _digest(as_table(rows, self.reference)) == self.digest

    def _is_known(self, name: str, digest: str) -> bool:
        """Whether these rows were added before; other rows under their name are refused."""
        known = {self.reference: self.digest, **{one.name: one.digest for one in self.seen}}
        if name in known and known[name] != digest:
            raise ValueError(
                f"batch {name!r} was seen before, with other rows: what was said of it cannot change; give "
                "the new rows another name"
            )
        return name in known

    def _look(self, sums: NDArray[np.float64], batch: Seen, rng: np.random.Generator) -> None:
        """Test the batch, and windows that end with it; keep what was seen."""
        if not len(sums):
            self.seen.append(batch)
            return
        self.recent = [*self.recent, sums][-WINDOWS[-1] :]
        number = 1 + sum(bool(one.looks) for one in self.seen)
        found: list[Look] = []
        adjusted = 1.0
        for window, part in looks(number):
            level = self.level(part)
            test = self._tested(window, level, rng)
            found.append(Look(window, part, test.pvalue, np.flatnonzero(test.named).tolist()))
            adjusted = min(adjusted, test.pvalue * self.alpha / level)
        self.seen.append(Seen(batch.name, batch.digest, batch.summary, found, adjusted))

    def level(self, part: float) -> float:
        """The level of a look that may spend a part of the error."""
        said = sum(bool(one.adjusted <= self.alpha) for one in self.seen) if self.error == "fdr" else 0
        return self.alpha * part * (said + 1)

    def _tested(self, window: int, level: float, rng: np.random.Generator) -> UnitTest:
        sums = np.concatenate(self.recent[-window:])
        most = _MOST_UNITS * len(self.units)
        if len(sums) > most:
            sums = sums[rng.choice(len(sums), most, replace=False)]
        return unit_test(self.units, sums, level, rng)

    def result(self) -> BatchesResult:
        """What was said so far, as a table, a text and a page."""
        if not self.seen:
            raise ValueError("no batch was added yet: call add")
        rows = [one.summary.rows for one in self.seen]
        short = [
            f"{one.summary.rows} rows" if not one.looks else why
            for one, why in zip(self.seen, short_batches(rows, [], [""] * len(rows)), strict=True)
        ]
        history = followed(self, short)
        columns, changes, effects = told(self, history)
        frame = pd.DataFrame(
            {
                "batch": [one.name for one in self.seen],
                "rows": rows,
                "effect": effects,
                "low": np.nan,
                "high": np.nan,
                "pvalue": [min((look.pvalue for look in one.looks), default=np.nan) for one in self.seen],
                "adjusted": [one.adjusted for one in self.seen],
                "differs": [bool(one.adjusted <= self.alpha) for one in self.seen],
                "columns": columns,
                "changes": changes,
                "short": short,
            }
        )
        few = f"fewer than {plural(self.unit_rows, 'row')}"
        skipped = {one.name: few for one in self.seen if not one.looks}
        return BatchesResult(
            frame,
            {},
            self.reference,
            self.summary.rows,
            alpha=self.alpha,
            skipped=skipped,
            notes=[*self.notes, *([about_skipped(skipped)] if skipped else [])],
            history=history,
        )

    def __repr__(self) -> str:
        differ = sum(bool(one.adjusted <= self.alpha) for one in self.seen)
        return f"<Watch of {len(self.seen)} batches against {self.reference}: {differ} differ>"

    def save(self, path: str | Path) -> Path:
        """Write the watch to a file; an old file is replaced at once or not at all."""
        from princdiff.batches.watch_file import save_watch

        save_watch(self, path)
        return Path(path)

    @classmethod
    def load(cls, path: str | Path) -> Watch:
        """Go on with a watch that was saved."""
        parameters.check({"path": path}, path=parameters.File())
        from princdiff.batches.watch_file import load_watch

        return load_watch(path)


def _digest(table: Table) -> str:
    """By which the same rows are known again."""
    frame = table.frame()
    found = hashlib.sha256(repr([str(name) for name in frame]).encode())
    for name in frame:
        values = frame[name]
        plain = values if values.dtype.kind in "biufM" else values.astype(str)
        found.update(pd.util.hash_pandas_object(plain, index=False).to_numpy().tobytes())
    return found.hexdigest()
