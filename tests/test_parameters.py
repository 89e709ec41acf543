"""Every parameter of every public function with values that it cannot be: the error names the parameter."""

from __future__ import annotations

import inspect
import tempfile
import warnings
from collections import Counter
from functools import cache
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

import princdiff
from princdiff import batches, comparison, group_pairs
from princdiff.data.problem import Problem
from princdiff.paired import PairedPDA
from princdiff.profiles import profiling
from princdiff.singlecell import tools

FOREIGN = [
    None, True, "nonsense", "", b"x", -1, 0, 0.5, -0.5, float("nan"), float("inf"), 10**30, 1 + 2j, [], [1],
    ["no", "such"], {}, {"a": 1}, object(), np.zeros((2, 2)), np.float64("nan"), np.array("text"),
    lambda x: x, range(3), slice(None),
]  # fmt: skip


class Reached(Exception):
    """The parameters were accepted, and the data would be looked at next."""


def reached(*_, **__):
    raise Reached


@cache
def rows_and_groups():
    rng = np.random.default_rng(0)
    return rng.normal(size=(24, 3)), np.repeat(["a", "b"], 12)


@cache
def a_result():
    X, y = rows_and_groups()
    return princdiff.compare(X, groups=y, n_permutations=19)


@cache
def adjusted_result():
    X, y = rows_and_groups()
    return princdiff.compare(X, groups=y, covariates=np.arange(24.0) % 7, n_permutations=19)


@cache
def counted_cells():
    counted = cells().copy()
    counted.X = np.rint(5 * counted.X)
    return counted


@cache
def cells():
    X, y = rows_and_groups()
    anndata = pytest.importorskip("anndata")
    object_ = anndata.AnnData(np.exp(X), obs=pd.DataFrame({"tissue": y}, index=[str(i) for i in range(24)]))
    princdiff.tl.pda(object_, "tissue", n_features=2, n_components=2, n_permutations=3, values=None)
    princdiff.tl.pda_gene_sets(object_, {"few": ["0", "1"]}, n_top=2, min_size=1)
    return object_


@cache
def several():
    X, _ = rows_and_groups()
    options = {"n_permutations": 19, "n_features": 1}
    return princdiff.compare_groups(X, groups=np.repeat(list("abc"), 8), **options)


@cache
def over_time():
    X, _ = rows_and_groups()
    options = {"n_permutations": 19, "n_features": 1}
    return princdiff.compare_batches([X[:12], X[12:]], band=False, **options)


@cache
def rows_on_disk():
    path = Path(tempfile.mkdtemp()) / "rows.npy"
    np.save(path, rows_and_groups()[0])
    return path


def plain(function, **given):
    return function, given


