"""`isrcheck export`: writes a model for another model checker, or its state graph, or compares with another checker."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from isrcheck.checker.cli.cache import no_cache_option
from isrcheck.checker.cli.crosscheck import crosscheck, require_names, traced
from isrcheck.checker.cli.graph import GRAPHS, graph_options, graph_text
from isrcheck.checker.cli.help import HeadedCommand, headed
from isrcheck.checker.cli.model_options import model_or_scenario
from isrcheck.checker.cli.options import fairness_of, liveness_options, model_at, require_absent, seconds_of, size_of
from isrcheck.checker.cli.output_files import STDOUT, require_replaceable, require_writable, write_text
from isrcheck.checker.cli.result_output import Outputs, output_options
from isrcheck.model.language.errors import UnknownName

if TYPE_CHECKING:
    from isrcheck.model.language.fairness import Fairness, Obligation
    from isrcheck.model.semantics.transition_system import TransitionSystem

LANGUAGES: Final = ("promela", "murphi", "tla")
OF_GRAPHS: Final = ("around", "radius", "max_states")
OF_COMPARISONS: Final = ("tools", "json", "max_seconds", "max_memory")


@click.command(
    "export", cls=HeadedCommand, short_help="Exports a model to Spin, Rumur or TLC, or writes its state graph."
)
@model_or_scenario
@click.option(
    "--invariant", "invariants", multiple=True, metavar="NAME", help="Use only this invariant; may be repeated."
)
@click.option(
    "--to",
    "language",
    type=click.Choice((*LANGUAGES, *GRAPHS)),
    help="The language of Spin (promela), of Rumur and CMurphi (murphi) or of TLC (tla); or the state graph "
    "(dot, graphml).",
)
@click.option("--output", metavar="FILE", default=STDOUT, help="The file to write. Default: -, standard output.")
@no_cache_option
@liveness_options
@graph_options
@headed(
    "Comparison with Spin and Rumur",
    click.option(
        "--crosscheck", is_flag=True, help="Explore MODEL with other checkers as well, and compare the results."
    ),
    click.option(
        "--with",
        "tools",
        multiple=True,
        type=click.Choice(["spin", "rumur"]),
        help="Compare only with this tool; may be repeated. Default: all installed tools.",
    ),
    output_options("export"),
    click.option("--max-seconds", type=seconds_of, metavar="S", help="Stop if a tool takes more than S seconds."),
    click.option(
        "--max-memory", type=size_of, metavar="SIZE", default="16GiB", help="The memory limit for each tool [16GiB]."
    ),
)
def command(
    model: str,
    settings: dict[str, str],
    profile: str | None,
    invariants: tuple[str, ...],
    language: str | None,
    output: str,
    **options: Any,
) -> None:
    """Writes MODEL with the given settings in another language, one block for each transition.

    The blocks are grouped by action. --to tla also writes a TLC configuration next to FILE, with the suffix .cfg,
    unless FILE is standard output. --liveness (only with --to tla) adds properties, and the fairness that they assume.

    --to dot and --to graphml write the reachable states and the steps between them, or with --around only the states of
    a trace and those reachable from them in at most --radius steps. The settings are then those of the trace, unless -s
    changes them. States outside the model's constraints are left out, except the last state of the trace. If there are
    more states than --max-states, nothing is written, and the exit code is 152.

    --crosscheck explores MODEL completely with isrcheck and with other model checkers, and compares the verdicts and
    the numbers of distinct and generated states. The other tools get the model as this command writes it, so the
    comparison tests the engine and not the model. Exit codes: 0 if all results agree, 10 if they differ, 153 if a tool
    is missing or fails. If isrcheck's own search does not finish, the exit code is that of `isrcheck check`.
    """
    fairness, outputs = fairness_of(options), Outputs("export", options)
    if options["liveness"] and language != "tla":
        raise click.UsageError("--liveness requires --to tla: Spin has only process fairness, and Rumur has none")
    if language not in GRAPHS:
        require_absent(OF_GRAPHS, "requires --to dot or --to graphml")
    question = (model, settings, profile, invariants)
    if options["crosscheck"]:
        require_absent(("language", "output"), "cannot be combined with --crosscheck")
        crosscheck(*question, options["tools"], options["max_seconds"], options["max_memory"], outputs)
    require_absent(OF_COMPARISONS, "requires --crosscheck")
    if language is None:
        raise click.UsageError("Missing option '--to', or --crosscheck.")
    require_writable(output)
    if language in GRAPHS:
        graph = {name: options[name] for name in OF_GRAPHS}
        write_text(output, graph_text(*question, form=language, **graph))
    elif options["liveness"]:
        _write_tla(output, *with_properties(*question, options["liveness"], fairness))
    else:
        _write(output, language, traced(*question))


def _write(output: str, language: str, system: TransitionSystem) -> None:
    if language == "promela":
        from isrcheck.checker.export.promela import promela

        write_text(output, promela(system))
    elif language == "murphi":
        from isrcheck.checker.export.murphi import murphi

        write_text(output, murphi(system))
    else:
        _write_tla(output, system)


def _write_tla(output: str, system: TransitionSystem, obligations: Sequence[Obligation] = ()) -> None:
    from isrcheck.checker.export.tla import configuration, is_configuration, module_name, tla

    if output != STDOUT and Path(output).name != f"{module_name(system)}.tla":
        raise click.UsageError(
            f"a TLA+ module must be in a file of the same name; use --output {module_name(system)}.tla"
        )
    beside = None if output == STDOUT else str(Path(output).with_suffix(".cfg"))
    if beside is not None:
        require_replaceable(beside, is_configuration)
    write_text(output, tla(system, obligations))
    if beside is not None:
        write_text(beside, configuration(system))


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
            raise UnknownName(f"property {never[0]} is about steps, which TLC cannot check; export other properties")
        system = trace(made, loaded.chosen(invariants or None), properties)
        return system, obligations(made, [t.label for t in system.transitions], fairness)
