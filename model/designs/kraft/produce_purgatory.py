"""DelayedProduce: producers that wait for the high watermark, and what clients have seen.

A producer with acks=all waits until the high watermark of the broker to which it wrote reaches the end of its record.
Then the producer receives success, or an error if the leader's `maximal_isr` is smaller than min.insync.replicas.
The broker may lead in a later epoch by then, because checkEnoughReplicasReachOffset compares no epochs. The producer
receives NOT_LEADER_OR_FOLLOWER if the broker becomes a follower first, and nothing if the broker stops first. *Ghosts*
are variables that record the acknowledged and the committed records. They restrict no step.

Left out: acks=0 and 1, answers that get lost, retries, transactions, a delayed request that times out.

Source: DelayedProduce.java, Partition.checkEnoughReplicasReachOffset of Kafka 4.3.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.designs.kraft.state import KraftState
from isrcheck.model.designs.kraft.unified_log import UnifiedLog, any_end, any_partition
from isrcheck.model.language import broker, flag, goal, none, number, optional, per, record, sequence, some, when


class ProducePurgatory(UnifiedLog):
    """Producers that wait, records that were acknowledged, records that were committed."""

    abstract = True

    def holds(self) -> dict[str, Any]:
        records = sequence(self.any_record(), self.log_size)
        by = per(self.any_epoch(), optional(broker))
        committed = record(records=records, rewritten=flag, by=by, by_two=flag)
        ids = number(0, self.max_records - 1)
        return {
            "waiting": per(ids, record(at=optional(broker), end=any_end(self))),
            "acknowledged": per(ids, flag),
            "committed": per(any_partition(self), committed),
        }

    # --- who waits --------------------------------------------------------------------------------------------------

    def complete_delayed(
        self, s: KraftState, b: Any, high_watermark: Any, enough: Any, written: tuple[Any, Any] | None = None
    ) -> None:
        """Answers the producers whose records a leader's high watermark has reached.

        `enough` says whether the leader's `maximal_isr` has at least min.insync.replicas members. If it has, the answer
        is success, otherwise an error. If the leader has just appended a record, `written` is the record's id and end
        offset.
        """
        for i in range(self.max_records):
            at, end = s.waiting[i].at, s.waiting[i].end
            here: Any = at == b
            if written is not None:
                new = written[0] == i
                at, end, here = when(new, b, at), when(new, written[1], end), new | here
            done = here & (end <= high_watermark)
            s.acknowledged[i] = s.acknowledged[i] | (done & enough)
            s.waiting[i].at = when(done, none, at)
            s.waiting[i].end = when(done, 0, end)

    def fail_delayed(self, s: KraftState, b: Any, where: Any = True) -> None:
        """Ends the wait of every producer at a broker, with an error or without an answer."""
        for i in range(self.max_records):
            gone = (s.waiting[i].at == b) & where
            s.waiting[i].at = when(gone, none, s.waiting[i].at)
            s.waiting[i].end = when(gone, 0, s.waiting[i].end)

    # --- what is committed ------------------------------------------------------------------------------------------

    def note_committed(self, s: KraftState, p: int, b: Any, epoch: Any, log: Any, start: Any, end: Any) -> None:
        """Notes that a leader has committed the records from offset `start` up to `end`, its new high watermark.

        Also notes if a record differs from the first one committed at its offset, or if two brokers commit in an epoch.
        """
        committed = s.committed[p]
        records, rewritten = committed.records, committed.rewritten
        for o in range(self.log_size):
            passed = (start <= o) & (end > o)
            known = committed.records.length > o
            rewritten = rewritten | (passed & known & (committed.records.at(o) != log.at(o)))
            records = when(passed & (records.length == o), records.appended(log.at(o)), records)
        before = committed.by[epoch]
        s.committed[p].by_two = committed.by_two | (~before.is_none & (before != b) & (end > start))
        s.committed[p].by[epoch] = when(before.is_none & (end > start), b, before)
        s.committed[p].records = records
        s.committed[p].rewritten = rewritten

    @goal
    def record_is_committed(self, s: KraftState) -> Any:
        """A record is committed."""
        return some(s.committed[p].records.length > 0 for p in self.all_partitions)

    @goal
    def producer_is_acknowledged(self, s: KraftState) -> Any:
        """A producer with acks=all is told that its record is safe."""
        return some(s.acknowledged[i] for i in range(self.max_records))
