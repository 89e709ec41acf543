"""Tables of any kind, read, checked and turned into rows of numbers."""

from princdiff.tables.column_info import ColumnInfo
from princdiff.tables.encoding import Coding
from princdiff.tables.later_rows import Encoded, encode
from princdiff.tables.messages import MissingValuesError
from princdiff.tables.preparation import Prepared, prepare
from princdiff.tables.readers import read

__all__ = [
    "Coding",
    "ColumnInfo",
    "Encoded",
    "MissingValuesError",
    "Prepared",
    "encode",
    "prepare",
    "read",
]
