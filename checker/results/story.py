"""The data of a trace as a story: for each step the actor, the sentence, the changes, and the logs.

`isrcheck.checker.trace.narration` makes the story. `isrcheck.checker.report.story_text` or a page draws the story.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, Literal

from isrcheck.model.language.model import Model
from isrcheck.model.semantics.concrete_values import State
from isrcheck.model.semantics.transition_system import Label


@dataclass(frozen=True)
class DrawnRecord:
    """A record of a log. If the records of a model have no id or no epoch, the missing field is None."""

    offset: int
    id: int | None
    epoch: int | None


@dataclass(frozen=True)
class DrawnLog:
    """The log of a broker for a partition.

    `role` is the role that the broker believes it has (leader, follower, none), or `down`. `leader`, `epoch` and `isr`
    are the broker's beliefs about the partition. `member` says whether the broker is in the authoritative ISR, which
    ZooKeeper or the controller has. `partition` is None if there is only one partition. `records` is None if the model
    has only the length of a log, or if its records have other fields than an id and an epoch. Any field that a model
    does not have is None.
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
"""The kinds of lifelines (actors), from left to right. Other kinds, of a user's own model, come before the brokers."""


@dataclass(frozen=True)
class Lifeline:
    """An actor of a story: its name (`controller`, `broker 1`), and its kind, which is the name without the number."""

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
    """A part of the state that a step changes: its path, and its values before and after the step, as text."""

    path: str
    old: str
    new: str

    def to_json(self) -> dict[str, Any]:
        return {"path": self.path, "old": self.old, "new": self.new}


@dataclass(frozen=True)
class Sentence:
    """One step of a trace. The step leads from the previous state to the state at `position`, counted from 1.

    `brokers` are the brokers among the action's parameters, including the broker that acts. `logs` are all logs after
    the step. `redrawn` has the positions in `logs` of the logs that the step has changed.
    """

    position: int
    lifeline: Lifeline
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
            "lane": self.lifeline.name,
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
    """A whole trace: all actors (lifelines), the logs at the start, and a sentence for each step."""

    lifelines: tuple[Lifeline, ...]
    start: tuple[DrawnLog, ...]
    sentences: tuple[Sentence, ...]

    @cached_property
    def changes_of_actor(self) -> int:
        """The number of steps whose actor differs from the actor of the previous step."""
        names = [sentence.lifeline.name for sentence in self.sentences]
        return sum(a != b for a, b in pairwise(names))

    def to_json(self) -> dict[str, Any]:
        return {
            "lanes": [lifeline.to_json() for lifeline in self.lifelines],
            "changes_of_actor": self.changes_of_actor,
            "start": [log.to_json() for log in self.start],
            "steps": [sentence.to_json() for sentence in self.sentences],
        }


@dataclass(frozen=True)
class Fact:
    """A condition that is true in a state: its text, the state since which it is true, and the values that it reads."""

    text: str
    since: int
    values: tuple[tuple[str, str], ...]

    def to_json(self) -> dict[str, Any]:
        return {"text": self.text, "since": self.since, "values": [list(pair) for pair in self.values]}


@dataclass(frozen=True)
class Cause:
    """Facts that the step `end` made true.

    `steps` has `end` and the earlier steps that `end` depends on, except the steps of earlier reasons. The number of a
    step is the number of the state that it leads to.
    """

    end: int
    steps: tuple[int, ...]
    facts: tuple[Fact, ...]

    def to_json(self) -> dict[str, Any]:
        return {"end": self.end, "steps": list(self.steps), "facts": [fact.to_json() for fact in self.facts]}


@dataclass(frozen=True)
class Need:
    """A step that another step needs, and why: what the needed step made true, or which value it gave."""

    step: int
    text: str

    def to_json(self) -> dict[str, Any]:
        return {"step": self.step, "text": self.text}


@dataclass(frozen=True)
class Causes:
    """The reasons why a trace ends in a violation. Each step is in at most one reason.

    `at_once` is a chain of steps that ends with the violation. Each step of the chain is the only direct cause of the
    next step, and the last step is the only direct cause of the violation. `causes` are the reasons for the first step
    of the chain, or for the violation if the chain is empty. `from_the_start` has the facts of the violation that are
    true since the first state. `needs` maps each step to the earlier steps that this step needs directly.
    """

    at_once: tuple[int, ...]
    causes: tuple[Cause, ...]
    from_the_start: tuple[Fact, ...]
    needs: dict[int, tuple[Need, ...]]

    def to_json(self) -> dict[str, Any]:
        return {
            "at_once": list(self.at_once),
            "reasons": [reason.to_json() for reason in self.causes],
            "from_the_start": [fact.to_json() for fact in self.from_the_start],
            "needs": {str(k): [need.to_json() for need in needs] for k, needs in self.needs.items()},
        }


