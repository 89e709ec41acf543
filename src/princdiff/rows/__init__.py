"""Rows that do not fit into memory: read block by block, or left where they are on a cluster."""

from princdiff.rows.chunks import RowChunks
from princdiff.rows.opening import open_rows

__all__ = ["RowChunks", "open_rows"]
