"""Native code finds the least state and the size of each orbit, as single exchanges of values do."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isrcheck.checker.kernel import llvm_orbits
from isrcheck.checker.kernel.exchanges import Classes, Exchange, Member, members
from isrcheck.checker.kernel.interchangeable import random_state
from isrcheck.checker.kernel.layout import Layout
from isrcheck.checker.kernel.llvm_orbits import Exchanging, Orbits, affordable, permutations, walk
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.model.language import (
    Model,
    action,
    bag,
    broker,
    channel,
    messages,
    optional,
    per,
    record,
    scalarset,
    sequence,
    set_of,
    setting,
)
from isrcheck.model.semantics.tracing import trace
from isrcheck.model.semantics.transition_system import TransitionSystem
from tests.agreement.engines import traced
from tests.agreement.profiles import examples
from tests.agreement.random_models import load
from tests.symmetry.orbits import State, brokers, orbit
from tests.symmetry.symmetric_models import fair_models

client = scalarset("client")


class Nested(Model):
    """Brokers, and clients, wherever a domain can have them."""

    replicas = setting(4, counts=broker, meaning="brokers")
    users = setting(3, counts=client, meaning="clients")

    def variables(self) -> dict[str, Any]:
        """Sets, sequences and messages, in each other, and what is kept per broker."""
        pair = record(source=broker, target=optional(broker))
        return {
            "queue": sequence(record(from_=broker, asked=set_of(broker), heard=sequence(broker, 2)), 2),
            "known": per(broker, record(peers=per(broker, set_of(broker)), log=sequence(pair, 2))),
            "sent": messages(pair),
            "seen": per(broker, messages(broker)),
            "one": broker,
            "flying": bag(record(by=broker, of=optional(client)), 2),
            "coming": channel(record(by=client, to=set_of(broker)), 2),
            "guests": per(client, per(broker, set_of(client))),
        }

    @action(actor="nobody")
    def empty(self, s: Any) -> None:
        """A model has to have an action."""
        s.queue = []


def shipped(name: str, **settings: int) -> TransitionSystem:
    return trace(load_model_class(name).cls(**settings), {})


SYSTEMS: dict[str, tuple[Any, list[Classes]]] = {
    "kip-320": (
        lambda: shipped("kip-320", replicas=4, log_size=3),
        [brokers([0, 1, 2, 3]), brokers([0, 3]), brokers([1, 3], [0, 2])],
    ),
    "five replicas": (lambda: shipped("kip-320", replicas=5), [brokers([0, 1, 2, 3, 4])]),
    "async-isr": (lambda: shipped("async-isr"), [brokers([1, 2]), brokers([0, 1, 2])]),
    "v2": (lambda: shipped("v2", replicas=3), [brokers([0, 1, 2])]),
    "alter-isr": (lambda: shipped("alter-isr", replicas=3), [brokers([0, 2])]),
    "nested": (
        lambda: trace(Nested(), {}),
        [
            brokers([0, 1, 2, 3]),
            brokers([0, 2]),
            [[Member("client", number) for number in range(3)]],
            [*brokers([1, 2, 3]), [Member("client", 0), Member("client", 2)]],
        ],
    ),
}


def assert_exact(system: TransitionSystem, classes: Classes, states: list[State]) -> None:
    """Asserts that representatives, members and sizes of the orbits of some states are right."""
    layout = Layout(system.leaves)
    native, packed = Orbits(system, layout, classes), layout.pack(states)
    wanted = [orbit(system, state, classes) for state in states]
    least = [min(map(tuple, layout.pack(sorted(members)).tolist())) for members in wanted]
    assert [tuple(row) for row in native.representatives(packed).tolist()] == least
    assert native.weight(packed) == sum(map(len, wanted))
    for state, alike in zip(states[:4], wanted, strict=False):
        found = [tuple(row) for row in layout.unpack(native.members(layout.pack([state]))).tolist()]
        assert set(found) == alike
        assert len(found) == len(alike)


def states_of(system: TransitionSystem, count: int, salt: int = 0) -> list[State]:
    """Random states and some initial states, which exchanges often leave unchanged."""
    chance = random.Random(salt)
    return [*(random_state(system, chance) for _ in range(count)), *system.initial[:3]]


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.exhaustive] * (n in ("five replicas", "kip-320"))) for n in SYSTEMS],
)
def test_representatives_and_sizes_of_orbits_are_exact(name: str) -> None:
    make, several = SYSTEMS[name]
    system = make()
    for classes in several:
        assert_exact(system, classes, states_of(system, 9))


@examples(60)
@given(fair_models(), st.integers(0, 1000))
def test_representatives_and_sizes_of_orbits_of_random_domains_are_exact(source: str, salt: int) -> None:
    _, system = traced(load(source))
    everybody = [list(c) for _, c in itertools.groupby(members(system), key=lambda member: member.of)]
    if several := [c for c in everybody if len(c) > 1]:
        assert_exact(system, several, states_of(system, 10, salt))


@pytest.mark.parametrize(
    "classes",
    [brokers([0, 1]), brokers([0, 1, 2]), brokers([0, 2, 3, 4]), brokers([0, 1, 2, 3, 4]), brokers([0, 2], [1, 3, 4])],
)
def test_the_walk_makes_every_permutation_once(classes: Classes) -> None:
    at = list(range(5))
    seen = [tuple(at)]
    for a, b in walk(classes):
        exchange = Exchange(a, b)
        at = [exchange.number(x) for x in at]
        seen.append(tuple(at))
    assert len(set(seen)) == len(seen) == math.prod(math.factorial(len(c)) for c in classes) == permutations(classes)


def test_no_more_than_120_permutations_are_tried() -> None:
    assert affordable(brokers([0, 1, 2, 3, 4])) == brokers([0, 1, 2, 3, 4])
    assert affordable(brokers([0, 1, 2, 3, 4, 5])) == brokers([0, 1, 2, 3, 4])
    assert affordable(brokers([0, 1, 2, 3], [4, 5, 6, 7])) == brokers([0, 1, 2], [4, 5, 6])


# --- broken on purpose ----------------------------------------------------------------------------------------------


def assert_noticed(name: str) -> None:
    with pytest.raises(AssertionError):
        test_representatives_and_sizes_of_orbits_are_exact(name)


def test_brokers_that_are_left_as_they_are_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Exchanging, "_with_brokers", lambda self, writer, words, number: words[number])
    assert_noticed("kip-320")


def test_pairs_of_bits_that_are_left_out_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = Exchanging._pairs

    def without_last(self: Exchanging, *given: Any) -> Any:
        found = pairs(self, *given)
        found.popitem()
        return found

    monkeypatch.setattr(Exchanging, "_pairs", without_last)
    assert_noticed("v2")


def test_exchanges_behind_the_end_of_a_sequence_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    fields = llvm_orbits._Field
    monkeypatch.setattr(llvm_orbits, "_Field", lambda leaf, length, offset: fields(leaf, None, 0))
    assert_noticed("nested")


def test_a_permutation_that_is_left_out_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    changes = llvm_orbits._changes
    monkeypatch.setattr(llvm_orbits, "_changes", lambda count: list(changes(count))[1:])
    assert_noticed("kip-320")


def test_a_wrong_choice_of_the_least_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    less = llvm_orbits._less
    monkeypatch.setattr(llvm_orbits, "_less", lambda loop, one, other: less(loop, other, one))
    assert_noticed("async-isr")
