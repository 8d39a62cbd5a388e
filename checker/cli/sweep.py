"""`isrcheck sweep`: checks a matrix of models, settings and invariants, in local processes or as tasks of Spark."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import click

from isrcheck.checker.analysis.sweep.matrix import Cell
from isrcheck.checker.cli.cache import no_cache_option
from isrcheck.checker.cli.console import say
from isrcheck.checker.cli.help import HeadedCommand
from isrcheck.checker.cli.options import assignment, once, size_of
from isrcheck.checker.cli.result_output import Outputs, output_options
from isrcheck.checker.results.result import FORMAT, Exit

ORDER: Final = (*Exit.PRECEDENCE[:-2], Exit.UNKNOWN, *Exit.PRECEDENCE[-2:])
"""`Exit.PRECEDENCE`, with `UNKNOWN` before `DIFFERENCE`.

The exit code of the command is the first code in this order that a check has.
"""


@click.command("sweep", cls=HeadedCommand, short_help="Checks a matrix of models, settings and invariants.")
@click.argument("file", metavar="FILE")
@output_options("sweep")
@click.option(
    "--results",
    metavar="FILE",
    help="Append each outcome to this file, and skip checks whose verdict it contains, unless the model or "
    "isrcheck changed.",
)
@click.option("--axes", metavar="A,B", help="The settings on the axes of the plots, horizontal first.")
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="Number of processes. Default: one per core.")
@click.option("--master", metavar="URL", help="Run the checks as Spark tasks on this master (local[*], yarn, ...).")
@click.option("--conf", type=assignment, multiple=True, callback=once, metavar="NAME=VALUE", help="A Spark setting.")
@no_cache_option
def command(
    file: str, results: str | None, axes: str | None, workers: int | None, master: str | None, conf: dict[str, str],
    **options: Any,
) -> None:  # fmt: skip
    """Runs the checks in FILE (TOML, see docs/how-to/scenarios.md), each with the local engine, and prints a table.

    A check that fails or exceeds a limit does not stop the others. The exit code of the sweep is the exit code of one
    of its checks: the first in the order 255, 153, 75, 12, 13, 11, 130, 152, 150, 10, 0.
    """
    if master is None and conf:
        raise click.UsageError("--conf is a Spark setting; it requires --master")
    if master is not None and workers is not None:
        raise click.UsageError("--workers applies to this machine; with --master, Spark sets the number of workers")
    outputs = Outputs("sweep", options)
    if axes is not None and outputs["plot"] is None:
        raise click.UsageError("--axes requires --plot")
    outputs.require_different(results=results)
    outputs.require_writable()
    from isrcheck.checker.analysis.sweep.heatmap import axes_of, heatmaps
    from isrcheck.checker.analysis.sweep.matrix import read

    cells = read(Path(file), size_of)
    chosen = None if outputs["plot"] is None else axes_of(cells, [] if axes is None else axes.split(","))
    found = _Outcomes([asdict(cell) for cell in cells], results)
    try:
        _do(found, workers, master, conf)
    finally:
        found.close()
    rows = [{**asdict(cell), **outcome} for cell, outcome in zip(cells, found.in_order, strict=True)]
    code = next(c for c in ORDER if c in {row["exit_code"] for row in rows})
    outputs.print("\n".join(_text([cell.title for cell in cells], rows)))
    contents = SimpleNamespace(
        to_json=lambda: {"format": FORMAT, "exit_code": code, "cells": rows},
        to_plot=lambda: chosen and heatmaps(cells, found.in_order, chosen),
    )
    outputs.finish(contents, code)


class _Outcomes:
    """The outcomes of the checks so far. If `results` names a file, outcomes are read from it and added to it."""

    def __init__(self, cells: list[dict[str, Any]], results: str | None) -> None:
        from isrcheck.checker.analysis.sweep.results_store import ResultsStore

        self.cells = cells
        self._store = None if results is None else ResultsStore(results)
        before = [None if self._store is None else self._store.outcome(cell) for cell in cells]
        self._outcomes = {number: outcome for number, outcome in enumerate(before) if outcome is not None}
        self.left = [number for number in range(len(cells)) if number not in self._outcomes]
        if self._store is not None and len(self.left) < len(cells):
            self._say(f"{len(self._outcomes)} of {len(cells)} checks are already in {results}")

    def heard(self, position: int, outcome: dict[str, Any]) -> None:
        """Adds the outcome of a check. `position` is its index in `left`, the checks to run."""
        number = self.left[position]
        self._outcomes[number] = outcome
        if self._store is not None:
            self._store.add(self.cells[number], outcome)
        if sys.stderr.isatty():
            title = Cell(**self.cells[number]).title
            self._say(f"{len(self._outcomes)} of {len(self.cells)}: {title}: {_verdict(outcome)}")

    def _say(self, words: str) -> None:
        say(words, err=True)

    @property
    def in_order(self) -> list[dict[str, Any]]:
        return [self._outcomes[number] for number in range(len(self.cells))]

    def close(self) -> None:
        if self._store is not None:
            self._store.close()


def _do(found: _Outcomes, workers: int | None, master: str | None, conf: dict[str, str]) -> None:
    """Runs the checks that have no outcome yet."""
    left = [found.cells[number] for number in found.left]
    if not left:
        return
    if master is None:
        from isrcheck.checker.analysis.sweep.cells import outcomes as local
        from isrcheck.checker.engines.explicit.search import processors

        local(left, workers or processors(), found.heard)
        return
    from isrcheck.checker.analysis.sweep.spark_cells import outcomes
    from isrcheck.checker.engines.spark.cluster import Cluster
    from isrcheck.checker.engines.spark.session import Spark, deferred

    with deferred():
        outcomes(Spark(Cluster(master=master, conf=conf)), left, found.heard)


def _text(titles: list[str], rows: list[dict[str, Any]]) -> list[str]:
    from isrcheck.checker.results.text_layout import columns, number, plural, seconds

    table = [
        (title, ", ".join(row["invariants"] or ("default",)), _verdict(row), number(row["distinct"]),
         seconds(row["seconds"]), row["reason"] or "")
        for title, row in zip(titles, rows, strict=True)
    ]  # fmt: skip
    verdicts = [row["verdict"] or "not run" for row in rows]
    counted = ", ".join(f"{verdicts.count(v)} {v}" for v in sorted(set(verdicts)))
    return [*columns(table, indent="", right=(3, 4)), f"{plural(len(rows), 'check')}: {counted}"]


def _verdict(row: dict[str, Any]) -> str:
    lengths = ", ".join(f"{name} {length}" for name, length in sorted(row["lengths"].items()))
    return f"{row['verdict'] or 'NOT RUN'}{': ' if lengths else ''}{lengths}"
