"""`isrcheck simulate`: random walks, for state spaces that are too large to explore."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from isrcheck.checker.cli.cache import no_cache_option
from isrcheck.checker.cli.help import HeadedCommand
from isrcheck.checker.cli.model_options import model_or_scenario
from isrcheck.checker.cli.options import seconds_of
from isrcheck.checker.cli.result_output import Outputs, deliver, output_options
from isrcheck.checker.registry.profile_settings import settings_of
from isrcheck.checker.report.outputs import Answered, Unfinished
from isrcheck.checker.results.errors import command_error

if TYPE_CHECKING:
    from isrcheck.checker.results.result import Result
    from isrcheck.checker.results.text_layout import Ink

DEPTH: Final = 100


@click.command("simulate", cls=HeadedCommand, short_help="Explores a large model by random walks.")
@model_or_scenario
@click.option(
    "--invariant",
    "invariants",
    multiple=True,
    metavar="NAME|TEXT",
    help="Check only these invariants, given by name or as a condition such as 'every b: s.log[b].length < 3'.",
)
@click.option(
    "--walks",
    type=click.IntRange(min=1),
    metavar="N",
    help="Number of walks. Default: 10,000, or no limit with --seconds.",
)
@click.option(
    "--depth",
    type=click.IntRange(2, 10**6),
    default=DEPTH,
    show_default=True,
    metavar="N",
    help="The maximum number of states in a walk.",
)
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), metavar="N", help="The random seed. Default: a random one.")
@click.option("--seconds", type=seconds_of, metavar="S", help="Stop after S seconds.")
@click.option("--deadlock", is_flag=True, help="Also look for deadlocks: states without a successor.")
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="Number of threads. Default: one per core.")
@output_options("simulate")
@click.option("--quiet", is_flag=True, help="Print only the verdict; no progress.")
@no_cache_option
def command(model: str, settings: dict[str, str], quiet: bool, **asked: Any) -> None:
    """Explores MODEL (a name, my_model.py or my_model.py:Class) by random walks, and reports violations.

    Each step is chosen uniformly from all enabled steps. The trace to a violation is shortened before it is shown. Exit
    code 0 means that the walks found no violation; the model may still have one. Exit code 152 means that the time
    (--seconds) was up before all --walks were done or, without --walks, before the first walk was done.
    """
    outputs = Outputs("simulate", asked)
    outputs.require_different()
    try:
        outputs.require_writable()
        answered = _answer(model, settings, quiet, asked)
    except (Exception, KeyboardInterrupt, SystemExit) as error:
        failure = command_error(error)
        if failure is not None:
            outputs.write_unfinished(Unfinished(model, settings, "simulation", failure))
        raise
    deliver(outputs, answered, _text(answered.result, quiet))


def _answer(model: str, texts: dict[str, str], quiet: bool, asked: dict[str, Any]) -> Answered:
    from isrcheck.checker.analysis.check import resolved
    from isrcheck.checker.analysis.simulate import simulate
    from isrcheck.checker.cli.progress import Watcher
    from isrcheck.checker.registry.loader import blaming, load_model_class

    loaded = load_model_class(model)
    settings = settings_of(loaded.cls, loaded.name, texts)
    asked["invariants"] = asked["invariants"] or None
    with blaming(loaded.source_file):
        loaded.chosen(asked["invariants"])
    resolved(loaded, settings, asked["profile"])
    with Watcher(quiet=quiet) as watcher:
        return Answered(simulate(loaded, settings, **asked, report=watcher.report, stage=watcher.stage), loaded)


def _text(result: Result, quiet: bool) -> Any:
    from isrcheck.checker.report.simulation_text import brief, report

    def text(ink: Ink) -> str:
        return brief(result, ink) if quiet else report(result, ink)

    return text
