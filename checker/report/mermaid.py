"""Traces as Mermaid sequence diagrams. Each step is an arrow with a note about the changes of the step.

The arrow leads from the step's actor to another broker (or other member) among the step's parameters. If there is none,
the arrow leads back to the actor. The steps that a lasso repeats are in a loop.

Syntax: https://mermaid.js.org/syntax/sequenceDiagram.html. In a diagram, a semicolon or a number sign ends a line, and
the word "end" closes a block. So special characters in the text of a model are written as entity codes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from isrcheck.checker.results.result import Result, Step, Trace, counterexample
from isrcheck.checker.results.state_text import differences, label_text

PLAIN: Final = re.compile(r"[A-Za-z0-9 _.,()=+/\[\]-]")
LONGEST: Final = 60
"""The most characters of a value in a note. Longer values are cut, because a diagram must be easy to read."""
OTHERS: Final = {"deadlock": "deadlock", "evaluation": "evaluation error"}
"""The titles of counterexamples that are not about an invariant or a property."""
STAYS: Final = "from here on nothing happens, for ever"
KEYWORD: Final = re.compile(r"(?i)\bend\b")


def mermaid(trace: Trace, title: str) -> str:
    """A sequence diagram of a trace, with a newline at its end."""
    return "\n".join(["sequenceDiagram", *(f"    {line}" for line in _lines(trace, title))]) + "\n"


def mermaid_of(result: Result) -> str | None:
    """A diagram of the counterexample that `counterexample` chooses from a result, or None if the result has none."""
    found = counterexample(result)
    if found is None:
        return None
    claim, name, trace = found
    return mermaid(trace, f"{result.model}: {name or OTHERS[claim]}")


def _lines(trace: Trace, title: str) -> Iterator[str]:
    lifelines: dict[str, str] = {}
    for step in trace.steps[1:]:
        for who in (_actor(step), _other(step)):
            lifelines.setdefault(who, f"P{len(lifelines)}")
    yield f"title {escaped(title)}"
    for who, lifeline in lifelines.items():
        yield f"participant {lifeline} as {escaped(who)}"
    if not lifelines:
        yield "participant P0 as start"
        yield "Note over P0: the first state"
    for i, step in enumerate(trace.steps[1:], 2):
        if trace.loop is not None and i == trace.loop + 2:  # the first step after the state in which the loop begins
            yield "loop for ever"
        what = "" if step.label is None else label_text(step.label)
        yield f"{lifelines[_actor(step)]}->>{lifelines[_other(step)]}: {i}. {escaped(what)}"
        changes = differences(trace.variables, trace.steps[i - 2].state, step.state)
        note = "<br/>".join(f"{escaped(path)} #8594; {escaped(_short(new))}" for path, _, new in changes)
        yield f"Note over {lifelines[_actor(step)]}: {note or 'nothing changes'}"
    if trace.loop is not None:
        yield f"Note over P0: {STAYS}" if trace.loop == trace.length - 1 else "end"


def _actor(step: Step) -> str:
    return step.actor or "somebody"


def _other(step: Step) -> str:
    """The first broker (or other member) in the parameters that is not the actor, or else the actor."""
    if step.label is None:
        return _actor(step)
    return next((who for who in map(str, step.label.members()) if who != step.actor), _actor(step))


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def escaped(text: str) -> str:
    """Text for a diagram, with special characters as entity codes.

    >>> escaped("a;b #1 <end>")
    'a#59;b #35;1 #60;#101;nd#62;'
    """
    found = "".join(c if PLAIN.fullmatch(c) else f"#{ord(c)};" for c in " ".join(text.split()))
    return KEYWORD.sub(lambda m: f"#{ord(m[0][0])};{m[0][1:]}", found)
