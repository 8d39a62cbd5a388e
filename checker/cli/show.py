"""`isrcheck show`: a recorded trace, told."""

from __future__ import annotations

from typing import Any

import click

from isrcheck.checker.cli.options import settings_option
from isrcheck.checker.cli.output import STDOUT, require_writable, write_text
from isrcheck.checker.cli.replay import replayed_file, shown
from isrcheck.checker.results import Exit


@click.command("show", short_help="Tells a recorded trace step by step.")
@click.argument("file")
@click.option("--model", "spec", metavar="SPEC", help="The model, if it is not a shipped one: my_model.py.")
@settings_option
@click.option("--invariant", metavar="NAME", help="Show just the trace of this invariant.")
@click.option("--plain", is_flag=True, help="Show changes of variables, without the story.")
@click.option("--html", metavar="FILE", help="Write the traces as a page for a browser; - is standard output.")
def command(
    file: str, spec: str | None, settings: dict[str, str], invariant: str | None, plain: bool, html: str | None
) -> None:
    """Tells the traces of FILE (JSON of `check`, or ITF) in the model's words; nothing is searched.

    Exit codes: 0 shown, 10 the model does not allow a trace.
    """
    about: dict[str, Any] = {}
    require_writable(html)
    interpreter, replayed = replayed_file(file, spec, settings, invariant, about)
    click.echo("\n".join(shown(replayed, plain, quiet=False)), err=html == STDOUT)
    if html is not None:
        from isrcheck.checker.pages.shown import shown_page

        write_text(html, shown_page(file, about["model"], interpreter, replayed))
    valid = all(each.outcome.valid for each in replayed)
    raise click.exceptions.Exit(Exit.HOLDS if valid else Exit.DIFFERENCE)
