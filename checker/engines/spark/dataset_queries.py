"""Answers questions about datasets with Spark: distributions of values, out-degrees, and differences.

Writes a dataset as Parquet tables for queries: `states` and `transitions`, partitioned by level, and `traces`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from isrcheck.checker.datasets.dataset import Dataset
from isrcheck.checker.datasets.variables import SharedVariables, columns_of
from isrcheck.checker.engines.spark import decoder, executor_kernels, executor_queries, row_order
from isrcheck.checker.engines.spark.dataset_paths import StoredLevels
from isrcheck.checker.engines.spark.session import Spark
from isrcheck.checker.engines.spark.spark_search import sizes
from isrcheck.checker.kernel.compiled import Kernel
from isrcheck.checker.kernel.verdict_bits import OUTSIDE
from isrcheck.checker.results.errors import DatasetRefused
from isrcheck.checker.results.result import Trace
from isrcheck.model.semantics.transition_system import TransitionSystem

Query = dict[str, Any]
MOST_KEYS: Final = 1_000_000
"""`difference` considers at most this many projections (see `Difference`) when it chooses the least state."""


def label(dataset: Dataset, what: str) -> str:
    """The name of a job in Spark's UI."""
    return f"{dataset.header['model']}: {what}"


def query_of(dataset: Dataset, level: int | None = None) -> Query:
    """A query (`executor_queries.py`) about the files of a dataset, or only about the files of one of its levels.

    `places` says where each leaf is in a packed state (`executor_queries.py`). `names` has the name of each leaf.
    """
    files = [[x.number, e["path"], e["sha256"]] for x in dataset.levels if level in (None, x.number) for e in x.files]
    leaves = dataset.header["leaves"]
    return {
        "root": dataset.root,
        "files": files,
        "places": [[leaf["word"], leaf["shift"], leaf["width"], leaf["low"]] for leaf in leaves],
        "names": [leaf["path"] for leaf in leaves],
    }


def distributions(spark: Spark, dataset: Dataset, leaves: list[int]) -> list[tuple[int, int, int, int]]:
    """The number of states for each level, leaf and value: (level, leaf, value, states), sorted."""
    query = {**query_of(dataset), "leaves": leaves}
    table = spark.over(
        len(query["files"]), executor_queries.distributions(query), "level int, leaf int, value bigint, states bigint"
    )
    summed = table.groupBy("leaf", "level", "value").sum("states")
    return sorted(
        (level, leaf, value, states)
        for leaf, level, value, states in spark.rows(summed, label(dataset, "values of variables"))
    )


def degrees(spark: Spark, dataset: Dataset, kernel: Kernel, constrained: bool) -> list[tuple[int, int, int]]:
    """The number of states for each level and out-degree: (level, degree, states), sorted.

    States that the search did not expand are counted, too.
    """
    query = {**query_of(dataset), "kernel": sizes(kernel, constrained)}
    spark.send(query, kernel.text)
    table = spark.over(len(query["files"]), executor_queries.degrees(query), "level int, degree int, states bigint")
    summed = table.groupBy("level", "degree").sum("states")
    return sorted(
        (level, degree, states) for level, degree, states in spark.rows(summed, label(dataset, "out-degrees"))
    )


# --- differences ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Difference:
    """The states that one dataset has and another dataset lacks. Only the datasets' common variables are compared.

    The *projection* of a state has only the common variables. A projection is *lacking* if the other dataset does not
    have it. `levels` counts the lacking projections by the level where each first occurs. `first` is the least of these
    levels. `least` has the leaves of the least state of level `first` with a lacking projection (states are compared by
    their leaves). `first` and `least` are None if no projection is lacking. If level `first` has more than `MOST_KEYS`
    lacking projections, only states with the first `MOST_KEYS` of them are considered for `least`.
    """

    levels: dict[int, int]
    least: tuple[int, ...] | None

    @property
    def first(self) -> int | None:
        return min(self.levels, default=None)


def difference(spark: Spark, one: Dataset, other: Dataset, shared_variables: SharedVariables) -> Difference:
    """The states of `one` that `other` lacks, compared by their common variables."""
    mine, theirs = ({**query_of(d), **shared_variables.query(i)} for i, d in enumerate((one, other)))
    schema = "key binary, level int"
    left = spark.over(len(mine["files"]), executor_queries.projections(mine), schema).groupBy("key").min("level")
    right = spark.over(len(theirs["files"]), executor_queries.projections(theirs), schema).select("key").distinct()
    lacking = left.withColumnRenamed("min(level)", "level").join(right, "key", "left_anti").persist()
    try:
        levels = dict(sorted(spark.rows(lacking.groupBy("level").count(), label(one, "states that the other lacks"))))
        if not levels:
            return Difference({}, None)
        first = min(levels)
        keys = lacking.where(f"level = {first}").select("key").orderBy("key").limit(MOST_KEYS)
        wanted = spark.rows(keys, label(one, f"level {first}, states that the other lacks"))
    finally:
        lacking.unpersist()
    query = {**query_of(one, first), **shared_variables.query(0), "wanted": [bytes(key) for (key,) in wanted]}
    states = spark.over(len(query["files"]), executor_queries.least(query), "leaves array<bigint>")
    found = spark.rows(states, label(one, f"level {first}, smallest state missing from the other dataset"))
    return Difference(levels, min(tuple(leaves) for (leaves,) in found))


@dataclass(frozen=True)
class Beyond:
    """The projections (see `Difference`) that only one of two datasets has.

    `levels` counts these projections by the level where each first occurs. For each action, `actions` has
    the number of these projections that a step of the action reaches. A step counts only if both datasets have the
    projection of the state before the step.
    """

    levels: dict[int, int]
    actions: dict[str, int]


