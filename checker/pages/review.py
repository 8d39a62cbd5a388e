"""A review of a change as a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from isrcheck.checker.behaviours.comparing import Comparison
from isrcheck.checker.pages.findings import told_trace
from isrcheck.checker.pages.page import page


def review_page(essence: Sequence[str], sections: Sequence[Any], behaviours: Comparison) -> str:
    """The page of a review: the lines of `essence`, the sections, and the behaviours, which a reader can step through.

    Each section has the fields `title`, `head`, `rows`, `lines` and `blocks`.
    """
    stories = _stories(behaviours)
    title = f"{behaviours.a.name} -> {behaviours.b.name}"
    return page("review.html", stories, title=title, essence=essence, sections=sections, stories=stories)


def _stories(found: Comparison) -> dict[str, Any]:
    """The behaviours that only one of the two models has, as traces in the form that the script of a page reads."""
    sides = (("new", found.new, found.b, found.a), ("gone", found.gone, found.a, found.b))
    return {
        word: told_trace(mine.model, way.endings.trace)
        | {"title": f"{word.capitalize()}: {mine.name} does this, {other.name} never does"}
        for word, way, mine, other in sides
        if way.endings is not None
    }
