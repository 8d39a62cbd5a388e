"""Writes a dataset as Parquet tables for queries: `states` and `transitions`, partitioned by level, and `traces`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa

from isrcheck.checker.datasets.columns import columns_of
from isrcheck.checker.datasets.dataset import Dataset
from isrcheck.checker.engines.spark import decoding, kernels
from isrcheck.checker.engines.spark.analysis import label, query_of
from isrcheck.checker.engines.spark.search import sizes
from isrcheck.checker.engines.spark.session import Spark
from isrcheck.checker.kernel.compile import Kernel
from isrcheck.checker.results import Trace

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
    states = spark.over(len(query["files"]), decoding.decoded(query), ", ".join(["level int", *of_state]))
    _written(spark, states, f"{to}/states", label(dataset, "states, decoded"), by_level=True)
    if header["transitions_kept"]:
        listed = [[x.number - 1, e["path"], e["sha256"]] for x in dataset.levels for e in x.transitions]
        told = {"root": dataset.root, "files": listed, "steps": _told(kernel)}
        steps = spark.over(len(listed), decoding.steps(told), STEPS)
        _written(spark, steps, f"{to}/transitions", label(dataset, "transitions, decoded"), by_level=True)
    schema = ", ".join(["invariant string, position int, action string, actor string, step string", *of_state])
    rows = [row for name, trace in traces.items() for row in _rows(query, kernel, name, trace)]
    _written(spark, spark.session.createDataFrame(rows, schema), f"{to}/traces", label(dataset, "traces"))


def _written(spark: Spark, table: Any, to: str, what: str, by_level: bool = False) -> None:
    write = table.write.partitionBy("level") if by_level else table.coalesce(1).write
    spark.run(lambda: write.parquet(to), lambda: None, what)


def _told(kernel: Kernel) -> list[dict[str, str]]:
    """The action, the actor and the text of each transition."""
    return [{"action": t.label.action, "actor": t.actor, "step": str(t.label)} for t in kernel.system.transitions]


def _rows(query: dict[str, Any], kernel: Kernel, name: str, trace: Trace) -> list[tuple[Any, ...]]:
    """The rows of a trace in the table `traces`: each state, with the step that leads to this state."""
    leaves = [kernel.system.encode(step.state) for step in trace.steps]
    kept = kernels.kernel_of(kernels.at_hand(query, kernel.code))
    states = pa.Table.from_batches([decoding.table_of(query, kernel.layout.pack(leaves), kept)]).to_pylist()
    return [
        (name, number, *_of(step), *state.values())
        for number, (step, state) in enumerate(zip(trace.steps, states, strict=True), start=1)
    ]


def _of(step: Any) -> tuple[str | None, str | None, str | None]:
    return (None, None, None) if step.label is None else (step.label.action, step.actor, str(step.label))
