"""The leader node of V1 and V2, which is ephemeral: it is there as long as the session of who created it."""

from __future__ import annotations

from typing import Any

from isrcheck.model.language import for_all, invariant, needs


@invariant
@needs("watch", "state", "live")
def leader_node_has_a_session(m: Any, s: Any) -> Any:
    """The leader node names a broker that has a session: with the session it vanishes, so that others are told."""
    return for_all(
        lambda p: s.live.has(s.state[p].leader),
        where=lambda p: ~s.state[p].leader.is_none,
        p=m.all_partitions,
    )
