"""`isrcheck cache`: shows or clears the compiled code that is kept between runs. Also makes the option `--no-cache`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from isrcheck.checker.kernel.code_cache import VARIABLE, objects


@click.command("cache", short_help="Says where compiled code is kept and how large it is, or clears it.")
@click.option("--clear", is_flag=True, help="Delete all compiled code that is kept.")
def command(clear: bool) -> None:
    """Shows the folder that keeps compiled code between runs, and its size.

    The folder also keeps what searches found out about large spaces: some states, and how states are stored. Later
    searches of these spaces take less time.

    By default each user has a separate folder. Code is used again only on the same kind of processor and with the same
    version of LLVM.

    The environment variable ISRCHECK_CACHE can name another folder. If the variable is set to an empty text, compiled
    code is neither loaded nor kept, as with --no-cache. On Windows, too, no compiled code is kept.
    """
    from isrcheck.checker.results.text_layout import plural

    folder = objects()
    if folder is None:
        why = f"{VARIABLE} is empty" if VARIABLE in os.environ else "this system has no user ids"
        click.echo(f"nothing is kept: {why}")
        return
    found = folder.files()
    size = sum(about.st_size for _, about in found) / 2**20
    if clear:
        folder.clear()
    words = f"{plural(len(found), 'file')}, {size:.1f} MiB of at most {folder.largest / 2**20:.0f} MiB"
    click.echo(f"{folder.path}: {words}{', cleared' if clear else ''}")


def _asked(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        ctx.with_resource(_nothing_kept())


@contextmanager
def _nothing_kept() -> Iterator[None]:
    """Within this context, this process and its child processes neither load nor keep compiled code."""
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = ""
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before


def no_cache_option() -> Any:
    """The option `--no-cache` of the commands in `COMPILING` (`isrcheck.checker.cli`)."""
    words = "Use nothing that earlier runs have kept, such as compiled code, and keep nothing for later runs."
    return click.Option(["--no-cache"], is_flag=True, expose_value=False, callback=_asked, help=words)
