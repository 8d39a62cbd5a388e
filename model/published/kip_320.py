"""KIP-320: fetches and truncations carry the leader epoch, and a leader answers only followers of its own epoch.

A leader adds replicas to the ISR only once its high watermark has reached the start of its epoch (KAFKA-7128). A
replica becomes a follower only of a leader that is already in the epoch of the request.

Source: github.com/hachikuji/kafka-specification, module Kip320.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isrcheck.model.language import action, broker
from isrcheck.model.published import step_sentences
from isrcheck.model.published.kafka_replication import KafkaReplication, any_epoch

if TYPE_CHECKING:
    from isrcheck.model.published.kip_320_state import Kip320State


class Kip320(KafkaReplication):
    """Everything between leader and follower is fenced by the leader epoch."""

    def follows_in_same_epoch(self, s: Kip320State, follower: Any, leader: Any) -> Any:
        same_epoch = s.replica[follower].leader_epoch == s.replica[leader].leader_epoch
        return self.presumes_leadership(s, leader) & self.follows(s, follower, leader) & same_epoch

    def truncation_offset(self, s: Kip320State, leader: Any, follower: Any) -> Any:
        return self.end_of_common_records(s, leader, follower)

    @action(leader=broker, follower=broker, actor="leader")
    def fenced_leader_shrink_isr(self, s: Kip320State, leader: Any, follower: Any) -> None:
        """The leader drops a follower that is not in the leader's epoch or does not reach the leader's log end."""
        if follower == leader:
            return
        behind = s.log[follower].length < s.log[leader].length
        s.require(s.replica[leader].isr.has(follower), ~self.follows_in_same_epoch(s, follower, leader) | behind)
        self.leader_writes_isr(s, leader, s.replica[leader].isr - {follower})

    def describe_fenced_leader_shrink_isr(self, old: Any, new: Any, leader: Any, follower: Any) -> str:
        return step_sentences.shrinks(old, new, leader, follower)

    @action(leader=broker, follower=broker, actor="leader")
    def fenced_leader_expand_isr(self, s: Kip320State, leader: Any, follower: Any) -> None:
        """The leader, once its high watermark is in its own epoch, adds to the ISR a follower that reaches it."""
        reaches = s.log[follower].length >= s.replica[leader].high_watermark
        s.require(~s.replica[leader].isr.has(follower), self.follows_in_same_epoch(s, follower, leader), reaches)
        s.require(self.high_watermark_is_in_current_epoch(s, leader))
        self.leader_writes_isr(s, leader, s.replica[leader].isr | {follower})

    def describe_fenced_leader_expand_isr(self, old: Any, new: Any, leader: Any, follower: Any) -> str:
        return step_sentences.expands(old, new, leader, follower)

    @action(leader=broker, actor="leader")
    def fenced_leader_inc_high_watermark(self, s: Kip320State, leader: Any) -> None:
        """The leader raises its high watermark by 1, if all ISR members are in its epoch and reach the new value."""
        passed = s.replica[leader].high_watermark
        s.require(passed < s.log[leader].length)
        s.require(
            s.replica[leader].isr.every(
                lambda f: self.follows_in_same_epoch(s, f, leader) & (s.log[f].length > passed),
            )
        )
        s.replica[leader].high_watermark = passed + 1

    def describe_fenced_leader_inc_high_watermark(self, old: Any, new: Any, leader: Any) -> str:
        return f"{step_sentences.commits(self, old, new, leader)} in its epoch"

    @action(follower=broker, leader=broker, epoch=any_epoch, actor="follower")
    def fenced_become_follower_and_truncate(self, s: Kip320State, follower: Any, leader: Any, epoch: int) -> None:
        """A replica takes a request whose leader is already in the request's epoch, and keeps what both logs have."""
        if follower == leader:
            return
        s.require(self.presumes_leadership(s, leader), s.replica[leader].leader_epoch == epoch)
        self.become_follower_and_truncate(s, leader, follower, epoch)

    def describe_fenced_become_follower_and_truncate(
        self, old: Any, new: Any, follower: Any, leader: Any, epoch: int
    ) -> str:
        return step_sentences.follows(old, new, follower, leader, epoch)

    @action(follower=broker, leader=broker, actor="follower")
    def fenced_follower_fetch(self, s: Kip320State, follower: Any, leader: Any) -> None:
        """A follower in the leader's epoch appends the leader's next record."""
        if follower == leader:
            return
        s.require(self.follows_in_same_epoch(s, follower, leader))
        self.fetch_next_record(s, follower, leader)

    def describe_fenced_follower_fetch(self, old: Any, new: Any, follower: Any, leader: Any) -> str:
        return step_sentences.copies(self, old, new, follower, leader)
