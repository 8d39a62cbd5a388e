"""kraft behaves like Kafka's own classes.

The stories and the expected values come from Partition, ReplicationControlManager, PartitionChangeBuilder and
MetadataDelta of Kafka 4.2, which were driven step by step. Each step must have the same effect in the model.
"""

from __future__ import annotations

from typing import Any

import pytest

from isrcheck.checker.analysis.check import check
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.model.designs.kraft import Kraft
from isrcheck.model.designs.kraft.releases import KAFKA
from isrcheck.model.language.settings import BARE, profiles_of
from tests.cli.running import run
from tests.designs.replaying import Story

KRAFT = load_model_class("kraft")
THREE: dict[str, Any] = {
    "min_isr": 2,
    "log_size": 2,
    "max_records": 2,
    "max_leader_epoch": 3,
    "max_version": 5,
    "metadata_lag": 4,
    "shutdowns": 1,
    "fetch": "one-step",
}
LOST = ("no-acknowledged-loss", "no-committed-loss")


def kraft(**settings: Any) -> Story:
    return Story(KRAFT, LOST, **{**THREE, **settings})


def registration(story: Story) -> tuple[Any, ...]:
    """The leader, the ISR, the leader epoch and the partition epoch at the controller."""
    state = story.value("state")[0]
    return state["leader"], state["isr"], state["epoch"], state["version"]


def known(story: Story, leader: int) -> list[int]:
    """The log end offsets that a leader knows."""
    found: list[int] = story.value("known_end")[0][leader]
    return found


def replica(story: Story, broker: int) -> Any:
    return story.value("replica")[0][broker]


# --- PartitionChangeBuilder, ReplicationControlManager --------------------------------------------------------------


def test_the_controller_grants_two_expansions_and_elects_who_joined_last() -> None:
    story = kraft(isr_at_start=1)
    story.tell("fetch-records(p=0, follower=1, leader=0)")
    story.tell("alter-partition(p=0, b=0)")
    assert registration(story) == (0, [0, 1], 0, 1)
    story.tell(
        """
        handle-alter-partition-response(p=0, b=0)
        fetch-records(p=0, follower=2, leader=0)
        alter-partition(p=0, b=0)
        """
    )
    assert registration(story) == (0, [0, 1, 2], 0, 2)
    story.tell("fence-broker(b=0, leader=2)")
    assert registration(story) == (2, [1, 2], 1, 3)


def test_the_controller_elects_the_preferred_leader_and_goes_back_when_that_shuts_down() -> None:
    story = kraft(election="in-order", first_replica=1)
    story.tell("elect-preferred-leader(p=0, leader=1)")
    assert registration(story) == (1, [0, 1, 2], 1, 1)
    story.tell("not begin-controlled-shutdown(b=1, leader=2)")  # 0 comes before 2 in the order 1, 0, 2
    story.tell("begin-controlled-shutdown(b=1, leader=0)")
    assert registration(story) == (0, [0, 2], 2, 2)
    story.tell("fence-broker(b=0, leader=2)")
    assert registration(story) == (2, [2], 3, 3)


TWO: dict[str, Any] = {
    "replicas": 2,
    "log_size": 1,
    "max_records": 1,
    "election": "in-order",
    "expiries": 3,
    "shutdowns": 0,
    "metadata_lag": 6,
}


def seen(story: Story) -> tuple[Any, ...]:
    """The values of `registration`, with the ELR and the last known leader."""
    return *registration(story), story.value("elr")[0], story.value("last_leader")[0]


def test_a_replica_that_is_removed_stays_in_the_elr_and_is_elected_when_it_is_a_replica_again() -> None:
    story = kraft(**TWO, reassignments=2)
    story.tell("alter-partition-reassignments(p=0, target=[0], leader=0)")
    assert seen(story) == (0, [0], 1, 1, [1], None)
    assert story.value("state")[0]["replicas"] == [0]
    story.tell("fence-broker(b=0, leader=none)")
    assert seen(story) == (None, [], 2, 2, [0, 1], 0)
    # LeaderAcceptor asks for the directory of one that is no replica, and the request is refused.
    story.tell("not alter-partition-reassignments(p=0, target=[0, 1], leader=1)")
    story.tell("fence-broker(b=1, leader=none)")
    assert seen(story) == (None, [], 2, 2, [0, 1], 0)
    story.tell("alter-partition-reassignments(p=0, target=[0, 1], leader=none)")
    assert seen(story) == (None, [], 2, 3, [0, 1], 0)
    story.tell("unfence-broker(b=1, leader=1)")
    assert seen(story) == (1, [1], 3, 4, [0], None)
    assert story.value("state")[0]["replicas"] == [0, 1]


