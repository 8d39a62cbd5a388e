"""A trace as a story: who acts at each step, the sentence for it, what changes, and the logs as they are then.

All of it is data with `to_json`; how it is drawn is for `isrcheck.checker.reports.story`, or a page, to decide.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Final

from isrcheck.checker.engines.interpreter import Interpreter
from isrcheck.checker.reports.values import differences
from isrcheck.checker.results import Trace
from isrcheck.checker.traces.files import Recording, decoded, from_json
from isrcheck.checker.traces.logs import DrawnLog, logs
from isrcheck.checker.traces.replay import replay
from isrcheck.model.language import Model
from isrcheck.model.language.domains import Broker, BrokerSet
from isrcheck.model.language.system import Label
from isrcheck.model.language.telling import told

ORDER: Final = ("client", "administrator", "network", "controller", "zookeeper", "broker")
"""Kinds of lanes from left to right; others, which a user's model may have, come before the brokers."""


@dataclass(frozen=True)
class Lane:
    """Who acts: its name (`controller`, `broker 1`), and the kind, which is the name without its number."""

    name: str

    @property
    def kind(self) -> str:
        return self.name.split()[0]

    @property
    def title(self) -> str:
        return "ZooKeeper" if self.name == "zookeeper" else self.name

    @property
    def order(self) -> tuple[int, str]:
        place = ORDER.index(self.kind) if self.kind in ORDER else len(ORDER) - 1.5
        return int(2 * place), self.name

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "kind": self.kind, "title": self.title}


@dataclass(frozen=True)
class Change:
    """A part of the state with its values before and after, as text."""

    path: str
    old: str
    new: str

    def to_json(self) -> dict[str, Any]:
        return {"path": self.path, "old": self.old, "new": self.new}


@dataclass(frozen=True)
class Sentence:
    """One step of a trace. `position` counts the states from 1: the step leads from the state before to this one.

    `brokers` are those that the step is about besides the lane it stands on: parameters of the action. `logs` are all
    logs after the step, `redrawn` the positions among them of those that the step has changed.
    """

    position: int
    lane: Lane
    text: str
    label: Label
    brokers: tuple[int, ...]
    changes: tuple[Change, ...]
    logs: tuple[DrawnLog, ...]
    redrawn: tuple[int, ...]

    @property
    def sentence(self) -> str:
        """The text with a capital letter and a full stop."""
        return f"{self.text[0].upper()}{self.text[1:]}."

    def to_json(self) -> dict[str, Any]:
        return {
            "position": self.position,
            "lane": self.lane.name,
            "sentence": self.sentence,
            "action": self.label.action,
            "parameters": self.label.to_json(),
            "brokers": list(self.brokers),
            "changes": [change.to_json() for change in self.changes],
            "logs": [log.to_json() for log in self.logs],
            "redrawn": list(self.redrawn),
        }


@dataclass(frozen=True)
class Story:
    """A whole trace: the lanes that are there at all, the logs at the start, and a sentence for each step."""

    lanes: tuple[Lane, ...]
    start: tuple[DrawnLog, ...]
    sentences: tuple[Sentence, ...]

    @cached_property
    def changes_of_actor(self) -> int:
        """How often a step stands on another lane than the one before."""
        names = [sentence.lane.name for sentence in self.sentences]
        return sum(a != b for a, b in pairwise(names))

    def to_json(self) -> dict[str, Any]:
        return {
            "lanes": [lane.to_json() for lane in self.lanes],
            "changes_of_actor": self.changes_of_actor,
            "start": [log.to_json() for log in self.start],
            "steps": [sentence.to_json() for sentence in self.sentences],
        }


def story(model: Model, trace: Trace) -> Story:
    """The story of a trace whose steps have labels, as the engines and `replay` give them."""
    start = logs(model, trace.steps[0].state)
    sentences = tuple(narrate(model, trace))
    brokers = [Lane(f"broker {b.number}") for b in model.brokers]
    lanes = {lane.name: lane for lane in [*brokers, *(sentence.lane for sentence in sentences)]}
    return Story(tuple(sorted(lanes.values(), key=lambda lane: lane.order)), start, sentences)


def narrate(model: Model, trace: Trace | list[dict[str, Any]]) -> list[Sentence]:
    """A sentence for each step of a trace; a recorded one is the JSON of a result, and is walked again first.

    Raises `UnknownName` for what a recorded trace has and the model does not, `ValueError` where the model does not
    allow a step of it.
    """
    if not isinstance(trace, Trace):
        trace = recorded(model, trace)
    drawn = [logs(model, step.state) for step in trace.steps]
    return [_sentence(model, trace, i, drawn[i - 1], drawn[i]) for i in range(1, trace.length)]


def recorded(model: Model, states: list[dict[str, Any]]) -> Trace:
    """The trace that the JSON of a result holds, every step with its label and actor."""
    interpreter = Interpreter(model, {})
    recording = Recording("path", None, tuple(states), None, from_json)
    outcome = replay(interpreter, decoded(interpreter, recording))
    if outcome.refusal is not None:
        raise ValueError(f"state {outcome.refusal.state} of the trace: {outcome.refusal.what}")
    return outcome.trace


def lane_of(model: Model, label: Label, actor: str) -> Lane:
    """On which lane an action instance stands."""
    return Lane(model.lane(actor, dict(label.parameters)))


def _sentence(
    model: Model, trace: Trace, i: int, before: tuple[DrawnLog, ...], after: tuple[DrawnLog, ...]
) -> Sentence:
    old, step = trace.steps[i - 1].state, trace.steps[i]
    assert step.label is not None
    assert step.actor is not None
    return Sentence(
        position=i + 1,
        lane=lane_of(model, step.label, step.actor),
        text=told(model, step.label, old, step.state),
        label=step.label,
        brokers=tuple(dict.fromkeys(_brokers(step.label))),
        changes=tuple(Change(*change) for change in differences(trace.variables, old, step.state)),
        logs=after,
        redrawn=tuple(k for k, (a, b) in enumerate(zip(before, after, strict=True)) if a != b),
    )


def _brokers(label: Label) -> Iterable[int]:
    for (_, value), domain in zip(label.parameters, label.domains, strict=True):
        if isinstance(domain, Broker) and value is not None:
            yield value
        elif isinstance(domain, BrokerSet):
            yield from sorted(value)
