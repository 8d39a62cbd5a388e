"""The state at the controller or in ZooKeeper, compared with what brokers believe.

The *version* of a partition's state is its zkVersion or, in KRaft, its partition epoch.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.language import UnknownName, every, for_all, invariant, needs


@invariant
@needs("state")
def isr_sane(m: Any, s: Any) -> Any:
    """The leader, if there is one, is in the ISR."""
    return for_all(lambda p: s.state[p].leader.is_none | s.state[p].isr.has(s.state[p].leader), p=m.all_partitions)


@invariant
@needs("state")
def isr_is_never_empty(m: Any, s: Any) -> Any:
    """The ISR keeps at least one member, which may lead when it comes back."""
    return for_all(lambda p: ~s.state[p].isr.is_empty, where=lambda p: m.has_path(s, p), p=m.all_partitions)


@invariant
@needs("state", "live", "seen_live")
def leader_is_live(m: Any, s: Any) -> Any:
    """A controller that has seen which brokers are live names only a live broker as leader."""
    return for_all(
        lambda c, p: s.state[p].leader.is_none | s.live.has(s.state[p].leader),
        where=lambda c, p: m.acting(s, c) & m.has_path(s, p) & (s.seen_live[c][p] == s.live),
        c=m.controllers,
        p=m.all_partitions,
    )


@invariant
@needs("state", "live", "seen_live")
def fenced_or_stopping_broker_is_not_added(m: Any, s: Any) -> Any:
    """While a partition has a leader, its ISR has no broker that a controller has seen to be fenced or stopping."""
    return for_all(
        lambda c, p: s.state[p].isr <= s.live,
        where=lambda c, p: m.acting(s, c) & (s.seen_live[c][p] == s.live) & ~s.state[p].leader.is_none,
        c=m.controllers,
        p=m.all_partitions,
    )


@invariant
@needs("state", "live", "metadata")
def leader_is_active(m: Any, s: Any) -> Any:
    """The leader that the controller names, if it names one, is neither fenced nor in controlled shutdown."""
    return for_all(lambda p: s.state[p].leader.is_none | s.live.has(s.state[p].leader), p=m.all_partitions)


@invariant
@needs("state", "live", "metadata")
def isr_is_active(m: Any, s: Any) -> Any:
    """While a partition has a leader, no member of its ISR is fenced or in controlled shutdown."""
    return for_all(lambda p: s.state[p].leader.is_none | (s.state[p].isr <= s.live), p=m.all_partitions)


@invariant
@needs("replica", "state")
def no_version_from_the_future(m: Any, s: Any) -> Any:
    """No broker knows a later version of a partition than the present version."""
    return for_all(
        lambda p, b: s.replica[p][b].version <= s.state[p].version,
        p=m.all_partitions,
        b=m.brokers,
    )


@invariant
@needs("replica", "state")
def same_version_same_isr(m: Any, s: Any) -> Any:
    """A legitimate leader that knows the present version knows the present ISR."""
    return for_all(
        lambda p, leader: s.replica[p][leader].isr == s.state[p].isr,
        where=lambda p, leader: m.is_legitimate(s, p, leader) & (s.replica[p][leader].version == s.state[p].version),
        p=m.all_partitions,
        leader=m.brokers,
    )


@invariant
@needs("replica", "state")
def quorum_is_superset_of_isr(m: Any, s: Any) -> Any:
    """The replicas for which a legitimate leader waits before it commits include every member of the ISR."""
    return for_all(
        lambda p, leader: m.quorum_isr(s, p, leader) >= s.state[p].isr,
        where=lambda p, leader: m.is_legitimate(s, p, leader),
        p=m.all_partitions,
        leader=m.brokers,
    )


@invariant
@needs("state")
def isr_is_assigned(m: Any, s: Any) -> Any:
    """Each member of the ISR is a replica of the partition or, in V2, becomes one in the reassignment under way."""
    if not m.reassigns:
        raise UnknownName("invariant isr-is-assigned is about reassigned partitions; set reassignments to 1 or more")
    return for_all(
        lambda p, b: m.is_wanted(s, p, b),
        where=lambda p, b: s.state[p].isr.has(b),
        p=m.all_partitions,
        b=m.brokers,
    )


@invariant
@needs("replica", "state")
def leader_isr_is_of_its_replicas(m: Any, s: Any) -> Any:
    """The ISR of a legitimate leader has only brokers that the leader knows as replicas of the partition."""
    if not m.reassigns:
        raise UnknownName(
            "invariant leader-isr-is-of-its-replicas is about reassigned partitions; set reassignments to 1 or more"
        )
    return for_all(
        lambda p, leader: s.replica[p][leader].isr <= m.known_replicas(s, p, leader),
        where=lambda p, leader: m.is_legitimate(s, p, leader),
        p=m.all_partitions,
        leader=m.brokers,
    )


@invariant
@needs("replica", "state", "seen_live", "channel")
def decisions_reach_live_replicas(m: Any, s: Any) -> Any:
    """A running replica that the controller sees as live knows the latest epoch if no request to it is in flight."""

    def has_heard(c: Any, p: int, b: Any) -> Any:
        """Whether the current controller sees a running broker as live, and no request to it is in flight."""
        seen = m.acting(s, c) & m.is_controller(s, c) & s.seen_live[c][p].has(b)
        return seen & m.is_up(s, b) & every(s.channel[other][b].is_empty for other in m.controllers)

    return for_all(
        lambda c, p, b: s.replica[p][b].epoch == s.state[p].epoch,
        where=lambda c, p, b: has_heard(c, p, b) & m.has_path(s, p) & m.is_assigned(s, p, b),
        c=m.controllers,
        p=m.all_partitions,
        b=m.brokers,
    )