def test_of_another_partition_than_the_first_it_stays_there_while_a_leader_goes_on() -> None:
    story = kraft(**TWO, reassignments=2, replicas_counted="of-partition-0")
    story.tell("alter-partition-reassignments(p=0, target=[0], leader=0)")
    story.tell("alter-partition-reassignments(p=0, target=[0, 1], leader=0)")
    assert seen(story) == (0, [0], 1, 2, [1], None)
    story.tell("fence-broker(b=0, leader=1)")
    assert seen(story) == (1, [1], 2, 3, [0], None)


def test_whom_a_cancelled_reassignment_removes_stays_in_the_elr() -> None:
    moves = {"assigned_at_start": 2, "isr_at_start": 1, "reassignments": 2, "awaited_in_isr": "all"}
    story = kraft(**{**TWO, "replicas": 3}, **moves, cancellations=True)
    story.tell("alter-partition-reassignments(p=0, target=[1, 2], leader=0)")
    assert seen(story) == (0, [0], 0, 1, [], None)
    story.tell(
        """
        apply-local-leaders(b=0, to=1)
        apply-local-followers(b=2, to=1)
        fetch-records(p=0, follower=2, leader=0)
        alter-partition(p=0, b=0)
        """
    )
    assert seen(story) == (0, [0, 2], 0, 2, [], None)
    story.tell("cancel-partition-reassignment(p=0, leader=0)")
    assert seen(story) == (0, [0], 1, 3, [2], None)
    story.tell("alter-partition-reassignments(p=0, target=[0, 2], leader=0)")
    assert seen(story) == (0, [0], 1, 4, [2], None)
    story.tell("fence-broker(b=0, leader=2)")
    assert seen(story) == (2, [2], 2, 5, [0], None)


@pytest.mark.parametrize(
    ("awaited", "moved"),
    [
        ("added", (2, [2])),  # before KAFKA-15665: whoever is added has joined
        ("all", (0, [0, 2])),  # PartitionReassignmentReplicas of 4.2
        ("added-or-all-if-fewer", (2, [2])),  # of 4.3, KAFKA-19975
    ],
)
def test_for_whom_a_reassignment_waits(awaited: str, moved: tuple[int, list[int]]) -> None:
    """Broker 1 stays a replica, but is not in the ISR. Broker 0 is removed, and another broker is added or not."""
    moves = {"reassignments": 1, "awaited_in_isr": awaited, "isr_at_start": 1}
    story = kraft(**{**TWO, "replicas": 3, "min_isr": 1}, **moves, assigned_at_start=2)
    story.tell(
        """
        alter-partition-reassignments(p=0, target=[1, 2], leader=0)
        apply-local-leaders(b=0, to=1)
        apply-local-followers(b=2, to=1)
        fetch-records(p=0, follower=2, leader=0)
        """
    )
    story.tell("alter-partition(p=0, b=0)" if moved[0] == 0 else "alter-partition-and-elect(p=0, b=0, leader=2)")
    assert seen(story)[:2] == moved
    assert story.value("state")[0]["replicas"] == ([0, 1, 2] if awaited == "all" else [1, 2])

    story = kraft(**{**TWO, "replicas": 3, "min_isr": 1}, **moves)
    story.tell("alter-partition-reassignments(p=0, target=[0, 1], leader=0)")
    assert seen(story)[:2] == (0, [0])
    assert story.value("state")[0]["replicas"] == ([0, 1] if awaited == "added" else [0, 1, 2])


def test_an_assignment_of_a_directory_clears_the_elr_and_the_last_known_leader_is_elected() -> None:
    story = kraft(**TWO, crashes=1, directory_assignments=1, assigned_directory="clears-elr")
    story.tell("fence-broker(b=0, leader=1)")
    assert seen(story) == (1, [1], 1, 1, [0], None)
    story.tell("crash(b=1, on_disk=0)")
    story.tell("fence-stopped-broker(b=1, leader=none)")
    assert seen(story) == (None, [], 2, 2, [0, 1], 1)
    story.tell("register-broker(b=1, leader=none)")
    assert seen(story) == (None, [], 2, 3, [0], 1)
    story.tell("apply-local-followers(b=1, to=3)")
    story.tell("handle-assign-replicas-to-dirs(p=0, b=1, leader=none)")
    assert seen(story) == (None, [], 2, 4, [], 1)
    story.tell("unfence-broker(b=1, leader=1)")
    assert seen(story) == (1, [1], 3, 5, [], None)


