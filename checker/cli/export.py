"""`isrcheck export`: writes a model for another model checker."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from isrcheck.checker.cli.model_options import model_or_scenario
from isrcheck.checker.cli.options import fairness_of, liveness_options, model_at
from isrcheck.checker.cli.output_files import STDOUT, require_writable, write_text
from isrcheck.model.language.errors import UnknownName

if TYPE_CHECKING:
    from isrcheck.model.language.fairness import Fairness, Obligation
    from isrcheck.model.semantics.transition_system import TransitionSystem

LANGUAGES: Final = ("promela", "murphi", "tla")


@click.command("export", short_help="Writes a model for Spin, Rumur or TLC.")
@model_or_scenario
@click.option("--invariant", "invariants", multiple=True, metavar="NAME", help="Export only NAME; may be repeated.")
@liveness_options
@click.option(
    "--to",
    "language",
    type=click.Choice(LANGUAGES),
    required=True,
    help="The language: of Spin, Rumur (and CMurphi), or TLC.",
)
@click.option("--output", metavar="FILE", default=STDOUT, help="The file to write; - (the default) is standard output.")
def command(
    model: str,
    settings: dict[str, str],
    profile: str | None,
    invariants: tuple[str, ...],
    language: str,
    output: str,
    **asked: Any,
) -> None:
    """Writes MODEL at the given settings in another language, with a block of text for each transition.

    The blocks are grouped by action. With --to tla, a configuration for TLC is written beside FILE, with the ending
    .cfg. If FILE is standard output, no configuration is written. --liveness (only with --to tla) adds properties, and
    the fairness that they assume.
    """
    fairness = fairness_of(asked)
    if asked["liveness"] and language != "tla":
        raise click.UsageError("--liveness goes with --to tla: Spin has fairness of processes only, and Rumur has none")
    require_writable(output)
    if asked["liveness"]:
        _write_tla(output, *with_properties(model, settings, profile, invariants, asked["liveness"], fairness))
        return
    system = traced(model, settings, profile, invariants)
    if language == "promela":
        from isrcheck.checker.export.promela import promela

        write_text(output, promela(system))
    elif language == "murphi":
        from isrcheck.checker.export.murphi import murphi

        write_text(output, murphi(system))
    else:
        _write_tla(output, system)


def _write_tla(output: str, system: TransitionSystem, obligations: Sequence[Obligation] = ()) -> None:
    from isrcheck.checker.export.tla import configuration, module_name, tla

    if output != STDOUT and Path(output).name != f"{module_name(system)}.tla":
        raise click.UsageError(f"a module lies in a file of its name: --output {module_name(system)}.tla")
    write_text(output, tla(system, obligations))
    if output != STDOUT:
        write_text(str(Path(output).with_suffix(".cfg")), configuration(system))


def require_names(invariants: tuple[str, ...]) -> None:
    """Raises `UnknownName` for an invariant that is given as text. The exported file needs a name for it."""
    from isrcheck.model.language.text_conditions import is_condition_text

    for text in filter(is_condition_text, invariants):
        raise UnknownName(f"{text!r} has no name in the exported file; write it as an @invariant in the model's file")


def traced(model: str, settings: dict[str, str], profile: str | None, invariants: tuple[str, ...]) -> TransitionSystem:
    """The transition system of a model (a name or a file) at the profile and settings of a command line."""
    from isrcheck.checker.registry.loader import blaming, load_model_class
    from isrcheck.model.semantics.tracing import trace

    require_names(invariants)
    loaded = load_model_class(model)
    with blaming(loaded.source_file):
        return trace(model_at(loaded, settings, profile), loaded.chosen(invariants or None))


def with_properties(
    model: str,
    settings: dict[str, str],
    profile: str | None,
    invariants: tuple[str, ...],
    liveness: tuple[str, ...],
    fairness: Fairness,
) -> tuple[TransitionSystem, tuple[Obligation, ...]]:
    """Returns a model's transition system with the named liveness properties, and the assumed fairness (`Obligation`).

    Raises `UnknownName` for a property about steps, which TLC cannot check.
    """
    from isrcheck.checker.analysis.check import properties_of
    from isrcheck.checker.registry.loader import blaming, load_model_class
    from isrcheck.model.language.fairness import obligations
    from isrcheck.model.semantics.tracing import trace

    require_names(invariants)
    loaded = load_model_class(model)
    with blaming(loaded.source_file):
        made = model_at(loaded, settings, profile)
        properties = properties_of(loaded, made, liveness, fairness)
        never = sorted(name for name, method in properties.items() if hasattr(method, "__never__"))
        if never:
            raise UnknownName(f"property {never[0]} is about steps, which TLC cannot check; export others")
        system = trace(made, loaded.chosen(invariants or None), properties)
        return system, obligations(made, [t.label for t in system.transitions], fairness)
