"""Every engine finds the published numbers of states of well-known small systems."""

from __future__ import annotations

from math import comb
from typing import Any

import pytest

from isrcheck import check
from tests.toys.die_hard import DieHard
from tests.toys.in_flight import InBag, InOrder, Visitors
from tests.toys.missionaries import Missionaries
from tests.toys.replicated_log import IdSequence, ReplicatedLog
from tests.toys.termination import Termination
from tests.toys.two_phase_commit import TwoPhaseCommit

ENGINES = pytest.mark.parametrize("engine", ["reference", "local"])


@ENGINES
@pytest.mark.parametrize(("managers", "distinct"), [(1, 12), (2, 56), (3, 288), (4, 1568), (5, 8832), (6, 50816)])
def test_two_phase_commit_has_the_states_that_are_published(engine: str, managers: int, distinct: int) -> None:
    if engine == "reference" and managers > 3:
        pytest.skip("the reference engine is for small systems")
    result = check(TwoPhaseCommit, {"managers": managers}, engine=engine)
    assert (result.verdict, result.distinct) == ("holds", distinct)
    assert not result.goals_never_reached


@ENGINES
def test_the_heroes_of_die_hard_need_seven_states(engine: str) -> None:
    everything = check(DieHard, engine=engine, keep_going=True)
    assert (everything.distinct, everything.depth) == (16, 8)
    outcome = everything.invariants["big-jug-never-holds-four"]
    assert outcome.trace is not None
    assert (outcome.verdict, outcome.trace.length, everything.exit_code) == ("violated", 7, 12)
    assert outcome.trace.steps[-1].state[0] == 4


@ENGINES
def test_three_missionaries_and_three_cannibals_cross(engine: str) -> None:
    result = check(Missionaries, engine=engine, keep_going=True)
    assert (result.distinct, result.depth) == (64, 13)
    assert result.invariants["somebody-is-left-behind"].verdict == "violated"


@ENGINES
@pytest.mark.parametrize(
    ("nodes", "distinct", "initial"), [(2, 54, 32), (3, 302, 192), (4, 1566, 1024), (5, 7742, 5120)]
)
def test_termination_detection_has_the_states_that_are_published(
    engine: str, nodes: int, distinct: int, initial: int
) -> None:
    if engine == "reference" and nodes > 3:
        pytest.skip("the reference engine is for small systems")
    result = check(Termination, {"nodes": nodes}, engine=engine)
    assert (result.verdict, result.distinct, result.levels[0]) == ("holds", distinct, initial)
    assert result.initial_states == initial


@ENGINES
@pytest.mark.parametrize(("replicas", "records", "size"), [(1, 3, 3), (2, 2, 2), (3, 1, 2), (3, 2, 2)])
def test_replicated_logs_reach_every_combination(engine: str, replicas: int, records: int, size: int) -> None:
    settings: dict[str, Any] = {"replicas": replicas, "records": records, "log_size": size}
    result = check(ReplicatedLog, settings, engine=engine)
    logs = sum(records**length for length in range(size + 1))
    assert (result.distinct, result.depth) == (logs**replicas, replicas * size + 1)


@ENGINES
def test_a_sequence_of_identifiers_is_one_chain(engine: str) -> None:
    result = check(IdSequence, {"greatest": 300}, engine=engine)
    assert (result.distinct, result.depth, result.levels) == (302, 302, [1] * 302)


@ENGINES
@pytest.mark.parametrize(("kinds", "room"), [(1, 4), (3, 3), (5, 2), (2, 6)])
def test_bags_are_multisets(engine: str, kinds: int, room: int) -> None:
    result = check(InBag, {"kinds": kinds, "room": room}, engine=engine)
    assert (result.verdict, result.distinct, result.depth) == ("holds", comb(kinds + room, room), room + 1)
    assert result.levels == [comb(kinds + size - 1, size) for size in range(room + 1)]
    assert not result.goals_never_reached or room == 1


@ENGINES
@pytest.mark.parametrize(("kinds", "room"), [(1, 4), (3, 3), (2, 4)])
def test_channels_are_words_and_what_was_sent_last(engine: str, kinds: int, room: int) -> None:
    result = check(InOrder, {"kinds": kinds, "room": room}, engine=engine)
    # Nothing was sent yet, or all has arrived and one is the last; else the last is the end of what is in flight.
    assert (result.verdict, result.distinct) == ("holds", 1 + kinds + sum(kinds**n for n in range(1, room + 1)))


@ENGINES
def test_clients_and_brokers_are_counted_by_settings_of_their_own(engine: str) -> None:
    result = check(Visitors, {"brokers_": 2, "clients_": 4}, engine=engine, keep_going=True)
    assert (result.distinct, result.depth) == (3**4, 5)
    assert result.invariants["somebody-is-at-home"].verdict == "violated"
