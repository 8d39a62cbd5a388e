"""How a result leaves: the report is printed, then files are written; neither keeps the other from being tried."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from checker.cli.failures import Failure, os_words
from checker.cli.output import STDOUT, write_json
from checker.results import Exit

if TYPE_CHECKING:
    from checker.reports.layout import Ink
    from checker.results import Result


@dataclass(frozen=True)
class Output:
    """The files that are asked for; - is standard output, and the report then goes to standard error."""

    json: str | None
    itf: str | None


def deliver(output: Output, result: Result, text: Callable[[Ink], str]) -> None:
    """Prints the report, then writes the files, and ends with the exit code of the result."""
    from checker.reports.layout import Ink

    to_stderr = STDOUT in (output.json, output.itf)
    ink = Ink(_coloured(sys.stderr if to_stderr else sys.stdout))
    unprinted: Exception | None = None
    try:
        click.echo(text(ink), nl=False, err=to_stderr, color=ink.colour)
    except OSError as error:
        message = f"the report cannot be printed: {os_words(error)}"
        unprinted = error if isinstance(error, BrokenPipeError) else Failure(message, Exit.OUTPUT)
        _note_failure(result, message)
    failure = _write_files(output, result)
    if unprinted is not None:
        raise unprinted
    if failure is not None:
        raise failure
    raise click.exceptions.Exit(result.exit_code)


def _write_files(output: Output, result: Result) -> Failure | None:
    """Writes ITF, then JSON, which says so where the ITF failed; the last failure."""
    failure = None
    try:
        if output.itf is not None:
            _write_itf(output.itf, result)
    except Failure as unwritten:
        failure = unwritten
        _note_failure(result, unwritten.message)
    if output.json is not None:
        write_json(output.json, result.to_json())
    return failure


def _note_failure(result: Result, message: str) -> None:
    """Adds to a result that some of its output failed."""
    result.exit_code = Exit.OUTPUT
    result.reason = message if result.reason is None else f"{result.reason}; {message}"


def _write_itf(path: str, result: Result) -> None:
    from checker.traces.itf import itf_of

    data = itf_of(result)
    if data is None:
        click.echo(f"isrcheck: there is no counterexample; {path} is not written", err=True)
    else:
        write_json(path, data)


def deliver_failure(path: str, model: str, settings: dict[str, str], engine: str, failure: Failure) -> None:
    """The JSON of a check that did not come to a search; a file that cannot be written is not mentioned again."""
    from checker.reports.unanswered import unanswered

    try:
        write_json(path, unanswered(model, settings, engine, failure.message, failure.code))
    except Failure:
        return


def _coloured(stream: Any) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
