"""`isrcheck sweep`: a matrix of models, settings and invariants, in processes of this machine or as Spark tasks."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import click

from isrcheck.checker.cli.options import assignment, once, size_of
from isrcheck.checker.cli.output import STDOUT, require_writable, write_json
from isrcheck.checker.results import FORMAT, Exit

ORDER: Final = (*Exit.PRECEDENCE[:-2], Exit.UNKNOWN, *Exit.PRECEDENCE[-2:])
"""Which exit code wins, as in `regress`."""


@click.command("sweep", short_help="Checks a matrix of models, settings and invariants.")
@click.argument("file", metavar="FILE")
@click.option("--json", "json_path", metavar="FILE", help="Write the outcomes as JSON; - is standard output.")
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="Processes; by default one for each core.")
@click.option("--master", metavar="URL", help="Run them as tasks of Spark, where it runs (local[*], yarn, ...).")
@click.option("--conf", type=assignment, multiple=True, callback=once, metavar="NAME=VALUE", help="A setting of Spark.")
def command(file: str, json_path: str | None, workers: int | None, master: str | None, conf: dict[str, str]) -> None:
    """Runs the checks of FILE (TOML, see docs/scenarios.md), each with the local engine, and prints a table.

    One that fails or needs too much does not keep the others from being done. The exit code is the one that wins
    among theirs.
    """
    if master is None and conf:
        raise click.UsageError("--conf is a setting of Spark; say with --master where it runs")
    if master is not None and workers is not None:
        raise click.UsageError("--workers is for this machine; with --master, Spark says how many there are")
    require_writable(json_path)
    from isrcheck.checker.sweeps.matrix import read

    cells = read(Path(file), size_of)
    found = _outcomes([asdict(cell) for cell in cells], workers, master, conf)
    rows = [{**asdict(cell), **outcome} for cell, outcome in zip(cells, found, strict=True)]
    code = next(c for c in ORDER if c in {row["exit_code"] for row in rows})
    click.echo("\n".join(_text([cell.title for cell in cells], rows)), err=json_path == STDOUT)
    if json_path is not None:
        write_json(json_path, {"format": FORMAT, "exit_code": code, "cells": rows})
    raise click.exceptions.Exit(code)


def _outcomes(
    cells: list[dict[str, Any]], workers: int | None, master: str | None, conf: dict[str, str]
) -> list[dict[str, Any]]:
    if master is None:
        from isrcheck.checker.engines.local.search import processors
        from isrcheck.checker.sweeps.local import outcomes as local

        return local(cells, workers or processors())
    from isrcheck.checker.engines.spark.cluster import Cluster
    from isrcheck.checker.engines.spark.interruptions import deferred
    from isrcheck.checker.engines.spark.session import Spark
    from isrcheck.checker.sweeps.on_spark import outcomes

    with deferred():
        return outcomes(Spark(Cluster(master=master, conf=conf)), cells)


def _text(titles: list[str], rows: list[dict[str, Any]]) -> list[str]:
    from isrcheck.checker.wording.layout import columns, number, plural, seconds

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
