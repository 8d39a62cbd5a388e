"""`isrcheck refine`: says whether a model does only what a specification allows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from isrcheck.checker.cli.cache import no_cache_option
from isrcheck.checker.cli.help import HeadedCommand
from isrcheck.checker.cli.model_options import model_or_scenario
from isrcheck.checker.cli.options import (
    fairness_of,
    fixed_version_option,
    limits_options,
    liveness_options,
    specification_options,
    workers_option,
)
from isrcheck.checker.cli.result_output import Outputs, deliver, output_options
from isrcheck.checker.registry.profile_settings import settings_of
from isrcheck.checker.report.outputs import Answered, Unfinished
from isrcheck.checker.results.errors import command_error

if TYPE_CHECKING:
    from isrcheck.checker.analysis.refinement.refinement_result import Refined
    from isrcheck.checker.registry.loader import LoadedModel
    from isrcheck.checker.results.text_layout import Ink
    from isrcheck.checker.trace.fixed_run import FixedVersion


@click.command("refine", cls=HeadedCommand, short_help="Checks whether a model refines a specification.")
@model_or_scenario
@specification_options("replicated-log")
@click.option(
    "--steps",
    type=click.IntRange(min=1),
    metavar="N",
    help="Allow at most N steps of the specification for one step of the model. Default: any number.",
)
@liveness_options
@click.option(
    "--symmetry",
    is_flag=True,
    help="Explore only one of several states that differ by a permutation of brokers (symmetry reduction).",
)
@output_options("refine")
@limits_options
@workers_option
@click.option(
    "--fail-on-vacuity",
    is_flag=True,
    help="Exit with 10 if an action never fires, a goal is never reached or a property shows nothing.",
)
@fixed_version_option
@click.option("--plain", is_flag=True, help="Show the trace as variable changes, without sentences.")
@click.option("--quiet", is_flag=True, help="Print only the verdict and the changes that are not allowed; no progress.")
@no_cache_option
def command(model: str, settings: dict[str, str], quiet: bool, plain: bool, **asked: Any) -> None:
    """Explores MODEL (a name, my_model.py or my_model.py:Class) and compares each of its steps with a specification.

    A mapping turns each state of the model into a state of the specification. Initial states must map to initial states
    of the specification. A step of the model may leave the specification's state unchanged. If it changes this state,
    steps of the specification must make the same change: any number of them, or at most --steps. If an initial state or
    a step breaks these rules, the command shows a shortest trace to it, and the exit code is 12. With --liveness, the
    named liveness properties of the specification are also checked; the exit code is 13 if one is violated.
    """
    outputs, asked["fairness"] = Outputs("refine", asked), fairness_of(asked)
    outputs.require_different()
    try:
        outputs.require_writable()
        found, loaded = _answer(model, settings, quiet, asked)
    except (Exception, KeyboardInterrupt, SystemExit) as error:
        failure = command_error(error)
        if failure is not None:
            outputs.write_unfinished(Unfinished(model, settings, "local", failure))
        raise
    from isrcheck.checker.report.refinement_text import brief, report

    def text(ink: Ink) -> str:
        return brief(found, ink) if quiet else report(found, ink, plain)

    deliver(outputs, Answered(found.result, loaded, found.side_by_side()), text)


def _answer(model: str, texts: dict[str, str], quiet: bool, asked: dict[str, Any]) -> tuple[Refined, LoadedModel]:
    """The result, and the model with the history variables that the mapping needs."""
    from isrcheck.checker.analysis.refinement.mapping_registry import historic, load_mapping, load_specification
    from isrcheck.checker.analysis.refinement.refinement_check import refine
    from isrcheck.checker.cli.progress import Watcher
    from isrcheck.checker.registry.loader import blaming, load_model_class
    from isrcheck.checker.results.exploration import Limits

    loaded, specification = load_model_class(model), load_specification(asked["specification"])
    from isrcheck.checker.analysis.check import resolved
    from isrcheck.checker.scenarios.controls import named

    _, mapping = load_mapping(loaded, specification, asked["mapping"])
    settings = settings_of(loaded.cls, loaded.name, texts)
    _, instance, _ = resolved(loaded, settings, asked.get("profile"))
    with blaming(loaded.source_file):
        fixed_versions = [named(text, loaded, instance) for text in asked.pop("fixed_versions")]
    given = settings_of(specification.cls, specification.name, asked["specification_settings"])
    limits = Limits(*(asked.pop(f"max_{name}") for name in ("states", "seconds", "memory")))
    asked |= {"specification": specification, "specification_settings": given, "limits": limits, "mapping": mapping}
    with Watcher(quiet=quiet) as watcher:
        found = refine(loaded, settings, **asked, report=watcher.report, stage=watcher.stage)
    from isrcheck.checker.analysis.compare_with_fix import keeping_violations

    with keeping_violations(found.result), blaming(loaded.source_file):
        _compare_with_fixes(found, loaded, fixed_versions, mapping)
    return found, historic(loaded, mapping)


def _compare_with_fixes(found: Refined, loaded: LoadedModel, fixed_versions: list[FixedVersion], mapping: Any) -> None:
    """Adds to the result the step at which each fixed version differs from the trace.

    Fixed versions are those of the scenario and of --fixed-version. These steps are added only if the trace ends in a
    step that the specification refuses.
    """
    from isrcheck.checker.analysis.compare_with_fix import with_fixes
    from isrcheck.checker.analysis.refinement.mapping_registry import with_history
    from isrcheck.checker.scenarios.collection import one
    from isrcheck.checker.scenarios.controls import fixed_versions_of

    if found.evaluated is None:
        return
    asked = click.get_current_context().params
    changed = settings_of(loaded.cls, loaded.name, asked["settings"])
    beside = [] if asked["scenario"] is None else fixed_versions_of(one(asked["scenario"]), loaded, changed)
    noted = [replace(each, model=with_history(each.model, mapping)) for each in (*beside, *fixed_versions)]
    outcome = found.result.invariants[found.name]
    found.result.invariants[found.name] = with_fixes(outcome, found.name, found.evaluated, noted)
