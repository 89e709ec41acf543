"""Batches over time against a reference: when did it begin to differ, and in what."""

from princdiff.batches.asserting import assert_no_drift
from princdiff.batches.batches_result import BatchesResult
from princdiff.batches.comparing import compare_batches
from princdiff.batches.equivalence import EquivalenceResult, equivalent
from princdiff.batches.watching import Watch

__all__ = ["BatchesResult", "EquivalenceResult", "Watch", "assert_no_drift", "compare_batches", "equivalent"]
