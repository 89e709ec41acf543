"""Tables as text: csv and tsv, from a file, a pipe or the standard input.

pandas parses; this module guards against what pandas lets through: rows that do not fit the header and would
shift all columns by one, codes such as 007 that would become numbers, and an interrupt that would look like a
damaged file.
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import IO, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from princdiff.tables.column_values import parsed
from princdiff.tables.dates import are_dates
from princdiff.tables.frames import listed, plural, refuse_duplicates

SEPARATORS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}
_CHUNK = 1 << 22
_READ_FAILED = "Calling read(nbytes) on source failed"
_CODE = r"\s*[+-]?0\d"
_GZIP = b"\x1f\x8b"
# What stands for a missing value: what pandas takes for one, but for "None", which is a common answer.
_NONE = "None"
_FLAGS = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}
_MISSING = (
    *("", "NA", "N/A", "n/a", "#N/A", "#N/A N/A", "#NA", "<NA>", "NULL", "null"),
    *("NaN", "-NaN", "nan", "-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
)


@dataclass(frozen=True)
class TextFile:
    """Text that can be read more than once.

    Attributes
    ----------
    name : str
        What messages call it.
    open_bytes : callable
        Gives a new binary stream, uncompressed.
    separator : str
        What stands between fields.
    """

    name: str
    open_bytes: Callable[[], IO[bytes]]
    separator: str

    def open_text(self) -> io.TextIOWrapper:
        """A new stream of text; a byte order mark is no part of it."""
        return io.TextIOWrapper(self.open_bytes(), encoding="utf-8-sig", newline="")

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Fields of each row that is not blank, with the number of the line on which the row ends."""
        with self.open_text() as stream:
            reader = csv.reader(stream, delimiter=self.separator, skipinitialspace=True)
            for fields in reader:
                if fields:
                    yield reader.line_num, fields


def _is_gzip(source: TextFile) -> bool:
    with source.open_bytes() as stream:
        return stream.read(2) == _GZIP


def text_in_memory(content: bytes, name: str) -> TextFile:
    """Text that came through a pipe: it is kept, as a pipe can be read once only."""
    if content[:2] == _GZIP:
        content = gzip.decompress(content)
    first = content[:_CHUNK].split(b"\n", 1)[0]
    separator = "\t" if b"\t" in first and b"," not in first else ","
    return TextFile(name, lambda: io.BytesIO(content), separator)


class _Watched:
    """A text stream that remembers what went wrong: pandas says only that reading failed."""

    def __init__(self, stream: IO[str], name: str) -> None:
        self._stream, self._name = stream, name
        self.error: BaseException | None = None

    def read(self, size: int = -1) -> str:
        try:
            text = self._stream.read(size)
            if "\0" in text:
                # pandas would take them for missing values.
                raise ValueError(f"{self._name} holds NUL characters: it is damaged, or no text")
            return text
        except BaseException as error:
            self.error = error
            raise

    def __iter__(self) -> Iterator[str]:
        return iter(self._stream)


def read_text(source: TextFile) -> tuple[pd.DataFrame, TextFile]:
    """Read a table from text.

    Parameters
    ----------
    source : TextFile
        UTF-8 text with a header line.

    Returns
    -------
    frame : DataFrame
        Columns of numbers, booleans or text. A column of digits in which some have leading zeros is text.
    source : TextFile
        With the separator that was found.
    """
    try:
        source = _with_found_separator(source)
        names_rows = _check_rows(source)
        frame = _parse(source)
        _refuse_swallowed_rows(source, frame)
    except UnicodeError as error:
        if _is_gzip(source):
            raise ValueError(f"{source.name} is a gzip file; give it a name that ends in .gz") from None
        raise ValueError(f"{source.name} is not UTF-8 text ({error}); save it as UTF-8") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{source.name} is not a whole gzip file: {first_line(error)}") from error
    except pd.errors.EmptyDataError as error:
        raise ValueError(f"{source.name} is empty") from error
    except (pd.errors.ParserError, csv.Error) as error:
        how = f"text separated by {SEPARATORS[source.separator]}"
        raise ValueError(f"{source.name} cannot be read as {how}: {first_line(error)}") from error
    if names_rows:
        frame.index.name = "row names"
    frame.columns = [str(name).strip() for name in frame.columns]
    _read_none(frame)
    return _with_codes_as_text(source, frame), source


