"""Lessons as slides: one page for a browser, made from the text of the lessons and from their traces.

A lesson is Markdown. Each of its sections begins a new slide, and a long section continues on further slides. A folded
answer (`<details>`) gets its own slides after the question. Pictures of a trace replace the text of the trace.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any, Final

from markdown_it import MarkdownIt
from markupsafe import Markup

from isrcheck.checker.report.pages.page import page
from isrcheck.checker.report.pages.spacetime_diagram import picture

Story = Callable[[str], dict[str, Any]]
"""A function from a scenario's name to its recorded trace, as the data of a page."""
LINES: Final = 17
"""The number of lines of text that fit on a slide below its heading."""
LETTERS: Final = 84
CODE: Final = 0.68
"""The height of a line of code, in lines of text."""
STEPS: Final = 7
"""The largest number of steps in one picture of a trace."""
MARKER: Final = re.compile(r"^<!-- (?:(trace): (.+?)|.*?) -->$")
LESSON: Final = re.compile(r"(?:.*/)?(\d\d)-[\w-]+\.md(?:#.*)?")


@dataclass
class Slide:
    """A slide: its heading (`title`), the HTML below the heading, and its CSS class (`kind`)."""

    lesson: int
    title: str
    body: Markup
    kind: str = "text"


@dataclass
class _Block:
    """A part of a section that stays on one slide: a paragraph, a list item, or code.

    `high` is its height in lines. If `scenario` is given, the block stands for pictures of this scenario's trace.
    """

    text: str
    high: float
    item: bool = False
    scenario: str | None = None


@dataclass
class _Section:
    title: str
    blocks: list[_Block] = field(default_factory=list)


def deck(lessons: Mapping[int, str], story: Story) -> str:
    """The page with the slides of some lessons. `lessons` has the text of each lesson by its number."""
    titles = {number: _question(text) for number, text in lessons.items()}
    slides = [slide for number, text in lessons.items() for slide in _slides(number, text, set(lessons), story)]
    name = (
        f"Lesson {min(lessons)}: {titles[min(lessons)]}"
        if len(lessons) == 1
        else "How Kafka's replication loses records"
    )
    files = ("slides.js",)
    return page("slides.html", None, sheet="slides.css", files=files, name=name, titles=titles, slides=slides)


def _question(text: str) -> str:
    return text.partition("\n")[0].partition(". ")[2].strip()


def _slides(number: int, text: str, there: set[int], story: Story) -> Iterator[Slide]:
    text = _unreferred(text)
    markdown = _markdown(there)
    for section in _sections(text.partition("\n")[2]):
        opening = not section.title
        for packed in _packed(section.blocks):
            if packed[0].scenario is not None:
                yield from _pictures(number, section.title, packed[0].scenario, story)
                continue
            title = section.title or _question(text)
            yield Slide(number, title, Markup(markdown.render(_joined(packed))), "opening" if opening else "text")
            opening = False


def _unreferred(text: str) -> str:
    """The text without link targets (lines such as `[isr]: glossary.md`). Links such as `[ISR]` become plain words."""
    labels = re.findall(r"^\[([^\]\n]+)\]: \S+$", text, re.M)
    text = re.sub(r"^\[[^\]\n]+\]: \S+\n?", "", text, flags=re.M)
    for label in labels:
        words = r"\s+".join(map(re.escape, label.split()))
        text = re.sub(rf"\[({words})\](?![(\[])", r"\1", text, flags=re.I)
    return text


def _sections(text: str) -> Iterator[_Section]:
    """The sections of a lesson. The first is the text before the first heading. Each answer is a section of its own."""
    section = _Section("")
    title = ""
    for block in _blocks(text.splitlines()):
        if block.text.startswith("## "):
            yield section
            title = block.text.removeprefix("## ")
            section = _Section(title)
        elif block.text.startswith("<details>"):
            yield section
            section = _Section(f"{title}: {re.sub('<[^>]*>', '', block.text).lower()}")
        elif block.text == "</details>":
            yield section
            section = _Section(title)
        else:
            section.blocks.append(block)
    yield section


