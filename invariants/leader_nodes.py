"""The leader node of V1 and V2. The node is ephemeral: it exists as long as the session of the broker that made it."""

from __future__ import annotations

from typing import Any

from isrcheck.invariants.quiescence import quiescent
from isrcheck.model.language import for_all, invariant, needs, some


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
