"""What a comparison found, in numbers and in words."""

from princdiff.result.difference import DifferenceResult
from princdiff.result.groups import GroupsResult
from princdiff.result.loading import load

__all__ = ["DifferenceResult", "GroupsResult", "load"]