def _blocks(lines: Sequence[str]) -> Iterator[_Block]:
    """The paragraphs, list items, headings, lines that begin with an HTML tag, and blocks of code.

    HTML comments of one line are left out. After the comment `<!-- trace: NAME -->`, the next block of code is the
    trace of the scenario `NAME`.
    """
    kept: list[str] = []
    code: list[str] | None = None
    scenario: str | None = None
    for line in [*lines, ""]:
        if code is not None:
            code.append(line)
            if line.startswith("```"):
                yield from _code(code, scenario)
                code, scenario = None, None
            continue
        marker, begins = MARKER.match(line), re.match(r"([*-]|\d+\.) ", line)
        if not line.strip() or marker or begins or line.startswith(("```", "<", "#")):
            yield from _paragraph(kept)
            kept = []
        if marker:
            scenario = marker[2]
        elif line.startswith("```"):
            code = [line]
        elif line.startswith(("<", "#")):
            yield _Block(line, 0)
        elif line.strip():
            kept.append(line)


def _paragraph(lines: list[str]) -> Iterator[_Block]:
    if not lines:
        return
    text = "\n".join(lines)
    item = re.match(r"([*-]|\d+\.) ", text) is not None
    high = len(lines) if text.startswith("|") else ceil(len(text) / LETTERS)
    yield _Block(text, high + 0.5, item)


def _code(lines: list[str], scenario: str | None) -> Iterator[_Block]:
    """Blocks of code that each fit on a slide.

    If `scenario` is given, the code is the trace of this scenario. A block for pictures replaces the code up to the
    first line that says what is false. The code from this line on stays.
    """
    fence, inside = lines[0], lines[1:-1]
    if scenario is not None:
        yield _Block("", LINES, scenario=scenario)
        inside = inside[next((i for i, line in enumerate(inside) if " is false " in line), len(inside)) :]
    most = int(LINES / CODE) - 1
    for start in range(0, len(inside), most):
        part = inside[start : start + most]
        wrapped = sum(ceil(max(len(line), 1) / 106) for line in part)
        yield _Block("\n".join([fence, *part, "```"]), wrapped * CODE + 1)


def _packed(blocks: list[_Block]) -> Iterator[list[_Block]]:
    """The blocks in groups that each go on one slide. A block that stands for pictures is a group of its own."""
    kept: list[_Block] = []
    for block in blocks:
        alone = block.scenario is not None
        if kept and (alone or kept[-1].scenario is not None or sum(b.high for b in kept) + block.high > LINES):
            yield kept
            kept = []
        kept.append(block)
    if kept:
        yield kept


def _joined(blocks: list[_Block]) -> str:
    text = ""
    for before, block in zip([None, *blocks], blocks, strict=False):
        between = "\n" if before is not None and before.item and block.item else "\n\n"
        text += between + block.text
    return text


def _pictures(number: int, title: str, scenario: str, story: Story) -> Iterator[Slide]:
    """The slides with a scenario's trace. Each slide is a picture of at most `STEPS` steps."""
    data = story(scenario)
    last = len(data["steps"])
    count = ceil((last - 1) / STEPS)
    size = ceil((last - 1) / count)
    for first in range(2, last + 1, size):
        steps = range(first, min(first + size, last + 1))
        drawn = base64.b64encode(picture(data, steps, 0).encode()).decode()
        words = " ".join(f"{k}: {data['steps'][k - 1]['sentence']}" for k in steps)
        image = Markup('<img class="trace" src="data:image/svg+xml;base64,{}" alt="{}">').format(drawn, words)
        yield Slide(number, f"{title}: steps {steps[0]} to {steps[-1]}", image, "picture")


def _markdown(there: set[int]) -> MarkdownIt:
    """A Markdown renderer without raw HTML. It keeps only links with https, and links to lessons of the deck."""
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")

    def opened(renderer: Any, tokens: Any, i: int, options: Any, env: Any) -> str:
        href = str(tokens[i].attrGet("href"))
        lesson = LESSON.fullmatch(href)
        if lesson and int(lesson[1]) in there:
            tokens[i].attrSet("href", f"#lesson-{int(lesson[1])}")
        elif not href.startswith("https://"):
            return "<span>"
        env.setdefault("open", []).append(i)
        return str(renderer.renderToken(tokens, i, options, env))

    def closed(renderer: Any, tokens: Any, i: int, options: Any, env: Any) -> str:
        opening = max(k for k in range(i) if tokens[k].type == "link_open")
        return "</a>" if opening in env.get("open", []) else "</span>"

    markdown.add_render_rule("link_open", opened)
    markdown.add_render_rule("link_close", closed)
    return markdown
