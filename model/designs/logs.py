"""Produce, commit and consume: what a leader does with its log.

Left out: record batches, quotas.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.designs import State, sentences
from isrcheck.model.designs.producers import Producers
from isrcheck.model.designs.replicas import any_partition
from isrcheck.model.language import action, asked, becomes, broker, every, goal, minimum, none, some, when


class Logs(Producers):
    """Logs that leaders append to, commit, and serve to consumers."""

    abstract = True

    # --- words ------------------------------------------------------------------------------------------------------

    def quorum_isr(self, s: State, p: int, leader: Any) -> Any:
        """The replicas that must have a record before the leader commits it."""
        return s.replica[p][leader].isr

    def may_commit(self, s: State, p: int, leader: Any) -> Any:
        """Whether a leader tries to raise its high watermark."""
        return True

    def takes_writes(self, s: State, p: int, leader: Any) -> Any:
        """Whether a leader's ISR has at least min.insync.replicas members."""
        return s.replica[p][leader].isr.size >= self.min_isr

    def may_acknowledge(self, s: State, p: int, leader: Any) -> Any:
        """Whether records that a leader commits are on at least min.insync.replicas replicas."""
        return self.quorum_isr(s, p, leader).size >= self.min_isr

    # --- produce and commit -----------------------------------------------------------------------------------------

    def append_record(self, s: State, p: int, b: Any) -> None:
        self.append_as(s, p, b, s.next_record_id)
        s.next_record_id += 1

    def append_as(self, s: State, p: int, b: Any, i: Any, has_it: Any = False) -> None:
        """Appends the record with id `i`, unless the leader has found that record in its log (`has_it`)."""
        replica, log = s.replica[p][b], s.log[p][b]
        s.require(self.leads(s, p, b), i < self.max_records, s.room(when(has_it, True, ~log.is_full)))
        appended = log.appended({"id": i, "epoch": replica.epoch})
        if self.has_epoch_cache:
            noted = self.noted_epoch(s, p, b, replica.epoch, log.length)
            s.epoch_cache[p][b] = when(has_it, s.epoch_cache[p][b], noted)
        s.log[p][b] = when(has_it, log, appended)

    @action(p=any_partition, b=broker, actor="client", environment=True)
    def produce(self, s: State, p: int, b: Any) -> None:
        """A producer with acks=all writes to a broker that believes it leads; the ISR must be large enough."""
        s.require(self.takes_writes(s, p, b))
        again = self.is_retry(s)
        i, end = when(again, s.next_record_id - 1, s.next_record_id), s.log[p][b].length + 1
        copied = self.end_of_copy(s, p, b, i) if self.retries and self.idempotence else 0
        may_tell = self.may_tell(s, p, b) if self.retries and self.idempotence else False
        self.append_as(s, p, b, i, copied > 0)
        self.await_answer(s, p, b, i, when(copied > 0, copied, end), may_tell)
        s.next_record_id += when(again, 0, 1)
        if self.retries:
            s.retries += when(again, 1, 0)

    def describe_produce(self, old: Any, new: Any, p: int, b: Any) -> str:
        leader = sentences.leader_in_words(self, old, p, b)
        if len(new.log[p][b]) == len(old.log[p][b]):
            known = f"record {old.next_record_id - 1} once more, which {leader} has in its log and does not append"
            return f"a producer with acks=all, which has no answer, sends {known}{self.acknowledged_in_words(old, new)}"
        record, at = new.log[p][b][-1], len(old.log[p][b])
        written = f"record {record.id}: offset {at}, epoch {record.epoch}"
        if new.next_record_id == old.next_record_id:
            return f"a producer with acks=all, which has no answer, writes to {leader} once more {written}"
        return f"a producer with acks=all writes to {leader} {written}"

    @action(p=any_partition, b=broker, actor="client", environment=True, where=lambda m: m.acks_one)
    def produce_acks_one(self, s: State, p: int, b: Any) -> None:
        """A producer with acks=1 writes a record, which is acknowledged immediately."""
        s.acknowledged_by_one[s.next_record_id] = self.is_owed(s, p)
        self.append_record(s, p, b)

    def describe_produce_acks_one(self, old: Any, new: Any, p: int, b: Any) -> str:
        record, at = new.log[p][b][-1], len(old.log[p][b])
        written = f"record {record.id}: offset {at}, epoch {record.epoch}; it is acknowledged at once"
        return f"a producer with acks=1 writes to {sentences.leader_in_words(self, old, p, b)} {written}"

    def end_to_commit(self, s: State, p: int, b: Any) -> Any:
        """The least log end offset of the replicas that the leader waits for, as far as the leader knows."""
        end = s.log[p][b].length
        for f in self.brokers:
            end = when(self.quorum_isr(s, p, b).has(f), minimum(end, self.end_seen_by(s, p, b, f)), end)
        return end

    @action(p=any_partition, b=broker, actor="b")
    def commit(self, s: State, p: int, b: Any) -> None:
        """The leader raises its high watermark to the least log end of the ISR, and acknowledges records below it."""
        replica, end = s.replica[p][b], self.end_to_commit(s, p, b)
        s.require(self.leads(s, p, b), end > replica.high_watermark, self.may_commit(s, p, b))
        self.note_commit(s, p, b, end, self.serves_the_topic(s, p, b))
        s.replica[p][b].high_watermark = end

    def describe_commit(self, old: Any, new: Any, p: int, b: Any) -> str:
        raised = becomes(old.replica[p][b].high_watermark, new.replica[p][b].high_watermark)
        awaited = asked(old, self.quorum_isr, p, b)
        acknowledged = self.acknowledged_in_words(old, new)
        reached = f"as far as it knows all of {awaited} have reached that offset"
        return (
            f"{sentences.leader_in_words(self, old, p, b)} raises its high watermark {raised}{acknowledged}: {reached}"
        )

    def note_commit(self, s: State, p: int, b: Any, end: Any, relevant: Any, start: Any = None) -> None:
        """Updates the ghosts when a leader commits the records up to the offset `end`.

        `relevant` says whether the commit concerns the current topic. Answers to producers are recorded in any case.
        The commit begins at `start`, by default at the current high watermark. If `start` is given, `committed.by` and
        `committed.by_two` change only if `end` is above all offsets committed before.
        """
        replica, log, committed = s.replica[p][b], s.log[p][b], s.committed[p]
        advances = relevant if start is None else relevant & (end > committed.records.length)
        start = replica.high_watermark if start is None else start
        records, rewritten = committed.records, committed.rewritten
        for o in range(self.log_size):
            passed = (start <= o) & (end > o) & relevant
            known = committed.records.length > o
            rewritten = rewritten | (passed & known & (committed.records.at(o) != log.at(o)))
            records = when(passed & (records.length == o), records.appended(log.at(o)), records)
        self.note_answers(s, p, b, start, end)
        before = committed.by[replica.epoch]
        s.committed[p].by_two = committed.by_two | (~before.is_none & (before != b) & advances)
        s.committed[p].by[replica.epoch] = when(before.is_none & advances, b, before)
        s.committed[p].records = records
        s.committed[p].rewritten = rewritten

    def forget_history(self, s: State, p: int) -> None:
        """Clears the ghosts of a topic that is being deleted, because its records need not survive any more."""
        for i in range(self.max_records):
            gone = self.is_of(s, p, i)
            s.acknowledged[i] = when(gone, False, s.acknowledged[i])
            if self.acks_one:
                s.acknowledged_by_one[i] = when(gone, False, s.acknowledged_by_one[i])
        by = [none for _ in range(self.max_leader_epoch + 1)]
        s.committed[p] = {"records": [], "rewritten": False, "by": by, "by_two": False}
        if self.consumers:
            s.consumed[p] = []
            s.offset_out_of_range[p] = False

    def is_of(self, s: State, p: int, i: int) -> Any:
        """Whether a record is of a partition: it was committed there, or is in a log of the partition."""
        # With a single partition every record is of that partition. Records that were neither committed nor kept in a
        # log belong to no partition.
        if self.partitions == 1:
            return True
        places: Any = [s.committed[p].records, *(s.log[p][b] for b in self.brokers)]
        return some((records.length > o) & (records.at(o).id == i) for records in places for o in range(self.log_size))

    # --- consumers --------------------------------------------------------------------------------------------------

    def serves_consumers(self, s: State, p: int, b: Any) -> Any:
        follows = (s.replica[p][b].role == "follower") & self.is_up(s, b)
        return self.leads(s, p, b) | follows if self.follower_reads else self.leads(s, p, b)

    @action(p=any_partition, b=broker, actor="client", environment=True, where=lambda m: m.consumers)
    def consume(self, s: State, p: int, b: Any) -> None:
        """A consumer reads the next record below the high watermark."""
        position, log = s.consumed[p].length, s.log[p][b]
        s.require(self.serves_consumers(s, p, b), self.serves_the_topic(s, p, b))
        s.require(position < s.replica[p][b].high_watermark, position < log.length)
        s.consumed[p].append(log.at(position))

    def describe_consume(self, old: Any, new: Any, p: int, b: Any) -> str:
        at, record = len(old.consumed[p]), sentences.record_in_words(new.consumed[p][-1])
        return f"a consumer reads {record} at offset {at} from {b}{sentences.of_partition(self, p)}"

    @action(p=any_partition, b=broker, actor="client", environment=True, where=lambda m: m.consumers)
    def refuse_consumer(self, s: State, p: int, b: Any) -> None:
        """A leader tells a consumer that its offset is out of range (`past_high_watermark` says which offsets are)."""
        position = s.consumed[p].length
        end = s.log[p][b].length if self.past_high_watermark == "empty" else s.replica[p][b].high_watermark
        s.require(self.is_legitimate(s, p, b), position > end, ~s.offset_out_of_range[p])
        s.offset_out_of_range[p] = True

    def describe_refuse_consumer(self, old: Any, new: Any, p: int, b: Any) -> str:
        at, end = len(old.consumed[p]), len(old.log[p][b])
        whose = f"{b}{sentences.of_partition(self, p)}, whose log end is {end},"
        return f"{whose} tells a consumer that has read up to {at} that its offset is out of range"

    # --- goals ------------------------------------------------------------------------------------------------------

    @goal
    def record_is_committed(self, s: State) -> Any:
        """A record is committed."""
        return some(s.committed[p].records.length > 0 for p in self.all_partitions)

    @goal
    def everything_is_replicated(self, s: State) -> Any:
        """Every record ever written is in every log."""
        logs = [s.log[p][b] for p in self.all_partitions for b in self.brokers]
        whole = every(log == s.log[p][self.brokers[0]] for p in self.all_partitions for log in logs)
        return whole & (s.next_record_id > 0) & (s.log[0][self.brokers[0]].length == s.next_record_id)
