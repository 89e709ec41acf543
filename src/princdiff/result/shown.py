"""What is shown of a difference: the directions that led, or what a kernel saw where no direction did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from princdiff.data.problem import Problem, Run
from princdiff.divergences import Wasserstein2
from princdiff.result import held_out, projected_groups
from princdiff.result.effects import Effect
from princdiff.result.parts import ContrastName, ContrastPart, GroupReference, WitnessPart
from princdiff.statistics.column_cells import summed_features
from princdiff.statistics.permutation_result import PermutationResult
from princdiff.statistics.protocol import Cell
from princdiff.statistics.sharpest import oriented, sharpest_direction
from princdiff.statistics.witness import kernel_named, witness, witness_rows
from princdiff.tables import Prepared
from princdiff.words.on_directions import SHARPEST, SIZE, SUM
from princdiff.words.readable_figures import from_to, numbers
from princdiff.words.wording import LEVEL

# Projections that are correlated above this show the same.
_SAME = 0.95
# A contrast is shown if groups are this many times further apart along it.
_SHARPER = 1.25
# With 0/1 columns, also if its area under the curve on rows held out is this much larger.
_CLEARER = 0.05
# A contrast is judged by halves, this often.
_CONTRAST_SPLITS = 2
# Families of cells that no direction, column or pair shows.
_BEYOND_DIRECTIONS = ("kernel", "length", "covariance", "columns", "bend")
_WORDS = {
    "local structure": "local structure (which rows lie close to which)",
    "many features together": "many features together",
    "many features a little": "many features, a little in each",
    "overall spread": "overall spread (how far rows lie from the centre)",
    "the covariances as a whole": "how the features vary together, as a whole",
}
_NAMED = 8
_BINS = 20
# Rows whose distances are computed at a time.
_BLOCK_ROWS = 65_536


def leading_sentence(found: PermutationResult, problem: Problem) -> str:
    """Where the groups of a problem stood out most.

    Where no direction, column or pair led, also whether any direction differs on its own; nothing where no
    difference was shown.
    """
    if not found.leading or found.pvalue > LEVEL:
        return ""
    lead = leading_cell(found)
    if lead is not None and lead.family == "total":
        return _total_sentence(problem)
    words = _WORDS.get(found.leading, found.leading)
    if lead is None or lead.family not in _BEYOND_DIRECTIONS:
        return f"They differ most clearly in {words}."
    along = [
        p
        for cell, p in zip(found.cells, found.level_pvalues, strict=True)
        if cell.family in ("direction", "column", "given")
    ]
    if min(along, default=0.0) > LEVEL:
        return f"They differ, but not along any one direction: in {words}."
    if lead.family == "columns":
        # Columns that differ on their own need not differ a little.
        return "They differ most clearly in many features at once."
    return f"They differ most clearly not along one direction, but in {words}."


def _total_sentence(problem: Problem) -> str:
    """How many features have moved the same way."""
    mass = np.ones(problem.n_rows) if problem.weights is None else problem.weights
    shares = np.array([mass * (problem.codes == code) for code in range(problem.n_groups)])
    shares /= shares.sum(axis=1, keepdims=True)
    means = problem.samples.backproject(shares.astype(problem.samples.dtype))[:, summed_features(problem)]
    low, high = int(means.sum(axis=1).argmin()), int(means.sum(axis=1).argmax())
    higher = int((means[high] > means[low]).sum())
    names = [f"group {name}" if str(name).isdigit() else str(name) for name in problem.classes]
    return (
        f"They differ in many features a little, mostly the same way: {higher} of {means.shape[1]} are "
        f"higher in {names[high]} than in {names[low]}."
    )


def leading_cell(found: PermutationResult) -> Cell | None:
    """The cell that led; None for tests of directions only."""
    for cell in found.cells:
        if cell.key == found.best_level:
            return cell
    return None


@dataclass(frozen=True)
class Shown:
    """What is shown of one comparison.

    Attributes
    ----------
    data : Prepared
        Rows and groups.
    problem : Problem
        The same rows, as they were compared.
    tested : PermutationResult or None
        The test.
    run : Run
        Seed.
    """

    data: Prepared
    problem: Problem
    tested: PermutationResult | None
    run: Run

    def contrasts(
        self, weights: NDArray[np.float64], projection: NDArray[np.float64], effect: Effect, auc: float
    ) -> list[ContrastPart]:
        """The first direction, and the sharpest contrast if it is another one, or the sum if that led.

        Parameters
        ----------
        weights : array of shape (n_features,)
            The first direction.
        projection : array of shape (n_rows,)
            Rows along it.
        effect, auc
            How well it tells the groups apart on rows held out.

        Returns
        -------
        list of ContrastPart
            The one that led first.
        """
        size = ContrastPart(SIZE, weights, *effect, auc, True, self._groups(projection))
        other = self._sum(projection) or self._sharpest(projection, effect, auc)
        if other is None:
            return [size]
        first = ContrastPart(**{**vars(size), "led": not other.led})
        return [other, first] if other.led else [first, other]

    def _sum(self, projection: NDArray[np.float64]) -> ContrastPart | None:
        """The sum of all features, where it led: the same direction whatever the rows."""
        lead = None if self.tested is None else leading_cell(self.tested)
        if lead is None or lead.family != "total" or not self._one_by_one():
            return None
        direction = summed_features(self.problem).astype(np.float64)
        factor = self.problem.samples.factor
        return self._held_out(SUM, direction, projection, lambda _: direction * factor)

    def _sharpest(self, projection: NDArray[np.float64], effect: Effect, auc: float) -> ContrastPart | None:
        direction = self._whitened_direction()
        if direction is None:
            return None
        level, seed = int(np.count_nonzero(direction)), self.run.seed_for()
        found = self._held_out(
            SHARPEST,
            direction,
            projection,
            lambda half: sharpest_direction(half, min(level, half.n_features), seed),
        )
        # What is no sharper on other rows is no contrast.
        if found is None or found.effect < _SHARPER * effect.size or not found.low > 0:
            return None
        # Along a contrast of 0/1 columns a few rows that jump far make a distance, but tell no groups apart.
        if not isinstance(self.problem.divergence, Wasserstein2) and not found.auc > auc + _CLEARER:
            return None
        return ContrastPart(**{**vars(found), "led": self._whitened_led()})

    def _held_out(
        self,
        name: ContrastName,
        direction: NDArray[np.float64],
        projection: NDArray[np.float64],
        of_half: Callable[[Problem], NDArray[np.float64]],
    ) -> ContrastPart | None:
        """A direction that led, judged by halves; None if it shows the same as the first."""
        factor = self.problem.samples.factor
        direction = direction / np.linalg.norm(direction)
        raw = oriented(direction * factor, self.problem)
        if raw @ (direction * factor) < 0:
            direction = -direction
        scores = np.asarray(self.problem.rows @ raw, dtype=np.float64).ravel()
        if not scores.std() > 0 or abs(_correlation(scores, projection)) > _SAME:
            return None
        splits = held_out.halves(self.problem, self.run.seed_for("contrast"), _CONTRAST_SPLITS)
        if splits is None:
            return None
        fitted = held_out.rows_to_fit(self.problem, self.run.seed)
        directions = [
            [of_half(self.problem.take_rows(fitted[own[fitted]])) for own in (~half, half)] for half in splits
        ]
        found, area = held_out.HeldOut(self.problem, scores).measured(splits, np.array(directions))
        return ContrastPart(name, direction, *found, area, True, self._groups(scores))

    def _whitened_direction(self) -> NDArray[np.float64] | None:
        """The test's sharpest contrast, where it is one of the features as they are."""
        if self.tested is None or not self._one_by_one():
            return None
        alone = [
            p
            for cell, p in zip(self.tested.cells, self.tested.level_pvalues, strict=True)
            if cell.family == "direction" and cell.metric == "whitened"
        ]
        found = self.tested.contrasts.get("whitened")
        return found if found is not None and min(alone) <= LEVEL and found.any() else None

    def _one_by_one(self) -> bool:
        """Whether groups differ, and directions of the test are those of the features as they are."""
        problem = self.problem
        if self.tested is None or not self.tested.pvalue <= LEVEL:
            return False
        if problem.covariates is not None:
            return False
        return problem.scale != "within" and problem.n_features > 1

    def _whitened_led(self) -> bool:
        """Whether the test saw more in a whitened direction than in any plain one."""
        assert self.tested is not None
        values = {"euclidean": -np.inf, "whitened": -np.inf}
        for cell, score in zip(self.tested.cells, self.tested.cell_scores, strict=True):
            if cell.family == "direction":
                values[cell.metric] = max(values[cell.metric], float(score))
        return values["whitened"] > values["euclidean"]

    def _groups(self, projection: NDArray[np.float64]) -> dict[str, GroupReference]:
        nothing: dict[str, NDArray[np.float64]] = {}
        return projected_groups.reference(self.data, projection[None], nothing, nothing).components[0]

    # Differences that are not along a direction.

    def witness(self) -> WitnessPart | None:
        """What can be shown of a difference that no direction, column or pair shows best."""
        if self.tested is None or not self.tested.pvalue <= LEVEL:
            return None
        lead = leading_cell(self.tested)
        if lead is None or lead.family not in _BEYOND_DIRECTIONS or self.problem.scale == "within":
            return None
        index, rows = witness_rows(self.problem, self.run.seed_for())
        codes = self.problem.codes[index]
        change, order, parts = "", np.empty(0, dtype=np.intp), np.empty(0)
        if lead.family == "length":
            distances = self._distances()
            change = self._change("Distance from the centre", distances)
            found = witness(distances[index][:, None], codes, kernel_named("lengths"))
        else:
            found = witness(rows, codes, kernel_named(lead.name))
            order = np.argsort(-found.parts, kind="stable")
            parts = found.parts[order]
            order, parts = order[parts > 0], parts[parts > 0]
        axes, edges, shares = self._picture(lead, order)
        names = self.data.features
        return WitnessPart(
            about=lead.sentence,
            sentence=" ".join(filter(None, [leading_sentence(self.tested, self.problem), change])),
            features=[names[place] for place in order[:_NAMED]],
            parts=parts[:_NAMED],
            typical={
                group: [int(number) for number in self.data.kept[index[own]]]
                for group, own in zip(self.data.groups, found.typical, strict=True)
            },
            axes=axes,
            edges=edges,
            shares=shares,
        )

    def _change(self, name: str, values: NDArray[np.float64]) -> str:
        """Mean and standard deviation of a number in each group."""
        own = [values[self.data.codes == code] for code in range(len(self.data.groups))]
        means, spreads = [part.mean() for part in own], [part.std() for part in own]
        changes = [from_to(values, numbers(values)) for values in (means, spreads)]
        return f"{name}: mean {changes[0]}, standard deviation {changes[1]}."

    def _picture(
        self, lead: Cell, order: NDArray[np.intp]
    ) -> tuple[list[str], list[NDArray[np.float64]], dict[str, NDArray[np.float64]]]:
        """Two coordinates that show most, and how much of each group lies where."""
        columns = [(self.data.features[place], self._column(int(place))) for place in order[:2]]
        if lead.family == "length" and self.problem.n_features > 1:
            # Any feature: around the centre all look alike.
            columns = [
                ("distance from the centre", self._distances()),
                (self.data.features[0], self._column(0)),
            ]
        if len(columns) < 2:
            return [], [], {}
        (first, x), (second, y) = columns[:2]
        edges = [_edges(x), _edges(y)]
        shares = {}
        for code, name in enumerate(self.data.groups):
            own = self.data.codes == code
            inner = None if self.data.weights is None else self.data.weights[own]
            inside = [
                np.clip(values[own], ends[0], ends[-1]) for values, ends in zip((x, y), edges, strict=True)
            ]
            counts = np.histogram2d(inside[0], inside[1], edges, weights=inner)[0]
            shares[name] = counts.ravel() / counts.sum()
        return [first, second], edges, shares

    def _column(self, feature: int) -> NDArray[np.float64]:
        column = self.data.rows[:, [feature]]
        return np.asarray(column.todense() if hasattr(column, "todense") else column, float).ravel()

    def _distances(self) -> NDArray[np.float64]:
        """Of the scaled rows from their mean."""
        rows = self.problem.samples.scaled_rows_by_rows()
        squares = np.empty(self.problem.n_rows)
        for start in range(0, len(squares), _BLOCK_ROWS):
            block = rows[start : start + _BLOCK_ROWS]
            squares[start : start + _BLOCK_ROWS] = np.einsum("ij,ij->i", block, block, dtype=np.float64)
        return np.sqrt(squares)


def _edges(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bounds of bins over nearly all values."""
    low, high = np.quantile(values, [0.01, 0.99])
    if low == high:
        low, high = float(values.min()) - 0.5, float(values.max()) + 0.5
    return np.linspace(low, high, _BINS + 1)


def _correlation(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    return float(np.corrcoef(first, second)[0, 1]) if second.std() > 0 else 0.0
