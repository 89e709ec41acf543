"""How hard to search: starts, iterations and budgets of each effort."""

from __future__ import annotations

from dataclasses import dataclass, replace

from princdiff.solvers.ascent import Tolerance

# Numbers (rows x features) from which a search is large. Its starts then race: after so many evaluations only
# so many of them go on.
_LARGE = 500_000
_RACE_AFTER, _RACERS = 12, 12


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How hard to search.

    Attributes
    ----------
    n_random, n_spread, n_singles, n_subsets : int
        Starts of each kind: random directions, eigenvectors of the covariance difference, top single
        features, random subsets of the top features.
    tolerance : Tolerance
        When an ascent stops.
    finalists : int
        Best finds that are polished.
    ridge_steps : int
        Steps of the polish along ridges.
    beam : int
        Width of the forward beam; 0 leaves out beam and swaps.
    beam_steps : int
        Features the beam adds at most.
    scan_elements : int
        Numbers that one scan may sort.
    swap_rounds : int
        Rounds of exchanging one feature for another.
    climb_elements, climb_iter, climbs : int
        Numbers that a final climb to the top of the ridge may touch, its iterations, and how many climb.
    race : bool
        Whether the starts compete with each other, as ``tolerance.screen_after`` says.
    """

    n_random: int
    n_spread: int
    n_singles: int
    n_subsets: int
    tolerance: Tolerance
    finalists: int
    ridge_steps: int
    beam: int = 0
    beam_steps: int = 0
    scan_elements: int = 0
    swap_rounds: int = 0
    climb_elements: int = 0
    climb_iter: int = 0
    climbs: int = 0
    race: bool = False


EFFORTS = {
    "fast": Effort(
        n_random=1,
        n_spread=2,
        n_singles=2,
        n_subsets=2,
        tolerance=Tolerance(max_iter=16, gain=1e-3, patience=3, screen_after=5),
        finalists=1,
        ridge_steps=0,
    ),
    "default": Effort(
        n_random=8,
        n_spread=6,
        n_singles=10,
        n_subsets=10,
        tolerance=Tolerance(max_iter=60, gain=1e-4, patience=5),
        finalists=4,
        ridge_steps=60,
        beam=3,
        beam_steps=12,
        scan_elements=12_000_000,
        swap_rounds=2,
        climb_elements=10**9,
        climb_iter=200,
        climbs=2,
    ),
    "thorough": Effort(
        n_random=32,
        n_spread=16,
        n_singles=30,
        n_subsets=30,
        tolerance=Tolerance(max_iter=150, gain=1e-5, patience=6),
        finalists=8,
        ridge_steps=150,
        beam=6,
        beam_steps=30,
        scan_elements=300_000_000,
        swap_rounds=4,
        climb_elements=10**11,
        climb_iter=1000,
        climbs=2,
    ),
}


def effort_for(name: str, n_numbers: int) -> Effort:
    """The effort of this name for a table of so many numbers (rows x features).

    With many rows the kinks between plans shrink, with many features every evaluation is dear: the default
    effort lets starts race, scans less and polishes fewer finds.
    """
    effort = EFFORTS[name]
    if name != "default" or n_numbers < _LARGE:
        return effort
    return replace(
        effort,
        tolerance=replace(effort.tolerance, screen_after=_RACE_AFTER, finalists=_RACERS),
        race=True,
        finalists=effort.finalists // 2,
        ridge_steps=effort.ridge_steps // 2,
        scan_elements=effort.scan_elements // 3,
        swap_rounds=effort.swap_rounds // 2,
        climbs=effort.climbs // 2,
    )


@dataclass(frozen=True)
class SearchSettings:
    """What the search for one direction may find, and how hard it looks.

    Attributes
    ----------
    level : int
        At most this many features.
    penalty : float
        Weight of the squared l1 norm, in the units of the data.
    effort : {"fast", "default", "thorough"}
        How hard to search.
    max_iter, tol : int, float
        Bounds of the final ascent in double precision.
    n_jobs : int, optional
        Threads.
    """

    level: int
    penalty: float = 0.0
    effort: str = "default"
    max_iter: int = 500
    tol: float = 1e-9
    n_jobs: int | None = None

    @property
    def final_tolerance(self) -> Tolerance:
        """When the final ascent stops."""
        return Tolerance(self.max_iter, self.tol, 10)