def beyond(
    spark: Spark, one: Dataset, other: Dataset, shared_variables: SharedVariables, side: int, kernel: Kernel
) -> Beyond:
    """The projections that only `one` has. `side` says which model (0 or 1) of `shared_variables` is that of `one`."""
    mine, theirs = ({**query_of(d), **shared_variables.query(i)} for d, i in ((one, side), (other, 1 - side)))
    system = kernel.system
    mine |= {
        "kernel": sizes(kernel, bool(system.constraints)),
        "outside": OUTSIDE,
        "actions": [system.actions.index(t.label.action) for t in system.transitions],
    }
    spark.send(mine, kernel.text)
    schema, count = "key binary, level int", len(mine["files"])
    known = (
        spark.over(len(theirs["files"]), executor_queries.projections(theirs), schema)
        .select("key")
        .distinct()
        .persist()
    )
    own = spark.over(count, executor_queries.projections(mine), schema).groupBy("key").min("level")
    lacking = own.withColumnRenamed("min(level)", "level").join(known, "key", "left_anti").persist()
    try:
        levels = spark.rows(lacking.groupBy("level").count(), label(one, "states that the other lacks"))
        steps = spark.over(count, executor_queries.edges(mine), "before binary, key binary, action int")
        leaving = steps.join(lacking, "key", "left_semi").join(
            known.withColumnRenamed("key", "before"), "before", "left_semi"
        )
        reached = leaving.select("action", "key").distinct().groupBy("action").count()
        actions = spark.rows(reached, label(one, "steps out of the other"))
    finally:
        lacking.unpersist()
        known.unpersist()
    return Beyond(dict(sorted(levels)), {system.actions[n]: states for n, states in sorted(actions)})


def stored_levels(spark: Spark, dataset: Dataset, system: TransitionSystem, kernel: Kernel) -> StoredLevels:
    """The levels of a dataset, for the search for traces."""
    if not dataset.levels:
        raise DatasetRefused(f"{dataset.root} has no complete level yet; continue with --resume")
    work: executor_kernels.Work = {
        "root": dataset.root, "model": dataset.header["model"], "kernel": sizes(kernel, bool(system.constraints)),
    }  # fmt: skip
    cluster = spark.cluster
    return StoredLevels(
        system, kernel, dataset.levels, spark, work, lambda: row_order.bounds(spark.cores), cluster.threshold
    )


STEPS: Final = "level int, source binary, target binary, action string, actor string, step string, counted boolean"
"""The columns of `transitions`.

`step` is the action with its parameters. `counted` says whether the target satisfies the constraints.
"""


def decode(spark: Spark, dataset: Dataset, kernel: Kernel, traces: Mapping[str, Trace], to: str) -> None:
    """Writes the tables with Spark into the new folder `to`. Transitions are written if the dataset has them."""
    header, system = dataset.header, kernel.system
    columns = columns_of(system, kernel.layout)
    query = query_of(dataset) | {
        "kernel": sizes(kernel, bool(system.constraints)),
        "columns": columns,
        "invariants": header["invariants"],
    }
    spark.send(query, kernel.text)
    of_state = ["`state` binary", *(f"`{name}` {kind}" for name, kind, _ in columns)]
    of_state += [f"`violates.{name}` boolean" for name in header["invariants"]]
    states = spark.over(len(query["files"]), decoder.decoded(query), ", ".join(["level int", *of_state]))
    _written(spark, states, f"{to}/states", label(dataset, "states, decoded"), by_level=True)
    if header["transitions_kept"]:
        listed = [[x.number - 1, e["path"], e["sha256"]] for x in dataset.levels for e in x.transitions]
        step_query = {"root": dataset.root, "files": listed, "steps": _step_texts(kernel)}
        steps = spark.over(len(listed), decoder.steps(step_query), STEPS)
        _written(spark, steps, f"{to}/transitions", label(dataset, "transitions, decoded"), by_level=True)
    schema = ", ".join(["invariant string, position int, action string, actor string, step string", *of_state])
    rows = [row for name, trace in traces.items() for row in _rows(query, kernel, name, trace)]
    _written(spark, spark.session.createDataFrame(rows, schema), f"{to}/traces", label(dataset, "traces"))


def _written(spark: Spark, table: Any, to: str, what: str, by_level: bool = False) -> None:
    write = table.write.partitionBy("level") if by_level else table.coalesce(1).write
    spark.run(lambda: write.parquet(to), lambda: None, what)


def _step_texts(kernel: Kernel) -> list[dict[str, str]]:
    """The action, the actor and the text of each transition."""
    return [{"action": t.label.action, "actor": t.actor, "step": str(t.label)} for t in kernel.system.transitions]


def _rows(query: dict[str, Any], kernel: Kernel, name: str, trace: Trace) -> list[tuple[Any, ...]]:
    """The rows of a trace in the table `traces`: each state, with the step that leads to this state."""
    leaves = [kernel.system.encode(step.state) for step in trace.steps]
    kept = executor_kernels.kernel_of(executor_kernels.at_hand(query, kernel.code))
    states = pa.Table.from_batches([decoder.table_of(query, kernel.layout.pack(leaves), kept)]).to_pylist()
    return [
        (name, number, *_of(step), *state.values())
        for number, (step, state) in enumerate(zip(trace.steps, states, strict=True), start=1)
    ]


def _of(step: Any) -> tuple[str | None, str | None, str | None]:
    return (None, None, None) if step.label is None else (step.label.action, step.actor, str(step.label))
