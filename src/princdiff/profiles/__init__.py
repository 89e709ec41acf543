"""Sums of a table that can be made anywhere, merged, kept and compared; see `princdiff.profile`."""

from princdiff.profiles.profile_file import load_profile
from princdiff.profiles.profiling import Profile, profile

__all__ = ["Profile", "load_profile", "profile"]
