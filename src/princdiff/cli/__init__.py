"""The command line: files in, an answer on the screen, and an exit code that a script can act upon.

Everything heavy is imported inside the commands: ``princdiff --help`` must not wait for NumPy.
"""

from princdiff.cli.main import main

__all__ = ["main"]
