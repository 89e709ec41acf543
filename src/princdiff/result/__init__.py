"""What a comparison found, in numbers and in words."""

from princdiff.result.difference import DifferenceResult, load

__all__ = ["DifferenceResult", "load"]
