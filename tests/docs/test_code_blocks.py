"""The runner of the pages' code finds what is wrong with a page."""

from __future__ import annotations

import pytest

from tests.docs.code_blocks import matches, read_blocks, run_page

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
        ("p = 0.25", "p = 0.26", True),
        ("p = 0.25", "p = 0.27", False),
        ("14 features", "15 features", False),
        ("14 features", "14 features more", False),
        ("a ... z", "a b c z", True),
        ("1e-3", "0.0011", True),
        ("x0 and x1", "x0 and x2", False),
        ("83 %  ███", "83 % ███", True),
    ],
)
def test_numbers_may_be_off_by_one_in_their_last_digit(shown, got, same):
    assert matches(shown, got) is same
