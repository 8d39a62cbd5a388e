"""A trace as the text of a story: for each step the actor, the sentence, the changes, and the changed logs."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator
from typing import Final

from isrcheck.checker.results import Trace
from isrcheck.checker.told import Change, DrawnLog, Sentence, Story
from isrcheck.checker.wording.layout import PLAIN, Ink, columns
from isrcheck.checker.wording.values import label_text, parts

WIDTH: Final = 118
GLUE: Final = "\N{NO-BREAK SPACE}"
LEGEND: Final = "Logs: the record at each offset as #id/epoch; what lies before || is below the high watermark"


def story_text(story: Story, trace: Trace, ink: Ink = PLAIN) -> list[str]:
    """The lines of a story: the first state, then each step under its sentence."""
    drawn = [log for told in story.sentences for log in told.logs]
    lines = _legend(drawn or list(story.start))
    indent = 5 + max((len(lane.title) for lane in story.lanes), default=0) + 2
    lines += ["", f"  1  {ink('head', 'initial state')}", *columns(_start(story, trace), "     ")]
    lines += log_lines(story.start, "     ")
    for sentence in story.sentences:
        lines += [*for_ever(trace, sentence.position, ink), "", *_step(sentence, indent, ink)]
    return [*lines, *for_ever(trace, trace.length + 1, ink)]


def _legend(logs: list[DrawnLog]) -> list[str]:
    if all(log.records is None for log in logs):
        return []
    members = "; * marks members of the ISR" if any(log.member is not None for log in logs) else ""
    return ["", *wrapped(f"{LEGEND}{members}.", WIDTH - 4)]


def for_ever(trace: Trace, position: int, ink: Ink) -> list[str]:
    """The lines about a lasso's loop that belong before state number `position` (counted from 1).

    If `position` is one greater than the number of states, these are the lines at the end.
    """
    if trace.loop is None:
        return []
    if position == trace.length + 1:
        stays = "From here on nothing happens, for ever."
        return ["", ink("head", stays if trace.stays else f"This is state {trace.loop + 1} again, and so on.")]
    return ["", ink("head", "From here on, for ever:")] if position == trace.loop + 2 else []


def _start(story: Story, trace: Trace) -> Iterator[tuple[str, str]]:
    """The parts of the first state that are not shown as drawn logs."""
    return ((path, value) for path, value in parts(trace.variables, trace.steps[0].state) if not _is_drawn(path, story))


def _is_drawn(path: str, story: Story) -> bool:
    return path.startswith("log[") and any(log.records is not None for log in story.start)


def _step(sentence: Sentence, indent: int, ink: Ink) -> list[str]:
    head = f"{sentence.position:>3}  {sentence.lane.title}".ljust(indent)
    text = wrapped(sentence.sentence, WIDTH - indent)
    inner = " " * indent
    lines = [head + ink("head", text[0]), *(inner + ink("head", line) for line in text[1:])]
    lines.append(f"{inner}{label_text(sentence.label)}")
    redrawn = [sentence.logs[k] for k in sentence.redrawn]
    rows = [(change.path, f"{change.old} -> {change.new}") for change in _undrawn(sentence)]
    if not sentence.changes:
        rows = [("nothing changes",)]  # type: ignore[list-item]
    return [*lines, *columns(rows, inner), *log_lines(redrawn, inner)]


def wrapped(sentence: str, width: int) -> list[str]:
    """The lines of a sentence. Sets and changes such as `0 -> 1` stay on one line."""
    kept = re.sub(r"\{[^{}]*\}", lambda found: found[0].replace(" ", GLUE), sentence).replace(" -> ", f"{GLUE}->{GLUE}")
    lines = textwrap.wrap(kept, width, break_long_words=False, break_on_hyphens=False)
    return [line.replace(GLUE, " ") for line in lines]


def _undrawn(sentence: Sentence) -> Iterable[Change]:
    """The changes of a step that the drawn logs do not show."""
    records = any(log.records is not None for log in sentence.logs)
    for change in sentence.changes:
        drawn = change.path.startswith("log[") or change.path.endswith("].high_watermark")
        if not (records and drawn):
            yield change


def log_lines(logs: Iterable[DrawnLog], indent: str) -> list[str]:
    """A line for each log: the broker, its role and leader epoch, the records, the high watermark and the log end."""
    return columns((_log(log) for log in logs), indent)


def _log(log: DrawnLog) -> tuple[str, ...]:
    member = "" if log.member is None else " *" if log.member else "  "
    place = "" if log.partition is None else f"partition {log.partition}, "
    ends = f"high watermark {log.high_watermark}, " if log.high_watermark is not None else ""
    return f"{place}broker {log.broker}{member}", _role(log), _records(log), f"{ends}log end {log.log_end}"


def _role(log: DrawnLog) -> str:
    if log.role is None:
        return ""
    words = {"leader": "leads", "follower": f"follows {'nobody' if log.leader is None else log.leader}", "none": "idle"}
    return words.get(log.role, log.role) + (f" in epoch {log.epoch}" if log.epoch is not None else "")


def _records(log: DrawnLog) -> str:
    """The records of a log by offset, with `||` at the high watermark: `[#0/0 || #1/0]`."""
    if log.records is None:
        return ""
    cells = [_record(r.id, r.epoch) for r in log.records]
    if log.high_watermark is None:
        return "[" + " ".join(cells) + "]"
    below, above = cells[: log.high_watermark], cells[log.high_watermark :]
    return "[" + " ".join([*below, "||", *above]) + "]"


def _record(number: int | None, epoch: int | None) -> str:
    return f"#{'' if number is None else number}" + ("" if epoch is None else f"/{epoch}")
