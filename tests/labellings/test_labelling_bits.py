"""Labellings that are kept as bits are those that were drawn."""

import pickle

import numpy as np
import pytest

from princdiff.labellings import bits as module
from princdiff.labellings.bits import LabellingBits
from princdiff.labellings.schemes import Scheme, SomeRows
from princdiff.statistics.contrasts import Contrasts, Relabellings


@pytest.mark.parametrize("n_rows", [13, 64, 301])
def test_bits_are_those_drawn(n_rows, monkeypatch):
    monkeypatch.setattr(module, "PART", 64)
    drawn = np.random.default_rng(0).integers(2, size=(5, n_rows)).astype(np.uint8)
    bits = LabellingBits(lambda index: drawn[index], 5, n_rows)
    np.testing.assert_array_equal(bits.codes(np.array([3, 0])), drawn[[3, 0]])
    seen = np.concatenate(
        [np.unpackbits(own, axis=1, count=rows.stop - rows.start) for rows, own in bits.parts(4)], axis=1
    )
    np.testing.assert_array_equal(seen, drawn[:4])
    packed = bits.packed(np.array([3, 0]))
    np.testing.assert_array_equal(packed, drawn[[3, 0]])
    np.testing.assert_array_equal(packed[:, 3:12], drawn[[3, 0], 3:12])
    np.testing.assert_array_equal(list(packed[np.array([1])]), drawn[[0]])


def test_each_labelling_is_drawn_once_and_only_when_it_is_asked_for():
    asked = []

    def draw(index):
        asked.append(index)
        return np.arange(20) % 2

    bits = LabellingBits(draw, 10, 20)
    bits.codes(np.array([4]))
    list(bits.parts(3))
    bits.codes(np.array([1, 4]))
    assert asked == [4, 0, 1, 2]


def test_schemes_give_the_same_labellings_whether_they_are_kept_or_not(monkeypatch):
    codes = np.repeat([0, 1], [300, 200]).astype(np.uint8)
    kept = Scheme(codes, 30, seed=3)
    assert kept.bits is not None and kept.first(10).bits is kept.bits
    monkeypatch.setattr("princdiff.labellings.schemes.MOST_BYTES", -1)
    drawn = Scheme(codes, 30, seed=3)
    assert drawn.bits is None
    every = np.arange(31)
    np.testing.assert_array_equal(kept.codes(every), drawn.codes(every))
    rows = np.arange(0, 500, 7)
    np.testing.assert_array_equal(SomeRows(kept, rows).codes(every), drawn.codes(every)[:, rows])


def test_another_process_draws_for_itself():
    scheme = Scheme(np.repeat([0, 1], 40).astype(np.uint8), 9, seed=0)
    other = pickle.loads(pickle.dumps(scheme))
    assert other.bits is None
    np.testing.assert_array_equal(other.codes(np.arange(10)), scheme.codes(np.arange(10)))


def test_sums_of_squares_from_bits_and_from_codes_agree(monkeypatch):
    rng = np.random.default_rng(1)
    columns = rng.normal(size=(3000, 4))
    codes = (rng.random(3000) < 0.3).astype(np.uint8)
    weights = rng.uniform(0.5, 2, size=3000)
    for own in (None, weights):
        design = Relabellings(Scheme(codes, 49, seed=0), 2, weights=own)
        from_bits = Contrasts(design).between(columns)
        with monkeypatch.context() as patch:
            patch.setattr("princdiff.labellings.schemes.MOST_BYTES", -1)
            plain = Relabellings(Scheme(codes, 49, seed=0), 2, weights=own)
            from_codes = Contrasts(plain).between(columns)
        np.testing.assert_allclose(from_bits, from_codes, rtol=1e-4, atol=1e-5)


def test_columns_one_by_one_give_what_they_give_together(monkeypatch):
    from princdiff.statistics import contrasts as contrasts_module

    rng = np.random.default_rng(2)
    columns = rng.normal(size=(900, 7))
    design = Relabellings(Scheme((np.arange(900) % 2).astype(np.uint8), 29, seed=0), 2)
    together = Contrasts(design).between(columns)
    monkeypatch.setattr(contrasts_module, "MANY_ROWS", 100)
    monkeypatch.setattr(contrasts_module, "_MOST_LINES", 3)
    one_by_one = Contrasts(design).between_lines(iter(columns.T), 7)
    np.testing.assert_allclose(one_by_one, together, rtol=1e-4, atol=1e-5)