NEEDED = {
    "plot_feature": {"feature": "x1"},
    "to_html": {"path": "page.html"},
    "plot_contrast": {"name": "largest difference in size"},
}
# What each function is called with where one parameter is tried.
FUNCTIONS = {
    "Config": lambda: plain(princdiff.Config),
    "compare": lambda: plain(princdiff.compare, X=rows_and_groups()[0], groups=rows_and_groups()[1]),
    "compare_groups": lambda: plain(
        princdiff.compare_groups, X=rows_and_groups()[0], groups=np.repeat(list("abc"), 8)
    ),
    "compare_batches": lambda: plain(
        princdiff.compare_batches, batches=[rows_and_groups()[0][:12], rows_and_groups()[0][12:]]
    ),
    "equivalent": lambda: plain(princdiff.equivalent, X=rows_and_groups()[0], groups=rows_and_groups()[1]),
    "permutation_test": lambda: plain(
        princdiff.permutation_test, X=rows_and_groups()[0], y=rows_and_groups()[1]
    ),
    "select_features": lambda: plain(
        princdiff.select_features, X=rows_and_groups()[0], y=rows_and_groups()[1]
    ),
    "find_regions": lambda: plain(
        princdiff.find_regions,
        X=np.tile(rows_and_groups()[0], (4, 1)),
        groups=np.tile(rows_and_groups()[1], 4),
    ),
    "split_test": lambda: plain(princdiff.split_test, X=rows_and_groups()[0], y=rows_and_groups()[1]),
    "stability_selection": lambda: plain(
        princdiff.stability_selection, X=rows_and_groups()[0], y=rows_and_groups()[1]
    ),
    "relax": lambda: plain(princdiff.relax, X=rows_and_groups()[0], y=rows_and_groups()[1]),
    "tl.pda": lambda: plain(princdiff.tl.pda, adata=cells(), groupby="tissue"),
    "tl.thin_counts": lambda: plain(princdiff.tl.thin_counts, adata=counted_cells(), groupby="tissue"),
    "tl.pda_gene_sets": lambda: plain(
        princdiff.tl.pda_gene_sets, adata=cells(), gene_sets={"few": ["0", "1"]}, min_size=1
    ),
    **{
        f"get.{name}": lambda name=name: plain(getattr(princdiff.get, name), adata=cells())
        for name in ("pda_df", "pda_statistics", "pda_gene_sets_df", "rank_genes_groups_df")
    },
    **{
        f"pl.{name}": lambda name=name: plain(
            getattr(princdiff.pl, name), adata=cells(), **({"gene": "1"} if name == "pda_gene" else {})
        )
        for name in (
            "pda", "pda_genes", "pda_heatmap", "pda_scatter", "pda_gene", "pda_gene_sets", "volcano",
        )
    },
    **{
        f"DifferenceResult.{name}": lambda name=name: plain(
            getattr(a_result(), name), **NEEDED.get(name, {})
        )
        for name in (
            "plot_columns", "plot_projection", "plot_weights", "plot_null", "plot_path",
            "plot_feature",
            "plot_contrast", "plot_relations", "separation_frame", "to_frame", "table1", "save",
            "load", "to_html",
        )
    },
    "DifferenceResult.plot_balance": lambda: plain(adjusted_result().plot_balance),
    **{
        f"GroupsResult.{name}": lambda name=name: plain(getattr(several(), name))
        for name in ("columns_frame", "matrix", "plot_columns", "plot_matrix", "save", "load", "to_html")
    },
    **{
        f"BatchesResult.{name}": lambda name=name: plain(getattr(over_time(), name))
        for name in ("plot", "over_time", "summary", "to_frame", "save", "load", "to_html")
    },
    "expected_power": lambda: plain(princdiff.expected_power, effect=0.5, rows=60, n_features=5),
    "detectable_effect": lambda: plain(princdiff.detectable_effect, rows=60, n_features=5),
    "required_rows": lambda: plain(princdiff.required_rows, effect=0.5, n_features=5),
    "load": lambda: plain(princdiff.load),
    "profile": lambda: plain(princdiff.profile, source=pd.DataFrame(rows_and_groups()[0])),
    "load_profile": lambda: plain(princdiff.load_profile),
    "open_rows": lambda: plain(princdiff.open_rows, source=rows_on_disk()),
}  # fmt: skip
# What is compared; looked at together, and tried in other tests.
DATA = {
    "X", "Y", "y", "groups", "blocks", "covariates", "sample_weight", "columns", "adata", "batches",
    "reference", "gene_sets", "mask_var", "color", "group", "groupby", "source", "rows", "axes",
}  # fmt: skip
# Tried elsewhere: by their options (`PASSED_ON`), or without parameters that could be foreign.
ELSEWHERE = {
    "paired_test",
    "show_config",
    "DifferenceResult.change_of",
    "DifferenceResult.score",
    "DifferenceResult.to_json",
}
ELSEWHERE |= {"Profile", "PDA", "SPARDA", "PairedPDA", "DifferenceResult.plot_witness"}
# A column must differ in some batch, and cells must be of several types: see tests of these.
ELSEWHERE |= {
    "BatchesResult.plot_column",
    "get.pda_cell_types_df",
    "pl.pda_cell_types",
    "Watch",
    "assert_no_drift",
}


def public_functions():
    """Public functions that have parameters, and the methods of the results of comparisons."""
    results = ("DifferenceResult", "GroupsResult", "BatchesResult")
    for name in princdiff.__all__:
        found = getattr(princdiff, name)
        inside = [inner for inner in dir(found) if inner[0] != "_" and callable(getattr(found, inner))]
        if inspect.ismodule(found):
            yield from (f"{name}.{inner}" for inner in inside)
        elif name in results:
            for inner in inside:
                if set(inspect.signature(getattr(found, inner)).parameters) - {"self"}:
                    yield f"{name}.{inner}"
        elif callable(found) and not name.endswith("Result"):
            yield name


def test_every_public_function_is_tried():
    assert set(public_functions()) - ELSEWHERE - set(FUNCTIONS) == set()


def test_options_of_the_paired_test(stop_at_the_data):
    X, _ = rows_and_groups()
    with pytest.raises(TypeError, match="no_such_option"):
        princdiff.paired_test(X, X + 1, no_such_option=1)
    with pytest.raises(ValueError, match="n_permutations must be"):
        princdiff.paired_test(X, X + 1, n_permutations="many")


def tried_values(name):
    function, _ = FUNCTIONS[name]()
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL) or parameter.name in DATA:
            continue
        for value in FOREIGN:
            yield parameter.name, value


