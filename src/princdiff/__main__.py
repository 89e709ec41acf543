"""``python -m princdiff``: the command line where its script is not on the path."""

import sys

from princdiff.cli import main

if __name__ == "__main__":
    sys.exit(main())
