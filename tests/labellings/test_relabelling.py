from __future__ import annotations

from collections import Counter
from itertools import permutations, product

import numpy as np
import pytest
from scipy.stats import chisquare

from princdiff.data.row_keys import row_keys
from princdiff.labellings.orders import shuffled_labels
from princdiff.labellings.schemes import Scheme

WITHIN = [
    # codes, blocks
    ([0, 0, 1, 1], None),
    ([0, 0, 0, 1, 1], None),
    ([0, 1, 1, 2, 2], None),
    ([0, 0, 1, 1, 2, 2], None),
    ([0, 1, 0, 1, 0, 1], [0, 0, 1, 1, 2, 2]),
    ([0, 1, 0, 1, 1, 1], [0, 0, 1, 1, 2, 2]),
    ([1, 0, 0, 1, 0, 0, 1], [0, 1, 0, 1, 2, 0, 1]),
    ([0, 1, 2, 0, 1, 2], [0, 0, 0, 1, 1, 1]),
    # In both blocks the first two groups are of one size and may swap their names; the third may not.
    ([0, 1, 2, 2, 0, 1, 2, 2], [0, 0, 0, 0, 1, 1, 1, 1]),
]
WHOLE = [
    ([0, 0, 1, 1], [0, 1, 2, 3]),
    ([0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 2, 2, 2, 3]),
    ([1, 0, 0, 1, 0, 0], [3, 0, 1, 3, 2, 1]),
    ([0, 0, 1, 1, 2, 2, 2], [0, 1, 2, 3, 4, 4, 5]),
]


def scheme_of(codes, blocks=None, permute="within", n_permutations=10**6, seed=0, **options):
    codes = np.array(codes, dtype=np.uint8)
    blocks = None if blocks is None else np.array(blocks, dtype=np.intp)
    return Scheme(codes, n_permutations, seed, blocks, permute, **options)


def all_labellings(scheme):
    return scheme.codes(np.arange(scheme.n_labellings))


def orbit(codes, blocks=None, permute="within"):
    """Every labelling that the rows (or the blocks) of the design allow, by trying all permutations."""
    if permute == "whole":
        names = sorted(set(blocks))
        units = [codes[blocks.index(name)] for name in names]
        return {tuple(order[names.index(block)] for block in blocks) for order in permutations(units)}
    blocks = [0] * len(codes) if blocks is None else blocks
    members = [[row for row, block in enumerate(blocks) if block == name] for name in sorted(set(blocks))]
    found = set()
    for parts in product(*(set(permutations([codes[row] for row in rows])) for rows in members)):
        labelling = [0] * len(codes)
        for rows, part in zip(members, parts, strict=True):
            for row, code in zip(rows, part, strict=True):
                labelling[row] = code
        found.add(tuple(labelling))
    return found


def partition(labelling):
    """The groups without their names: what a symmetric statistic sees."""
    groups = {}
    for row, code in enumerate(labelling):
        groups.setdefault(code, []).append(row)
    return frozenset(map(tuple, groups.values()))


DESIGNS = [(*design, "within") for design in WITHIN] + [(*design, "whole") for design in WHOLE]


@pytest.mark.parametrize("codes, blocks, permute", DESIGNS)
def test_all_partitions_once_the_observed_first(codes, blocks, permute):
    scheme = scheme_of(codes, blocks, permute)
    expected = orbit(codes, blocks, permute)
    assert scheme.exhaustive
    found = [tuple(row) for row in all_labellings(scheme).tolist()]
    assert found[0] == tuple(codes)
    assert set(found) <= expected
    assert Counter(map(partition, found)) == Counter(set(map(partition, expected)))


@pytest.mark.parametrize("codes, blocks, permute", DESIGNS)
def test_smallest_pvalue_counts_the_mirror_images(codes, blocks, permute):
    # A statistic that does not know the groups' names ties on labellings with one partition.
    expected = orbit(codes, blocks, permute)
    images = sum(partition(labelling) == partition(codes) for labelling in expected)
    assert scheme_of(codes, blocks, permute).smallest_pvalue == pytest.approx(images / len(expected))


def test_all_of_them_exactly_where_they_are_few_enough():
    # C(6, 3) = 20 labellings, two for each of 10 partitions: 9 besides the observed one.
    codes = [0, 0, 0, 1, 1, 1]
    assert scheme_of(codes, n_permutations=9).exhaustive
    drawn = scheme_of(codes, n_permutations=8)
    assert not drawn.exhaustive
    assert all_labellings(drawn).shape == (9, 6)
    assert drawn.smallest_pvalue == pytest.approx(1 / 9)


def test_of_few_labellings_none_is_drawn_twice_nor_the_observed_one_under_other_names():
    codes = np.repeat([0, 1], 6)
    drawn = all_labellings(scheme_of(codes, n_permutations=400)).tolist()
    assert len(set(map(partition, drawn))) == 401


