"""Kafka's replication after Jason Gustafson's published TLA+ specification: the part that all variants share.

A *replica* has a log and a *belief*: the leader epoch, leader and ISR that it last heard of, and a high watermark. The
*controller* writes the *quorum* state (leader epoch, leader, ISR) to ZooKeeper, and sends the same values as a
LeaderAndIsr *request*. Requests are never lost and never removed. A replica may take a request late or skip it. It
takes only requests of a greater epoch than its own. Each operation of the controller begins an epoch with exactly one
request.

Left out: several partitions, fetch requests in flight, crashes with loss of data (a crash is an ISR shrink by the
controller), unclean election. Also left out: a version of the quorum state, because the leader of the newest epoch
writes this state atomically.

Source: github.com/hachikuji/kafka-specification, module KafkaReplication, with the same names of actions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isrcheck.model.language import (
    Model,
    action,
    becomes,
    broker,
    count,
    goal,
    minimum,
    none,
    number,
    one_past_last,
    optional,
    per,
    record,
    sequence,
    set_of,
    setting,
    some,
    when,
)
from isrcheck.model.published import step_sentences

if TYPE_CHECKING:
    from isrcheck.model.published.kip_320_state import Kip320State


def any_epoch(model: Any) -> Any:
    """The epochs of the controller's requests."""
    return number(0, model.max_leader_epoch)