def outcome(call, parameter, value):
    """Accepted, or refused by name; anything else is told."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
    except Reached:
        return "accepted"
    except FileNotFoundError as error:
        return "refused" if "no such file" in str(error) else f"{parameter}={value!r}: {error}"
    except (ValueError, TypeError) as error:
        if parameter in str(error):
            return "refused"
        return f"{parameter}={value!r}: {type(error).__name__}: {error}"
    except Exception as error:
        return f"{parameter}={value!r}: {type(error).__name__}: {error}"
    return "accepted"


@pytest.fixture
def stop_at_the_data(monkeypatch, tmp_path):
    cells(), a_result(), adjusted_result(), several(), over_time()
    # A text may be the path of a file to write.
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Problem, "from_arrays", reached)
    monkeypatch.setattr(comparison, "prepare", reached)
    monkeypatch.setattr(group_pairs, "prepare", reached)
    monkeypatch.setattr(profiling, "open_source", reached)
    monkeypatch.setattr(tools, "find_comparisons", reached)
    monkeypatch.setattr(batches.comparing, "plan_of_list", reached)
    monkeypatch.setattr(batches.comparing, "plan_in_time", reached)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_refuse_foreign_values_by_name(name, stop_at_the_data):
    function, given = FUNCTIONS[name]()
    counts, wrong = Counter(), []
    for parameter, value in tried_values(name):
        found = outcome(lambda p=parameter, v=value: function(**{**given, p: v}), parameter, value)
        counts[found if found in ("accepted", "refused") else "foreign"] += 1
        if found not in ("accepted", "refused"):
            wrong.append(found)
        plt.close("all")
    assert not wrong, "\n".join(wrong)
    # Something is refused, and most foreign values are.
    n_tried = sum(counts.values())
    assert n_tried == 0 or counts["refused"] > 0.6 * n_tried, counts


# Parameters that are passed on to `compare` or `permutation_test`.
PASSED_ON = {
    "compare_groups": princdiff.compare,
    "compare_batches": princdiff.compare,
}


@pytest.mark.parametrize("name", PASSED_ON)
def test_what_is_passed_on_is_checked_first(name, stop_at_the_data):
    function, given = FUNCTIONS[name]()
    own = inspect.signature(function).parameters
    wrong = []
    for parameter in inspect.signature(PASSED_ON[name]).parameters:
        if parameter in DATA or parameter in own or parameter == "permute":
            continue
        for value in FOREIGN:
            found = outcome(lambda p=parameter, v=value: function(**given, **{p: v}), parameter, value)
            if found not in ("accepted", "refused"):
                wrong.append(found)
    assert not wrong, "\n".join(wrong)
    with pytest.raises(TypeError, match="no_such_option"):
        function(**given, no_such_option=1)


@pytest.mark.parametrize("estimator", [princdiff.PDA, princdiff.SPARDA, PairedPDA])
def test_estimators_refuse_foreign_values_by_name(estimator, stop_at_the_data):
    X, y = rows_and_groups()
    wrong, counts = [], Counter()
    for parameter in inspect.signature(estimator).parameters:
        for value in FOREIGN:
            made = estimator(**{parameter: value})
            assert isinstance(made, BaseEstimator)
            target = X + 1 if estimator is PairedPDA else y
            found = outcome(lambda made=made, target=target: made.fit(X, target), parameter, value)
            counts[found if found in ("accepted", "refused") else "foreign"] += 1
            if found not in ("accepted", "refused"):
                wrong.append(found)
    assert not wrong, "\n".join(wrong)
    assert counts["refused"] > 0.6 * sum(counts.values())


# Parameters that nothing but one of these may be; all other foreign values are refused.
ALLOWED = {
    "n_permutations": [],
    "n_splits": [],
    "max_iter": [None],
    "alpha": [0.5],
    "fraction": [0.5],
    "threshold": [],
    "tol": [0.5],
    "time_budget": [None, 0.5, 10**30],
    "n_jobs": [None, -1],
    "progress": [True],
    "random_state": [None, 0],
    "checkpoint": [None, "nonsense"],
    "features": [None, "nonsense", ["no", "such"]],
    "exclude": [None, "nonsense", ["no", "such"]],
}


@pytest.mark.parametrize(
    "name", ["compare", "permutation_test", "select_features", "split_test", "stability_selection", "relax"]
)
def test_nothing_odd_is_accepted(name, stop_at_the_data):
    function, given = FUNCTIONS[name]()
    own = inspect.signature(function).parameters
    for parameter, allowed in ALLOWED.items():
        if parameter not in own:
            continue
        for value in FOREIGN:
            found = outcome(lambda p=parameter, v=value: function(**{**given, p: v}), parameter, value)
            expected = any(value is one or (type(value) is type(one) and value == one) for one in allowed)
            zero_tests = name == "compare" and parameter == "n_permutations" and value == 0
            seeded = parameter == "checkpoint" and value == "nonsense"
            if isinstance(value, (int, type(None), str)) and (zero_tests or seeded):
                continue
            assert (found == "accepted") == expected, f"{parameter}={value!r} {found}"


@pytest.mark.parametrize("value", [None, "", 3, b"x", object(), ["a"]])
def test_files_are_paths(value, tmp_path):
    with pytest.raises((ValueError, TypeError), match=r"path|source"):
        princdiff.open_rows(value)
    with pytest.raises((ValueError, TypeError), match="path"):
        princdiff.load(value)


def test_numpy_numbers_are_numbers():
    X, y = rows_and_groups()
    found = princdiff.permutation_test(X, y, n_permutations=np.int64(9), random_state=np.int32(0))
    again = princdiff.permutation_test(X, y, n_permutations=9, random_state=0)
    assert found.pvalue == again.pvalue
    assert princdiff.SPARDA(n_features=np.int64(1)).fit(X, y).support_.sum() == 1
