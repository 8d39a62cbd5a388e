"""A review as text, and as Markdown for a comment on a pull request.

A review of a change as a page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from isrcheck.checker.analysis.inclusion.inclusion_check import Comparison
from isrcheck.checker.changes.mutation.mutation_table import shortened
from isrcheck.checker.changes.review.change_review import Review
from isrcheck.checker.changes.review.review_sections import Section, sections
from isrcheck.checker.changes.review.review_summary import review_summary
from isrcheck.checker.report.github import escaped, fenced
from isrcheck.checker.report.pages.page import page
from isrcheck.checker.report.pages.trace_data import page_trace
from isrcheck.checker.results.text_layout import PLAIN, Ink, columns


def text(found: Review, ink: Ink = PLAIN) -> list[str]:
    """A review as lines for a terminal, without the sections' blocks of text."""
    lines = list(review_summary(found))
    for section in sections(found):
        lines += ["", ink("head", section.title)]
        if section.rows:
            lines += columns([section.head, *(tuple(map(shortened, row)) for row in section.rows)])
        lines += [f"  {line}" for line in section.lines]
    return lines


def markdown(found: Review) -> str:
    """A review as Markdown for a pull request. The sections' blocks of text are included, but folded."""
    first, *more = review_summary(found)
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


def review_page(review_summary: Sequence[str], sections: Sequence[Any], inclusion: Comparison) -> str:
    """The page of a review: the lines of `review_summary`, the sections, and behaviours that a reader can step through.

    Each section has the fields `title`, `head`, `rows`, `lines` and `blocks`.
    """
    stories = _stories(inclusion)
    title = f"{inclusion.a.name} -> {inclusion.b.name}"
    return page("review.html", stories, title=title, review_summary=review_summary, sections=sections, stories=stories)


def _stories(found: Comparison) -> dict[str, Any]:
    """The behaviours that only one of the two models has, as traces in the form that the script of a page reads."""
    sides = (("new", found.new, found.b, found.a), ("gone", found.gone, found.a, found.b))
    return {
        word: page_trace(mine.model, way.endings.trace)
        | {"title": f"{word.capitalize()}: {mine.name} does this, {other.name} never does"}
        for word, way, mine, other in sides
        if way.endings is not None
    }
