"""`isrcheck explore`: a model walked by hand, in a browser on this machine."""

from __future__ import annotations

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
def command(model: str, settings: dict[str, str], profile: str | None, port: int, no_browser: bool) -> None:
    """Serves a page on which MODEL (a name, my_model.py or my_model.py:Class) is walked step by step.

    Only this machine can reach the page, and only a browser that asks for its very address. Ctrl-C ends it.
    """
    with _listening(_walking(model, settings, profile), port) as server:
        try:
            click.echo(f"{model} is at {server.url} until Ctrl-C")
            if not no_browser:
                import webbrowser

                webbrowser.open(server.url)
            server.serve_forever()
        except KeyboardInterrupt:
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
