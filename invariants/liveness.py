"""Liveness: properties of whole behaviours of the designs and of kip-320.

Each `leads_to` property waits for an outcome (such as a commit) while a premise is true (such as: a broker leads).
If the premise becomes false (for example, the leader crashes), the wait ends. If the premise becomes true again, a new
wait begins. A property is checked for each choice of its parameters (partitions, brokers, records).
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.language import UnknownName, eventually_never, for_each, leads_to, needs, some


def _is_live(m: Any, s: Any, b: Any) -> Any:
    return s.live.has(b) & m.is_up(s, b)


def _leader(m: Any, s: Any, p: int) -> Any:
    """Whether some live broker is a legitimate leader."""
    return some(m.is_legitimate(s, p, b) & _is_live(m, s, b) for b in m.brokers)


@leads_to
@needs("log", "replica", family="designs")
def uncommitted_is_committed(m: Any, s: Any) -> Any:
    """A legitimate leader commits each of its records in the end, or it stops leading."""

    def says(p: int, b: Any) -> Any:
        leads, behind = m.is_legitimate(s, p, b), s.replica[p][b].high_watermark < s.log[p][b].length
        return leads & behind, ~leads | ~behind

    return for_each(says, p=m.all_partitions, b=m.brokers)


@leads_to
@needs("log", "replica", "quorum", "requests")
def true_leader_commits_its_log(m: Any, s: Any) -> Any:
    """The true leader commits each of its records in the end, or it stops being the true leader."""

    def says(b: Any) -> Any:
        leads, behind = m.is_true_leader(s, b), s.replica[b].high_watermark < s.log[b].length
        return leads & behind, ~leads | ~behind

    return for_each(says, b=m.brokers)


@leads_to
@needs("alteration", "replica", family="designs")
def isr_change_is_resolved(m: Any, s: Any) -> Any:
    """A leader that asked for another ISR learns the outcome in the end, or it stops leading."""

    def says(p: int, b: Any) -> Any:
        leads, waits = m.leads(s, p, b), ~s.replica[p][b].pending.is_empty
        return leads & waits, ~leads | ~waits

    return for_each(says, p=m.all_partitions, b=m.brokers)


@leads_to
@needs("replica", "state", "live")
def live_isr_gets_a_leader(m: Any, s: Any) -> Any:
    """A partition with a live member of its ISR gets a live leader in the end, or has no live member any more."""

    def says(p: int) -> Any:
        led, member = _leader(m, s, p), some(s.state[p].isr.has(b) & _is_live(m, s, b) for b in m.brokers)
        return ~led & member, led | ~member

    return for_each(says, p=m.all_partitions)


@leads_to
@needs("replica", "state", "live")
def live_replica_follows(m: Any, s: Any) -> Any:
    """A live replica follows the live leader in its epoch in the end, or the leader or the replica is gone."""

    def says(p: int, leader: Any, b: Any) -> Any:
        if b == leader:
            return None
        led = m.is_legitimate(s, p, leader) & _is_live(m, s, leader)
        premise = led & _is_live(m, s, b) & m.is_assigned(s, p, b)
        follows = m.follows_for_good(s, p, b, leader)
        return premise & ~follows, follows | ~premise

    return for_each(says, p=m.all_partitions, leader=m.brokers, b=m.brokers)


@leads_to
@needs("replica", "state", "live")
def live_follower_joins_the_isr(m: Any, s: Any) -> Any:
    """A live replica of a partition with a live leader is in the ISR in the end, or the leader or replica is gone."""

    def says(p: int, b: Any) -> Any:
        premise = _is_live(m, s, b) & m.is_assigned(s, p, b) & _leader(m, s, p)
        member = s.state[p].isr.has(b)
        return premise & ~member, member | ~premise

    return for_each(says, p=m.all_partitions, b=m.brokers)


@leads_to
@needs("replica", "state", "live")
def leader_learns_the_version(m: Any, s: Any) -> Any:
    """A live leader comes to know the present version of its partition's state, or it stops leading."""

    def says(p: int, b: Any) -> Any:
        leads = m.is_legitimate(s, p, b) & _is_live(m, s, b)
        knows = s.replica[p][b].version == s.state[p].version
        return leads & ~knows, knows | ~leads

    return for_each(says, p=m.all_partitions, b=m.brokers)


@leads_to
@needs("state", "live")
def reassignment_completes(m: Any, s: Any) -> Any:
    """A reassignment of a partition is finished in the end, or the partition has no live leader."""
    if not m.reassigns:
        raise UnknownName(
            "property reassignment-completes is about reassigned partitions; set reassignments to 1 or more"
        )

    def says(p: int) -> Any:
        moving, led = m.is_moving(s, p), _leader(m, s, p)
        return moving & led, ~moving | ~led

    return for_each(says, p=m.all_partitions)


@leads_to
@needs("log", "replica", "state", "live", "acknowledged")
def acknowledged_reaches_everyone(m: Any, s: Any) -> Any:
    """An acknowledged record is on every live replica in the end, or the replica or the leader is no longer live."""

    def says(p: int, b: Any, i: int) -> Any:
        has = some((s.log[p][b].length > o) & (s.log[p][b].at(o).id == i) for o in range(m.log_size))
        premise = s.acknowledged[i] & _is_live(m, s, b) & m.is_assigned(s, p, b) & _leader(m, s, p)
        return premise & ~has & _is_of(m, s, p, i), has | ~premise

    return for_each(says, p=m.all_partitions, b=m.brokers, i=range(m.max_records))


def _is_of(m: Any, s: Any, p: int, i: int) -> Any:
    """Whether the record with a given id was written to a partition."""
    return m.is_of(s, p, i) if m.partitions > 1 else True


@leads_to
@needs("log", "replica", "live", setting="topic_changes")
def deleted_topic_leaves_nothing(m: Any, s: Any) -> Any:
    """In the end no live broker has a record of a deleted topic, or the topic exists again."""
    if not m.topic_changes:
        raise UnknownName(
            "property deleted-topic-leaves-nothing is about deleted topics; set topic_changes to 1 or more"
        )

    def says(p: int, b: Any) -> Any:
        gone = ~m.has_path(s, p) & _is_live(m, s, b)
        return gone & ~s.log[p][b].is_empty, ~gone | s.log[p][b].is_empty

    return for_each(says, p=m.all_partitions, b=m.brokers)


@eventually_never("shrink-isr", "expand-isr")
@needs("replica", "state", "live")
def isr_settles(m: Any, s: Any) -> Any:
    """The ISR does not shrink and expand for ever."""
    return True


@eventually_never("fenced-leader-shrink-isr", "fenced-leader-expand-isr")
@needs("replica", "quorum", "requests")
def true_isr_settles(m: Any, s: Any) -> Any:
    """The ISR does not shrink and expand for ever."""
    return True
