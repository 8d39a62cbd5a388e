"""Explains why a model does not allow an action instance in a state: the false requirement and the values it reads.

Replays a trace step by step with the methods of the model itself.
"""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Any

from isrcheck.checker.results.result import Step, Trace
from isrcheck.checker.results.state_text import differences, label_text
from isrcheck.checker.results.text_layout import plural
from isrcheck.model.language.capacity import Room
from isrcheck.model.language.domains import Domain, Record
from isrcheck.model.language.errors import EvaluationError, is_of_the_language
from isrcheck.model.language.model import Model, as_parameter
from isrcheck.model.semantics.concrete_state import ConcreteState, Disabled, initial_states
from isrcheck.model.semantics.concrete_values import CONCRETE, State, Undefined
from isrcheck.model.semantics.interpreter import Interpreter
from isrcheck.model.semantics.transition_system import Label

Span = tuple[int, int, int, int]
"""A place in a source file: first line, first column, last line, last column."""


@dataclass(frozen=True)
class Unmet:
    """A condition of `require` that is false: its `file:line`, its text, and the parts of the state that it reads."""

    where: str
    condition: str
    values: tuple[tuple[str, str], ...]


def is_instance(model: Model, state: State, method: Callable[..., Any], arguments: list[Any]) -> bool:
    """Whether an action instance exists, enabled or not. An instance exists if it requires or assigns something."""
    s = ConcreteState(model, state, writable=True)
    try:
        method(model, s, *arguments)
    except Disabled:
        return True
    return s._acts


def unmet_requirement(model: Model, state: State, method: Callable[..., Any], arguments: list[Any]) -> Unmet | None:
    """The first requirement of an instance that is false in a state, or None if no requirement is false."""
    s, notes = ConcreteState(model, state, writable=True), _Notes()
    s.__dict__["_notes"] = notes
    try:
        method(model, s, *arguments)
    except Disabled as stop:
        traceback = stop.__traceback__
    else:
        return None
    assert traceback is not None
    return _unmet(model, state, traceback, notes)


def _unmet(model: Model, state: State, traceback: TracebackType, notes: _Notes) -> Unmet:
    before = traceback
    while traceback.tb_next is not None:
        before, traceback = traceback, traceback.tb_next
    # The last frame is the frame of `require`. The frame before it belongs to the model.
    frame, code = before.tb_frame, before.tb_frame.f_code
    index, given = _first_false(traceback.tb_frame.f_locals["conditions"])
    node = _argument(code, span_at(code, before.tb_lasti), index, given)
    paths = list(notes) if node is None else notes.inside(frame, node)
    return Unmet(
        where=f"{Path(code.co_filename).name}:{before.tb_lineno if node is None else node.lineno}",
        condition="a condition" if node is None else " ".join(ast.unparse(node).split()),
        values=tuple(_part(model, state, path) for path in paths),
    )


def _first_false(conditions: tuple[Any, ...]) -> tuple[int, int]:
    """The position of the first false condition, and how many conditions there are."""
    for i, condition in enumerate(conditions):
        found = condition._condition if isinstance(condition, Room) else condition
        if not isinstance(found, Undefined) and not getattr(found, "value", found):
            return i, len(conditions)
    raise AssertionError("no condition is false")


class _Notes(dict[Any, None]):
    """The parts of the state that were read, as paths.

    For each path, `places` has the places in the model's code that read this part of the state. A place is a frame and
    the position of an instruction in the frame's code.
    """

    def __init__(self) -> None:
        super().__init__()
        self.places: dict[Any, list[tuple[FrameType, int]]] = {}

    def __setitem__(self, path: Any, nothing: None) -> None:
        super().__setitem__(path, None)
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if not is_of_the_language(frame.f_code.co_filename):
                self.places.setdefault(path, []).append((frame, frame.f_lasti))
            frame = frame.f_back

    def inside(self, frame: FrameType, node: ast.expr) -> list[Any]:
        """The paths that an expression reads.

        Returns all paths if a local name in the expression stands for a value of the state. Such a value was read
        before the expression, so its path is not known.
        """
        names = {x.id for x in ast.walk(node) if isinstance(x, ast.Name)}
        if any(isinstance(frame.f_locals.get(name), CONCRETE) for name in names):
            return list(self)
        outer = _span(node)
        return [path for path, places in self.places.items() if any(_reads(frame, outer, x) for x in places)]


def _reads(frame: FrameType, outer: Span, place: tuple[FrameType, int]) -> bool:
    if place[0] is not frame:
        return False
    inner = span_at(frame.f_code, place[1])
    return inner is not None and outer[:2] <= inner[:2] and inner[2:] <= outer[2:]


