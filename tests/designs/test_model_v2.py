"""V2: engines agree on it, each of its actions can happen, and it allows the stories of its page."""

from __future__ import annotations

from typing import Any

import pytest

from isrcheck import check
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.checker.results.exploration import Limits
from isrcheck.model.semantics.tracing import trace
from tests.designs.agreeing import (
    MEMORY,
    absent,
)
from tests.designs.replaying import Story

V2 = load_model_class("v2")
# --- engines agree ----------------------------------------------------------------------------------------------------


def test_settings_that_are_off_cost_nothing() -> None:
    assert sorted(V2.cls().domains) == [
        "acknowledged", "committed", "known_end", "live", "log", "next_record_id", "replica", "state", "watch",
    ]  # fmt: skip
    idle = {t.label.action for t in trace(V2.cls(), {}).transitions}
    assert sorted(idle) == [
        "become-follower-of-new-leader", "commit", "create-leader-node", "expand-isr", "fetch", "fetch-out-of-range",
        "ignore-leader-change", "produce", "read-epoch", "shrink-isr", "start-leading", "write-epoch",
    ]  # fmt: skip


# --- nothing is dead --------------------------------------------------------------------------------------------------

LIVELY: list[dict[str, Any]] = [
    {"crashes": 1, "lossy_crashes": 1, "truncation": "kip-101", "max_records": 2, "acks_one": True,
     "checkpoint_all": False, "max_leader_epoch": 3},
    {"expiries": 2, "isr_write": "conditional", "new_epoch": "conditional", "election_read": "earlier",
     "shrink_guard": "any", "load_balancing": True, "log_size": 1, "consumers": True,
     "past_high_watermark": "out-of-range"},
    {"crashes": 1, "reassignments": 1, "assigned_at_start": 1, "resumed_reassignment": "started", "log_size": 1,
     "expand_guard": "high-watermark"},
    {"topic_changes": 2, "log_size": 1, "start_check": "epoch-or-administrator"},
]  # fmt: skip


def test_every_action_happens_and_every_goal_is_reached() -> None:
    found = [
        check(V2.cls, settings, profile="bare", invariants=(), limits=Limits(states=30_000, memory=MEMORY))
        for settings in LIVELY
    ]
    never = set.intersection(
        *({*r.actions_never_fired} | absent(V2.cls, s) for r, s in zip(found, LIVELY, strict=True))
    )
    late = {"ask-where-epoch-ends", "ignore-reply", "raise-high-watermark-before-truncating", "watch-leader-again"}
    # Answers of V2's leaders are never late and carry no epoch, and whoever reads the leader node watches it at once.
    assert never == late
    assert set.intersection(*({*r.goals_never_reached} for r in found)) == set()


# --- stories ----------------------------------------------------------------------------------------------------------

OVERWRITTEN = """
    session-expires(b=0)
    create-leader-node(p=0, b=1)
    read-epoch(p=0, b=1)
    write-epoch(p=0, b=1)
    start-leading(p=0, b=1)
    produce(p=0, b=1)
    commit(p=0, b=1)
    produce(p=0, b=0)
    not commit(p=0, b=0)
"""
ZOMBIE: dict[str, Any] = {"expiries": 1, "crashes": 1, "max_records": 2, "log_size": 1}


def test_a_zombie_that_writes_the_isr_leads_again_and_the_record_of_its_successor_is_lost() -> None:
    story = Story(V2, ("no-acknowledged-loss", "no-committed-loss"), **ZOMBIE)
    story.tell(OVERWRITTEN)
    assert story.value("state")[0] == {"leader": 1, "isr": [1], "epoch": 1, "version": 0}
    story.tell("""
        shrink-isr(p=0, b=0, follower=1)
        crash(b=1)
        session-of-the-dead-expires(b=1)
        register-again(b=0)
    """)
    # The ISR and the epoch are those of the zombie, as if broker 1 had never led.
    assert story.value("state")[0] == {"leader": None, "isr": [0], "epoch": 0, "version": 0}
    story.tell("""
        create-leader-node(p=0, b=0)
        read-epoch(p=0, b=0)
        write-epoch(p=0, b=0)
        start-leading(p=0, b=0)
    """)
    assert story.logs() == [[1], [0]]
    assert story.holds() == {"no-acknowledged-loss": False, "no-committed-loss": False}


def test_a_zombie_that_writes_conditionally_waits_for_the_broker_that_has_the_record() -> None:
    story = Story(V2, ("no-acknowledged-loss", "no-committed-loss"), isr_write="conditional", **ZOMBIE)
    story.tell(OVERWRITTEN)
    story.tell("""
        not shrink-isr(p=0, b=0, follower=1)
        crash(b=1)
        session-of-the-dead-expires(b=1)
        register-again(b=0)
        not create-leader-node(p=0, b=0)
        ignore-leader-change(p=0, b=0)
        broker-startup(b=1)
        create-leader-node(p=0, b=1)
        read-epoch(p=0, b=1)
        write-epoch(p=0, b=1)
        start-leading(p=0, b=1)
    """)
    assert story.logs() == [[1], [0]]
    assert story.holds() == {"no-acknowledged-loss": True, "no-committed-loss": True}


