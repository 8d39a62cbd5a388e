"""Searches on a dataset, with Spark or with a stand-in that runs the same tasks in this process, with failures."""

from __future__ import annotations

import random
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa

from isrcheck.checker.datasets.dataset import Dataset
from isrcheck.checker.datasets.header import header_of
from isrcheck.checker.engines.spark import backward_search, executor_kernels, tasks
from isrcheck.checker.engines.spark.cluster import Cluster
from isrcheck.checker.engines.spark.dataset_paths import StoredLevels
from isrcheck.checker.engines.spark.spark_search import Search
from isrcheck.checker.kernel.compiled import Kernel
from isrcheck.checker.results.exploration import Exploration, Limits
from isrcheck.model.semantics.transition_system import TransitionSystem


class StandIn:
    """Runs the functions that Spark would run, in any order, with failed and repeated attempts."""

    def __init__(self, owners: int, unrest: int = 0) -> None:
        self.cores, self.random, self.versions, self.begun = owners, random.Random(unrest), dict[str, str](), False
        self.context = SimpleNamespace(master="local: a stand-in")
        self.levels = 0

    def level(self, work: executor_kernels.Work, text: str, wait: Any) -> list[str]:
        self.levels += 1
        owners, mapped = list(range(len(work["bounds"]) - 1)), []
        self.random.shuffle(owners)
        for owner in owners:
            mapped += self._attempts(tasks.expanding(work), [batch({"id": [owner]})])
        # Owners that share a task, rows in any order: what an exchange may do.
        self.random.shuffle(mapped)
        tasks_of: dict[int, list[Any]] = {}
        groups = self.random.randint(1, len(owners))
        for row in (row for part in mapped for row in part.to_pylist()):
            tasks_of.setdefault(row["owner"] % groups, []).append(row)
        answers = []
        for given in tasks_of.values():
            columns = {name: [row[name] for row in given] for name in ("owner", "rows", "report")}
            answers += self._attempts(tasks.merging(work), [batch(columns)])
        return [row["report"] for part in answers for row in part.to_pylist()]

    def look(self, work: executor_kernels.Work, text: str) -> list[tuple[int, bytes, str]]:
        owners = list(range(len(work["bounds"]) - 1))
        self.random.shuffle(owners)
        given = (self._attempts(backward_search.looking(work), [batch({"id": [owner]})]) for owner in owners)
        rows = (row for parts in given for part in parts for row in part.to_pylist())
        return [(row["owner"], row["rows"], row["report"]) for row in rows]

    def _attempts(self, function: Any, given: list[Any]) -> list[Any]:
        """The answer of the last of up to three attempts. Earlier attempts may end in the middle."""
        for _ in range(self.random.randint(0, 2)):
            attempt = function(given)
            if self.random.random() < 0.5:
                next(attempt, None)
            else:
                list(attempt)
        return list(function(given))


def batch(columns: dict[str, list[Any]]) -> Any:
    kinds = {"id": pa.int64(), "owner": pa.int32(), "rows": pa.binary(), "report": pa.string()}
    arrays = [pa.array(values, kinds[name]) for name, values in columns.items()]
    return pa.RecordBatch.from_arrays(arrays, list(columns))


def explored(
    system: TransitionSystem,
    root: Path | str,
    spark: Any,
    *,
    threshold: int = 0,
    keep_going: bool = False,
    deadlock: bool = False,
    limits: Limits = Limits(),
    resume: bool = False,
    transitions: bool = False,
    group: int = 0,
    most_runs: int | None = None,
    kernel: Kernel | None = None,
) -> tuple[Exploration, StoredLevels]:
    """A search on a new dataset, or one that continues a dataset. Row groups have `group` states."""
    kernel = kernel or Kernel(system)
    header = header_of(system, kernel, "test", transitions)
    dataset = Dataset.resume(str(root)) if resume else Dataset.create(str(root), header)
    cluster = Cluster(threshold=threshold, transitions=transitions, partitions=spark.cores)
    run = Search(kernel, dataset, spark, cluster, limits, None, time.perf_counter())
    run.work["group"] = group
    run.work["most_runs"] = run.work["most_runs"] if most_runs is None else most_runs
    try:
        return run.explore(keep_going, deadlock), run.levels
    finally:
        dataset.close()
