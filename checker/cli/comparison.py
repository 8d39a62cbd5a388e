"""The two sides of a comparison: two models, one model at two settings or revisions, or a scenario and its control.

`isrcheck review --behaviours`: shows for each of two models a shortest behaviour that only this model has.
"""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click

from isrcheck.checker.cli import options as completing
from isrcheck.checker.cli.help import Command, headed
from isrcheck.checker.cli.options import assignment, once, profile_option, seconds_of, settings_option, size_of
from isrcheck.checker.cli.result_output import Outputs
from isrcheck.model.language.errors import UnknownName

if TYPE_CHECKING:
    from isrcheck.checker.analysis.inclusion.inclusion_check import Side
    from isrcheck.checker.analysis.inclusion.subset_construction import Bounds
    from isrcheck.checker.registry.loader import LoadedModel


def comparison_options(command: Command) -> Command:
    """Adds the options for the two sides of a comparison."""
    return headed("What to compare", settings_option, profile_option, *_COMPARISON)(command)


@dataclass(frozen=True)
class ComparisonArguments:
    """The two sides of a comparison, as the options of the command line name them.

    `settings` and `profile` are for both sides. `own_settings` and `refs` (revisions in git) are pairs, with an entry
    for each side.
    """

    settings: dict[str, str]
    profile: str | None
    own_settings: tuple[dict[str, str], dict[str, str]]
    refs: tuple[str | None, str | None]
    scenario: str | None

    @classmethod
    def of(cls, options: dict[str, Any]) -> ComparisonArguments:
        """Removes the options for the two sides from the options of a command, and returns the sides."""
        own = options.pop("a_settings"), options.pop("b_settings")
        refs = options.pop("a_ref"), options.pop("b_ref")
        return cls(options.pop("settings"), options.pop("profile"), own, refs, options.pop("scenario"))

    def resolved(self, one: str | None, other: str | None, leaving: ExitStack) -> tuple[Side, Side]:
        """The two sides. Files from git exist until `leaving` ends.

        Raises a usage error for options that do not fit together, and `UnknownName` for unknown names and values.
        """
        if self.scenario is not None:
            return self._of_scenario(one, other)
        if one is None:
            raise click.UsageError("Missing argument 'OLD': a model, or --scenario.")
        if other is None and not any((*self.own_settings, *self.refs)):
            raise click.UsageError(
                "Missing argument 'NEW', or an option that makes the sides differ: --b-setting, --a-ref."
            )
        return self._side(0, one, leaving), self._side(1, other or one, leaving)

    def _side(self, i: int, spec: str, leaving: ExitStack) -> Side:
        from isrcheck.checker.analysis.inclusion.inclusion_check import Side
        from isrcheck.checker.cli.options import model_at
        from isrcheck.checker.registry.loader import blaming

        loaded, name, found = self._loaded(i, spec, leaving)
        with blaming(loaded.source_file):
            model = model_at(loaded, self.settings | self.own_settings[i], self.profile)
            return Side(name, loaded, model, found, frozenset(self.own_settings[i]))

    def _loaded(self, i: int, spec: str, leaving: ExitStack) -> tuple[LoadedModel, str, str]:
        """A side's model, the name that reports show, and the name or file from which the model was loaded."""
        from isrcheck.checker.registry.loader import load_model_class
        from isrcheck.checker.registry.revisions import load_at

        revision = self.refs[i]
        if revision is None:
            loaded = load_model_class(spec)
            return loaded, loaded.name + (" now" if self.refs[1 - i] is not None else ""), spec
        folder = leaving.enter_context(tempfile.TemporaryDirectory(prefix="isrcheck-"))
        loaded = load_at(spec, revision, Path(folder))
        wanted = spec.partition(":")[2]
        return loaded, f"{loaded.name} at {revision}", f"{loaded.source_file}{wanted and ':' + wanted}"

    def _of_scenario(self, one: str | None, other: str | None) -> tuple[Side, Side]:
        """A scenario and its first control. If only one of the two has the expected verdict `holds`, it is second."""
        if one is not None or other is not None or self.profile or any(self.refs):
            raise click.UsageError("--scenario compares a scenario with its control; remove the other arguments")
        from isrcheck.checker.scenarios.collection import beside
        from isrcheck.checker.scenarios.collection import one as scenario_named
        from isrcheck.checker.scenarios.scenario import read

        assert self.scenario is not None
        scenario = scenario_named(self.scenario)
        if not scenario.fixed_versions:
            raise UnknownName(f"scenario {scenario.name} has no control; compare two models, or two settings of one")
        pair = [scenario, read(beside(scenario, scenario.fixed_versions[0]), scenario.root)]
        pair.sort(key=lambda each: each.expect == "holds")
        return self._side_of(0, pair[0]), self._side_of(1, pair[1])

    def _side_of(self, i: int, scenario: Any) -> Side:
        from isrcheck.checker.analysis.inclusion.inclusion_check import Side
        from isrcheck.checker.registry.loader import blaming, load_model_class
        from isrcheck.checker.registry.profile_settings import settings_of

        loaded = load_model_class(scenario.specification())
        changed = settings_of(loaded.cls, loaded.name, self.settings | self.own_settings[i])
        with blaming(loaded.source_file):
            return Side(
                scenario.name,
                loaded,
                loaded.cls(**scenario.settings | changed),
                scenario.specification(),
                frozenset(self.own_settings[i]),
                scenario.fairness,
                scenario.deadlock,
            )


