"""The command line `isrcheck`. Each command has its own file, which is loaded only when needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

import click

from isrcheck.checker.cli.cache import cache_options
from isrcheck.checker.cli.console import say
from isrcheck.checker.cli.exit_status import reporting_errors
from isrcheck.checker.cli.help import BEGINNING, GROUPS, RENAMED, write_sections

COMMANDS: Final = tuple(name for names in GROUPS.values() for name in names)


class Commands(click.Group):
    """Finds each command by its name. `reporting_errors` turns an error in a command into an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name in RENAMED and not ctx.resilient_parsing:
            say(f"isrcheck: isrcheck {name} is now isrcheck {RENAMED[name]}", err=True)
            raise click.exceptions.Exit(2)
        if name not in COMMANDS:
            return None
        command: click.Command = import_module(f"isrcheck.checker.cli.{name}").command
        return command

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Get started"):
            formatter.write_dl(list(BEGINNING.items()), col_max=40)
        commands = {group: [(name, self._short_help(ctx, name)) for name in names] for group, names in GROUPS.items()}
        options = [record for each in self.get_params(ctx) if (record := each.get_help_record(ctx)) is not None]
        write_sections(formatter, {**commands, "Options": options})

    def _short_help(self, ctx: click.Context, name: str) -> str:
        command = self.get_command(ctx, name)
        assert command is not None
        return command.get_short_help_str(limit=200)

    def invoke(self, ctx: click.Context) -> Any:
        with reporting_errors():
            return super().invoke(ctx)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="isrcheck", message="isrcheck %(version)s")
@cache_options
def main() -> None:
    """Checks models of Kafka's replication protocol, or of your own protocol, exhaustively within bounds.

    Exit codes: 0 success (all invariants hold), 2 usage error, 10 difference (vacuity, changed scenario, invalid
    replay), 11 deadlock, 12 invariant violated, 13 liveness property violated, 14 Kafka's classes behave differently,
    15 recording not explained, 75 model cannot be evaluated, 130 interrupted, 150 unknown name or damaged file, 152
    limit reached, 153 input or output error, 255 a bug in isrcheck.
    """
