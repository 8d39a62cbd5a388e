"""Decides, with the methods of the model only, whether a lasso is a fair behaviour that breaks a property."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from isrcheck.checker.results.result import Trace
from isrcheck.model.language.errors import EvaluationError
from isrcheck.model.language.fairness import Fairness, Obligation, obligations
from isrcheck.model.language.properties import Asked, kind_of
from isrcheck.model.semantics.concrete_values import State
from isrcheck.model.semantics.interpreter import Interpreter


@dataclass(frozen=True)
class SatisfiedObligation:
    """A fairness obligation that is satisfied although the cycle takes none of its steps.

    In one state of the cycle, none of these steps can happen. `state` is this state's number in the trace, from 1.
    """

    obligation: str
    state: int


@dataclass(frozen=True)
class Lasso:
    """A replayed trace as a behaviour that continues for ever.

    But a trace that breaks a `stable` property has no loop. Its last step makes the property's condition false.
    """

    interpreter: Interpreter
    trace: Trace

    @property
    def _round(self) -> range:
        """The positions, counted from 0, of the states that repeat."""
        assert self.trace.loop is not None
        return range(self.trace.loop, self.trace.length - (not self.trace.stays))

    def refusal(self, name: str, choice: Asked, fairness: Fairness) -> str | None:
        """Why this lasso is not a fair behaviour that breaks the property, or None if it is such a behaviour.

        For a stable condition, fairness does not matter.
        """
        try:
            says = [self.interpreter.asked(step.state, name) for step in self.trace.steps]
        except EvaluationError as error:
            return f"the property is undefined here: {error.what} ({error.where})"
        asked = next((known for known in says[0] if dict(known) == dict(choice)), None)
        if asked is None:
            return f"property {name} has no such choice of its parameters"
        states = [said[asked] for said in says]
        if kind_of(self.interpreter.properties[name]) == "stable":
            return self._stable(states)
        if self.trace.loop is None:
            return "it does not say where it repeats (loop)"
        if self.trace.steps[self.trace.loop].state != self.trace.steps[-1].state:
            return f"state {self.trace.length} does not equal state {self.trace.loop + 1}, where the loop begins"
        return self._broken(name, states) or self._unfair(fairness)

    # --- the property -----------------------------------------------------------------------------------------------

    def _stable(self, states: Sequence[tuple[bool, ...]]) -> str | None:
        broken = len(states) > 1 and states[-2][0] and not states[-1][0] and self.trace.loop is None
        return None if broken else "the last step does not end anything that must be stable"

    def _broken(self, name: str, states: Sequence[tuple[bool, ...]]) -> str | None:
        """The reason why the property is not broken, or None if it is broken."""
        method, again = self.interpreter.properties[name], [states[i] for i in self._round]
        match kind_of(method):
            case "leads_to":
                waiting = False
                for said in states:
                    waiting = (waiting or said[0]) and not said[1]
                return None if waiting else "the required event has happened, or none is required"
            case "eventually":
                return "the condition holds on the way" if any(x for (x,) in states) else None
            case "always_eventually":
                return "the condition holds infinitely often" if any(x for (x,) in again) else None
            case "eventually_always":
                return None if any(not x for (x,) in again) else "the condition holds for ever"
            case _:
                if not all(x for (x,) in again):
                    return "the condition does not hold for ever"
                steps = self.trace.steps[self._round.start + 1 :]
                taken = {step.label.action for step in steps if step.label is not None}
                never = getattr(method, "__never__", ())
                return None if taken & set(never) else f"none of {', '.join(never)} happens infinitely often"

    # --- fairness ---------------------------------------------------------------------------------------------------

    def _unfair(self, fairness: Fairness) -> str | None:
        """The first obligation that is not satisfied, in words, or None if all obligations are satisfied."""
        for obligation, idle in self._open(fairness):
            if idle is None:
                strength = "infinitely often" if obligation.strong else "continuously"
                return f"it is not fair: {obligation.name} is enabled {strength}, but never happens"
        return None

    def kept(self, fairness: Fairness) -> list[SatisfiedObligation]:
        """The obligations that are satisfied because in some state of the cycle none of their steps can happen.

        An obligation is left out if the cycle takes one of its steps, or if its steps can happen in no state of the
        cycle.
        """
        return [SatisfiedObligation(o.name, idle + 1) for o, idle in self._open(fairness) if idle is not None]

    def _open(self, fairness: Fairness) -> Iterator[tuple[Obligation, int | None]]:
        """The obligations whose steps can happen somewhere on the cycle but are never taken on it.

        Each obligation comes with the position (from 0) of the first state of the cycle in which none of its steps can
        happen. The position is None if there is no such state, or if the obligation is strong.
        """
        it, steps = self.interpreter, self.trace.steps[self._round.start + 1 :]
        taken = {it.labels.index(step.label) for step in steps if step.label is not None}
        for obligation in obligations(it.model, it.labels, fairness):
            if taken & set(obligation.instances):
                continue
            idle = [i for i in self._round if not self._possible(self.trace.steps[i].state, obligation)]
            if len(idle) < len(self._round):
                yield obligation, idle[0] if idle and not obligation.strong else None

    def _possible(self, state: State, obligation: Obligation) -> bool:
        """Whether a step of the obligation changes the state, or would change it without a bound (`s.room`)."""
        for instance in obligation.instances:
            after = self.interpreter.step(state, instance)
            if (after is None and self.interpreter.would_change(state, instance)) or after not in (None, state):
                return True
        return False
