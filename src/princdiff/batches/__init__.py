"""Batches over time against a reference: when did it begin to differ, and in what."""

from princdiff.batches.comparing import compare_batches
from princdiff.batches.result import BatchesResult

__all__ = ["BatchesResult", "compare_batches"]
