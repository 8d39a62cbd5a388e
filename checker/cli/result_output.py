"""Delivers a result: prints the report, then writes the files.

If the report or one of the files cannot be written, the other files are still written.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from isrcheck.checker.cli.ci import Reports
from isrcheck.checker.cli.output_files import STDOUT, require_different, require_writable, write_json, write_text
from isrcheck.checker.results.errors import Failure, os_words
from isrcheck.checker.results.result import Exit

if TYPE_CHECKING:
    from isrcheck.checker.registry.loader import LoadedModel
    from isrcheck.checker.results.result import Result
    from isrcheck.checker.results.text_layout import Ink

html_option = click.option(
    "--html", metavar="FILE", help="Write the report as a page for a browser; - is standard output."
)


@dataclass
class Output:
    """The files that the options name. If a file is `-` (standard output), the report goes to standard error.

    `loaded` is the model, once it is loaded. The page and the reports for continuous integration need the model.
    `isrcheck refine` sets `beside`: the result with the specification's states added to its traces. The page then shows
    `beside` in place of the result.
    """

    json: str | None = None
    itf: str | None = None
    html: str | None = None
    reports: Reports = field(default_factory=Reports)
    loaded: LoadedModel | None = field(default=None, repr=False)
    beside: Result | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self.reports.to_stderr = self.to_stdout

    @classmethod
    def taken(cls, options: dict[str, Any]) -> Output:
        """Removes the options for files from the options of a command, and returns the files."""
        return cls(
            **{name: options.pop(name, None) for name in ("json", "itf", "html")}, reports=Reports.taken(options)
        )

    @property
    def files(self) -> dict[str, str | None]:
        """The file that each option names."""
        return {"--json": self.json, "--itf": self.itf, "--html": self.html, **self.reports.files}

    @property
    def is_report_alone(self) -> bool:
        """True if the printed report is the only output: no file, and no annotations for GitHub."""
        return not self.reports.github and not any(self.files.values())

    def require_apart(self) -> None:
        """Raises a usage error if two options name the same file."""
        require_different(self.files)

    def require_writable(self) -> None:
        for path in self.files.values():
            require_writable(path)

    @property
    def to_stdout(self) -> bool:
        return STDOUT in self.files.values()

    def write(self, result: Result) -> Failure | None:
        """Writes the files, and returns the last failure, or None. Raises `Failure` if the JSON cannot be written.

        The JSON is written last, so its `reason` can say which other file could not be written.
        """
        failure = None
        for write in (self._write_itf, self._write_page, self._write_reports):
            try:
                write(result)
            except Failure as unwritten:
                failure = unwritten
                _note_failure(result, unwritten.message)
        if self.json is not None:
            write_json(self.json, result.to_json())
        return failure

    def write_failure(self, model: str, settings: dict[str, str], engine: str, failure: Failure) -> None:
        """Writes the JSON, and the reports for continuous integration, after a check that gave no result.

        A file that cannot be written is skipped silently.
        """
        from isrcheck.checker.cli.exit_status import unanswered

        self.reports.write_failure(model, settings, failure)
        if self.json is not None:
            with suppress(Failure):
                write_json(self.json, unanswered(model, settings, engine, failure.message, failure.code))

    def _write_itf(self, result: Result) -> None:
        if self.itf is None:
            return
        from isrcheck.checker.trace.itf import as_text, itf_of

        data = itf_of(result)
        if data is None:
            click.echo(f"isrcheck: there is no counterexample; {self.itf} is not written", err=True)
        else:
            write_text(self.itf, as_text(data))

    def _write_page(self, result: Result) -> None:
        if self.html is None:
            return
        from isrcheck.checker.registry.loader import blaming
        from isrcheck.checker.report.pages.report_page import report_page

        assert self.loaded is not None
        with blaming(self.loaded.origin):
            text = report_page(self.beside or result, self.loaded)
        write_text(self.html, text)

    def _write_reports(self, result: Result) -> None:
        self.reports.write(result, self.loaded)


def deliver(output: Output, result: Result, text: Callable[[Ink], str]) -> None:
    """Prints the report, then writes the files, and ends the command with the exit code of the result.

    Raises `Failure` if the report cannot be printed or a file cannot be written. Raises BrokenPipeError if the reader
    of the report has gone. All files that can be written are written before an error is raised.
    """
    from isrcheck.checker.results.text_layout import Ink

    ink = Ink(_coloured(sys.stderr if output.to_stdout else sys.stdout))
    unprinted: Exception | None = None
    try:
        click.echo(text(ink), nl=False, err=output.to_stdout, color=ink.colour)
    except OSError as error:
        message = f"the report cannot be printed: {os_words(error)}"
        unprinted = error if isinstance(error, BrokenPipeError) else Failure(message, Exit.OUTPUT)
        _note_failure(result, message)
    failure = output.write(result)
    if unprinted is not None:
        raise unprinted
    if failure is not None:
        raise failure
    raise click.exceptions.Exit(result.exit_code)


def _note_failure(result: Result, message: str) -> None:
    """Notes in a result that some of its output failed."""
    result.exit_code = Exit.OUTPUT
    result.reason = message if result.reason is None else f"{result.reason}; {message}"


def _coloured(stream: Any) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
