"""A sweep as Spark tasks: each takes some cells and has them done, one after the other, by a process beside it.

Executors need this project here, with all that the local engine needs.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from isrcheck.checker.engines.spark.session import Spark, ship

OUTCOMES: Final = "number int, outcome string"


def outcomes(spark: Spark, cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The outcome of each cell, in the order of the cells."""
    ship(sys.modules[__name__])
    rows = spark.rows(spark.over(len(cells), doing(cells), OUTCOMES), f"sweep of {len(cells)} checks")
    return [json.loads(outcome) for _, outcome in sorted(rows)]


def doing(cells: list[dict[str, Any]]) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """A function for `mapInArrow`: numbers of cells in, outcomes out."""

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa

        from isrcheck.checker.sweeps.cells import Cells

        process = Cells()
        try:
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    columns = [pa.array([number], pa.int32()), pa.array([json.dumps(process.ask(cells[number]))])]
                    yield pa.RecordBatch.from_arrays(columns, ["number", "outcome"])
        finally:
            process.end()

    return run
