"""Every result prints itself in a line or two, however large its arrays are."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import princdiff

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 30)) + np.repeat([0.0, 1.0], 30)[:, None] * np.eye(30)[3] * 2
Y = np.repeat(["a", "b"], 30)
QUICK = {"n_permutations": 99, "random_state": 0}


@pytest.fixture(scope="module")
def compared():
    return princdiff.compare(X, groups=Y, config=princdiff.Config(certify=False), **QUICK)


@pytest.mark.parametrize(
    "make",
    [
        lambda: princdiff.permutation_test(X, Y, **QUICK),
        lambda: princdiff.split_test(X, Y, **QUICK),
        lambda: princdiff.select_features(X, Y, **QUICK),
        lambda: princdiff.stability_selection(X, Y, n_features=2, n_pairs=5, random_state=0),
        lambda: princdiff.relax(X[:, :5], Y, random_state=0),
    ],
    ids=["PermutationResult", "SplitResult", "SelectionResult", "StabilityResult", "RelaxResult"],
)
def test_results_of_functions(make, request):
    text = repr(make())
    assert text.startswith(request.node.callspec.id)
    assert len(text) < 400 and "\n" not in text and "array([" not in text


def test_names_do_not_steer_the_terminal(compared):
    hostile = dataclasses.replace(compared, groups={"\x1b]0;title\x07": 30, "b": 30})
    for text in (repr(hostile), str(hostile)):
        assert "\x1b" not in text and "\x07" not in text and "\\x1b]0;title" in text


def test_a_comparison_and_its_parts(compared):
    assert repr(compared) == "<DifferenceResult a vs b: p = 0.01, 1 column differs>"
    for name in ("test", "selection", "certificate", "path", "reference"):
        text = repr(getattr(compared, name))
        assert len(text) < 900 and "array([" not in text and "\n" not in text
    assert "null=<array (99,)>" in repr(compared.test)
    assert "<array" in repr(next(iter(compared.distributions.values())))
