"""Messages call options as who reads them does, and never touch what users' files hold."""

import inspect
import typing
from typing import Any

import pandas as pd
import pytest

from princdiff import compare, compare_batches, compare_groups, equivalent, find_regions
from princdiff.cli.main import main
from princdiff.options import CompareOptions, Config, ConfigOptions, as_flags, folded, option, table

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
    assert option("time_budget") == "time_budget="


def test_the_signature_of_compare_is_the_table():
    """Names, defaults and types stand in the signature for editors; nothing may differ from the table."""
    parameters = dict(list(inspect.signature(compare).parameters.items())[2:-1])
    assert len(parameters) + 2 <= 20
    assert {name: one.default for name, one in parameters.items()} == {
        name: known.default for name, known in table(CompareOptions).items()
    }
    assert {name: one.default for name, one in inspect.signature(Config).parameters.items()} == {
        name: known.default for name, known in table(Config).items()
    }
    fields = typing.get_type_hints(ConfigOptions)
    given, declared = typing.get_type_hints(compare), typing.get_type_hints(CompareOptions)
    assert [
        name for name in declared if name not in fields and declared[name] not in (Any, given[name])
    ] == []
    assert fields == typing.get_type_hints(Config)


def test_every_default_keeps_its_own_rule():
    for known in [*table(CompareOptions).values(), *table(Config).values()]:
        assert known.rule.allows(known.default), known


@pytest.mark.parametrize("function", [compare, compare_groups, compare_batches, equivalent, find_regions])
def test_a_misspelt_option_is_refused_with_the_one_that_is_meant(function):
    with pytest.raises(TypeError, match=r"no parameter 'n_job'; did you mean 'n_jobs'\?"):
        function([], n_job=2)


def test_fields_of_config_may_be_given_by_name():
    rows = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0] * 10, "g": ["a", "b"] * 20})
    by_name = compare(rows, groups="g", n_permutations=19, n_jobs=2, certify=False)
    assert by_name == compare(rows, groups="g", n_permutations=19, config=Config(n_jobs=2, certify=False))
    both = folded({"n_jobs": 2, "config": Config(n_jobs=1, dates="parts")})["config"]
    assert (both.n_jobs, both.dates) == (2, "parts")
    with pytest.raises(ValueError, match="min_rows must be"):
        compare(rows, groups="g", min_rows=0)
