"""The terms of the glossary in the lessons: the first use of each term in a lesson is a link.

A link is a reference such as `[high watermark]`, and its target is at the end of the page. This module writes both.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Final

GLOSSARY: Final = Path(__file__).parents[2] / "docs" / "reference" / "glossary.md"
TARGET: Final = "../../docs/reference/glossary.md"
ROW: Final = re.compile(r'^\| <a id="([\w-]+)"></a>(.+?) \|', re.M)
REFERENCE: Final = re.compile(r"^\[[^\]\n]+\]: \.\./\.\./docs/reference/glossary\.md#[\w-]+\n", re.M)
LEFT_OUT: Final = re.compile(r"```[\s\S]*?^```$|^#.*$|^<.*$|^\|.*$|`[^`]*`|!?\[[^\]\n]*\]\([^)]*\)", re.M)
"""The parts of a page that are not prose: code, headings, markers, tables, links."""
WIDTH: Final = 120


def terms() -> dict[str, str]:
    """The anchor of each term of the glossary, by the term in lower case."""
    rows = ROW.findall(GLOSSARY.read_text(encoding="utf-8"))
    return {word.lower(): anchor for anchor, words in rows for word in words.replace("`", "").split(", ")}


def linked(page: str) -> str:
    """The lesson with links at the first use of each term, and no links at other uses."""
    known = terms()
    page = _unlinked(page)
    found: dict[str, str] = {}
    text = _first_uses(page, known, found)
    references = "".join(f"[{label}]: {TARGET}#{anchor}\n" for label, anchor in sorted(found.items()))
    return f"{_narrow(page, text)}\n{references}" if references else page


def _unlinked(page: str) -> str:
    labels = {label for line in REFERENCE.findall(page) for label in re.findall(r"^\[([^\]]+)\]", line)}
    page = REFERENCE.sub("", page).rstrip("\n") + "\n"
    for label in labels:
        words = r"\s+".join(map(re.escape, label.split()))
        page = re.sub(rf"\[({words})\](?![(\[])", r"\1", page, flags=re.I)
    return page


def _first_uses(page: str, known: dict[str, str], found: dict[str, str]) -> str:
    """The page with references. Their labels, in lower case, and anchors are added to `found`."""
    longest = "|".join(
        r"\s+".join(map(re.escape, word.split())) for word in sorted(known, key=lambda word: (-len(word), word))
    )
    word = re.compile(rf"(?<![\w-])(?:{longest})(?:s|es)?(?![\w-])", re.I)
    done: set[str] = set()

    def link(match: re.Match[str]) -> str:
        label = " ".join(match[0].lower().split())
        anchor = known.get(label) or known.get(label.removesuffix("s")) or known[label.removesuffix("es")]
        if anchor in done:
            return match[0]
        done.add(anchor)
        found[label] = anchor
        return f"[{match[0]}]"

    parts, at = [], 0
    for left_out in LEFT_OUT.finditer(page):
        parts += [word.sub(link, page[at : left_out.start()]), left_out[0]]
        at = left_out.end()
    return "".join([*parts, word.sub(link, page[at:])])


def _narrow(old: str, new: str) -> str:
    """The new text, with paragraphs wrapped again if a line has become too long."""
    return "\n\n".join(_filled(a, b) for a, b in zip(old.split("\n\n"), new.split("\n\n"), strict=True))


def _filled(old: str, new: str) -> str:
    if old == new or max(map(len, new.splitlines())) <= WIDTH:
        return new
    items = re.split(r"\n(?=\* |\d+\. )", new)
    return "\n".join(_item(item) for item in items)


def _item(text: str) -> str:
    if max(map(len, text.splitlines())) <= WIDTH:
        return text
    hanging = "  " if text.startswith("* ") else ""
    return textwrap.fill(
        " ".join(text.split()), WIDTH, subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False
    )