def _refuse_swallowed_rows(source: TextFile, frame: pd.DataFrame) -> None:
    """A quote that is not closed takes the rows up to the next quote into its field."""
    for place, dtype in enumerate(frame.dtypes):
        if dtype.kind in "biufM":
            continue
        texts = frame.iloc[:, place]
        several = texts.str.contains("\n", regex=False, na=False).to_numpy(dtype=bool)
        for row in np.flatnonzero(several).tolist():
            if not _holds_rows(str(texts.iloc[row]), place, frame, source.separator):
                continue
            count = plural(str(texts.iloc[row]).count("\n"), "whole row")
            raise ValueError(
                f"{source.name}: column {str(frame.columns[place])!r} holds {count} in row {row} (rows count "
                "from 0): a quote that was opened there is not closed, or not doubled"
            )


def _holds_rows(text: str, place: int, frame: pd.DataFrame, separator: str) -> bool:
    """Whether a text of several lines is the end of a row, whole rows, and the beginning of another."""
    first, *between, last = (line.split(separator) for line in text.split("\n"))
    width = frame.shape[1]
    if len(first) != width - place or len(last) != place + 1 or any(len(line) != width for line in between):
        return False
    fields = [*last[:-1], "", *first[1:]]
    numeric = [field for field, dtype in zip(fields, frame.dtypes, strict=True) if dtype.kind in "iuf"]
    # A list in an address has as many commas by accident, but no numbers where the table has them.
    return bool(numeric) and all(
        field.strip() in _MISSING or np.isfinite(parsed([field])).all() for field in numeric
    )


def _read_none(frame: pd.DataFrame) -> None:
    """Among words None is one of them, as in "None, Some"; among numbers, dates and flags it is missing."""
    for place, dtype in enumerate(frame.dtypes):
        if dtype.kind not in "OU" and not isinstance(dtype, pd.StringDtype):
            continue
        column = frame.iloc[:, place]
        none = (column == _NONE).to_numpy(dtype=bool, na_value=False)
        if not none.any():
            continue
        rest = column.mask(none)
        words = {str(word).strip() for word in rest.dropna().unique()}
        numbers = dict(zip(sorted(words), parsed(sorted(words)), strict=True))
        if np.isfinite(list(numbers.values())).all():
            frame.isetitem(place, rest.str.strip().map(numbers).astype(float))
        elif words <= set(_FLAGS):
            frame.isetitem(place, rest.map(lambda word: _FLAGS.get(str(word).strip(), np.nan)))
        elif are_dates(sorted(words)):
            frame.isetitem(place, rest)


def _parse(source: TextFile, **options: Any) -> pd.DataFrame:
    with source.open_text() as stream:
        watched = _Watched(stream, source.name)
        try:
            return pd.read_csv(
                watched,  # type: ignore[call-overload]
                sep=source.separator,
                skipinitialspace=True,
                # Others misread the last digit of one number in three.
                float_precision="round_trip",
                low_memory=False,
                keep_default_na=False,
                na_values=list(_MISSING),
                **options,
            )
        except pd.errors.ParserError as error:
            if _READ_FAILED not in str(error):
                raise
            # An interrupt that struck between two reads is all that can have gone unseen.
            raise (watched.error or KeyboardInterrupt()) from None


# Header and rows --------------------------------------------------------------------------------------------


def _with_found_separator(source: TextFile) -> TextFile:
    """Another separator than the file's ending promises, if the header has that and nothing else."""
    _, header = next(source.rows(), (0, [""]))
    other = next((mark for mark in SEPARATORS if mark != source.separator and mark in header[0]), None)
    return source if len(header) > 1 or other is None else replace(source, separator=other)


def _check_rows(source: TextFile) -> bool:
    """Refuse rows that do not fit the header; whether each row has one field more, its name."""
    rows = source.rows()
    _, header = next(rows, (0, []))
    if not header:
        raise ValueError(f"{source.name} is empty")
    names = [name.strip() for name in header]
    # pandas would rename the second "a" to "a.1", and take the first row of numbers as names.
    refuse_duplicates([name for name in names if name], source.name)
    if _looks_like_values(names):
        raise ValueError(
            f"{source.name} begins with numbers ({listed(names, 3)}), not with column names; add a header "
            "line"
        )
    line, first = next(rows, (0, []))
    if len(first) <= len(names):
        # pandas refuses longer rows further down on its own.
        return False
    _check_row_names(source, len(names), (line, first), rows)
    return True


