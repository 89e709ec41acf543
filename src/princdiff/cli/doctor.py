"""``princdiff doctor``: what princdiff runs on, for a report of a problem."""

from __future__ import annotations

import argparse
import importlib.util
import io
import os
from contextlib import redirect_stdout
from importlib.metadata import PackageNotFoundError, version

from princdiff.cli import argument_parser as types
from princdiff.cli.streams import SAME, say

# What each extra brings, and what it is for.
_EXTRAS = {
    "parquet": (("pyarrow",), "parquet and feather files"),
    "anndata": (("anndata",), "h5ad files, princdiff.tl"),
    "report": (("vl_convert",), "the HTML report"),
    "dask": (("dask", "distributed"), "rows on a cluster"),
}
_ALSO = {"polars": "polars frames"}


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the parser."""
    parser = types.add_command(
        commands, "doctor", "show versions, engine, threads and which extras are installed", ""
    )
    parser.add_argument("--debug", action="store_true", help=argparse.SUPPRESS)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from princdiff.kernels.engine_choice import show_config

    shown = io.StringIO()
    with redirect_stdout(shown):
        show_config()
    lines = [shown.getvalue().rstrip(), f"{'threads':<13} {_threads()}"]
    for name, (modules, purpose) in _EXTRAS.items():
        absent = [module for module in modules if importlib.util.find_spec(module) is None]
        state = f"absent: pip install 'princdiff[{name}]'" if absent else _versions(modules)
        lines.append(f"{name:<13} {state} ({purpose})")
    for module, purpose in _ALSO.items():
        if importlib.util.find_spec(module) is not None:
            lines.append(f"{module:<13} {_versions([module])} ({purpose})")
    say("\n".join(lines))
    return SAME


def _threads() -> str:
    """Cores that may be used, and what limits the libraries of linear algebra."""
    from threadpoolctl import threadpool_info

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    pools = [f"{pool['internal_api']} {pool['num_threads']}" for pool in threadpool_info()]
    limits = [f"{name}={os.environ[name]}" for name in _LIMITS if name in os.environ]
    return "; ".join([f"{cores} cores", *dict.fromkeys(pools), *limits])


_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def _versions(modules: tuple[str, ...] | list[str]) -> str:
    return ", ".join(f"{module} {_version(module)}" for module in modules)


def _version(module: str) -> str:
    try:
        return version({"vl_convert": "vl-convert-python"}.get(module, module))
    except PackageNotFoundError:
        return "of unknown version"
