"""`isrcheck scenarios`: what is written down, and what is expected of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from isrcheck.checker.cli.options import meant, shipped_option

if TYPE_CHECKING:
    from isrcheck.checker.scenarios.scenario import Scenario


@click.command("scenarios", short_help="Lists scenarios: model, expectation, title.")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@shipped_option
@click.option("--json", "as_json", is_flag=True, help="Write JSON instead of text.")
def command(paths: tuple[str, ...], shipped: bool, as_json: bool) -> None:
    """Lists the scenarios of PATH: a scenario's folder, or one that has such folders.

    Without PATH it lists those in ./counterexamples, and where there is no such folder, or with --shipped, those that
    come with isrcheck.
    """
    from isrcheck.checker.scenarios.collection import folders
    from isrcheck.checker.scenarios.scenario import read
    from isrcheck.checker.wording.layout import columns

    found = [read(*pair) for pair in folders(meant(paths, shipped))]
    if as_json:
        click.echo(json.dumps([described(scenario) for scenario in found], indent=1))
    else:
        click.echo("\n".join(columns(((s.name, s.model, expected(s), s.title) for s in found), indent="")))


def expected(scenario: Scenario) -> str:
    """`holds`, or what is violated, in how many states."""
    if not scenario.lengths:
        return scenario.expect
    return f"violated: {', '.join(f'{name} {n}' for name, n in sorted(scenario.lengths.items()))}"


def described(scenario: Scenario) -> dict[str, Any]:
    """A scenario as JSON data."""
    return {
        "name": scenario.name,
        "folder": str(scenario.folder),
        "title": scenario.title,
        "model": scenario.model,
        "settings": scenario.settings,
        "invariants": None if scenario.invariants is None else list(scenario.invariants),
        "deadlock": scenario.deadlock,
        "keep_going": scenario.keep_going,
        "expect": scenario.expect,
        "lengths": scenario.lengths,
        "source": list(scenario.source),
        "story": scenario.story,
        "controls": list(scenario.controls),
        "note": scenario.note,
    }
