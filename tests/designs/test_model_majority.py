"""Majority vote and primary-backup: engines agree, each action can happen, and the models allow the known stories."""

from __future__ import annotations

from typing import Any

import pytest

from isrcheck import check
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.checker.results.exploration import Limits
from tests.designs.agreeing import (
    MEMORY,
    absent,
)
from tests.designs.replaying import Story

MAJORITY, BACKUP = load_model_class("majority"), load_model_class("primary-backup")
DESIGNS = {"majority": MAJORITY.cls, "primary-backup": BACKUP.cls}

# --- engines agree ----------------------------------------------------------------------------------------------------


# --- nothing is dead --------------------------------------------------------------------------------------------------

LIVELY: dict[str, list[dict[str, Any]]] = {
    "majority": [
        {"replicas": 3, "timeouts": 2, "crashes": 1, "consumers": True, "max_records": 2},
        {"replicas": 3, "timeouts": 1, "crashes": 1, "votes": "at-once"},
        {"replicas": 2, "timeouts": 2, "consumers": True, "max_records": 2, "vote": "any",
         "past_high_watermark": "out-of-range"},
        {"replicas": 3, "lossy_crashes": 1, "log_size": 1},
        {"replicas": 3, "lossy_crashes": 1, "log_size": 1, "fsync": "none"},
        {"replicas": 3, "late_messages": 1, "log_size": 1},
    ],
    "primary-backup": [
        {"replicas": 3, "crashes": 2, "log_size": 1, "max_leader_epoch": 3, "acks_one": True, "slow_replicas": True,
         "consumers": True},
        {"replicas": 3, "crashes": 2, "log_size": 1, "truncation": "high-watermark", "consumers": True,
         "past_high_watermark": "out-of-range"},
    ],
}  # fmt: skip
NEVER = {
    "majority": {"produce-acks-one"},
    "primary-backup": {
        "ask-where-epoch-ends", "ignore-reply", "checkpoint-high-watermark", "checkpoint-without-unstarted-replica",
        "crash-with-loss", "fetch-out-of-range", "raise-high-watermark-before-truncating", "register-again",
        "session-expires", "shrink-isr-of-slow",
    },
}  # fmt: skip
"""Actions of other designs for which these designs have no setting. Also, no log is too long if no broker returns."""


@pytest.mark.parametrize("name", DESIGNS)
def test_every_action_happens_and_every_goal_is_reached(name: str) -> None:
    cls, lively = DESIGNS[name], LIVELY[name]
    found = [check(cls, s, profile="bare", invariants=(), limits=Limits(states=30_000, memory=MEMORY)) for s in lively]
    never = [{*r.actions_never_fired} | absent(cls, s) for r, s in zip(found, lively, strict=True)]
    assert set.intersection(*never) == NEVER[name]
    assert set.intersection(*({*r.goals_never_reached} for r in found)) == set()


# --- stories ----------------------------------------------------------------------------------------------------------

COMMITTED_BY_TWO = """
    produce(p=0, b=0)
    fetch(p=0, follower=1, leader=0)
    not commit(p=0, b=0)
    fetch(p=0, follower=1, leader=0)
    commit(p=0, b=0)
    crash(b=0)
    stand-for-election(p=0, b=1)
"""


def majority(**settings: Any) -> Story:
    asked = ("elected-leader-has-what-is-committed", "single-committed-leader-per-epoch")
    return Story(MAJORITY, asked, replicas=3, crashes=1, timeouts=1, **settings)


def test_who_has_the_record_is_elected_and_who_lacks_it_is_not() -> None:
    # Three replicas, a record on two of them, and one of the two crashes: the other is the only one that can lead.
    story = majority()
    story.tell(COMMITTED_BY_TWO)
    story.tell("""
        not time-out(p=0, b=0)
        grant-vote(p=0, voter=2, candidate=1)
        not grant-vote(p=0, voter=2, candidate=1)
        become-leader(p=0, b=1)
        hear-of-leader(p=0, b=2, leader=1)
        fetch(p=0, follower=2, leader=1)
    """)
    assert story.logs() == [[0], [0], [0]]
    assert story.value("elected") == [{"leader": 1, "epoch": 1}]
    assert set(story.holds().values()) == {True}


def test_a_replica_without_the_record_stands_in_vain_unless_anybody_is_voted_for() -> None:
    text = """
        produce(p=0, b=0)
        fetch(p=0, follower=1, leader=0)
        fetch(p=0, follower=1, leader=0)
        commit(p=0, b=0)
        time-out(p=0, b=2)
        {refuses}grant-vote(p=0, voter=0, candidate=2)
        {refuses}become-leader(p=0, b=2)
    """
    story = majority()
    story.tell(text.format(refuses="not "))
    story.tell("hear-of-later-epoch(p=0, b=0, other=2)\nstand-for-election(p=0, b=1)")
    assert set(story.holds().values()) == {True}
    careless = majority(vote="any")
    careless.tell(text.format(refuses=""))
    assert careless.holds()["elected-leader-has-what-is-committed"] is False


