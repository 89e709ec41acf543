"""Rows kept as they are: those with the smallest random keys, so that samples of parts merge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from princdiff.profiles.arrow_columns import arrow


@dataclass(eq=False)
class SampledRows:
    """Rows with their keys, by group.

    Attributes
    ----------
    rows : dict of str to pyarrow.Table
    keys : dict of str to uint32 arrays
    """

    rows: dict[str, Any] = field(default_factory=dict)
    keys: dict[str, NDArray[np.uint32]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        table: Any,
        names: list[str],
        places: NDArray[np.int64],
        keys: NDArray[np.uint32],
        taken: NDArray[np.intp],
    ) -> SampledRows:
        """Some rows of a table, whose groups are ``names[places]``."""
        found = cls()
        for place in np.unique(places[taken]).tolist():
            own = taken[places[taken] == place]
            found.rows[names[place]] = table.take(arrow().array(own))
            found.keys[names[place]] = keys[own]
        return found

    @classmethod
    def lowest(
        cls,
        table: Any,
        names: list[str],
        places: NDArray[np.int64],
        keys: NDArray[np.uint32],
        most: int,
    ) -> SampledRows:
        """The rows of every group with the smallest keys."""
        taken = []
        for place in range(len(names)):
            own = np.flatnonzero(places == place)
            if len(own) > most:
                own = own[np.argpartition(keys[own], most - 1)[:most]]
            taken.append(own)
        return cls.of(table, names, places, keys, np.concatenate(taken) if taken else np.empty(0, np.intp))

    def __add__(self, other: SampledRows) -> SampledRows:
        """Rows of both."""
        if not self.rows:
            return other
        pa = arrow()
        rows, keys = dict(self.rows), dict(self.keys)
        for name, table in other.rows.items():
            if name in rows:
                try:
                    rows[name] = pa.concat_tables([rows[name], table], promote_options="permissive")
                except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
                    raise ValueError(
                        f"parts of the table have columns of different types: {error}"
                    ) from error
                keys[name] = np.concatenate([keys[name], other.keys[name]])
            else:
                rows[name], keys[name] = table, other.keys[name]
        return SampledRows(rows, keys)

    def of_one(self, names: Sequence[str], called: str, most: int) -> SampledRows:
        """Some groups as one, each with as large a share of its rows; nothing if one has none.

        Parameters
        ----------
        names : list of str
            Groups.
        called : str
            What they are called together.
        most : int
            Rows of a group that was cut.
        """
        if not all(name in self.rows for name in names):
            return SampledRows()
        full = [int(self.keys[name].max()) for name in names if len(self.keys[name]) >= most]
        found = SampledRows()
        for name in names:
            own = np.flatnonzero(self.keys[name] <= min(full, default=2**32))
            table = self.rows[name].take(arrow().array(own))
            found = found + SampledRows({called: table}, {called: self.keys[name][own]})
        return found

    def cut(self, most: int) -> SampledRows:
        """At most so many rows of each group, those with the smallest keys, in the order of their keys."""
        rows, keys = {}, {}
        for name, table in self.rows.items() if most else ():
            order = np.argsort(self.keys[name], kind="stable")[:most]
            rows[name], keys[name] = table.take(arrow().array(order)), self.keys[name][order]
        return SampledRows(rows, keys)

    def frame(self, name: str) -> pd.DataFrame:
        """The rows of a group as a data frame."""
        table = self.rows[name]
        frame: pd.DataFrame = table.to_pandas(date_as_object=False)
        return frame
