"""Messages call options as who reads them does, and never touch what users' files hold."""

import inspect
import typing
from typing import Any

import pandas as pd
import pytest

from princdiff import compare, compare_batches, compare_groups, equivalent, find_regions
from princdiff.cli.main import main
from princdiff.options import CompareOptions, Config, as_flags, option, table

UGLY = ["error='x'", "groups=north", "exclude=['a']", "missing='drop'"]


@pytest.mark.parametrize("name", UGLY)
def test_a_column_that_looks_like_an_option_keeps_its_name(name, tmp_path, capsys):
    rows = pd.DataFrame({name: [1.0, 2.0, None, 4.0], "y": [3.0, 1.0, 2.0, 5.0]})
    for file in ("a.csv", "b.csv"):
        rows.to_csv(tmp_path / file, index=False)
    assert main(["compare", str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]) == 2
    message = capsys.readouterr().err
    assert repr(name) in message
    assert "--missing impute" in message and "missing='impute'" not in message


def test_outside_of_the_command_line_options_are_arguments_again():
    with as_flags(), pytest.raises(ValueError, match="--time-budget"):
        raise ValueError(option("time_budget"))
    assert option("time_budget") == "config=Config(time_budget=...)"


def test_the_signature_of_compare_is_the_table():
    """Names, defaults and types stand in the signature for editors; nothing may differ from the table."""
    parameters = dict(list(inspect.signature(compare).parameters.items())[2:])
    assert len(parameters) + 2 <= 20
    assert {name: one.default for name, one in parameters.items()} == {
        name: known.default for name, known in table(CompareOptions).items()
    }
    assert {name: one.default for name, one in inspect.signature(Config).parameters.items()} == {
        name: known.default for name, known in table(Config).items()
    }
    given, declared = typing.get_type_hints(compare), typing.get_type_hints(CompareOptions)
    assert [name for name in declared if declared[name] not in (Any, given[name])] == []


def test_every_default_keeps_its_own_rule():
    for known in [*table(CompareOptions).values(), *table(Config).values()]:
        assert known.rule.allows(known.default), known


@pytest.mark.parametrize("function", [compare_groups, compare_batches, equivalent, find_regions])
def test_an_option_that_moved_says_where_to(function):
    with pytest.raises(TypeError, match=r"no parameter 'n_jobs'; give config=Config\(n_jobs=\.\.\.\)"):
        function([], n_jobs=2)
