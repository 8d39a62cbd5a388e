"""The result of a replay: whether the model allows the trace, and whether the trace ends as it was recorded."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from isrcheck.checker.results.result import Exit, Instance, InvariantResult, PropertyResult, Trace
from isrcheck.checker.results.state_text import label_text
from isrcheck.checker.results.story import Story
from isrcheck.checker.results.text_layout import columns, plural
from isrcheck.checker.trace.causes import causes
from isrcheck.checker.trace.lasso_replay import Lasso
from isrcheck.checker.trace.narration import story
from isrcheck.checker.trace.refinement_replay import Implementation, widened_story
from isrcheck.checker.trace.step_replay import Refusal, ReplayOutcome, replay
from isrcheck.checker.trace.trace_evaluation import EvaluatedTrace, last_held
from isrcheck.checker.trace.trace_files import RecordedTrace, decoded, label_of
from isrcheck.model.language.errors import EvaluationError, UnknownName, nearest
from isrcheck.model.language.properties import kind_of
from isrcheck.model.semantics.concrete_state import explain, holds
from isrcheck.model.semantics.concrete_values import State
from isrcheck.model.semantics.interpreter import Interpreter
from isrcheck.model.semantics.tracing import sentence_of


@dataclass(frozen=True)
class Replayed:
    """The replay of a recorded trace. `confirmed` says whether the trace ends as recorded.

    `confirmed` is None if the model refuses a state of the trace, or if the trace is recorded as a `path`, which need
    not violate anything. `story` is None if the model refuses a state. `invariant_result` explains why an invariant is
    false at the end of the trace, or why the specification does not allow the last step. `broken` is the result of the
    property that a lasso breaks. `against` says why the trace of a property or a refinement does not show the recorded
    failure. `evaluated` is the confirmed trace of a refinement, with the condition that is false at its end. `wider` is
    a confirmed trace with the variables of the model and of the specification. `wider` is None if there is no
    specification.
    """

    recorded: RecordedTrace
    outcome: ReplayOutcome
    confirmed: bool | None
    story: Story | None = None
    invariant_result: InvariantResult | None = None
    broken: PropertyResult | None = None
    against: str | None = None
    evaluated: EvaluatedTrace | None = field(default=None, compare=False, repr=False)
    wider: Trace | None = field(default=None, compare=False, repr=False)

    def side_by_side(self) -> Replayed:
        """This replay, with the specification's states (if known) beside the model's states."""
        wider = self.wider
        if wider is None:
            return self
        wider_story = None if self.story is None else widened_story(self.story, wider)
        return replace(
            self,
            outcome=replace(self.outcome, trace=wider),
            story=wider_story,
            invariant_result=None
            if self.invariant_result is None
            else replace(self.invariant_result, trace=wider, story=wider_story),
            broken=None if self.broken is None else replace(self.broken, trace=wider, story=wider_story),
        )

    def exit_code(self, expected: bool) -> int:
        """The exit code of the replay. If `expected` is true, a confirmed trace gives 0, any other trace gives 10.

        If `expected` is false, a confirmed trace gives the code of the failure that it shows. A trace that `text` calls
        INVALID gives 10, and any remaining trace gives 0.
        """
        if not self.outcome.valid or self.against is not None or (expected and not self.confirmed):
            return Exit.DIFFERENCE
        if expected or not self.confirmed:
            return Exit.HOLDS
        ends = {
            "violation": Exit.VIOLATED,
            "refinement": Exit.VIOLATED,
            "liveness": Exit.NOT_LIVE,
            "deadlock": Exit.DEADLOCK,
        }
        return ends.get(self.recorded.claim, Exit.EVALUATION)

    def text(self) -> str:
        """The outcome of the replay in words."""
        refusal = self.outcome.refusal
        if refusal is not None:
            return "\n".join([f"INVALID  {self.recorded.title}: {_refused(refusal, self.outcome)}", *_reasons(refusal)])
        if self.against is not None:
            return f"INVALID  {self.recorded.title}: {self.against}"
        return f"VALID  {self.recorded.title}: {plural(self.outcome.trace.length, 'state')}{self._end}"

    @property
    def _end(self) -> str:
        if self.confirmed is None:
            return ""
        words = {
            "violation": (
                f"ends in a violation of {self.recorded.name}",
                f"{self.recorded.name} holds in the last state",
            ),
            "refinement": ("ends in a step that the specification does not allow", ""),
            "liveness": (f"a fair behaviour that violates {self.recorded.name}", ""),
            "deadlock": ("ends in a deadlock", "the last state has a successor"),
        }
        failing = ("the model is undefined in the last state", "the model can be evaluated in the last state")
        yes, no = words.get(self.recorded.claim, failing)
        return f", {yes if self.confirmed else no}"

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = {
            "claim": self.recorded.claim,
            "invariant": self.recorded.name,
            "length": self.outcome.trace.length,
            "valid": self.outcome.valid and self.against is None,
            "confirmed": self.confirmed,
        }
        if self.outcome.refusal is not None:
            data["refusal"] = _refusal_json(self.outcome.refusal)
        if self.invariant_result is not None:
            data["why"] = self.invariant_result.why()
        if self.recorded.claim == "liveness":
            data |= {"loop": self.recorded.loop, "choice": dict(self.recorded.choice)}
        if self.against is not None:
            data["against"] = self.against
        if self.story is not None:
            data["story"] = self.story.to_json()
        return data


def replayed(
    interpreter: Interpreter, recorded: RecordedTrace, implementation: Implementation | None = None
) -> Replayed:
    """Replays a trace. `interpreter` must have the invariants and properties that the trace may be about.

    `implementation` is the refinement that the trace is about, if there is one.
    """
    if recorded.claim == "liveness":
        return _replayed_property(interpreter, recorded)
    if recorded.claim == "refinement":
        assert implementation is not None
        return _refined(interpreter, recorded, implementation)
    if recorded.name is not None and recorded.name not in interpreter.invariants:
        known = nearest(recorded.name, interpreter.invariants)
        raise UnknownName(f"the model has no invariant {recorded.name!r}; {known}")
    outcome = replay(interpreter, decoded(interpreter, recorded))
    last = outcome.trace.steps[-1].state
    confirmed = None
    if recorded.claim != "path" and outcome.valid:
        confirmed = _stands_for_nothing(implementation, last) or _confirmed(interpreter, recorded, last)
    if not outcome.valid:
        return Replayed(recorded, outcome, confirmed)
    trace_story = story(interpreter.model, outcome.trace)
    violated = recorded.claim == "violation" and confirmed
    invariant_outcome = (
        _invariant_result(interpreter, recorded.name or "", outcome.trace, trace_story) if violated else None
    )
    return Replayed(recorded, outcome, confirmed, trace_story, invariant_outcome)


def _refined(interpreter: Interpreter, recorded: RecordedTrace, implementation: Implementation) -> Replayed:
    """Replays a trace of a refinement, and checks whether the refinement first fails in the last state."""
    outcome = replay(interpreter, decoded(interpreter, recorded))
    if not outcome.valid:
        return Replayed(recorded, outcome, None)
    try:
        objection = implementation.objection([step.state for step in outcome.trace.steps])
    except EvaluationError as error:
        objection = f"a state cannot be mapped: {error.what}"
    return Replayed(recorded, outcome, objection is None, story(interpreter.model, outcome.trace), against=objection)


def _stands_for_nothing(implementation: Implementation | None, state: State) -> bool:
    """Whether the mapping is undefined in a state."""
    if implementation is None:
        return False
    try:
        implementation.stands_for(state)
    except EvaluationError:
        return True
    return False


def _replayed_property(interpreter: Interpreter, recorded: RecordedTrace) -> Replayed:
    """Replays the trace of a property, and checks whether it is a fair behaviour that breaks the property."""
    name, model = str(recorded.name), interpreter.model
    if name not in interpreter.properties:
        raise UnknownName(f"the model has no property {name!r}; {nearest(name, interpreter.properties)}")
    recorded.fairness.require_known(model)
    outcome = replay(interpreter, decoded(interpreter, recorded))
    if not outcome.valid:
        return Replayed(recorded, outcome, None)
    lasso = Lasso(interpreter, outcome.trace)
    against = lasso.refusal(name, recorded.choice, recorded.fairness)
    trace_story = story(model, outcome.trace)
    if against is not None:
        return Replayed(recorded, outcome, False, trace_story, against=against)
    method = interpreter.properties[name]
    kept = () if outcome.trace.loop is None else lasso.kept(recorded.fairness)
    broken = PropertyResult(
        "violated", sentence_of(method), str(kind_of(method)), choice=recorded.choice, trace=outcome.trace,
        kept=tuple((each.obligation, each.state) for each in kept), story=trace_story,
    )  # fmt: skip
    return Replayed(recorded, outcome, True, trace_story, broken=broken)


def _invariant_result(interpreter: Interpreter, name: str, trace: Trace, trace_story: Story) -> InvariantResult:
    """The result that explains why an invariant is false at the end of a trace."""
    model, predicate = interpreter.model, interpreter.invariants[name]
    instance = Instance(*explain(model, trace.steps[-1].state, predicate))
    last_safe = last_held(model, predicate, trace, instance)
    why = causes(EvaluatedTrace(model, trace, predicate))
    return InvariantResult(
        "violated", sentence_of(predicate), trace, instance=instance, last_held=last_safe, causes=why, story=trace_story
    )


def _confirmed(interpreter: Interpreter, recorded: RecordedTrace, last: State) -> bool:
    if recorded.claim == "violation":
        assert recorded.name is not None
        return not holds(interpreter.model, last, interpreter.invariants[recorded.name]).value
    if recorded.claim == "deadlock":
        return not any(True for _ in interpreter.steps(last))
    return _has_no_meaning(interpreter, recorded, last)


def _has_no_meaning(interpreter: Interpreter, recorded: RecordedTrace, last: State) -> bool:
    """Whether the recorded instance (or, if none is recorded, any predicate) is undefined in the last state."""
    try:
        if recorded.failing is not None:
            label = label_of(interpreter, recorded.failing, "the failing instance")
            if label in interpreter.labels:
                interpreter.step(last, interpreter.labels.index(label))
            return False
        for predicates in (interpreter.constraints, interpreter.invariants, interpreter.goals, interpreter.bounds):
            interpreter.true(last, predicates)
        for name in interpreter.properties:
            with suppress(UnknownName):  # if the property is about something that the settings switch off
                interpreter.asked(last, name)
    except EvaluationError:
        return True
    return False


def _refused(refusal: Refusal, outcome: ReplayOutcome) -> str:
    if refusal.state == 1:
        return refusal.what
    where = f"state {refusal.state} of {outcome.trace.length}"
    action = "" if refusal.label is None else f" by {label_text(refusal.label)}"
    return f"{where} cannot follow state {refusal.state - 1}{action}: {refusal.what}"


def _reasons(refusal: Refusal) -> list[str]:
    """Lines about a refusal: its place in the code, the values that a requirement reads, and the differences."""
    lines = [] if refusal.where is None else [f"  at {refusal.where}, false in state {refusal.state - 1}, where"]
    rows = list(refusal.values)
    if refusal.where is not None and not rows:
        lines = [f"  at {refusal.where}"]
    differing = [(path, f"the model: {allowed}", f"the trace: {found}") for path, allowed, found in refusal.differs]
    return [*lines, *columns(rows, "     "), *columns(differing, "     ")]


def _refusal_json(refusal: Refusal) -> dict[str, Any]:
    return {
        "state": refusal.state,
        "action": refusal.label and refusal.label.action,
        "parameters": refusal.label and refusal.label.to_json(),
        "what": refusal.what,
        "where": refusal.where,
        "values": dict(refusal.values),
        "differs": [{"path": path, "model": a, "trace": b} for path, a, b in refusal.differs],
    }
