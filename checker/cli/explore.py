"""`isrcheck explore`: a model walked by hand, in a browser on this machine."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from isrcheck.checker.cli.naming import model_or_scenario
from isrcheck.checker.cli.options import model_at
from isrcheck.checker.failures import Failure, os_words
from isrcheck.checker.results import Exit

if TYPE_CHECKING:
    from isrcheck.checker.explorer.server import Server
    from isrcheck.checker.explorer.walking import Walking


@click.command("explore", short_help="Walks a model by hand, in a browser.")
@model_or_scenario
@click.option("--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="Listen there; any by default.")
@click.option("--no-browser", is_flag=True, help="Print the address, and open nothing.")
@click.option(
    "--terminal", is_flag=True, help="Walk here instead: each line of standard input is a step or a question."
)
def command(
    model: str, settings: dict[str, str], profile: str | None, port: int, no_browser: bool, terminal: bool
) -> None:
    """Serves a page on which MODEL (a name, my_model.py or my_model.py:Class) is walked step by step.

    Only this machine can reach the page, and only a browser that asks for its very address. Ctrl-C ends it.
    """
    if terminal:
        if port or no_browser:
            raise click.UsageError("--terminal serves no page; take --port and --no-browser away")
        _walk(_walking(model, settings, profile))
        return
    with _listening(_walking(model, settings, profile), port) as server:
        try:
            click.echo(f"{model} is at {server.url} until Ctrl-C")
            if not no_browser:
                import webbrowser

                webbrowser.open(server.url)
            server.serve_forever()
        except KeyboardInterrupt:
            click.echo()


def _walk(walking: Walking) -> None:
    """Answers line by line until the walk or the input ends."""
    from isrcheck.checker.explorer.terminal import Terminal
    from isrcheck.checker.library import blaming

    with blaming(walking.loaded.origin), suppress(KeyboardInterrupt):
        terminal = Terminal(walking)
        click.echo("\n".join(terminal.begin()))
        for line in _lines():
            said = terminal.answer(line)
            if said is None:
                return
            click.echo("\n".join(said))


def _lines() -> Iterator[str]:
    """What is typed, until the end of the input."""
    prompt = "> " if sys.stdin.isatty() else ""
    with suppress(ImportError):
        import readline  # noqa: F401  # a line can be edited, and called back
    with suppress(EOFError):
        while True:
            yield input(prompt)
    click.echo()


def _walking(spec: str, texts: dict[str, str], profile: str | None) -> Walking:
    from isrcheck.checker.explorer.walking import Walking
    from isrcheck.checker.library import blaming, load_model_class

    loaded = load_model_class(spec)
    with blaming(loaded.origin):
        return Walking(loaded, model_at(loaded, texts, profile))


def _listening(walking: Walking, port: int) -> Server:
    from isrcheck.checker.explorer.server import LOOPBACK, Server

    try:
        return Server(walking, port)
    except OSError as error:
        what = f"cannot listen on {LOOPBACK}:{port}: {os_words(error)}"
        raise Failure(f"{what}; name another --port, or none", Exit.OUTPUT) from None