def span_at(code: CodeType, instruction: int) -> Span | None:
    """The place of an instruction in the source file, or None if the place is not known."""
    line, end_line, column, end_column = list(code.co_positions())[instruction // 2]
    if line is None or end_line is None or column is None or end_column is None:
        return None
    return line, column, end_line, end_column


def _span(node: ast.expr) -> Span:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset


def _argument(code: CodeType, call: Span | None, index: int, given: int) -> ast.expr | None:
    """The argument at position `index` of the call at the place `call` with `given` arguments. None if not found."""
    try:
        tree = ast.parse("".join(linecache.getlines(code.co_filename)))
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _span(node) == call and len(node.args) == given:
            return node.args[index]
    return None


def _part(model: Model, state: State, path: tuple[Any, ...]) -> tuple[str, str]:
    """The part of a state at a path: its name and its value. A path is a variable, then positions and fields."""
    name, *steps = path
    domain: Domain = model.domains[name]
    value = state[model.positions[name]]
    text = name
    for step in steps:
        if isinstance(domain, Record):
            position, inner = domain.fields[step]
            text += f".{step}"
        else:
            position, inner = step, domain.element  # type: ignore[attr-defined]
            text += f"[{domain.index.text(list(domain.index.values())[step])}]"  # type: ignore[attr-defined]
        domain, value = inner, value[position]
    return text, domain.text(value)


@dataclass(frozen=True)
class Refusal:
    """The first state of a trace (counted from 1) that the model does not allow, and the reason.

    `where` is `file:line` of the false requirement, or of the evaluation that fails. `values` has the parts of the
    previous state that the requirement reads, with their values. `differs` has the parts in which the refused state
    differs from the state that the action leads to. If the first state is refused, it is compared with the initial
    state that differs from it in the fewest parts. Each part has its value in the model and its value in the trace.
    """

    state: int
    label: Label | None
    what: str
    where: str | None = None
    values: tuple[tuple[str, str], ...] = ()
    differs: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True)
class ReplayOutcome:
    """A replayed trace, and the refusal that ended the replay, or None. The accepted steps have labels and actors."""

    trace: Trace
    refusal: Refusal | None

    @property
    def valid(self) -> bool:
        return self.refusal is None


def replay(model: Model | Interpreter, trace: Trace) -> ReplayOutcome:
    """Replays a trace from its first state to the first refusal.

    For a step without a label, takes the first instance that leads to the next state of the trace.
    """
    interpreter = model if isinstance(model, Interpreter) else Interpreter(model, {})
    walk = _Walk(interpreter, trace)
    refusal = walk.start()
    steps = [trace.steps[0]]
    for i in range(1, trace.length):
        if refusal is not None:
            break
        found = walk.step(i)
        if isinstance(found, Refusal):
            refusal = found
        else:
            steps.append(found)
    return ReplayOutcome(replace(trace, steps=(*steps, *trace.steps[len(steps) :])), refusal)


@dataclass(frozen=True)
class _Walk:
    interpreter: Interpreter
    trace: Trace

    def start(self) -> Refusal | None:
        first, model = self.trace.steps[0].state, self.interpreter.model
        allowed = initial_states(model)
        if first in allowed:
            return None
        if not allowed:
            return Refusal(1, None, "the model has no initial state")
        nearest = min((self._differences(state, first) for state in allowed), key=len)
        return Refusal(1, None, "the first state is not an initial state of the model", differs=nearest)

    def step(self, i: int) -> Step | Refusal:
        """The step into the state at position i (from 0), with its label and actor, or the refusal of the model."""
        before, (label, after) = self.trace.steps[i - 1].state, (self.trace.steps[i].label, self.trace.steps[i].state)
        try:
            if not self.interpreter.counted(before):
                return Refusal(
                    i + 1, label, f"state {i} is outside the constraints, so the model does not continue from it"
                )
            return self._searched(i, before, after) if label is None else self._labelled(i, label, before, after)
        except EvaluationError as error:
            return Refusal(i + 1, label, f"the model is undefined here: {error.what}", error.where)

    def _labelled(self, i: int, label: Label, before: State, after: State) -> Step | Refusal:
        if label not in self.interpreter.labels:
            off = ": disabled by the settings" if label.action in self.interpreter.switched_off else ""
            return Refusal(i + 1, label, f"the action has no such instance{off}")
        number = self.interpreter.labels.index(label)
        reached = self.interpreter.step(before, number)
        if reached is None:
            return self._disabled(i, label, before)
        if reached != after:
            differs = self._differences(reached, after)
            return Refusal(i + 1, label, "the action leads to another state", differs=differs)
        return Step(label, self.interpreter.actors[number], after)

    def _disabled(self, i: int, label: Label, before: State) -> Refusal:
        model = self.interpreter.model
        arguments = [as_parameter(d, v) for d, (_, v) in zip(label.domains, label.parameters, strict=True)]
        unmet = unmet_requirement(model, before, model.actions()[label.action], arguments)
        if unmet is None:
            what = "there is no such action instance: the action returns before it requires or assigns anything"
            return Refusal(i + 1, label, what)
        return Refusal(i + 1, label, f"the action requires {unmet.condition}", unmet.where, unmet.values)

    def _searched(self, i: int, before: State, after: State) -> Step | Refusal:
        enabled = []
        for number, reached in self.interpreter.steps(before):
            if reached == after:
                return Step(self.interpreter.labels[number], self.interpreter.actors[number], after)
            if not isinstance(reached, EvaluationError):
                enabled.append(label_text(self.interpreter.labels[number]))
        some = f": {', '.join(enabled[:5])}{', ...' if len(enabled) > 5 else ''}" if enabled else ""
        return Refusal(i + 1, None, f"none of {plural(len(enabled), 'enabled instance')} leads to this state{some}")

    def _differences(self, allowed: State, recorded: State) -> tuple[tuple[str, str, str], ...]:
        return tuple(differences(self.trace.variables, allowed, recorded))