class KafkaReplication(Model):
    """The common part of the published specifications of KIP-101, KIP-279 and KIP-320."""

    abstract = True
    invariants = ("leader-in-isr-or-none", "strong-isr", "weak-isr")

    replicas = setting(3, at_least=1, at_most=8, counts=broker, meaning="replicas of the partition")
    log_size = setting(
        2,
        at_least=1,
        at_most=16,
        meaning="records a log can hold",
        bound=lambda m, s: some(s.log[r].is_full for r in m.brokers),
    )
    max_records = setting(
        2,
        at_least=1,
        at_most=64,
        meaning="records ever written",
        bound=lambda m, s: s.next_record_id == m.max_records,
    )
    max_leader_epoch = setting(
        2,
        at_least=0,
        at_most=64,
        meaning="greatest leader epoch; epochs count from 0",
        bound=lambda m, s: s.next_leader_epoch > m.max_leader_epoch,
    )

    def variables(self) -> dict[str, Any]:
        """Logs, beliefs, the next record id and epoch, the controller's requests by epoch, and the quorum state."""
        epoch = number(-1, self.max_leader_epoch)
        written = record(id=number(0, self.max_records - 1), epoch=number(0, self.max_leader_epoch))
        belief = record(
            high_watermark=number(0, self.log_size), leader_epoch=epoch, leader=optional(broker), isr=set_of(broker)
        )
        return {
            "log": per(broker, sequence(written, self.log_size)),
            "replica": per(broker, belief),
            "next_record_id": number(0, self.max_records),
            "next_leader_epoch": number(0, self.max_leader_epoch + 1),
            "requests": per(any_epoch(self), record(leader=optional(broker), isr=set_of(broker))),
            "quorum": record(leader_epoch=epoch, leader=optional(broker), isr=set_of(broker)),
        }

    def initial(self, s: Kip320State) -> None:
        s.quorum.isr = set(self.brokers)

    # --- words ------------------------------------------------------------------------------------------------------

    def presumes_leadership(self, s: Kip320State, leader: Any) -> Any:
        return s.replica[leader].leader == leader

    def follows(self, s: Kip320State, follower: Any, leader: Any) -> Any:
        return s.replica[follower].leader == leader

    def is_true_leader(self, s: Kip320State, leader: Any) -> Any:
        same_epoch = s.replica[leader].leader_epoch == s.quorum.leader_epoch
        return (s.quorum.leader == leader) & self.presumes_leadership(s, leader) & same_epoch

    def controller_decides(self, s: Kip320State, leader: Any, isr: Any) -> None:
        """The controller begins a new epoch: it writes the quorum state and sends the request."""
        epoch = s.next_leader_epoch
        s.require(epoch <= self.max_leader_epoch)
        s.requests[epoch] = {"leader": leader, "isr": isr}
        s.quorum = {"leader_epoch": epoch, "leader": leader, "isr": isr}
        s.next_leader_epoch = epoch + 1

    def leader_writes_isr(self, s: Kip320State, leader: Any, isr: Any) -> None:
        """The true leader changes the ISR in the quorum state and in its own belief, and tells no other replica."""
        s.require(self.is_true_leader(s, leader))
        s.quorum.isr = isr
        s.replica[leader].isr = isr

    def hears_of(self, s: Kip320State, replica: Any, leader: Any, epoch: int) -> Any:
        """Whether the request of an epoch was sent and names the leader, and the replica is in an earlier epoch."""
        sent = (epoch < s.next_leader_epoch) & (s.requests[epoch].leader == leader)
        return sent & (s.replica[replica].leader_epoch < epoch)

    def become_follower_and_truncate(self, s: Kip320State, leader: Any, follower: Any, epoch: int) -> None:
        """A follower takes a request and truncates its log, which must be at least as long as the part to keep."""
        s.require(self.hears_of(s, follower, leader, epoch))
        length = self.truncation_offset(s, leader, follower)
        s.require(length <= s.log[follower].length)
        s.log[follower].truncate(length)
        s.replica[follower] = {
            "high_watermark": minimum(length, s.replica[follower].high_watermark),
            "leader_epoch": epoch,
            "leader": leader,
            "isr": s.requests[epoch].isr,
        }

    def truncation_offset(self, s: Kip320State, leader: Any, follower: Any) -> Any:
        """The log end to which a new follower of the leader truncates."""
        raise NotImplementedError

    def fetch_next_record(self, s: Kip320State, follower: Any, leader: Any) -> None:
        """A follower copies the leader's next record and high watermark (at most the follower's new log end)."""
        end = s.log[follower].length
        s.require(end < s.log[leader].length)
        s.log[follower].append(s.log[leader].at(end))
        s.replica[follower].high_watermark = minimum(s.replica[leader].high_watermark, end + 1)

    def end_of_common_records(self, s: Kip320State, a: Any, b: Any) -> Any:
        """One past the greatest offset at which both logs have the very same record; 0 if there is no such offset."""
        shorter = minimum(s.log[a].length, s.log[b].length)
        return one_past_last(shorter, lambda offset: s.log[a].at(offset) == s.log[b].at(offset))

    def high_watermark_is_in_current_epoch(self, s: Kip320State, leader: Any) -> Any:
        """Whether the leader has committed everything from before its epoch (the rule of KAFKA-7128)."""
        passed, log = s.replica[leader].high_watermark, s.log[leader]
        own_epoch = log.at(passed).epoch == s.replica[leader].leader_epoch
        return (passed == log.length) | ((passed < log.length) & own_epoch)

    # --- actions of every variant -----------------------------------------------------------------------------------

    @action(leader=broker, actor="controller", environment=True)
    def controller_elect_leader(self, s: Kip320State, leader: Any) -> None:
        """The controller makes another member of the ISR the leader, whether the present leader is alive or not."""
        s.require(s.quorum.isr.has(leader), s.quorum.leader != leader)
        self.controller_decides(s, leader, s.quorum.isr)

    def describe_controller_elect_leader(self, old: Any, new: Any, leader: Any) -> str:
        before = "where there was none" if old.quorum.leader is None else f"in place of {old.quorum.leader}"
        epoch = step_sentences.epoch_in_words(old, new)
        return f"the controller makes {leader} the leader {before}: leader epoch {epoch}, ISR {new.quorum.isr}"

    @action(replica=broker, actor="controller", environment=True)
    def controller_shrink_isr(self, s: Kip320State, replica: Any) -> None:
        """The controller removes a failed replica from the ISR. A failed leader is deposed but stays if alone in it."""
        leads, isr = s.quorum.leader == replica, s.quorum.isr
        s.require(leads | isr.has(replica))
        rest = when(leads & (isr == {replica}), isr, isr - {replica})
        self.controller_decides(s, when(leads, none, s.quorum.leader), rest)

    def describe_controller_shrink_isr(self, old: Any, new: Any, replica: Any) -> str:
        isr = becomes(old.quorum.isr, new.quorum.isr)
        epoch = step_sentences.epoch_in_words(old, new)
        deposed = " and deposes it: there is no leader now" if old.quorum.leader == replica else ""
        return f"the controller takes {replica} for dead{deposed}; ISR {isr}, leader epoch {epoch}"

    @action(leader=broker, epoch=any_epoch, actor="leader")
    def become_leader(self, s: Kip320State, leader: Any, epoch: int) -> None:
        """A replica takes a request that makes it the leader, even if that is not the latest request."""
        s.require(self.hears_of(s, leader, leader, epoch))
        s.replica[leader].leader_epoch = epoch
        s.replica[leader].leader = leader
        s.replica[leader].isr = s.requests[epoch].isr

    def describe_become_leader(self, old: Any, new: Any, leader: Any, epoch: int) -> str:
        isr, passed, end = new.replica[leader].isr, new.replica[leader].high_watermark, len(new.log[leader])
        request = step_sentences.request_in_words(new, epoch)
        return f"{leader} takes {request} and leads, with ISR {isr}, high watermark {passed} and log end {end}"

    @action(replica=broker, actor="replica", environment=True)
    def leader_write(self, s: Kip320State, replica: Any) -> None:
        """A replica that presumes leadership appends a client's record in its own epoch."""
        s.require(self.presumes_leadership(s, replica), s.next_record_id < self.max_records, ~s.log[replica].is_full)
        s.log[replica].append({"id": s.next_record_id, "epoch": s.replica[replica].leader_epoch})
        s.next_record_id += 1

    def describe_leader_write(self, old: Any, new: Any, replica: Any) -> str:
        added, at = new.log[replica][-1], len(old.log[replica])
        leader = step_sentences.leader_in_words(self, old, replica)
        return f"{leader} appends record {added.id} of a client at offset {at}, in epoch {added.epoch}"

    # --- goals ------------------------------------------------------------------------------------------------------

    @goal
    def record_is_committed(self, s: Kip320State) -> Any:
        """A high watermark has passed a record."""
        return some(s.replica[r].high_watermark > 0 for r in self.brokers)

    @goal
    def two_replicas_presume_leadership(self, s: Kip320State) -> Any:
        """A deposed leader does not know yet that there is another leader."""
        return count(self.presumes_leadership(s, r) for r in self.brokers) > 1

    @goal
    def isr_is_smaller_than_the_replica_set(self, s: Kip320State) -> Any:
        """The quorum's ISR has lost a replica."""
        return s.quorum.isr.size < self.replicas


