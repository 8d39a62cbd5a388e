"""Why KIP-320 keeps committed records: an inductive invariant over a history of commits.

The *history* is the sequence of committed records, each with the epoch of the leader that committed it first. The
model's own state does not remember these records: later all high watermarks may be below a committed record.

The controller sends one LeaderAndIsr *request* in each epoch; the *newest* request has the quorum's epoch. A request is
*taken* once the leader that it names is in the request's epoch or in a later epoch. A log *has* a committed record if
it has the same record at the same offset.

docs/explanation/proofs.md explains the proof in Kafka's terms.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.language import broker, implies, number, record, sequence, some, when
from isrcheck.model.language.proofs import Proof, lemma, records, target
from isrcheck.model.published.kafka_replication import KafkaReplication, any_epoch
from isrcheck.model.published.kip_320_without import (
    CommitWithoutFencing,
    ExpansionBeforeOwnEpoch,
    FetchWithoutFencing,
    TruncationWithoutFencing,
)


def any_offset(model: Any) -> Any:
    """The offsets of a log."""
    return number(0, model.log_size - 1)


class Kip320Proof(Proof):
    """Committed records are in the log of every replica that may lead next."""

    of = KafkaReplication
    invariants = ("strong-isr", "weak-isr", "leader-in-isr-or-none")
    mutants = (CommitWithoutFencing, ExpansionBeforeOwnEpoch, FetchWithoutFencing, TruncationWithoutFencing)

    # --- history ----------------------------------------------------------------------------------------------------

    def history(self) -> dict[str, Any]:
        epochs = number(0, self.model.max_leader_epoch)
        by = number(-1, self.model.max_leader_epoch)
        written = record(id=number(0, self.model.max_records - 1), epoch=epochs, by=by)
        return {"committed": sequence(written, self.model.log_size)}

    @records("fenced_leader_inc_high_watermark", "improved_leader_inc_high_watermark", "leader_inc_high_watermark")
    def remember_commit(self, s: Any, leader: Any) -> dict[str, Any]:
        """Appends the record that a leader commits, unless its offset was committed before."""
        passed, epoch = s.replica[leader].high_watermark, s.replica[leader].leader_epoch
        written = s.log[leader].at(passed)
        longer = s.committed.appended({"id": written.id, "epoch": written.epoch, "by": epoch})
        return {"committed": when(passed >= s.committed.length, longer, s.committed)}

    # --- words ------------------------------------------------------------------------------------------------------

    def epoch(self, s: Any, replica: Any) -> Any:
        return s.replica[replica].leader_epoch

    def leads(self, s: Any, replica: Any) -> Any:
        return s.replica[replica].leader == replica

    def is_sent(self, s: Any, epoch: Any) -> Any:
        return epoch < s.next_leader_epoch

    def is_taken(self, s: Any, epoch: Any) -> Any:
        """Whether the leader that a request names is in the request's epoch or in a later epoch."""
        leader = s.requests[epoch].leader
        return some((leader == r) & (self.epoch(s, r) >= epoch) for r in self.model.brokers)

    def someone_is_later(self, s: Any, isr: Any, epoch: Any) -> Any:
        """Whether some member of an ISR is in a later epoch than `epoch`."""
        return some(isr.has(r) & (self.epoch(s, r) > epoch) for r in self.model.brokers)

    def is_committed(self, s: Any, offset: Any) -> Any:
        return offset < s.committed.length

    def has_committed(self, s: Any, replica: Any, offset: Any) -> Any:
        """Whether a replica's log has the record that was committed at an offset."""
        log, committed = s.log[replica], s.committed.at(offset)
        same = (log.at(offset).id == committed.id) & (log.at(offset).epoch == committed.epoch)
        return (offset < log.length) & same

    def have_same(self, s: Any, a: Any, b: Any, offset: Any) -> Any:
        """Whether both logs have the same record at an offset."""
        both = (offset < s.log[a].length) & (offset < s.log[b].length)
        return both & (s.log[a].at(offset) == s.log[b].at(offset))

    def have_same_id(self, s: Any, a: Any, b: Any, offset: Any, other: Any) -> Any:
        """Whether log a has, at `offset`, the record id that log b has at `other`."""
        both = (offset < s.log[a].length) & (other < s.log[b].length)
        return both & (s.log[a].at(offset).id == s.log[b].at(other).id)

    # --- epochs and requests ----------------------------------------------------------------------------------------

    @lemma()
    def quorum_has_the_newest_epoch(self, s: Any) -> Any:
        """The epoch of the quorum state is the last one that the controller gave out."""
        return s.quorum.leader_epoch + 1 == s.next_leader_epoch

    @lemma(replica=broker)
    def epochs_come_from_the_controller(self, s: Any, replica: Any) -> Any:
        """No replica is in an epoch that the controller has not given out."""
        return self.epoch(s, replica) < s.next_leader_epoch

    @lemma(replica=broker)
    def epochs_come_with_leaders(self, s: Any, replica: Any) -> Any:
        """A replica knows a leader exactly if it is in an epoch."""
        return s.replica[replica].leader.is_none == (self.epoch(s, replica) == -1)

    @lemma(replica=broker, epoch=any_epoch)
    def leader_is_that_of_the_request(self, s: Any, replica: Any, epoch: Any) -> Any:
        """A replica's leader is the leader that the request of its epoch names: an epoch has one leader."""
        return implies(self.epoch(s, replica) == epoch, s.replica[replica].leader == s.requests[epoch].leader)

    @lemma(follower=broker, leader=broker)
    def followers_are_not_ahead(self, s: Any, follower: Any, leader: Any) -> Any:
        """A follower is in no later epoch than its leader."""
        follows = s.replica[follower].leader == leader
        return implies(follows, self.epoch(s, leader) >= self.epoch(s, follower))

    # --- logs -------------------------------------------------------------------------------------------------------

    @lemma(replica=broker, offset=any_offset)
    def ids_are_given_once(self, s: Any, replica: Any, offset: Any) -> Any:
        """No log has a record that has not been written yet."""
        return implies(offset < s.log[replica].length, s.log[replica].at(offset).id < s.next_record_id)

    @lemma(replica=broker, offset=any_offset)
    def records_are_of_known_epochs(self, s: Any, replica: Any, offset: Any) -> Any:
        """No log has a record of a later epoch than the epoch of its replica."""
        return implies(offset < s.log[replica].length, s.log[replica].at(offset).epoch <= self.epoch(s, replica))

    @lemma(a=broker, b=broker, offset=any_offset, other=any_offset)
    def a_record_has_one_offset(self, s: Any, a: Any, b: Any, offset: Any, other: Any) -> Any:
        """A record id has the same offset and the same epoch in every log that has it."""
        same_epoch = s.log[a].at(offset).epoch == s.log[b].at(other).epoch
        return implies(self.have_same_id(s, a, b, offset, other), (offset == other) & same_epoch)

    @lemma(a=broker, b=broker, offset=any_offset, earlier=any_offset)
    def logs_match(self, s: Any, a: Any, b: Any, offset: Any, earlier: Any) -> Any:
        """Two logs with the same record have the same records before it."""
        shared = self.have_same_id(s, a, b, offset, offset) & (earlier < offset)
        return implies(shared, self.have_same(s, a, b, earlier))

    @lemma(follower=broker, leader=broker, offset=any_offset)
    def followers_have_a_prefix(self, s: Any, follower: Any, leader: Any, offset: Any) -> Any:
        """The log of a follower in its leader's epoch is a prefix of the leader's log."""
        follows = self.leads(s, leader) & (s.replica[follower].leader == leader)
        same_epoch = self.epoch(s, follower) == self.epoch(s, leader)
        held = follows & same_epoch & (offset < s.log[follower].length)
        return implies(held, self.have_same(s, follower, leader, offset))

    @lemma(replica=broker)
    def high_watermarks_are_reached(self, s: Any, replica: Any) -> Any:
        """No high watermark is past the end of its log."""
        return s.replica[replica].high_watermark <= s.log[replica].length

    # --- how the ISR is handed on -----------------------------------------------------------------------------------

    @lemma(replica=broker)
    def known_leaders_are_in_the_known_isr(self, s: Any, replica: Any) -> Any:
        """The leader that a replica knows, itself or another, is in the ISR that the replica knows."""
        known = s.replica[replica]
        return known.leader.is_none | known.isr.has(known.leader)

    @lemma(epoch=any_epoch)
    def requested_leaders_are_in_the_isr(self, s: Any, epoch: Any) -> Any:
        """The leader that a request names, if any, is in the request's ISR."""
        request = s.requests[epoch]
        return implies(self.is_sent(s, epoch), request.leader.is_none | request.isr.has(request.leader))

    @lemma(leader=broker)
    def the_true_leader_knows_the_isr(self, s: Any, leader: Any) -> Any:
        """The leader in the newest epoch knows the ISR of the quorum."""
        leads = self.leads(s, leader) & (self.epoch(s, leader) == s.quorum.leader_epoch)
        return implies(leads, s.replica[leader].isr == s.quorum.isr)

    @lemma(epoch=any_epoch)
    def the_quorum_follows_the_newest_request(self, s: Any, epoch: Any) -> Any:
        """The quorum has the newest request's leader. It has the newest request's ISR until that request is taken."""
        request = s.requests[epoch]
        same_isr = self.is_taken(s, epoch) | (s.quorum.isr == request.isr)
        return implies(s.quorum.leader_epoch == epoch, (s.quorum.leader == request.leader) & same_isr)

    @lemma()
    def the_quorum_leader_is_in_the_isr(self, s: Any) -> Any:
        """The leader that the quorum names, if any, is in the quorum's ISR."""
        return s.quorum.leader.is_none | s.quorum.isr.has(s.quorum.leader)

    @lemma(leader=broker, epoch=any_epoch)
    def an_abandoned_leader_cannot_commit(self, s: Any, leader: Any, epoch: Any) -> Any:
        """A leader's ISR has a member in a later epoch, or contains the quorum's ISR and each later request's ISR."""
        isr = s.replica[leader].isr
        since = implies(self.is_sent(s, epoch) & (epoch > self.epoch(s, leader)), s.requests[epoch].isr <= isr)
        moved = self.someone_is_later(s, isr, self.epoch(s, leader))
        return implies(self.leads(s, leader), moved | ((s.quorum.isr <= isr) & since))

    @lemma(epoch=any_epoch, later=any_epoch)
    def an_outdated_request_cannot_commit(self, s: Any, epoch: Any, later: Any) -> Any:
        """The ISR of an untaken request has a later member, or contains the quorum's ISR and each later request's ISR.

        A member is *later* if its epoch is greater than the request's. Requests not sent yet do not count.
        """
        isr = s.requests[epoch].isr
        since = implies(self.is_sent(s, later) & (later > epoch), s.requests[later].isr <= isr)
        moved = self.someone_is_later(s, isr, epoch)
        open_ = self.is_sent(s, epoch) & ~self.is_taken(s, epoch)
        return implies(open_, moved | ((s.quorum.isr <= isr) & since))

    # --- what is committed ------------------------------------------------------------------------------------------

    @lemma(offset=any_offset)
    def commits_are_of_their_time(self, s: Any, offset: Any) -> Any:
        """A committed record has no later epoch than the leader that committed it."""
        return implies(self.is_committed(s, offset), s.committed.at(offset).epoch <= s.committed.at(offset).by)

    @lemma(offset=any_offset, later=any_offset)
    def commits_come_in_order(self, s: Any, offset: Any, later: Any) -> Any:
        """Of two committed records, the one at the greater offset was committed in the same or a later epoch."""
        both = (offset <= later) & self.is_committed(s, later)
        return implies(both, s.committed.at(offset).by <= s.committed.at(later).by)

    @lemma(offset=any_offset)
    def commits_are_by_leaders(self, s: Any, offset: Any) -> Any:
        """If a record was committed in an epoch, the request of that epoch has been taken."""
        by = s.committed.at(offset).by
        return implies(self.is_committed(s, offset), (by >= 0) & self.is_sent(s, by) & self.is_taken(s, by))

    @lemma(member=broker, offset=any_offset)
    def the_isr_was_there(self, s: Any, member: Any, offset: Any) -> Any:
        """Every member of the quorum's ISR has reached the epoch of each commit."""
        counts = s.quorum.isr.has(member) & self.is_committed(s, offset)
        return implies(counts, self.epoch(s, member) >= s.committed.at(offset).by)

    @lemma(member=broker, offset=any_offset, epoch=any_epoch)
    def requested_isrs_were_there(self, s: Any, member: Any, offset: Any, epoch: Any) -> Any:
        """If a request is later than a commit, every member of its ISR has reached the epoch of the commit."""
        counts = self.is_sent(s, epoch) & s.requests[epoch].isr.has(member) & self.is_committed(s, offset)
        by = s.committed.at(offset).by
        return implies(counts & (epoch > by), self.epoch(s, member) >= by)

    @lemma(member=broker, offset=any_offset)
    def the_isr_has_what_is_committed(self, s: Any, member: Any, offset: Any) -> Any:
        """Every member of the quorum's ISR has every committed record."""
        counts = s.quorum.isr.has(member) & self.is_committed(s, offset)
        return implies(counts, self.has_committed(s, member, offset))

    @lemma(member=broker, offset=any_offset, epoch=any_epoch)
    def requested_isrs_have_what_is_committed(self, s: Any, member: Any, offset: Any, epoch: Any) -> Any:
        """If a request is later than a commit, every member of its ISR has the committed record."""
        counts = self.is_sent(s, epoch) & s.requests[epoch].isr.has(member) & self.is_committed(s, offset)
        return implies(counts & (epoch > s.committed.at(offset).by), self.has_committed(s, member, offset))

    @lemma(leader=broker, offset=any_offset)
    def leaders_are_complete(self, s: Any, leader: Any, offset: Any) -> Any:
        """A leader has each record that was committed in the leader's own epoch or in an earlier epoch."""
        counts = self.leads(s, leader) & self.is_committed(s, offset)
        return implies(
            counts & (self.epoch(s, leader) >= s.committed.at(offset).by), self.has_committed(s, leader, offset)
        )

    @lemma(replica=broker, offset=any_offset)
    def high_watermarks_are_committed(self, s: Any, replica: Any, offset: Any) -> Any:
        """Each record below a replica's high watermark was committed in the replica's epoch or in an earlier epoch."""
        known = self.is_committed(s, offset) & (s.committed.at(offset).by <= self.epoch(s, replica))
        below = offset < s.replica[replica].high_watermark
        return implies(below, known & self.has_committed(s, replica, offset))

    @lemma(leader=broker, offset=any_offset)
    def leaders_know_their_commits(self, s: Any, leader: Any, offset: Any) -> Any:
        """The high watermark of a leader is past every record that was committed in its epoch."""
        own = self.is_committed(s, offset) & (s.committed.at(offset).by == self.epoch(s, leader))
        return implies(self.leads(s, leader) & own, s.replica[leader].high_watermark > offset)

    @lemma(leader=broker, member=broker, offset=any_offset)
    def a_leaders_isr_was_there(self, s: Any, leader: Any, member: Any, offset: Any) -> Any:
        """Every member of a presumed leader's ISR has reached the epoch of each commit that the leader knows."""
        knows = self.is_committed(s, offset) & (offset < s.replica[leader].high_watermark)
        counts = self.leads(s, leader) & s.replica[leader].isr.has(member) & knows
        return implies(counts, self.epoch(s, member) >= s.committed.at(offset).by)

    @lemma(leader=broker, member=broker, offset=any_offset)
    def a_leaders_isr_has_what_it_committed(self, s: Any, leader: Any, member: Any, offset: Any) -> Any:
        """All members of the ISR of a leader, even a deposed one, have every record below its high watermark."""
        counts = self.leads(s, leader) & s.replica[leader].isr.has(member)
        return implies(counts & (offset < s.replica[leader].high_watermark), self.has_committed(s, member, offset))

    # --- targets ----------------------------------------------------------------------------------------------------

    @target(leader=broker, offset=any_offset)
    def no_committed_loss(self, s: Any, leader: Any, offset: Any) -> Any:
        """Every later legitimate leader has every committed record."""
        legitimate = self.leads(s, leader) & (self.epoch(s, leader) == s.quorum.leader_epoch)
        return implies(legitimate & self.is_committed(s, offset), self.has_committed(s, leader, offset))
