"""Tells the story of a trace: for each step the actor, a sentence, the changes, and the logs."""

from __future__ import annotations

from typing import Any

from isrcheck.checker.engines.interpreter import Interpreter
from isrcheck.checker.results import Trace
from isrcheck.checker.told import Change, DrawnLog, Lane, Sentence, Story
from isrcheck.checker.traces.files import Recording, decoded, from_json
from isrcheck.checker.traces.logs import logs
from isrcheck.checker.traces.replay import replay
from isrcheck.checker.wording.values import differences
from isrcheck.model.language import Model
from isrcheck.model.language.brokers import BROKER
from isrcheck.model.language.system import Label
from isrcheck.model.language.telling import told


def story(model: Model, trace: Trace) -> Story:
    """The story of a trace. Each step must have a label and an actor, as in a trace that `replay` has accepted."""
    start = logs(model, trace.steps[0].state)
    sentences = tuple(narrate(model, trace))
    members = [Lane(str(member)) for member in model.everybody]
    lanes = {lane.name: lane for lane in [*members, *(sentence.lane for sentence in sentences)]}
    return Story(tuple(sorted(lanes.values(), key=lambda lane: lane.order)), start, sentences)


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
    recording = Recording("path", None, tuple(states), None, from_json)
    outcome = replay(interpreter, decoded(interpreter, recording))
    if outcome.refusal is not None:
        raise ValueError(f"state {outcome.refusal.state} of the trace: {outcome.refusal.what}")
    return outcome.trace


def lane_of(model: Model, label: Label, actor: str) -> Lane:
    """The lane (column of a drawing) of an action instance.

    If the model's method `lane` fails or gives no name, the lane's name says why.
    """
    try:
        lane: object = model.lane(actor, dict(label.parameters))
    except Exception as error:
        return Lane(f"{actor} [lane fails: {type(error).__name__}: {error}]")
    return Lane(lane if isinstance(lane, str) and lane else f"{actor} [lane gives {lane!r} and no name]")


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
        brokers=tuple(dict.fromkeys(x.number for x in step.label.members() if x.of == BROKER)),
        changes=tuple(Change(*change) for change in differences(trace.variables, old, step.state)),
        logs=after,
        redrawn=tuple(k for k, (a, b) in enumerate(zip(before, after, strict=True)) if a != b),
    )
