"""`isrcheck scenarios`: lists scenarios and their expected outcomes. `isrcheck scenarios new` begins a new scenario."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from isrcheck.checker.cli.console import say, say_json
from isrcheck.checker.cli.options import meant, settings_option, shipped_option

if TYPE_CHECKING:
    from isrcheck.checker.scenarios.scenario import Scenario


WIDTH: Final = 100
"""The columns of the list."""


class ListOrNew(click.Command):
    """A command with the subcommand `new`. A folder with the name `new` must be given as `./new`."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if args[:1] == ["new"]:
            return new.make_context("scenarios new", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.command("scenarios", cls=ListOrNew, short_help="Lists scenarios, or creates a new one.")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@shipped_option
@click.option("--json", "as_json", is_flag=True, help="Write JSON instead of text.")
def command(paths: tuple[str, ...], shipped: bool, as_json: bool) -> None:
    """Lists the scenarios in PATH, a scenario's folder or a folder that contains scenarios.

    Without PATH, the scenarios in ./counterexamples are listed. If there is no such folder, or with --shipped, those
    that ship with isrcheck are listed. `isrcheck scenarios new NAME --model MODEL` creates a new scenario; see
    `isrcheck scenarios new --help`.
    """
    from isrcheck.checker.scenarios.collection import folders
    from isrcheck.checker.scenarios.scenario import read

    found = [read(*pair) for pair in folders(meant(paths, shipped))]
    if as_json:
        say_json([described(scenario) for scenario in found])
    else:
        say("\n".join(_listing(found)))


@click.command("new")
@click.argument("name")
@click.option("--model", required=True, metavar="MODEL", help="A name, my_model.py or my_model.py:Class.")
@settings_option
@click.option(
    "--invariant", "invariants", multiple=True, metavar="NAME", help="Check only invariant NAME; may be repeated."
)
@click.option("--continue", "keep_going", is_flag=True, help="Do not stop at the first violation.")
@click.option("--deadlock", is_flag=True, help="Also look for deadlocks: states without a successor.")
@click.option(
    "--in", "group", metavar="DIR", help="Where to create the folder. Default: next to other scenarios of MODEL."
)
def new(
    name: str,
    model: str,
    settings: dict[str, str],
    invariants: tuple[str, ...],
    keep_going: bool,
    deadlock: bool,
    group: str | None,
) -> None:
    """Creates the scenario NAME: checks MODEL, and writes the result to a folder of that name.

    Without --in, the folder is created next to other scenarios of MODEL: in ./counterexamples or in one of its
    subfolders, whichever has the most scenarios of MODEL. If MODEL has no scenario yet, the folder is created in
    ./counterexamples/MODEL or, for a model in a file, in ./counterexamples. An existing folder is not changed (exit
    code 153). Settings that are not given have the defaults of the model, not the values of a profile. Write the title,
    source and story of the scenario yourself.
    """
    from isrcheck.checker.registry.loader import load_model_class
    from isrcheck.checker.registry.profile_settings import settings_of
    from isrcheck.checker.scenarios.collection import OWN, called, group_of
    from isrcheck.checker.scenarios.new_scenario import begin
    from isrcheck.checker.scenarios.scenario import FILE

    if not name or Path(name).name != name:
        raise click.UsageError(f"{name!r} is not a folder name; use --in to say where to create it")
    loaded = load_model_class(model)
    folder = Path(group_of(model) if group is None else group) / name
    if group is None and (other := called(name, OWN)) is not None:
        folder = other
    asked = {"invariants": list(invariants), "deadlock": deadlock, "keep_going": keep_going}
    scenario = begin(folder, model, asked, settings_of(loaded.cls, loaded.name, settings))
    say(f"{folder}: {expected(scenario)}")
    again = f"isrcheck regress {scenario.root} --update"
    say(f"write title, source, story and control in {folder / FILE}, then run: {again}")


def _listing(scenarios: list[Scenario]) -> list[str]:
    """Two lines or more about each scenario: name, model and verdict, with the states of the shortest trace; title."""
    from isrcheck.checker.results.text_layout import columns, plural

    verdicts = [
        f"{each.expect}, {plural(min(each.lengths.values()), 'state')}" if each.lengths else each.expect
        for each in scenarios
    ]
    heads = columns([(s.name, s.model, verdict) for s, verdict in zip(scenarios, verdicts, strict=True)], indent="")
    titles = [textwrap.wrap(each.title, WIDTH, initial_indent="  ", subsequent_indent="  ") for each in scenarios]
    return [line for head, title in zip(heads, titles, strict=True) for line in (head, *title)]


def expected(scenario: Scenario) -> str:
    """The expected verdict as a text, with each violated invariant and the number of states of its trace."""
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
        **({"liveness": list(scenario.liveness)} if scenario.liveness else {}),
        "deadlock": scenario.deadlock,
        "keep_going": scenario.keep_going,
        "expect": scenario.expect,
        "lengths": scenario.lengths,
        "source": list(scenario.source),
        "story": scenario.story,
        "controls": list(scenario.fixed_versions),
        "note": scenario.note,
    }
