"""Finds the last state of a trace in which an invariant's `last_held` condition was true.

The decorator `last_held` adds such a condition to an invariant: for example, that every member of the ISR has the
record.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from isrcheck.checker.results import Held, Instance, Trace
from isrcheck.model.language import Model
from isrcheck.model.language.telling import SeenState


def last_held(model: Model, predicate: Callable[..., Any], trace: Trace, instance: Instance) -> Held | None:
    """The last state in which the `last_held` condition of an invariant is true.

    Returns None if the invariant has no such condition. If the condition is false in all states of the trace, the
    `state` of the result is None.
    """
    words = getattr(predicate, "__last_held__", None)
    if words is None:
        return None
    what, holds = words
    last, choice = SeenState(model, trace.steps[-1].state), dict(instance.choice)
    positions = [i for i, s in enumerate(trace.steps, 1) if holds(model, SeenState(model, s.state), last, **choice)]
    return Held(what, positions[-1] if positions else None)
