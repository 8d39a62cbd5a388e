"""The text on why a trace ends as it does: the facts behind the end, the steps behind the facts, and the fixes.

A fix is another design, or other settings. It acts at the step that it refuses, lacks, or does differently.

A trace as the text of a story: for each step the actor, the sentence, the changes, and the changed logs.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from isrcheck.checker.results.result import Trace
from isrcheck.checker.results.state_text import label_text, parts
from isrcheck.checker.results.story import (
    Cause,
    Causes,
    Change,
    DrawnLog,
    Fact,
    Fix,
    FixSearch,
    Read,
    Sentence,
    Story,
    TriedValue,
)
from isrcheck.checker.results.text_layout import PLAIN, Ink, columns, plural

WIDTH: Final = 118
GLUE: Final = "\N{NO-BREAK SPACE}"
LEGEND: Final = "Logs: the record at each offset as #id/epoch; what lies before || is below the high watermark"


def story_text(story: Story, trace: Trace, ink: Ink = PLAIN) -> list[str]:
    """The lines of a story: the first state, then each step under its sentence."""
    drawn = [log for each in story.sentences for log in each.logs]
    lines = _legend(drawn or list(story.start))
    indent = 5 + max((len(lifeline.title) for lifeline in story.lifelines), default=0) + 2
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
    head = f"{sentence.position:>3}  {sentence.lifeline.title}".ljust(indent)
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


MOST: Final = 5
"""At most this many facts, reasons, rules, settings, or differing values are shown. The others are only counted."""
MOST_READ: Final = 9
"""At most this many values that a step has read are shown.

