"""A trace as a picture: a space-time diagram in SVG for a README or a slide, with a light and a dark style.

The picture uses the data of a page (`invariants.page_traces`): the actors, the sentences, the logs that a step changes,
the reasons (each has a letter), and the steps at which fixes act.
"""

from __future__ import annotations

import textwrap
from typing import Any, Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from isrcheck.checker.results.text_layout import clean

WIDTH: Final = 960
"""The default width of a picture in pixels. A picture with many lifelines is wider."""
SENTENCE: Final = 330
LIFELINE: Final = 84
FIRST_LIFELINE: Final = 96
LOGS: Final = 196
LINE: Final = 16
LETTER: Final = 6.35
"""The average width of a letter of a sentence, in pixels."""
CELL: Final = 36
BOLD_LETTER: Final = 7.4
LEGEND: Final = (
    "Diamond: an event in the environment. Letter: the reason that a step contributes to; filled, the "
    "step completes it. Records are #id/epoch, dashed above the high watermark (thick bar)."
)
SHADES: Final = 5
STYLE: Final = """
svg { --paper: #ffffff; --ink: #16191d; --soft: #5a6472; --line: #c4cbd4; --good: #18733a; --bad: #b3261e;
 --b0: #2463b8; --b1: #b0530a; --b2: #22763c; --b3: #7a3fa8; --b4: #9c2f5c;
 --e0: #cfe2fb; --e1: #fbdcbc; --e2: #cdebd3; --e3: #e6d3f5; --e4: #f8d0df; background: var(--paper); }
@media (prefers-color-scheme: dark) { svg { --paper: #12151a; --ink: #e8ebef; --soft: #9aa5b4; --line: #48525f;
 --good: #6cd391; --bad: #ff8a80; --b0: #7fb2ff; --b1: #ffb27a; --b2: #7fd69a; --b3: #cfa3f2; --b4: #f59ac0;
 --e0: #234a7d; --e1: #74421a; --e2: #23602f; --e3: #553073; --e4: #6f2747; } }
text { font: 12.5px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; fill: var(--ink); }
.paper { fill: var(--paper); } .soft { fill: var(--soft); } .head { font-weight: 600; } .small { font-size: 10.5px; }
.lane { stroke: var(--line); stroke-width: 1.5; } .bad { fill: var(--bad); font-weight: 600; }
.fix { fill: none; stroke: var(--good); stroke-width: 2; } .good { fill: var(--good); font-weight: 600; }
.letter { fill: none; stroke: var(--ink); }
.end { fill: var(--ink); stroke: var(--ink); } .on-end { fill: var(--paper); }
.cell { stroke: var(--ink); stroke-width: 1; } .above { stroke-dasharray: 3 2; fill-opacity: .45; }
.gone { fill: none; stroke: var(--bad); stroke-dasharray: 3 2; } .mark { stroke: var(--ink); stroke-width: 3; }
.actor { stroke-width: 2; }
.b0 { fill: var(--b0); stroke: var(--b0); } .b1 { fill: var(--b1); stroke: var(--b1); }
.b2 { fill: var(--b2); stroke: var(--b2); } .b3 { fill: var(--b3); stroke: var(--b3); }
.b4 { fill: var(--b4); stroke: var(--b4); } .nobody { fill: var(--soft); stroke: var(--soft); }
text.b0, text.b1, text.b2, text.b3, text.b4, text.nobody { stroke: none; font-weight: 600; }
.e0 { fill: var(--e0); } .e1 { fill: var(--e1); } .e2 { fill: var(--e2); }
.e3 { fill: var(--e3); } .e4 { fill: var(--e4); }
"""


def picture(story: dict[str, Any], steps: range | None = None, width: int = WIDTH) -> str:
    """The SVG of a trace. `story` is the trace in the form that a page reads (see `invariants.page_traces`).

    Draws only the steps into states whose numbers are in `steps` (None: all steps). The picture is `width` pixels wide,
    or wider if the lifelines, sentences and logs need more.
    """
    return _Picture(story, steps or range(2, len(story["steps"]) + 1), width).drawn()


