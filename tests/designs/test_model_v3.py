"""V3: engines agree on it, each of its actions can happen, and it allows the stories of its documents."""

from __future__ import annotations

from typing import Any

from isrcheck import check
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.checker.results.exploration import Limits
from isrcheck.model.designs.v3 import ControllerDesign
from isrcheck.model.semantics.tracing import trace
from tests.designs.agreeing import (
    MEMORY,
    absent,
)
from tests.designs.replaying import Story

# --- engines agree ----------------------------------------------------------------------------------------------------


def test_settings_that_are_off_cost_nothing() -> None:
    assert sorted(ControllerDesign().domains) == [
        "acknowledged", "channel", "committed", "known_end", "live", "log", "next_record_id", "replica", "seen_live",
        "state",
    ]  # fmt: skip
    idle = {t.label.action for t in trace(ControllerDesign(), {}).transitions}
    assert sorted(idle) == [
        "become-follower-by-command", "become-leader-by-command", "commit", "expand-isr", "fetch",
        "fetch-out-of-range", "ignore-command", "on-broker-change", "on-broker-change-without-leader", "produce",
        "shrink-isr",
    ]  # fmt: skip


# --- nothing is dead --------------------------------------------------------------------------------------------------

LIVELY: list[dict[str, Any]] = [
    {"crashes": 2},
    {"lossy_crashes": 1, "truncation": "kip-279", "max_records": 2, "unclean": True, "isr_at_start": 1,
     "preferred_election": True},
    {"expiries": 2, "truncation": "kip-279", "truncation_reply": "checked", "log_size": 1},
    {"expiries": 1, "truncation": "on-fetch", "max_records": 2, "truncate_before_high_watermark": False,
     "acks_one": True, "shrink_guard": "any"},
    {"expiries": 1, "consumers": True, "past_high_watermark": "out-of-range", "lost_replies": 1},
    {"crashes": 1, "startup": "controller", "checkpoint_all": False, "controller_write": "conditional"},
    {"expiries": 1, "topic_changes": 1, "controller_failover": True, "init_flag": True, "log_size": 1},
    {"reassignments": 1, "assigned_at_start": 1, "max_leader_epoch": 5, "max_version": 6, "cancellations": True,
     "reassignment_rounds": 2, "log_size": 1},
    {"expiries": 1, "truncation": "on-fetch", "fetch_reply": "checked", "log_size": 1},
]  # fmt: skip


def test_every_action_happens_and_every_goal_is_reached() -> None:
    found = [
        check(ControllerDesign, settings, profile="bare", invariants=(), limits=Limits(states=30_000, memory=MEMORY))
        for settings in LIVELY
    ]
    never = set.intersection(
        *({*r.actions_never_fired} | absent(ControllerDesign, s) for r, s in zip(found, LIVELY, strict=True))
    )
    assert never == set()
    assert set.intersection(*({*r.goals_never_reached} for r in found)) == set()


def test_without_a_new_epoch_nothing_is_reassigned() -> None:
    found = check(ControllerDesign, {"max_leader_epoch": 0, "reassignments": 1}, profile="bare", invariants=())
    assert "on-partitions-reassigned" in found.actions_never_fired


# --- stories ----------------------------------------------------------------------------------------------------------

V3 = load_model_class("v3")


def test_a_deposed_leader_commits_nothing_once_another_leads() -> None:
    # "KafkaController" on two leaders: A pauses and loses its session, B is elected, A wakes up and still leads.
    story = Story(
        V3, ("committed-records-are-stable", "no-committed-loss"), replicas=3, expiries=1, max_records=2, log_size=1
    )
    story.tell("""
        session-expires(b=0)
        on-broker-change(c=0, p=0, leader=1)
        become-leader-by-command(c=0, b=1, p=0)
        become-follower-by-command(c=0, b=2, p=0)
    """)
    assert [r["role"] for r in story.value("replica")[0]] == ["leader", "leader", "follower"]
    story.tell("""
        produce(p=0, b=0)
        not fetch(p=0, follower=1, leader=0)
        not fetch(p=0, follower=2, leader=0)
        not commit(p=0, b=0)
        not shrink-isr(p=0, b=0, follower=1)
        not shrink-isr(p=0, b=0, follower=2)
        produce(p=0, b=1)
        fetch(p=0, follower=2, leader=1)
        fetch(p=0, follower=2, leader=1)
        commit(p=0, b=1)
    """)
    assert story.logs() == [[0], [1], [1]]
    story.tell("""
        register-again(b=0)
        on-broker-change(c=0, p=0, leader=1)
        become-follower-by-command(c=0, b=0, p=0)
        fetch(p=0, follower=0, leader=1)
        fetch(p=0, follower=0, leader=1)
        expand-isr(p=0, b=1, follower=0)
    """)
    assert story.logs() == [[1], [1], [1]]
    assert story.value("state")[0] == {"leader": 1, "isr": [0, 1, 2], "epoch": 1, "version": 2}
    assert story.holds() == {"committed-records-are-stable": True, "no-committed-loss": True}


RESTARTED = """
    produce(p=0, b=0)
    fetch(p=0, follower=1, leader=0)
    fetch(p=0, follower=1, leader=0)
    commit(p=0, b=0)
    crash(b=1)
    on-broker-startup(b=1)
"""
FAILED_OVER = """
    crash(b=0)
    session-of-the-dead-expires(b=0)
    on-broker-change(c=0, p=0, leader=1)
    become-leader-by-command(c=0, b=1, p=0)
"""


def test_a_follower_that_restarts_and_then_leads_has_lost_a_committed_record() -> None:
    # KIP-101, scenario 1: the follower truncates to a high watermark that lags, and its leader fails.
    story = Story(V3, ("no-acknowledged-loss", "no-committed-loss"), crashes=2, broker_epoch=False)
    story.tell(RESTARTED)
    assert story.logs() == [[0], []]
    story.tell(FAILED_OVER)
    assert story.holds() == {"no-acknowledged-loss": False, "no-committed-loss": False}


def test_with_kip_101_it_asks_the_leader_first_and_loses_nothing() -> None:
    story = Story(
        V3, ("no-acknowledged-loss", "no-committed-loss"), crashes=2, broker_epoch=False, truncation="kip-101"
    )
    story.tell(RESTARTED)
    story.tell("truncate(p=0, follower=1, leader=0)")
    assert story.logs() == [[0], [0]]
    story.tell(FAILED_OVER)
    assert story.holds() == {"no-acknowledged-loss": True, "no-committed-loss": True}
