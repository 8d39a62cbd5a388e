"""A review of a change as a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from isrcheck.checker.pages.page import page


def review_page(title: str, essence: Sequence[str], sections: Sequence[Any]) -> str:
    """The page of what is said first, and of sections: title, head, rows, lines, blocks."""
    return page("review.html", {}, title=title, essence=essence, sections=sections)
