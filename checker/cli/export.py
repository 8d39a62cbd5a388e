"""`isrcheck export`: writes a model for another model checker."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from isrcheck.checker.cli.options import model_at, profile_option, settings_option
from isrcheck.checker.cli.output import STDOUT, require_writable, write_text

if TYPE_CHECKING:
    from isrcheck.model.language.system import TransitionSystem

LANGUAGES: Final = ("promela", "murphi", "tla")


@click.command("export", short_help="Writes a model for Spin, Rumur or TLC.")
@click.argument("model")
@settings_option
@profile_option
@click.option("--invariant", "invariants", multiple=True, metavar="NAME", help="Export just these; may be repeated.")
@click.option("--to", "language", type=click.Choice(LANGUAGES), required=True, help="Spin, Rumur (CMurphi), or TLC.")
@click.option("--output", metavar="FILE", default=STDOUT, help="Write it there; - (the default) is standard output.")
def command(
    model: str,
    settings: dict[str, str],
    profile: str | None,
    invariants: tuple[str, ...],
    language: str,
    output: str,
) -> None:
    """Writes MODEL at the given settings, as it is explored: one block for each transition, under its action.

    With --to tla, FILE.cfg (or what FILE is called without .tla) goes with FILE.
    """
    require_writable(output)
    system = traced(model, settings, profile, invariants)
    if language == "promela":
        from isrcheck.checker.exports.promela import promela

        write_text(output, promela(system))
    elif language == "murphi":
        from isrcheck.checker.exports.murphi import murphi

        write_text(output, murphi(system))
    else:
        _write_tla(output, system)


def _write_tla(output: str, system: TransitionSystem) -> None:
    from isrcheck.checker.exports.tla import configuration, module_name, tla

    if output != STDOUT and Path(output).name != f"{module_name(system)}.tla":
        raise click.UsageError(f"a module lies in a file of its name: --output {module_name(system)}.tla")
    write_text(output, tla(system))
    if output != STDOUT:
        write_text(str(Path(output).with_suffix(".cfg")), configuration(system))


def traced(model: str, settings: dict[str, str], profile: str | None, invariants: tuple[str, ...]) -> TransitionSystem:
    """A model as data; by name or file, with the profile and settings of a command line."""
    from isrcheck.checker.library import blaming, load_model_class
    from isrcheck.model.language.tracing import trace

    loaded = load_model_class(model)
    with blaming(loaded.origin):
        return trace(model_at(loaded, settings, profile), loaded.chosen(invariants or None))
