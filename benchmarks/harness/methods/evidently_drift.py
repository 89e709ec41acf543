"""evidently: the data drift preset, a test or distance of each column without correction for their number."""

from evidently import DataDefinition, Dataset, Report
from evidently.presets import DataDriftPreset

from benchmarks.harness import Answer

NAME = "evidently"


def answer(first, second, seed) -> Answer:
    texts = list(first.select_dtypes(exclude="number"))
    numerical = [name for name in first if name not in texts]
    definition = DataDefinition(numerical_columns=numerical, categorical_columns=texts)
    tables = [Dataset.from_pandas(table, data_definition=definition) for table in (second, first)]
    found = Report([DataDriftPreset(method=None)]).run(*tables).dict()["metrics"]
    # The first metric is the count of columns that drifted; it says drift from half of the columns on.
    share = found[0]["value"]["share"]
    return Answer(bool(share >= 0.5), frozenset(_drifted(found[1:])))


def _drifted(metrics):
    """A p-value below its threshold, or a distance at least as large."""
    for metric in metrics:
        config, value = metric["config"], metric["value"]
        below = "p_value" in config["method"]
        if value < config["threshold"] if below else value >= config["threshold"]:
            yield config["column"]
