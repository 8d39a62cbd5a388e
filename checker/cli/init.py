"""`isrcheck init`: begins a variant of a shipped model, a new model, or a scenario. Each can be checked at once."""

from __future__ import annotations

from pathlib import Path

import click

from isrcheck.checker.cli.scenarios import new
from isrcheck.checker.failures import Failure
from isrcheck.checker.results import Exit


@click.group("init", short_help="Begins a file of your own: a variant of a model, a new one, a scenario.")
def command() -> None:
    """Begins a file of your own: a variant of a model, a new model, or a scenario. Each can be checked at once."""


command.add_command(new, "scenario")


@command.command("variant-of")
@click.argument("model")
@click.argument("file")
@click.option("--action", "actions", multiple=True, metavar="NAME", help="Copy this action, to change it; repeatable.")
def variant_of(model: str, file: str, actions: tuple[str, ...]) -> None:
    """Writes FILE: a subclass of the shipped MODEL, with a copy of each action that --action names."""
    from isrcheck.checker.beginnings import variant
    from isrcheck.checker.library import load_model_class

    path = _new(file)
    _write(path, variant(load_model_class(model), path.stem, actions))


@command.command("model")
@click.argument("file")
def model(file: str) -> None:
    """Writes FILE: a small model with a setting, variables, actions, a goal and an invariant."""
    from isrcheck.checker.beginnings import MODEL

    _write(_new(file), MODEL)


def _new(file: str) -> Path:
    path = Path(file)
    if path.suffix != ".py" or not path.stem.isidentifier():
        raise click.UsageError(f"{file!r} is no name of a Python file; write my_variant.py")
    if path.exists():
        raise Failure(f"{file} is there already; name another file", Exit.OUTPUT)
    return path


def _write(path: Path, text: str) -> None:
    from isrcheck.checker.cli.output import write_text

    if not path.parent.exists() and path.parent.parent.is_dir():
        path.parent.mkdir()
    write_text(str(path), text)
    click.echo(f"{path} is written; try: isrcheck check {path}")
