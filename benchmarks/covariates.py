"""Does the test hold its level when covariates are taken out, and what power is left?

    python -m benchmarks.covariates [--quick]

Every data set has 5 features that depend linearly on all covariates; the first covariate depends on the
groups, so that without it the groups differ. Size: nothing else differs. Power: the first feature is shifted
as well.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import binom

from benchmarks.sections import Section, parse
from princdiff import permutation_test

CELLS = [(12, 4), (20, 4), (40, 4), (40, 10), (40, 15), (100, 30)]
N_FEATURES, N_PERMUTATIONS, LEVEL = 5, 19, 0.05
NOISE = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "exponential": lambda rng, shape: rng.exponential(size=shape),
}


def data_set(seed: int, n_rows: int, n_covariates: int, noise: str, shift: float) -> tuple[np.ndarray, ...]:
    """Rows, groups and covariates."""
    rng = np.random.default_rng([n_rows, n_covariates, seed])
    y = rng.permutation(np.arange(n_rows) % 2)
    covariates = rng.standard_normal((n_rows, n_covariates))
    covariates[:, 0] += y
    X = NOISE[noise](rng, (n_rows, N_FEATURES))
    X[:, 0] += shift * y
    return X + covariates @ rng.standard_normal((n_covariates, N_FEATURES)), y, covariates


def rejections(
    seeds: Sequence[int], cell: tuple[int, int], noise: str, shift: float = 0.0
) -> tuple[int, int, int]:
    """Data sets rejected, tested and refused."""
    rejected = tested = refused = 0
    for seed in seeds:
        X, y, covariates = data_set(seed, *cell, noise, shift)
        try:
            found = permutation_test(
                X, y, covariates=covariates, n_permutations=N_PERMUTATIONS, random_state=seed
            )
        except ValueError as error:
            if "use fewer covariates" not in str(error):
                raise
            refused += 1
        else:
            tested += 1
            rejected += found.pvalue <= LEVEL
    return rejected, tested, refused


def main(argv: Sequence[str] | None = None) -> None:
    """Size and power of every cell."""
    options = parse(__doc__, argv, seeds=1000, quick_seeds=5)
    section = Section("covariates", "Covariates: level and power", options)
    few = options.seeds[:300]
    section.say(
        f"Share of data sets rejected at {LEVEL:g} by `permutation_test(covariates=...)` with "
        f"{N_PERMUTATIONS} relabellings: {len(options.seeds)} sets with normal noise, {len(few)} with "
        f"exponential noise, and {len(few)} where one of five features is shifted by 1.5 standard deviations "
        "of normal noise (power). "
        "Band: where the share of an exact test lies with probability 99 %."
    )
    lines = []
    for cell in CELLS[:2] if options.quick else CELLS:
        power = rejections(few, cell, "normal", shift=1.5)
        lines.append(
            [
                *cell,
                *_judged(rejections(options.seeds, cell, "normal")),
                *_judged(rejections(few, cell, "exponential")),
                power[0] / max(power[1], 1),
            ]
        )
        print(*lines[-1], flush=True)
    names = ["share", "band", "verdict", "refused"]
    section.table(
        [
            "rows",
            "covariates",
            *(f"{name} (normal)" for name in names),
            *(f"{name} (exp.)" for name in names),
            "power",
        ],
        lines,
    )
    section.write()


def _judged(counts: tuple[int, int, int]) -> list[object]:
    rejected, tested, refused = counts
    low, high = (float(binom.ppf(tail, tested, LEVEL)) for tail in (0.005, 0.995))
    verdict = "inside" if low <= rejected <= high else "outside"
    share = max(tested, 1)
    return [rejected / share, f"{low / share:.3f} to {high / share:.3f}", verdict, refused]


if __name__ == "__main__":
    main()
