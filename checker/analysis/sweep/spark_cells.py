"""A sweep as Spark tasks. Each task gives its cells to a separate process.

Later tasks of the same Python worker of Spark reuse this process. Executors need this project installed, with
everything that the local engine needs. An accumulator reports outcomes before the job ends, at the end of each task.
When the job ends, its rows have the outcomes of all cells.
"""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from isrcheck.checker.engines.spark.session import Spark, ship

Outcomes = dict[int, str]
OUTCOMES: Final = "number int, outcome string"
MOST_TASKS: Final = 10_000


class Gathered:
    """Merges reports of tasks. A report has outcomes by the positions of cells. A task that runs twice counts once."""

    def zero(self, value: Outcomes) -> Outcomes:
        return {}

    def addInPlace(self, one: Outcomes, other: Outcomes) -> Outcomes:  # noqa: N802 - Spark calls it so
        return {**one, **other}


def outcomes(spark: Spark, cells: list[dict[str, Any]], heard: Callable[[int, dict[str, Any]], None]) -> None:
    """Reports the outcome of each cell once, in any order. Some outcomes are reported before the job ends."""
    ship(sys.modules[__name__])
    accumulator: Any = spark.context.accumulator({}, Gathered())
    known = set[int]()

    def tell(found: Outcomes) -> None:
        for number in sorted(found.keys() - known):
            known.add(number)
            heard(number, json.loads(found[number]))

    parts = min(len(cells), MOST_TASKS)
    table = spark.session.range(0, len(cells), 1, parts).mapInArrow(doing(cells, accumulator), OUTCOMES)
    rows = spark.run(table.collect, lambda: tell(dict(accumulator.value)), f"sweep of {len(cells)} checks")
    tell(dict(map(tuple, rows)))


def doing(cells: list[dict[str, Any]], accumulator: Any) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Returns a function for `mapInArrow`. The function takes the positions of cells and yields their outcomes."""

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa

        from isrcheck.checker.analysis.sweep.cells import Cells

        # A function that Spark sends by value has no module. So a new module keeps the process for later tasks.
        kept = sys.modules.setdefault("isrcheck_sweep", types.ModuleType("isrcheck_sweep")).__dict__
        process = kept.setdefault("cells", Cells())
        for batch in batches:
            for number in batch.column(0).to_pylist():
                outcome = json.dumps(process.ask(cells[number]))
                accumulator.add({number: outcome})
                columns = [pa.array([number], pa.int32()), pa.array([outcome])]
                yield pa.RecordBatch.from_arrays(columns, ["number", "outcome"])

    return run