def test_a_record_of_an_earlier_epoch_is_committed_with_the_first_of_the_new_one() -> None:
    # Figure 8 of the paper on Raft, up to the point where the old record is on most replicas.
    story = majority(log_size=3)
    story.tell("""
        produce(p=0, b=0)
        fetch(p=0, follower=1, leader=0)
        crash(b=0)
        stand-for-election(p=0, b=1)
        grant-vote(p=0, voter=2, candidate=1)
        become-leader(p=0, b=1)
        hear-of-leader(p=0, b=2, leader=1)
        fetch(p=0, follower=2, leader=1)
        fetch(p=0, follower=2, leader=1)
        not commit(p=0, b=1)
        write-first-record(p=0, b=1)
        not write-first-record(p=0, b=1)
        fetch(p=0, follower=2, leader=1)
        fetch(p=0, follower=2, leader=1)
        commit(p=0, b=1)
    """)
    assert [record["id"] for record in story.value("committed")[0]["records"]] == [0, 1]
    assert story.value("replica")[0][1]["high_watermark"] == 2


def test_what_was_answered_is_flushed_and_no_crash_takes_it() -> None:
    story = Story(MAJORITY, (), replicas=3, lossy_crashes=1)
    story.tell("""
        produce(p=0, b=0)
        fetch(p=0, follower=1, leader=0)
        fetch(p=0, follower=1, leader=0)
        commit(p=0, b=0)
        not crash-with-loss(b=0, kept=0)
        not crash-with-loss(b=1, kept=0)
        fetch(p=0, follower=2, leader=0)
        not crash-with-loss(b=2, kept=1)
        crash-with-loss(b=2, kept=0)
    """)
    assert story.logs() == [[0], [0], []]


def test_what_a_leader_has_not_counted_a_crash_may_take() -> None:
    story = Story(MAJORITY, (), replicas=3, lossy_crashes=1)
    story.tell("""
        produce(p=0, b=0)
        fetch(p=0, follower=1, leader=0)
        fetch(p=0, follower=1, leader=0)
        crash-with-loss(b=0, kept=0)
        not crash-with-loss(b=1, kept=0)
    """)
    assert story.logs() == [[], [0], []]


def test_a_vote_that_is_not_flushed_is_given_twice() -> None:
    story = Story(MAJORITY, ("one-leader-in-each-epoch",), replicas=3, lossy_crashes=1, timeouts=2, fsync="log")
    story.tell("""
        time-out(p=0, b=1)
        grant-vote(p=0, voter=0, candidate=1)
        become-leader(p=0, b=1)
        time-out(p=0, b=2)
        not grant-vote(p=0, voter=0, candidate=2)
        crash-and-forget(b=0, kept=0, epoch=1)
        restart(b=0)
        grant-vote(p=0, voter=0, candidate=2)
        become-leader(p=0, b=2)
    """)
    assert story.holds() == {"one-leader-in-each-epoch": False}


def test_an_epoch_that_a_record_tells_is_not_forgotten() -> None:
    story = Story(MAJORITY, (), replicas=3, lossy_crashes=1, fsync="log")
    story.tell("""
        time-out(p=0, b=1)
        grant-vote(p=0, voter=2, candidate=1)
        become-leader(p=0, b=1)
        hear-of-leader(p=0, b=2, leader=1)
        produce(p=0, b=1)
        fetch(p=0, follower=2, leader=1)
        fetch(p=0, follower=2, leader=1)
        not crash-and-forget(b=2, kept=1, epoch=0)
        not crash-and-forget(b=2, kept=0, epoch=0)
        crash-and-forget(b=2, kept=1, epoch=1)
    """)
    assert story.value("replica")[0][2]["epoch"] == 1
    assert not story.value("replica")[0][2]["voted"]


@pytest.mark.parametrize(("check", "counts"), [("both", False), ("votes", False), ("fetches", True), ("none", True)])
def test_a_late_vote_counts_in_its_own_epoch_alone(check: str, counts: bool) -> None:
    story = Story(MAJORITY, (), replicas=3, late_messages=1, timeouts=2, epoch_check=check)
    refused = "" if counts else "not "
    story.tell(f"""
        time-out(p=0, b=1)
        vote-late(p=0, voter=2, candidate=1)
        not vote-late(p=0, voter=0, candidate=1)
        time-out(p=0, b=1)
        {refused}late-vote-arrives(p=0, place=0, voter=2, candidate=1)
    """)
    assert story.value("replica")[0][1]["votes"] == ([1, 2] if counts else [1])


def test_a_late_vote_elects_in_its_own_epoch() -> None:
    story = Story(MAJORITY, (), replicas=3, late_messages=1)
    story.tell("""
        time-out(p=0, b=1)
        vote-late(p=0, voter=2, candidate=1)
        not become-leader(p=0, b=1)
        late-vote-arrives(p=0, place=0, voter=2, candidate=1)
        not late-vote-arrives(p=0, place=0, voter=2, candidate=1)
        become-leader(p=0, b=1)
    """)
    assert story.value("elected") == [{"leader": 1, "epoch": 1}]


