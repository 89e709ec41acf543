"""What a comparison found, in numbers and in words."""

from princdiff.result.difference import DifferenceResult, load
from princdiff.result.groups import GroupsResult

__all__ = ["DifferenceResult", "GroupsResult", "load"]
