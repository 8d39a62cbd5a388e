"""A trace as the data of a page: lanes, and steps with their actor, partners, sentence, and changes of the state.

The first step has the text of every row of the state (see `shape.py`), and every log. Each later step has only the
texts and logs that differ from the step before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from isrcheck.checker.pages.shape import Shape
from isrcheck.checker.results import Step, Trace
from isrcheck.checker.told import Lane
from isrcheck.checker.traces.narration import lane_of
from isrcheck.checker.wording.values import label_text
from isrcheck.model.language.marks import Action
from isrcheck.model.language.model import Model
from isrcheck.model.language.plain import State
from isrcheck.model.language.system import Label
from isrcheck.model.language.telling import told


def story(model: Model, trace: Trace) -> dict[str, Any]:
    """A trace as the data of a page."""
    shape = Shape(model, trace.variables)
    acting = [lane_of(model, s.label, s.actor) for s in trace.steps if s.label is not None and s.actor is not None]
    return {
        "rows": [row.to_json() for row in shape.rows],
        "lanes": lanes(model, acting),
        "steps": [_for_ever(_step(shape, trace.steps, i), trace, i) for i in range(trace.length)],
    }


def _for_ever(step: dict[str, Any], trace: Trace, i: int) -> dict[str, Any]:
    """The data of a step. If the loop of a lasso begins or closes at this step, the sentence says so."""
    told = step["sentence"]
    if trace.loop is not None and trace.stays and i == trace.loop:
        told = f"{told} From here on nothing happens, for ever."
    elif trace.loop is not None and i == trace.loop + 1:
        told = f"From here on, for ever: {told}"
    if trace.loop is not None and not trace.stays and i == trace.length - 1:
        told = f"{told} This is state {trace.loop + 1} again, and so on."
    return step | {"sentence": told}


def lanes(model: Model, acting: Iterable[Lane]) -> list[dict[str, Any]]:
    """The lanes from left to right: one for each actor and for each member of a scalarset, such as each broker."""
    found = {lane.name: lane for lane in [*(Lane(str(member)) for member in model.everybody), *acting]}
    return [lane.to_json() for lane in sorted(found.values(), key=lambda lane: lane.order)]


def partners(model: Model, label: Label, actor: str) -> list[str]:
    """The lanes of the brokers and other members that are parameters of an instance, without the lane of its actor."""
    names = dict.fromkeys(map(str, label.members()))
    return [name for name in names if name != lane_of(model, label, actor).name]


def sentence(model: Model, label: Label, before: State, after: State) -> str:
    """The sentence about an action instance, with a capital letter and a full stop."""
    text = told(model, label, before, after)
    return f"{text[0].upper()}{text[1:]}."


def is_from_outside(model: Model, label: Label) -> bool:
    """True if the instance is an act of the outside world: a crash, an expiry, a write by a client."""
    spec: Action = model.actions()[label.action].__action__  # type: ignore[attr-defined]
    return spec.perturbation


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
        return {"action": "initial state", "lane": None, "partners": [], "sentence": "This is where it begins."}
    if step.label is None or step.actor is None:
        return {"action": "a step", "lane": None, "partners": [], "sentence": "A step that the file does not name."}
    return {
        "action": label_text(step.label),
        "lane": lane_of(model, step.label, step.actor).name,
        "partners": partners(model, step.label, step.actor),
        "sentence": sentence(model, step.label, before.state, step.state),
        "outside": is_from_outside(model, step.label),
    }
