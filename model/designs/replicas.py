"""Replicas: the state of each broker and partition, and the basic predicates that all parts of a design use.

A *broker* is up or down. As a *replica* of a partition it has a durable log and, with crashes, a checkpoint of its high
watermark. A crash loses the *volatile* state of a replica: its role, the leader and epoch that it knows, its copy of
the ISR and its high watermark. In `majority`, however, the epoch and the vote are durable, and there is neither a
checkpoint nor an ISR. Offsets count from 0. A log end offset or high watermark of 2 covers the offsets 0 and 1.

*Ghosts* are variables that record which records were committed, acknowledged and consumed, and which leader committed
them. They never restrict a step. docs/reference/designs.md says for each ghost what is recorded, when and by which
step.

Left out: log segments and retention; time (a timeout may occur at any moment).
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.designs import State, design_constraints, epoch_cache
from isrcheck.model.language import (
    Model,
    broker,
    budget,
    enum,
    flag,
    number,
    optional,
    per,
    record,
    sequence,
    set_of,
    setting,
    some,
)

UNKNOWN = -1
"""The value of `known_end` for a follower whose log end the leader has not learnt since the leader began to lead."""


def any_partition(m: Any) -> Any:
    return number(0, m.partitions - 1)


class Replicas(Model):
    """Settings, variables and basic predicates of replicas and their logs."""

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
        "that wrote in its epoch; until-deposed: all that wait at this broker, until it follows or stops; "
        "until-answered: all that wait at this broker, until it stops (KAFKA-1148)",
    )
    retries = budget(
        at_most=3,
        meaning="times that a producer without an answer may send its record again, before the next record is sent",
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
        meaning="which part of its log a new follower keeps. high-watermark: the part below its high watermark; "
        "kip-101, kip-279: it truncates by leader epochs, as that KIP says; kip-320: by leader epochs too, and "
        "fetches carry the leader epoch; on-fetch: fetches also carry the epoch of the last record, and the answer "
        "says where logs diverge (KAFKA-10554)",
    )
    records_have_epochs = setting(True, meaning="records have a format that carries the leader epoch")

    setting_constraints = design_constraints.REPLICAS

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

    @property
    def remembers_producers(self) -> bool:
        """Whether a ghost records at which broker each producer waits."""
        return bool(self.acknowledgement != "own-epoch")

    def variables(self) -> dict[str, Any]:
        """The variables, such as logs by partition and broker. Features that are off have no variables."""
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
        """Volatile fields of each replica: its role, its leader, and what it needs to commit records."""
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
        """Further volatile fields of each replica.

        When a replica gives up its role, each of these fields gets the first value of its domain.
        """
        return {}

    def replica_variables(self) -> dict[str, Any]:
        """Further variables of each replica: durable ones, and those that only some settings need."""
        found: dict[str, Any] = {}
        if self.has_epoch_cache:
            found["epoch_cache"] = epoch_cache.epoch_cache(self.max_leader_epoch, self.log_size)
        if self.has_crashes:
            found["checkpoint"] = self.any_end()
        return found

    def ghosts(self) -> dict[str, Any]:
        """The ghosts: records that are committed, acknowledged or consumed, and who committed in each epoch."""
        records = sequence(self.any_record(), self.log_size)
        ids = number(0, self.max_records - 1)
        by = per(self.any_epoch(), optional(broker))
        partition = record(records=records, rewritten=flag, by=by, by_two=flag)
        found: dict[str, Any] = {"committed": per(any_partition(self), partition), "acknowledged": per(ids, flag)}
        if self.acks_one:
            found["acknowledged_by_one"] = per(ids, flag)
        if self.remembers_producers:
            found["waiting"] = per(ids, record(at=optional(broker), end=self.any_end()))
        if self.retries:
            found["retries"] = number(0, self.retries)
        if self.consumers:
            found["consumed"] = per(any_partition(self), records)
            found["offset_out_of_range"] = per(any_partition(self), flag)
        return found

    # --- words ------------------------------------------------------------------------------------------------------

    def greatest_epoch_is_reached(self, s: State) -> Any:
        return some(s.replica[p][b].epoch == self.max_leader_epoch for p in self.all_partitions for b in self.brokers)

    def is_up(self, s: State, b: Any) -> Any:
        return s.up.has(b) if self.has_crashes else True

    def leads(self, s: State, p: int, b: Any) -> Any:
        """Whether a broker is up and believes, rightly or wrongly, that it leads the partition."""
        return (s.replica[p][b].role == "leader") & self.is_up(s, b)

    def follows(self, s: State, p: int, follower: Any, leader: Any) -> Any:
        replica = s.replica[p][follower]
        return (replica.role == "follower") & (replica.leader == leader) & self.is_up(s, follower)

    def end_seen_by(self, s: State, p: int, leader: Any, member: Any) -> Any:
        """The log end offset of `member` that the leader knows. For a follower it is the offset of the last fetch."""
        return s.log[p][leader].length if member == leader else s.known_end[p][leader][member]

    def forget_followers(self, s: State, p: int, b: Any) -> None:
        """A leader forgets the log end offsets of its followers."""
        s.known_end[p][b] = [UNKNOWN for _ in self.brokers]

    def is_legitimate(self, s: State, p: int, b: Any) -> Any:
        """Whether a broker leads legitimately. Here every leader does; a design may define a stricter rule."""
        return self.leads(s, p, b)

    def serves_the_topic(self, s: State, p: int, b: Any) -> Any:
        """Whether the records that a replica commits and serves belong to the current topic."""
        return True

    def noted_epoch(self, s: State, p: int, b: Any, epoch: Any, start: Any) -> Any:
        """A replica's epoch cache with a new entry (`epoch` starts at `start`); unchanged if records have no epochs."""
        cache = s.epoch_cache[p][b]
        return epoch_cache.assigned(cache, epoch, start, self.max_leader_epoch) if self.records_have_epochs else cache
