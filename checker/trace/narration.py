"""Finds the data for a drawing of a state's logs: records by offset, high watermark, log end, each broker's role.

The logs come from a variable `log`, which has a log for each broker, or for each partition and broker. A variable
`replica` of the same shape has a record with the beliefs of each broker. If a variable `quorum` or `state` has a field
`isr`, this field is the authoritative ISR: the set of members. A model that stores its logs in another form may have a
method `drawn_logs(self, s)`, which returns the logs as dictionaries.

Tells the story of a trace: for each step the actor, a sentence, the changes, and the logs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from isrcheck.checker.results.result import Trace
from isrcheck.checker.results.state_text import differences
from isrcheck.checker.results.story import Change, DrawnLog, DrawnRecord, Lifeline, Sentence, Story
from isrcheck.checker.trace.step_replay import replay
from isrcheck.checker.trace.trace_files import RecordedTrace, decoded, from_json
from isrcheck.model.language.descriptions import SeenRecord, SeenState, describe
from isrcheck.model.language.domains import Broker, Per, Record, Sequence_, Value
from isrcheck.model.language.model import Model
from isrcheck.model.language.scalarset_members import BROKER, BrokerId
from isrcheck.model.semantics.interpreter import Interpreter
from isrcheck.model.semantics.transition_system import Label


def logs(model: Model, state: tuple[Value, ...]) -> tuple[DrawnLog, ...]:
    """The logs of a state, by partition and broker, or as `drawn_logs` orders them. Empty if the model has no logs."""
    s = SeenState(model, state)
    own = getattr(model, "drawn_logs", None)
    if own is not None:
        return tuple(DrawnLog(**{**data, "broker": data["broker"].number}) for data in own(s))
    return tuple(_logs(model, s))


def _logs(model: Model, s: SeenState) -> Iterator[DrawnLog]:
    domain = model.domains.get("log")
    if not isinstance(domain, Per):
        return
    if _is_of_brokers(domain) and isinstance(domain.element, Sequence_):
        yield from (_log(model, s, None, b, False) for b in model.brokers)
        return
    inner = domain.element
    if isinstance(inner, Per) and _is_of_brokers(inner) and isinstance(inner.element, Sequence_):
        partitions = list(domain.index.values())
        yield from (_log(model, s, p, b, len(partitions) > 1) for p in partitions for b in model.brokers)


def _is_of_brokers(domain: Per) -> bool:
    return isinstance(domain.index, Broker) and domain.index.of == BROKER


def _log(model: Model, s: SeenState, p: Any, b: BrokerId, several: bool) -> DrawnLog:
    records, describe = _at(s, "log", p)[b], _tells_all(model.domains["log"])
    belief = _belief(model, s, p, b)
    isr = belief.get("isr")
    leader = belief.get("leader")
    return DrawnLog(
        broker=b.number,
        records=tuple(DrawnRecord(o, _field(r, "id"), _field(r, "epoch")) for o, r in enumerate(records))
        if describe
        else None,
        log_end=len(records),
        high_watermark=belief.get("high_watermark"),
        partition=p if several else None,
        role=_role(model, s, b, belief),
        leader=None if leader is None else leader.number,
        epoch=_epoch(belief),
        isr=None if isr is None else tuple(sorted(x.number for x in isr)),
        member=_member(model, s, p, b),
    )


def _tells_all(domain: Any) -> bool:
    """Whether the elements of the logs are records that have no fields besides `id` and `epoch`."""
    while isinstance(domain, Per | Sequence_):
        domain = domain.element
    return isinstance(domain, Record) and set(domain.names) <= {"id", "epoch"}


def _at(s: SeenState, name: str, p: Any) -> Any:
    variable = getattr(s, name)
    return variable if p is None else variable[p]


def _field(record: Any, name: str) -> int | None:
    return getattr(record, name, None) if isinstance(record, SeenRecord) else None


def _belief(model: Model, s: SeenState, p: Any, b: BrokerId) -> dict[str, Any]:
    """The fields of `replica` for a broker. Returns no fields if the variable is missing or has another shape."""
    domain = model.domains.get("replica")
    inner = domain.element if isinstance(domain, Per) else None
    if p is not None and isinstance(inner, Per):
        inner = inner.element
    if not isinstance(inner, Record):
        return {}
    belief = _at(s, "replica", p)[b]
    return {name: getattr(belief, name) for name in inner.names}


def _role(model: Model, s: SeenState, b: BrokerId, belief: dict[str, Any]) -> str | None:
    if "up" in model.domains and b not in s.up:
        return "down"
    if "role" in belief:
        role: str = belief["role"]
        return role
    if "leader" not in belief:
        return None
    return "none" if belief["leader"] is None else "leader" if belief["leader"] == b else "follower"


def _epoch(belief: dict[str, Any]) -> int | None:
    """The leader epoch that a broker believes in, or None if it knows no epoch. A number below 0 is no epoch."""
    epoch = belief.get("leader_epoch", belief.get("epoch"))
    return epoch if epoch is not None and epoch >= 0 else None


def _member(model: Model, s: SeenState, p: Any, b: BrokerId) -> bool | None:
    for name in ("quorum", "state"):
        domain = model.domains.get(name)
        record = domain.element if isinstance(domain, Per) else domain
        if isinstance(record, Record) and "isr" in record.names:
            return b in (getattr(s, name)[p] if isinstance(domain, Per) else getattr(s, name)).isr
    return None


def story(model: Model, trace: Trace) -> Story:
    """The story of a trace. Each step must have a label and an actor, as in a trace that `replay` has accepted."""
    start = logs(model, trace.steps[0].state)
    sentences = tuple(narrate(model, trace))
    members = [Lifeline(str(member)) for member in model.everybody]
    lifelines = {lifeline.name: lifeline for lifeline in [*members, *(sentence.lifeline for sentence in sentences)]}
    return Story(tuple(sorted(lifelines.values(), key=lambda lifeline: lifeline.order)), start, sentences)


def narrate(model: Model, trace: Trace | list[dict[str, Any]]) -> list[Sentence]:
    """A sentence for each step of a trace. A trace in the JSON form of a result is replayed first.

    For such a trace, raises `UnknownName` for names that the model does not have, `DamagedFile` for entries of the
    wrong type, and `ValueError` if the model does not allow the first state or a step.
    """
    if not isinstance(trace, Trace):
        trace = recorded(model, trace)
    drawn = [logs(model, step.state) for step in trace.steps]
    return [_sentence(model, trace, i, drawn[i - 1], drawn[i]) for i in range(1, trace.length)]


def recorded(model: Model, states: list[dict[str, Any]]) -> Trace:
    """The trace from the JSON form of a result, with the label and the actor of each step."""
    interpreter = Interpreter(model, {})
    from_file = RecordedTrace("path", None, tuple(states), None, from_json)
    outcome = replay(interpreter, decoded(interpreter, from_file))
    if outcome.refusal is not None:
        raise ValueError(f"state {outcome.refusal.state} of the trace: {outcome.refusal.what}")
    return outcome.trace


def lifeline_of(model: Model, label: Label, actor: str) -> Lifeline:
    """The lifeline (column of a drawing) of an action instance.

    If the model's method `lifeline` fails or gives no name, the lifeline's name says why.
    """
    try:
        lifeline: object = model.lifeline(actor, dict(label.parameters))
    except Exception as error:
        return Lifeline(f"{actor} [lifeline failed: {type(error).__name__}: {error}]")
    return Lifeline(
        lifeline
        if isinstance(lifeline, str) and lifeline
        else f"{actor} [lifeline returned {lifeline!r} instead of a name]"
    )


def _sentence(
    model: Model, trace: Trace, i: int, before: tuple[DrawnLog, ...], after: tuple[DrawnLog, ...]
) -> Sentence:
    old, step = trace.steps[i - 1].state, trace.steps[i]
    assert step.label is not None
    assert step.actor is not None
    return Sentence(
        position=i + 1,
        lifeline=lifeline_of(model, step.label, step.actor),
        text=describe(model, step.label, old, step.state),
        label=step.label,
        brokers=tuple(dict.fromkeys(x.number for x in step.label.members() if x.of == BROKER)),
        changes=tuple(Change(*change) for change in differences(trace.variables, old, step.state)),
        logs=after,
        redrawn=tuple(k for k, (a, b) in enumerate(zip(before, after, strict=True)) if a != b),
    )
