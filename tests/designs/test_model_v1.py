"""V1: engines agree on it, each of its actions can happen, and it allows the known stories."""

from __future__ import annotations

from typing import Any

from isrcheck import check
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.checker.results.exploration import Limits
from isrcheck.model.semantics.tracing import trace
from tests.designs.agreeing import (
    MEMORY,
    absent,
)
from tests.designs.replaying import Story

V1 = load_model_class("v1")

# --- engines agree ----------------------------------------------------------------------------------------------------


def test_settings_that_are_off_cost_nothing() -> None:
    assert sorted(V1.cls(election="multi").domains) == [
        "acknowledged", "committed", "known_end", "live", "log", "next_record_id", "replica", "state", "watch",
    ]  # fmt: skip
    idle = {t.label.action for t in trace(V1.cls(election="multi"), {}).transitions}
    assert sorted(idle) == [
        "commit", "expand-isr", "fetch", "fetch-out-of-range", "follow-leader", "nothing-to-do", "produce",
        "shrink-isr", "take-the-lead",
    ]  # fmt: skip


def test_what_the_design_does_not_have_is_no_setting() -> None:
    # Nothing tells one leadership from another, so nothing can be truncated or fenced by epochs.
    later = {"truncation", "fence_fetch", "fence_truncation", "assign_on_leader", "truncation_reply"}
    assert not later & V1.cls.declared_settings().keys()
    assert not any("epoch" in name for name in V1.cls().domains)


# --- nothing is dead --------------------------------------------------------------------------------------------------

LIVELY: list[dict[str, Any]] = [
    {"crashes": 1, "lossy_crashes": 1, "max_records": 2, "acks_one": True, "consumers": True},
    {"expiries": 2, "log_size": 1, "shrink_guard": "any", "past_high_watermark": "out-of-range", "consumers": True},
    {"expiries": 1, "election": "multi", "watch_again": "after-the-read", "log_size": 1},
    {"reassignments": 2, "assigned_at_start": 1, "expiries": 1, "log_size": 1, "max_leader_epoch": 3},
]
NEVER = {
    "ask-where-epoch-ends", "ignore-reply", "raise-high-watermark-before-truncating", "truncate",
    "checkpoint-without-unstarted-replica",
}  # fmt: skip
"""Actions of later designs, and actions of a setting that is off in all cases above."""


def test_every_action_happens_and_every_goal_is_reached() -> None:
    found = [
        check(V1.cls, s, profile="bare", invariants=(), limits=Limits(states=30_000, memory=MEMORY)) for s in LIVELY
    ]
    never = [{*r.actions_never_fired} | absent(V1.cls, s) for r, s in zip(found, LIVELY, strict=True)]
    assert set.intersection(*never) == NEVER
    assert set.intersection(*({*r.goals_never_reached} for r in found)) == set()


# --- stories ----------------------------------------------------------------------------------------------------------


def test_the_first_to_create_the_node_leads_and_everybody_is_told_twice() -> None:
    # "KafkaController": the leader node vanishes, all followers are told, each tries to create it, one succeeds.
    story = Story(V1, ("isr-sane",), replicas=3, crashes=1, count_load=True, log_size=1)
    story.tell("""
        crash(b=0)
        not stand-for-leader(p=0, b=1)
        session-of-the-dead-expires(b=0)
        stand-for-leader(p=0, b=1)
        stand-for-leader(p=0, b=2)
    """)
    assert story.value("load") == {"notifications": 2, "requests": 6}
    assert story.value("watch") == [[["none"], ["set"], ["set"]]]
    story.tell("""
        create-leader-node(p=0, b=2)
        not create-leader-node(p=0, b=1)
        lose-election(p=0, b=1)
        follow-leader(p=0, b=1)
        nothing-to-do(p=0, b=2)
    """)
    # Two were told that the node is gone, and two that it is there again; three reads and a creation each, and one more
    # read of the leader for who has lost, and for whoever was told again.
    assert story.value("load") == {"notifications": 4, "requests": 11}
    assert [r["role"] for r in story.value("replica")[0]] == ["none", "follower", "leader"]
    assert story.holds() == {"isr-sane": True}


ZOMBIE = """
    produce(p=0, b=0)
    session-expires(b=0)
    {elected}
    {shrinks}shrink-isr(p=0, b=0, follower=1)
    {shrinks}commit(p=0, b=0)
"""


def test_a_zombie_writes_the_isr_although_another_leads() -> None:
    story = Story(V1, ("no-committed-loss", "isr-sane"), expiries=1, max_records=2)
    elected = "stand-for-leader(p=0, b=1)\ncreate-leader-node(p=0, b=1)"
    story.tell(ZOMBIE.format(elected=elected, shrinks=""))
    assert story.value("state")[0] == {"leader": 1, "isr": [0], "epoch": 1, "version": 0}
    assert story.holds() == {"no-committed-loss": False, "isr-sane": False}


def test_a_zombie_cannot_write_the_isr_once_the_new_leader_has_raised_its_version() -> None:
    story = Story(
        V1, ("no-committed-loss", "isr-sane"), expiries=1, max_records=2, election="multi", isr_write="conditional"
    )
    story.tell(ZOMBIE.format(elected="take-the-lead(p=0, b=1)", shrinks="not "))
    assert story.value("state")[0] == {"leader": 1, "isr": [0, 1], "epoch": 1, "version": 1}
    assert story.holds() == {"no-committed-loss": True, "isr-sane": True}


def test_of_a_path_that_changes_twice_only_the_last_value_is_seen() -> None:
    story = Story(V1, (), replicas=3, expiries=2, election="multi", log_size=1)
    story.tell("""
        session-expires(b=0)
        take-the-lead(p=0, b=1)
        session-expires(b=1)
        register-again(b=0)
        take-the-lead(p=0, b=0)
        follow-leader(p=0, b=2)
        not follow-leader(p=0, b=2)
    """)
    # Broker 2 was told once, when broker 0 was gone; it reads that broker 0 leads, and never hears of broker 1.
    assert story.value("replica")[0][2]["leader"] == 0
    assert story.value("watch")[0][2] == ["set"]
