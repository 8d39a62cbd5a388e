"""The members of an ISR, and the records in their logs.

Eligible leader replicas (KIP-966).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from isrcheck.invariants.durability import (
    isr_had_what_the_leader_has,
    own_isr_had_what_the_leader_has,
    quorum_had_what_the_leader_has,
)
from isrcheck.model.language import UnknownName, below, for_all, invariant, last_held, needs


def _same_record(one: Any, other: Any, offset: int) -> Any:
    """Whether two logs have the same record at an offset."""
    return (one.length > offset) & (other.length > offset) & (one.at(offset) == other.at(offset))


def _agree_below_high_watermark(m: Any, s: Any, isr: Callable[[Any], Any]) -> Any:
    """Whether the records below the high watermark of each presumed leader are in the logs of all members of an ISR.

    A broker is a *presumed leader* if it regards itself as the leader. `isr(leader)` is this ISR.
    """

    def agrees(leader: Any) -> Any:
        belief = s.replica[leader]
        return for_all(
            lambda member, offset: _same_record(s.log[leader], s.log[member], offset),
            where=lambda member, offset: isr(leader).has(member) & (belief.high_watermark > offset),
            member=m.brokers,
            offset=below(m.log_size),
        )

    return for_all(agrees, where=lambda leader: s.replica[leader].leader == leader, leader=m.brokers)


@last_held("every member of the leader's own ISR had the record", own_isr_had_what_the_leader_has)
@invariant
@needs("log", "replica", "quorum")  # "quorum" is not read: it selects the published models
def weak_isr(m: Any, s: Any) -> Any:
    """Below the high watermark of a presumed leader, every member of its own ISR has the same records."""
    return _agree_below_high_watermark(m, s, lambda leader: s.replica[leader].isr)


@last_held("every member of the quorum's ISR had the record", quorum_had_what_the_leader_has)
@invariant
@needs("log", "replica", "quorum")
def strong_isr(m: Any, s: Any) -> Any:
    """Below the high watermark of a presumed leader, every member of the quorum's ISR has the same records."""
    return _agree_below_high_watermark(m, s, lambda leader: s.quorum.isr)


@invariant
@needs("quorum")
def leader_in_isr(m: Any, s: Any) -> Any:
    """There is a leader and it is in the quorum's ISR."""
    return s.quorum.isr.has(s.quorum.leader)


@invariant
@needs("quorum")
def leader_in_isr_or_none(m: Any, s: Any) -> Any:
    """The leader, if there is one, is in the quorum's ISR."""
    return s.quorum.leader.is_none | s.quorum.isr.has(s.quorum.leader)


@invariant
@needs("controller", "leader", "offsets")
def valid_high_watermark(m: Any, s: Any) -> Any:
    """The log end of every member of the controller's ISR reaches the leader's high watermark."""

    return for_all(
        lambda member: s.offsets[member] >= m.high_watermark(s),
        where=lambda member: s.controller.isr.has(member),
        member=m.brokers,
    )


@last_held("every member of the ISR had the record", isr_had_what_the_leader_has)
@invariant
@needs("log", "replica", "state")
def own_isr_has_what_the_leader_committed(m: Any, s: Any) -> Any:
    """Below the high watermark of a legitimate leader, its followers in its own ISR have the same records."""

    def counted_on(p: int, leader: Any, member: Any) -> Any:
        """Whether a follower is in a legitimate leader's own ISR and follows that leader."""
        own = m.is_legitimate(s, p, leader) & s.replica[p][leader].isr.has(member)
        return own & m.follows_for_good(s, p, member, leader)

    return for_all(
        lambda p, leader, member, offset: _same_record(s.log[p][leader], s.log[p][member], offset),
        where=lambda p, leader, member, offset: (
            (counted_on(p, leader, member) & (s.replica[p][leader].high_watermark > offset))
            if member != leader
            else False
        ),
        p=m.all_partitions,
        leader=m.brokers,
        member=m.brokers,
        offset=range(m.log_size),
    )


@invariant
@needs("log", "replica", "state")
def no_divergence_in_the_isr(m: Any, s: Any) -> Any:
    """No two members of the ISR have different records below the high watermarks of both."""

    def differ(p: int, a: Any, b: Any, offset: int) -> Any:
        one, other = s.log[p][a], s.log[p][b]
        return (one.length > offset) & (other.length > offset) & (one.at(offset) != other.at(offset))

    def below(p: int, b: Any, offset: int) -> Any:
        return s.state[p].isr.has(b) & (s.replica[p][b].high_watermark > offset)

    return for_all(
        lambda p, a, b, offset: ~differ(p, a, b, offset),
        where=lambda p, a, b, offset: (below(p, a, offset) & below(p, b, offset)) if a != b else False,
        p=m.all_partitions,
        a=m.brokers,
        b=m.brokers,
        offset=range(m.log_size),
    )


def _require_elr(m: Any, name: str) -> None:
    if not m.elr:
        raise UnknownName(f"invariant {name} is about eligible leader replicas; set elr to true")


@invariant
@needs("state", setting="elr")
def valid_isr_and_elr(m: Any, s: Any) -> Any:
    """No replica is both in ISR and ELR, and the ELR has members only while the ISR is smaller than min_isr."""
    _require_elr(m, "valid-isr-and-elr")
    return for_all(
        lambda p: (
            (s.elr[p] & s.state[p].isr).is_empty
            & (s.elr[p].is_empty | (s.state[p].isr.size < m.controllers_min_isr(s, p)))
        ),
        p=m.all_partitions,
    )


@invariant
@needs("log", "committed", "live", setting="elr")
def eligible_leaders_have_what_is_committed(m: Any, s: Any) -> Any:
    """Every live eligible leader replica, any of which may lead next, has every committed record."""
    _require_elr(m, "eligible-leaders-have-what-is-committed")

    def has(p: int, b: Any, offset: int) -> Any:
        log = s.log[p][b]
        return (log.length > offset) & (log.at(offset) == s.committed[p].records.at(offset))

    return for_all(
        has,
        where=lambda p, b, offset: (
            s.elr[p].has(b) & s.live.has(b) & m.is_up(s, b) & (s.committed[p].records.length > offset)
        ),
        p=m.all_partitions,
        b=m.brokers,
        offset=range(m.log_size),
    )
