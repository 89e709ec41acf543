"""How near the engine is to its floor, and what that means for the work people do.

    make bench                       # into docs/performance.md
    python -m benchmarks.engine [--quick] [--only WORDS ...] [--out FILE]

Processor seconds of one thread, the best of several where it is short. The floor of one evaluation of a batch
of directions is its two matrix products. Both engines, compiled and NumPy, alternate in one run; rows of the
work table run in processes of their own, so that peaks of memory are theirs.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from benchmarks.scale import peak_memory
from princdiff import PDA, SPARDA, compare, permutation_test
from princdiff.data.labels import Labels
from princdiff.data.samples import Samples
from princdiff.divergences import Divergence, Energy, Wasserstein2, WassersteinP, Workspace
from princdiff.divergences.relative import relative
from princdiff.kernels import describe_engine, directions, histograms, over_variance
from princdiff.kernels.column_divergences import DivergenceKernel
from princdiff.kernels.sparse import SparseProducts
from princdiff.solvers.ascent import Evaluator, propose
from princdiff.solvers.sparsity import Sparsity

# Rows, features, columns, rows of the first group; the goal for the ratio to the products.
SHAPES = [
    ((200, 60, 256, 100), 2.0),
    ((200, 60, 256, 80), 2.5),
    ((569, 30, 256, 357), 4.0),
    ((2000, 500, 100, 1000), 1.3),
    ((100_000, 50, 8, 50_000), 2.5),
]


# ---------------------------------------------------------------- time


def best(work: Callable[[], object], budget: float = 0.5) -> float:
    """The least processor seconds of many runs within a budget, after one to warm up."""
    work()
    times: list[float] = []
    begin = time.process_time()
    while len(times) < 5 or (time.process_time() - begin < budget and len(times) < 200):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


@contextlib.contextmanager
def numpy_engine():
    """The same work by NumPy."""
    kernels = [(DivergenceKernel, lambda *_: False)]
    kernels += [(module, lambda *_: False) for module in (directions, histograms, over_variance)]
    kept = [(owner, owner.takes) for owner, _ in kernels]
    for owner, refuses in kernels:
        owner.takes = refuses
    try:
        yield
    finally:
        for owner, takes in kept:
            owner.takes = takes


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return [*lines, *("| " + " | ".join(row) + " |" for row in rows), ""]


# ---------------------------------------------------------------- one evaluation


def evaluation(shape: tuple[int, int, int, int], divergence: Divergence) -> tuple[float, float, float]:
    """Seconds of the two products, of an evaluation by the compiled engine and by NumPy."""
    n_rows, n_features, n_columns, n_first = shape
    rng = np.random.default_rng(0)
    samples = Samples(rng.standard_normal((n_rows, n_features)), "pooled")
    codes = (np.arange(n_rows) >= n_first).astype(np.uint8)
    labels = Labels(np.array([rng.permutation(codes) for _ in range(n_columns)]), 2)
    points = Sparsity(np.full(n_columns, n_features)).project(
        rng.standard_normal((n_columns, n_features), dtype=np.float32)
    )
    slopes = rng.standard_normal((n_columns, n_rows), dtype=np.float32)
    projections = np.empty_like(slopes)
    evaluate = Evaluator(samples, labels, divergence)

    def products() -> None:
        samples.project(points, out=projections)
        samples.backproject(slopes)

    floor = best(products)
    compiled = best(lambda: evaluate(points))
    with numpy_engine():
        plain = best(lambda: evaluate(points))
    return min(floor, best(products)), compiled, plain


def evaluations(quick: bool) -> list[str]:
    rows = []
    for shape, goal in SHAPES[:2] if quick else SHAPES:
        for divergence in (Wasserstein2(), Energy()):
            floor, compiled, plain = evaluation(shape, divergence)
            rows.append(
                [
                    " x ".join(map(str, shape[:3])) + f", {shape[3]} in the first group",
                    divergence.name,
                    f"{1e3 * floor:.2f}",
                    f"{compiled / floor:.1f}",
                    f"{plain / floor:.1f}",
                    f"{goal:g}" if isinstance(divergence, Wasserstein2) else "",
                ]
            )
    head = ["rows x features x directions", "divergence", "two products, ms", "compiled", "NumPy", "goal"]
    return [
        "## One evaluation over its two products",
        "",
        "Projection, sort, values, slopes and gradient of a batch of directions, as a multiple of the time "
        "of the two matrix products alone.",
        "",
        *table(head, rows),
    ]


# ---------------------------------------------------------------- kernels


def kernels(quick: bool) -> list[str]:
    rng = np.random.default_rng(0)
    rows = []

    def add(name: str, work: Callable[[], object], other: Callable[[], object] | None = None) -> None:
        compiled = best(work)
        if other is None:
            with numpy_engine():
                plain = best(work)
        else:
            plain = best(other)
        rows.append([name, f"{1e3 * compiled:.2f}", f"{1e3 * plain:.2f}", f"{plain / compiled:.1f}"])

    n_rows, n_columns = (500, 64) if quick else (2000, 100)
    values = rng.standard_normal((n_columns, n_rows), dtype=np.float32)
    labels = Labels(rng.permutation(np.arange(n_rows) % 2).astype(np.uint8), 2).repeat(n_columns)
    for divergence in (Wasserstein2(), WassersteinP(1), Energy(), relative(Energy(), 0.1)):
        workspace = Workspace()
        add(
            f"{divergence.name}, values and slopes, {n_rows} rows x {n_columns}",
            lambda d=divergence, w=workspace: d.value_and_slope(values, labels, w),
        )
    add(f"{Energy().name}, values only, the same", lambda: Energy().value(values, labels))
    for n_features in (60, 5000):
        current, gradient = rng.standard_normal((2, 100, n_features), dtype=np.float32)
        limits, steps = Sparsity(np.full(100, max(1, n_features // 10))), np.ones(100)
        add(
            f"a step to the tenth largest weights, {n_features} features x 100",
            lambda c=current, g=gradient, k=limits, s=steps: propose(c, g, s, k),
        )
    many = 20_000 if quick else 200_000
    projections = rng.standard_normal((8, many), dtype=np.float32)
    from princdiff.statistics.searched_rows import _Gridded

    pair = Labels((np.arange(many) % 2).astype(np.uint8), 2)
    gridded = _Gridded.of(Energy(), pair)
    assert gridded is not None
    add(
        f"energy from histograms, {many} rows x 8",
        lambda: gridded(projections, pair.codes, np.zeros(8, dtype=np.intp)),
    )
    shape = (300, 1000) if quick else (3000, 10_000)
    matrix = sp.random(*shape, 0.07, format="csr", dtype=np.float32, random_state=0)
    products, transposed = SparseProducts(matrix, transpose=True), matrix.T
    points = rng.standard_normal((8, shape[1]), dtype=np.float32)
    slopes = rng.standard_normal((8, shape[0]), dtype=np.float32)

    def scipy_products() -> None:
        _ = matrix @ np.ascontiguousarray(points.T), transposed @ np.ascontiguousarray(slopes.T)

    def both() -> None:
        products.project(points)
        products.backproject(slopes)

    add(
        f"both products of {shape[0]} x {shape[1]} sparse (7 %) x 8, SciPy instead of NumPy",
        both,
        scipy_products,
    )
    few = points * (rng.random(shape[1]) < 0.005).astype(np.float32)
    add(
        "projecting directions of 0.5 % of the features, the same",
        lambda: products.project(few),
        lambda: matrix @ np.ascontiguousarray(few.T),
    )
    return [
        "## Kernels against NumPy",
        "",
        *table(["kernel", "compiled, ms", "NumPy, ms", "times as fast"], rows),
    ]


# ---------------------------------------------------------------- work


def breast_cancer() -> None:
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    compare(X, groups=y, random_state=0)


def small_table() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 20)), np.arange(400) % 2
    X[y == 1, 3] *= 1.6
    compare(X, groups=y, random_state=0)


def unequal_groups() -> None:
    """Skewed incomes, ages, flags; 185 rows against 15 992."""
    rng = np.random.default_rng(0)
    n_rows = 16_177
    y = np.r_[np.ones(185, dtype=int), np.zeros(n_rows - 185, dtype=int)]
    gains = np.where(rng.random(n_rows) < 0.92, 0.0, np.exp(rng.normal(8, 1, n_rows)))
    X = np.column_stack(
        [
            np.exp(rng.normal(10, 1, n_rows)) * np.where(y, 1.15, 1.0),
            rng.integers(17, 90, n_rows) + 4 * y,
            rng.random((n_rows, 3)) < [0.05, 0.5, 0.3],
            rng.poisson(40, n_rows),
            gains,
            rng.integers(1, 16, n_rows),
            rng.normal(size=n_rows),
        ]
    ).astype(float)
    compare(X, groups=y, random_state=0)


def flags() -> None:
    rng = np.random.default_rng(0)
    n_rows = 50_000
    y = np.arange(n_rows) % 2
    X = np.column_stack(
        [rng.normal(size=(n_rows, 10)), rng.random((n_rows, 90)) < rng.uniform(0.02, 0.5, 90)]
    )
    X[:, 3] += 0.05 * y
    compare(X, groups=y, random_state=0)


def quarter_million() -> None:
    rng = np.random.default_rng(0)
    n_rows = 250_000
    y = np.arange(n_rows) % 2
    X = np.column_stack(
        [
            rng.normal(size=(n_rows, 8)),
            np.exp(rng.normal(size=(n_rows, 4))),
            rng.poisson(3, size=(n_rows, 4)),
            rng.random((n_rows, 4)) < [0.02, 0.1, 0.3, 0.5],
        ]
    ).astype(float)
    X[:, 2] += 0.02 * y
    compare(X, groups=y, random_state=0)


def command_line() -> None:
    """50 000 + 50 000 rows of eight columns: numbers, counts, a flag, categories."""
    from princdiff.cli import main as princdiff

    n_rows = 50_000
    with tempfile.TemporaryDirectory() as folder:
        for seed, name in enumerate(("a.csv", "b.csv")):
            rng = np.random.default_rng(seed)
            age, cities = rng.integers(18, 90, n_rows), np.arange(1, 11) / 55
            pd.DataFrame(
                {
                    "income": np.exp(rng.normal(10, 1, n_rows)).round(2),
                    "age": age,
                    "city": rng.choice(list("ABCDEFGHIJ"), n_rows, p=cities),
                    "member": rng.random(n_rows) < 0.3,
                    "visits": rng.poisson(2, n_rows),
                    "score": rng.normal(size=n_rows) + seed * 0.03 * (age - 50) / 20,
                    "plan": rng.choice(["basic", "plus", "pro", "team", "free", "trial"], n_rows),
                    "region": rng.choice(["n", "s", "e", "w", "ne", "nw", "se"], n_rows),
                }
            ).to_csv(Path(folder) / name, index=False)
        begin = time.process_time()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            princdiff(["compare", str(Path(folder) / "a.csv"), str(Path(folder) / "b.csv")])
        print(f"SECONDS {time.process_time() - begin}")


def sparse_rows() -> tuple[sp.csr_matrix, np.ndarray]:
    rng = np.random.default_rng(0)
    X = sp.random(
        3000, 10_000, 0.07, format="csr", random_state=rng, data_rvs=lambda n: rng.gamma(2.0, size=n)
    )
    y = np.arange(3000) % 2
    shifted = sp.diags(1 + 0.5 * y) @ X[:, :20]
    return sp.hstack([shifted, X[:, 20:]]).tocsr(), y


def sparse_sparda() -> None:
    X, y = sparse_rows()
    begin = time.process_time()
    SPARDA(50, random_state=0).fit(X, y)
    print(f"SECONDS {time.process_time() - begin}")


def sparse_pda() -> None:
    X, y = sparse_rows()
    begin = time.process_time()
    PDA(random_state=0).fit(X, y)
    print(f"SECONDS {time.process_time() - begin}")


def brain_cells() -> None:
    from princdiff.datasets import load_zeisel

    cells = load_zeisel()
    X, y = cells.data, cells.target == np.unique(cells.target)[0]
    begin = time.process_time()
    permutation_test(X, y, n_permutations=999, random_state=0)
    print(f"SECONDS {time.process_time() - begin}")


def adaptive_rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 60))
    X[100:, 0] += 0.3
    return X, np.repeat([0, 1], 100)


def adaptive_test() -> None:
    X, y = adaptive_rows()
    seconds = best(lambda: permutation_test(X, y, n_permutations=100, random_state=0))
    print(f"SECONDS {seconds}")


def hyppo_mmd() -> None:
    from hyppo.ksample import MMD

    X, y = adaptive_rows()
    first, second = X[y == 0], X[y == 1]
    seconds = best(lambda: MMD().test(first, second, reps=100, workers=1, auto=False))
    print(f"SECONDS {seconds}")


# ---------------------------------------------------------------- the beginning

_CANCER = """
import time, warnings
from sklearn.datasets import load_breast_cancer
import princdiff.comparison_steps as steps
from princdiff import Config, compare
warnings.simplefilter("ignore")
X, y = load_breast_cancer(return_X_y=True)
compare(X[:100], groups=y[:100], n_permutations=19)
begin = time.process_time()
"""
_TELL = "\nprint(time.process_time() - begin)"
_NOTED = """
words = steps.first_look
def noted(*given):
    print(time.process_time() - begin)
    return words(*given)
