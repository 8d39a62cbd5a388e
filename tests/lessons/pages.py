"""The lessons of `counterexamples/lessons`: handwritten pages with parts that the checker generates.

A part begins with `<!-- trace: SCENARIO -->` or `<!-- run: isrcheck ... -->` and ends with `<!-- end -->`.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from click.testing import CliRunner

from isrcheck.checker.cli import main
from isrcheck.checker.cli.replay import replayed_file
from isrcheck.checker.report.story_text import log_lines, story_text
from isrcheck.checker.results.result import Trace
from isrcheck.checker.results.state_text import label_text
from isrcheck.checker.results.story import Story
from isrcheck.checker.scenarios.scenario import ITF, TEXT
from tests.scenarios.shipped import FOLDERS

SCENARIOS: Final = Path(__file__).parent.parent.parent / "counterexamples"
LESSONS: Final = SCENARIOS / "lessons"
FOR_EVER: Final = "From here on"
"""The beginning of the line before the loop of a lasso."""
PART: Final = re.compile(r"^<!-- (trace|run): (.+?) -->\n(.*?)^<!-- end -->$", re.S | re.M)


def pages() -> list[Path]:
    return sorted(LESSONS.glob("*.md"))


def generated(page: str) -> list[tuple[str, str, str]]:
    """The generated parts of a page: for each its kind, its argument, and its present text."""
    return [(found[1], found[2], found[3]) for found in PART.finditer(page)]


def renewed(page: str, made: Callable[[str, str], str]) -> str:
    """The page with all generated parts renewed that can be generated on this machine."""

    def part(found: re.Match[str]) -> str:
        text = made(found[1], found[2]) if can_be_made(found[2]) else found[3]
        return f"<!-- {found[1]}: {found[2]} -->\n{text}<!-- end -->"

    return PART.sub(part, page)


def can_be_made(of: str) -> bool:
    """True if the tools for a part are installed: parts with Kafka's own classes need Java and Maven."""
    return not of.startswith("isrcheck conform ") or None not in (shutil.which("java"), shutil.which("mvn"))


def made(kind: str, of: str) -> str:
    """The text of a generated part."""
    return trace(of) if kind == "trace" else run(of)


def run(command: str) -> str:
    """A command with its output. `printf LINES |` before the command gives its input."""
    typed, _, asked = command.rpartition(" | ")
    program, *arguments = shlex.split(asked)
    assert program == "isrcheck", command
    lines = CliRunner().invoke(main, arguments, input=_printed(typed)).stdout.splitlines()
    return _block("console", [f"$ {command}", *lines])


def _printed(command: str) -> str:
    """The output of `printf` for one word without formats."""
    if not command:
        return ""
    program, word = shlex.split(command)
    assert program == "printf", command
    assert "%" not in word, command
    return word.replace("\\n", "\n")


def trace(scenario: str) -> str:
    """The recorded trace of a scenario: the sentences and the logs, without the names of actions and variables."""
    reported = replayed_file(str(FOLDERS[scenario] / ITF), None, {}, None, {})[1][0]
    assert reported.story is not None
    lines = [f"$ isrcheck check --scenario {scenario}", "[...]", *_said(reported.story, reported.outcome.trace)]
    return _block("console", [*lines, "[...]", *_why(scenario)])


def _said(story: Story, trace: Trace) -> Iterator[str]:
    """The logs of the first state, then each step without its label and with only the changes of logs."""
    reported = "\n".join(story_text(story, trace)).split("\n\n")
    blocks = [block.split("\n") for block in reported if not block.startswith(FOR_EVER)]
    yield "  1  initial state"
    yield from log_lines(story.start, "     ")
    for sentence, block in zip(story.sentences, blocks[-len(story.sentences) :], strict=True):
        label = label_text(sentence.label)
        yield from block[: next(i for i, line in enumerate(block) if line.strip() == label)]
        yield from block[len(block) - len(sentence.redrawn) :]


def _why(scenario: str) -> list[str]:
    """The recorded text on the first false invariant in the last state, and on the steps that caused this."""
    lines = (FOLDERS[scenario] / TEXT).read_text().splitlines()
    for i, line in enumerate(lines):
        if line.startswith(FOR_EVER):  # a lasso: what goes on for ever, and what is false of that
            return [line for line in lines[i:] if line.strip()]
    heads = [i for i, line in enumerate(lines) if " is false there: " in line]
    first, following = [*heads, len(lines)][:2]
    return [line for line in lines[first:following] if line.strip()]


def _block(language: str, lines: list[str]) -> str:
    return "\n".join([f"```{language}", *(line.rstrip() for line in lines), "```"]) + "\n"
