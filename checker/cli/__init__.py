"""The command line `isrcheck`. Each command has its own file, which is loaded only when needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

import click

from isrcheck.checker.cli.exit_status import reporting_errors

COMMANDS: Final = (
    "models", "init", "check", "refine", "simulate", "prove", "verify-proof", "mutate", "explore", "replay", "show",
    "graph", "scenarios", "regress", "lessons", "grade", "sweep", "export", "crosscheck", "conform", "explain",
    "analyze", "diff", "review", "cache",
)  # fmt: skip
COMPILING: Final = (
    "check", "refine", "simulate", "prove", "verify-proof", "mutate", "explore", "graph", "regress", "sweep",
    "crosscheck", "analyze", "diff", "review", "grade", "explain", "replay", "show",
)  # fmt: skip


class Commands(click.Group):
    """Finds each command by its name. `reporting_errors` turns an error in a command into an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = import_module(f"isrcheck.checker.cli.{name.replace('-', '_')}").command
        if name in COMPILING and not any(each.name == "no_cache" for each in command.params):
            from isrcheck.checker.cli.cache import no_cache_option

            command.params.append(no_cache_option())
        return command

    def invoke(self, ctx: click.Context) -> Any:
        with reporting_errors():
            return super().invoke(ctx)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="isrcheck", message="isrcheck %(version)s")
def main() -> None:
    """Checks models of Kafka's replication protocol, or of your own protocol, exhaustively within bounds.

    Exit codes: 0 success (all invariants hold), 2 a usage error, 10 a difference (vacuity, a changed scenario, an
    invalid replay), 11 a deadlock, 12 an invariant is violated, 13 a liveness property is violated, 14 Kafka's classes
    behave differently, 15 a recording is not explained, 75 the model cannot be evaluated, 130 an interruption, 150 an
    unknown name or a damaged file, 152 a limit is reached, 153 an error of input or output, 255 a bug in isrcheck.
    """
