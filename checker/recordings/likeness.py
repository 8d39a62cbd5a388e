"""Finds the shipped scenarios whose paths resemble a given path. Only the number of steps of each action counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from isrcheck.checker.results import Trace
from isrcheck.checker.scenarios import collection
from isrcheck.checker.scenarios.scenario import read
from isrcheck.checker.traces.files import read as read_traces

TRACE: Final = "trace.itf.json"
SHOWN: Final = 3
LEAST: Final = 0.3
"""Two paths resemble each other if their `share` of common steps (0 to 1) is at least this."""


@dataclass(frozen=True)
class Likeness:
    """A scenario, and the share of steps that it has in common with a path (see `share`).

    The share is 1 if both have the same actions, each action equally often.
    """

    scenario: str
    title: str
    share: float

    def to_json(self) -> dict[str, Any]:
        return {"scenario": self.scenario, "title": self.title, "share": round(self.share, 2)}


def resembled(model: str, trace: Trace) -> tuple[Likeness, ...]:
    """At most `SHOWN` shipped scenarios of a model that resemble a trace, the most similar scenario first."""
    own = Counter(step.label.action for step in trace.steps[1:] if step.label is not None)
    found = [Likeness(name, title, share(own, actions)) for name, title, actions in _recorded(model)]
    alike = [each for each in found if each.share >= LEAST]
    return tuple(sorted(alike, key=lambda each: (-each.share, each.scenario))[:SHOWN])


def share(one: Counter[str], other: Counter[str]) -> float:
    """The size of the intersection of two bags, divided by the size of their union. It is 0 for two empty bags.

    >>> share(Counter("aab"), Counter("abb"))
    0.5
    """
    together = (one | other).total()
    return (one & other).total() / together if together else 0.0


def _recorded(model: str) -> Iterator[tuple[str, str, Counter[str]]]:
    """The shipped scenarios of a model that have a recorded path: the name, title and actions of each scenario."""
    for folder, root in collection.folders((str(collection.shipped()),)):
        if (folder / TRACE).is_file():
            scenario = read(folder, root)
            if scenario.model == model:
                states = read_traces(folder / TRACE).recordings[0].states
                yield scenario.name, scenario.title, Counter(x["action"] for x in states[1:] if "action" in x)
