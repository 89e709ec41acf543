"""Parts of W of many plans against products of whole matrices, by both engines."""

from __future__ import annotations

import numpy as np
import pytest

from princdiff.kernels import engine
from princdiff.kernels import matched_rows as module
from princdiff.kernels.matched_rows import Plans, matched_forms


class Absent:
    available = False


@pytest.fixture(params=["compiled", "numpy"])
def each_engine(request, monkeypatch):
    if request.param == "numpy":
        monkeypatch.setattr(module, "_MATCHED", Absent())
    elif engine().library is None:
        pytest.skip(f"needs the compiled library: {engine().reason}")


@pytest.mark.parametrize("count, length, d, size, n_between", [
    (0, 4, 3, 1, 1), (1, 1, 1, 1, 0), (3, 7, 5, 2, 1), (5, 40, 33, 4, 2), (2, 9, 4, 4, 3),
])  # fmt: skip
@pytest.mark.parametrize("own_mass", [False, True])
def test_agrees_with_whole_matrices(each_engine, count, length, d, size, n_between, own_mass):
    rng = np.random.default_rng(count + d)
    x, y = rng.normal(size=(6, d)), rng.normal(size=(8, d))
    first, second = rng.integers(6, size=(count, length)), rng.integers(8, size=(count, length))
    mass = rng.random((count, length) if own_mass else length)
    between = rng.normal(size=(n_between, d))
    support = np.array([rng.permutation(d)[:size] for _ in range(count)], dtype=int).reshape(count, size)
    vectors = rng.normal(size=(count, size, size))
    found = matched_forms((x, y), Plans(first, second, mass), between, support, vectors, True)
    without = matched_forms((x, y), Plans(first, second, mass), between, support, vectors, False)
    assert without.gaps is None
    for i in range(count):
        gaps = (x[first[i]] - y[second[i]]) * np.sqrt(mass[i] if own_mass else mass)[:, None]
        gaps = np.concatenate([gaps, between])
        W = gaps.T @ gaps
        inside = vectors[i] @ W[support[i]]
        for forms in (found, without):
            np.testing.assert_allclose(forms.squares[i], np.diag(W), rtol=1e-12)
            np.testing.assert_allclose(forms.cross[i], inside, atol=1e-10)
            np.testing.assert_allclose(forms.pairs[i], inside[:, support[i]] @ vectors[i].T, atol=1e-10)
        np.testing.assert_array_equal(found.gaps[i], gaps.astype(np.float32))


def test_a_plan_does_not_know_its_neighbours(each_engine):
    rng = np.random.default_rng(1)
    x, y, between = rng.normal(size=(9, 7)), rng.normal(size=(9, 7)), rng.normal(size=(1, 7))
    plans = Plans(rng.integers(9, size=(20, 9)), rng.integers(9, size=(20, 9)), np.full(9, 1 / 9))
    support, vectors = np.tile([4, 2], (20, 1)), rng.normal(size=(20, 2, 2))
    together = matched_forms((x, y), plans, between, support, vectors, True)
    part = slice(7, 11)
    some = Plans(plans.first[part], plans.second[part], plans.mass)
    alone = matched_forms((x, y), some, between, support[part], vectors[part], True)
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_allclose(one, other[part], rtol=1e-13)
