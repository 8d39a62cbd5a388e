"""Variants of KIP-320, each without one of the rules of KIP-320: the proof must fail for each variant.

A user cannot name the variants on the command line; `isrcheck prove kip-320 --mutants` tries the proof on each variant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isrcheck.model.language import action, broker
from isrcheck.model.published.kafka_replication import any_epoch
from isrcheck.model.published.kip_320 import Kip320

if TYPE_CHECKING:
    from isrcheck.model.published.kip_320_state import Kip320State


class CommitWithoutFencing(Kip320):
    """A leader looks only at the lengths of the logs in its ISR when it raises its high watermark."""

    abstract = True

    @action(leader=broker, actor="leader")
    def fenced_leader_inc_high_watermark(self, s: Kip320State, leader: Any) -> None:
        """The leader raises its high watermark over an offset that every log of its ISR has reached."""
        passed = s.replica[leader].high_watermark
        s.require(self.presumes_leadership(s, leader), passed < s.log[leader].length)
        s.require(s.replica[leader].isr.every(lambda f: s.log[f].length > passed))
        s.replica[leader].high_watermark = passed + 1


class ExpansionBeforeOwnEpoch(Kip320):
    """A leader adds followers to the ISR even before its high watermark is in its own epoch (as before KAFKA-7128)."""

    abstract = True

    @action(leader=broker, follower=broker, actor="leader")
    def fenced_leader_expand_isr(self, s: Kip320State, leader: Any, follower: Any) -> None:
        """The leader adds to the ISR a follower that reaches the leader's high watermark."""
        reaches = s.log[follower].length >= s.replica[leader].high_watermark
        s.require(~s.replica[leader].isr.has(follower), self.follows_in_same_epoch(s, follower, leader), reaches)
        self.leader_writes_isr(s, leader, s.replica[leader].isr | {follower})


class TruncationWithoutFencing(Kip320):
    """A replica becomes a follower, whatever the epoch of its leader is (before KIP-320)."""

    abstract = True

    @action(follower=broker, leader=broker, epoch=any_epoch, actor="follower")
    def fenced_become_follower_and_truncate(self, s: Kip320State, follower: Any, leader: Any, epoch: int) -> None:
        """A replica takes a request that makes it a follower, and truncates to what both logs have."""
        if follower == leader:
            return
        self.become_follower_and_truncate(s, leader, follower, epoch)


class FetchWithoutFencing(Kip320):
    """A leader answers followers of any epoch (before KIP-320)."""

    abstract = True

    @action(follower=broker, leader=broker, actor="follower")
    def fenced_follower_fetch(self, s: Kip320State, follower: Any, leader: Any) -> None:
        """A follower appends the leader's next record, even if the follower and the leader are in different epochs."""
        if follower == leader:
            return
        s.require(self.presumes_leadership(s, leader), self.follows(s, follower, leader))
        self.fetch_next_record(s, follower, leader)
