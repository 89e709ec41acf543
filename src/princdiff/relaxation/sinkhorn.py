"""Entropic transport between two weighted clouds: Sinkhorn's iterations, warm and in single precision.

They answer roughly and fast; what goes into a bound is made feasible afterwards (transport.py).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from princdiff.relaxation.transport import round_plan

Array = npt.NDArray[Any]

_TINY = 1e-25  # a column sum below this has underflowed in float32
_LOG_STEPS = 20  # after this many steps in the log domain what underflows is cut off
_SWEEPS = 300  # that a single plan may take
_RANGE = 1e15  # scalings outside [1 / _RANGE, _RANGE] are absorbed into the potentials


class _Projected(NamedTuple):
    """Projected rows of both groups, the first times 2 / eps, their squared lengths, and eps."""

    scaled: Array
    py: Array
    norm_x: Array
    norm_y: Array
    eps: float


class EntropicTransport:
    """Sinkhorn between projected rows, with potentials kept warm from one call to the next.

    The cost matrix is never stored: the logits come from one matrix product, are exponentiated in
    place, and the iterations are matrix-vector products on that kernel.

    Parameters
    ----------
    a, b : ndarray of shape (n,), (m,)
        Weights, each summing to one.
    dtype : numpy dtype
        float32 is twice to four times as fast and good to a regularisation of about 1/500 of the value.

    Attributes
    ----------
    f, g : ndarray
        Potentials of the last call.
    n_iter : int
        Sinkhorn iterations so far.
    """

    def __init__(self, a: Array, b: Array, dtype: Any = np.float32) -> None:
        self.dtype = np.dtype(dtype)
        self.a = a.astype(self.dtype)
        self.b = b.astype(self.dtype)
        self.f = np.zeros_like(self.a)
        self.g = np.zeros_like(self.b)
        self.n_iter = 0
        self._kernel = np.empty((len(a), len(b)), self.dtype)
        self._u = self.a
        self._v = self.b

    def astype(self, dtype: Any) -> EntropicTransport:
        """The same state in another precision."""
        other = EntropicTransport(self.a, self.b, dtype)
        other.f, other.g = self.f.astype(dtype), self.g.astype(dtype)
        other.n_iter = self.n_iter
        return other

    def solve(self, px: Array, py: Array, eps: float, tol: float, max_iter: int) -> float:
        """Transport px (n, r) to py (m, r) with regularisation eps; returns the dual value.

        Stops when the column marginals are off by less than tol in total, or after max_iter iterations.
        The value is that of the potentials, so it is a lower bound on the regularised cost whatever tol.
        """
        norm_x = np.einsum("ij,ij->i", px, px)
        norm_y = np.einsum("ij,ij->i", py, py)
        pair = _Projected(px * self.dtype.type(2.0 / eps), py, norm_x, norm_y, eps)
        done = log_steps = 0
        while True:
            patient = log_steps < _LOG_STEPS
            state, done, top = self._iterate(pair, tol, max_iter, done, patient)
            self.f = norm_x + eps * (np.log(self._u / self.a) - top)
            if state == "underflow":
                self._log_step(pair)
                log_steps += 1
                continue
            self.g = self.g + eps * np.log(self._v / self.b)
            if state == "done":
                break
        self.n_iter += done
        return float(self.a.astype(float) @ self.f) + float(self.b.astype(float) @ self.g)

    def _iterate(
        self, pair: _Projected, tol: float, limit: int, done: int, patient: bool
    ) -> tuple[str, int, Array]:
        """Iterations on one kernel, until done, or until it has to be built anew."""
        kernel = self._kernel
        one = np.ones((len(pair.scaled), 1), self.dtype)
        column = ((self.g - pair.norm_y) / pair.eps).astype(self.dtype)[:, None]
        np.matmul(np.hstack([pair.scaled, one]), np.hstack([pair.py, column]).T, out=kernel)
        top = kernel.max(axis=1)
        kernel -= top[:, None]
        np.exp(kernel, out=kernel)
        # What under- or overflows is seen by the test of the column sums (nan fails it too), and repaired.
        with np.errstate(all="ignore"):
            return (*self._sweeps(tol, limit, done, patient), top)

    def _sweeps(self, tol: float, limit: int, done: int, patient: bool) -> tuple[str, int]:
        """Rows and columns scaled in turn; each line costs as much as the product for few rows."""
        kernel, a, b = self._kernel, self.a, self.b
        v = b
        while True:
            u = a / (kernel @ v)
            column_sum = u @ kernel
            done += 1
            if not column_sum.min() > _TINY:
                u = self._u = a / (kernel @ b)  # finite: every row of the kernel holds a one
                if patient:
                    return "underflow", done
                self._v = b / np.maximum(u @ kernel, _TINY)
                return "done", done
            last = done >= limit or (done % 3 == 1 and np.abs(v * column_sum - b).sum() < tol)
            v = b / column_sum
            if last or (done % 10 == 0 and (v.max() > _RANGE or v.min() < 1 / _RANGE)):
                self._u, self._v = u, v
                return "done" if last else "absorb", done

    def _log_step(self, pair: _Projected) -> None:
        """One column update in the log domain, for kernels whose columns underflow."""
        kernel = self._kernel
        one = np.ones((len(pair.py), 1), self.dtype)
        row = ((self.f - pair.norm_x) / pair.eps).astype(self.dtype)[:, None]
        np.matmul(np.hstack([pair.scaled, row]), np.hstack([pair.py, one]).T, out=kernel)
        top = kernel.max(axis=0)
        kernel -= top
        np.exp(kernel, out=kernel)
        self.g = pair.norm_y - pair.eps * (top + np.log(self.a @ kernel))

    def plan(self) -> Array:
        """The plan of the last call (n, m), float64; its columns sum to b, its rows only nearly to a."""
        plan = self._kernel.astype(np.float64)
        plan *= self._u[:, None]
        plan *= self._v
        return plan

    def transported(self, px: Array, py: Array) -> tuple[Array, Array, Array]:
        """M py (n, r), M' px (m, r) and the row sums of M, for the plan M of the last call."""
        kernel, u, v = self._kernel, self._u[:, None], self._v[:, None]
        return u * (kernel @ (v * py)), v * (kernel.T @ (u * px)), self._u * (kernel @ self._v)


def entropic_plan(rows: tuple[Array, Array], weights: tuple[Array, Array], eps: float, tol: float) -> Array:
    """A feasible plan (n, m) near the regularised one, between projected rows of both groups.

    Examples
    --------
    >>> line = np.arange(3.0)[:, None]
    >>> entropic_plan((line, line), (np.full(3, 1 / 3),) * 2, 0.01, 1e-3).round(3)
    array([[0.333, 0.   , 0.   ],
           [0.   , 0.333, 0.   ],
           [0.   , 0.   , 0.333]])
    """
    transport = EntropicTransport(*weights)
    transport.solve(rows[0].astype(np.float32), rows[1].astype(np.float32), eps, tol, _SWEEPS)
    return round_plan(transport.plan(), *weights)