def test_the_first_labellings_are_the_same_however_many_are_asked_for():
    codes = np.repeat([0, 1], 6)
    few, many = (all_labellings(scheme_of(codes, n_permutations=count)) for count in (50, 999))
    np.testing.assert_array_equal(few, many[:51])


def test_names_are_drawn_so_that_a_statistic_that_knows_them_is_tested_exactly():
    codes = np.repeat([0, 1], 3)
    drawn = np.array([all_labellings(scheme_of(codes, seed=seed))[1:, 0] for seed in range(400)])
    assert abs(drawn.mean() - 0.5) < 0.05
    # Rejected at 20 % by the number of the group that the last row is in: of ten labellings at most two.
    statistic = [all_labellings(scheme_of(codes, seed=seed))[:, 5] for seed in range(400)]
    rejected = [(values >= values[0]).mean() <= 0.2 for values in statistic]
    assert np.mean(rejected) < 0.2


def test_swapped_names_swap_every_labelling():
    codes = np.random.default_rng(0).permutation(np.repeat([0, 1], 6))
    one, other = (all_labellings(scheme_of(own, n_permutations=99)) for own in (codes, 1 - codes))
    np.testing.assert_array_equal(one, 1 - other)


def test_drawn_labellings_keep_what_the_design_keeps():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, size=60)
    blocks = rng.integers(0, 7, size=60)
    scheme = scheme_of(codes, blocks, n_permutations=50)
    assert not scheme.exhaustive
    labellings = all_labellings(scheme)
    np.testing.assert_array_equal(labellings[0], codes)
    counts = np.array([[np.bincount(row[blocks == b], minlength=3) for b in range(7)] for row in labellings])
    assert (counts == counts[0]).all()
    assert len(np.unique(labellings, axis=0)) == len(labellings)


def test_free_labellings_keep_the_group_sizes():
    codes = np.repeat([0, 1, 2], [20, 13, 7])
    labellings = all_labellings(scheme_of(codes, n_permutations=40))
    for row in labellings:
        np.testing.assert_array_equal(np.bincount(row), [20, 13, 7])


def test_whole_blocks_stay_together():
    rng = np.random.default_rng(1)
    blocks = rng.permutation(np.repeat(np.arange(14), rng.integers(1, 6, size=14)))
    of_block = rng.permutation(np.repeat([0, 1], [6, 8]))
    scheme = scheme_of(of_block[blocks], blocks, "whole", n_permutations=60)
    labellings = all_labellings(scheme)
    np.testing.assert_array_equal(labellings[0], of_block[blocks])
    for row in labellings:
        units = np.array([np.unique(row[blocks == block]).item() for block in range(14)])
        np.testing.assert_array_equal(np.bincount(units), [6, 8])
    assert len(np.unique(labellings, axis=0)) > 50


@pytest.mark.parametrize("permute", ["within", "whole"])
@pytest.mark.parametrize("n_permutations", [99, 10**6])
def test_a_labelling_depends_on_seed_and_number_only(permute, n_permutations):
    codes = [0, 0, 0, 0, 1, 1, 1, 1]
    blocks = None if permute == "within" else list(range(8))

    def make(seed, count=n_permutations):
        return scheme_of(codes, blocks, permute, count, seed)

    labellings = all_labellings(make(3))
    # One by one, backwards and in pieces: the same labellings.
    numbers = np.arange(len(labellings))
    np.testing.assert_array_equal(make(3).codes(numbers[::-1]), labellings[::-1])
    np.testing.assert_array_equal(
        np.concatenate([make(3).codes(part) for part in np.array_split(numbers, 7)]), labellings
    )
    assert (all_labellings(make(4)) != labellings).any()
    if n_permutations == 99:
        # More labellings are more of the same ones (70 are possible, so at most 69 can be drawn here).
        np.testing.assert_array_equal(all_labellings(make(3, 30)), all_labellings(make(3, 60))[:31])


def test_listed_labellings_come_in_random_order():
    # A test that stops early sees the first ones only; in lexicographic order these are neighbours of one
    # another. At random the rows of the first half carry about half of the second group's labels.
    scheme = scheme_of(np.repeat([0, 1], 6), n_permutations=999)
    assert scheme.exhaustive
    first = scheme.codes(np.arange(1, 101))
    assert first[:, :6].mean() == pytest.approx(0.5, abs=0.06)
    lone = first.mean(axis=0)
    assert (np.abs(lone - 0.5) < 0.25).all()


