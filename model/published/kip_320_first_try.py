"""KIP-320, first try: followers truncate while they fetch, and compare only epochs of records, not of leaders.

A replica that becomes a follower keeps its log. A fetch carries the epoch of the follower's last record. If the leader
has another epoch (or no record) at the offset of this record, the follower truncates. KIP-320 rejects this design.

Source: github.com/hachikuji/kafka-specification, module Kip320FirstTry.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isrcheck.model.language import action, becomes, broker, minimum
from isrcheck.model.published import step_sentences
from isrcheck.model.published.kafka_replication import KafkaReplication, any_epoch

if TYPE_CHECKING:
    from isrcheck.model.published.kip_320_state import Kip320State


class Kip320FirstTry(KafkaReplication):
    """Truncation while fetching, fenced by the epochs of records."""

    def is_caught_up(self, s: Kip320State, leader: Any, follower: Any, end: Any) -> Any:
        """Whether a follower follows a presumed leader, and `end` is 0 or the logs have the same epoch at `end` - 1."""
        reaches = (s.log[leader].length >= end) & (s.log[follower].length >= end)
        same_epoch = s.log[leader].at(end - 1).epoch == s.log[follower].at(end - 1).epoch
        together = self.presumes_leadership(s, leader) & self.follows(s, follower, leader)
        return together & ((end == 0) | (reaches & same_epoch))

    @action(leader=broker, follower=broker, actor="leader")
    def leader_shrink_isr_better_fencing(self, s: Kip320State, leader: Any, follower: Any) -> None:
        """The leader drops a follower with another leader, or another epoch (or none) at the leader's last offset."""
        if follower == leader:
            return
        behind = ~self.is_caught_up(s, leader, follower, s.log[leader].length)
        s.require(s.replica[leader].isr.has(follower), behind)
        self.leader_writes_isr(s, leader, s.replica[leader].isr - {follower})

    def describe_leader_shrink_isr_better_fencing(self, old: Any, new: Any, leader: Any, follower: Any) -> str:
        isr = becomes(old.quorum.isr, new.quorum.isr)
        return f"{leader} takes {follower}, which does not hold its last record, out of the ISR {isr}"

    @action(leader=broker, follower=broker, actor="leader")
    def leader_expand_isr_better_fencing(self, s: Kip320State, leader: Any, follower: Any) -> None:
        """A leader with a high watermark in its epoch adds to the ISR a follower that reaches the high watermark."""
        caught_up = self.is_caught_up(s, leader, follower, s.replica[leader].high_watermark)
        s.require(~s.replica[leader].isr.has(follower), caught_up, self.high_watermark_is_in_current_epoch(s, leader))
        self.leader_writes_isr(s, leader, s.replica[leader].isr | {follower})

    def describe_leader_expand_isr_better_fencing(self, old: Any, new: Any, leader: Any, follower: Any) -> str:
        return step_sentences.expands(old, new, leader, follower)

    @action(leader=broker, actor="leader")
    def improved_leader_inc_high_watermark(self, s: Kip320State, leader: Any) -> None:
        """The leader raises its high watermark past a record if all ISR members have the same epoch at that offset."""
        passed = s.replica[leader].high_watermark
        s.require(self.presumes_leadership(s, leader), passed < s.log[leader].length)
        s.require(s.replica[leader].isr.every(lambda f: self.is_caught_up(s, leader, f, passed + 1)))
        s.replica[leader].high_watermark = passed + 1

    def describe_improved_leader_inc_high_watermark(self, old: Any, new: Any, leader: Any) -> str:
        return f"{step_sentences.commits(self, old, new, leader)} with a last record of the same epoch"

    @action(follower=broker, leader=broker, epoch=any_epoch, actor="follower")
    def become_follower(self, s: Kip320State, follower: Any, leader: Any, epoch: int) -> None:
        """A replica takes a request that makes it a follower; its log stays as it is."""
        if follower == leader:
            return
        s.require(self.hears_of(s, follower, leader, epoch))
        s.replica[follower].leader_epoch = epoch
        s.replica[follower].leader = leader
        s.replica[follower].isr = s.requests[epoch].isr

    def describe_become_follower(self, old: Any, new: Any, follower: Any, leader: Any, epoch: int) -> str:
        return step_sentences.follows(old, new, follower, leader, epoch)

    @action(follower=broker, leader=broker, actor="follower")
    def follower_fetch(self, s: Kip320State, follower: Any, leader: Any) -> None:
        """A follower appends the leader's next record if the record before (if any) has the same epoch in both logs."""
        if follower == leader:
            return
        s.require(self.is_caught_up(s, leader, follower, s.log[follower].length))
        self.fetch_next_record(s, follower, leader)

    def describe_follower_fetch(self, old: Any, new: Any, follower: Any, leader: Any) -> str:
        return step_sentences.copies(self, old, new, follower, leader)

    @action(follower=broker, leader=broker, actor="follower")
    def follower_truncate(self, s: Kip320State, follower: Any, leader: Any) -> None:
        """A follower truncates if the leader's log is shorter, or has another epoch at the follower's last offset."""
        if follower == leader:
            return
        own, leaders = s.log[follower], s.log[leader]
        differs = ~own.is_empty & (own.last.epoch != leaders.at(own.length - 1).epoch)
        s.require(self.presumes_leadership(s, leader), self.follows(s, follower, leader))
        s.require((own.length > leaders.length) | differs)
        end = self.end_of_common_records(s, leader, follower)
        s.require(end <= own.length)
        own.truncate(end)
        s.replica[follower].high_watermark = minimum(end, s.replica[follower].high_watermark)

    def describe_follower_truncate(self, old: Any, new: Any, follower: Any, leader: Any) -> str:
        whose = step_sentences.leader_in_words(self, old, leader).rstrip(",")
        kept = step_sentences.kept_in_words(old, new, follower)
        return f"{follower} finds that its log does not go with that of {whose} and {kept}"
