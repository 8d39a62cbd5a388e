"""`isrcheck explore`: the user walks through a model step by step, in a browser on this machine or in the terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from isrcheck.checker.cli.cache import no_cache_option
from isrcheck.checker.cli.console import say
from isrcheck.checker.cli.help import HeadedCommand
from isrcheck.checker.cli.model_options import model_or_scenario
from isrcheck.checker.cli.options import model_at, require_absent, specification_options
from isrcheck.checker.registry.profile_settings import settings_of
from isrcheck.checker.results.errors import CommandError, os_words
from isrcheck.checker.results.result import Exit

if TYPE_CHECKING:
    from isrcheck.checker.report.explorer.server import Server
    from isrcheck.checker.report.explorer.walk import Walking


@click.command("explore", cls=HeadedCommand, short_help="Steps through a model interactively, in a browser.")
@model_or_scenario
@specification_options(None)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="N",
    help="The port to listen on. Default: any free port.",
)
@click.option("--no-browser", is_flag=True, help="Print the address instead of opening a browser.")
@click.option("--terminal", is_flag=True, help="Use the terminal: each line of standard input is a step or a command.")
@no_cache_option
def command(
    model: str,
    settings: dict[str, str],
    profile: str | None,
    port: int,
    no_browser: bool,
    terminal: bool,
    **options: Any,
) -> None:
    """Serves a page to step through MODEL (a name, my_model.py or my_model.py:Class).

    With --terminal, no page is served. With --spec, a mapping turns each state of MODEL into a state of the
    specification, both states are shown, and steps that the specification does not allow are marked. The page can be
    reached only from this machine and only at its exact address. Ctrl-C stops the server.
    """
    specification, mapping, values = (options[name] for name in ("specification", "mapping", "specification_settings"))
    if specification is None:
        require_absent(("mapping", "specification_settings"), "requires --spec")
    asked = None if specification is None else (specification, mapping, values)
    walking = _walking(model, settings, profile, asked)
    if terminal:
        if port or no_browser:
            raise click.UsageError("--terminal does not serve a page; remove --port and --no-browser")
        _walk(walking)
        return
    with _listening(walking, port) as server:
        try:
            say(f"serving {model} at {server.url}; Ctrl-C stops")
            if not no_browser:
                import webbrowser

                webbrowser.open(server.url)
            server.serve_forever()
        except KeyboardInterrupt:
            say()


def _walk(walking: Walking) -> None:
    """Answers each line of standard input until the walk or the input ends."""
    from isrcheck.checker.registry.loader import blaming
    from isrcheck.checker.report.explorer.terminal import Terminal

    with blaming(walking.loaded.source_file), suppress(KeyboardInterrupt):
        terminal = Terminal(walking)
        say("\n".join(terminal.begin()))
        for line in _lines():
            said = terminal.answer(line)
            if said is None:
                return
            say("\n".join(said))


def _lines() -> Iterator[str]:
    """The lines of standard input, until its end."""
    prompt = "> " if sys.stdin.isatty() else ""
    with suppress(ImportError):
        import readline  # noqa: F401  # lets the user edit a line and recall earlier lines
    with suppress(EOFError):
        while True:
            yield input(prompt)
    say()


def _walking(
    spec: str, texts: dict[str, str], profile: str | None, asked: tuple[str, str | None, dict[str, str]] | None
) -> Walking:
    """The walk through a model at its settings.

    `asked` has the specification's name, the mapping's name, and settings of the specification. It is None if the walk
    has no specification.
    """
    from isrcheck.checker.analysis.refinement.mapping_registry import historic, load_mapping, load_specification
    from isrcheck.checker.registry.loader import blaming, load_model_class
    from isrcheck.checker.report.explorer.specification_view import SpecificationView
    from isrcheck.checker.report.explorer.walk import Walking

    loaded = load_model_class(spec)
    with blaming(loaded.source_file):
        if asked is None:
            return Walking(loaded, model_at(loaded, texts, profile))
        specification, mapping, theirs = asked
        of = load_specification(specification)
        _, maps = load_mapping(loaded, of, mapping)
        noted = replace(loaded, cls=historic(loaded, maps).cls)
        model = model_at(noted, texts, profile)
        return Walking(noted, model, SpecificationView(of, maps, model, settings_of(of.cls, of.name, theirs)))


def _listening(walking: Walking, port: int) -> Server:
    from isrcheck.checker.report.explorer.server import LOOPBACK, Server

    try:
        return Server(walking, port)
    except OSError as error:
        what = f"cannot listen on {LOOPBACK}:{port}: {os_words(error)}"
        raise CommandError(f"{what}; choose another --port, or none", Exit.OUTPUT) from None
