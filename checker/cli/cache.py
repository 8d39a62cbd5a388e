"""The options about compiled code that is kept between runs: `isrcheck --cache`, `--clear-cache`, and `--no-cache`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from isrcheck.checker.cli.console import say
from isrcheck.checker.cli.exit_status import reporting_errors
from isrcheck.checker.cli.help import Command


def cache_options(command: Command) -> Command:
    """Adds `--cache` and `--clear-cache` to `isrcheck` itself."""
    about: dict[str, Any] = {"is_flag": True, "expose_value": False, "is_eager": True}
    shown = click.option("--cache", **about, callback=_show, help="Show where compiled code is kept, and its size.")
    cleared = click.option("--clear-cache", **about, callback=_clear, help="Delete all cached code.")
    return shown(cleared(command))


def _show(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        _kept(ctx, clear=False)


def _clear(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        _kept(ctx, clear=True)


def _kept(ctx: click.Context, clear: bool) -> None:
    """Says what is kept between runs: compiled code, and what searches found out about large spaces."""
    from isrcheck.checker.kernel.code_cache import VARIABLE, objects
    from isrcheck.checker.results.text_layout import plural

    with reporting_errors():
        folder = objects()
        if folder is None:
            why = f"{VARIABLE} is empty" if VARIABLE in os.environ else "this system has no user ids"
            say(f"nothing is cached: {why}")
            ctx.exit()
        found = folder.files()
        size = sum(about.st_size for _, about in found) / 2**20
        if clear:
            folder.clear()
        words = f"{plural(len(found), 'file')}, {size:.1f} MiB of at most {folder.largest / 2**20:.0f} MiB"
        say(f"{folder.path}: {words}{', cleared' if clear else ''}")
        ctx.exit()


def _asked(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        ctx.with_resource(_nothing_kept())


@contextmanager
def _nothing_kept() -> Iterator[None]:
    """Within this context, this process and its child processes neither load nor keep compiled code."""
    from isrcheck.checker.kernel.code_cache import VARIABLE

    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = ""
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before


def no_cache_option(command: Command) -> Command:
    """Adds the option `--no-cache`, for a command that compiles."""
    words = "Neither read nor write the cache of compiled code."
    return click.option("--no-cache", is_flag=True, expose_value=False, callback=_asked, help=words)(command)
