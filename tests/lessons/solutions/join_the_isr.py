"""Exercise join-the-isr: which followers may a new leader take into the ISR?"""

from __future__ import annotations

from typing import Any

from isrcheck import action, broker, goal, some
from isrcheck.model.published.kip_320 import Kip320


class JoinTheIsr(Kip320):
    """KIP-320, in which a leader takes in whatever follower it hears."""

    def may_join(self, s: Any, leader: Any, follower: Any) -> Any:
        """Whether the leader may take the follower into the ISR: to be written."""
        reaches = s.log[follower].length >= s.replica[leader].high_watermark
        return reaches & self.high_watermark_is_in_current_epoch(s, leader)

    @action(leader=broker, follower=broker, actor="leader")
    def fenced_leader_expand_isr(self, s: Any, leader: Any, follower: Any) -> None:
        """The leader takes a follower of its epoch into the ISR."""
        s.require(~s.replica[leader].isr.has(follower), self.follows_in_same_epoch(s, follower, leader))
        s.require(self.may_join(s, leader, follower))
        self.leader_writes_isr(s, leader, s.replica[leader].isr | {follower})

    @goal
    def joins_a_leader_that_has_committed(self, s: Any) -> Any:
        """An ISR is whole again whose leader began epoch 1 with a smaller one, and has committed a record."""
        whole = (s.requests[1].isr.size < self.replicas) & (s.quorum.isr.size == self.replicas)
        leads = [self.is_true_leader(s, b) & (s.replica[b].high_watermark > 0) for b in self.brokers]
        return (s.quorum.leader_epoch == 1) & whole & some(leads)
