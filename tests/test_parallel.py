from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg  # noqa: F401 (its BLAS is one of those that are counted)
from threadpoolctl import threadpool_info, threadpool_limits

import princdiff
from princdiff.data.products import DenseBlock
from princdiff.parallel import in_threads, single_threaded_blas
from princdiff.selection.steps import SelectionSteps

pytestmark = pytest.mark.whole

ROWS = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2


@pytest.fixture
def free():
    """Threads of BLAS while nobody holds them: two, or one where it can do no more."""
    with threadpool_limits(2, user_api="blas"):
        yield blas_threads()


def blas_threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_blas_is_held_to_one_thread_until_the_last_holder_leaves(free):
    with single_threaded_blas:
        with single_threaded_blas:
            assert blas_threads() == {1}
        assert blas_threads() == {1}
    assert blas_threads() == free


def test_the_number_of_threads_comes_back_however_calls_in_several_threads_end(free):
    single_threaded_blas.__enter__()
    assert in_threads(lambda _: blas_threads(), range(4), n_jobs=2) == [{1}] * 4
    single_threaded_blas.__enter__()
    single_threaded_blas.__exit__()
    assert blas_threads() == {1}
    single_threaded_blas.__exit__()
    assert blas_threads() == free


def test_an_error_gives_the_threads_back(free):
    @single_threaded_blas
    def fails() -> None:
        assert blas_threads() == {1}
        raise KeyError("x")

    with pytest.raises(KeyError):
        fails()
    assert blas_threads() == free


CALLS = {
    "compare": lambda X, y: princdiff.compare(X, groups=y, n_permutations=19),
    "permutation_test": lambda X, y: princdiff.permutation_test(X, y, n_permutations=19),
    "stability_selection": lambda X, y: princdiff.stability_selection(X, y, n_pairs=3),
    "split_test": lambda X, y: princdiff.split_test(X, y, n_splits=1, n_permutations=19),
    "PDA": lambda X, y: princdiff.PDA(random_state=0, certify=False).fit(X, y),
}


@pytest.mark.parametrize("name", CALLS)
def test_products_use_one_thread_in_every_call(name, free, monkeypatch):
    seen = watched(monkeypatch, DenseBlock, "project")
    CALLS[name](*ROWS)
    assert seen == {1}
    assert blas_threads() == free


def test_so_do_those_of_the_selection(free, monkeypatch):
    seen = watched(monkeypatch, SelectionSteps, "result")
    princdiff.select_features(*ROWS, n_permutations=19)
    assert seen == {1}
    assert blas_threads() == free


def watched(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> set[int]:
    """Threads of BLAS whenever a method is called."""
    seen: set[int] = set()
    method = getattr(owner, name)

    def noted(*args, **kwargs):
        seen.update(blas_threads())
        return method(*args, **kwargs)

    monkeypatch.setattr(owner, name, noted)
    return seen
