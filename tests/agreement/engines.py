"""Asks every engine the same questions about a model, and gives the answers in one form that can be compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import reject

from isrcheck.checker.engines import reference
from isrcheck.checker.engines.explicit import large_search
from isrcheck.checker.engines.explicit.search import search
from isrcheck.checker.results.exploration import Exploration, Limits
from isrcheck.model.language import Model, ModelError
from isrcheck.model.semantics.interpreter import Interpreter
from isrcheck.model.semantics.tracing import trace
from isrcheck.model.semantics.transition_system import Label, TransitionSystem
from tests.agreement import evaluated

STATES = 150
"""A search ends after the level in which it exceeds this number of states."""
REFUSED = (
    "outside its domain",
    "is out of range",
    "has no effect",
    "is read after it was assigned",
    "initial: ",
    "no initial state satisfies",
)
"""Mistakes that a random model may make."""


@dataclass(frozen=True)
class Answer:
    """The parts of an exploration that must be equal for all engines: labels of errors, levels as sets of states."""

    initial: int
    levels: list[int]
    generated: list[list[int]]
    rejected: int
    violated: dict[str, int]
    goals: dict[str, int]
    bounds: dict[str, int]
    degrees: tuple[int, int] | None
    deadlock: int | None
    error: tuple[int, tuple[int, ...], Label | None] | None
    stopped: str | None
    states: list[set[tuple[Any, ...]]]


def traced(cls: type[Model]) -> tuple[Interpreter, TransitionSystem]:
    """A random model as an interpreter and as a system. A model with an allowed mistake is not tested."""
    try:
        model = cls()
        invariants = model.predicates("invariant")
        system = trace(model, invariants)
    except ModelError as error:
        if not any(words in str(error) for words in REFUSED):
            raise
        reject()
    return Interpreter(model, invariants), system


def answer(found: Exploration, labels: list[Label], states: list[set[tuple[Any, ...]]]) -> Answer:
    error = found.error and (*found.error[:2], None if found.error[2] is None else labels[found.error[2]])
    return Answer(
        found.initial, found.levels, found.generated, found.rejected, found.violated, found.goals, found.bounds,
        found.degrees, found.deadlock, error, found.stopped, states,
    )  # fmt: skip


Engine = Callable[[Interpreter, TransitionSystem, bool, bool], Answer]


def by_reference(interpreter: Interpreter, system: TransitionSystem, keep_going: bool, deadlock: bool) -> Answer:
    limits = Limits(states=STATES)
    found, levels = reference.search(interpreter, keep_going=keep_going, deadlock=deadlock, limits=limits)
    return answer(found, interpreter.labels, [set(level) for level in levels.levels])


def by_evaluation(interpreter: Interpreter, system: TransitionSystem, keep_going: bool, deadlock: bool) -> Answer:
    search = evaluated.Search(system)
    found = search.explore(keep_going, deadlock, Limits(states=STATES))
    labels = [t.label for t in system.transitions]
    return answer(found, labels, [{system.decode(x) for x in level} for level in search.levels])


def by_native_code(interpreter: Interpreter, system: TransitionSystem, keep_going: bool, deadlock: bool) -> Answer:
    """The local engine, with workers and sorted names."""
    return _by_local(system, keep_going, deadlock, small=0)


def by_a_table(interpreter: Interpreter, system: TransitionSystem, keep_going: bool, deadlock: bool) -> Answer:
    """With workers and a table, as spaces of many levels are explored."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large_search, "MOST_LEVELS", -1)
        return _by_local(system, keep_going, deadlock, small=0)


def by_arrays(interpreter: Interpreter, system: TransitionSystem, keep_going: bool, deadlock: bool) -> Answer:
    """The local engine, in the way that it explores small state spaces: with programs over columns."""
    return _by_local(system, keep_going, deadlock, small=1 << 20)


def _by_local(system: TransitionSystem, keep_going: bool, deadlock: bool, small: int) -> Answer:
    limits = Limits(states=STATES)
    found, levels = search(system, keep_going=keep_going, deadlock=deadlock, limits=limits, report=None, small=small)
    states = [levels.leaves(levels.level_states(k + 1)) for k in range(len(found.levels))]
    assert all(len(set(level)) == len(level) for level in states)
    labels = [t.label for t in system.transitions]
    return answer(found, labels, [{system.decode(x) for x in level} for level in states])
