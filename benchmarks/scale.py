"""How time and memory grow with rows and columns, and what many rows cost in memory and from a file.

Every figure is measured in a process of its own, whose peak resident memory is the operating system's count
(VmHWM). The tables that are printed are those of docs/howto/scale.md.

    python benchmarks/scale.py --quick          a minute, small shapes
    python benchmarks/scale.py                  all of it: about an hour, 8 GB of memory, 4 GB of disk
    python benchmarks/scale.py --only rows fits
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

DENSITY = 0.07
N_COLUMNS = 8
SIGNAL = 12
ROWS, QUICK_ROWS = [10_000, 100_000, 1_000_000], [3_000, 10_000, 30_000]
FEATURES, QUICK_FEATURES = [1000, 2000, 5000, 10_000, 20_000], [250, 500, 1000]


def peak_memory() -> int:
    """Peak resident memory of this process in bytes, as the operating system counts it."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    raise OSError("this system does not tell a process its peak memory in /proc/self/status")


def current_memory() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) * 1024
    raise OSError("this system does not tell a process its memory in /proc/self/status")


# Data: sparse "cells" of two types, of which a dozen genes tell; groups are a noisy reading of many genes, so
# that the best direction has weights on hundreds of them.


def make_cells(n_rows: int, n_features: int, seed: int = 0) -> tuple[sp.csr_matrix, np.ndarray]:
    rng = np.random.default_rng(seed)
    chance = rng.beta(0.6, 0.6 * (1 / DENSITY - 1), n_features).clip(0.002, 0.6)
    size = rng.uniform(0.5, 2.0, n_features)
    kind = np.arange(n_rows) % 5 < 2
    marked = rng.choice(n_features, SIGNAL, replace=False)
    blocks = []
    step = max(1, 40_000_000 // n_features)
    for start in range(0, n_rows, step):
        own = kind[start : start + step]
        raised = np.ones(n_features)
        raised[marked] = np.linspace(1.2, 2.0, SIGNAL)
        odds = np.where(own[:, None], (chance * raised).clip(max=0.8), chance).astype(np.float32)
        # Some cells express much of everything: the features are not independent.
        odds *= np.exp(0.3 * rng.standard_normal(len(own), dtype=np.float32))[:, None]
        rows, columns = np.nonzero(rng.random(odds.shape, dtype=np.float32) < odds)
        counts = 1 + rng.poisson(size[columns])
        values = np.log1p(counts).astype(np.float32)
        ends = np.searchsorted(rows, np.arange(len(own) + 1))
        blocks.append(sp.csr_matrix((values, columns.astype(np.int32), ends), shape=odds.shape))
    rows = sp.csr_matrix(sp.vstack(blocks, format="csr"))
    return rows, noisy_reading(rows)


def noisy_reading(rows: sp.csr_matrix) -> np.ndarray:
    rng = np.random.default_rng(1)
    weights = rng.uniform(0.5, 1.5, rows.shape[1]) * (rng.random(rows.shape[1]) < 0.15)
    reading = rows @ weights
    reading = (reading - reading.mean()) / reading.std()
    return (reading + rng.standard_normal(len(reading)) > 0.25).astype(np.uint8)


def cells_file(folder: Path, n_rows: int, n_features: int) -> Path:
    path = folder / f"cells-{n_rows}-{n_features}.h5ad"
    if not path.exists():
        run("make", path=str(path), n_rows=n_rows, n_features=n_features)
    return path


# What runs in a process of its own.


def case_make(path: str, n_rows: int, n_features: int) -> dict[str, Any]:
    import anndata

    from princdiff.files import replacing

    rows, y = make_cells(n_rows, n_features)
    cells = anndata.AnnData(rows)
    cells.obs["group"] = y
    with replacing(path) as beside:
        cells.write_h5ad(beside)
    return {"non_zeros": int(rows.nnz)}


def load(path: str) -> tuple[sp.csr_matrix, np.ndarray]:
    import anndata

    cells = anndata.read_h5ad(path)
    return cells.X, cells.obs["group"].to_numpy()


def case_iteration(path: str) -> dict[str, Any]:
    """One iteration of a batch: two products, one sort, the gradient."""
    import anndata  # noqa: F401  (what the libraries hold is not ours)

    from princdiff.data.labels import Labels
    from princdiff.data.samples import Samples
    from princdiff.divergences import Wasserstein2
    from princdiff.parallel import single_threaded_blas
    from princdiff.solvers.ascent import Evaluator

    base = current_memory()
    rows, y = load(path)
    samples = Samples(rows)
    labels = Labels(y, 2).repeat(N_COLUMNS)
    directions = np.random.default_rng(0).standard_normal((N_COLUMNS, samples.n_features), dtype=np.float32)
    evaluate = Evaluator(samples, labels, Wasserstein2())
    times = []
    with single_threaded_blas:
        evaluate(directions)
        for _ in range(5 if samples.n_rows > 300_000 else 25):
            # One thread's processor time: other users of the machine do not count.
            start = time.process_time()
            evaluate(directions)
            times.append(time.process_time() - start)
    return {"seconds": min(times), "memory": peak_memory() - base}


def case_fit(path: str, memory: str | None, options: dict[str, Any]) -> dict[str, Any]:
    """A whole fit of PDA, from memory or from the backed file."""
    from princdiff import PDA, open_rows

    if memory is None:
        rows, y = load(path)
    else:
        import h5py

        with h5py.File(path) as file:
            y = file["obs/group"][:]
        rows = open_rows(path, memory=memory)
    start, busy = time.perf_counter(), time.process_time()
    fit = PDA(random_state=0, certify=False, **options).fit(rows, y)
    return {
        "seconds": time.perf_counter() - start,
        "busy": time.process_time() - busy,
        "memory": peak_memory(),
        "divergence": float(fit.divergences_[0]),
        "n_iter": int(fit.n_iter_),
        "direction": fit.components_[0].tolist(),
    }


def case_compare(path: str, memory: str, n_permutations: int) -> dict[str, Any]:
    """A whole comparison of the backed file: fit, test and selection."""
    from princdiff import Config, compare

    start, busy = time.perf_counter(), time.process_time()
    result = compare(path, groups="group", n_permutations=n_permutations, config=Config(memory=memory))
    return {
        "seconds": time.perf_counter() - start,
        "busy": time.process_time() - busy,
        "memory": peak_memory(),
        "pvalue": result.pvalue,
        "n_selected": len(result.selected),
        "steps": result.parameters["seconds"],
    }


def case_pass(path: str, memory: str) -> dict[str, Any]:
    """Passes over a backed file: project and backproject, one column and eight."""
    from princdiff import open_rows
    from princdiff.data.samples import Samples

    samples = Samples(open_rows(path, memory=memory))
    result = {}
    for count in (1, N_COLUMNS):
        directions = np.ones((count, samples.n_features), np.float32)
        start = time.perf_counter()
        projections = samples.project(directions)
        middle = time.perf_counter()
        samples.backproject(projections)
        result[f"project {count}"] = middle - start
        result[f"backproject {count}"] = time.perf_counter() - middle
    return {"seconds": result, "memory": peak_memory()}


def case_constants(path: str) -> dict[str, Any]:
    """Processor time of the three parts of an iteration, for one column and for eight."""
    from princdiff.data.labels import Labels
    from princdiff.data.samples import Samples
    from princdiff.divergences import Wasserstein2, Workspace
    from princdiff.parallel import single_threaded_blas

    rows, y = load(path)
    samples = Samples(rows)
    result: dict[str, Any] = {"n_rows": samples.n_rows, "non_zeros": int(rows.nnz)}
    for count in (1, N_COLUMNS):
        labels, workspace = Labels(y, 2).repeat(count), Workspace()
        directions = np.random.default_rng(0).standard_normal((count, samples.n_features), dtype=np.float32)
        best = np.full(3, np.inf)
        for _ in range(5):
            with single_threaded_blas:
                marks = [time.process_time()]
                projections = samples.project(directions)
                marks.append(time.process_time())
                slopes = Wasserstein2().value_and_slope(projections, labels, workspace)[1]
                marks.append(time.process_time())
                samples.backproject(slopes)
                marks.append(time.process_time())
            best = np.minimum(best, np.diff(marks))
        result[str(count)] = best.tolist()
    return result


def case_tasks(n_chunks: int) -> dict[str, Any]:
    """What a task costs on a cluster: a pass over chunks of next to nothing, on two worker processes."""
    import dask.array as da
    from distributed import Client, LocalCluster

    from princdiff import open_rows
    from princdiff.data.samples import Samples

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster),
    ):
        rows = da.random.default_rng(0).standard_normal((10 * n_chunks, 20), chunks=(10, 20)).persist()
        samples = Samples(open_rows(rows))
        directions, times = np.ones((1, 20), np.float32), []
        for _ in range(5):
            start = time.perf_counter()
            samples.backproject(samples.project(directions))
            times.append(time.perf_counter() - start)
    return {"seconds": min(times), "tasks": 2 * n_chunks}


