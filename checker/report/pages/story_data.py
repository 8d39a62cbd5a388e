"""The parts of a model's state as a page shows them.

A *row* is a part of the state that is shown as one text, such as the high watermark of broker 1. All states have the
same rows, so the data of a state is only a list of texts.

A trace as the data of a page: lifelines, and steps with their actor, partners, sentence, and changes of the state.

The first step has the text of every row of the state (see `story_data.py`), and every log. Each later step has only the
texts and logs that differ from the step before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from isrcheck.checker.results.result import Step, Trace
from isrcheck.checker.results.state_text import label_text
from isrcheck.checker.results.story import Lifeline
from isrcheck.checker.trace.narration import lifeline_of, logs
from isrcheck.model.language.decorators import Action
from isrcheck.model.language.descriptions import describe
from isrcheck.model.language.domains import Broker, Domain, Per, Record, Sequence_, Value
from isrcheck.model.language.model import Model
from isrcheck.model.semantics.concrete_values import State
from isrcheck.model.semantics.transition_system import Label

RECORD_OF_A_LOG: Final = {"id", "epoch"}
"""The fields by which records of a log are recognised. Other records, such as commands, lack one of these fields."""


@dataclass(frozen=True)
class Row:
    """A part of the state: its path, its short name, its owner, and its group.

    `owner` is the name of a broker or of another member of a scalarset, or None for state that no member owns. `group`
    is the short path of the outermost value with named fields (`Record`) that contains the part, or "" if no `Record`
    contains the part. `log` is true if the part holds the records of a log.
    """

    path: str
    name: str
    owner: str | None
    group: str
    log: bool

    def to_json(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "name": self.name,
            "owner": self.owner,
            "group": self.group,
            "log": self.log,
        }


@dataclass(frozen=True)
class _Place:
    """A part of the state, with its owner and its group (see `Row`).

    `shown` is the short path. It has neither the owner nor the group, and no index that has only one possible value.
    """

    path: str
    shown: str
    owner: str | None
    group: str | None

    def at(self, text: str, alone: bool, owner: str | None) -> _Place:
        shown = self.shown if alone or owner is not None else f"{self.shown}[{text}]"
        return _Place(f"{self.path}[{text}]", shown, self.owner if owner is None else owner, self.group)

    def field(self, name: str) -> _Place:
        group = self.shown if self.group is None else self.group
        shown = name if self.group is None else f"{self.shown}.{name}"
        return _Place(f"{self.path}.{name}", shown, self.owner, group)


Part = tuple[_Place, Domain, Value]


class Shape:
    """The rows of the states of a trace, in the order of its variables.

    A trace may have more variables than `model`: a trace of a refinement also has the variables of the specification.
    """

    def __init__(self, model: Model, variables: Sequence[tuple[str, Domain]]) -> None:
        self.model, self._variables = model, variables
        first = tuple(domain.first for _, domain in variables)
        places = [(place, domain) for place, domain, _ in self._parts(first)]
        self.rows = [Row(p.path, p.shown, p.owner, p.group or "", is_log(d)) for p, d in places]

    def texts(self, state: tuple[Value, ...]) -> list[str]:
        """The texts of a state, one for each row."""
        return [domain.text(value) for _, domain, value in self._parts(state)]

    def logs(self, state: tuple[Value, ...]) -> list[dict[str, Any]]:
        """The logs of brokers, then logs that no broker keeps, such as the committed records in a ghost variable."""
        kept = [log.to_json() for log in logs(self.model, state)]
        return kept + [_unowned(p, d, x) for p, d, x in self._parts(state) if p.owner is None and is_log(d)]

    def _parts(self, state: tuple[Value, ...]) -> Iterator[Part]:
        for (name, domain), value in zip(self._variables, state, strict=True):
            yield from _spread(_Place(name, name, None, None), domain, value)


def is_log(domain: Domain) -> bool:
    """True if the domain is a sequence of records of a log."""
    return (
        isinstance(domain, Sequence_)
        and isinstance(domain.element, Record)
        and set(domain.element.names) >= RECORD_OF_A_LOG
    )


def _spread(place: _Place, domain: Domain, value: Value) -> Iterator[Part]:
    if isinstance(domain, Per):
        for key, x in zip(domain.index.values(), value, strict=True):
            owner = f"{domain.index.of} {key}" if isinstance(domain.index, Broker) and place.owner is None else None
            yield from _spread(place.at(domain.index.text(key), domain.count == 1, owner), domain.element, x)
    elif isinstance(domain, Record):
        for name, d, x in zip(domain.names, domain.domains, value, strict=True):
            yield from _spread(place.field(name), d, x)
    else:
        yield place, domain, value


def _unowned(place: _Place, domain: Any, value: Value) -> dict[str, Any]:
    names = domain.element.names
    records = [dict(zip(names, record, strict=True)) for record in value]
    drawn = [{"offset": i, "id": record["id"], "epoch": record["epoch"]} for i, record in enumerate(records)]
    return {"broker": None, "name": place.group or place.shown, "records": drawn, "log_end": len(drawn)}


def story(model: Model, trace: Trace) -> dict[str, Any]:
    """A trace as the data of a page."""
    shape = Shape(model, trace.variables)
    acting = [lifeline_of(model, s.label, s.actor) for s in trace.steps if s.label is not None and s.actor is not None]
    return {
        "rows": [row.to_json() for row in shape.rows],
        "lanes": lifelines(model, acting),
        "steps": [_for_ever(_step(shape, trace.steps, i), trace, i) for i in range(trace.length)],
    }


def _for_ever(step: dict[str, Any], trace: Trace, i: int) -> dict[str, Any]:
    """The data of a step. If the loop of a lasso begins or closes at this step, the sentence says so."""
    words = step["sentence"]
    if trace.loop is not None and trace.stays and i == trace.loop:
        words = f"{words} From here on nothing happens, for ever."
    elif trace.loop is not None and i == trace.loop + 1:
        words = f"From here on, for ever: {words}"
    if trace.loop is not None and not trace.stays and i == trace.length - 1:
        words = f"{words} This is state {trace.loop + 1} again, and so on."
    return step | {"sentence": words}


def lifelines(model: Model, acting: Iterable[Lifeline]) -> list[dict[str, Any]]:
    """The lifelines from left to right: one for each actor and for each member of a scalarset, such as each broker."""
    found = {lifeline.name: lifeline for lifeline in [*(Lifeline(str(member)) for member in model.everybody), *acting]}
    return [lifeline.to_json() for lifeline in sorted(found.values(), key=lambda lifeline: lifeline.order)]


def partners(model: Model, label: Label, actor: str) -> list[str]:
    """The lifelines of the members, such as brokers, that are parameters of an instance, without that of its actor."""
    names = dict.fromkeys(map(str, label.members()))
    return [name for name in names if name != lifeline_of(model, label, actor).name]


def sentence(model: Model, label: Label, before: State, after: State) -> str:
    """The sentence about an action instance, with a capital letter and a full stop."""
    text = describe(model, label, before, after)
    return f"{text[0].upper()}{text[1:]}."


def is_from_outside(model: Model, label: Label) -> bool:
    """True if the instance is an act of the outside world: a crash, an expiry, a write by a client."""
    spec: Action = model.actions()[label.action].__action__  # type: ignore[attr-defined]
    return spec.environment


def _step(shape: Shape, steps: Sequence[Step], i: int) -> dict[str, Any]:
    step, before = steps[i], None if i == 0 else steps[i - 1]
    texts, logs = shape.texts(step.state), shape.logs(step.state)
    old_texts: list[Any] = [None] * len(texts) if before is None else shape.texts(before.state)
    old_logs: list[Any] = [None] * len(logs) if before is None else shape.logs(before.state)
    return {
        **_telling(shape.model, step, before),
        "texts": {n: new for n, (old, new) in enumerate(zip(old_texts, texts, strict=True)) if old != new},
        "logs": {n: new for n, (old, new) in enumerate(zip(old_logs, logs, strict=True)) if old != new},
    }


def _telling(model: Model, step: Step, before: Step | None) -> dict[str, Any]:
    if before is None:
        return {"action": "initial state", "lane": None, "partners": [], "sentence": "The initial state."}
    if step.label is None or step.actor is None:
        return {"action": "a step", "lane": None, "partners": [], "sentence": "A step without a name in the file."}
    return {
        "action": label_text(step.label),
        "lane": lifeline_of(model, step.label, step.actor).name,
        "partners": partners(model, step.label, step.actor),
        "sentence": sentence(model, step.label, before.state, step.state),
        "outside": is_from_outside(model, step.label),
    }
