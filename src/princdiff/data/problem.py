"""What is compared: rows, groups and everything known about them, checked once and trusted afterwards.

Public functions build a `Problem` and a `Run` and pass both to the function that does the work. Nothing
behind that door validates again, looks a divergence up again or scales the rows again.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from princdiff.data import validate
from princdiff.data.blocks import Permute, refuse_crossing, settle_permute
from princdiff.data.labels import Labels
from princdiff.data.row_chunks import RowChunks
from princdiff.data.row_keys import group_ranks, row_keys
from princdiff.data.run import Run
from princdiff.data.samples import Samples, Scale
from princdiff.deadline import OutOfTime
from princdiff.divergences import Divergence, get
from princdiff.options import option

__all__ = ["Design", "OutOfTime", "Problem", "Run"]

# Values that are copied to have rows in an order of their own: 160 MB.
_MOST_ORDERED = 20_000_000


@dataclass(frozen=True, eq=False)
class Design:
    """What a user says about the rows besides their groups, not yet checked.

    Parameters
    ----------
    sample_weight : array of shape (n_rows,), optional
        Non-negative weights.
    blocks : array of shape (n_rows,), optional
        Pairs, strata or donors.
    permute : {"auto", "within", "whole"}
        Whether labels move inside blocks, or with whole blocks; "auto": whole where every block lies in
        one group, within where every block has rows of several groups; otherwise each kind in its way.
    covariates : array of shape (n_rows,) or (n_rows, n_covariates), optional
        Numbers that are held equal.
    """

    sample_weight: ArrayLike | None = None
    blocks: ArrayLike | None = None
    permute: str = "auto"
    covariates: ArrayLike | None = None


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows, groups and what is known about them: checked, and without rows of zero weight.

    Build one with `from_arrays` or `from_prepared`; views of a problem need no further check.

    Attributes
    ----------
    rows : array, CSR matrix or RowChunks of shape (n_rows, n_features)
        Finite numbers, float32 or float64.
    codes : array of shape (n_rows,), dtype uint8
        Group of each row, ``0 ... n_groups - 1``.
    classes : tuple
        The groups as the user calls them, by code.
    names : tuple of str
        Feature names.
    units : tuple of str
        Column of the user's table that each feature belongs to; the levels of a category share one.
    kinds : tuple of {"number", "flag", "level", "missing"}
        What each feature is: a number; a flag, which has two values; one of the
        several levels of a category; a mark for missing values.
    divergence : Divergence
        What is compared.
    scale : {None, "pooled", "within"}
        Scaling of the features.
    weights : array of shape (n_rows,) or None
        Positive row weights; None where they are all equal.
    blocks : array of shape (n_rows,) or None
        Block of each row, ``0 ... n_blocks - 1``.
    block_names : tuple of str
        The blocks as the user calls them, by code.
    permute : {"within", "whole", "mixed"} or None
        What may change sides in a relabelling; None without blocks. "mixed": rows inside the blocks that have
        rows of several groups, whole blocks among the others.
    covariates : array of shape (n_rows, n_covariates) or None
        Finite numbers, of which one varies.
    covariate_names : tuple of str
        What they are called.

    Examples
    --------
    >>> problem = Problem.from_arrays([[0.0, 5.0], [1.0, 6.0], [2.0, 7.0], [3.0, 9.0]], ["a", "a", "b", "b"])
    >>> problem.n_rows, problem.n_features, problem.classes, problem.names
    (4, 2, ('a', 'b'), ('x0', 'x1'))
    >>> problem.restrict(np.array([1])).names
    ('x1',)
    >>> donors = Problem.from_arrays(problem.rows, [0, 0, 1, 1], design=Design(blocks=["p", "p", "q", "q"]))
    >>> donors.permute
    'whole'
    """

    rows: Any
    codes: NDArray[np.uint8]
    classes: tuple
    names: tuple[str, ...]
    units: tuple[str, ...]
    kinds: tuple[str, ...]
    divergence: Divergence
    scale: Scale = "pooled"
    weights: NDArray[np.float64] | None = None
    blocks: NDArray[np.intp] | None = None
    block_names: tuple[str, ...] = ()
    permute: Permute | None = None
    covariates: NDArray[np.float64] | None = None
    covariate_names: tuple[str, ...] = ()
    # Whether `samples` is a view that the rows alone do not give.
    _derived: bool = field(default=False, repr=False)

    @classmethod
    def from_arrays(
        cls,
        X: Any,
        y: Any,
        *,
        divergence: Any = "wasserstein2",
        scale: Scale = "pooled",
        design: Design | None = None,
        names: Any = None,
        estimator: Any = None,
    ) -> Problem:
        """Check everything that a user can get wrong.

        Parameters
        ----------
        X : array, DataFrame, scipy.sparse matrix or rows out of core of shape (n_rows, n_features)
            Rows of all groups.
        y : array of shape (n_rows,)
            Group of each row.
        divergence : str, Divergence or callable
            What is compared.
        scale : {None, "pooled", "within"}
            Scaling of the features.
        design : Design, optional
            Weights, blocks and covariates.
        names : array of str of shape (n_features,), optional
            What messages and results call the features, where X does not say.
        estimator : BaseEstimator, optional
            Where to keep the number and the names of the features, as scikit-learn does.

        Returns
        -------
        Problem
        """
        design = Design() if design is None else design
        compared = get(divergence)
        validate.check_choice("scale", scale, (None, "pooled", "within"))
        if estimator is None:
            from sklearn.base import BaseEstimator

            estimator = BaseEstimator()
        rows = validate.check_rows(estimator, X, reset=True, streams=True, names=names)
        for name, given in {"y": y, **vars(design)}.items():
            validate.refuse_other_order(getattr(X, "index", None), given, name)
        classes, codes = validate.check_groups(y, rows.shape[0])
        weights = validate.check_weights(design.sample_weight, rows, codes, classes)
        blocks, block_names = validate.check_blocks(design.blocks, len(codes))
        known = names if names is not None else getattr(estimator, "feature_names_in_", None)
        called = tuple(f"x{j}" for j in range(rows.shape[1])) if known is None else tuple(map(str, known))
        problem = cls(
            rows=rows,
            codes=codes,
            classes=tuple(classes.tolist()),
            names=called,
            units=called,
            kinds=with_flags(rows, ("number",) * rows.shape[1]),
            divergence=compared,
            scale=scale,
            weights=weights,
            blocks=blocks,
            block_names=block_names,
            covariates=validate.check_covariates(design.covariates, len(codes)),
            covariate_names=tuple(map(str, getattr(design.covariates, "columns", ()))),
        )
        return problem._finished(design.permute)

    @classmethod
    def from_prepared(
        cls,
        prepared: Any,
        *,
        divergence: Any = "wasserstein2",
        scale: Scale = "pooled",
        permute: str = "auto",
        keys: NDArray[np.uint64] | None = None,
    ) -> Problem:
        """A problem from a prepared table, whose numbers are not checked again.

        Parameters
        ----------
        prepared : princdiff.tables.Prepared
            Rows of numbers, groups, and what is known about them.
        divergence, scale, permute
            As in `from_arrays`.
        keys : array of shape (n_rows,), optional
            Keys of the rows, if they are known; see `row_keys`.

        Returns
        -------
        Problem
        """
        compared = get(divergence)
        validate.check_choice("scale", scale, (None, "pooled", "within"))
        validate.refuse_small_groups(prepared.codes, prepared.groups)
        covariates, blocks = prepared.covariates, prepared.blocks
        names: tuple[str, ...] = ()
        if blocks is not None:
            # A table's rows may have been dropped since the blocks were numbered.
            kept, blocks = np.unique(blocks, return_inverse=True)
            stored = getattr(prepared, "block_names", ())
            names = tuple(str(stored[code]) if len(stored) else str(code) for code in kept)
        problem = cls(
            rows=prepared.rows,
            codes=prepared.codes,
            classes=tuple(prepared.groups),
            names=tuple(prepared.features),
            units=tuple(prepared.origin),
            kinds=with_flags(prepared.rows, tuple(prepared.kinds)),
            divergence=compared,
            scale=scale,
            weights=validate.settle_weights(prepared.weights, prepared.codes, prepared.groups),
            blocks=blocks,
            block_names=names,
            covariates=None if covariates is None else np.asarray(covariates, dtype=np.float64),
            covariate_names=tuple(prepared.covariate_names),
        )
        problem = problem._finished(permute)
        if keys is not None and len(keys) == problem.n_rows:
            problem.__dict__["row_keys"] = keys
        return problem

    def _finished(self, permute: str) -> Problem:
        """Without rows of zero weight, and with a decision what may change sides."""
        validate.check_choice("permute", permute, ("auto", "within", "whole"))
        if permute == "whole" and self.blocks is None:
            raise ValueError(
                f"{option('permute', 'whole')} moves whole blocks: give {option('blocks')}, the "
                "block of each row"
            )
        problem = self
        if self.weights is not None and not self.weights.all():
            # A row without weight is a row that is not there; a relabelling must not make a group of them.
            problem = self._taken(self.weights > 0)
        covariates = problem.covariates
        if covariates is not None and not (covariates != covariates[0]).any():
            problem = replace(problem, covariates=None, covariate_names=())
        elif covariates is not None and not problem.covariate_names:
            names = tuple(f"covariate {number}" for number in range(1, covariates.shape[1] + 1))
            problem = replace(problem, covariate_names=names)
        if problem.blocks is None:
            return problem
        if permute == "auto":
            permute = settle_permute(problem.codes, problem.blocks)
        if permute == "whole":
            refuse_crossing(problem.codes, problem.blocks, problem.block_names)
        settled: dict[str, Permute] = {"whole": "whole", "mixed": "mixed"}
        return replace(problem, permute=settled.get(permute, "within"))

    # What the rows are made into.

    @cached_property
    def samples(self) -> Samples:
        """The rows, centred and scaled, as a linear operator."""
        samples = Samples(self.rows, self.scale, weights=self.weights, names=self.names)
        samples.refuse_overflow(self.divergence.degree)
        return samples

    @cached_property
    def labels(self) -> Labels:
        """The groups, as a batch of one column."""
        return Labels(self.codes, self.n_groups, weights=self.weights)

    @cached_property
    def row_keys(self) -> NDArray[np.uint64]:
        """A number for each row that depends on its values and its weight only, see `data.row_keys`."""
        return self.samples.row_keys if "samples" in self.__dict__ else row_keys(self.rows, self.weights)

    @cached_property
    def memory(self) -> dict[Any, Any]:
        """What several steps of one comparison need and the first of them works out, by a key of its own."""
        return {}

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.rows.shape[0]

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.rows.shape[1]

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.classes)

    @cached_property
    def sizes(self) -> NDArray[np.intp]:
        """Rows of each group, shape (n_groups,)."""
        return np.bincount(self.codes, minlength=self.n_groups)

    @property
    def streamed(self) -> bool:
        """Whether the rows stay out of core."""
        return isinstance(self.rows, RowChunks)

    def require_memory(self) -> Problem:
        """Itself, if its rows are in memory; otherwise an error that says what to do."""
        if isinstance(self.rows, RowChunks):
            validate.refuse_streams(self.rows)
        return self

    def dense_rows(self, what: str) -> NDArray:
        """All rows as one dense array, for ``what`` (a parameter, named if that is not possible)."""
        if isinstance(self.rows, RowChunks):
            raise ValueError(
                f"{what} needs all rows in memory, and {self.rows.label} does not fit its memory budget"
            )
        if not sp.issparse(self.rows):
            return self.rows
        if self.n_rows * self.n_features > 2 * 10**8:
            raise ValueError(
                f"{what} needs dense rows, and {self.n_rows} x {self.n_features} are too many to make dense"
            )
        return self.rows.toarray()

    def labellings(self, codes: NDArray[np.uint8]) -> Labels:
        """Other labels of the same rows, shape (n_labellings, n_rows), as a batch of as many columns."""
        return Labels(codes, self.n_groups, weights=self.weights)

    # Views. They share what they can with the problem they come from, and need no check.

    def take_rows(self, index: NDArray) -> Problem:
        """Some rows (a mask or ascending numbers) as a problem of their own, scaled anew.

        Every group must keep a row; weights, blocks and covariates go with their rows.
        """
        if self._derived:
            raise ValueError("take rows first, then deflate them or leave out features")
        return self._taken(np.asarray(index))

    def _taken(self, index: NDArray) -> Problem:
        rows = self.rows
        if isinstance(rows, RowChunks) and index.dtype != bool:
            rows = rows.take(index)
        else:
            rows = rows[index]
        weights = None if self.weights is None else self.weights[index]
        blocks, block_names = self.blocks, self.block_names
        if blocks is not None:
            kept, blocks = np.unique(blocks[index], return_inverse=True)
            block_names = tuple(block_names[code] for code in kept)
        return replace(
            self,
            rows=rows,
            codes=self.codes[index],
            weights=None if weights is None or (weights == weights[0]).all() else weights,
            blocks=blocks,
            block_names=block_names,
            covariates=None if self.covariates is None else self.covariates[index],
        )

    @cached_property
    def ordered(self) -> Problem:
        """The same rows in an order of their own, which does not depend on the order in which they came.

        Sums are rounded differently in another order, and a search may end elsewhere: functions that return
        nothing row by row work on this view, so that shuffled rows give the same result to the last digit.
        Large tables, which would have to be copied, and rows out of core stay as they are.
        """
        if self.streamed or self._derived:
            return self
        known = self.__dict__.get("row_keys")
        if known is not None and (known[1:] >= known[:-1]).all():
            return self
        if self.n_rows * self.n_features > _MOST_ORDERED:
            return self
        # Rows that are alike may have different groups, and sums over a group must not know which came first.
        by: list[NDArray] = [] if self.covariates is None else list(self.covariates.T)
        by += [] if self.blocks is None else [self.blocks]
        order = np.lexsort([*by, self.codes, self.row_keys])
        other = self._taken(order)
        other.__dict__["row_keys"] = self.row_keys[order]
        other.__dict__["ordered"] = other
        return other

    @cached_property
    def with_ranked_groups(self) -> Problem:
        """The same problem with groups numbered by what their rows hold, not by the order of their names.

        A search that begins from the first group's means or covariances then ends at the same place
        whatever the groups are called. Rows out of core stay as they are.
        """
        if self.streamed or self._derived:
            return self
        ranks = group_ranks(self.row_keys, self.codes, self.n_groups)
        if (ranks == np.arange(self.n_groups)).all():
            return self
        classes = tuple(self.classes[code] for code in np.argsort(ranks))
        other = replace(self, codes=ranks[self.codes], classes=classes)
        for known in ("samples", "row_keys"):
            if known in self.__dict__:
                other.__dict__[known] = self.__dict__[known]
        return other

    def restrict(self, features: NDArray[np.intp]) -> Problem:
        """The same rows with some of the features only, scaled as before."""
        if self._derived:
            raise ValueError("restrict features first, then deflate rows or leave out features")
        return replace(
            self,
            rows=self.rows[:, features],
            names=tuple(self.names[j] for j in features),
            units=tuple(self.units[j] for j in features),
            kinds=tuple(self.kinds[j] for j in features),
        )

    def without(self, features: NDArray) -> Problem:
        """The same features, some of which (a mask or numbers) no direction uses."""
        mask = np.zeros(self.n_features, dtype=bool)
        mask[features] = True
        return self._with_samples(self.samples.without(mask))

    def deflated(self, directions: NDArray[np.float64]) -> Problem:
        """The same rows without what they have along some directions, shape (n_directions, n_features)."""
        return self._with_samples(self.samples.deflated(directions))

    def _with_samples(self, samples: Samples) -> Problem:
        other = replace(self, _derived=True)
        other.__dict__["samples"] = samples
        return other


