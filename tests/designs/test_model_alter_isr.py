"""The design of KIP-497: engines agree on it, each of its actions can happen, and it allows the known stories."""

from __future__ import annotations

from typing import Any

import pytest

from isrcheck import check
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.checker.results.exploration import Limits
from isrcheck.model.designs.alter_isr import AlterIsr
from isrcheck.model.designs.alterations import ANSWERS
from isrcheck.model.language import when
from isrcheck.model.language.model import kebab
from isrcheck.model.published.async_isr import AsyncIsr
from isrcheck.model.semantics.tracing import trace
from tests.designs.agreeing import (
    MEMORY,
    absent,
)
from tests.designs.replaying import Story

LIMITS = Limits(memory=MEMORY)

# --- engines agree ----------------------------------------------------------------------------------------------------


def test_settings_that_are_off_cost_nothing() -> None:
    assert sorted(AlterIsr().domains) == [
        "acknowledged", "alteration", "channel", "committed", "epoch_cache", "known_end", "live", "log",
        "next_record_id", "replica", "seen_live", "state",
    ]  # fmt: skip
    assert sorted({t.label.action for t in trace(AlterIsr(), {}).transitions}) == [
        "adopt-isr-by-response", "await-later-version", "become-follower-by-command", "become-leader-by-command",
        "commit", "confirm-alter-isr", "expand-isr", "fetch", "grant-alter-isr", "ignore-command", "ignore-response",
        "on-broker-change", "on-broker-change-without-leader", "produce", "refuse-alter-isr", "retry-alter-isr",
        "roll-back-isr", "shrink-isr", "truncate",
    ]  # fmt: skip


# --- nothing is dead --------------------------------------------------------------------------------------------------

LIVELY: list[dict[str, Any]] = [
    {"expiries": 1, "lost_responses": 1, "late_requests": 1, "shrink_guard": "any", "preferred_election": True},
    {"lossy_crashes": 1, "shutdowns": 1, "commit_after_shrink": False},
    {"crashes": 1, "topic_changes": 1, "topic_id": False},
    {"expiries": 1, "topic_changes": 1, "log_size": 1},
    {"expiries": 1, "controller_failover": True, "answer": "before-write"},
    {"reassignments": 1, "assigned_at_start": 1, "max_leader_epoch": 5, "max_version": 6, "log_size": 1},
    {"replicas": 3, "requests_in_flight": 2, "log_size": 1, "max_leader_epoch": 0, "max_version": 2},
]


@pytest.mark.exhaustive
def test_every_action_happens_and_every_goal_is_reached() -> None:
    limits = Limits(states=30_000, memory=MEMORY)
    found = [check(AlterIsr, settings, profile="bare", invariants=(), limits=limits) for settings in LIVELY]
    idle = [{*r.actions_never_fired} | absent(AlterIsr, s) for r, s in zip(found, LIVELY, strict=True)]
    assert set.intersection(*idle) == set()
    assert set.intersection(*({*r.goals_never_reached} for r in found)) == set()


def test_there_is_a_goal_for_every_error() -> None:
    goals = AlterIsr.predicates("goal")
    errors = [name for name in ANSWERS if not name.startswith("success")]
    assert [name for name in errors if f"{kebab(name)}-is-answered" not in goals] == []


# --- maximal ISR ------------------------------------------------------------------------------------------------------


def verdict(cls: Any, **settings: Any) -> tuple[str, int]:
    """The verdict at a model's settings, with the number of states or the length of the shortest trace."""
    found = check(cls, settings, profile="bare", limits=LIMITS)
    if found.verdict == "violated":
        return "violated", min(f.trace.length for f in found.invariants.values() if f.trace)
    return found.verdict, found.distinct


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"expiries": 1},
        {"crashes": 1},
        {"expiries": 1, "answer": "before-write", "controller_failover": True},
        {"expiries": 1, "lost_responses": 1, "late_requests": 1},
        {"expiries": 1, "answer": "before-write"},
        pytest.param({"replicas": 3, "requests_in_flight": 2, "isr_at_start": 1, "expiries": 1, "log_size": 1,
                      "max_version": 3, "max_leader_epoch": 1}, marks=pytest.mark.exhaustive),
    ],
    ids=str,
)  # fmt: skip
def test_with_maximal_isr_nothing_is_violated(settings: dict[str, Any]) -> None:
    assert verdict(AlterIsr, **settings)[0] == "holds"