_COMPARISON: Final = (
    click.option(
        "--scenario",
        metavar="NAME",
        shell_complete=completing.scenarios,
        help="Compare a scenario with its control, instead of OLD and NEW.",
    ),
    click.option(
        "--a-setting", "a_settings", type=assignment, multiple=True, callback=once, metavar="NAME=VALUE",
        help="A setting of OLD only.",
    ),
    click.option(
        "--b-setting", "b_settings", type=assignment, multiple=True, callback=once, metavar="NAME=VALUE",
        help="A setting of NEW only.",
    ),
    click.option("--a-ref", metavar="REVISION", help="Load the file of OLD from a git revision, and run it."),
    click.option("--b-ref", metavar="REVISION", help="Load the file of NEW from a git revision, and run it."),
)  # fmt: skip


MOST_PAIRS: Final = 2_000_000


def bounds_options(command: Command) -> Command:
    """Adds the options that name the visible (compared) variables, and the limits of a comparison of behaviours."""
    return headed("Bounds and limits", *_BOUNDS)(command)


def bounds_of(options: dict[str, Any]) -> tuple[tuple[str, ...], Bounds]:
    """Removes the visible variables and the limits from the options of a command, and returns them."""
    from isrcheck.checker.analysis.inclusion.subset_construction import Bounds

    visible = tuple(name.strip() for text in options.pop("visible") for name in text.split(",") if name.strip())
    pairs = options.pop("max_pairs")
    most = MOST_PAIRS if pairs is None else pairs
    return visible, Bounds(most, options.pop("max_seconds"), options.pop("max_memory"))


def trace_inclusion(
    arguments: tuple[Side, Side], visible: tuple[str, ...], bounds: Bounds, plain: bool, quiet: bool, outputs: Outputs
) -> NoReturn:
    """Compares the behaviours of two models, prints and writes the result, and ends the command."""
    from isrcheck.checker.analysis.inclusion.inclusion_check import compare
    from isrcheck.checker.report.inclusion_text import headline, inclusion_text

    found = compare(*arguments, visible, bounds)
    outputs.print("\n".join([headline(found)] if quiet else inclusion_text(found, plain=plain)))
    outputs.finish(found, found.exit_code)


_BOUNDS: Final = (
    click.option(
        "--visible",
        multiple=True,
        metavar="NAMES",
        help="Compare only changes of these variables or parts, such as log,replica.isr. Default: all common "
        "variables.",
    ),
    click.option(
        "--max-pairs",
        type=click.IntRange(min=1),
        metavar="N",
        help="Stop each search after N pairs of a state and a set of states (docs/how-to/review.md) [2000000].",
    ),
    click.option("--max-seconds", type=seconds_of, metavar="S", help="Stop each search after S seconds."),
    click.option("--max-memory", type=size_of, metavar="SIZE", help="Stop if a search needs more memory than SIZE."),
)
