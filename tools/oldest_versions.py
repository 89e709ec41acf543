"""Print pip constraints that hold every dependency at its lowest allowed version.

`make test-oldest` installs with them. The versions stand in pyproject.toml and nowhere else: ``numpy>=2.0``
becomes ``numpy==2.0.*``. Only what users install is held back, not the tools that test.

    python tools/oldest_versions.py > build/oldest.txt
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"
# Extras that add a capability; the others are tools.
CAPABILITIES = ("anndata", "parquet", "dask", "report")
_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(\[[\w,.-]+\])?\s*>=\s*(?P<version>[\d.]+)")


def constraints(pyproject: Path = PYPROJECT) -> list[str]:
    """One constraint for each dependency of the package and of its capabilities."""
    project = tomllib.loads(pyproject.read_text())["project"]
    extras = project["optional-dependencies"]
    requirements = [*project["dependencies"], *(line for name in CAPABILITIES for line in extras[name])]
    found = []
    for requirement in requirements:
        match = _REQUIREMENT.match(requirement)
        if match is None:
            raise ValueError(f"{requirement!r} in {pyproject.name} has no lowest version (name>=version)")
        found.append(f"{match['name']}=={match['version']}.*")
    return found


if __name__ == "__main__":
    sys.stdout.write("\n".join(constraints()) + "\n")
