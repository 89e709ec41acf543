from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from princdiff import divergences
from princdiff.data.labels import Labels
from princdiff.divergences import CustomDivergence, Energy, Hellinger, Wasserstein2, WassersteinP


def test_every_name_makes_its_divergence():
    names = divergences.available()
    assert len(names) == len(set(names)) >= 13
    for name in names:
        assert divergences.get(name).name == name


def test_objects_pass_through():
    for divergence in (Energy(), Hellinger(0.2), WassersteinP(3)):
        assert divergences.get(divergence) is divergence


def test_any_power_by_name():
    assert divergences.get("wasserstein3").degree == 3.0
    assert divergences.get("wasserstein1.5").name == "wasserstein1.5"
    assert isinstance(divergences.get("wasserstein2"), Wasserstein2)
    with pytest.raises(ValueError, match="p must be at least 1"):
        divergences.get("wasserstein0.5")


def test_functions_become_divergences():
    def medians(x, y):
        return abs(np.median(x) - np.median(y))

    found = divergences.get(medians)
    assert isinstance(found, CustomDivergence)
    assert found.name == "medians"


def test_unknown_names_list_what_exists():
    with pytest.raises(ValueError) as raised:
        divergences.get("helinger")
    message = str(raised.value)
    assert "unknown divergence 'helinger'; did you mean 'hellinger'?" in message
    for name in divergences.available():
        assert repr(name) in message


def test_other_things_are_refused():
    with pytest.raises(TypeError, match=r"give Energy\(\) instead of the class"):
        divergences.get(Energy)
    with pytest.raises(TypeError, match=r"divergence must be a name .* got 3"):
        divergences.get(3)


@pytest.mark.parametrize("name", divergences.available())
def test_copies_and_pickles_work_alike(name):
    divergence = divergences.get(name)
    values, labels = np.random.default_rng(0).normal(size=(1, 20)), Labels(np.repeat([0, 1], 10), 2)
    expected = divergence.value(values, labels)
    for other in (copy.deepcopy(divergence), pickle.loads(pickle.dumps(divergence))):
        np.testing.assert_array_equal(other.value(values, labels), expected)