def case_cluster(n_workers: int, n_rows: int) -> dict[str, Any]:
    """A fit with the rows on worker processes, and what it takes there and at the client."""
    import dask.array as da
    from distributed import Client, LocalCluster, wait

    from princdiff import PDA

    local = LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=None)
    with local as cluster, Client(cluster) as client:
        rows = da.random.default_rng(0).standard_normal((n_rows, 50), chunks=(n_rows // 8, 50)).persist()
        wait(rows)
        y = np.arange(n_rows) % 2
        before, own = sum(client.run(time.process_time).values()), time.process_time()
        begin = time.perf_counter()
        fit = PDA(random_state=0, certify=False, effort="fast").fit(rows, y)
        return {
            "workers": sum(client.run(time.process_time).values()) - before,
            "client": time.process_time() - own,
            "clock": time.perf_counter() - begin,
            "direction": fit.components_[0].tolist(),
        }


CASES = {
    "cluster": case_cluster,
    "constants": case_constants,
    "tasks": case_tasks,
    "make": case_make,
    "iteration": case_iteration,
    "fit": case_fit,
    "compare": case_compare,
    "pass": case_pass,
}


def run(case: str, **arguments: Any) -> dict[str, Any]:
    command = [sys.executable, __file__, "--case", case, "--arguments", json.dumps(arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{case} {arguments} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


# Tables.


def exponent(sizes: list[int], figures: list[float]) -> float:
    """Slope of the line through the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(figures), 1)[0])


def growth_table(folder: Path, shapes: list[tuple[int, int]], varying: int) -> None:
    print(f"{'rows':>9} {'features':>9} {'ms / iteration':>15} {'peak MB':>9}")
    figures = []
    for n_rows, n_features in shapes:
        found = run("iteration", path=str(cells_file(folder, n_rows, n_features)))
        figures.append((found["seconds"], found["memory"]))
        print(
            f"{n_rows:>9} {n_features:>9} {1e3 * found['seconds']:>15.1f} {found['memory'] / 1e6:>9.0f}",
            flush=True,
        )
    sizes = [shape[varying] for shape in shapes]
    seconds, memory = zip(*figures, strict=True)
    print(
        f"exponent: time {exponent(sizes, seconds):.2f}, memory {exponent(sizes, memory):.2f}\n", flush=True
    )


def fit_table(folder: Path, n_rows: int, memory: str) -> None:
    path = str(cells_file(folder, n_rows, 2000))
    print(f"{n_rows} x 2000, PDA(effort='fast'): in memory, and from the backed file with memory={memory!r}")
    options = {"effort": "fast"}
    plain = run("fit", path=path, memory=None, options=options)
    show("in memory", plain)
    backed = run("fit", path=path, memory=memory, options=options)
    show("backed", backed)
    apart = np.abs(np.array(plain["direction"]) - np.array(backed["direction"])).max()
    print(f"largest difference of a weight: {apart:.1e}\n", flush=True)


def pass_table(folder: Path, n_rows: int, memory: str) -> None:
    found = run("pass", path=str(cells_file(folder, n_rows, 2000)), memory=memory)
    print(f"{n_rows} x 2000, one pass over the backed file, memory={memory!r}")
    for name, seconds in found["seconds"].items():
        print(f"  {name:<14} {seconds:8.2f} s")
    print(f"  peak {found['memory'] / 1e9:.2f} GB\n", flush=True)


def compare_table(folder: Path, n_rows: int, memory: str, n_permutations: int = 199) -> None:
    path = str(cells_file(folder, n_rows, 2000))
    print(f"{n_rows} x 2000, compare() of the backed file, memory={memory!r}, {n_permutations} relabellings")
    found = run("compare", path=path, memory=memory, n_permutations=n_permutations)
    took = f"{found['seconds']:.0f} s (processor {found['busy']:.0f} s), peak {found['memory'] / 1e9:.2f} GB"
    print(
        f"  {took}; p = {found['pvalue']:g}, {found['n_selected']} features; {found['steps']}\n", flush=True
    )


def constants_table(folder: Path, n_rows: int) -> None:
    found = run("constants", path=str(cells_file(folder, n_rows, 2000)))
    print(f"{n_rows} x 2000, {found['non_zeros'] / 1e6:.0f} million non-zeros: one thread, per column")
    for count in (1, N_COLUMNS):
        project, sort, back = (seconds / count for seconds in found[str(count)])
        print(
            f"  batch of {count}: project {1e9 * project / found['non_zeros']:.2f} ns and backproject "
            f"{1e9 * back / found['non_zeros']:.2f} ns per non-zero, sort and slopes "
            f"{1e9 * sort / found['n_rows']:.0f} ns per row"
        )
    tasks = run("tasks", n_chunks=64)
    print(f"  a task on a cluster: {1e3 * tasks['seconds'] / tasks['tasks']:.2f} ms\n", flush=True)


def cluster_table(n_rows: int) -> None:
    print(f"{n_rows} x 50 on a local cluster, PDA(effort='fast'), processor time per row")
    found = {count: run("cluster", n_workers=count, n_rows=n_rows) for count in (1, 2)}
    for count, own in found.items():
        each = {part: 1e6 * own[part] / n_rows for part in ("workers", "client")}
        print(
            f"  {count} worker{'s' if count > 1 else ' '} {each['workers']:6.1f} us at the workers, "
            f"{each['client']:.1f} us at the client; {own['clock']:.1f} s by the clock"
        )
    one, two = (np.array(own["direction"]) for own in found.values())
    ratio = found[2]["workers"] / found[1]["workers"]
    print(f"  two workers over one: {ratio:.2f}; directions differ by {np.abs(one - two).max():.1e}\n")


def subsample_table(folder: Path, n_rows: int, effort: str) -> None:
    path = str(cells_file(folder, n_rows, 2000))
    first = "auto" if n_rows >= 100_000 else 3000
    print(f"{n_rows} x 2000, PDA(effort={effort!r}) in memory, all rows from the start and growing samples")
    grown = run("fit", path=path, memory=None, options={"effort": effort, "subsample": first})
    show("growing samples", grown)
    whole = run("fit", path=path, memory=None, options={"effort": effort, "subsample": None})
    show("all rows", whole)
    lost = 1 - grown["divergence"] / whole["divergence"]
    faster = whole["busy"] / grown["busy"]
    print(f"{faster:.1f} times less processor time, {100 * lost:.4f} % less divergence\n", flush=True)


def show(name: str, found: dict[str, Any]) -> None:
    took = (
        f"{found['seconds']:8.1f} s (processor {found['busy']:.1f} s)   peak {found['memory'] / 1e9:.2f} GB"
    )
    reached = f"divergence {found['divergence']:.6f} in {found['n_iter']} evaluations"
    print(f"  {name:<16} {took}   {reached}", flush=True)


TABLES = ("rows", "columns", "constants", "passes", "fits", "compare", "subsample", "cluster")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="+", choices=TABLES, default=TABLES)
    parser.add_argument(
        "--folder", type=Path, help="where the made data stay; a temporary folder unless told"
    )
    parser.add_argument("--case", choices=tuple(CASES), help=argparse.SUPPRESS)
    parser.add_argument("--arguments", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        print(json.dumps(CASES[options.case](**options.arguments)))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        rows, features = (QUICK_ROWS, QUICK_FEATURES) if options.quick else (ROWS, FEATURES)
        memory = "100MB" if options.quick else "2GB"
        if "rows" in options.only:
            growth_table(folder, [(count, 2000) for count in rows], 0)
        if "columns" in options.only:
            growth_table(folder, [(3000, count) for count in features], 1)
        if "constants" in options.only:
            constants_table(folder, rows[1])
        if "passes" in options.only:
            pass_table(folder, rows[-1], memory)
        if "fits" in options.only:
            fit_table(folder, rows[-1], memory)
        if "compare" in options.only:
            # Less than the rows take in memory, so that they stay in a file.
            compare_table(folder, *((rows[0], "310MB") if options.quick else (rows[-1], memory)))
        if "cluster" in options.only:
            cluster_table(20_000 if options.quick else 400_000)
        if "subsample" in options.only:
            subsample_table(folder, rows[-1], "fast")


if __name__ == "__main__":
    main()
