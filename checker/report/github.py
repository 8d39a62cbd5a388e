"""GitHub: workflow commands that mark lines of source, and the summary of a step in Markdown.

Commands: https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from isrcheck.checker.report.mermaid import mermaid
from isrcheck.checker.report.test_cases import Case

ICONS: Final = {"passed": "✅ holds", "failed": "❌ violated", "error": "⚠️ open", "skipped": "⏸️ not decided"}
LEVELS: Final = {"failed": "error", "error": "warning"}
LARGEST: Final = 1_000_000
"""The largest summary of a step, in bytes. GitHub refuses more than 1 MiB."""
LONGEST_DIAGRAM: Final = 45_000
"""The longest diagram, in characters. Mermaid refuses more than 50,000."""


def commands(cases: Sequence[Case]) -> list[str]:
    """A workflow command for each case whose outcome is `failed` or `error`."""
    return [_annotation(case) for case in cases if case.outcome in LEVELS]


def _annotation(case: Case) -> str:
    properties = {"title": f"isrcheck: {case.suite}: {case.name}"}
    if case.location is not None:
        lines = {"line": str(case.location.line), "endLine": str(case.location.end_line)}
        properties = {"file": case.location.file, **lines, **properties}
    fields = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{LEVELS[case.outcome]} {fields}::{_data(case.message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def summary(cases: Sequence[Case], title: str, headline: str) -> str:
    """The summary in Markdown: the verdict, a table of the cases, and each counterexample as a diagram and as text.

    A diagram that is too long for Mermaid is left out. If the summary is too large for GitHub, its end is left out.
    """
    head = [f"## {escaped(title)}", "", escaped(headline), "", "| | invariant | |", "|---|---|---|"]
    rows = [f"| {ICONS[c.outcome]} | {escaped(c.name)} | {escaped(c.message)} |" for c in cases]
    text = "\n".join([*head, *rows]) + "\n"
    if len(text.encode()) > LARGEST:
        return text.encode()[:LARGEST].decode(errors="ignore")
    for part in _counterexamples(cases):
        if len((text + part).encode()) > LARGEST:
            return text + "\nThe rest exceeds GitHub's size limit.\n"
        text += part
    return text


def _counterexamples(cases: Sequence[Case]) -> Iterator[str]:
    for case in cases:
        if case.trace is not None:
            yield f"\n### {escaped(case.name)}\n\n{escaped(case.rule)}\n"
            diagram = mermaid(case.trace, case.name)
            if len(diagram) <= LONGEST_DIAGRAM:
                yield f"\n{fenced(diagram, 'mermaid')}"
        if case.text:
            yield f"\n<details><summary>{escaped(case.message)}</summary>\n\n{fenced(case.text, 'text')}\n</details>\n"


def fenced(text: str, language: str) -> str:
    """A block of code in Markdown, fenced with more backticks than any run of backticks in the text."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}\n"


def escaped(text: str) -> str:
    r"""Text in one line, escaped so that Markdown shows it unchanged, also in a table.

    >>> print(escaped("a|b <i> `c`"))
    a\|b &lt;i> \`c\`
    """
    line = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;")
    return re.sub(r"([\\`*_{}\[\]#|~!@])", r"\\\1", line)