def _looks_like_values(header: list[str]) -> bool:
    """All numbers, and not the 0, 1, 2 ... that pandas writes for columns without names."""
    try:
        numbers = [float(name) for name in header if name]
    except ValueError:
        return False
    counted = [float(position) for position in range(len(numbers))]
    return bool(numbers) and numbers not in (counted, [position + 1 for position in counted])


def _check_row_names(
    source: TextFile, width: int, first: tuple[int, list[str]], rest: Iterable[tuple[int, list[str]]]
) -> None:
    """R writes row names without a name in the header. Anything else with longer rows is a slip."""
    why = ""
    names: set[str] = set()
    last_is_empty = True
    for line, fields in chain([first], rest):
        if len(fields) != width + 1:
            why = "" if line == first[0] else f" and line {line} has {len(fields)}"
            break
        if fields[0] in names:
            why = f" and the first field of line {line} is not a row name, as it occurred before"
            break
        names.add(fields[0])
        last_is_empty &= not fields[-1].strip()
    else:
        if not last_is_empty:
            return
        why = " and the last field is always empty"
    raise ValueError(
        f"{source.name}: line {first[0]} has {len(first[1])} fields, but the header names {width}{why}; mind "
        "separators at the end of lines, decimal commas and unquoted separators"
    )


# Codes ------------------------------------------------------------------------------------------------------


def _with_codes_as_text(source: TextFile, frame: pd.DataFrame) -> pd.DataFrame:
    """Columns in which digits have leading zeros, as the text they are: 01 and 1 are two codes."""
    numeric = [place for place, dtype in enumerate(frame.dtypes) if dtype.kind in "iuf"]
    if not numeric or not _has_leading_zeros(source):
        return frame
    names = [frame.columns[place] for place in numeric]
    for name, texts in zip(names, _texts(source, frame, names), strict=True):
        if texts.str.match(_CODE, na=False).any():
            frame[name] = texts
    return frame


def _texts(source: TextFile, frame: pd.DataFrame, names: Sequence[str]) -> list[pd.Series]:
    """Columns once more, as text."""
    places = [frame.columns.get_loc(name) for name in names]
    if isinstance(frame.index, pd.RangeIndex):
        raw = _parse(source, dtype=str, usecols=places)
    else:
        # Row names stand before the first column and have no place in the header.
        raw = _parse(source, dtype=str).iloc[:, places]
    return [raw.iloc[:, place].set_axis(frame.index) for place in range(len(names))]


def _has_leading_zeros(source: TextFile) -> bool:
    """Whether some field begins with a zero and another digit: a code, or perhaps a date."""
    starts = np.frombuffer(f'{source.separator}\n\r"'.encode(), np.uint8)
    with source.open_bytes() as stream:
        tail = b"\n"
        while chunk := stream.read(_CHUNK):
            block = np.frombuffer(tail + chunk, np.uint8)
            if _zeros_at_start(block, starts):
                return True
            tail = bytes(block[-3:])
    return False


def _zeros_at_start(block: NDArray[np.uint8], starts: NDArray[np.uint8]) -> bool:
    digit = (block[1:] >= ord("0")) & (block[1:] <= ord("9"))
    zeros = np.flatnonzero((block[:-1] == ord("0")) & digit)
    before = block[zeros[zeros > 0] - 1]
    if np.isin(before, starts).any():
        return True
    # A sign or a blank may stand between; blanks alone would stop at the hour of every date.
    later = zeros[zeros > 1]
    later = later[np.isin(block[later - 1], np.frombuffer(b"+- ", np.uint8))]
    return bool(np.isin(block[later - 2], starts).any())


def text_of_column(source: TextFile, frame: pd.DataFrame, name: str) -> pd.Series:
    """One column as it is written in the file."""
    return _texts(source, frame, [name])[0]


def first_line(error: BaseException) -> str:
    """The first line of an error's message, or its kind."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
