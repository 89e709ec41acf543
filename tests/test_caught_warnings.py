"""Warnings point to the user's line, however deep inside the package they arise."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin

import princdiff
from princdiff.caught_warnings import warn_user


def lines_of(work) -> dict[str, str]:
    """The beginning of each warning of a call, and the file it points to."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        work()
    return {str(one.message)[:27]: one.filename for one in caught}


def donors_of(groups: list[str]):
    anndata = pytest.importorskip("anndata")
    rng = np.random.default_rng(0)
    obs = {"side": np.repeat(groups, 120 // len(groups)), "donor": np.arange(120) // 10}
    obs = pd.DataFrame(obs, index=[f"c{number}" for number in range(120)]).astype(str)
    return anndata.AnnData(rng.normal(size=(120, 3)), obs=obs)


def quick(compare, *tables, **options):
    return lambda: compare(*tables, n_permutations=19, **options)


def table(rows: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(rows, 2)), columns=["a", "b"])
    return frame.assign(when=pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(rows), "D"))


def test_donors_are_warned_of_at_the_users_line():
    two, three = donors_of(["left", "right"]), donors_of(["left", "middle", "right"])
    found = lines_of(quick(princdiff.compare, two, groups="side"))
    assert found == {"the p-value treats every ce": __file__}
    found = lines_of(quick(princdiff.compare_groups, three, groups="side"))
    assert found == {"the p-value treats every ce": __file__}
    found = lines_of(lambda: princdiff.tl.pda(two, "side", values=None, n_permutations=19))
    assert found == {"the p-value treats every ce": __file__}


def test_columns_left_out_are_told_at_the_users_line():
    sides = np.repeat(["left", "middle", "right"], 20)
    comparisons = (
        quick(princdiff.compare, table(), table()),
        quick(princdiff.compare_groups, table(), groups=sides),
        quick(princdiff.compare_batches, {"one": table(), "two": table()}, reference=table()),
    )
    for work in comparisons:
        assert set(lines_of(work).values()) == {__file__}


def test_what_a_checkpoint_repeats_is_told_at_the_users_line(tmp_path):
    first, second = table()[["a", "b"]], table()[["a", "b"]]
    config, few = princdiff.Config(checkpoint=tmp_path / "kept"), {"n_permutations": 9, "n_features": 1}
    for _ in range(2):
        found = lines_of(lambda: princdiff.compare(first, second, config=config, **few))
        assert found == {"n_permutations=9 cannot giv": __file__}


def test_covariates_in_which_groups_hardly_overlap():
    X, y = np.random.default_rng(2).normal(size=(40, 3)), np.repeat([0, 1], 20)
    y[[18, 21]] = 1, 0
    work = lambda: princdiff.permutation_test(X, y, covariates=np.arange(40.0), n_permutations=19)  # noqa: E731
    assert lines_of(work) == {"the groups hardly overlap i": __file__}


def test_a_base_class_between_is_not_the_user():
    inside = {"__name__": "princdiff.somewhere", "warn_user": warn_user}
    exec("def fit(self, X, y=None):\n    warn_user('few rows')\n    return self", inside)
    estimator = type(
        "Warns", (TransformerMixin, BaseEstimator), {"fit": inside["fit"], "transform": lambda self, X: X}
    )()
    assert lines_of(lambda: estimator.fit_transform(np.ones((2, 1)))) == {"few rows": __file__}