def test_a_late_request_is_answered_by_what_it_says_and_by_what_is_known_by_then() -> None:
    # The candidate stands in another epoch by now: the voter gives its vote all the same, and nobody counts it.
    story = Story(MAJORITY, (), replicas=3, late_messages=2, timeouts=2)
    story.tell("""
        time-out(p=0, b=1)
        request-vote-late(p=0, candidate=1, voter=2)
        request-vote-late(p=0, candidate=1, voter=0)
        time-out(p=0, b=1)
        late-vote-request-arrives(p=0, place=0, voter=2, candidate=1)
        produce(p=0, b=0)
        not late-vote-request-arrives(p=0, place=1, voter=0, candidate=1)
    """)
    assert story.value("replica")[0][1]["votes"] == [1]
    assert (story.value("replica")[0][2]["epoch"], story.value("replica")[0][2]["voted"]) == (1, True)


def test_a_late_answer_arrives_in_time_late_and_once_more() -> None:
    story = Story(MAJORITY, (), replicas=3, late_messages=1, lossy_crashes=1)
    story.tell("""
        produce(p=0, b=0)
        answer-late(p=0, follower=1, leader=0)
        late-answer-arrives(p=0, place=0, follower=1, leader=0)
        not late-answer-arrives(p=0, place=0, follower=1, leader=0)
        crash-with-loss(b=1, kept=0)
        not late-answer-arrives(p=0, place=0, follower=1, leader=0)
        restart(b=1)
        hear-of-leader(p=0, b=1, leader=0)
        late-answer-arrives(p=0, place=0, follower=1, leader=0)
    """)
    assert story.logs() == [[0], [0], []]


@pytest.mark.parametrize(("check", "counts"), [("both", False), ("fetches", False), ("votes", True), ("none", True)])
def test_a_late_fetch_counts_in_its_own_epoch_alone(check: str, counts: bool) -> None:
    story = Story(MAJORITY, (), replicas=3, late_messages=1, votes="at-once", timeouts=2, epoch_check=check)
    story.tell(f"""
        produce(p=0, b=0)
        fetch(p=0, follower=1, leader=0)
        fetch-late(p=0, follower=1, leader=0)
        depose(p=0, b=1, voters=[1, 2])
        hear-of-leader(p=0, b=0, leader=1)
        depose(p=0, b=0, voters=[0, 2])
        {"" if counts else "not "}late-fetch-arrives(p=0, place=0, follower=1, leader=0)
    """)
    assert story.value("known_end")[0][0][1] == (1 if counts else -1)


@pytest.mark.parametrize(("check", "loses"), [("both", False), ("votes", True)])
def test_among_five_a_late_fetch_counts_for_a_record_that_was_never_fetched(check: str, loses: bool) -> None:
    # Broker 4 has had the first record at offset 0, and never the second one. Among three replicas this cannot be:
    # the leader and the follower that has what it has are a majority, and nobody is elected without that record.
    asked = ("acknowledged-has-enough-copies",)
    five = {"replicas": 5, "votes": "at-once", "timeouts": 2, "log_size": 1, "max_records": 2, "min_isr": 3}
    story = Story(MAJORITY, asked, late_messages=1, epoch_check=check, **five)
    refused = "" if loses else "not "
    story.tell(f"""
        depose(p=0, b=1, voters=[1, 2, 3])
        produce(p=0, b=0)
        fetch(p=0, follower=4, leader=0)
        fetch-late(p=0, follower=4, leader=0)
        hear-of-leader(p=0, b=0, leader=1)
        step-back(p=0, follower=0, leader=1)
        depose(p=0, b=0, voters=[0, 1, 2])
        produce(p=0, b=0)
        fetch(p=0, follower=1, leader=0)
        fetch(p=0, follower=1, leader=0)
        {refused}late-fetch-arrives(p=0, place=0, follower=4, leader=0)
        {refused}commit(p=0, b=0)
    """)
    assert story.logs() == [[1], [1], [], [], [0]]
    assert story.holds() == {"acknowledged-has-enough-copies": not loses}


def test_the_last_member_of_an_isr_goes_on_alone() -> None:
    story = Story(BACKUP, ("service-goes-on", "committed-survives"), crashes=1, log_size=1, max_version=6)
    story.tell("""
        produce(p=0, b=0)
        fetch(p=0, follower=1, leader=0)
        fetch(p=0, follower=1, leader=0)
        not shrink-isr(p=0, b=0, follower=1)
        commit(p=0, b=0)
        crash(b=0)
        not elect(p=0, b=1)
        session-of-the-dead-expires(b=0)
        elect(p=0, b=1)
        hear-that-it-leads(p=0, b=1)
    """)
    assert story.value("state")[0] == {"leader": 1, "isr": [1], "epoch": 1, "version": 1}
    story.tell("commit(p=0, b=1)")
    assert set(story.holds().values()) == {True}