class _Picture:
    def __init__(self, story: dict[str, Any], steps: range, width: int) -> None:
        self.story, self.steps = story, steps
        self.lifelines = {lifeline["name"]: FIRST_LIFELINE + i * LIFELINE for i, lifeline in enumerate(story["lanes"])}
        self.words = FIRST_LIFELINE + len(self.lifelines) * LIFELINE - LIFELINE // 2 + 14
        logs = LOGS if any(step["logs"] for step in story["steps"]) else 0
        self.width = max(width, self.words + SENTENCE + logs)
        self.right = self.width - logs
        falsified = next((each for each in story["falsified"] if each["reasons"]), None)
        reasons = falsified["reasons"]["each"] if falsified else []
        self.letters = {step: reason["letter"] for reason in reasons for step in reason["steps"]}
        self.ends = {reason["end"] for reason in reasons}
        self.fixes = {fix["step"]: fix for fix in (falsified["fixes"] if falsified else []) if fix["step"]}
        self.root = Element("svg", xmlns="http://www.w3.org/2000/svg", width=str(self.width), role="img")
        self.y = 34

    def drawn(self) -> str:
        title = SubElement(self.root, "title")
        title.text = clean(self.story["title"])
        SubElement(self.root, "style").text = STYLE
        paper = self._shape("rect", "paper", width=self.width, x=0, y=0)
        lines = [self._shape("line", "lane", x1=x, x2=x, y1=26, y2=0) for x in self.lifelines.values()]
        for lifeline in self.story["lanes"]:
            self._text(self.lifelines[lifeline["name"]], 18, lifeline["title"], _colour(lifeline["name"]), middle=True)
        logs: dict[int, Any] = {}
        for i, step in enumerate(self.story["steps"]):
            before, logs = logs, logs | {int(n): log for n, log in step["logs"].items()}
            if i + 1 in self.steps:
                self._step(i + 1, step, [(before.get(int(n)), log) for n, log in step["logs"].items()])
        for line in lines:
            line.set("y2", str(self.y))
        if len(self.story["steps"]) in self.steps:
            self._ending()
        self.root.set("height", str(self.y))
        self.root.set("viewBox", f"0 0 {self.width} {self.y}")
        paper.set("height", str(self.y))
        indent(self.root)
        return tostring(self.root, encoding="unicode") + "\n"

    def _step(self, k: int, step: dict[str, Any], changed: list[tuple[Any, Any]]) -> None:
        if k in self.fixes:
            self._fix(self.fixes[k])
        sentence = self._wrapped(step["sentence"], self.right)
        owned = [(old, log) for old, log in changed if log["broker"] is not None and log["records"] is not None]
        height = max(LINE * len(sentence) + 12, 28 * len(owned) + 8, 34)
        middle = self.y + height // 2
        self._number(k, middle)
        self._marks(step, middle)
        top = middle - LINE * len(sentence) // 2 + 12
        for n, line in enumerate(sentence):
            self._text(self.words, top + n * LINE, line)
        for n, (old, log) in enumerate(owned):
            self._log(middle - 14 * len(owned) + 28 * n + 4, old, log)
        self.y += height

    def _number(self, k: int, middle: int) -> None:
        self._text(22, middle + 4, str(k), "soft", middle=True)
        if k in self.letters:
            end = k in self.ends
            self._shape("rect", "end" if end else "letter", x=38, y=middle - 9, width=18, height=18, rx=4)
            self._text(47, middle + 4, self.letters[k], "head on-end" if end else "head", middle=True)

    def _marks(self, step: dict[str, Any], y: int) -> None:
        x, colour = self.lifelines.get(step["lane"]), _colour(step["lane"])
        if x is None:
            return
        for name in step["partners"]:
            to = self.lifelines.get(name)
            if to is not None:
                way = 1 if to > x else -1
                self._shape("line", f"actor {colour}", x1=x, x2=to - way * 14, y1=y, y2=y)
                tip, back = to - way * 6, to - way * 15
                self._shape("path", colour, d=f"M{back},{y - 5} L{tip},{y} L{back},{y + 5} Z")
        if step["outside"]:
            self._shape("path", colour, d=f"M{x},{y - 8} L{x + 8},{y} L{x},{y + 8} L{x - 8},{y} Z")
        else:
            self._shape("circle", colour, cx=x, cy=y, r=6)

    def _log(self, y: int, old: Any, log: dict[str, Any]) -> None:
        """Draws a broker's log after a step. Records above the high watermark are dashed, and removed ones are red."""
        x = self.right + 12
        self._text(x, y + 14, f"broker {log['broker']}", _colour(f"broker {log['broker']}"))
        x += 70
        gone = (old["records"] or [])[len(log["records"]) :] if old else []
        for n, record in enumerate([*log["records"], *gone]):
            cut, mark = n >= len(log["records"]), log["high_watermark"]
            above = mark is not None and n >= mark
            shade = f"cell e{(record['epoch'] or 0) % SHADES}{' above' if above else ''}"
            self._shape("rect", "gone" if cut else shade, x=x + n * CELL, y=y, width=CELL - 3, height=20)
            known = "" if record["id"] is None else str(record["id"])
            words = "lost" if cut else f"#{known}/{record['epoch']}" if record["epoch"] is not None else f"#{known}"
            self._text(x + n * CELL + CELL // 2 - 1, y + 14, words, "small bad" if cut else "small", middle=True)
        if log["high_watermark"] is not None:
            at = x + log["high_watermark"] * CELL - 2
            self._shape("line", "mark", x1=at, x2=at, y1=y - 3, y2=y + 23)

    def _fix(self, fix: dict[str, Any]) -> None:
        letters = int((self.width - self.words) / BOLD_LETTER)
        whole = fix["title"], " ".join(fix["lines"][:1])
        lines = [line for part in whole for line in textwrap.wrap(part, letters, break_on_hyphens=False)]
        height = LINE * len(lines) + 12
        self._shape(
            "rect", "fix", x=self.words - 10, y=self.y + 3, width=self.width - self.words, height=height - 4, rx=5
        )
        for n, line in enumerate(lines):
            self._text(self.words, self.y + 18 + n * LINE, line, "good")
        self.y += height + 4

    def _ending(self) -> None:
        for each in self.story["falsified"][:1]:
            for line in textwrap.wrap(f"{each['name']} is false: {each['sentence']}", int((self.width - 40) / LETTER)):
                self.y += LINE + 6
                self._text(22, self.y, line, "bad")
        for line in textwrap.wrap(LEGEND, int((self.width - 40) / LETTER)):
            self.y += LINE + 4
            self._text(22, self.y, line, "soft")
        self.y += 14

    def _wrapped(self, text: str, right: int) -> list[str]:
        return textwrap.wrap(text, int((right - self.words) / LETTER), break_on_hyphens=False)

    def _shape(self, tag: str, kind: str, **attributes: Any) -> Element:
        return SubElement(self.root, tag, {"class": kind} | {name: str(value) for name, value in attributes.items()})

    def _text(self, x: int, y: int, words: str, kind: str = "", middle: bool = False) -> None:
        element = SubElement(self.root, "text", {"x": str(x), "y": str(y)})
        if kind:
            element.set("class", kind)
        if middle:
            element.set("text-anchor", "middle")
        element.text = clean(words)


def _colour(lifeline: str | None) -> str:
    kind, _, number = (lifeline or "").partition(" ")
    return f"b{int(number) % SHADES}" if kind != "controller" and number.isdigit() else "nobody"
