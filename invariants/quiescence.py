"""Invariants of states in which the protocol does nothing more by itself.

An *environment action* has a cause outside the protocol, such as a write, a crash or an expiry. Every other action is
*healing*. A state is *quiescent* if no healing action is enabled. A fault in a quiescent state stays until a
environment action happens to repair it.

The *leader on record* is the broker that the partition's state names as leader. It is *live* if it is up and has a
session.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.language import UnknownName, for_all, invariant, needs, some


def quiescent(m: Any, s: Any) -> Any:
    """Whether the bounds of the search leave room for more steps, but no healing action is enabled."""
    healing = [getattr(m, f.__name__) for f in type(m).actions().values() if not f.__action__.environment]
    return ~some(s.enabled(f) for f in healing) & m.has_room(s)


def _live_leader(m: Any, s: Any, p: int, b: Any) -> Any:
    """Whether broker `b` is the leader on record of partition `p`, and is live."""
    return (s.state[p].leader == b) & s.live.has(b) & m.is_up(s, b)


@invariant
@needs("replica", "state", "live")
def leader_version_is_current(m: Any, s: Any) -> Any:
    """Where nothing more happens by itself, the live leader on record leads at the present version."""
    rest = quiescent(m, s)
    return for_all(
        lambda p, b: m.is_legitimate(s, p, b) & (s.replica[p][b].version == s.state[p].version),
        where=lambda p, b: rest & _live_leader(m, s, p, b),
        p=m.all_partitions,
        b=m.brokers,
    )


@invariant
@needs("log", "replica", "state", "live")
def nothing_awaits_acknowledgement(m: Any, s: Any) -> Any:
    """Where nothing more happens by itself, the live leader on record has committed its whole log."""
    rest = quiescent(m, s)
    return for_all(
        lambda p, b: s.replica[p][b].high_watermark == s.log[p][b].length,
        where=lambda p, b: rest & _live_leader(m, s, p, b) & m.leads(s, p, b),
        p=m.all_partitions,
        b=m.brokers,
    )


@invariant
@needs("alteration", "replica", "state", "live")
def every_alteration_is_resolved(m: Any, s: Any) -> Any:
    """Where nothing more happens by itself, no live leader waits for the outcome of an ISR change that it asked for."""
    rest = quiescent(m, s)
    return for_all(
        lambda p, b: s.replica[p][b].pending.is_empty,
        where=lambda p, b: rest & _live_leader(m, s, p, b) & m.leads(s, p, b),
        p=m.all_partitions,
        b=m.brokers,
    )


@invariant
@needs("replica", "state", "live")
def every_live_replica_follows(m: Any, s: Any) -> Any:
    """Where nothing more happens by itself, every live replica follows the live leader in its epoch."""
    rest = quiescent(m, s)

    def should_follow(p: int, leader: Any, b: Any) -> Any:
        return rest & _live_leader(m, s, p, leader) & s.live.has(b) & m.is_up(s, b) & m.is_assigned(s, p, b)

    return for_all(
        lambda p, leader, b: m.follows_for_good(s, p, b, leader),
        where=lambda p, leader, b: should_follow(p, leader, b) if b != leader else False,
        p=m.all_partitions,
        leader=m.brokers,
        b=m.brokers,
    )


@invariant
@needs("log", "replica", "live")
def no_stray_replica(m: Any, s: Any) -> Any:
    """Where nothing more happens by itself, no live broker keeps a replica of a partition that it need not have."""
    if not m.reassigns:
        raise UnknownName("invariant no-stray-replica is about reassigned partitions; set reassignments to 1 or more")
    rest = quiescent(m, s)
    return for_all(
        lambda p, b: (s.replica[p][b].role == "none") & s.log[p][b].is_empty,
        where=lambda p, b: rest & s.live.has(b) & m.is_up(s, b) & ~m.is_wanted(s, p, b),
        p=m.all_partitions,
        b=m.brokers,
    )


@invariant
@needs("state")
def reassignments_complete(m: Any, s: Any) -> Any:
    """Where nothing more happens by itself, no reassignment of a partition that has a live leader is unfinished."""
    if not m.reassigns:
        raise UnknownName(
            "invariant reassignments-complete is about reassigned partitions; set reassignments to 1 or more"
        )
    rest = quiescent(m, s)
    return for_all(
        lambda p: ~m.is_moving(s, p),
        where=lambda p: rest & some(_live_leader(m, s, p, b) for b in m.brokers),
        p=m.all_partitions,
    )
