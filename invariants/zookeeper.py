"""State changes are completed, brokers delete only their own leader nodes, and live followers join the ISR.

The leader node of V1 and V2. The node is ephemeral: it exists as long as the session of the broker that made it.
"""

from __future__ import annotations

from typing import Any

from isrcheck.invariants.quiescence import quiescent
from isrcheck.model.language import UnknownName, for_all, invariant, needs, some


@invariant
@needs("watch", "state", "live")
def leader_node_has_a_session(m: Any, s: Any) -> Any:
    """The broker that a leader node names has a session, because the node vanishes with the session."""
    return for_all(
        lambda p: s.live.has(s.state[p].leader),
        where=lambda p: ~s.state[p].leader.is_none,
        p=m.all_partitions,
    )


@invariant
@needs("watch", "replica", "state", "live")
def new_partition_has_a_leader(m: Any, s: Any) -> Any:
    """Where nothing more happens by itself, a partition with an empty ISR and a live replica has a leader."""
    rest = quiescent(m, s)

    def is_new(p: int) -> Any:
        """Whether a partition has never had a leader. The first leader writes an ISR, which never becomes empty."""
        return m.has_path(s, p) & s.state[p].isr.is_empty

    def may_lead(p: int, b: Any) -> Any:
        return m.is_wanted(s, p, b) & s.live.has(b) & m.is_up(s, b)

    return for_all(
        lambda p: some(m.is_legitimate(s, p, b) for b in m.brokers),
        where=lambda p: rest & is_new(p) & some(may_lead(p, b) for b in m.brokers),
        p=m.all_partitions,
    )


@invariant
@needs("watch", "live")
def state_changes_complete(m: Any, s: Any) -> Any:
    """Where nothing more happens by itself, no state change that was requested of a live broker is still unfinished."""
    if not getattr(m, "follows_requests", False):
        raise UnknownName(
            "invariant state-changes-complete is about the life cycle of requests; in model v2 set "
            "lifecycle to true and reassignments or topic_changes to 1 or more"
        )
    rest = quiescent(m, s)
    return for_all(
        lambda p, b: (s.state_change[p][b] != "requested") & (s.state_change[p][b] != "received"),
        where=lambda p, b: rest & s.live.has(b) & m.is_up(s, b),
        p=m.all_partitions,
        b=m.brokers,
    )


@invariant
@needs("watch", "state")
def leader_nodes_are_deleted_by_their_owners(m: Any, s: Any) -> Any:
    """No broker deletes the leader node of another broker."""
    if not getattr(m, "gives_up", False):
        raise UnknownName(
            "invariant leader-nodes-are-deleted-by-their-owners is about leaders that resign; in model "
            "v2 set load_balancing to true or reassignments to 1 or more"
        )
    return ~s.robbed


@invariant
@needs("replica", "state", "live")
def followers_join_the_isr(m: Any, s: Any) -> Any:
    """Where nothing more happens by itself, every live replica that follows the legitimate leader is in the ISR."""
    rest = quiescent(m, s)

    def follows(p: int, leader: Any, b: Any) -> Any:
        return m.is_legitimate(s, p, leader) & m.follows_for_good(s, p, b, leader) & s.live.has(b)

    return for_all(
        lambda p, leader, b: s.state[p].isr.has(b),
        where=lambda p, leader, b: (rest & follows(p, leader, b) & m.is_assigned(s, p, b)) if b != leader else False,
        p=m.all_partitions,
        leader=m.brokers,
        b=m.brokers,
    )
