"""What results have in common: a file that reads back exactly, a page, a text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar, Self

from princdiff.data import parameters
from princdiff.files import write_text
from princdiff.result.schema import read_saved, refuse_other_files

# Where a saved file of each kind is read.
_READERS = {
    "princdiff comparison": "princdiff.load",
    "princdiff comparison of groups": "GroupsResult.load",
    "princdiff comparison of batches": "BatchesResult.load",
}


class Saved:
    """A result in a file of its own kind, which says what it is and in which format."""

    KIND: ClassVar[str]
    FORMAT: ClassVar[int]

    __hash__ = None  # type: ignore[assignment]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain dicts, lists, strings and finite numbers; a missing number is None."""
        return {"kind_of_file": self.KIND, "format": self.FORMAT, **self._to_plain()}

    def save(self, path: str | Path) -> Path:
        """Write a file that `load` reads back exactly; an old file is replaced at once or not at all."""
        write_text(path, json.dumps(self.to_dict(), allow_nan=False))
        return Path(path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a saved result. Nothing in the file is executed."""
        parameters.check({"path": path}, path=parameters.File())
        content = read_saved(path, cls.KIND)
        kind = content.get("kind_of_file")
        if kind != cls.KIND and kind in _READERS:
            raise ValueError(f"{path} is not a saved {cls.KIND}, but a {kind}: read it with {_READERS[kind]}")
        refuse_other_files(path, content, cls.KIND, cls.FORMAT)
        try:
            return cls._from_plain(content)
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path} is damaged: {error}") from None

    def to_html(self, path: str | Path) -> Path:
        """Write one page, which works offline and prints.

        Parameters
        ----------
        path : str or Path
            The file. An existing one is replaced at once or, if anything fails, not at all.

        Returns
        -------
        Path
            The file written.
        """
        parameters.check({"path": path}, path=parameters.File())
        write_text(path, self._page())
        return Path(path)

    def __str__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """A text that a person reads."""
        raise NotImplementedError

    def _to_plain(self) -> dict[str, Any]:
        raise NotImplementedError

    @classmethod
    def _from_plain(cls, content: dict[str, Any]) -> Self:
        raise NotImplementedError

    def _page(self) -> str:
        raise NotImplementedError
