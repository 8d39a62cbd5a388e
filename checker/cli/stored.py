"""Makes a `Judge`, which finds traces in a dataset and replays them with the interpreter."""

from __future__ import annotations

from typing import Any

from isrcheck.checker.datasets.dataset import Dataset
from isrcheck.checker.datasets.origin import Origin
from isrcheck.checker.engines.spark.analysis import stored_levels
from isrcheck.checker.engines.spark.paths import StoredPaths
from isrcheck.checker.exploration import Exploration
from isrcheck.checker.judging import Judge


def judge_of(spark: Any, dataset: Dataset, origin: Origin) -> Judge:
    """The judge (`checker/judging.py`) that finds canonical traces in the stored levels of a dataset.

    The canonical trace is one of the shortest traces, the same for every engine (`traces/canonical.py`).
    """
    levels, interpreter, system = (
        stored_levels(spark, dataset, origin.system, origin.kernel), origin.interpreter, origin.system,
    )  # fmt: skip
    numbers = {label: i for i, label in enumerate(interpreter.labels)}
    order = [numbers[t.label] for t in system.transitions]
    paths = StoredPaths(levels, [interpreter.actors[n] for n in order])
    return Judge(origin.loaded.name, interpreter, system, Exploration(), paths, order)
