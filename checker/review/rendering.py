"""A review as text, and as Markdown for a comment on a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from isrcheck.checker.ci.github import escaped, fenced
from isrcheck.checker.mutation.table import shortened
from isrcheck.checker.review.essence import essence
from isrcheck.checker.review.reviewing import Review
from isrcheck.checker.review.sections import Section, sections
from isrcheck.checker.wording.layout import PLAIN, Ink, columns


def text(found: Review, ink: Ink = PLAIN) -> list[str]:
    """A review as lines for a terminal, without the sections' blocks of text."""
    lines = list(essence(found))
    for section in sections(found):
        lines += ["", ink("head", section.title)]
        if section.rows:
            lines += columns([section.head, *(tuple(map(shortened, row)) for row in section.rows)])
        lines += [f"  {line}" for line in section.lines]
    return lines


def markdown(found: Review) -> str:
    """A review as Markdown for a pull request. The sections' blocks of text are included, but folded."""
    first, *more = essence(found)
    parts = [f"**{escaped(first)}**\n", *(f"{escaped(line)}\n" for line in more)]
    return "\n".join([*parts, *(line for section in sections(found) for line in _section(section))]) + "\n"


def _section(section: Section) -> Iterator[str]:
    yield f"### {escaped(section.title)}\n"
    if section.rows:
        yield _row(section.head)
        yield _row(["---"] * len(section.head), raw=True)
        yield from (_row(row) for row in section.rows)
        yield ""
    for line in section.lines:
        yield f"{escaped(line)}\n"
    for title, block in section.blocks:
        language = "diff" if block.startswith("@@") else "text"
        yield f"<details><summary>{escaped(title)}</summary>\n\n{fenced(block, language)}\n</details>\n"


def _row(cells: list[str] | tuple[str, ...], raw: bool = False) -> str:
    return "| " + " | ".join(cell if raw else escaped(cell) for cell in cells) + " |"