def test_a_partition_moves_step_by_step() -> None:
    story = Story(
        V2,
        ("isr-is-assigned", "no-committed-loss", "reassignments-complete"),
        reassignments=1,
        assigned_at_start=1,
        log_size=1,
        expand_guard="high-watermark",
    )
    story.tell("""
        produce(p=0, b=0)
        commit(p=0, b=0)
        reassign-partition(p=0, target=[1])
        not fetch(p=0, follower=1, leader=0)
        on-partitions-reassigned(p=0, b=0)
        on-start-replica(p=0, b=1)
        not close-old-replicas(p=0, b=0)
        fetch(p=0, follower=1, leader=0)
        fetch(p=0, follower=1, leader=0)
        close-old-replicas(p=0, b=0)
        write-reassigned-isr(p=0, b=0)
    """)
    # The ISR has both before the replicas have: a leader that fails here leaves a partition that either may lead.
    assert story.value("state")[0]["isr"] == [0, 1]
    assert story.value("assignment")[0] == {"phase": "requested", "replicas": [0], "target": [1]}
    assert story.holds()["isr-is-assigned"]
    story.tell("""
        write-new-replicas(p=0, b=0)
        delete-reassigned-path(p=0, b=0)
        hand-over(p=0, b=0)
        on-close-replica(p=0, b=0)
        create-leader-node(p=0, b=1)
        read-epoch(p=0, b=1)
        write-epoch(p=0, b=1)
        start-leading(p=0, b=1)
    """)
    assert story.logs() == [[], [0]]
    assert story.value("state")[0] == {"leader": 1, "isr": [1], "epoch": 1, "version": 0}
    assert story.holds() == {"isr-is-assigned": True, "no-committed-loss": True, "reassignments-complete": True}


MOVING: dict[str, Any] = {"reassignments": 1, "assigned_at_start": 1, "log_size": 1}


def test_a_new_replica_that_waits_for_the_next_commit_is_no_stray() -> None:
    story = Story(V2, ("no-stray-replica", "reassignments-complete"), **MOVING)
    story.tell("""
        reassign-partition(p=0, target=[1])
        on-partitions-reassigned(p=0, b=0)
        on-start-replica(p=0, b=1)
        fetch(p=0, follower=1, leader=0)
        not close-old-replicas(p=0, b=0)
    """)
    assert story.holds() == {"no-stray-replica": True, "reassignments-complete": False}


def test_a_broker_registers_although_its_queue_has_made_it_a_follower() -> None:
    story = Story(V2, (), crashes=1, **MOVING)
    story.tell("""
        reassign-partition(p=0, target=[1])
        on-partitions-reassigned(p=0, b=0)
        crash(b=1)
        session-of-the-dead-expires(b=1)
        boot(b=1)
        not broker-startup(b=1)
        on-start-replica(p=0, b=1)
        fetch(p=0, follower=1, leader=0)
        broker-startup(b=1)
        not broker-startup(b=1)
    """)
    assert story.value("live") == [0, 1]


@pytest.mark.parametrize(("skip", "kept"), [("never", []), ("on-start-replica", [0]), ("always", [0])])
def test_start_replica_asks_whether_a_replica_follows_already(skip: str, kept: list[int]) -> None:
    story = Story(V2, (), crashes=1, skip_same_leader=skip, **MOVING)
    story.tell("""
        reassign-partition(p=0, target=[1])
        on-partitions-reassigned(p=0, b=0)
        crash(b=1)
        session-of-the-dead-expires(b=1)
        boot(b=1)
        on-start-replica(p=0, b=1)
        produce(p=0, b=0)
        fetch(p=0, follower=1, leader=0)
        broker-startup(b=1)
    """)
    assert story.logs() == [[0], kept]


@pytest.mark.parametrize(("skip", "kept"), [("never", []), ("on-start-replica", []), ("always", [0])])
def test_leader_election_does_not_ask_as_the_page_has_it(skip: str, kept: list[int]) -> None:
    story = Story(V2, (), expiries=1, skip_same_leader=skip)
    story.tell("""
        produce(p=0, b=0)
        fetch(p=0, follower=1, leader=0)
        session-expires(b=1)
        register-again(b=1)
        become-follower-of-new-leader(p=0, b=1)
    """)
    assert story.logs() == [[0], kept]


def test_nobody_leaves_the_isr_when_there_is_nothing_to_commit() -> None:
    story = Story(V2, (), log_size=2, max_records=2)
    story.tell("""
        not shrink-isr(p=0, b=0, follower=1)
        produce(p=0, b=0)
        shrink-isr(p=0, b=0, follower=1)
    """)
    Story(V2, (), expand_guard="high-watermark").tell("shrink-isr(p=0, b=0, follower=1)")


def test_the_owner_of_the_leader_node_is_judged_whatever_epoch_a_zombie_has_written() -> None:
    story = Story(V2, ("no-committed-loss", "service-goes-on"), **ZOMBIE)
    story.tell("""
        session-expires(b=0)
        create-leader-node(p=0, b=1)
        read-epoch(p=0, b=1)
        write-epoch(p=0, b=1)
        start-leading(p=0, b=1)
        produce(p=0, b=0)
        shrink-isr(p=0, b=0, follower=1)
        commit(p=0, b=0)
    """)
    assert story.value("state")[0] == {"leader": 1, "isr": [0], "epoch": 0, "version": 0}
    assert not story.holds()["no-committed-loss"]