def test_whose_directory_has_failed_is_admitted_by_a_late_request_and_not_elected() -> None:
    """ineligibleReplicasForIsr does not check directories. LeaderAcceptor does, also for the preferred leader."""
    story = kraft(**TWO, directory_failures=1, isr_at_start=1, first_replica=1)
    story.tell(
        """
        fetch-records(p=0, follower=1, leader=0)
        handle-log-dir-failure(b=1)
        handle-directories-offline(b=1, leader=0)
        alter-partition(p=0, b=0)
        """
    )
    assert seen(story) == (0, [0, 1], 0, 1, [], None)
    story.tell("not elect-preferred-leader(p=0, leader=1)")
    story.tell("fence-broker(b=0, leader=none)")
    assert seen(story) == (None, [1], 1, 2, [0], 0)


def test_a_replica_fenced_under_a_raised_min_isr_is_eligible() -> None:
    story = kraft(**{**TWO, "min_isr": 1}, min_isr_then=2)
    story.tell("incremental-alter-configs()")
    assert seen(story) == (0, [0, 1], 0, 0, [], None)
    story.tell("fence-broker(b=1, leader=0)")
    assert seen(story) == (0, [0], 0, 1, [1], None)
    story.tell("fence-broker(b=0, leader=none)")
    assert seen(story) == (None, [], 1, 2, [0, 1], 0)
    story.tell("unfence-broker(b=1, leader=1)")
    assert seen(story) == (1, [1], 2, 3, [0], None)


def test_with_a_cleared_elr_nobody_is_elected() -> None:
    story = kraft(**{**TWO, "min_isr": 1}, min_isr_then=2, isr_at_start=1)
    story.tell("fence-broker(b=0, leader=none)")
    assert seen(story) == (None, [], 1, 1, [0], 0)
    story.tell("incremental-alter-configs()")
    assert seen(story) == (None, [], 1, 2, [], None)
    story.tell("not unfence-broker(b=0, leader=0)")
    story.tell("unfence-broker(b=0, leader=none)")
    assert seen(story) == (None, [], 1, 2, [], None)


# --- Partition.makeLeader: two elections in one delta ---------------------------------------------------------------

TWO_ELECTIONS = """
    append-records-to-leader(p=0, b=0)
    fetch-records(p=0, follower=2, leader=0)
    fetch-records(p=0, follower=2, leader=0)
    elect-preferred-leader(p=0, leader=1)
    apply-local-followers(b=2, to=1)
    apply-local-leaders(b=1, to=1)
    fetch-records(p=0, follower=2, leader=1)
    begin-controlled-shutdown(b=1, leader=0)
"""
"""Brokers 1 and 2 hear of the first election, and 2 truncates its records from 0. Broker 0 hears of no election."""


def test_an_operator_gets_a_leader_where_nobody_is_eligible() -> None:
    story = kraft(**{**TWO, "min_isr": 1}, min_isr_then=2, isr_at_start=1, unclean_elections=1)
    story.tell("not elect-leader(p=0, leader=1)")
    story.tell("fence-broker(b=0, leader=none)")
    story.tell("incremental-alter-configs()")
    assert seen(story) == (None, [], 1, 2, [], None)
    story.tell("not elect-leader-for-leaderless-partition(p=0, leader=1)")
    story.tell("not elect-leader(p=0, leader=0)")
    story.tell("elect-leader(p=0, leader=1)")
    assert seen(story) == (1, [1], 2, 3, [], None)


def test_the_controller_finds_a_leader_by_itself_where_elections_may_be_unclean() -> None:
    """changePartitionReassignment never elects uncleanly, but the task that looks for leaderless partitions does."""
    story = kraft(
        **{**TWO, "replicas": 3, "elr": False}, assigned_at_start=2, isr_at_start=1, reassignments=1, unclean=True
    )
    story.tell("not elect-leader-for-leaderless-partition(p=0, leader=1)")
    story.tell("fence-broker(b=1, leader=0)")
    story.tell("fence-broker(b=0, leader=none)")
    assert registration(story) == (None, [0], 1, 1)
    story.tell("alter-partition-reassignments(p=0, target=[0, 2], leader=none)")
    assert registration(story) == (None, [0], 1, 2)
    story.tell("elect-leader-for-leaderless-partition(p=0, leader=2)")
    assert registration(story) == (2, [2], 2, 3)