# Which features have two values, and so are compared by a proportion.


# Rows that are looked at before a whole column is read to find out whether it has two values only.
_HEAD = 256


def with_flags(rows: Any, kinds: tuple[str, ...]) -> tuple[str, ...]:
    """Kinds with "flag" for numbers that take two values, whichever: 1 and 2 are as good as 0 and 1.

    Examples
    --------
    >>> with_flags(np.array([[1.0, 0.0], [2.0, 1.0], [1.0, 2.0]]), ("number", "number"))
    ('flag', 'number')
    """
    if isinstance(rows, RowChunks) or "number" not in kinds:
        return kinds
    head = rows[:_HEAD]
    head = head.toarray() if sp.issparse(head) else np.asarray(head)
    low, high = head.min(axis=0), head.max(axis=0)
    likely = np.flatnonzero(((head == low) | (head == high)).all(axis=0) & (np.array(kinds) == "number"))
    if not len(likely):
        return kinds
    found = np.array(kinds, dtype=object)
    found[likely[_have_two_values(rows, likely)]] = "flag"
    return tuple(found)


def _have_two_values(rows: Any, features: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Whether each of some features takes two values; in a sparse matrix zero is one of them."""
    if not sp.issparse(rows):
        columns = (rows[:, feature] for feature in features.tolist())
        ends = ((column, column.min(), column.max()) for column in columns)
        return np.array([a < b and bool(((column == a) | (column == b)).all()) for column, a, b in ends])
    some = sp.csr_matrix(rows[:, features])
    low, high = some.min(axis=0).toarray().ravel(), some.max(axis=0).toarray().ravel()
    other = (some.data != low[some.indices]) & (some.data != high[some.indices])
    return (low < high) & (np.bincount(some.indices[other], minlength=len(features)) == 0)
