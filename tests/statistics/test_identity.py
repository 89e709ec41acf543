from __future__ import annotations

import functools
import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from princdiff import open_rows, permutation_test
from princdiff.divergences import available, get
from princdiff.statistics.identity import identity_of, rows_identity

OWN = """
import sys
import numpy as np
from princdiff import permutation_test

power = {power}
def medians(x, y):
    return abs(np.median(x) - np.median(y)) ** power

X = np.random.default_rng(0).normal(size=(12, 2))
test = dict(statistic="divergence", n_features=1, n_permutations=9, random_state=0)
try:
    found = permutation_test(X, np.arange(12) % 2, divergence={function}, checkpoint=sys.argv[1], **test)
    print(found.pvalue, found.statistic)
except ValueError as error:
    print(error)
"""


def in_a_new_process(path, function="medians", power=1):
    program = OWN.format(function=function, power=power)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, str(path)], capture_output=True, text=True, check=True
    )
    return done.stdout


def test_a_checkpoint_with_an_own_divergence_goes_on_in_a_new_process(tmp_path):
    path = tmp_path / "test.npz"
    first = in_a_new_process(path)
    assert in_a_new_process(path) == first
    # What the function looks up has changed, though its text has not.
    assert "differs in divergence" in in_a_new_process(path, power=2)


def scaled(factor, shift=0.0):
    def inner(x, y):
        return factor * abs(x.mean() - y.mean()) + shift

    return inner


class Own:
    def __init__(self, power, keep=()):
        self.power, self.keep = power, keep

    def __call__(self, x, y):
        return abs(x.mean() - y.mean()) ** self.power

    def method(self, x, y):
        return abs(x.mean() - y.mean())


def recursive(x, y, depth=2):
    return recursive(x, y, depth - 1) if depth else abs(x.mean() - y.mean())


@pytest.mark.parametrize(
    "make",
    [
        lambda: scaled(2.0),
        lambda: scaled(np.arange(3.0)),
        lambda: Own(2, keep={"b", "a", "c"}),
        lambda: Own(2).method,
        lambda: functools.partial(scaled(1.0), shift=3),
        lambda: recursive,
        lambda: np.median,
        lambda: abs,
        lambda: Own(1, keep={"a": [1, 2, {3: "x"}]}),
    ],
)
def test_the_same_thing_made_twice_has_one_identity(make):
    assert identity_of(make()) == identity_of(make())


def test_what_changes_values_changes_the_identity():
    things = [
        scaled(2.0),
        scaled(3.0),
        scaled(2.0, shift=1.0),
        scaled(np.arange(3.0)),
        scaled(np.arange(4.0)),
        Own(1),
        Own(2),
        Own(2, keep=[1]),
        Own(2).method,
        functools.partial(scaled(2.0), 1),
        functools.partial(scaled(2.0), 2),
        functools.partial(scaled(2.0), shift=2),
        recursive,
        np.median,
        np.mean,
        lambda x, y: x.max(),
        lambda x, y: x.min(),
        lambda x, y: x.min() + 1,
        lambda x, y: [value for value in x if value > 1],
        lambda x, y: [value for value in x if value > 2],
    ]
    assert len({identity_of(thing) for thing in things}) == len(things)


def test_named_divergences_differ():
    names = available()
    assert len({identity_of(get(name)) for name in names}) == len(names)


def test_a_set_of_texts_is_told_alike_in_every_process():
    program = (
        "from princdiff.statistics.identity import identity_of\n"
        "print(identity_of(lambda x, y: x in {'a', 'b', 'c', 'd'}), identity_of({'u': 1, 'v': {'w', 'z'}}))"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in "12"
    }
    assert len(told) == 1


def test_what_cannot_be_told_is_refused():
    with pytest.raises(ValueError, match=r"cannot tell that of its part .*generator"):
        identity_of(scaled(value for value in "ab"))


def test_rows_out_of_core_are_known_by_their_values(tmp_path):
    rng = np.random.default_rng(0)
    rows = (rng.random((2000, 60)) < 0.5).astype(float)
    codes = np.repeat([0, 1], 1000)
    rows[codes == 1, 0] = rows[codes == 1, 1]
    other = rows.copy()
    # Same means, same deviations, another difference.
    other[:, 1] = other[rng.permutation(2000), 1]
    opened = []
    for name, values in (("first", rows), ("second", other)):
        np.save(tmp_path / f"{name}.npy", values)
        opened.append(open_rows(tmp_path / f"{name}.npy", memory="1MB"))
    assert not opened[0].fits
    options = {"n_permutations": 3, "random_state": 0, "checkpoint": tmp_path / "test.npz"}
    options |= {"statistic": "divergence", "n_features": 1}
    permutation_test(opened[0], codes, **options)
    with pytest.raises(ValueError, match="differs in the rows"):
        permutation_test(opened[1], codes, **options)


def test_identity_of_rows_does_not_depend_on_blocks(tmp_path):
    rows = np.random.default_rng(0).normal(size=(5000, 4))
    np.save(tmp_path / "rows.npy", rows)
    identities = {rows_identity(open_rows(tmp_path / "rows.npy", memory=m)) for m in ("2MB", "3MB", "1GB")}
    assert identities == {rows_identity(rows)}
    sparse = sp.random(50, 4, 0.5, format="csr", random_state=0)
    changed = sparse.copy()
    changed.data[3] += 1e-9
    assert rows_identity(sparse) == rows_identity(sparse.copy()) != rows_identity(changed)
