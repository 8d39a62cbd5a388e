"""Brokers and clients are permuted independently of each other, and the reports name both."""

from __future__ import annotations

from itertools import product
from math import factorial
from typing import Any

import pytest

from isrcheck import UnknownName, check
from isrcheck.checker.engines.symbolic.symmetry_proof import symmetry
from isrcheck.checker.kernel.exchanges import Member
from isrcheck.checker.report.pages.story_data import story
from isrcheck.model.language import Model, action, bag, optional, setting, when
from isrcheck.model.semantics.tracing import trace
from tests.cli.running import run
from tests.toys import in_flight
from tests.toys.in_flight import Visitors, client

FILE = in_flight.__file__


def orbits(brokers: int, clients: int) -> int:
    """The number of orbits of interchangeable clients, some at home and the others at interchangeable brokers."""
    places = product(range(brokers + 1), repeat=clients)
    return len({(at.count(0), tuple(sorted(at.count(b) for b in range(1, brokers + 1)))) for at in places})


@pytest.mark.parametrize(("brokers", "clients"), [(2, 3), (3, 3), (1, 4), (4, 2)])
def test_the_group_is_the_product(brokers: int, clients: int) -> None:
    settings = {"brokers_": brokers, "clients_": clients}
    full = check(Visitors, settings, keep_going=True)
    reduced = check(Visitors, settings, keep_going=True, symmetry=True)
    assert full.distinct == (brokers + 1) ** clients
    assert reduced.distinct == orbits(brokers, clients)
    assert reduced.orbits is not None
    assert reduced.orbits.states == full.levels
    assert reduced.orbits.permutations == factorial(brokers) * factorial(clients)
    found = full.invariants["somebody-is-at-home"].trace, reduced.invariants["somebody-is-at-home"].trace
    assert found[0] == found[1]


def test_each_scalarset_has_classes_of_its_own() -> None:
    model = Visitors(brokers_=2, clients_=3)
    system = trace(model, model.predicates("invariant"))
    brokers = [Member("broker", number) for number in range(2)]
    assert symmetry(system).classes() == [brokers, [Member("client", number) for number in range(3)]]


class Favourite(Visitors):
    """Client 0 stays at home."""

    def initial(self, s: object) -> None:
        s.at[self.members(in_flight.client)[0]] = self.broker(0)  # type: ignore[attr-defined]


def test_a_client_that_is_told_apart_is_not_permuted() -> None:
    result = check(Favourite, {"clients_": 3, "brokers_": 3}, symmetry=True, invariants=())
    assert result.orbits is not None
    assert [list(c) for c in result.orbits.classes] == [[("broker", 1), ("broker", 2)], [("client", 1), ("client", 2)]]
    with pytest.raises(UnknownName, match="clients 0 and 1 are distinguished by the initial"):
        check(Favourite, {"clients_": 2, "brokers_": 1}, symmetry=True, invariants=())


class Bell(Model):
    """One client at a time is called, and the last who came is known."""

    clients_ = setting(2, counts=client, at_least=1, meaning="clients")

    def variables(self) -> dict[str, Any]:
        return {"called": bag(client, 1), "last": optional(client)}

    @action(c=client, actor="somebody")
    def call(self, s: Any, c: Any) -> None:
        """A client is called."""
        s.require(s.called.is_empty)
        s.called.put(c)

    @action(actor="somebody")
    def come(self, s: Any) -> None:
        """Whoever is called comes; they are asked one after the other, but only one is called."""
        s.require(~s.called.is_empty)
        last = s.last
        for c in self.members(client):
            last = when(s.called.has(c), c, last)
        s.last = last

    @action(c=client, actor="somebody")
    def forget(self, s: Any, c: Any) -> None:
        """Nobody is called any more."""
        s.require(s.called.has(c))
        s.called.take(c)


def test_only_so_many_are_in_a_bag_as_there_is_room_for() -> None:
    result = check(Bell, {}, symmetry=True, invariants=())
    assert result.orbits is not None
    assert (sum(result.orbits.states), result.distinct) == (9, 5)


@pytest.mark.parametrize("engine", ["local", "reference", "symbolic"])
def test_reports_call_members_by_the_name_of_their_scalarset(engine: str) -> None:
    found = run("check", f"{FILE}:Visitors", "-s", "clients_=2", "--engine", engine)
    assert found.code == 12
    assert "  2  client 0  A client visits a broker (c client 0, b broker 0)." in found.out
    assert "  3  client 1  A client visits a broker (c client 1, b broker 1)." in found.out


def test_the_command_line_says_what_is_permuted() -> None:
    found = run("check", f"{FILE}:Visitors", "--symmetry", "--continue", "-s", "brokers_=2")
    assert "brokers 0, 1 and clients 0, 1, 2: 12 permutations" in found.out


@pytest.mark.parametrize("form", ["tla", "promela", "murphi"])
def test_exports_call_members_by_the_name_of_their_scalarset(form: str) -> None:
    found = run("export", f"{FILE}:Visitors", "--to", form)
    assert found.code == 0
    assert "at[0]: a broker 0..2, or -1 for none" in found.out
    assert "guests[0]: a set of the clients 0..2" in found.out


def test_a_page_has_a_lane_and_a_card_for_each_member() -> None:
    result = check(Visitors, {"clients_": 2})
    trace_ = result.invariants["somebody-is-at-home"].trace
    assert trace_ is not None
    reported = story(Visitors(clients_=2), trace_)
    names = [f"{of} {number}" for of, count in (("client", 2), ("broker", 3)) for number in range(count)]
    assert [lane["name"] for lane in reported["lanes"]] == names
    assert {row["owner"] for row in reported["rows"]} == {None, *names}
    assert [step["partners"] for step in reported["steps"]] == [[], ["broker 0"], ["broker 1"]]
