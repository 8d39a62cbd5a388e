"""The options for continuous integration, shared by several commands, and the reports that these options ask for."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from isrcheck.checker.cli.output_files import all_written, write_json, write_text
from isrcheck.checker.results.errors import Failure
from isrcheck.checker.results.result import Exit

if TYPE_CHECKING:
    from isrcheck.checker.registry.loader import LoadedModel
    from isrcheck.checker.report.test_cases import Case
    from isrcheck.checker.results.result import Result

SUMMARY: Final = "GITHUB_STEP_SUMMARY"
Command = TypeVar("Command", bound=Callable[..., Any])
_JUNIT = click.option("--junit", metavar="FILE", help="Write the verdicts as JUnit XML; - is standard output.")
_SARIF = click.option("--sarif", metavar="FILE", help="Write the verdicts as SARIF; - is standard output.")
_GITHUB = click.option(
    "--github", is_flag=True, help="Print annotations for GitHub, and add the verdicts to the step's summary."
)
_MERMAID = click.option(
    "--mermaid", metavar="FILE", help="Write the shortest counterexample as a sequence diagram; - is standard output."
)


def ci_options(command: Command) -> Command:
    """Adds the options `--junit`, `--sarif` and `--github`."""
    return _JUNIT(_SARIF(_GITHUB(command)))


def mermaid_option(command: Command) -> Command:
    return _MERMAID(command)


@dataclass
class Reports:
    """The reports that a command line asks for."""

    junit: str | None = None
    sarif: str | None = None
    github: bool = False
    mermaid: str | None = None
    to_stderr: bool = False
    """True if a file is written to standard output. Then GitHub's annotations go to standard error."""

    @classmethod
    def taken(cls, options: dict[str, Any]) -> Reports:
        """Removes the options for reports from the options of a command, and returns the reports."""
        return cls(**{name: options.pop(name) for name in ("junit", "sarif", "github", "mermaid") if name in options})

    @property
    def files(self) -> dict[str, str]:
        given = {"--junit": self.junit, "--sarif": self.sarif, "--mermaid": self.mermaid}
        return {name: path for name, path in given.items() if path is not None}

    def write(self, result: Result, loaded: LoadedModel | None) -> None:
        """Writes the reports on a check. If one cannot be written, writes the others, then raises `Failure` (153)."""
        all_written(lambda: self._write_mermaid(result), lambda: self._write_verdicts(result, loaded))

    def _write_verdicts(self, result: Result, loaded: LoadedModel | None) -> None:
        if self.junit is None and self.sarif is None and not self.github:
            return
        from isrcheck.checker.report.result_text import verdict_line
        from isrcheck.checker.report.test_cases import cases_of

        assert loaded is not None
        title = f"isrcheck: {result.model}"
        self.write_cases(cases_of(result, loaded), result.exit_code, result.settings, title, verdict_line(result))

    def _write_mermaid(self, result: Result) -> None:
        if self.mermaid is None:
            return
        from isrcheck.checker.report.mermaid import mermaid_of

        diagram = mermaid_of(result)
        if diagram is None:
            click.echo(f"isrcheck: there is no counterexample; {self.mermaid} is not written", err=True)
        else:
            write_text(self.mermaid, diagram)

    def write_cases(
        self, cases: list[Case], exit_code: int, settings: dict[str, Any], title: str, headline: str
    ) -> None:
        """Writes the requested reports (JUnit, SARIF, GitHub) on these test cases.

        If one cannot be written, writes the others, then raises `Failure` (153).
        """
        all_written(
            lambda: self._write_junit(cases, settings),
            lambda: self._write_sarif(cases, exit_code, settings),
            lambda: self._tell_github(cases, title, headline),
        )

    def _write_junit(self, cases: list[Case], settings: dict[str, Any]) -> None:
        if self.junit is not None:
            from isrcheck.checker.report.junit import junit

            texts = {name: str(v).lower() if isinstance(v, bool) else str(v) for name, v in settings.items()}
            write_text(self.junit, junit(cases, texts))

    def _write_sarif(self, cases: list[Case], exit_code: int, settings: dict[str, Any]) -> None:
        if self.sarif is not None:
            from isrcheck.checker.report.sarif import sarif

            write_json(self.sarif, sarif(cases, exit_code, settings))

    def _tell_github(self, cases: list[Case], title: str, headline: str) -> None:
        if not self.github:
            return
        from isrcheck.checker.report.github import commands, summary

        for line in commands(cases):
            click.echo(line, err=self.to_stderr)
        path = os.environ.get(SUMMARY)
        if path:
            try:
                with open(path, "a", encoding="utf-8") as file:
                    file.write(summary(cases, title, headline))
            except OSError as error:
                raise Failure(f"cannot write {SUMMARY} ({path}): {error.strerror}", Exit.OUTPUT) from None

    def write_failure(self, suite: str, settings: dict[str, Any], failure: Failure) -> None:
        """Writes the reports, except the Mermaid diagram, for a check that gave no result.

        A report that cannot be written is skipped silently.
        """
        from isrcheck.checker.report.test_cases import unfinished

        with suppress(Failure):
            case = unfinished(suite, failure.message, failure.code)
            self.write_cases([case], failure.code, settings, f"isrcheck: {suite}", failure.message)
