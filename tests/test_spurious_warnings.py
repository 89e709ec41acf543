"""A flag that products of finite numbers raise by chance does not reach the user; other warnings do."""

import subprocess
import sys
import warnings

import pytest

from princdiff.caught_warnings import caught_warnings

CASES = {
    "ours": ("princdiff.data.products", "invalid value encountered in matmul", True),
    "somebody else's": ("scipy.stats", "invalid value encountered in matmul", False),
    "our overflow": ("princdiff.data.products", "overflow encountered in matmul", False),
    "our division": ("princdiff.data.products", "invalid value encountered in divide", False),
}


@pytest.mark.parametrize("case", CASES)
def test_only_the_flag_of_products_is_silenced(case):
    module, message, silent = CASES[case]
    code = (
        "import warnings, princdiff\n"
        f"warnings.warn_explicit({message!r}, RuntimeWarning, 'a file', 1, module={module!r})"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (message not in ran.stderr) == silent


@pytest.mark.parametrize("case", CASES)
def test_nor_is_it_told_where_warnings_are_collected(case):
    module, message, silent = CASES[case]
    with caught_warnings() as caught:
        warnings.warn_explicit(message, RuntimeWarning, "a file", 1, module=module)
    assert (not caught) == silent
