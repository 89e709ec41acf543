"""Every method on every data set, each once: what was said is kept in a file, from which a run goes on."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType

from benchmarks.harness import Answer
from benchmarks.harness.differences import Made


@dataclass(frozen=True)
class Said:
    """What one method said of one data set, held against the truth.

    Attributes
    ----------
    differs : bool
    pvalue : float or None
    found : float or None
        Share of the changed columns that it names; None if it names none, or nobody knows them.
    false : bool or None
        Whether it names another.
    seconds : float
        Of the processor.
    error : str
        Why it said nothing, if it failed.
    """

    differs: bool
    pvalue: float | None
    found: float | None
    false: bool | None
    seconds: float
    error: str = ""


class Runs:
    """What was said, by method, difference and seed.

    Parameters
    ----------
    place : Path or None
        File that keeps it.
    """

    def __init__(self, place: Path | None = None) -> None:
        self.place = place
        kept = json.loads(place.read_text()) if place is not None and place.exists() else {}
        self._said: dict[str, Said] = {key: Said(**fields) for key, fields in kept.items()}

    def run(
        self,
        methods: dict[str, ModuleType],
        differences: dict[str, Callable[[int], Made]],
        seeds: Sequence[int],
    ) -> None:
        """Fill in what is missing, data set by data set, so that every method has seen the same ones."""
        for seed in seeds:
            for difference, make in differences.items():
                missing = [name for name in methods if self._key(name, difference, seed) not in self._said]
                if not missing:
                    continue
                made = make(seed)
                for name in missing:
                    self._said[self._key(name, difference, seed)] = ask(methods[name].answer, made, seed)
            if self.place is not None:
                self.place.write_text(json.dumps({key: asdict(said) for key, said in self._said.items()}))

    def of(self, method: str, difference: str, seeds: Sequence[int]) -> list[Said]:
        """What a method said of the data sets of a difference."""
        keys = [self._key(method, difference, seed) for seed in seeds]
        return [self._said[key] for key in keys]

    @staticmethod
    def _key(method: str, difference: str, seed: int) -> str:
        return f"{method} / {difference} / {seed}"


def ask(answer: Callable[..., Answer], made: Made, seed: int) -> Said:
    """One method's answer held against the truth; an error is an answer too: nothing was said."""
    first, second, truth = made
    begin = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            said = answer(first, second, seed)
    except Exception as error:  # whatever a library raises: the others go on
        return Said(False, None, None, None, time.process_time() - begin, f"{type(error).__name__}: {error}")
    seconds = time.process_time() - begin
    if said.columns is None or truth is None:
        return Said(said.differs, said.pvalue, None, None, seconds)
    found = len(said.columns & truth) / len(truth) if truth else None
    return Said(said.differs, said.pvalue, found, bool(said.columns - truth), seconds)
