"""Assertions that engines agree on a design, state by state, at any settings."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from isrcheck.checker.engines import reference
from isrcheck.checker.engines.explicit.search import search
from isrcheck.checker.kernel.compiled import Kernel
from isrcheck.checker.results.exploration import Exploration, Limits
from isrcheck.model.language import Model
from isrcheck.model.language.errors import UnknownName
from isrcheck.model.semantics.concrete_state import initial_states
from isrcheck.model.semantics.interpreter import Interpreter
from isrcheck.model.semantics.tracing import trace

STATES = 150
MEMORY = 2 << 30


def others(cls: type[Model], name: str) -> list[Any]:
    """The values of a setting besides its default; for a number, only the next number."""
    declared = cls.declared_settings()[name]
    if isinstance(declared.default, bool):
        return [not declared.default]
    if declared.choices is not None:
        return [x for x in declared.choices if x != declared.default]
    assert isinstance(declared.default, int)
    return [declared.default + 1]


def switched_alone(cls: type[Model]) -> Iterator[dict[str, Any]]:
    """The defaults, and then each single setting at each of its other values."""
    yield {}
    for name in cls.declared_settings():
        yield from ({name: value} for value in others(cls, name))


DISTURBANCES = ("crashes", "expiries", "lossy_crashes", "topic_changes", "reassignments")
BOUNDS = (
    "replicas", "partitions", "log_size", "max_records", "max_leader_epoch", "max_version", "channel_size",
    "max_controller_epoch", "min_isr", "queue_size",
)  # fmt: skip
"""Settings that only make the state space larger."""


def combination(cls: type[Model], draw: int) -> dict[str, Any]:
    """Random compatible settings: about a third differ from their defaults, and at least one disturbance is enabled."""
    chance = random.Random(draw)
    while True:
        names = [n for n in cls.declared_settings() if n not in BOUNDS and chance.random() < 1 / 3]
        chosen = {name: chance.choice(others(cls, name)) for name in names}
        chosen[chance.choice([name for name in DISTURBANCES if name in cls.declared_settings()])] = 1
        if go_together(cls, chosen):
            return chosen


def go_together(cls: type[Model], settings: dict[str, Any]) -> bool:
    """True if the design accepts this combination of settings."""
    try:
        cls(**settings)
    except UnknownName as refusal:
        assert "do not go together" in str(refusal)
        return False
    return True


def levels(model: Model, engine: str) -> tuple[Exploration, list[set[tuple[int, ...]]]]:
    """The result of an engine, and the states of each level, as the integers of their leaves."""
    limits, interpreter = Limits(states=STATES, memory=MEMORY), Interpreter(model, {})
    if engine == "reference":
        found, by_reference = reference.search(interpreter, keep_going=True, limits=limits)
        return found, [set(map(interpreter.leaves, level)) for level in by_reference.levels]
    found, native = search(trace(model, {}), keep_going=True, deadlock=False, limits=limits, report=None)
    return found, [set(native.leaves(native.level_states(k + 1))) for k in range(len(found.levels))]


def assert_agreement(cls: type[Model], settings: dict[str, Any]) -> None:
    """Asserts that two engines find the same states at each level, and the same counts."""
    one, states = levels(cls(**settings), "reference")
    other, same_states = levels(cls(**settings), "local")
    assert states == same_states
    assert one.generated == other.generated
    assert (one.initial, one.goals, one.bounds, one.degrees) == (
        other.initial,
        other.goals,
        other.bounds,
        other.degrees,
    )
    assert one.error is None
    assert other.error is None


def assert_agreement_along_walks(model: Model, draw: int) -> None:
    """Asserts that engines agree on all steps from the states of some long paths, which lead deep into the space."""
    chance = random.Random(draw)
    interpreter, system = Interpreter(model, {}), trace(model, {})
    kernel, start = Kernel(system), initial_states(model)
    for _ in range(3):
        state = chance.choice(start)
        for _ in range(40):
            steps = list(interpreter.steps(state))
            found, _, transitions, _ = kernel.expand(kernel.layout.pack([interpreter.leaves(state)]))
            leaves = map(tuple, kernel.layout.unpack(found).tolist())
            native = {(system.transitions[t].label, x) for t, x in zip(transitions.tolist(), leaves, strict=True)}
            assert native == {(interpreter.labels[i], interpreter.leaves(after)) for i, after in steps}
            if not steps:
                break
            state = chance.choice(steps)[1]


def absent(cls: type[Model], settings: dict[str, Any]) -> set[str]:
    """The actions that have no instance."""
    return {*cls.actions()} - {t.label.action for t in trace(cls(**settings), {}).transitions}