def test_shuffled_labels_are_uniform():
    rng = np.random.default_rng(0)
    labels = np.array([2, 2, 2, 0, 0, 1], dtype=np.uint8)
    counts = Counter(tuple(shuffled_labels(labels, rng).tolist()) for _ in range(12_000))
    # 60 orders of the labels, 200 times each.
    assert len(counts) == 60
    assert sum((count - 200) ** 2 / 200 for count in counts.values()) < 98.3  # 99.9 % point, 59 degrees


@pytest.mark.parametrize("sizes", [(2500, 2500), (4990, 10), (2000, 1500, 1500)])
def test_many_rows_are_drawn_like_few(sizes):
    codes = np.repeat(np.arange(len(sizes)), sizes)
    drawn = all_labellings(scheme_of(codes, n_permutations=300))[1:]
    for row in drawn:
        np.testing.assert_array_equal(np.bincount(row), sizes)
    # Every row is in the last group as often as its share says, and rows do not go together.
    inside = drawn == len(sizes) - 1
    share = sizes[-1] / 5000
    assert inside.mean(axis=0).std() == pytest.approx(np.sqrt(share * (1 - share) / 300), rel=0.1)
    halves = inside[:, :2500].sum(axis=1)
    expected = np.sqrt(2500 * share * (1 - share) * 2500 / 4999)
    assert halves.std() == pytest.approx(expected, rel=0.2)


def test_drawn_labellings_are_uniform():
    # 3 + 3 rows have 20 labellings; 4000 drawn ones should meet each about 200 times.
    schemes = [scheme_of([0, 0, 0, 1, 1, 1], n_permutations=18, seed=seed) for seed in range(223)]
    drawn = np.concatenate([scheme.codes(np.arange(1, 19)) for scheme in schemes])[:4000]
    counts = np.unique(drawn, axis=0, return_counts=True)[1]
    assert len(counts) == 20
    assert ((counts - 200) ** 2 / 200).sum() < 43.8  # 99.9 % point of chi squared with 19 degrees


@pytest.mark.parametrize(
    "codes, blocks, permute, words",
    [
        ([0, 0, 1, 1], [0, 0, 1, 1], "within", 'every block lies in one group; use permute="whole"'),
        ([0, 1, 0, 1], [0, 0, 1, 1], "whole", "rows of several groups"),
        ([0, 0, 0, 1], [0, 0, 0, 0], "whole", "rows of several groups"),
    ],
)
def test_impossible_designs_say_why(codes, blocks, permute, words):
    with pytest.raises(ValueError, match=words):
        scheme_of(codes, blocks, permute)


def test_relabellings_do_not_depend_on_the_order_of_rows_or_the_names_of_groups():
    rng = np.random.default_rng(0)
    for sizes in ((9, 14), (10, 10), (5, 6, 8)):
        codes = rng.permutation(np.repeat(np.arange(len(sizes)), sizes)).astype(np.uint8)
        # Few different rows: many are alike, in different groups.
        rows = rng.integers(0, 3, size=(len(codes), 2)) * 1.0
        indices = np.arange(20)
        for blocks in (None, rng.integers(0, 3, size=len(codes))):
            keys = row_keys(rows)
            found = Scheme(codes, 19, 5, blocks, keys=keys).codes(indices)
            order = rng.permutation(len(codes))
            moved = None if blocks is None else blocks[order]
            again = Scheme(codes[order], 19, 5, moved, keys=keys[order]).codes(indices)
            names = rng.permutation(len(sizes)).astype(np.uint8)
            renamed = Scheme(names[codes], 19, 5, blocks, keys=keys).codes(indices)
            for index in indices:
                # Which rows are in a group: counted, for rows that are alike are one as good as the other.
                assert content(rows, found[index]) == content(rows[order], again[index])
                assert content(rows, found[index]) == content(rows, renamed[index])


def content(rows, codes):
    """The rows of each group, whatever its name."""
    return sorted(sorted(map(tuple, rows[codes == group].tolist())) for group in np.unique(codes))


def test_relabellings_are_uniform_with_keys():
    # Every partition of 6 rows into 2 and 4 must come equally often.
    keys = row_keys(np.array([[3.0], [1.0], [2.0], [2.0], [0.0], [5.0]]))
    scheme = Scheme(np.array([1, 0, 1, 1, 0, 1], dtype=np.uint8), 13, 1, keys=keys)
    assert not scheme.exhaustive
    drawn = scheme.codes(np.arange(1, 6001))
    counts = np.unique(drawn, axis=0, return_counts=True)[1]
    assert len(counts) == 15
    assert chisquare(counts).pvalue > 1e-4


def test_many_rows_and_strata_do_not_overflow():
    codes = np.tile([0, 1], 2000)
    scheme = scheme_of(codes, np.repeat(np.arange(2000), 2), n_permutations=9)
    assert not scheme.exhaustive
    assert scheme.smallest_pvalue == pytest.approx(0.1)
    assert all_labellings(scheme).shape == (10, 4000)
