"""The text of a comparison of two models: behaviours that only one model has, and how they end in the other model."""

from __future__ import annotations

from isrcheck.checker.analysis.inclusion.endings import Ending, Endings
from isrcheck.checker.analysis.inclusion.inclusion_check import Comparison, OneWay, changed_settings
from isrcheck.checker.report.counterexample_text import trace_text
from isrcheck.checker.report.story_text import MOST, WIDTH, story_text, wrapped
from isrcheck.checker.results.state_text import label_text
from isrcheck.checker.results.story import Read
from isrcheck.checker.results.text_layout import PLAIN, Ink, columns, plural

INNER = "     "


def headline(found: Comparison, ink: Ink = PLAIN) -> str:
    """The verdict of a comparison in one line."""
    word, style = {0: ("SAME", "good"), 10: ("DIFFERENT", "bad")}.get(found.exit_code, ("INCOMPLETE", "open"))
    return f"{ink(style, word)}  {found.a.name} -> {found.b.name}: {inclusion_summary(found)}"


def inclusion_summary(found: Comparison) -> str:
    """A short summary of which behaviours are new and which are gone."""
    apart = f" ({', '.join(found.apart)} cannot be compared)" if found.apart else ""
    if found.new.verdict == found.gone.verdict == "none":
        return f"no behaviour is new or gone{apart}"
    return f"{_way_summary(found.new, 'new')}; {_way_summary(found.gone, 'gone')}{apart}"


def _way_summary(way: OneWay, word: str) -> str:
    if way.verdict == "none":
        return f"no behaviour is {word}"
    if way.endings is None:
        return f"no behaviour of up to {plural(way.depth or 0, 'state')} is {word}"
    return f"a behaviour of {plural(way.endings.trace.length, 'state')} is {word}: {_last(way.endings)}"


def _last(endings: Endings) -> str:
    label = endings.trace.steps[-1].label
    return "its first state" if label is None else label_text(label)


def inclusion_text(found: Comparison, ink: Ink = PLAIN, plain: bool = False) -> list[str]:
    """The lines of the whole report on a comparison."""
    lines = [headline(found, ink)]
    changed = [
        f"{name} {one or 'none'} -> {other or 'none'}" for name, one, other in changed_settings(found.a, found.b)
    ]
    lines += _list("settings that differ", tuple(changed)) + _list("visible", found.visible)
    lines += _list("not compared", found.hidden)
    looked = [f"{plural(way.pairs, 'pair')} for {word} behaviours" for way, word in _ways(found)]
    lines += [f"explored: {', '.join(looked)}"]
    for way, word in _ways(found):
        mine, other = (found.b.name, found.a.name) if word == "new" else (found.a.name, found.b.name)
        if way.endings is not None:
            lines += ["", ink("head", f"{word.capitalize()}: {mine} allows this, {other} does not")]
            lines += endings_text(way.endings, mine, other, ink, plain)
        elif way.verdict == "incomplete":
            lines += ["", _open(way, word)]
    return lines


def _ways(found: Comparison) -> tuple[tuple[OneWay, str], tuple[OneWay, str]]:
    return (found.new, "new"), (found.gone, "gone")


def _list(head: str, names: tuple[str, ...]) -> list[str]:
    lines = wrapped(", ".join(names), WIDTH - len(head) - 2) if names else []
    return [(f"{head}: " if i == 0 else " " * (len(head) + 2)) + line for i, line in enumerate(lines)]


def _open(way: OneWay, word: str) -> str:
    why = {
        "pairs": "--max-pairs is reached",
        "time": "--max-seconds is reached",
        "memory": "the memory limit is reached",
    }
    known = f"no behaviour of up to {plural(way.depth or 0, 'state')} is {word}"
    return f"Undecided: {known}; longer behaviours are unknown: {why[way.stopped or 'pairs']}"


def endings_text(endings: Endings, mine: str, other: str, ink: Ink = PLAIN, plain: bool = False) -> list[str]:
    """The lines of a behaviour: its steps in one model (`mine`), and how it ends in the model `other`."""
    lines = trace_text(endings.trace, ink) if plain else story_text(endings.story, endings.trace, ink)
    if endings.other is None:
        return [*lines, "", f"{other} has no such initial state"]
    lines += ["", f"{ink('head', other)} {_same_so_far(endings)}"]
    if not endings.same_steps:
        labels = (step.label for step in endings.other.steps)
        texts = ", ".join(label_text(label) for label in labels if label is not None)
        lines += [INNER + line for line in wrapped(texts or "from its initial state", WIDTH - len(INNER))]
    return lines + [INNER + line for line in ending_text(endings.ending, mine, other)]


def _same_so_far(endings: Endings) -> str:
    assert endings.other is not None
    steps = "by the same steps" if endings.same_steps else "by other steps"
    return (
        f"shows the same so far in {plural(endings.other.length, 'state')}, {steps}, and then cannot "
        "continue like this:"
    )


def ending_text(ending: Ending, mine: str, other: str) -> list[str]:
    """The lines on the last step of a behaviour: how the model `other` refuses it, does it differently, or lacks it."""
    if ending.how == "absent":
        return [f"it has no such step{f' ({ending.step} does not act)' if ending.step else ''}"]
    if ending.how == "elsewhere":
        rows = [(d.path, f"{d.here} in {mine}, {d.fixed} in {other}") for d in ending.differs[:MOST]]
        return [f"{ending.step} behaves differently", *columns(rows), *_more(len(ending.differs))]
    source = " ".join(wrapped(ending.source or "", WIDTH))
    said = "" if not ending.condition or len(ending.condition) > WIDTH else f": {ending.condition}"
    why = ", only because of a bound: raise the bounds" if ending.room else ""
    lines = [
        f"{ending.step} is refused{why}",
        *(f"  {x}" for x in wrapped(f"{ending.where}  {source} is false{said}", 100)),
    ]
    return [*lines, *columns(map(_read, ending.reads[:MOST]), "    "), *_more(len(ending.reads))]


def _read(read: Read) -> tuple[str, str, str]:
    return read.path, read.value, "from the start" if read.since == 1 else f"since {read.since}"


def _more(count: int) -> list[str]:
    return [f"    and {count - MOST} more"] if count > MOST else []
