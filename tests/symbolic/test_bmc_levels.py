"""Unrolling reaches every state at the same level as enumeration, with symmetry and with the order of instances."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import find, given
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample, UnsatisfiedAssumption

from isrcheck.checker.engines.symbolic import path_order, symmetry_proof, unrolling, z3_terms
from isrcheck.checker.engines.symbolic.bounded_search import search
from isrcheck.checker.engines.symbolic.solver import Watch
from isrcheck.checker.engines.symbolic.z3_terms import Terms
from isrcheck.checker.kernel.exchanges import Classes, Exchange, Member
from isrcheck.checker.kernel.interchangeable import Symmetry
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.checker.results.exploration import Limits
from isrcheck.model.language import Model, action, constraint, number, when
from isrcheck.model.semantics import expressions as e
from isrcheck.model.semantics.tracing import trace
from isrcheck.model.semantics.transition_system import Predicate, TransitionSystem
from tests.agreement import evaluated
from tests.agreement.engines import traced
from tests.agreement.profiles import THOROUGH, attempts, examples
from tests.agreement.random_models import load, models
from tests.symmetry.orbits import brokers
from tests.toys.die_hard import DieHard
from tests.toys.missionaries import Missionaries
from tests.toys.two_phase_commit import TwoPhaseCommit

DEPTH = 6
State = tuple[int, ...]


def published(name: str, **settings: int) -> TransitionSystem:
    cls = load_model_class(name).cls
    return trace(cls(**settings), {})


def toy(cls: type[Model], **settings: int) -> TransitionSystem:
    return trace(cls(**settings), {})


class Detour(Model):
    """A number with a short way to 3 over a state outside the constraint, and a long one inside."""

    def variables(self) -> dict[str, Any]:
        return {"n": number(0, 9)}

    @action(actor="walker")
    def short_way(self, s: Any) -> None:
        """0, 1, 2, 3."""
        s.require(s.n < 3)
        s.n = s.n + 1

    @action(actor="walker")
    def long_way(self, s: Any) -> None:
        """1, 7, 8, 9, 3."""
        s.require((s.n == 1) | (s.n >= 7))
        s.n = when(s.n == 1, 7, when(s.n == 9, 3, s.n + 1))

    @constraint
    def inside(self, s: Any) -> Any:
        """The number is not 2."""
        return s.n != 2


SYSTEMS: dict[str, Callable[[], TransitionSystem]] = {
    "kip-101": lambda: published("kip-101", replicas=2, log_size=1, max_records=1, max_leader_epoch=1),
    "kip-279": lambda: published("kip-279", replicas=3, log_size=1, max_records=1, max_leader_epoch=0),
    "kip-320": lambda: published("kip-320", replicas=2, log_size=2, max_records=1, max_leader_epoch=1),
    "async-isr": lambda: published("async-isr", replicas=3, max_offset=1, max_version=1),
    "v3": lambda: published("v3", log_size=1),
    "detour": lambda: toy(Detour),
    "die-hard": lambda: toy(DieHard),
    "missionaries": lambda: toy(Missionaries),
    "two-phase-commit": lambda: toy(TwoPhaseCommit, managers=3),
}


def classes_of(system: TransitionSystem) -> list[list[Member]]:
    with Watch(Limits()) as watch:
        return symmetry_proof.classes(system, watch)


def orbit(system: TransitionSystem, state: State, classes: Classes) -> set[State]:
    """All states that exchanges of interchangeable brokers make from a state."""
    found, pending = {state}, [state]
    swaps = [Exchange(a, b) for c in classes for a, b in itertools.pairwise(c)]
    while pending:
        values = system.decode(pending.pop())
        for swap in swaps:
            moved = [swap.value(v.domain, x) for v, x in zip(system.variables, values, strict=True)]
            if (leaves := system.encode(moved)) not in found:
                found.add(leaves)
                pending.append(leaves)
    return found


def is_none_of(system: TransitionSystem, states: set[State]) -> e.Expression:
    def same(state: State) -> e.Expression:
        return e.and_(*(e.eq(e.leaf(x), e.constant(x.kind, v)) for x, v in zip(system.leaves, state, strict=True)))

    return e.not_(e.or_(*map(same, sorted(states))))


def assert_met_at_its_level(system: TransitionSystem, pick: Callable[[list[State]], State], symmetric: bool) -> None:
    """Asserts that unrolling reaches one state of each level at its level: an invariant says that it is not reached."""
    by_hand = evaluated.Search(replace(system, invariants=()))
    found = by_hand.explore(False, False, Limits(states=3000))
    if found.error is not None:
        return
    levels = by_hand.levels[:DEPTH]
    classes = classes_of(replace(system, invariants=())) if symmetric else []
    wanted = {f"level-{k + 1}": orbit(system, pick(level), classes) for k, level in enumerate(levels)}
    never = tuple(Predicate(name, "", is_none_of(system, states), e.FALSE) for name, states in wanted.items())
    asked = replace(system, invariants=never)
    answer, paths = search(asked, keep_going=True, deadlock=False, limits=Limits(depth=len(levels)), report=None)
    assert answer.violated == {name: k + 1 for k, name in enumerate(wanted)}
    if symmetric:
        assert paths.classes == classes


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.exhaustive] * (n in ("missionaries", "kip-279"))) for n in SYSTEMS],
)
@pytest.mark.parametrize("symmetric", [False, pytest.param(True, marks=pytest.mark.exhaustive)])
def test_one_state_of_each_level_is_met_there(name: str, symmetric: bool) -> None:
    assert_met_at_its_level(SYSTEMS[name](), lambda level: sorted(level)[len(level) // 2], symmetric)


@examples(60)
@given(models(), st.data(), st.booleans())
def test_a_random_state_of_each_level_of_a_random_model_is_met_there(
    source: str, data: st.DataObject, symmetric: bool
) -> None:
    _, system = traced(load(source))
    assert_met_at_its_level(system, lambda level: data.draw(st.sampled_from(level)), symmetric)


def test_brokers_that_the_published_models_do_not_tell_apart() -> None:
    assert classes_of(SYSTEMS["kip-279"]()) == brokers([0, 1, 2])
    # AsyncIsr has one fixed leader, broker 0.
    assert classes_of(SYSTEMS["async-isr"]()) == brokers([1, 2])


# --- broken on purpose ----------------------------------------------------------------------------------------------


def assert_noticed_in(*names: str) -> None:
    for name in names:
        with pytest.raises(AssertionError):
            test_one_state_of_each_level_is_met_there(name, True)


def assert_noticed_at_random() -> None:
    def differs(source: str) -> bool:
        try:
            _, system = traced(load(source))
            assert_met_at_its_level(system, max, True)
        except UnsatisfiedAssumption:
            raise
        except Exception:
            return True
        return False

    try:
        find(models(), differs, settings=attempts(1000))
    except NoSuchExample:
        pytest.fail("nobody noticed")


@pytest.mark.exhaustive
def test_instances_wrongly_taken_for_independent_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(path_order, "_independent", lambda a, b: True)
    assert_noticed_in("die-hard", "two-phase-commit")


@pytest.mark.exhaustive
def test_brokers_wrongly_taken_for_interchangeable_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Symmetry, "differences", lambda *given: ())
    assert_noticed_in("async-isr")


@pytest.mark.exhaustive
def test_a_broken_order_of_mention_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def backwards(self: path_order.MentionOrder, brokers: list[int]) -> Iterator[int]:
        for broker in brokers:
            yield from (x for x in self._class.get(broker, ()) if x != broker and x not in brokers)

    monkeypatch.setattr(path_order.MentionOrder, "_lesser", backwards)
    assert_noticed_in("kip-279")


@pytest.mark.exhaustive
def test_frames_that_are_not_kept_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    updates = unrolling.Template._updates
    monkeypatch.setattr(
        unrolling.Template, "_updates", lambda self: [x for x in updates(self) if z3_terms.z3.is_implies(x)]
    )
    assert_noticed_in("kip-320")


@pytest.mark.exhaustive
def test_guards_that_are_not_asked_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unrolling.Template, "_guards", lambda self: [])
    assert_noticed_in("missionaries")


def test_constraints_that_are_not_asked_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    asserted = unrolling.Unrolling.asserted

    def deaf(self: unrolling.Unrolling, level: int, about: object) -> object:
        return z3_terms.z3.BoolVal(True) if about is self.template.inside else asserted(self, level, about)

    monkeypatch.setattr(unrolling.Unrolling, "asserted", deaf)
    assert_noticed_in("detour")


LATE = ("has", "union")
"""Operators whose defects few random models notice."""


SELDOM = [pytest.param(name, marks=pytest.mark.exhaustive) for name in ("or", "le", "if")]


@pytest.mark.parametrize("operator", ["not", "and", "eq", *SELDOM, *(LATE if THOROUGH else ())])
def test_a_wrong_term_of_an_operator_is_noticed(operator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(self: Terms, node: e.Expression, given: list[object]) -> object:
        return given[-1] if node.kind != "flag" or operator in ("not", "and", "or") else z3_terms.z3.BoolVal(True)

    if operator == "not":
        monkeypatch.setitem(z3_terms.OPERATORS, "not", lambda self, node, given: given[0])
    else:
        monkeypatch.setitem(z3_terms.OPERATORS, operator, wrong)
    assert_noticed_at_random()