def test_a_partition_without_a_leader_gets_one_with_its_directory() -> None:
    """If there is no leader, maybeBalancePartitionLeaders tries every replica that may lead."""
    story = kraft(**{**TWO, "shutdowns": 1}, elr=False, directory_failures=1, isr_at_start=1)
    story.tell(
        """
        fetch-records(p=0, follower=1, leader=0)
        handle-log-dir-failure(b=1)
        handle-directories-offline(b=1, leader=0)
        alter-partition(p=0, b=0)
        fence-broker(b=0, leader=none)
        apply-local-followers(b=0, to=3)
        begin-controlled-shutdown(b=1, leader=none)
        finish-controlled-shutdown(b=1)
        register-broker(b=1, leader=none)
        unfence-broker(b=1, leader=none)
        apply-local-followers(b=1, to=2)
        """
    )
    assert registration(story)[:2] == (None, [1])
    story.tell("not elect-leader-for-leaderless-partition(p=0, leader=1)")
    story.tell("handle-assign-replicas-to-dirs(p=0, b=1, leader=none)")
    story.tell("not elect-preferred-leader(p=0, leader=1)")
    story.tell("not elect-leader-for-leaderless-partition(p=0, leader=0)")
    story.tell("elect-leader-for-leaderless-partition(p=0, leader=1)")
    assert registration(story)[:2] == (1, [1])


@pytest.mark.parametrize("unclean", [False, True])
def test_a_cancellation_leaves_nobody_in_the_isr_only_where_elections_may_be_unclean(unclean: bool) -> None:
    story = kraft(
        **{**TWO, "replicas": 3},
        assigned_at_start=2,
        isr_at_start=1,
        reassignments=1,
        awaited_in_isr="all",
        cancellations=True,
        unclean=unclean,
    )
    story.tell(
        """
        alter-partition-reassignments(p=0, target=[1, 2], leader=0)
        apply-local-leaders(b=0, to=1)
        apply-local-followers(b=2, to=1)
        fetch-records(p=0, follower=2, leader=0)
        alter-partition(p=0, b=0)
        fence-broker(b=0, leader=2)
        """
    )
    assert seen(story) == (2, [2], 1, 3, [0], None)
    if unclean:
        story.tell("not cancel-partition-reassignment(p=0, leader=2)")  # It is no replica then.
        story.tell("cancel-partition-reassignment(p=0, leader=1)")
        assert seen(story) == (1, [1], 2, 4, [], None)
        assert story.value("state")[0]["replicas"] == [0, 1]
    else:
        story.tell("not cancel-partition-reassignment(p=0, leader=1)")
        story.tell("not cancel-partition-reassignment(p=0, leader=none)")


@pytest.mark.parametrize("written", [False, True])
def test_who_starts_anew_knows_no_epoch_without_records(written: bool) -> None:
    """LogLoader.load truncates the epoch cache at the log end."""
    story = kraft(crashes=1)
    if written:
        story.tell("append-records-to-leader(p=0, b=0)")
    story.tell("crash(b=0, on_disk=0)")
    assert story.value("epoch_cache")[0][0] == ([{"epoch": 0, "start": 0}] if written else [])


def test_a_fenced_broker_shuts_down_as_well() -> None:
    story = kraft(**{**TWO, "shutdowns": 1})
    story.tell(
        """
        fence-broker(b=1, leader=0)
        begin-controlled-shutdown(b=1, leader=0)
        not unfence-broker(b=1, leader=0)
        finish-controlled-shutdown(b=1)
        """
    )
    assert registration(story)[:2] == (0, [0])


