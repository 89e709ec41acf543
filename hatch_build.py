"""Compile the kernels when a wheel or an editable installation is made; without a compiler, do without."""

from __future__ import annotations

import importlib.util
import os
import sysconfig
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class KernelHook(BuildHookInterface):
    """One library for all versions of Python: the wheel is tagged py3-none-<platform>."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile into the source tree, from which the wheel takes it."""
        kernels = Path(self.root) / "src" / "princdiff" / "kernels"
        build = _load(kernels / "build.py")
        build.LIBRARY.unlink(missing_ok=True)
        try:
            library = build.build_or_say_why()
        except build.CannotCompile as error:
            if os.environ.get("PRINCDIFF_REQUIRE_COMPILER"):
                raise
            build_data["artifacts"].append(str(build.REASON.relative_to(self.root)))
            self.app.display_warning(
                f"princdiff: the kernels are not compiled, NumPy takes their place: {error}"
            )
            return
        build_data["artifacts"].append(str(library.relative_to(self.root)))
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{_platform()}"


def _platform() -> str:
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")


def _load(path: Path) -> ModuleType:
    """The module that compiles, by its path: the package itself is not installed yet."""
    spec = importlib.util.spec_from_file_location("princdiff_kernels_build", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
