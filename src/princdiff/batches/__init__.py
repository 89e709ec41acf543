"""Batches over time against a reference: when did it begin to differ, and in what."""

from princdiff.batches.batches_result import BatchesResult
from princdiff.batches.comparing import compare_batches
from princdiff.batches.watching import Watch

__all__ = ["BatchesResult", "Watch", "compare_batches"]