def test_a_leader_that_misses_its_own_loss_of_leadership_keeps_log_ends() -> None:
    story = kraft(election="in-order", first_replica=1)
    story.tell(TWO_ELECTIONS)
    assert (known(story, 0)[2], replica(story, 0)["high_watermark"], story.logs()[2]) == (1, 0, [])
    assert story.value("acknowledged") == [False, False]
    story.tell("apply-local-leaders(b=0, to=2)")
    # HW = 1, getReplica(2).logEndOffset = 1 (kept), checkEnoughReplicasReachOffset(1) = (true, NONE)
    assert (known(story, 0)[2], replica(story, 0)["high_watermark"]) == (1, 1)
    assert story.value("acknowledged") == [True, False]
    story.tell("fence-broker(b=0, leader=2)")
    story.tell("apply-local-leaders(b=2, to=2)")  # of what 0 has passed it needs nothing
    assert story.holds() == dict.fromkeys(LOST, False)


def test_a_leader_that_hears_of_each_election_by_itself_does_not() -> None:
    story = kraft(election="in-order", first_replica=1)
    story.tell(TWO_ELECTIONS)
    story.tell("apply-local-followers(b=0, to=1)")
    story.tell("apply-local-leaders(b=0, to=1)")
    # ends -1 -1, HW 0, (false, NONE)
    assert (known(story, 0), replica(story, 0)["high_watermark"]) == ([-1, -1, -1], 0)
    assert story.value("acknowledged") == [False, False]


def test_a_leader_that_forgets_where_it_skips_an_epoch_waits_for_its_followers() -> None:
    story = kraft(election="in-order", first_replica=1, follower_state="kept-unless-skipped")
    story.tell(TWO_ELECTIONS)
    story.tell("apply-local-leaders(b=0, to=2)")
    assert (known(story, 0), replica(story, 0)["high_watermark"]) == ([-1, -1, -1], 0)


# --- Partition.makeLeader: a record of the version that the leader knows already ------------------------------------

TWO_EXPANSIONS = """
    fetch-records(p=0, follower=1, leader=0)
    alter-partition(p=0, b=0)
    handle-alter-partition-response(p=0, b=0)
    append-records-to-leader(p=0, b=0)
    append-records-to-leader(p=0, b=0)
    fetch-records(p=0, follower=2, leader=0)
"""
"""Broker 1 has joined the ISR, and the leader does not know yet. Broker 2 has fetched one record, and will join."""
CATCHES_UP = """
    fetch-records(p=0, follower=1, leader=0)
    fetch-records(p=0, follower=1, leader=0)
    fetch-records(p=0, follower=1, leader=0)
"""


def test_a_record_of_the_same_version_wipes_a_pending_expansion() -> None:
    story = kraft(isr_at_start=1)
    story.tell(TWO_EXPANSIONS)
    assert (replica(story, 0)["isr"], replica(story, 0)["pending"], replica(story, 0)["version"]) == (
        [0, 1],
        [0, 1, 2],
        1,
    )
    story.tell("apply-local-leaders(b=0, to=1)")
    assert (replica(story, 0)["isr"], replica(story, 0)["pending"]) == ([0, 1], [])  # Committed, maximal {0, 1}
    story.tell(CATCHES_UP)
    # HW 2, C at 0, (true, NONE)
    assert (replica(story, 0)["high_watermark"], known(story, 0)[2]) == (2, 0)
    assert story.value("acknowledged") == [True, True]
    story.tell("alter-partition(p=0, b=0)")
    story.tell("handle-alter-partition-response(p=0, b=0)")
    assert (replica(story, 0)["isr"], replica(story, 0)["version"]) == ([0, 1], 1)  # ignored
    story.tell("fence-broker(b=0, leader=2)")
    assert registration(story)[0] == 2
    story.tell("apply-local-leaders(b=2, to=3)")
    assert story.logs() == [[0, 1], [0, 1], [0]]
    assert story.holds() == dict.fromkeys(LOST, False)


@pytest.mark.parametrize("applied", [False, True], ids=["without the record", "with the record, pending kept"])
def test_a_leader_that_keeps_what_is_pending_waits_for_who_joins(applied: bool) -> None:
    story = kraft(isr_at_start=1, equal_version="keeps-pending" if applied else "overrides")
    story.tell(TWO_EXPANSIONS)
    if applied:
        story.tell("apply-local-leaders(b=0, to=1)")
    story.tell(CATCHES_UP)
    # PendingExpandIsr, HW 0, (false, NONE); answer #2 adopted
    assert (replica(story, 0)["high_watermark"], replica(story, 0)["pending"]) == (0, [0, 1, 2])
    assert story.value("acknowledged") == [False, False]
    story.tell("alter-partition(p=0, b=0)")
    story.tell("handle-alter-partition-response(p=0, b=0)")
    assert (replica(story, 0)["isr"], replica(story, 0)["version"]) == ([0, 1, 2], 2)


