"""What princdiff runs on."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from princdiff import __version__
from princdiff.kernels.engine_choice import describe_engine

_LIBRARIES = ("numpy", "scipy", "scikit-learn", "pandas", "joblib")


def show_config() -> None:
    """Print versions and the engine of the inner loops, for a report of a problem.

    Examples
    --------
    >>> from princdiff import show_config
    >>> show_config()
    princdiff     ...
    engine        ...
    """
    lines = {"princdiff": __version__, "engine": describe_engine()}
    lines["python"] = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    for name in _LIBRARIES:
        try:
            lines[name] = version(name)
        except PackageNotFoundError:
            lines[name] = "missing"
    for name, text in lines.items():
        print(f"{name:<13} {text}")
