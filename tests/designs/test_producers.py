"""The answers to producers: the ghost variables for acknowledged records, and which leaders can still write."""

from __future__ import annotations

from typing import Any

import pytest

from isrcheck import check
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.checker.results.exploration import Limits
from isrcheck.model.language import UnknownName
from tests.designs.replaying import Story

V3 = load_model_class("v3")
LIMITS = Limits(memory=4 << 30)
LEADER_WITH_A_NEW_EPOCH = """
    produce(p=0, b=0)
    session-expires(b=0)
    on-broker-change-without-leader(c=0, p=0)
    register-again(b=0)
    on-broker-change(c=0, p=0, leader=0)
    become-leader-by-command(c=0, b=0, p=0)
    commit(p=0, b=0)
"""


def reported(text: str, **settings: Any) -> Any:
    story = Story(V3, (), **settings)
    story.tell(text)
    return story.value("acknowledged")


@pytest.mark.parametrize(
    ("acknowledgement", "is_told"), [("own-epoch", False), ("until-deposed", True), ("until-answered", True)]
)
def test_a_leader_answers_who_wrote_in_its_epoch_before_this_one(acknowledgement: str, is_told: bool) -> None:
    # DelayedProduce asks for the high watermark and not for the epoch.
    assert reported(
        LEADER_WITH_A_NEW_EPOCH, isr_at_start=1, expiries=1, max_version=4, acknowledgement=acknowledgement
    ) == [is_told]


@pytest.mark.parametrize("acknowledgement", ["until-deposed", "until-answered"])
def test_a_crash_cuts_off_who_waits(acknowledgement: str) -> None:
    text = """
        produce(p=0, b=0)
        crash(b=0)
        on-broker-startup(b=0)
        commit(p=0, b=0)
    """
    settings = {"isr_at_start": 1, "crashes": 1, "broker_epoch": False, "truncation": "kip-320"}
    assert reported(text, **settings) == [True]  # by its epoch alone
    assert reported(text, **settings, acknowledgement=acknowledgement) == [False]


@pytest.mark.parametrize("acknowledgement", ["own-epoch", "until-deposed"])
def test_who_asked_for_one_copy_is_not_told_of_more(acknowledgement: str) -> None:
    settings = {"isr_at_start": 1, "acks_one": True, "acknowledgement": acknowledgement}
    story = Story(V3, (), **settings)
    story.tell("produce-acks-one(p=0, b=0)\ncommit(p=0, b=0)")
    assert (story.value("acknowledged"), story.value("acknowledged_by_one")) == ([False], [True])


DELETION = {"isr_at_start": 1, "topic_changes": 1, "truncation": "kip-320"}


def test_what_was_told_before_a_deletion_is_not_owed_any_more() -> None:
    assert reported("produce(p=0, b=0)\ncommit(p=0, b=0)", **DELETION) == [True]
    assert reported("produce(p=0, b=0)\ncommit(p=0, b=0)\ndelete-topic(p=0)", **DELETION) == [False]


def test_what_is_told_after_a_deletion_is_owed_unless_the_deletion_goes_on() -> None:
    text = "produce(p=0, b=0)\ndelete-topic(p=0)\ncommit(p=0, b=0)"
    assert reported(text, **DELETION) == [True]
    assert reported(text, **DELETION, deletion_waits=True) == [False]


def test_a_deletion_goes_on_until_every_replica_has_stopped() -> None:
    story = Story(V3, (), **DELETION, deletion_waits=True)
    story.tell("""
        delete-topic(p=0)
        not create-topic(p=0)
        on-topic-change(c=0, p=0)
        stop-replica(c=0, b=0, p=0)
        not create-topic(p=0)
        stop-replica(c=0, b=1, p=0)
        create-topic(p=0)
    """)


def test_a_deletion_waits_for_a_broker_that_is_down_with_its_log() -> None:
    story = Story(V3, (), **DELETION, deletion_waits=True, crashes=1)
    story.tell("""
        produce(p=0, b=0)
        fetch(p=0, follower=1, leader=0)
        crash(b=1)
        session-of-the-dead-expires(b=1)
        delete-topic(p=0)
        on-topic-change(c=0, p=0)
        stop-replica(c=0, b=0, p=0)
        not create-topic(p=0)
    """)


RETRYING = {"isr_at_start": 1, "retries": 1, "max_records": 2, "log_size": 3, "truncation": "kip-320"}


def test_a_producer_without_an_answer_sends_its_record_again_and_then_the_next_one() -> None:
    story = Story(V3, ("no-duplicates",), **RETRYING)
    story.tell("produce(p=0, b=0)\nproduce(p=0, b=0)\nproduce(p=0, b=0)")
    assert story.logs()[0] == [0, 0, 1]
    assert story.holds() == {"no-duplicates": True}  # nothing is committed yet
    story.tell("commit(p=0, b=0)")
    assert story.holds() == {"no-duplicates": False}


def test_a_producer_with_an_answer_does_not_send_its_record_again() -> None:
    story = Story(V3, (), **RETRYING)
    story.tell("produce(p=0, b=0)\ncommit(p=0, b=0)\nproduce(p=0, b=0)")
    assert story.logs()[0] == [0, 1]
    assert story.value("retries") == 0


def test_an_idempotent_retry_is_answered_for_the_first_copy() -> None:
    story = Story(V3, (), **RETRYING, idempotence=True, min_isr=1, acknowledgement="until-deposed")
    story.tell("produce(p=0, b=0)\nproduce(p=0, b=0)")
    assert (story.logs()[0], story.value("acknowledged"), story.value("retries")) == ([0], [False, False], 1)
    story.tell("commit(p=0, b=0)")
    assert story.value("acknowledged") == [True, False]


def test_an_idempotent_retry_has_no_answer_that_counts_while_its_topic_is_deleted() -> None:
    story = Story(V3, (), **RETRYING, idempotence=True, min_isr=1, topic_changes=1, deletion_waits=True)
    story.tell("produce(p=0, b=0)\ndelete-topic(p=0)\ncommit(p=0, b=0)\nproduce(p=0, b=0)")
    assert (story.value("acknowledged"), story.value("retries")) == ([False, False], 1)


@pytest.mark.parametrize("setting", [{"acknowledgement": "until-deposed"}, {"retries": 1}])
def test_producers_cannot_tell_partitions_apart(setting: dict[str, Any]) -> None:
    with pytest.raises(UnknownName, match="cannot tell partitions apart; set partitions to 1"):
        V3.cls(partitions=2, **setting)


@pytest.mark.parametrize("min_isr", [1, 2, 3])
def test_of_three_replicas_so_many_must_stay_that_writes_go_on(min_isr: int) -> None:
    def verdict(crashes: int) -> str:
        settings = {"replicas": 3, "log_size": 1, "crashes": crashes, "min_isr": min_isr}
        bounds = {"max_leader_epoch": crashes + 1, "max_version": 2 * crashes + 3}
        return check(
            "primary-backup", {**settings, **bounds}, invariants=["a-write-can-be-acknowledged"], limits=LIMITS
        ).verdict

    assert (verdict(3 - min_isr), verdict(4 - min_isr)) == ("holds", "violated")