# --- Partition.updateFollowerFetchState: noted in a later epoch -----------------------------------------------------

READ_BEFORE = """
    append-records-to-leader(p=0, b=0)
    fetch-records(p=0, follower=2, leader=0)
    read-records(p=0, follower=2, leader=0)
    elect-preferred-leader(p=0, leader=1)
    begin-controlled-shutdown(b=1, leader=0)
    apply-local-leaders(b=0, to=2)
    update-follower-fetch-state(p=0, follower=2, leader=0)
"""
"""Broker 0 reads for broker 2 at offset 1 in epoch 0, and records this fetch only when it leads in epoch 2."""


@pytest.mark.parametrize("follower_state", ["kept", "kept-unless-skipped"])
def test_what_was_read_in_one_epoch_is_noted_in_another(follower_state: str) -> None:
    story = kraft(election="in-order", first_replica=1, note_fetch="apart", follower_state=follower_state)
    story.tell(READ_BEFORE)
    # C LEO 1, HW = 1, (true, NONE); to forget followers' log ends where an epoch was skipped does not help
    assert (known(story, 0)[2], replica(story, 0)["high_watermark"]) == (1, 1)
    assert story.value("acknowledged") == [True, False]


def test_unless_the_epoch_is_compared_again() -> None:
    story = kraft(
        election="in-order",
        first_replica=1,
        note_fetch="apart-checked",
        follower_state="kept-unless-skipped",
    )
    story.tell(READ_BEFORE)
    assert (known(story, 0)[2], replica(story, 0)["high_watermark"]) == (-1, 0)
    assert story.value("acknowledged") == [False, False]


def test_who_has_lost_its_directory_notes_nothing_of_what_it_has_read() -> None:
    story = kraft(**TWO, note_fetch="apart", directory_failures=1)
    story.tell(
        """
        append-records-to-leader(p=0, b=0)
        read-records(p=0, follower=1, leader=0)
        handle-log-dir-failure(b=0)
        """
    )
    before = story.state
    story.tell("update-follower-fetch-state(p=0, follower=1, leader=0)")
    assert known(story, 0) == [-1, -1]
    assert story.holds() == dict.fromkeys(LOST, True)
    assert story.state != before  # what was read is forgotten
    story.tell("not update-follower-fetch-state(p=0, follower=1, leader=0)")


def test_what_was_read_for_a_replica_that_is_none_any_more_is_noted_in_vain() -> None:
    """updateAssignmentAndIsr drops the Replica object. A thread that still holds it changes it without effect."""
    story = kraft(**TWO, note_fetch="apart", reassignments=1)
    story.tell(
        """
        read-records(p=0, follower=1, leader=0)
        alter-partition-reassignments(p=0, target=[0], leader=0)
        apply-local-leaders(b=0, to=1)
        """
    )
    assert (known(story, 0), replica(story, 0)["isr"]) == ([-1, -1], [0])
    story.tell("update-follower-fetch-state(p=0, follower=1, leader=0)")
    assert (known(story, 0), replica(story, 0)["pending"]) == ([-1, -1], [])


def test_the_replication_factor_is_of_those_that_are_to_stay() -> None:
    """validatePartitionReplicationFactorUnchanged, after two reassignments that added replicas and removed none."""
    story = kraft(reassignments=3, assigned_at_start=1, replication_factor_changes=False)
    story.tell(
        """
        alter-partition-reassignments(p=0, target=[1], leader=0)
        alter-partition-reassignments(p=0, target=[2], leader=0)
        not alter-partition-reassignments(p=0, target=[0, 1], leader=0)
        alter-partition-reassignments(p=0, target=[0], leader=0)
        """
    )


def test_the_replicas_that_there_are_may_be_asked_for_in_another_order() -> None:
    """PartitionChangeBuilder compares lists of replicas: nobody is added or removed, and pending changes stay."""
    story = kraft(replicas=3, assigned_at_start=2, reassignments=2)
    story.tell("alter-partition-reassignments(p=0, target=[0, 2], leader=0)")
    story.tell("alter-partition-reassignments(p=0, target=[0, 1, 2], leader=0)")
    state = story.value("state")[0]
    assert (state["replicas"], state["adding"], state["removing"]) == ([0, 1, 2], [2], [1])
    assert (state["epoch"], state["version"]) == (0, 2)


