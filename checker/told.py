"""A trace told, as data: who acts at each step, the sentence for it, what changes, and the logs as they are then.

`isrcheck.checker.traces.narration` makes it; how it is drawn is for `isrcheck.checker.reports.story`, or a page, to
decide.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Final

from isrcheck.model.language.system import Label


@dataclass(frozen=True)
class DrawnRecord:
    """A record of a log; a model of which records have no id or no epoch leaves them out."""

    offset: int
    id: int | None
    epoch: int | None


@dataclass(frozen=True)
class DrawnLog:
    """The log of a broker, of a partition where the model has several.

    `role` is what the broker believes to be (leader, follower, none) or `down`; `leader`, `epoch` and `isr` what it
    believes of the partition. `member` says whether it is in the ISR that counts, ZooKeeper's or the controller's.
    `records` is None where a model knows only how long a log is, or where records are more than an id and an epoch.
    What a model does not have is None.
    """

    broker: int
    records: tuple[DrawnRecord, ...] | None
    log_end: int
    high_watermark: int | None = None
    partition: int | None = None
    role: str | None = None
    leader: int | None = None
    epoch: int | None = None
    isr: tuple[int, ...] | None = None
    member: bool | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


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
