"""Every "auto": what is worth its time on a table of this size, and what suits its columns.

Decisions live here and nowhere else, as functions of sizes and kinds that a test can call. Each limit is a
number of elementary steps; `docs/constants.md` tells how it was measured.
"""

from __future__ import annotations

AFFORDABLE_STABILITY = 6 * 10**5
"""Numbers (rows x features) up to which half-samples are refitted to see which features stay."""

MOST_STABILITY_FEATURES = 2000
MOST_DISTRIBUTIONS = 300
FEWEST_PERMUTATIONS = 19
"""With fewer relabellings no p-value could be at most 0.05."""


def worth_stability(shape: tuple[int, int], smallest_group: int) -> bool:
    """Whether the stability of the direction's features is looked at.

    Examples
    --------
    >>> worth_stability((569, 30), 212), worth_stability((100_000, 30), 50_000)
    (True, False)
    """
    n_rows, n_features = shape
    return (
        n_rows * n_features <= AFFORDABLE_STABILITY
        and n_features <= MOST_STABILITY_FEATURES
        and smallest_group >= 4
    )