# --- min.insync.replicas --------------------------------------------------------------------------------------------

COPIES = ("acknowledged-has-enough-copies", "high-watermark-waits-for-min-isr")
SMALL: dict[str, Any] = {
    "replicas": 2,
    "min_isr": 2,
    "log_size": 1,
    "max_leader_epoch": 2,
    "max_version": 3,
    "metadata_lag": 1,
    "expiries": 0,
    "fetch": "one-step",
    "follower_state": "kept-unless-skipped",
    "equal_version": "keeps-pending",
}


def copies(**settings: Any) -> Any:
    return check(KRAFT, {**SMALL, **settings}, profile=BARE, invariants=COPIES)


def test_no_more_copies_are_asked_for_than_there_are_replicas() -> None:
    """Partition.effectiveMinIsr is at most the number of replicas, so with two replicas 3 is the same as 2."""
    two, three = copies(min_isr=2), copies(min_isr=3)
    assert (two.verdict, three.verdict) == ("holds", "holds")
    assert (three.distinct, three.generated) == (two.distinct, two.generated)


@pytest.mark.parametrize("changes", [{"reassignments": 1, "removed_replica": "leaves"}, {"min_isr_then": 1}, {}])
def test_the_least_that_min_insync_replicas_ever_is_is_asked_for(changes: dict[str, Any]) -> None:
    """A partition may move to one replica, whose log then suffices (KIP-860), or min.insync.replicas may become 1."""
    result = copies(**changes)
    assert (result.verdict, result.left, "producer-is-acknowledged" in result.goals_never_reached) == (
        "holds",
        0,
        False,
    )
    model = KRAFT.cls(**{**SMALL, **changes})
    assert model.least_min_isr == (1 if changes else 2)


def test_fewer_copies_than_that_are_a_violation() -> None:
    """Without the guard on the high watermark (KAFKA-15583), a leader that is alone acknowledges records."""
    assert copies(high_watermark_min_isr=False, expiries=1).verdict == "violated"


@pytest.mark.parametrize("version", KAFKA.versions)
def test_the_settings_of_a_release_describe_it(version: str) -> None:
    model = Kraft(**KAFKA.settings(version))
    assert KAFKA.described(model, version) == f"Kafka {version}"


def test_a_verdict_names_the_release_and_what_it_lacks() -> None:
    mended = "Kafka 4.4 with two changes that it lacks: equal_version, follower_state"
    named = {name: KAFKA.described(Kraft(**profile.settings)) for name, profile in profiles_of(Kraft).items()}
    assert named == {"plain": mended, "as-written": "Kafka 4.4", "with-fixes": mended, "worst-case": mended}
    assert KAFKA.described(Kraft(fetch_fencing=False)) == "Kafka 4.4 with a change that it lacks: fetch_fencing"
    assert KAFKA.described(Kraft(**KAFKA.settings("4.2"))) == "Kafka 4.2"

    class Variant(Kraft):
        looks_again = True

    assert KAFKA.described(Variant()) == "a variant of Kafka 4.4 with a change that it lacks: looks_again"


def test_settings_of_a_release_by_its_name() -> None:
    line = "VIOLATED  kraft ({}): quorum-is-superset-of-isr in 8 states\n"
    for version in ("3.9.2", "4.3"):
        found = run("check", "kraft", "--profile", "as-written", "-s", f"kafka={version}", "--quiet")
        assert (found.out, found.code) == (line.format(f"Kafka {version}"), 12)
    changed = run("check", "kraft", "--profile", "as-written", "-s", "kafka=4.3", "-s", "fetch_fencing=false")
    lines = changed.out.splitlines()
    assert "(Kafka 4.3 with a change that it lacks: fetch_fencing)" in lines[0]
    assert lines[lines.index("Your change") + 1] == "  fetch_fencing=false (without it true)"
    refused = run("check", "kraft", "-s", "kafka=5.0")
    assert (refused.code, refused.err) == (
        150,
        "isrcheck: Kafka 5.0 is not described; choose one of 3.9, 4.0, 4.1, 4.2, 4.3, 4.4\n",
    )
    assert run("check", "v3", "-s", "kafka=4.3").code == 150