def test_nothing_is_left_undone() -> None:
    settings = {"expiries": 1, "max_leader_epoch": 3, "max_version": 5}
    resolved = ("every-alteration-is-resolved", "leader-version-is-current", "nothing-awaits-acknowledgement")
    found = check(AlterIsr, settings, profile="bare", invariants=resolved, limits=LIMITS)
    assert found.verdict == "holds"


def test_without_maximal_isr_the_quorum_lacks_a_member_as_soon_as_a_request_is_granted() -> None:
    # Counted by hand: start, fetch (the leader must know the follower), request, grant.
    assert verdict(AlterIsr, isr_at_start=1, isr_in_flight="committed") == ("violated", 4)
    # Start, request.
    assert verdict(AlterIsr, isr_in_flight="requested") == ("violated", 2)


def test_without_maximal_isr_a_committed_record_is_lost() -> None:
    # Start; fetch, request, grant; produce, commit without the new member; the leader's session expires, the new
    # member is elected, and leads: nine states.
    found = check(
        AlterIsr,
        {"isr_at_start": 1, "isr_in_flight": "committed", "expiries": 1},
        profile="bare",
        invariants=("no-committed-loss",),
        limits=LIMITS,
    )
    trace_ = found.invariants["no-committed-loss"].trace
    assert trace_ is not None
    assert trace_.length == 9
    assert str(trace_.steps[-1].label) == "become-leader-by-command(c=0, b=1, p=0)"


class WithoutMaximalIsr(AsyncIsr):
    """The published sketch, with a high watermark that waits for the ISR alone."""

    def high_watermark(self, s: Any) -> Any:
        least = s.offsets[self.leader]
        for r in self.brokers:
            least = when(s.leader.isr.has(r) & (s.offsets[r] < least), s.offsets[r], least)
        return least


def test_the_published_sketch_agrees_in_kind() -> None:
    assert verdict(AsyncIsr, replicas=2)[0] == "holds"
    assert verdict(WithoutMaximalIsr, replicas=2)[0] == "violated"


# --- stories ----------------------------------------------------------------------------------------------------------

MODEL = load_model_class("alter-isr")
SHRUNK = """
    shrink-isr(p=0, b=0, follower=1)
    not produce(p=0, b=1)
    not shrink-isr(p=0, b=0, follower=1)
    not expand-isr(p=0, b=0, follower=1)
    grant-alter-isr(c=0, p=0, b=0, request=0)
    not grant-alter-isr(c=0, p=0, b=0, request=0)
"""


def test_a_leader_whose_response_is_lost_asks_again_and_is_told() -> None:
    # KAFKA-14144: the controller has the ISR already, and says so at the version that there is.
    story = Story(MODEL, ("quorum-is-superset-of-isr",), lost_responses=1, commit_after_shrink=True)
    story.tell("produce(p=0, b=0)" + SHRUNK + "lose-response(p=0, b=0, request=0)")
    assert (story.value("state")[0]["isr"], story.value("state")[0]["version"]) == ([0], 1)
    story.tell("""
        not commit(p=0, b=0)
        not refuse-alter-isr(c=0, p=0, b=0, request=0)
        confirm-alter-isr(c=0, p=0, b=0, request=0)
        not lose-response(p=0, b=0, request=0)
        adopt-isr-by-response(p=0, b=0, request=0)
        not adopt-isr-by-response(p=0, b=0, request=0)
        commit(p=0, b=0)
    """)
    leader = story.value("replica")[0][0]
    assert (leader["isr"], leader["version"], leader["pending"]) == ([0], 1, [])
    assert story.holds() == {"quorum-is-superset-of-isr": True}


def test_without_the_check_the_leader_waits_for_a_version_of_which_nobody_tells_it() -> None:
    story = Story(MODEL, (), lost_responses=1, idempotent_check=False)
    story.tell(SHRUNK + "lose-response(p=0, b=0, request=0)")
    story.tell("""
        refuse-alter-isr(c=0, p=0, b=0, request=0)
        not retry-alter-isr(p=0, b=0, request=0)
        not roll-back-isr(p=0, b=0, request=0)
        await-later-version(p=0, b=0, request=0)
        not shrink-isr(p=0, b=0, follower=1)
        fetch(p=0, follower=1, leader=0)
        not expand-isr(p=0, b=0, follower=1)
    """)
    leader = story.value("replica")[0][0]
    assert (leader["isr"], leader["version"], leader["pending"]) == ([0, 1], 0, [0])


