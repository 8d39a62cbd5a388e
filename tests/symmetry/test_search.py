"""A search with symmetry finds the same as the full search: the states of its orbits are the full levels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from isrcheck.checker.engines.explicit import levels as orbit_levels
from isrcheck.checker.engines.explicit.levels import NativeLevels
from isrcheck.checker.engines.explicit.search import search
from isrcheck.checker.engines.symbolic.symmetry_proof import symmetry
from isrcheck.checker.kernel import llvm_orbits
from isrcheck.checker.kernel.exchanges import Classes, Member
from isrcheck.checker.kernel.interchangeable import Symmetry
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.checker.results.exploration import Exploration, Limits
from isrcheck.checker.trace.canonical import CanonicalPaths
from isrcheck.model.language import (
    Model,
    action,
    broker,
    constraint,
    count,
    every,
    initial,
    invariant,
    number,
    per,
    setting,
)
from isrcheck.model.semantics.tracing import trace
from isrcheck.model.semantics.transition_system import TransitionSystem
from tests.agreement.engines import traced
from tests.agreement.profiles import examples
from tests.agreement.random_models import load
from tests.marks import EXHAUSTIVE, one_in
from tests.symmetry.favoured import Favoured
from tests.symmetry.orbits import brokers, orbit
from tests.symmetry.symmetric_models import fair_models

STATES = 20_000
LIMITS = Limits(states=STATES, memory=3 << 30)
Searched = tuple[Exploration, NativeLevels]
QUESTIONS = ((False, False), (False, True), (True, True))
"""(keep_going, deadlock)"""


def explored(
    system: TransitionSystem, question: tuple[bool, bool], classes: Classes = (), limits: Limits = LIMITS
) -> Searched:
    keep_going, deadlock = question
    return search(
        system, keep_going=keep_going, deadlock=deadlock, limits=limits, report=None, workers=2, classes=classes
    )


def assert_equal(system: TransitionSystem, full: Searched, reduced: Searched, classes: Classes) -> None:
    """Asserts that both searches agree: all except counts directly, levels and counts orbit by orbit."""
    one, other = full[0], reduced[0]
    for name in ("violated", "goals", "bounds", "degrees", "deadlock", "error", "stopped"):
        assert getattr(one, name) == getattr(other, name), name
    assert len(one.levels) == len(other.levels)
    assert other.orbits is not None
    assert other.orbits.states == one.levels
    assert len(one.generated) == len(other.generated)
    for level in range(1, len(one.levels) + 1):
        assert_level(system, level, full, reduced, classes)
    assert list(found_paths(system, *full)) == list(found_paths(system, *reduced))


def assert_level(system: TransitionSystem, level: int, full: Searched, reduced: Searched, classes: Classes) -> None:
    """Asserts that a level has each orbit of the full level once, and counts what any of its states generates."""
    states = full[1].leaves(full[1].level_states(level))
    kept = reduced[1].leaves(reduced[1].level_states(level))
    members = [orbit(system, state, classes) for state in kept]
    assert sum(map(len, members)) == len(states)
    assert frozenset().union(*members) == set(states)
    assert reduced[0].levels[level - 1] == len(kept)
    if level <= len(full[0].generated):
        last = full[1].kernel.layout.pack([max(m) for m in members])
        transition = full[1].kernel.expand(last)[2]
        actions = [system.actions.index(system.transitions[i].label.action) for i in transition]
        assert reduced[0].generated[level - 1] == np.bincount(actions, minlength=len(system.actions)).tolist()


def found_paths(system: TransitionSystem, found: Exploration, levels: NativeLevels) -> Any:
    """The canonical paths, of at least two states, to everything that was found."""
    paths = CanonicalPaths(levels, [t.actor for t in system.transitions])
    for name, length in sorted(found.violated.items()):
        if length > 1:
            yield name, paths.to_violation(name, length)
    if found.deadlock is not None:
        yield "deadlock", paths.to_deadlock(found.deadlock)
    if found.error is not None:
        yield "error", paths.to_state(found.error[1], found.error[0])


def shipped(name: str, **settings: int | bool) -> TransitionSystem:
    loaded = load_model_class(name)
    return trace(loaded.cls(**settings), loaded.chosen(None))


SYSTEMS: dict[str, tuple[Callable[[], TransitionSystem], Classes]] = {
    "truncate-to-hw": (
        lambda: shipped("truncate-to-hw", log_size=1, max_records=1, max_leader_epoch=1),
        brokers([0, 1, 2]),
    ),
    "kip-101": (lambda: shipped("kip-101", log_size=2, max_records=1, max_leader_epoch=1), brokers([0, 1, 2])),
    "kip-279": (
        lambda: shipped("kip-279", replicas=4, log_size=1, max_records=1, max_leader_epoch=0),
        brokers([0, 1, 2, 3]),
    ),
    "kip-320": (lambda: shipped("kip-320", log_size=1, max_records=1, max_leader_epoch=1), brokers([0, 1, 2])),
    "async-isr": (lambda: shipped("async-isr", max_offset=1, max_version=1), brokers([1, 2])),
    "majority": (lambda: shipped("majority", replicas=3), brokers([1, 2])),
    "primary-backup": (lambda: shipped("primary-backup", replicas=3), brokers([1, 2])),
    "v1": (lambda: shipped("v1", replicas=3), brokers([1, 2])),
    "v2": (lambda: shipped("v2", replicas=3), brokers([1, 2])),
    "v3": (lambda: shipped("v3", replicas=3), brokers([1, 2])),
    "alter-isr": (lambda: shipped("alter-isr", replicas=3), brokers([1, 2])),
}


EVERY_RUN = "async-isr"


@pytest.mark.parametrize("name", [EVERY_RUN, *one_in(2, (n for n in SYSTEMS if n != EVERY_RUN), sample=EXHAUSTIVE)])
def test_orbits_of_shipped_models_expand_to_the_full_levels(name: str) -> None:
    make, classes = SYSTEMS[name]
    system = make()
    assert symmetry(system).classes() == classes
    full, reduced = explored(system, (True, True)), explored(system, (True, True), classes)
    assert full[0].stopped is None
    assert_equal(system, full, reduced, classes)


def assert_same_at_random(source: str, question: tuple[bool, bool]) -> None:
    """Models with too many states are not compared, because orbits reach a limit of states later."""
    _, system = traced(load(source))
    classes = classes_of(system)
    if not classes:
        reject()
    full = explored(system, question, limits=Limits(states=1500, memory=1 << 30))
    if full[0].stopped == "states":
        reject()
    assert_equal(system, full, explored(system, question, classes), classes)


def classes_of(system: TransitionSystem) -> list[list[Member]]:
    return symmetry(system).classes()


@examples(25)
@given(fair_models(), st.sampled_from(QUESTIONS))
def test_orbits_of_random_models_expand_to_the_full_levels(source: str, question: tuple[bool, bool]) -> None:
    assert_same_at_random(source, question)


class Doors(Model):
    """Several initial states, a constraint, a deadlock and a state in which the model has no meaning."""

    replicas = setting(3, counts=broker, meaning="brokers")
    strict = setting(False, meaning="whether one visit too many is a mistake of the model")
    invariants = ("nobody-leaves-first",)

    def variables(self) -> dict[str, Any]:
        """How often each broker was visited, and by whom it was visited first."""
        return {"visits": per(broker, number(0, 2)), "first": broker, "left": per(broker, number(0, 1))}

    @initial(host=broker)
    def initial(self, s: Any, host: Any) -> None:
        """Anybody may be first."""
        s.first = host
        s.visits[host] = 1

    @action(a=broker, b=broker, actor="a")
    def visit(self, s: Any, a: Any, b: Any) -> None:
        """Who was visited visits another one."""
        if a == b:
            return
        s.require(s.visits[a] > 0, s.left[a] == 0)
        if not self.strict:
            s.require(s.visits[b] < 2)
        s.visits[b] += 1

    @action(a=broker, actor="a")
    def leave(self, s: Any, a: Any) -> None:
        """Who was visited twice leaves."""
        s.require(s.visits[a] == 2, s.left[a] == 0)
        s.left[a] = 1

    @constraint
    def two_stay(self, s: Any) -> Any:
        """Not all leave."""
        return count(s.left[b] == 1 for b in self.brokers) < self.replicas

    @invariant
    def nobody_leaves_first(self, s: Any) -> Any:
        """Whoever was first stays."""
        return every((s.left[b] == 0) | (s.first != b) for b in self.brokers)


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("strict", [False, True])
def test_initial_states_constraints_deadlocks_and_errors(strict: bool, question: tuple[bool, bool]) -> None:
    system = trace(Doors(strict=strict), Doors(strict=strict).predicates("invariant"))
    assert classes_of(system) == brokers([0, 1, 2])
    full, reduced = explored(system, question), explored(system, question, brokers([0, 1, 2]))
    assert (full[0].initial, reduced[0].initial) == (3, 1)
    assert full[0].violated or full[0].error
    assert_equal(system, full, reduced, brokers([0, 1, 2]))


def test_two_classes_at_once() -> None:
    system = shipped("async-isr", replicas=4, max_offset=1, max_version=0)
    full = explored(system, (True, True))
    for classes in (brokers([1, 2, 3]), brokers([2, 3]), brokers([1, 3])):
        assert_equal(system, full, explored(system, (True, True), classes), classes)


def test_limits_are_about_orbits() -> None:
    system = shipped("kip-320")
    found, _ = explored(system, (False, False), brokers([0, 1, 2]), Limits(states=1000, memory=3 << 30))
    assert found.stopped == "states"
    assert sum(found.levels) > 1000 >= sum(found.levels[:-1])
    assert found.orbits is not None
    assert 5 * sum(found.levels) < found.orbits.distinct <= 6 * sum(found.levels)


# --- broken on purpose ----------------------------------------------------------------------------------------------


def assert_noticed(name: str) -> None:
    with pytest.raises(AssertionError):
        test_orbits_of_shipped_models_expand_to_the_full_levels(name)


def test_brokers_wrongly_taken_for_interchangeable_are_noticed() -> None:
    system = shipped("async-isr", max_offset=1, max_version=1)
    full, reduced = explored(system, (True, True)), explored(system, (True, True), brokers([0, 1, 2]))
    with pytest.raises(AssertionError):
        assert_equal(system, full, reduced, brokers([0, 1, 2]))


@pytest.mark.parametrize("part", ["constraint", "invariant", "goal", "bound", "action"])
def test_a_part_of_a_model_that_is_not_compared_is_noticed(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Favoured(favouring=part)
    system = trace(model, model.predicates("invariant"))
    assert classes_of(system) == brokers([0, 1])
    assert_equal(
        system, explored(system, (True, True)), explored(system, (True, True), brokers([0, 1])), brokers([0, 1])
    )
    pairs = Symmetry._pairs
    monkeypatch.setattr(Symmetry, "_pairs", lambda *given: (p for p in pairs(*given) if not p.of.startswith(part)))
    assert classes_of(system) == brokers([0, 1, 2])
    with pytest.raises(AssertionError):
        assert_equal(
            system,
            explored(system, (True, True)),
            explored(system, (True, True), brokers([0, 1, 2])),
            brokers([0, 1, 2]),
        )


def test_initial_states_that_are_not_compared_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    differences = Symmetry._differences
    monkeypatch.setattr(
        Symmetry, "_differences", lambda *given: tuple(x for x in differences(*given) if x != "the initial states")
    )
    assert_noticed("v2")


@pytest.mark.exhaustive
def test_representatives_that_are_not_the_least_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    changes = llvm_orbits._changes
    monkeypatch.setattr(llvm_orbits, "_changes", lambda count: list(changes(count))[1:])
    assert_noticed("kip-320")


@pytest.mark.exhaustive
def test_traces_among_representatives_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orbit_levels.OrbitLevels, "members", lambda self, states: states)
    assert_noticed("truncate-to-hw")