@dataclass(frozen=True)
class Read:
    """A scalar of a state: its path, its value, and the number of the state since which it has this value."""

    path: str
    value: str
    since: int

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Difference:
    """A part of the state: its path, its value in the trace, and its value in the fixed design."""

    path: str
    here: str
    fixed: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Taken:
    """A step that a design has taken, and the state after it. For the initial state, `label` and `actor` are None."""

    label: Label | None
    actor: str | None
    state: State


@dataclass(frozen=True)
class Run:
    """The steps of a trace that a fixed design takes. The design skips each step that it refuses and tries the next.

    Up to the first difference from the trace, the design may replace a step by another step of the same actor.
    `at` has an entry for each state of the trace: the position in `taken` of the step that leads to this state, or None
    if the design skips the step. `false` is the position in `taken` of the first state in which the invariant is false,
    or None if there is no such state.
    """

    model: Model
    taken: tuple[Taken, ...]
    at: tuple[int | None, ...]
    false: int | None


@dataclass(frozen=True)
class Fix:
    """The step at which a fixed design differs from a trace, and how.

    `how` has one of four values. `refused`: the fixed design refuses step `step` because of the requirement `source` at
    `where` (`file:line`). The part `condition` of this requirement is false, and `reads` has the values that this part
    reads. `absent`: the fixed design has no such action instance. `differs`: the fixed design gives another value to a
    part of the state, and the rest of the trace depends on this part. `allows`: the fixed design allows every step, and
    `verdict` says whether the invariant holds at the end. `verdict` is None if the fixed design does not have the
    invariant, or if the invariant is undefined there.

    `enabled` has the steps that only the fixed design can take: in place of the refused or absent step, or at the end
    of the trace. `changes` has each setting that the fix changes, with its value in the trace and its value with the
    fix. If the fix is another model, the first entry of `changes` names the two models. `rules` has the meanings of the
    changed settings. For `differs`, `rests_on` has the values from which the trace computed the differing values. `run`
    has the steps of the trace that the fixed design takes. If a fix changes several settings of the same model,
    `singly` has the effect of each changed setting alone. A setting is left out if the model does not accept this
    change alone.
    """

    fixed_version: str
    changes: tuple[tuple[str, str, str], ...]
    how: Literal["refused", "absent", "differs", "allows"]
    rules: tuple[tuple[str, str], ...] = ()
    step: int | None = None
    where: str | None = None
    source: str | None = None
    condition: str | None = None
    reads: tuple[Read, ...] = ()
    differs: tuple[Difference, ...] = ()
    rests_on: tuple[Read, ...] = ()
    enabled: tuple[str, ...] = ()
    verdict: Literal["holds", "violated"] | None = None
    run: Run | None = field(default=None, compare=False, repr=False)
    singly: tuple[Fix, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "control": self.fixed_version,
            "changes": {name: [here, fixed] for name, here, fixed in self.changes},
            "rules": dict(self.rules),
            "how": self.how,
            "step": self.step,
            "where": self.where,
            "source": self.source,
            "condition": self.condition,
            "reads": [read.to_json() for read in self.reads],
            "differs": [difference.to_json() for difference in self.differs],
            "rests_on": [read.to_json() for read in self.rests_on],
            "enabled": list(self.enabled),
            "verdict": self.verdict,
            "singly": [fix.to_json() for fix in self.singly],
        }


@dataclass(frozen=True)
class TriedValue:
    """Another value of one setting, and the result of a search with this value. No other setting is changed.

    If the search finds a violation, `length` is the length of its shortest trace. If the invariant holds, `lost` has
    the goals that are no longer reached with this value, except goals that the value switches off.
    """

    setting: str
    value: str
    verdict: Literal["holds", "violated", "incomplete"]
    length: int | None = None
    lost: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"lost": list(self.lost)}


@dataclass(frozen=True)
class FixSearch:
    """The effects of other values of settings. Only one setting changes at a time.

    `length` is the number of states of the trace. `passing` counts the values with which the model still allows the
    trace and its violation. `tried` has the results of searches with the remaining values.
    """

    length: int
    passing: int
    tried: tuple[TriedValue, ...]

    def to_json(self) -> dict[str, Any]:
        return {"values_that_pass": self.passing, "tried": [each.to_json() for each in self.tried]}
