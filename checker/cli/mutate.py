"""`isrcheck mutate`: changes one guard or update at a time, and checks whether an invariant or property is violated."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from isrcheck.checker.cli.cache import no_cache_option
from isrcheck.checker.cli.console import say
from isrcheck.checker.cli.help import HeadedCommand
from isrcheck.checker.cli.model_options import model_or_scenario
from isrcheck.checker.cli.options import fairness_of, liveness_options, model_at, seconds_of, size_of
from isrcheck.checker.cli.result_output import Outputs, output_options
from isrcheck.model.language.errors import UnknownName

if TYPE_CHECKING:
    from isrcheck.checker.changes.mutation.mutation_run import Mutation


@click.command("mutate", cls=HeadedCommand, short_help="Mutation-tests a model.")
@model_or_scenario
@click.option(
    "--invariant", "invariants", multiple=True, metavar="NAME", help="Check only invariant NAME; may be repeated."
)
@liveness_options
@click.option("--action", "actions", multiple=True, metavar="NAME", help="Mutate only action NAME; may be repeated.")
@click.option("--scenarios", is_flag=True, help="Also check mutants in the recorded scenarios of MODEL.")
@click.option("--show", type=click.IntRange(min=1), metavar="N", help="Check only mutant N, and print its trace.")
@output_options("mutate")
@click.option("--max-states", type=click.IntRange(min=1), metavar="N", help="Stop checking a mutant after N states.")
@click.option(
    "--max-memory",
    type=size_of,
    metavar="SIZE",
    help="Stop checking a mutant before its states need more memory than SIZE.",
)
@click.option("--max-seconds", type=seconds_of, metavar="S", help="Stop checking a mutant after S seconds.")
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="Number of processes. Default: one per core.")
@click.option("--quiet", is_flag=True, help="Print only the outcome in one line; no progress.")
@no_cache_option
def command(
    model: str,
    settings: dict[str, str],
    profile: str | None,
    invariants: tuple[str, ...],
    show: int | None,
    quiet: bool,
    **options: Any,
) -> None:
    """Mutates MODEL, and checks whether an invariant is violated in each mutant.

    In a mutant, one conjunct of a guard is removed or weakened, or one update is dropped. A mutant is killed if it
    violates an invariant. It survives if every invariant holds and no other outcome applies. Other outcomes include:
    the mutant reaches only states that MODEL reaches, an action or goal of MODEL never occurs in it, or it cannot be
    evaluated in some state. docs/explanation/mutation.md lists all outcomes.

    Exit codes: 0 if no mutant survives, 10 if a mutant survives, 152 if a mutant was not checked completely. Mutants
    are checked only if all invariants hold in MODEL itself. Otherwise the exit code is that of the check of MODEL: 12
    if an invariant is violated, 75 if MODEL is undefined in a state, 152 if a limit is reached.

    With --scenarios, mutants are also checked with the settings of each recorded scenario of MODEL that expects no
    violation, against every invariant that holds in MODEL with these settings. A mutant is done once it is killed, is
    vacuous (an action or goal of MODEL never occurs in it), or cannot be evaluated in some state. The scenarios are
    those of ./counterexamples, or else the shipped ones, smallest first. Scenarios with more states than --max-states
    are skipped.

    --liveness also checks properties, for mutants that behave differently from MODEL and are not killed by an
    invariant. A mutant is killed if it violates a property. A property is skipped if it does not hold in MODEL, or if
    its premise never becomes true in MODEL. The exit code is also 152 if a property cannot be decided within the
    limits.
    """
    fairness, liveness, actions = fairness_of(options), options["liveness"], options["actions"]
    outputs = Outputs("mutate", options)
    outputs.require_writable()
    from isrcheck.checker.analysis.check import properties_of
    from isrcheck.checker.changes.mutation.further_checks import places
    from isrcheck.checker.changes.mutation.mutant_verdicts import Question
    from isrcheck.checker.changes.mutation.mutants import chosen_actions
    from isrcheck.checker.changes.mutation.mutation_run import mutation
    from isrcheck.checker.registry.loader import blaming, load_model_class
    from isrcheck.checker.registry.profile_settings import profile_of
    from isrcheck.checker.results.exploration import Limits
    from isrcheck.model.language.settings import BARE

    loaded = load_model_class(model)
    with blaming(loaded.source_file):
        loaded.chosen(invariants or None)
        instance, name = model_at(loaded, settings, profile), profile_of(loaded, profile) or BARE
        chosen_actions(instance, actions)
        properties_of(loaded, instance, liveness, fairness)
    limits = Limits(options["max_states"], options["max_seconds"], options["max_memory"])
    elsewhere = places(model, most=limits.states) if options["scenarios"] else ()
    asked, chosen = dict(instance.settings), invariants or None
    question = Question(model, asked, chosen, actions, name, limits, options["workers"], elsewhere, liveness, fairness)
    found = mutation(question, lambda line: _tell(line, quiet), lambda number, _: show in (None, number))
    if show is not None:
        _require_number(found, show)
    outputs.print(_text(found, show, quiet))
    outputs.finish(found, found.exit_code)


def _tell(line: str, quiet: bool) -> None:
    if not quiet and sys.stderr.isatty():
        say(line, err=True)


def _require_number(found: Mutation, number: int) -> None:
    if found.own.verdict == "holds" and found.reason is None and not found.verdicts:
        raise UnknownName(f"there is no mutant {number}; isrcheck mutate without --show lists them")


def _text(found: Mutation, show: int | None, quiet: bool) -> str:
    from isrcheck.checker.changes.mutation.mutation_table import headline, mutation_text

    if quiet:
        return headline(found)
    shown = next((v.shown for v in found.verdicts if v.number == show), "")
    return mutation_text(found).removesuffix("\n") + (f"\n\n{shown}" if shown else "")
