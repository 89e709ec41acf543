from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from princdiff import open_rows, permutation_test
from princdiff.divergences import CustomDivergence, available, get
from princdiff.statistics.identity import identity_of, rows_identity

OWN = """
import sys
import numpy as np
from princdiff import permutation_test

power = 1
def medians(x, y):
    return abs(np.median(x) - np.median(y)) ** power

X = np.random.default_rng(0).normal(size=(12, 2))
test = dict(statistic="divergence", n_features=1, n_permutations=9, random_state=0)
def run(path):
    try:
        found = permutation_test(X, np.arange(12) % 2, divergence=medians, checkpoint=path, **test)
        return f"{found.pvalue} {found.statistic}"
    except ValueError as error:
        return str(error)
"""
AGAIN = """
print(run(sys.argv[1]))
power = 2
print(run(sys.argv[1]))
"""


@pytest.mark.filterwarnings("ignore:n_permutations")
def test_a_checkpoint_with_an_own_divergence_goes_on_in_a_new_process(tmp_path):
    path = str(tmp_path / "test.npz")
    here = {"__name__": "__main__"}
    exec(OWN, here)
    first = here["run"](path)
    program = [sys.executable, "-W", "ignore", "-c", OWN + AGAIN, path]
    done = subprocess.run(program, capture_output=True, text=True, check=True)
    again, changed = done.stdout.splitlines()
    assert again == first
    # What the function looks up has changed, though its text has not.
    assert "differs in divergence" in changed


def difference(power, shift=0.0):
    def medians(x, y):
        return (abs(np.median(x) - np.median(y)) + shift) ** power

    return CustomDivergence(medians, standardise=True)


def test_the_same_function_made_twice_has_one_identity_and_no_other_has_it():
    makers = [lambda: difference(1), lambda: difference(2), lambda: difference(1, shift=0.5)]
    identities = [identity_of(make()) for make in makers]
    assert identities == [identity_of(make()) for make in makers]
    assert len(set(identities)) == len(makers)


@pytest.mark.parametrize("threshold", [0.3, 1.0, 2.5])
def test_what_a_function_does_to_few_numbers_only_is_seen(threshold):
    def beyond(times):
        def share(x, y):
            return abs((abs(x) > times * threshold).mean() - (abs(y) > times * threshold).mean())

        return CustomDivergence(share, standardise=True, step=0.1)

    assert identity_of(beyond(1.0)) == identity_of(beyond(1.0)) != identity_of(beyond(1.2))


def test_named_divergences_differ():
    names = available()
    assert len({identity_of(get(name)) for name in names}) == len(names)


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
