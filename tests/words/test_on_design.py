"""What a result says of blocks and covariates: in its notes, its summary, on the terminal and on the page."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import princdiff
from princdiff.cli import main


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(48, 2)), columns=["x", "y"])
    return frame.assign(
        arm=np.repeat(["a", "b"], 24),
        donor=np.arange(48) // 4,
        pair=np.tile(np.arange(24), 2),
        site=np.tile(["s", "t", "u"], 16),
    )


@pytest.mark.parametrize(
    ("blocks", "sentence"),
    [
        ("donor", "Whole blocks ('donor') were permuted, not single rows: 6 in 'a' and 6 in 'b'."),
        ("pair", "Rows were permuted within 24 pairs ('pair'), one row of each group in each."),
        ("site", "Rows were permuted within their blocks ('site') only: 3 blocks."),
    ],
)
def test_blocks_are_named_everywhere(blocks, sentence, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    frame = table()[["x", "y", "arm", blocks]]
    result = princdiff.compare(frame, groups="arm", blocks=blocks, n_permutations=19)
    assert sentence in result.notes
    assert sentence in " ".join(result.summary().split())
    page = result.to_html("page.html").read_text(encoding="utf-8").replace("&#39;", "'")
    assert sentence in page
    frame.to_csv("table.csv", index=False)
    arguments = ["compare", "table.csv", "--groups", "arm", "--blocks", blocks, "--n-permutations", "19"]
    assert main(arguments) == 0
    assert sentence in " ".join(capsys.readouterr().out.split())


def test_blocks_without_a_column_have_no_name_and_none_no_sentence():
    frame = table()
    rows = frame[["x", "y"]]
    given = princdiff.compare(rows, groups=frame["arm"], blocks=frame["donor"], n_permutations=19)
    assert "Whole blocks were permuted, not single rows: 6 in 'a' and 6 in 'b'." in given.notes
    plain = princdiff.compare(rows, groups=frame["arm"], n_permutations=19)
    assert not any("permuted" in note for note in plain.notes)


def test_covariates_are_called_as_their_columns_are():
    """A column may be called like a level of another."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=60), "a = b": rng.normal(size=60)})
    table["site"], table["group"] = rng.choice(list("uvw"), 60), np.repeat(["k", "l"], 30)
    result = princdiff.compare(table, groups="group", covariates=["a = b", "site"], n_permutations=19)
    assert result.parameters["covariates"] == ["a = b", "site"]
    assert result.headline.startswith("Adjusted for a = b and site, ")