class UnfencedReplication(KafkaReplication):
    """The actions from before KIP-320. Fetches carry no leader epoch, and logs are compared only by length."""

    abstract = True

    def is_caught_up(self, s: Kip320State, leader: Any, follower: Any, end: Any) -> Any:
        reaches = (end <= s.log[leader].length) & (end <= s.log[follower].length)
        return self.follows(s, follower, leader) & reaches

    @action(leader=broker, follower=broker, actor="leader")
    def leader_shrink_isr(self, s: Kip320State, leader: Any, follower: Any) -> None:
        """The leader drops a follower that does not follow it or does not reach the leader's log end."""
        if follower == leader:
            return
        behind = ~self.is_caught_up(s, leader, follower, s.log[leader].length)
        s.require(s.replica[leader].isr.has(follower), behind)
        self.leader_writes_isr(s, leader, s.replica[leader].isr - {follower})

    def describe_leader_shrink_isr(self, old: Any, new: Any, leader: Any, follower: Any) -> str:
        return step_sentences.shrinks(old, new, leader, follower)

    @action(leader=broker, follower=broker, actor="leader")
    def leader_expand_isr(self, s: Kip320State, leader: Any, follower: Any) -> None:
        """The leader adds to the ISR a follower that reaches the leader's high watermark."""
        caught_up = self.is_caught_up(s, leader, follower, s.replica[leader].high_watermark)
        s.require(~s.replica[leader].isr.has(follower), caught_up)
        self.leader_writes_isr(s, leader, s.replica[leader].isr | {follower})

    def describe_leader_expand_isr(self, old: Any, new: Any, leader: Any, follower: Any) -> str:
        return step_sentences.expands(old, new, leader, follower)

    @action(leader=broker, actor="leader")
    def leader_inc_high_watermark(self, s: Kip320State, leader: Any) -> None:
        """The leader raises its high watermark by 1, if all ISR members follow this leader and reach the new value."""
        passed = s.replica[leader].high_watermark
        s.require(self.presumes_leadership(s, leader), passed < self.log_size)
        s.require(s.replica[leader].isr.every(lambda f: self.follows(s, f, leader) & (s.log[f].length > passed)))
        s.replica[leader].high_watermark = passed + 1

    def describe_leader_inc_high_watermark(self, old: Any, new: Any, leader: Any) -> str:
        return step_sentences.commits(self, old, new, leader)

    @action(follower=broker, leader=broker, actor="follower")
    def follower_replicate(self, s: Kip320State, follower: Any, leader: Any) -> None:
        """A follower appends the leader's record at the follower's log end, and compares no earlier records."""
        if follower == leader:
            return
        s.require(self.presumes_leadership(s, leader), self.follows(s, follower, leader))
        self.fetch_next_record(s, follower, leader)

    def describe_follower_replicate(self, old: Any, new: Any, follower: Any, leader: Any) -> str:
        return step_sentences.copies(self, old, new, follower, leader)

    @action(follower=broker, leader=broker, epoch=any_epoch, actor="follower")
    def become_follower(self, s: Kip320State, follower: Any, leader: Any, epoch: int) -> None:
        """A replica takes a request that makes it a follower, and truncates even if the leader does not lead yet."""
        if follower == leader:
            return
        self.become_follower_and_truncate(s, leader, follower, epoch)

    def describe_become_follower(self, old: Any, new: Any, follower: Any, leader: Any, epoch: int) -> str:
        return step_sentences.follows(old, new, follower, leader, epoch)
