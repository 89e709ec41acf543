from __future__ import annotations

import pandas as pd

from princdiff.words.first_look import first_look


def columns(*pvalues):
    return pd.DataFrame({"column": [f"c{place}" for place in range(len(pvalues))], "pvalue_adj": pvalues})


def test_the_clearest_columns_are_named_and_the_others_counted():
    assert first_look(columns(0.2, 0.01, 0.04), 199) == (
        "First look, 199 permutations: 2 of 3 columns stand out: c1, c2 (p = 0.01); more is being tested"
    )
    assert ": 4 of 4 columns stand out: c0, c1, c2 and others (p = 0.005)" in first_look(
        columns(0.005, 0.005, 0.005, 0.005), 199
    )


def test_where_no_column_differs_relations_still_may():
    found = first_look(columns(0.2, 0.3), 199)
    assert found.endswith("no column stands out (p = 0.2); relations are being tested")
