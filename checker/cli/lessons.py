"""`isrcheck lessons`: the counterexamples as a course, page by page."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import click

from isrcheck.checker.cli.output_files import require_writable, write_text
from isrcheck.model.language.errors import UnknownName


@click.command("lessons", short_help="The counterexamples as a course: lists the lessons, or shows one.")
@click.argument("number", required=False, type=int)
@click.option("--plain", is_flag=True, help="Print the Markdown source, also on a terminal.")
@click.option(
    "--slides",
    metavar="FILE",
    help="Write all lessons, or lesson NUMBER, as slides for a browser; - is standard output.",
)
def command(number: int | None, plain: bool, slides: str | None) -> None:
    """Lists the lessons, or shows lesson NUMBER.

    With --slides it writes one page that needs no network. Arrow keys move between slides. When the page is printed,
    each slide fills one sheet of paper.
    """
    found = pages()
    if slides is not None and plain:
        raise click.UsageError("--slides writes a page; take --plain away")
    if number is None and slides is None:
        click.echo("\n".join(f"{n:3}  {_title(page)}" for n, page in found.items()))
        return
    if number is not None and number not in found:
        raise UnknownName(f"there is no lesson {number}; there are {min(found)} to {max(found)}: isrcheck lessons")
    if slides is not None:
        _write_slides(slides, found if number is None else {number: found[number]})
        return
    assert number is not None
    text = re.sub(r"^<!-- .* -->\n", "", found[number].read_text(encoding="utf-8"), flags=re.M)
    if plain or not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        click.echo(text, nl=False)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console().print(Markdown(text))


def _write_slides(path: str, lessons: dict[int, Path]) -> None:
    from isrcheck.checker.report.pages.slides import deck

    require_writable(path)
    write_text(path, deck({n: page.read_text(encoding="utf-8") for n, page in lessons.items()}, _story))


def _story(name: str) -> dict[str, Any]:
    """The data of a page that compares a scenario's recorded trace with the scenario's controls (fixed designs)."""
    from isrcheck.checker.cli.replay import replayed_file
    from isrcheck.checker.report.pages.trace_data import shown_stories
    from isrcheck.checker.scenarios.collection import called, shipped
    from isrcheck.checker.scenarios.scenario import ITF, read

    folder = called(name, shipped())
    assert folder is not None, name
    fixed_versions = read(folder, shipped()).fixed_versions
    interpreter, replayed = replayed_file(str(folder / ITF), None, {}, None, {}, fixed_versions)
    return shown_stories(interpreter, replayed)["1"]


def pages() -> dict[int, Path]:
    """The files of the lessons, by number."""
    from isrcheck.checker.scenarios.collection import shipped

    return {int(page.name.partition("-")[0]): page for page in sorted((shipped() / "lessons").glob("*.md"))}


def _title(page: Path) -> str:
    """The question at the beginning of a lesson, without its number."""
    with page.open(encoding="utf-8") as lines:
        return next(lines).partition(". ")[2].strip()
