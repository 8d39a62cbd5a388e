"""The form of `--help`: commands in groups, and the options of a command below headings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])
BEGINNING: Final = {
    "isrcheck check kip-101": "Shows how KIP-101 loses a record.",
    "isrcheck explore kip-320": "Steps through KIP-320.",
    "isrcheck init model my_model.py": "Creates a new model.",
}
"""The commands with which a new user begins."""
GROUPS: Final = {
    "Check": ("check", "refine", "simulate", "conform"),
    "Understand": ("models", "explore", "replay", "export", "course"),
    "Change": ("init", "mutate", "review"),
    "Keep": ("scenarios", "regress"),
    "Prove": ("prove",),
    "Large spaces": ("sweep", "analyze"),
}
RENAMED: Final = {
    "show": "replay FILE",
    "graph": "export MODEL --to dot",
    "crosscheck": "export MODEL --crosscheck",
    "explain": "conform --recording FILE",
    "verify-proof": "prove --verify DIR",
    "diff": "analyze DIR --diff DIR (datasets) or isrcheck review OLD NEW --behaviours (models)",
    "lessons": "course lessons",
    "grade": "course grade",
    "cache": "--cache",
}
"""Names that commands had, and what to write now."""
OPTIONS: Final = "Options"
"""The heading of the options that have no other heading."""
COLUMN: Final = 30
"""The widest first column. A longer text has a line of its own."""


class HeadedCommand(click.Command):
    """A command whose `--help` shows the options below headings, in the order in which the headings first occur."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for each in self.get_params(ctx):
            record = each.get_help_record(ctx) if isinstance(each, click.Option) else None
            if record is not None:
                sections.setdefault(getattr(each, "heading", OPTIONS), []).append(record)
        write_sections(formatter, sections)


def headed(heading: str, *decorators: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Adds options in their order, below a heading of `--help`. An option that has a heading already keeps it."""

    def added(command: Command) -> Command:
        for decorator in reversed(decorators):
            before = len(getattr(command, "__click_params__", ()))
            command = decorator(command)
            for each in getattr(command, "__click_params__", ())[before:]:
                each.heading = getattr(each, "heading", heading)
        return command

    return added


def write_sections(formatter: click.HelpFormatter, sections: dict[str, list[tuple[str, str]]]) -> None:
    """Writes a table of two columns below each heading. The second columns of all tables are aligned."""
    widest = min(max(len(first) for rows in sections.values() for first, _ in rows), COLUMN)
    for heading, rows in sections.items():
        with formatter.section(heading):
            formatter.write_dl([(first.ljust(widest), text) for first, text in rows], col_max=widest)
