"""The runner of the pages' code finds what is wrong with a page."""

from __future__ import annotations

import pytest

from tests.docs.code_blocks import read_blocks, run_page
from tests.docs.shown_output import OutOfDate, matches

PAGE = """\
Text.

```python
x = 3
print(f"x is {x / 7:.3f}")
```

```text
x is 0.429
```

```python
>>> x + 1
4
>>> [x, 2]
[3, ...]
```

```console
$ princdiff --version
princdiff ...
$ echo $?
0
```

```sh
princdiff compare before.csv after.csv --html report.html   # a comment
make docs
```

<!-- not run: there is no such module here -->
```python
import nowhere
```
"""


def problems(tmp_path, text):
    path = tmp_path / "page.md"
    path.write_text(text)
    return list(run_page(path))


def test_a_page_that_shows_what_it_gives(tmp_path):
    assert problems(tmp_path, PAGE) == []


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("x is 0.429", "x is 0.521", "but gives"),
        ("\n4\n", "\n5\n", "Expected"),
        ("x + 1", "y + 1", "NameError"),
        ("x = 3", "x = undefined", "line 3: NameError"),
        ("\n0\n", "\n1\n", "echo"),
        ("princdiff ...", "pancdiff ...", "but gives"),
        ("--html", "--htlm", "there is no option --htlm"),
        ("make docs", "make dogs", "the Makefile has no dogs"),
        ("<!-- not run: there is no such module here -->", "", "nowhere"),
    ],
)
def test_what_is_wrong_is_found(tmp_path, right, wrong, said):
    assert right in PAGE
    found = problems(tmp_path, PAGE.replace(right, wrong, 1))
    assert found and said in "\n".join(found)


def test_blocks_and_what_they_show():
    blocks = read_blocks(PAGE)
    assert [block.language for block in blocks] == ["python", "python", "console", "sh", "python"]
    assert blocks[0].shown == "x is 0.429"
    assert blocks[-1].not_run == "there is no such module here"
    with pytest.raises(ValueError, match="line 1 does not end"):
        read_blocks("```python\nx = 1\n")


@pytest.mark.parametrize(
    ("shown", "got", "same"),
    [
        ("p = 0.25", "p = 0.2512", True),
        ("p = 0.25", "p = 0.27", False),
        ("p = 0.01", "p = 0.02", False),
        ("p = 0.3", "p = 0.4", False),
        ("p = 0.3", "p = 0.34", True),
        ("14 features", "15 features", False),
        ("14 features", "14 features more", False),
        ("a ... z", "a b c z", True),
        ("1e-3", "0.0012", True),
        ("1e-3", "0.0016", False),
        ("x0 and x1", "x0 and x2", False),
        ("83 %  ███", "83 % ███", True),
    ],
)
def test_numbers_are_compared_as_far_as_they_are_shown(shown, got, same):
    assert matches(shown, got) is same


@pytest.mark.parametrize(("shown", "got"), [("p = 0.25", "p = 0.26"), ("(0.39 to 0.6)", "(0.4 to 0.61)")])
def test_a_last_digit_that_is_off_by_one_is_let_pass_with_a_warning(shown, got):
    with pytest.warns(OutOfDate, match="other last digits: 0"):
        assert matches(shown, got)
