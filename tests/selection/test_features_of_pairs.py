from __future__ import annotations

import numpy as np

from princdiff.selection.features_of_pairs import FeatureFacts, features_that_explain


def facts(n_features=8, unit=None, few=(), may_differ=(), named=()):
    def mask(features):
        return np.isin(np.arange(n_features), list(features))

    return FeatureFacts(
        np.arange(n_features) if unit is None else np.array(unit), mask(few), mask(may_differ), mask(named)
    )


def explained(pairs, known):
    return features_that_explain(np.array(pairs, dtype=np.intp).reshape(-1, 2), known)


def test_numbers_are_named_with_all_their_partners():
    assert explained([(0, 1), (1, 2)], facts()) == {0: [1], 1: [0, 2], 2: [1]}
    # Also the partner of one that is named already.
    assert explained([(0, 1)], facts(named=[0])) == {1: [0]}
    assert explained([], facts()) == {}


def test_a_flag_that_many_pairs_share_explains_them():
    star = [(0, 3), (3, 1), (2, 3), (4, 3)]
    assert explained(star, facts(few=range(5))) == {3: [0, 1, 2, 4]}
    # The partner may be a number; the flag explains it all the same.
    assert explained(star, facts(few=[3])) == {3: [0, 1, 2, 4]}
    # A number that was broken up goes differently with flags, and they are not to blame.
    assert explained(star, facts(few=[0, 1, 2, 4])) == {3: [0, 1, 2, 4]}


def test_one_pair_of_flags_names_both():
    assert explained([(0, 1)], facts(few=[0, 1])) == {0: [1], 1: [0]}
    # Unless one of them differs by itself, or may do so.
    assert explained([(0, 1)], facts(few=[0, 1], named=[1])) == {}
    assert explained([(0, 1)], facts(few=[0, 1], may_differ=[1])) == {1: [0]}


def test_a_number_that_may_differ_does_not_explain_its_pairs():
    # Ranks have taken out what it does by itself.
    assert explained([(0, 1)], facts(few=[1], may_differ=[0])) == {0: [1], 1: [0]}


def test_levels_of_a_category_count_as_one_column():
    unit = [0, 0, 0, 1, 2, 3, 3, 3]
    pairs = [(0, 3), (1, 4), (2, 6)]
    assert explained(pairs, facts(unit=unit, few=range(8))) == {0: [3], 1: [4], 2: [6]}
    # A column named for another reason explains all pairs of its levels.
    assert explained(pairs, facts(unit=unit, few=range(8), named=[7])) == {0: [3], 1: [4]}


def test_two_hubs():
    pairs = [(0, 1), (0, 2), (5, 3), (5, 4), (0, 5)]
    found = explained(pairs, facts(few=range(8)))
    assert set(found) == {0, 5}
