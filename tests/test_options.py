"""Messages call options as who reads them does, and never touch what users' files hold."""

import pandas as pd
import pytest

from princdiff.cli.main import main
from princdiff.options import as_flags, option

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
