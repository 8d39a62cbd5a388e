"""`isrcheck diff --behaviours`: shows for each of two models a shortest behaviour that only this model has."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click

from isrcheck.checker.cli.options import Command, seconds_of, size_of
from isrcheck.checker.cli.output import STDOUT, require_writable, write_json
from isrcheck.checker.cli.sides import Sides, side_options

if TYPE_CHECKING:
    from isrcheck.checker.behaviours.inclusion import Bounds

MOST_PAIRS: Final = 2_000_000


def behaviours_options(command: Command) -> Command:
    """Adds the options of `isrcheck diff --behaviours`, with those of `side_options` and `bounds_options`."""
    command = side_options(bounds_options(command))
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def bounds_options(command: Command) -> Command:
    """Adds the options that name the visible (compared) variables, and the limits of a comparison of behaviours."""
    for option in reversed(_BOUNDS):
        command = option(command)
    return command


def bounds_of(options: dict[str, Any]) -> tuple[tuple[str, ...], Bounds]:
    """Removes the visible variables and the limits from the options of a command, and returns them."""
    from isrcheck.checker.behaviours.inclusion import Bounds

    visible = tuple(name.strip() for text in options.pop("visible") for name in text.split(",") if name.strip())
    pairs = options.pop("max_pairs")
    most = MOST_PAIRS if pairs is None else pairs
    return visible, Bounds(most, options.pop("max_seconds"), options.pop("max_memory"))


@dataclass(frozen=True)
class Asked:
    """A comparison that the command line asks for: the sides, visible variables, limits and the form of the answer."""

    sides: Sides
    visible: tuple[str, ...]
    bounds: Bounds
    plain: bool
    quiet: bool


def asked_of(options: dict[str, Any]) -> Asked | None:
    """The comparison of behaviours that the options ask for, or None without --behaviours.

    Raises a usage error for an option that needs --behaviours, if --behaviours is not given.
    """
    wanted, sides = options.pop("behaviours"), Sides.of(options)
    given = sides.given or next((f"--{n.replace('_', '-')}" for n in options if options[n]), None)
    if not wanted and given is not None:
        raise click.UsageError(f"{given} goes with --behaviours")
    if not wanted:
        return None
    plain, quiet = options.pop("plain"), options.pop("quiet")
    return Asked(sides, *bounds_of(options), plain, quiet)


def behaviours(one: str | None, other: str | None, json_path: str | None, asked: Asked) -> NoReturn:
    """Compares the behaviours of two models, prints and writes the result, and ends the command."""
    require_writable(json_path)
    from isrcheck.checker.behaviours.comparing import compare
    from isrcheck.checker.reports.behaviours import behaviours_text, headline

    with ExitStack() as leaving:
        found = compare(*asked.sides.resolved(one, other, leaving), asked.visible, asked.bounds)
        lines = [headline(found)] if asked.quiet else behaviours_text(found, plain=asked.plain)
        click.echo("\n".join(lines), err=json_path == STDOUT)
        if json_path is not None:
            write_json(json_path, found.to_json())
    raise click.exceptions.Exit(found.exit_code)


_OPTIONS: Final = (
    click.option("--behaviours", is_flag=True, help="Compare the behaviours of two models, instead of two datasets."),
    click.option("--plain", is_flag=True, help="Show plain states instead of the story."),
    click.option("--quiet", is_flag=True, help="Print only the outcome in one line."),
)
_BOUNDS: Final = (
    click.option(
        "--visible",
        multiple=True,
        metavar="NAMES",
        help="Compare only changes of these variables or parts: log,replica.isr. By default all common variables.",
    ),
    click.option(
        "--max-pairs",
        type=click.IntRange(min=1),
        metavar="N",
        help="Give up each search after N pairs of a state and a set (docs/how-to/review.md) [2000000].",
    ),
    click.option("--max-seconds", type=seconds_of, metavar="S", help="Give up each search after S seconds."),
    click.option("--max-memory", type=size_of, metavar="SIZE", help="Give up if a search takes more memory than SIZE."),
)
