"""`Allowed`, for the log: agrees with a search by the log's methods, and does not explore all states."""

from __future__ import annotations

import random
from typing import Any

import pytest

from isrcheck.checker.analysis.refinement import specification_steps
from isrcheck.checker.analysis.refinement.specification_steps import Allowed, TooMany
from isrcheck.checker.trace import refinement_replay
from isrcheck.checker.trace.refinement_replay import Implementation
from isrcheck.model.semantics.concrete_state import initial_states
from isrcheck.model.semantics.concrete_values import State
from isrcheck.model.semantics.interpreter import Interpreter
from isrcheck.model.semantics.tracing import trace
from isrcheck.model.specifications.replicated_log import ReplicatedLog


class Both:
    """The log at some settings, for comparing the kernel with the methods."""

    def __init__(self, steps: int | None = None, **settings: Any) -> None:
        self.model = ReplicatedLog(**settings)
        self.interpreter = Interpreter(self.model, {})
        self.system = trace(self.model)
        self.allowed = Allowed(self.system, self.interpreter, steps)
        self.methods = Implementation(self.model, self.interpreter, lambda m, s: {}, steps)

    def leads(self, a: State, b: State) -> bool:
        return self.allowed.leads(*self.allowed.kernel.layout.pack([self.system.encode(x) for x in (a, b)]))

    def walked(self, seed: int, length: int) -> State:
        """The last state of a random walk."""
        dice, (state, *_) = random.Random(seed), initial_states(self.model)
        for _ in range(length):
            state = dice.choice([x for _, x in self.interpreter.steps(state)])  # type: ignore[assignment]
        return state


@pytest.mark.parametrize("steps", [None, 1, 2])
def test_the_kernel_and_the_methods_agree(steps: int | None) -> None:
    both = Both(steps, log_size=2, max_records=2, max_leader_epoch=0, consumers=True, end_offsets="may-fall")
    states = [both.walked(seed, 1 + seed % 6) for seed in range(10)]
    pairs = [(a, b) for a in states for b in states]
    answers = [(both.leads(a, b), both.methods.allows(a, b)) for a, b in pairs]
    wrong = [pair for pair, (kernel, methods) in zip(pairs, answers, strict=True) if kernel != methods]
    assert not wrong, f"checker/analysis/refinement/specification_steps.py and the methods disagree on {wrong[0]}"
    assert {kernel for kernel, _ in answers} == {False, True}


LARGE = {"log_size": 5, "max_records": 5, "max_leader_epoch": 3, "consumers": True, "end_offsets": "may-fall"}


def test_many_steps_are_found_without_seeing_every_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty records at each of five offsets give 3,368,421 logs, but a few thousand states are enough."""
    monkeypatch.setattr(specification_steps, "MOST", 20_000)
    monkeypatch.setattr(refinement_replay, "MOST", 1_000)
    both = Both(**LARGE)
    (first,) = initial_states(both.model)
    log = tuple((i, i % 4) for i in (3, 1, 4, 1, 0))
    last = ((log,), (True,), (True,), (True, True, False, False, True), (log[:4],), (5,))
    assert both.leads(first, last)
    assert both.methods.allows(first, last)
    # What nobody committed cannot be acknowledged; to say so takes all of the logs, and they are too many.
    never = (*last[:3], (True, True, True, False, True), *last[4:])
    with pytest.raises(TooMany):
        both.leads(first, never)
    assert both.methods.allows(first, never) is None


def test_what_no_action_writes_is_known_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(specification_steps, "MOST", 1)
    both = Both(**LARGE)
    (first,) = initial_states(both.model)
    assert not both.leads(first, (first[0], (False,), *first[2:]))
