"""`assert_no_drift` fails with what drifted."""

from __future__ import annotations

import numpy as np
import pytest

from princdiff import assert_no_drift

RNG = np.random.default_rng(0)
BEFORE, SAME = RNG.normal(size=(200, 3)), RNG.normal(size=(200, 3))
AFTER = SAME + np.array([0, 0, 1])


def test_no_drift():
    assert_no_drift(BEFORE, SAME, n_permutations=99, fail_below=0.02)
    assert_no_drift(BEFORE, SAME, margin=0.5)


def test_drift_is_named():
    with pytest.raises(AssertionError) as failed:
        assert_no_drift(BEFORE, AFTER, n_permutations=99, fail_below=0.02)
    lines = str(failed.value).splitlines()
    assert lines[0].startswith("The groups X and Y differ") and "failed" not in lines[0]
    assert lines[1].startswith("  x2: mean ") and lines[1].endswith(" sd)") and "0.02" in lines[-1]


def test_a_small_effect_is_let_through():
    assert_no_drift(BEFORE, AFTER, n_permutations=99, fail_below=0.02, min_effect=5)


def test_a_margin_has_to_be_shown():
    with pytest.raises(AssertionError, match=r"Moved by more than 0.5 sd .*: x2"):
        assert_no_drift(BEFORE, AFTER, margin=0.5)
    with pytest.raises(AssertionError, match="Not decided"):
        assert_no_drift(BEFORE[:20], SAME[:20], margin=0.1)


def test_a_rule_that_cannot_be_met_is_no_pass():
    with pytest.raises(ValueError, match="cannot decide"):
        assert_no_drift(BEFORE, AFTER, n_permutations=9, fail_below=0.01)
