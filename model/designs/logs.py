"""Logs, high watermarks, produce, commit and consume: what every design of Kafka's replication has in common.

A *broker* is up or not. As a *replica* of a partition it has a durable log and, with crashes, a checkpoint of its high
watermark; its *role*, the leader and epoch it knows, its copy of the ISR and its high watermark are volatile. Offsets
count from 0; a log end offset and a high watermark are exclusive ends.

*Ghosts* record what was committed, by whom, acknowledged and consumed; they never restrict a step. docs/ghosts.md says
of each what is recorded, when and by whom.

Left out: record batches, quotas, log segments and retention; time (whatever may time out may do so at any moment).
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.designs import State, epoch_cache, going_together, sentences
from isrcheck.model.designs.producers import Producers
from isrcheck.model.language import (
    action,
    asked,
    becomes,
    broker,
    budget,
    enum,
    every,
    flag,
    goal,
    minimum,
    none,
    number,
    optional,
    per,
    record,
    sequence,
    set_of,
    setting,
    some,
    when,
)

UNKNOWN = -1
"""A follower's log end offset of which its leader has not heard in this leadership."""


def any_partition(m: Any) -> Any:
    return number(0, m.partitions - 1)


class Logs(Producers):
    """Logs that leaders append to, commit, and serve to consumers."""

    abstract = True

    replicas = setting(2, at_least=1, at_most=5, counts=broker, meaning="brokers, each a replica of each partition")
    partitions = setting(1, at_least=1, at_most=2, meaning="partitions")
    log_size = setting(
        2,
        at_least=1,
        at_most=6,
        meaning="records a log can hold",
        bound=lambda m, s: some(s.log[p][b].is_full for p in m.all_partitions for b in m.brokers),
    )
    max_records = setting(
        1,
        at_least=1,
        at_most=6,
        meaning="records ever written",
        bound=lambda m, s: s.next_record_id == m.max_records,
    )
    max_leader_epoch = setting(
        2,
        at_least=0,
        at_most=9,
        meaning="greatest leader epoch; leader epochs count from 0",
        bound=lambda m, s: m.greatest_epoch_is_reached(s),
    )
    min_isr = setting(
        1, at_least=1, at_most=5, meaning="min.insync.replicas: a leader with a smaller ISR takes no writes"
    )
    acks_one = setting(False, meaning="producers may also ask for acks=1")
    acknowledgement = setting(
        "own-epoch",
        choices=("own-epoch", "until-deposed", "until-answered"),
        meaning="which producers a leader acknowledges when its high watermark passes their records. own-epoch: those "
        "that wrote in its epoch; until-deposed: all that wait for it, until it follows or stops; until-answered: all "
        "that wait for it, until it stops (KAFKA-1148)",
    )
    retries = budget(
        at_most=3,
        meaning="how many more times a producer that gets no answer sends its record, before the next record",
    )
    idempotence = setting(False, meaning="a leader does not append a record that its log has already (KIP-98)")
    consumers = setting(False, meaning="consumers read up to the high watermark")
    follower_reads = setting(False, meaning="consumers may also read from followers (KIP-392)")
    past_high_watermark = setting(
        "empty",
        choices=("empty", "out-of-range"),
        meaning="what a leader answers to a consumer that reads between its high watermark and its log end. empty: no "
        "record; out-of-range: an error",
    )
    crashes = budget(at_most=3, meaning="crashes that lose only what is volatile")
    lossy_crashes = budget(
        at_most=3, meaning="crashes that also lose records at the end of the logs that were not flushed"
    )
    truncation = setting(
        "high-watermark",
        choices=("high-watermark", "kip-101", "kip-279", "kip-320", "on-fetch"),
        meaning="what a new follower keeps of its log. high-watermark: what is below its high watermark; kip-101, "
        "kip-279: it truncates by leader epochs, as that KIP says; kip-320: so too, and fetches carry the leader "
        "epoch; on-fetch: fetches also carry the epoch of the last record, and their answer says where logs diverge "
        "(KAFKA-10554)",
    )
    records_have_epochs = setting(True, meaning="records have a format that carries the leader epoch")

    together = going_together.LOGS

    # --- variables --------------------------------------------------------------------------------------------------

    @property
    def all_partitions(self) -> range:
        return range(self.partitions)

    @property
    def has_crashes(self) -> bool:
        return bool(self.crashes or self.lossy_crashes)

    @property
    def has_epoch_cache(self) -> bool:
        return bool(self.truncation != "high-watermark")

    def variables(self) -> dict[str, Any]:
        """Logs and replicas by partition and broker; features that are off have no variables."""
        found: dict[str, Any] = {
            "log": sequence(self.any_record(), self.log_size),
            "replica": record(**self.role_fields(), **self.replica_fields()),
            "known_end": per(broker, self.any_end(UNKNOWN)),
            **self.replica_variables(),
        }
        each: dict[str, Any] = {n: per(any_partition(self), per(broker, domain)) for n, domain in found.items()}
        each["next_record_id"] = number(0, self.max_records)
        if self.has_crashes:
            each["up"] = set_of(broker)
        for name in ("crashes", "lossy_crashes"):
            if getattr(self, name):
                each[name] = number(0, getattr(self, name))
        return {**each, **self.ghosts()}

    def role_fields(self) -> dict[str, Any]:
        """Volatile fields of each replica: its role, its leader, and its part in committing."""
        return {
            "role": enum("none", "follower", "leader"),
            "leader": optional(broker),
            "epoch": self.any_epoch(-1),
            "isr": set_of(broker),
            "high_watermark": self.any_end(),
        }

    def any_epoch(self, least: int = 0) -> Any:
        return number(least, self.max_leader_epoch)

    def any_end(self, least: int = 0) -> Any:
        return number(least, self.log_size)

    def any_record(self) -> Any:
        return record(id=number(0, self.max_records - 1), epoch=self.any_epoch())

    def replica_fields(self) -> dict[str, Any]:
        """Further volatile fields of each replica."""
        return {}

    def replica_variables(self) -> dict[str, Any]:
        """Fields of each replica with a variable of their own: durable ones, and those that are seldom there."""
        found: dict[str, Any] = {}
        if self.has_epoch_cache:
            found["epoch_cache"] = epoch_cache.epoch_cache(self.max_leader_epoch, self.log_size)
        if self.has_crashes:
            found["checkpoint"] = self.any_end()
        return found

    def ghosts(self) -> dict[str, Any]:
        """The ghosts: records committed at each offset, leaders by epoch, and records acknowledged and consumed."""
        records = sequence(self.any_record(), self.log_size)
        ids = number(0, self.max_records - 1)
        by = per(self.any_epoch(), optional(broker))
        partition = record(records=records, rewritten=flag, by=by, by_two=flag)
        found = {"committed": per(any_partition(self), partition), "acknowledged": per(ids, flag)}
        if self.acks_one:
            found["acknowledged_by_one"] = per(ids, flag)
        found |= self.producer_variables()
        if self.consumers:
            found["consumed"] = per(any_partition(self), records)
            found["told_out_of_range"] = per(any_partition(self), flag)
        return found

    # --- words ------------------------------------------------------------------------------------------------------

    def greatest_epoch_is_reached(self, s: State) -> Any:
        return some(s.replica[p][b].epoch == self.max_leader_epoch for p in self.all_partitions for b in self.brokers)

    def is_up(self, s: State, b: Any) -> Any:
        return s.up.has(b) if self.has_crashes else True

    def leads(self, s: State, p: int, b: Any) -> Any:
        """Whether a broker believes that it leads the partition; a zombie does."""
        return (s.replica[p][b].role == "leader") & self.is_up(s, b)

    def follows(self, s: State, p: int, follower: Any, leader: Any) -> Any:
        replica = s.replica[p][follower]
        return (replica.role == "follower") & (replica.leader == leader) & self.is_up(s, follower)

    def end_seen_by(self, s: State, p: int, leader: Any, member: Any) -> Any:
        """A log end offset as the leader knows it: its own, or that of a follower's last fetch."""
        return s.log[p][leader].length if member == leader else s.known_end[p][leader][member]

    def quorum_isr(self, s: State, p: int, leader: Any) -> Any:
        """The replicas that must have a record before the leader commits it."""
        return s.replica[p][leader].isr

    def may_commit(self, s: State, p: int, leader: Any) -> Any:
        """Whether a leader looks at its high watermark at all."""
        return True

    def takes_writes(self, s: State, p: int, leader: Any) -> Any:
        """Whether a leader's ISR is as large as min.insync.replicas asks for."""
        return s.replica[p][leader].isr.size >= self.min_isr

    def may_acknowledge(self, s: State, p: int, leader: Any) -> Any:
        """Whether what a leader commits is on as many replicas as min.insync.replicas asks for."""
        return self.quorum_isr(s, p, leader).size >= self.min_isr

    def is_legitimate(self, s: State, p: int, b: Any) -> Any:
        """Whether a broker leads that should."""
        return self.leads(s, p, b)

    def serves_the_topic(self, s: State, p: int, b: Any) -> Any:
        """Whether what a replica commits and serves belongs to the current topic."""
        return True

    def keep(self, s: State, p: int, b: Any, length: Any) -> None:
        """Truncates a log, and its epoch cache with it."""
        s.log[p][b].truncate(length)
        if self.has_epoch_cache:
            s.epoch_cache[p][b] = epoch_cache.truncated(s.epoch_cache[p][b], length, self.max_leader_epoch)

    def noted_epoch(self, s: State, p: int, b: Any, epoch: Any, start: Any) -> Any:
        """The epoch cache after a record of an epoch was appended at an offset."""
        cache = s.epoch_cache[p][b]
        return epoch_cache.assigned(cache, epoch, start, self.max_leader_epoch) if self.records_have_epochs else cache

    # --- produce and commit -----------------------------------------------------------------------------------------

    def append_record(self, s: State, p: int, b: Any) -> None:
        self.append_as(s, p, b, s.next_record_id)
        s.next_record_id += 1

    def append_as(self, s: State, p: int, b: Any, i: Any, has_it: Any = False) -> None:
        """Appends a record with an id, unless the leader has it and looks for that."""
        replica, log = s.replica[p][b], s.log[p][b]
        s.require(self.leads(s, p, b), i < self.max_records, s.room(when(has_it, True, ~log.is_full)))
        appended = log.appended({"id": i, "epoch": replica.epoch})
        if self.has_epoch_cache:
            noted = self.noted_epoch(s, p, b, replica.epoch, log.length)
            s.epoch_cache[p][b] = when(has_it, s.epoch_cache[p][b], noted)
        s.log[p][b] = when(has_it, log, appended)

    @action(p=any_partition, b=broker, actor="client", perturbation=True)
    def produce(self, s: State, p: int, b: Any) -> None:
        """A producer with acks=all writes to a broker that believes it leads; the ISR must be large enough."""
        s.require(self.takes_writes(s, p, b))
        again = self.is_retry(s)
        i, end = when(again, s.next_record_id - 1, s.next_record_id), s.log[p][b].length + 1
        copied = self.end_of_copy(s, p, b, i) if self.retries and self.idempotence else 0
        self.append_as(s, p, b, i, copied > 0)
        self.await_answer(s, p, b, i, when(copied > 0, copied, end))
        s.next_record_id += when(again, 0, 1)
        if self.retries:
            s.retries += when(again, 1, 0)

    def told_produce(self, old: Any, new: Any, p: int, b: Any) -> str:
        leader = sentences.leader_in_words(self, old, p, b)
        if len(new.log[p][b]) == len(old.log[p][b]):
            known = f"record {old.next_record_id - 1} once more, which {leader} has in its log and does not append"
            return f"a producer with acks=all, which has no answer, sends {known}{self.acknowledged_in_words(old, new)}"
        record, at = new.log[p][b][-1], len(old.log[p][b])
        written = f"record {record.id}: offset {at}, epoch {record.epoch}"
        if new.next_record_id == old.next_record_id:
            return f"a producer with acks=all, which has no answer, writes to {leader} once more {written}"
        return f"a producer with acks=all writes to {leader} {written}"

    @action(p=any_partition, b=broker, actor="client", perturbation=True, where=lambda m: m.acks_one)
    def produce_acks_one(self, s: State, p: int, b: Any) -> None:
        """A producer with acks=1 writes and is told of success at once."""
        s.acknowledged_by_one[s.next_record_id] = self.is_owed(s, p)
        self.append_record(s, p, b)

    def told_produce_acks_one(self, old: Any, new: Any, p: int, b: Any) -> str:
        record, at = new.log[p][b][-1], len(old.log[p][b])
        written = f"record {record.id}: offset {at}, epoch {record.epoch}; it is acknowledged at once"
        return f"a producer with acks=1 writes to {sentences.leader_in_words(self, old, p, b)} {written}"

    def end_to_commit(self, s: State, p: int, b: Any) -> Any:
        """The least log end offset that a leader knows of the replicas that it waits for."""
        end = s.log[p][b].length
        for f in self.brokers:
            end = when(self.quorum_isr(s, p, b).has(f), minimum(end, self.end_seen_by(s, p, b, f)), end)
        return end

    @action(p=any_partition, b=broker, actor="b")
    def commit(self, s: State, p: int, b: Any) -> None:
        """The leader raises its high watermark to the least log end offset of its ISR, and acknowledges its records."""
        replica, end = s.replica[p][b], self.end_to_commit(s, p, b)
        s.require(self.leads(s, p, b), end > replica.high_watermark, self.may_commit(s, p, b))
        self.note_commit(s, p, b, end, self.serves_the_topic(s, p, b))
        s.replica[p][b].high_watermark = end

    def told_commit(self, old: Any, new: Any, p: int, b: Any) -> str:
        raised = becomes(old.replica[p][b].high_watermark, new.replica[p][b].high_watermark)
        awaited = asked(old, self.quorum_isr, p, b)
        told = self.acknowledged_in_words(old, new)
        reached = f"as far as it knows all of {awaited} have reached that offset"
        return f"{sentences.leader_in_words(self, old, p, b)} raises its high watermark {raised}{told}: {reached}"

    def note_commit(self, s: State, p: int, b: Any, end: Any, relevant: Any, start: Any = None) -> None:
        """Writes the ghosts of a commit up to an offset: what is committed, if it concerns the current topic.

        Whom the leader tells of success does not depend on that. The commit begins at the high watermark so far. With
        another start, only new records count as a commit in this epoch.
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
        """Ghosts of a topic that is gone: nothing that was told until now is owed any more."""
        for i in range(self.max_records):
            gone = self.is_of(s, p, i)
            s.acknowledged[i] = when(gone, False, s.acknowledged[i])
            if self.acks_one:
                s.acknowledged_by_one[i] = when(gone, False, s.acknowledged_by_one[i])
        by = [none for _ in range(self.max_leader_epoch + 1)]
        s.committed[p] = {"records": [], "rewritten": False, "by": by, "by_two": False}
        if self.consumers:
            s.consumed[p] = []
            s.told_out_of_range[p] = False

    def is_of(self, s: State, p: int, i: int) -> Any:
        """Whether a record was committed in a partition or is in some log of it. With a single partition every record
        is of it.
        """
        if self.partitions == 1:
            return True
        places: Any = [s.committed[p].records, *(s.log[p][b] for b in self.brokers)]
        return some((records.length > o) & (records.at(o).id == i) for records in places for o in range(self.log_size))

    # --- consumers --------------------------------------------------------------------------------------------------

    def serves_consumers(self, s: State, p: int, b: Any) -> Any:
        follows = (s.replica[p][b].role == "follower") & self.is_up(s, b)
        return self.leads(s, p, b) | follows if self.follower_reads else self.leads(s, p, b)

    @action(p=any_partition, b=broker, actor="client", perturbation=True, where=lambda m: m.consumers)
    def consume(self, s: State, p: int, b: Any) -> None:
        """A consumer reads the next record below the high watermark."""
        position, log = s.consumed[p].length, s.log[p][b]
        s.require(self.serves_consumers(s, p, b), self.serves_the_topic(s, p, b))
        s.require(position < s.replica[p][b].high_watermark, position < log.length)
        s.consumed[p].append(log.at(position))

    def told_consume(self, old: Any, new: Any, p: int, b: Any) -> str:
        at, record = len(old.consumed[p]), sentences.record_in_words(new.consumed[p][-1])
        return f"a consumer reads {record} at offset {at} from {b}{sentences.of_partition(self, p)}"

    @action(p=any_partition, b=broker, actor="client", perturbation=True, where=lambda m: m.consumers)
    def refuse_consumer(self, s: State, p: int, b: Any) -> None:
        """A consumer asks past the log end or, if so set, past the high watermark: its offset is out of range."""
        position = s.consumed[p].length
        end = s.log[p][b].length if self.past_high_watermark == "empty" else s.replica[p][b].high_watermark
        s.require(self.is_legitimate(s, p, b), position > end, ~s.told_out_of_range[p])
        s.told_out_of_range[p] = True

    def told_refuse_consumer(self, old: Any, new: Any, p: int, b: Any) -> str:
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