steps.first_look = noted
compare(X, groups=y, config=Config(progress=True))
"""
# What a process of its own does, and prints the processor seconds of.
BEGINNINGS = {
    "import pandas": "import time; begin = 0; import pandas" + _TELL,
    "from princdiff import compare": "import time; begin = 0; from princdiff import compare" + _TELL,
    "breast cancer: first look on the screen": _CANCER + _NOTED,
    "breast cancer: quick=True": _CANCER + "compare(X, groups=y, quick=True)" + _TELL,
    "breast cancer: all": _CANCER + "compare(X, groups=y)" + _TELL,
}


def seconds_of(code: str, threads: str | None) -> float:
    """The least of three runs, with OMP_NUM_THREADS set or not set at all."""
    limits = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    environment = {name: value for name, value in os.environ.items() if name not in limits}
    if threads is not None:
        environment |= dict.fromkeys(limits, threads)
    found = []
    for _ in range(3):
        told = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
        )
        found.append(float(told.stdout.split()[0]))
    return min(found)


def beginnings() -> list[str]:
    """What comes before the answer, and whether threads of BLAS cost anything where nobody limits them."""
    rows = []
    for name, code in BEGINNINGS.items():
        one, free = seconds_of(code, "1"), seconds_of(code, None)
        rows.append([name, f"{one:.2f}", f"{free:.2f}", f"{free / one:.2f}"])
    head = ["work", "OMP_NUM_THREADS=1, seconds", "unset, seconds", "ratio"]
    return ["## The beginning", "", *table(head, rows)]


# What, how to say it, goal in seconds, what it was in the first measurement.
WORK: list[tuple[Callable[[], None], str, str, str]] = [
    (adaptive_test, "adaptive test, 100 + 100 rows, 60 features, 100 permutations", "1.5 x MMD", "0.50"),
    (hyppo_mmd, "hyppo's MMD, the same rows, as many permutations", "", ""),
    (small_table, "compare, 400 x 20", "2.5", "7.6"),
    (breast_cancer, "compare, breast cancer (569 x 30)", "2.5", "17.4"),
    (unequal_groups, "compare, 16 177 x 9, groups of 185 and 15 992", "8", "> 360"),
    (flags, "compare, 50 000 x 100, of which 90 are 0/1", "20", "120, on a sample"),
    (quarter_million, "compare, 250 000 x 20 mixed", "25", "72"),
    (command_line, "princdiff compare a.csv b.csv, 50 000 + 50 000 rows x 8 mixed columns", "20", "> 590"),
    (sparse_sparda, "SPARDA(50), 3000 x 10 000 sparse (7 %)", "2.5", "10.7"),
    (sparse_pda, "PDA, the same", "1.5", "5.5"),
    (brain_cells, "permutation test, 999 relabellings, 3005 x 4172 brain cells", "80", "445"),
]


def run_alone(name: str) -> None:
    """One piece of work in this process: prints its seconds and the peak of memory."""
    work = {function.__name__: function for function, *_ in WORK}[name]
    begin = time.process_time()
    work()
    print(f"SECONDS {time.process_time() - begin}")
    # Not the maximum of getrusage, which begins with that of the process that started this one.
    print(f"PEAK {peak_memory() / 1e6:.0f}")


def measured(name: str) -> tuple[str, str]:
    """Seconds and megabytes of a piece of work in a process of its own."""
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.engine", "--alone", name]
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    outcome = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **one_thread}
    )
    found: dict[str, str] = {}
    for line in outcome.stdout.splitlines():
        word, _, number = line.partition(" ")
        found.setdefault(word, number)
    if "PEAK" not in found:
        ended = "the process was ended before it was done"
        if outcome.returncode < 0:
            ended += f", by signal {-outcome.returncode}"
        reason = (outcome.stderr.strip().splitlines() or [ended])[-1]
        if reason.startswith("ModuleNotFoundError"):
            return f"{reason.split(chr(39))[1]} is not installed", ""
        return f"not measured: {reason[:80]}", ""
    return f"{float(found['SECONDS']):.2f}", found["PEAK"]


def work(quick: bool, only: list[str]) -> list[str]:
    rows = []
    for function, text, goal, before in WORK[:3] if quick else WORK:
        if not only or any(word in function.__name__ for word in only):
            seconds, peak = measured(function.__name__)
            rows.append([text, seconds, goal, before, peak])
            print(f"{text}: {seconds} s, {peak} MB", file=sys.stderr)
    head = ["work, all defaults", "seconds", "goal", "first measured", "peak, MB"]
    return ["## Whole pieces of work", "", *table(head, rows)]


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a few small sizes")
    parser.add_argument("--only", nargs="*", default=[], help="pieces of work whose name has one of these")
    parser.add_argument("--out", type=Path, help="write the page here as well")
    parser.add_argument("--alone", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.alone:
        run_alone(options.alone)
        return
    lines = [
        "# Performance",
        "",
        f"Made by `make bench`. Processor seconds of one thread, engine: {describe_engine()}. Ratios carry "
        "over to other machines better than seconds do.",
        "",
    ]
    if not options.only:
        with threadpool_limits(1):
            lines += evaluations(options.quick) + kernels(options.quick)
        lines += beginnings()
    lines += work(options.quick, options.only)
    text = "\n".join(lines).rstrip() + "\n"
    print(text)
    if options.out:
        options.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
