"""A comparison checks its rows once, its groups once, and scales the whole table once."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from princdiff import compare
from princdiff.data import problem, samples, validate
from princdiff.labellings.schemes import Scheme
from princdiff.statistics import alone
from princdiff.tables import preparation

N_ROWS = 120


@pytest.fixture
def calls(monkeypatch):
    """How often the functions that look at a whole table were called."""
    counted: Counter[str] = Counter()

    def count(owner, name, called=None):
        original = getattr(owner, name)

        def counting(*args, **kwargs):
            counted[called or name] += 1
            return original(*args, **kwargs)

        monkeypatch.setattr(owner, name, counting)

    count(validate, "check_rows", "rows")
    count(preparation, "bad_cells", "rows")
    count(validate, "check_groups", "groups")
    count(preparation, "assign_roles", "groups")
    count(problem, "get", "divergence")
    scaled = samples.Samples.__init__
    widest = [0]

    def scaling(self, rows, *args, **kwargs):
        # The columns that an explanation leaves out are a table of their own.
        widest[0] = max(widest[0], rows.shape[1])
        counted["whole tables scaled"] += rows.shape == (N_ROWS, widest[0])
        scaled(self, rows, *args, **kwargs)

    monkeypatch.setattr(samples.Samples, "__init__", scaling)
    return counted


def numbers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 8))
    X[N_ROWS // 2 :, 1] += 1
    return X, np.repeat(["a", "b"], N_ROWS // 2)


def mixed():
    X, y = numbers()
    frame = pd.DataFrame(X[:, :3], columns=["u", "v", "w"])
    return frame.assign(city=np.resize(["Bern", "Rome", "Oslo"], N_ROWS)), y


@pytest.mark.parametrize(
    ("data", "options"),
    [
        (numbers, {}),
        (numbers, {"n_components": 2}),
        (numbers, {"divergence": "energy"}),
        (numbers, {"blocks": np.tile(np.arange(N_ROWS // 2), 2)}),
        (lambda: (sp.csr_matrix(numbers()[0]), numbers()[1]), {}),
        (mixed, {"sample_weight": np.linspace(1, 2, N_ROWS)}),
    ],
    ids=["numbers", "two directions", "energy", "blocks", "sparse", "table with weights"],
)
def test_a_comparison_checks_and_scales_once(calls, data, options, tmp_path):
    X, y = data()
    result = compare(X, groups=y, n_permutations=19, random_state=0, **options)
    result.to_html(tmp_path / "report.html")
    assert calls == {"rows": 1, "groups": 1, "divergence": 1, "whole tables scaled": 1}


def test_test_and_selection_share_labellings_and_scores(monkeypatch):
    drawn, scored = Counter(), []
    one, scores = Scheme._one, alone.alone_scores

    def drawing(self, index):
        drawn[self.n_labellings, index] += 1
        return one(self, index)

    def scoring(rows, labellings, *args):
        scored.append(labellings.n_labellings)
        return scores(rows, labellings, *args)

    monkeypatch.setattr(Scheme, "_one", drawing)
    monkeypatch.setattr(alone, "alone_scores", scoring)
    X, y = numbers()
    compare(X, groups=y, n_permutations=199, random_state=0)
    assert scored.count(200) == 1
    assert {count for (size, _), count in drawn.items() if size == 200} == {1}


def test_further_directions_have_the_same_pvalues_again():
    X, y = numbers()
    first, second = (
        compare(X, groups=y, n_permutations=19, n_components=2).components["pvalue"] for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)
