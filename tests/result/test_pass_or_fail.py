"""Rules that pass, fail, or cannot be decided."""

import dataclasses

import numpy as np
import pytest

from princdiff import compare
from princdiff.result.parts import SelectionPart
from princdiff.result.pass_or_fail import decide


def groups(n_rows, shift):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n_rows, 2)), rng.normal(size=(n_rows, 2)) + np.array([shift, 0.0])


@pytest.mark.parametrize("rule", [{}, {"min_column_effect": 0.2}])
def test_a_test_that_is_too_small_decides_nothing(rule):
    # Of six rows no p-value is below 0.1, and so no column can be named.
    assert decide(compare(*groups(3, 5.0)), 0.05, **rule).outcome == "undecided"


def test_columns_that_were_not_tested_are_not_small():
    made = compare(*groups(60, 2.0), n_permutations=99)
    # As where a time budget left them out.
    result = dataclasses.replace(made, columns=made.columns.assign(selected=False), selection=SelectionPart())
    assert decide(result, 0.05).outcome == "failed"
    found = decide(result, 0.05, min_column_effect=0.2)
    assert (found.outcome, found.exit_code) == ("undecided", 2)
    assert "columns were not tested" in found.reason


def test_a_column_that_is_named_decides():
    result = compare(*groups(60, 2.0), n_permutations=99)
    assert decide(result, 0.05, min_column_effect=0.2).outcome == "failed"
    assert decide(result, 0.05, min_column_effect=20).outcome == "passed"
