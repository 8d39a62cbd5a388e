"""`isrcheck show`: a recorded trace, told."""

from __future__ import annotations

from typing import Any

import click

from checker.cli.options import settings_option
from checker.cli.replay import replayed_file, shown
from checker.results import Exit


@click.command("show", short_help="Tells a recorded trace step by step.")
@click.argument("file")
@click.option("--model", "spec", metavar="SPEC", help="The model, if it is not a shipped one: my_model.py.")
@settings_option
@click.option("--invariant", metavar="NAME", help="Show just the trace of this invariant.")
@click.option("--plain", is_flag=True, help="Show changes of variables, without the story.")
def command(file: str, spec: str | None, settings: dict[str, str], invariant: str | None, plain: bool) -> None:
    """Tells the traces of FILE (JSON of `check`, or ITF) in the model's words; nothing is searched.

    Exit codes: 0 shown, 10 the model does not allow a trace.
    """
    about: dict[str, Any] = {}
    replayed = replayed_file(file, spec, settings, invariant, about)
    click.echo("\n".join(shown(replayed, plain, quiet=False)))
    valid = all(each.outcome.valid for each in replayed)
    raise click.exceptions.Exit(Exit.HOLDS if valid else Exit.DIFFERENCE)
