"""Replays a trace step by step with the methods of the model itself."""

from __future__ import annotations

from dataclasses import dataclass, replace

from isrcheck.checker.engines.interpreter import Interpreter
from isrcheck.checker.results import Step, Trace
from isrcheck.checker.traces.refusals import unmet_requirement
from isrcheck.checker.wording.layout import plural
from isrcheck.checker.wording.values import differences, label_text
from isrcheck.model.language.concrete import initial_states
from isrcheck.model.language.errors import EvaluationError
from isrcheck.model.language.model import Model, as_parameter
from isrcheck.model.language.plain import State
from isrcheck.model.language.system import Label


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
                return Refusal(i + 1, label, f"state {i} is outside the constraints: the model does not go on from it")
            return self._searched(i, before, after) if label is None else self._labelled(i, label, before, after)
        except EvaluationError as error:
            return Refusal(i + 1, label, f"the model has no meaning here: {error.what}", error.where)

    def _labelled(self, i: int, label: Label, before: State, after: State) -> Step | Refusal:
        if label not in self.interpreter.labels:
            off = ": the settings switch it off" if label.action in self.interpreter.switched_off else ""
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
            what = "there is no such instance: the action returns before it requires or assigns anything"
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
