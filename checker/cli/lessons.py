"""`isrcheck lessons`: the counterexamples as a course, page by page."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import click

from isrcheck.model.language.errors import UnknownName


@click.command("lessons", short_help="The counterexamples as a course: lists the lessons, or shows one.")
@click.argument("number", required=False, type=int)
@click.option("--plain", is_flag=True, help="Print Markdown as it was written, also on a terminal.")
def command(number: int | None, plain: bool) -> None:
    """Lists the lessons, or shows the one with this NUMBER."""
    found = pages()
    if number is None:
        click.echo("\n".join(f"{n:3}  {_title(page)}" for n, page in found.items()))
        return
    if number not in found:
        raise UnknownName(f"there is no lesson {number}; there are {min(found)} to {max(found)}: isrcheck lessons")
    text = re.sub(r"^<!-- .* -->\n", "", found[number].read_text(encoding="utf-8"), flags=re.M)
    if plain or not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        click.echo(text, nl=False)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console().print(Markdown(text))


def pages() -> dict[int, Path]:
    """The pages of the course by number."""
    from isrcheck.checker.scenarios.collection import shipped

    return {int(page.name.partition("-")[0]): page for page in sorted((shipped() / "lessons").glob("*.md"))}


def _title(page: Path) -> str:
    """The question that a lesson begins with, without its number."""
    with page.open(encoding="utf-8") as lines:
        return next(lines).partition(". ")[2].strip()
