"""Reads the templates, styles and scripts of the pages, which ship with the package."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent / "files"
EXPLORER_FILES: Final = ("explore.html", "page.css", "drawing.js", "explore.js")


@cache
def asset(name: str) -> str:
    """The text of the file with this name."""
    return (FOLDER / name).read_text(encoding="utf-8")
