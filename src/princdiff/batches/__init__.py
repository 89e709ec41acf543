"""Batches over time against a reference: when did it begin to differ, and in what."""

from princdiff.batches.batches_result import BatchesResult
from princdiff.batches.comparing import compare_batches

__all__ = ["BatchesResult", "compare_batches"]