The number is greater than `MOST`, because a value late in the list may be decisive.
"""
NUMBERS: Final = ("", "", "Two things", "Three things", "Four things", "Five things")
INNER: Final = " " * 8


def causes_text(causes: Causes | None, story: Story | None, fixes: Sequence[Fix] = ()) -> list[str]:
    """The lines about a violation's reasons, with the steps where fixes act.

    Shows the last `MOST` reasons, and only counts the earlier ones.
    """
    if causes is None:
        return []
    sentences = {} if story is None else {sentence.position: sentence.sentence for sentence in story.sentences}
    count = len(causes.causes)
    acting = {fix.step for fix in fixes if fix.step is not None}
    lines = [_head(count, causes.at_once)] if count else []
    if count > MOST:
        earlier = causes.causes[: count - MOST]
        lines.append(f"     {plural(len(earlier), 'thing')} by step {span(each.end for each in earlier)}")
    for reason in causes.causes[-MOST:]:
        lines += _cause_lines(reason, sentences.get(reason.end, ""), acting)
    if causes.from_the_start:
        lines += _after(f"{'':>6}  ", f"and from the start: {_facts(causes.from_the_start)}")
    return lines


def _head(count: int, at_once: Sequence[int]) -> str:
    if count == 1:
        return f"  One thing led there{f', and then step {span(at_once)}' if at_once else ''}:"
    what = NUMBERS[count] if count < len(NUMBERS) else f"{count} things"
    return f"  {what} came together{f', and step {span(at_once)} made of them what is wrong' if at_once else ''}:"


def _cause_lines(reason: Cause, sentence: str, acting: set[int]) -> list[str]:
    way = [step for step in reason.steps if step != reason.end]
    here = acting.intersection(way)
    by = f" By way of {span(way)}{f', where a fix acts at {span(here)}' if here else ''}." if way else ""
    head = _after(f"{reason.end:>6}  ", _facts(reason.facts))
    return head + _after(INNER, f"{sentence}{by}".strip())


def _facts(facts: Sequence[Fact]) -> str:
    more = len(facts) - MOST
    return "; ".join(fact.text for fact in facts[:MOST]) + (f"; and {more} more" if more > 0 else "")


def _after(head: str, text: str) -> list[str]:
    lines = wrapped(text, WIDTH - len(head)) if text else []
    return [(head if i == 0 else " " * len(head)) + line for i, line in enumerate(lines)]


def span(steps: Iterable[int]) -> str:
    """The numbers of steps as text, in order. Three or more consecutive numbers are joined.

    >>> span([2, 4, 5, 6, 9, 10])
    '2, 4 to 6, 9, 10'
    """
    runs: list[list[int]] = []
    for step in sorted(steps):
        if runs and step == runs[-1][-1] + 1:
            runs[-1].append(step)
        else:
            runs.append([step])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)


def fix_text(fix: Fix) -> list[str]:
    """The lines about a fix: its model or settings, the step at which it acts, and how this step differs with the fix.

    If the fix allows every step, the lines say this, and say how the trace then ends.
    """
    if fix.how == "allows":
        return _allowed(fix) + _singly(fix)
    how = {"refused": "it refuses this step", "absent": "it has no such step", "differs": "it does otherwise"}[fix.how]
    lines = [f"  The fix acts at step {fix.step} ({who(fix)}): {how}"]
    for name, meaning in fix.rules[:MOST]:
        lines += _after("     ", f"{name}: {meaning}" if meaning else "")
    lines += _more(fix.rules)
    if fix.where is not None:
        each = "" if fix.condition is None or len(fix.condition) > WIDTH else f": {fix.condition}"
        lines += _after("     ", f"{fix.where}  {fix.source} is false{each}")
    if fix.enabled:
        lines += _after("     ", f"possible there instead: {_some(fix.enabled)}")
    lines += columns(((d.path, f"{d.here} here, {d.fixed} with the fix") for d in fix.differs[:MOST]), "     ")
    lines += _more(fix.differs) + _reads(fix.reads)
    if fix.rests_on:
        lines += [f"  step {fix.step} computed that from", *_reads(fix.rests_on)]
    return lines + _singly(fix)


def _singly(fix: Fix) -> list[str]:
    """The lines that say, for each change of a fix, what this change alone would do."""
    ends = {"holds": "the invariant holds at the end", "violated": "the violation is there", None: "the end is reached"}
    rows = []
    for alone in fix.singly:
        acts = (
            f"allows every step, and {ends[alone.verdict]}" if alone.how == "allows" else f"acts at step {alone.step}"
        )
        rows.append((who(alone), acts))
    return ["  Of its changes alone", *columns(rows, "     ")] if rows else []


def who(fix: Fix) -> str:
    """The name of a fixed design, and the settings that it changes."""
    changes = ", ".join(f"{name} = {fixed}" for name, _, fixed in fix.changes[:MOST])
    more = len(fix.changes) - MOST
    about = f"{changes}{f' and {more} more' if more > 0 else ''}"
    return "; ".join(dict.fromkeys(part for part in (fix.fixed_version, about) if part))


def _allowed(fix: Fix) -> list[str]:
    ends = {"holds": "and the invariant holds at the end", "violated": "to the violation", None: "to the end"}
    lines = [f"  The fix ({who(fix)}) allows every step, {ends[fix.verdict]}"]
    if fix.enabled and fix.verdict != "violated":
        lines += _after("     ", f"there it can go on: {_some(fix.enabled)}")
    return lines


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    return ", ".join(names[:MOST]) + more


def fix_search_text(found: FixSearch | None) -> list[str]:
    """The lines about the outcomes if one setting has another value."""
    if found is None:
        return []
    total = found.passing + len(found.tried)
    lines = [f"  Of {plural(total, 'other value')} of one setting {found.passing} let this trace pass."]
    if found.tried:
        lines[0] += " The rest, within the same bounds:"
    groups: dict[str, dict[str, list[str]]] = {}
    for each in found.tried:
        groups.setdefault(_outcome(each, found.length), {}).setdefault(each.setting, []).append(_value(each))
    for outcome in sorted(groups):
        rows = "; ".join(f"{name} = {', '.join(values)}" for name, values in groups[outcome].items())
        lines += _after(f"     {outcome[1:]:<38}  ", rows)
    return lines


def _outcome(each: TriedValue, length: int) -> str:
    """The result of a search with another value of a setting, as text. The first letter is only a key for sorting."""
    if each.verdict == "holds":
        return "bno violation, but a goal is lost" if each.lost else "ano violation"
    if each.verdict == "incomplete" or each.length is None:
        return "eno violation before the search stopped"
    return "canother way, longer" if each.length > length else "danother way"


def _value(each: TriedValue) -> str:
    return each.value if each.length is None else f"{each.value} ({each.length} states)"


def _reads(reads: Sequence[Read]) -> list[str]:
    """The lines about values that a step has read. Values that changed last come first, because they matter most."""
    last = sorted(reads, key=lambda read: -read.since)
    rows = ((r.path, r.value, "from the start" if r.since == 1 else f"since {r.since}") for r in last[:MOST_READ])
    more = len(reads) - MOST_READ
    return columns(rows, "     ") + ([f"     and {more} more"] if more > 0 else [])


def _more(found: Sequence[object]) -> list[str]:
    return [f"     and {len(found) - MOST} more"] if len(found) > MOST else []
