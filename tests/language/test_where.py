"""An action that exists only at some settings: `@action(where=...)`."""

from __future__ import annotations

import random
from typing import Any

import pytest

from isrcheck import check
from isrcheck.checker.results.result import Step, Trace
from isrcheck.checker.trace.step_replay import replay
from isrcheck.checker.trace.trace_files import label_of
from isrcheck.model.language import Model, ModelError, action, invariant, number, setting
from isrcheck.model.semantics.concrete_state import holds, initial_states
from isrcheck.model.semantics.interpreter import Interpreter
from isrcheck.model.semantics.tracing import trace as traced


class Clock(Model):
    """A hand that goes on by one, and back by one where `back` says so."""

    back = setting(False, meaning="the hand also goes back")

    def variables(self) -> dict[str, Any]:
        return {"hand": number(0, 3)}

    @action(actor="clock")
    def tick(self, s: Any) -> None:
        """The hand goes on."""
        s.require(s.hand < 3)
        s.hand += 1

    @action(actor="clock", where=lambda m: m.back)
    def turn_back(self, s: Any) -> None:
        """The hand goes back."""
        s.require(s.hand > 0)
        s.hand -= 1

    @invariant
    def can_go_back(self, s: Any) -> Any:
        """The hand can go back, unless it is at the start."""
        return s.enabled(self.turn_back) | (s.hand == 0)


def test_an_action_that_is_switched_off_has_no_instance() -> None:
    assert [t.label.action for t in traced(Clock()).transitions] == ["tick"]
    assert [t.label.action for t in traced(Clock(back=True)).transitions] == ["tick", "turn-back"]
    assert list(Clock.actions()) == ["tick", "turn-back"]


@pytest.mark.parametrize("engine", ["local", "reference"])
def test_it_is_told_as_switched_off_and_not_as_never_fired(engine: str) -> None:
    off, on = (check(Clock, {"back": back}, engine=engine, invariants=[]) for back in (False, True))
    assert (off.actions_without_instance, off.actions_never_fired) == (["turn-back"], [])
    assert (on.actions_without_instance, on.actions_never_fired) == ([], [])
    assert ([sum(x) for x in off.generated.values()], [sum(x) for x in on.generated.values()]) == ([3, 0], [3, 3])


@pytest.mark.parametrize("back", [False, True])
def test_what_is_switched_off_is_enabled_nowhere(back: bool) -> None:
    (start,) = initial_states(Clock(back=back))
    assert holds(Clock(back=back), start, Clock.can_go_back).value
    assert holds(Clock(back=back), (1,), Clock.can_go_back).value is back
    assert check(Clock, {"back": back}, invariants=["can-go-back"]).verdict == ("holds" if back else "violated")


def test_a_trace_with_a_step_that_is_switched_off_is_refused_there() -> None:
    variables = tuple(Clock().domains.items())
    labels = [label_of(Interpreter(Clock(), {}), {"action": name}, "here") for name in ("tick", "turn-back")]
    states = [(0,), (1,), (0,)]
    trace = Trace(variables, tuple(Step(x, "clock", s) for x, s in zip([None, *labels], states, strict=True)))
    assert replay(Clock(back=True), trace).refusal is None
    refusal = replay(Clock(), trace).refusal
    assert refusal is not None
    assert (refusal.state, refusal.what) == (3, "the action has no such instance: disabled by the settings")


def chance(m: Any) -> bool:
    return random.random() < 0.5


def nothing(m: Any) -> None:
    """It computes, and gives nothing back."""


@pytest.mark.parametrize(
    ("where", "message"),
    [
        (nothing, "the where of jump returns a NoneType; return True, False or a number"),
        (lambda m: "no", "the where of jump returns a str"),
        (lambda m: m.can_go_back, "the where of jump returns a method"),
        (lambda m: [], "the where of jump returns a list"),
        (chance, "random"),
    ],
)
def test_where_gives_a_condition_and_is_no_matter_of_chance(where: Any, message: str) -> None:
    class Jumps(Clock):
        """A clock that jumps."""

        @action(actor="clock", where=where)
        def jump(self, s: Any) -> None:
            """It jumps."""
            s.hand = 3

    with pytest.raises(ModelError, match=message):
        check(Jumps, {})


class Again(Clock):
    """Going back asks whether the clock of before could."""

    @action(actor="clock", where=lambda m: m.back)
    def turn_back(self, s: Any) -> None:
        """The hand goes back where it could before."""
        s.require(s.enabled(super().turn_back))
        s.hand -= 1

    @action(actor="clock", where=lambda m: m.back)
    def also(self, s: Any) -> None:
        """Its name comes before the other's."""
        s.require(s.enabled(self.turn_back))
        s.hand = 0


@pytest.mark.parametrize("engine", ["local", "reference"])
def test_a_replaced_action_may_ask_for_the_one_it_replaces(engine: str) -> None:
    result = check(Again, {"back": True}, engine=engine)
    assert (result.verdict, result.distinct) == ("holds", 4)
