"""`isrcheck review`: the effects of a change of a protocol, on one page."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any, Final

import click

from isrcheck.checker.cli import options as completing
from isrcheck.checker.cli.cache import no_cache_option
from isrcheck.checker.cli.comparison import (
    ComparisonArguments,
    bounds_of,
    bounds_options,
    comparison_options,
    trace_inclusion,
)
from isrcheck.checker.cli.console import say
from isrcheck.checker.cli.help import HeadedCommand, headed
from isrcheck.checker.cli.options import require_absent
from isrcheck.checker.cli.result_output import Outputs, output_options

OF_REVIEWS: Final = ("max_states", "no_scenarios", "mutate", "prove", "markdown", "html")


@click.command("review", cls=HeadedCommand, short_help="Summarises the effects of a model change.")
@click.argument("old", metavar="OLD", required=False, shell_complete=completing.models)
@click.argument("new", metavar="NEW", required=False, shell_complete=completing.models)
@comparison_options
@click.option("--no-scenarios", is_flag=True, help="Do not check the recorded scenarios.")
@click.option(
    "--mutate", is_flag=True, help="Mutate the changed actions, and show mutants that no invariant or property kills."
)
@click.option("--prove", is_flag=True, help="Check the proof of each version.")
@click.option("--behaviours", "only_behaviours", is_flag=True, help="Compare only the behaviours of the two models.")
@click.option("--plain", is_flag=True, help="With --behaviours: show plain states instead of sentences.")
@click.option("--quiet", is_flag=True, help="Print only the first three lines; no progress.")
@no_cache_option
@headed(
    "Bounds and limits",
    bounds_options,
    click.option(
        "--max-states",
        type=click.IntRange(min=1),
        metavar="N",
        help="Leave a question undecided if it needs more than N states.",
    ),
)
@output_options("review")
def command(old: str | None, new: str | None, only_behaviours: bool, plain: bool, quiet: bool, **options: Any) -> None:
    """Shows how two versions of a model differ, and the effects of the difference.

    OLD and NEW are two models, or one model with different settings (--b-setting) or at different git revisions
    (--a-ref). In option names, a stands for OLD and b for NEW. With --scenario, the two versions are a scenario and its
    control (the scenario with a fix). -s and --profile apply to both versions. Limits apply to each part of the review
    separately.

    Exit codes: 0 if everything that held still holds, 12 if an invariant that held (or is new) is violated, 13 if a
    property that held (or is new) is violated, 75 if a model cannot be evaluated, 152 if a question remains undecided.

    --behaviours shows only a shortest behaviour that only NEW allows, and a shortest behaviour that only OLD allows.
    Two behaviours differ if the visible variables (--visible) change differently. Steps that change no visible variable
    are ignored. Exit codes: 0 if there is no difference, 10 if there is one, 152 if a limit ended one of the searches.
    """
    outputs = Outputs("review", options)
    outputs.require_different()
    outputs.require_writable()
    arguments, (visible, bounds) = ComparisonArguments.of(options), bounds_of(options)
    if only_behaviours:
        require_absent(OF_REVIEWS, "cannot be combined with --behaviours")
        with ExitStack() as leaving:
            pair = arguments.resolved(old, new, leaving)
            trace_inclusion(pair, visible, bounds, plain, quiet, outputs)
    require_absent(("plain",), "requires --behaviours")
    from isrcheck.checker.changes.review import review_formats
    from isrcheck.checker.changes.review.change_review import Wanted, review, review_summary
    from isrcheck.checker.changes.review.review_formats import review_page, sections
    from isrcheck.checker.results.exploration import Limits

    limits = Limits(states=options["max_states"], seconds=bounds.seconds, memory=bounds.memory)
    wanted = Wanted(visible, bounds, limits, not options["no_scenarios"], options["mutate"], options["prove"])
    with ExitStack() as leaving:
        found = review(*arguments.resolved(old, new, leaving), wanted, lambda text: _tell(text, quiet))
        outputs.print("\n".join(review_summary(found) if quiet else review_formats.text(found)))
        contents = SimpleNamespace(
            to_json=found.to_json,
            to_markdown=lambda: review_formats.markdown(found),
            to_html=lambda: review_page(review_summary(found), sections(found), found.inclusion),
        )
        outputs.finish(contents, found.exit_code)


def _tell(text: str, quiet: bool) -> None:
    if not quiet and sys.stderr.isatty():
        say(f"{text} ...", err=True)
