"""Delivers what a command found: prints the report, then writes the outputs that the command line asks for.

The options come from the table `isrcheck.checker.report.outputs`. If the report or one of the files cannot be written,
the other files are still written.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

import click

from isrcheck.checker.cli.console import coloured, say, say_command
from isrcheck.checker.cli.help import Command, headed
from isrcheck.checker.cli.output_files import (
    STDOUT,
    plot_file,
    require_different,
    require_writable,
    svg_file,
    write_content,
)
from isrcheck.checker.report.outputs import SUMMARY, Output, Printed, outputs_of
from isrcheck.checker.results.errors import CommandError, os_words
from isrcheck.checker.results.result import Exit

if TYPE_CHECKING:
    from isrcheck.checker.results.text_layout import Ink

PICTURES = {"svg": svg_file, "plot": plot_file}
"""The outputs whose files must have one of a few endings."""


def output_options(name: str) -> Callable[[Command], Command]:
    """Adds the options for the outputs that can show the results of the command `name`."""
    return headed("Output", *map(_option, outputs_of(name)))


def _option(output: Output) -> Callable[[Command], Command]:
    if not output.is_file:
        return click.option(output.option, is_flag=True, help=output.help)
    return click.option(output.option, metavar="FILE", type=PICTURES.get(output.name, str), help=output.help)


class Outputs:
    """The outputs that a command line asks for. If a file is `-` (standard output), the report goes to standard error.

    A subject (such as `Answered`) is what the command found, with the methods that the outputs need. If it has a method
    `fail`, this method hears of each output that cannot be written.
    """

    def __init__(self, command: str, options: dict[str, Any]) -> None:
        """Removes the options for outputs from the options of a command."""
        given = [(each, options.pop(each.name)) for each in outputs_of(command)]
        self.chosen: dict[str, tuple[Output, Any]] = {each.name: (each, value) for each, value in given if value}

    def __getitem__(self, name: str) -> Any:
        """The file of an output, or None if the output is not asked for."""
        return self.chosen[name][1] if name in self.chosen else None

    @property
    def files(self) -> dict[str, str | None]:
        """The file that each option names."""
        return {each.option: path for each, path in self.chosen.values() if each.is_file}

    @property
    def to_stdout(self) -> bool:
        return STDOUT in self.files.values()

    def require_different(self, **others: str | None) -> None:
        """Raises a usage error if two options name the same file. `others` are further options with their files."""
        require_different({**self.files, **{f"--{name}": path for name, path in others.items()}})

    def require_writable(self) -> None:
        for path in self.files.values():
            require_writable(path)

    def print(self, text: str) -> None:
        """Prints lines of a report."""
        say(text, err=self.to_stdout)

    def write(self, subject: Any) -> CommandError | None:
        """Writes the outputs. Returns one failure with the messages of all outputs that cannot be written, or None.

        The JSON is written last, so its `reason` can say which other output could not be written. Raises `CommandError`
        if the JSON itself cannot be written.
        """
        messages = []
        for each, value in self._in_order():
            try:
                self._write(each, value, subject)
            except CommandError as failure:
                if each.name == "json":
                    raise
                messages.append(failure.message)
                _note(subject, failure)
        return CommandError("; ".join(messages), Exit.OUTPUT) if messages else None

    def write_unfinished(self, subject: Any) -> None:
        """Writes the outputs about a check that gave no result. Skips an output that cannot be written."""
        for each, value in self._in_order():
            if each.unfinished:
                with suppress(CommandError):
                    self._write(each, value, subject)

    def finish(self, subject: Any, exit_code: int) -> NoReturn:
        """Writes the outputs, and ends the command. Raises `CommandError` if an output cannot be written."""
        raise self.write(subject) or click.exceptions.Exit(exit_code)

    def _in_order(self) -> Iterator[tuple[Output, Any]]:
        return iter(sorted(self.chosen.values(), key=lambda pair: pair[0].name == "json"))

    def _write(self, each: Output, value: Any, subject: Any) -> None:
        content = each.content(subject)
        if isinstance(content, Printed):
            self._print(content)
        elif content is None:
            say(f"isrcheck: no counterexample; {value} was not written", err=True)
        else:
            write_content(value, content)

    def _print(self, content: Printed) -> None:
        for line in content.lines:
            say_command(line, err=self.to_stdout)
        path = os.environ.get(SUMMARY)
        if path:
            try:
                with open(path, "a", encoding="utf-8") as file:
                    file.write(content.summary)
            except OSError as error:
                raise CommandError(f"cannot write {SUMMARY} ({path}): {error.strerror}", Exit.OUTPUT) from None


def deliver(outputs: Outputs, subject: Any, text: Callable[[Ink], str]) -> NoReturn:
    """Prints the report, then writes the outputs, and ends the command with the exit code of the subject.

    Raises `CommandError` if the report cannot be printed, a file cannot be written, or the subject says in `failure`
    that something else failed. Raises BrokenPipeError if the
    reader of the report has gone. All files that can be written are written before an error is raised.
    """
    from isrcheck.checker.results.text_layout import Ink

    ink = Ink(coloured(sys.stderr if outputs.to_stdout else sys.stdout))
    unprinted: Exception | None = None
    try:
        say(text(ink), nl=False, err=outputs.to_stdout, colour=ink.colour)
    except OSError as error:
        failure = CommandError(f"cannot print the report: {os_words(error)}", Exit.OUTPUT)
        unprinted = error if isinstance(error, BrokenPipeError) else failure
        _note(subject, failure)
    unwritten = outputs.write(subject)
    raise unprinted or unwritten or getattr(subject, "failure", None) or click.exceptions.Exit(subject.exit_code)


def _note(subject: Any, failure: CommandError) -> None:
    if hasattr(subject, "fail"):
        subject.fail(failure)
