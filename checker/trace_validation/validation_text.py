"""Shows the answer about a recording: the story with the line of each step, and reasons for unexplained lines."""

from __future__ import annotations

from dataclasses import replace

from isrcheck.checker.report.counterexample_text import steps_text
from isrcheck.checker.results.result import Trace
from isrcheck.checker.results.story import Story
from isrcheck.checker.results.text_layout import PLAIN, Ink, columns, number, plural, printable
from isrcheck.checker.trace_validation.validation_result import Answer, Explanation, Frontier, MatchedLines, Objection
from isrcheck.model.language.model import Model
from isrcheck.model.semantics.transition_system import shown

WORDS = {"explained": "EXPLAINED", "unexplained": "NOT EXPLAINED", "incomplete": "INCOMPLETE"}
STYLES = {"explained": "good", "unexplained": "bad", "incomplete": "open"}


def headline(answer: Answer, ink: Ink = PLAIN) -> str:
    """The verdict about a recording, with its main numbers, in one line."""
    word = ink(STYLES[answer.verdict], WORDS[answer.verdict])
    return f"{word}  {answer.file}: {_what(answer)}"


def _what(answer: Answer) -> str:
    found, frontier = answer.explanation, answer.frontier
    if found is not None:
        steps = plural(found.trace.length - 1, "step")
        hidden = f"{found.hidden} of them hidden" + (f", at most {found.in_a_row} in a row" if found.hidden else "")
        broken = f"; violated: {', '.join(found.violated)}" if found.violated else ""
        return f"{plural(answer.lines, 'line')} in {steps} of {answer.model}, {hidden}{broken}"
    explained = 0 if frontier is None else frontier.explained
    of = f"{number(explained)} of {plural(answer.lines, 'line')}"
    if answer.verdict == "incomplete":
        return f"{answer.reason}; {of} explained so far, {number(answer.visited)} states visited"
    assert frontier is not None
    first = f"; {frontier.refused[0].line.title} is refused" if frontier.refused else ""
    return f"{of} by {answer.model}{first}"


def report_text(answer: Answer, ink: Ink = PLAIN, plain: bool = False) -> list[str]:
    """The whole answer as lines of text."""
    lines = [headline(answer, ink)]
    settings = ", ".join(f"{name}={shown(value)}" for name, value in answer.settings.items())
    lines += [f"  {plural(answer.visited, 'state')} visited, at most {answer.at_most} hidden steps in a row"]
    lines += [f"  settings: {settings}"]
    if answer.explanation is not None:
        lines += _explanation(answer.explanation, ink, plain)
    elif answer.frontier is not None:
        lines += _frontier(answer, answer.frontier, ink, plain)
    return lines


def _explanation(found: Explanation, ink: Ink, plain: bool) -> list[str]:
    lines = [
        "",
        ink("head", "A possible behaviour"),
        *_story_lines(found.trace, found.story, found.matched, ink, plain),
    ]
    lines += ["", ink("head", "Invariants on the way")]
    lines += [f"  {ink('bad', name)} is false in state {state}" for name, state in found.violated.items()]
    lines += [f"  {', '.join(found.holds)}: true in every state"] if found.holds else []
    lines += [f"  {', '.join(found.unchecked)}: not checked, undefined with these settings"] if found.unchecked else []
    if found.similar_scenarios:
        lines += ["", ink("head", "Scenarios with similar actions")]
        lines += columns((each.scenario, f"{each.share:.0%}", each.title) for each in found.similar_scenarios)
    return lines


def _frontier(answer: Answer, found: Frontier, ink: Ink, plain: bool) -> list[str]:
    lines = ["", ink("head", f"Explained: {found.explained} of {plural(answer.lines, 'line')}")]
    return [
        *lines,
        *_story_lines(found.trace, found.story, found.matched, ink, plain),
        "",
        *_ending(answer, found, ink),
    ]


def _ending(answer: Answer, found: Frontier, ink: Ink) -> list[str]:
    """Text on the next line of each process log (why it cannot happen, or must wait), and on steps that can happen."""
    ends = "cannot happen there" if answer.verdict == "unexplained" else "is not explained so far"
    lines = [ink("head", f"What comes next in each lane, and {ends}")]
    for each in found.refused:
        seen = f": {printable(each.line.text)}" if each.line.text else ""
        lines += [f"  {ink('bad', each.line.title)} (line {each.line.row} of the file){seen}"]
        for reason in each.reasons:
            lines += _reason(reason)
    if answer.verdict == "unexplained" and answer.reason is not None:
        lines += [f"  {answer.reason}"]
    if found.waiting:
        lines += [f"  after these: {', '.join(line.title for line in found.waiting)}"]
    others = (
        f", and in {plural(found.states - 1, 'other state')} with as many lines explained" if found.states > 1 else ""
    )
    lines += [f"  seen in state {found.trace.length}{others}"]
    if found.nearest:
        lines += ["", ink("head", f"What can happen in state {found.trace.length}")]
        lines += [f"  {each}" for each in found.nearest]
    return lines


def _reason(reason: Objection) -> list[str]:
    about = "" if reason.label is None else f"{reason.label}: "
    where = "" if reason.where is None else f" ({reason.where})"
    return [f"    {about}{reason.what}{where}", *columns(reason.values, "      ")]


def _story_lines(trace: Trace, story: Story, matched: tuple[MatchedLines, ...], ink: Ink, plain: bool) -> list[str]:
    """The trace as text. With `plain`, the text shows variables, and does not name the lines of the recording.

    Otherwise the text is a story. Each step names the lines that it explains. If the initial state explains lines, a
    line of text before the story names them.
    """
    noted = [
        replace(sentence, text=f"{sentence.text} [{note(matched[sentence.position - 1])}]")
        for sentence in story.sentences
    ]
    shown = steps_text(trace, None if plain else replace(story, sentences=tuple(noted)), ink)
    return shown if plain else [*(f"  {text}" for text in _at_first(matched)), *shown]


def _at_first(matched: tuple[MatchedLines, ...]) -> list[str]:
    """A sentence about the lines that the initial state explains. Empty if this state explains no lines."""
    held = matched[0].held if matched else ()
    return [f"the initial state explains {', '.join(line.title for line in held)}"] if held else []


def note(matched: MatchedLines) -> str:
    """Names the line of a step, then the other lines that the next state explains: `controller 3; then broker 2`.

    A line is named by its process log and order. For a step without a line, the text begins with `hidden`.
    """
    step = "hidden" if matched.step is None else matched.step.title
    return step + (f"; then {', '.join(line.title for line in matched.held)}" if matched.held else "")


def page_of(answer: Answer, model: Model) -> str:
    """The answer as an HTML page."""
    from isrcheck.checker.report.pages.page import page
    from isrcheck.checker.report.pages.trace_data import page_trace, setting_data

    stories = {}
    part = answer.explanation or answer.frontier
    if part is not None:
        data = page_trace(model, part.trace)
        for step, matched in zip(data["steps"][1:], part.matched[1:], strict=True):
            step["sentence"] += f" [{note(matched)}]"
        ending = [] if answer.frontier is None else _ending(answer, answer.frontier, PLAIN)
        said = [headline(answer), *_at_first(part.matched), *ending]
        stories["1"] = {**data, "title": WORDS[answer.verdict].capitalize(), "falsified": [], "refused": said}
    settings = [setting_data(model, name) for name in answer.settings]
    return page("show.html", stories, file=answer.file, model=answer.model, settings=settings, stories=stories)
