"""The one way from a command to the terminal, or to the log of a CI service.

Reports have words that are not isrcheck's: texts of recordings, titles of scenarios, values of settings, file names.
None of them can move the cursor, hide or forge a line, or give a command to a CI service (`harmless`).
"""

from __future__ import annotations

import json
import os
import re
import sys
from typing import Any, Final

import click

from isrcheck.checker.results.text_layout import printable

OURS: Final = re.compile(r"(\x1b\[(?:0|1|31|32|33)m)")
"""The escape sequences of `Ink`."""
BEGINS_A_COMMAND: Final = re.compile(r"^([ \t]*)(?=::)", re.M)
"""Before a command of GitHub, such as `::error` or `::add-mask::`. GitHub ignores blanks before it."""
HAS_A_COMMAND: Final = re.compile(r"(?<=#)(?=#[a-z]*\[)", re.I)
"""Within a command of a CI service, such as `##[error]` or `##vso[...]`. It may stand anywhere in a line."""


def say(text: str = "", *, err: bool = False, nl: bool = True, colour: bool = False) -> None:
    """Prints lines of text. With `colour`, the colours of `Ink` are kept."""
    click.echo(harmless(text, colour), err=err, nl=nl, color=colour or None)


def say_json(data: Any) -> None:
    """Prints data as JSON. It stays the same data for a reader, and no CI service finds a command in it."""
    click.echo(json.dumps(data, indent=1).replace("##", r"#\u0023"))


def say_command(line: str, err: bool = False) -> None:
    """Prints a command for a CI service. Everything in it that is not isrcheck's own is escaped already."""
    click.echo(printable(line), err=err)


def say_content(text: str) -> None:
    """Prints the content of a file exactly, because the user asks for this file on standard output."""
    click.echo(text, nl=False)


def say_live(text: str) -> None:
    """Replaces the last line on standard error by this text, if it is a terminal."""
    if sys.stderr.isatty():
        click.echo(f"\r\033[K{printable(text)}", err=True, nl=False)


def coloured(stream: Any) -> bool:
    """Whether text on this stream may have colours."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def harmless(text: str, colour: bool = False) -> str:
    r"""The lines of a text, so that they give no orders to a terminal or a CI service, wherever their words come from.

    Line breaks and tabs stay as they are and, with `colour`, the escape sequences of `Ink`. A backslash takes their
    meaning from the commands of CI services.

    >>> print(harmless("  ::add-mask::x\nsee ##[error]y"))
      \::add-mask::x
    see #\#[error]y
    """
    pieces = OURS.split(text) if colour else [text]
    pieces[::2] = [re.sub("[^\t\n]+", lambda found: printable(found[0]), piece) for piece in pieces[::2]]
    return HAS_A_COMMAND.sub(r"\\", BEGINS_A_COMMAND.sub(r"\1\\", "".join(pieces)))