BOUNCED = """
    produce(p=0, b=0)
    fetch(p=0, follower=1, leader=0)
    fetch(p=0, follower=1, leader=0)
    expand-isr(p=0, b=0, follower=1)
    crash-with-loss(b=1, kept=0)
    session-of-the-dead-expires(b=1)
    on-broker-change(c=0, p=0, leader=0)
    on-broker-startup(b=1)
    on-broker-change(c=0, p=0, leader=0)
"""


def test_a_follower_that_bounced_with_an_empty_disk_joins_the_isr() -> None:
    # The request names a follower that had caught up, in the life before. KIP-903: the loss "exists in both ZK mode and
    # KRaft mode"; it is mended in KRaft alone.
    story = Story(MODEL, ("isr-has-what-is-committed",), lossy_crashes=1, isr_at_start=1)
    story.tell(BOUNCED)
    story.tell("""
        grant-alter-isr(c=0, p=0, b=0, request=0)
        adopt-isr-by-response(p=0, b=0, request=0)
        commit(p=0, b=0)
    """)
    assert story.logs() == [[0], []]
    assert story.holds() == {"isr-has-what-is-committed": False}


def test_of_a_controlled_shutdown_the_controller_alone_knows() -> None:
    # KAFKA-14140: to the leader who shuts down is alive, so that it asks again; the controller refuses it again.
    story = Story(MODEL, (), shutdowns=1, isr_at_start=1)
    story.tell("""
        fetch(p=0, follower=1, leader=0)
        begin-controlled-shutdown(b=1)
        on-broker-change(c=0, p=0, leader=0)
        expand-isr(p=0, b=0, follower=1)
        not grant-alter-isr(c=0, p=0, b=0, request=0)
        refuse-alter-isr(c=0, p=0, b=0, request=0)
    """)
    assert story.value("alteration")[0][0][0]["stage"] == "ineligible-replica"
    story.tell("""
        roll-back-isr(p=0, b=0, request=0)
        finish-controlled-shutdown(b=1)
        not expand-isr(p=0, b=0, follower=1)
    """)


def test_a_leader_that_shuts_down_has_its_session_and_asks_for_nothing_stale() -> None:
    # Its broker epoch is that of its registration, and who leads it knows no more: FENCED_LEADER_EPOCH.
    story = Story(MODEL, (), shutdowns=1)
    story.tell("""
        begin-controlled-shutdown(b=0)
        on-broker-change(c=0, p=0, leader=1)
        shrink-isr(p=0, b=0, follower=1)
        refuse-alter-isr(c=0, p=0, b=0, request=0)
    """)
    assert story.value("alteration")[0][0][0]["stage"] == "fenced-leader-epoch"


def test_a_controller_that_shuts_down_is_the_controller_until_it_stops() -> None:
    story = Story(MODEL, (), shutdowns=1, controller_failover=True)
    story.tell("""
        begin-controlled-shutdown(b=0)
        not elect-controller(c=1)
        on-broker-change(c=0, p=0, leader=1)
        finish-controlled-shutdown(b=0)
        elect-controller(c=1)
    """)
    assert story.value("state")[0]["isr"] == [1]


def test_a_shutdown_is_told_to_a_controller_that_knows_which_brokers_there_are() -> None:
    story = Story(MODEL, (), shutdowns=1, expiries=1, controller_failover=True)
    story.tell("""
        session-expires(b=0)
        not begin-controlled-shutdown(b=1)
        elect-controller(c=1)
        not begin-controlled-shutdown(b=1)
        on-broker-change(c=1, p=0, leader=1)
        begin-controlled-shutdown(b=1)
    """)


def test_a_request_of_a_former_life_is_refused_and_its_response_is_not_for_the_new_one() -> None:
    # KIP-380: the leader bounces, and nobody notices; it leads on in the same epoch, at the same version.
    story = Story(MODEL, (), crashes=1, broker_epoch=False, startup="zookeeper")
    story.tell("""
        shrink-isr(p=0, b=0, follower=1)
        crash(b=0)
        on-broker-startup(b=0)
        not shrink-isr(p=0, b=0, follower=1)
        not grant-alter-isr(c=0, p=0, b=0, request=0)
        refuse-alter-isr(c=0, p=0, b=0, request=0)
    """)
    assert story.value("alteration")[0][0][0]["stage"] == "stale-broker-epoch"
    assert story.value("replica")[0][0]["pending"] == []
    story.tell("""
        not retry-alter-isr(p=0, b=0, request=0)
        ignore-response(p=0, b=0, request=0)
        shrink-isr(p=0, b=0, follower=1)
        grant-alter-isr(c=0, p=0, b=0, request=0)
    """)
