"""Answers questions about datasets with Spark: distributions of values, out-degrees, and differences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from isrcheck.checker.datasets.common import Common
from isrcheck.checker.datasets.dataset import Dataset
from isrcheck.checker.datasets.refusals import DatasetRefused
from isrcheck.checker.engines.spark import kernels, queries, rows
from isrcheck.checker.engines.spark.levels import StoredLevels
from isrcheck.checker.engines.spark.search import sizes
from isrcheck.checker.engines.spark.session import Spark
from isrcheck.checker.kernel.compile import Kernel
from isrcheck.checker.kernel.verdicts import OUTSIDE
from isrcheck.model.language.system import TransitionSystem

Query = dict[str, Any]
MOST_KEYS: Final = 1_000_000
"""`difference` considers at most this many projections (see `Difference`) when it chooses the least state."""


def label(dataset: Dataset, what: str) -> str:
    """The name of a job in Spark's UI."""
    return f"{dataset.header['model']}: {what}"


def query_of(dataset: Dataset, level: int | None = None) -> Query:
    """A query (`queries.py`) about the files of a dataset, or only about the files of one of its levels.

    `places` says where each leaf is in a packed state (`queries.py`). `names` has the name of each leaf.
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
        len(query["files"]), queries.distributions(query), "level int, leaf int, value bigint, states bigint"
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
    table = spark.over(len(query["files"]), queries.degrees(query), "level int, degree int, states bigint")
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


def difference(spark: Spark, one: Dataset, other: Dataset, common: Common) -> Difference:
    """The states of `one` that `other` lacks, compared by their common variables."""
    mine, theirs = ({**query_of(d), **common.query(i)} for i, d in enumerate((one, other)))
    schema = "key binary, level int"
    left = spark.over(len(mine["files"]), queries.projections(mine), schema).groupBy("key").min("level")
    right = spark.over(len(theirs["files"]), queries.projections(theirs), schema).select("key").distinct()
    lacking = left.withColumnRenamed("min(level)", "level").join(right, "key", "left_anti").persist()
    try:
        levels = dict(sorted(spark.rows(lacking.groupBy("level").count(), label(one, "what the other lacks"))))
        if not levels:
            return Difference({}, None)
        first = min(levels)
        keys = lacking.where(f"level = {first}").select("key").orderBy("key").limit(MOST_KEYS)
        wanted = spark.rows(keys, label(one, f"level {first}, what the other lacks"))
    finally:
        lacking.unpersist()
    query = {**query_of(one, first), **common.query(0), "wanted": [bytes(key) for (key,) in wanted]}
    states = spark.over(len(query["files"]), queries.least(query), "leaves array<bigint>")
    found = spark.rows(states, label(one, f"level {first}, the least state that the other lacks"))
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


def beyond(spark: Spark, one: Dataset, other: Dataset, common: Common, side: int, kernel: Kernel) -> Beyond:
    """The projections that only `one` has. `side` is the position (0 or 1) of the model of `one` in `common`."""
    mine, theirs = ({**query_of(d), **common.query(i)} for d, i in ((one, side), (other, 1 - side)))
    system = kernel.system
    mine |= {
        "kernel": sizes(kernel, bool(system.constraints)),
        "outside": OUTSIDE,
        "actions": [system.actions.index(t.label.action) for t in system.transitions],
    }
    spark.send(mine, kernel.text)
    schema, count = "key binary, level int", len(mine["files"])
    known = spark.over(len(theirs["files"]), queries.projections(theirs), schema).select("key").distinct().persist()
    own = spark.over(count, queries.projections(mine), schema).groupBy("key").min("level")
    lacking = own.withColumnRenamed("min(level)", "level").join(known, "key", "left_anti").persist()
    try:
        levels = spark.rows(lacking.groupBy("level").count(), label(one, "what the other lacks"))
        steps = spark.over(count, queries.edges(mine), "before binary, key binary, action int")
        leaving = steps.join(lacking, "key", "left_semi").join(
            known.withColumnRenamed("key", "before"), "before", "left_semi"
        )
        reached = leaving.select("action", "key").distinct().groupBy("action").count()
        actions = spark.rows(reached, label(one, "steps that leave the other"))
    finally:
        lacking.unpersist()
        known.unpersist()
    return Beyond(dict(sorted(levels)), {system.actions[n]: states for n, states in sorted(actions)})


def stored_levels(spark: Spark, dataset: Dataset, system: TransitionSystem, kernel: Kernel) -> StoredLevels:
    """The levels of a dataset, for the search for traces."""
    if not dataset.levels:
        raise DatasetRefused(f"{dataset.root} has no whole level yet; go on with --resume")
    work: kernels.Work = {
        "root": dataset.root, "model": dataset.header["model"], "kernel": sizes(kernel, bool(system.constraints)),
    }  # fmt: skip
    cluster = spark.cluster
    return StoredLevels(
        system, kernel, dataset.levels, spark, work, lambda: rows.bounds(spark.cores), cluster.threshold
    )
