"""The state of Kraft, for editors and type checkers, as `isrcheck models kraft --types` writes it."""

from __future__ import annotations

from typing import Any

from isrcheck.model.language.scalarset_members import BrokerId, NoBroker
from isrcheck.model.language.state_types import (
    Broker,
    Brokers,
    Flag,
    Name,
    Number,
    Per,
    Place,
    Sequence,
    State,
    Value,
)


class LogRecord(Value):
    """A record: id, epoch."""

    id: Place[Number, int]
    epoch: Place[Number, int]


class EpochCacheRecord(Value):
    """A record: epoch, start."""

    epoch: Place[Number, int]
    start: Place[Number, int]


class StateRecord(Value):
    """A record: leader, isr, epoch, version, replicas, adding, removing."""

    leader: Place[Broker, BrokerId | NoBroker | None]
    isr: Place[Brokers, set[Any] | frozenset[Any]]
    epoch: Place[Number, int]
    version: Place[Number, int]
    replicas: Place[Brokers, set[Any] | frozenset[Any]]
    adding: Place[Brokers, set[Any] | frozenset[Any]]
    removing: Place[Brokers, set[Any] | frozenset[Any]]


class MetadataPartitionRecord(Value):
    """A record: leader, isr, epoch, version, replicas, adding, removing."""

    leader: Place[Broker, BrokerId | NoBroker | None]
    isr: Place[Brokers, set[Any] | frozenset[Any]]
    epoch: Place[Number, int]
    version: Place[Number, int]
    replicas: Place[Brokers, set[Any] | frozenset[Any]]
    adding: Place[Brokers, set[Any] | frozenset[Any]]
    removing: Place[Brokers, set[Any] | frozenset[Any]]


class MetadataRecord(Value):
    """A record: partition, live, min_isr_changed, broker_epoch."""

    partition: Place[Per[Number | int, MetadataPartitionRecord], Any]
    live: Place[Brokers, set[Any] | frozenset[Any]]
    min_isr_changed: Place[Flag, bool]
    broker_epoch: Place[Per[Broker | BrokerId, Number], Any]


class AlterationRecord(Value):
    """A record: stage, isr, epoch, version, said_version, broker_epoch."""

    stage: Place[Name, str]
    isr: Place[Brokers, set[Any] | frozenset[Any]]
    epoch: Place[Number, int]
    version: Place[Number, int]
    said_version: Place[Number, int]
    broker_epoch: Place[Per[Broker | BrokerId, Number], Any]


class WaitingRecord(Value):
    """A record: at, end."""

    at: Place[Broker, BrokerId | NoBroker | None]
    end: Place[Number, int]


class CommittedRecordsRecord(Value):
    """A record: id, epoch."""

    id: Place[Number, int]
    epoch: Place[Number, int]


class CommittedRecord(Value):
    """A record: records, rewritten, by, by_two."""

    records: Place[Sequence[CommittedRecordsRecord], list[Any]]
    rewritten: Place[Flag, bool]
    by: Place[Per[Number | int, Broker], Any]
    by_two: Place[Flag, bool]


class ReplicaRecord(Value):
    """A record: role, leader, epoch, version, isr, pending, high_watermark, epoch_start."""

    role: Place[Name, str]
    leader: Place[Broker, BrokerId | NoBroker | None]
    epoch: Place[Number, int]
    version: Place[Number, int]
    isr: Place[Brokers, set[Any] | frozenset[Any]]
    pending: Place[Brokers, set[Any] | frozenset[Any]]
    high_watermark: Place[Number, int]
    epoch_start: Place[Number, int]


class AnswerRecordRecord(Value):
    """A record: id, epoch."""

    id: Place[Number, int]
    epoch: Place[Number, int]


class AnswerRecord(Value):
    """A record: kind, epoch, offset, record, high_watermark, end_epoch, end."""

    kind: Place[Name, str]
    epoch: Place[Number, int]
    offset: Place[Number, int]
    record: Place[AnswerRecordRecord, dict[str, Any]]
    high_watermark: Place[Number, int]
    end_epoch: Place[Number, int]
    end: Place[Number, int]


class UnnotedRecord(Value):
    """A record: stage, epoch, offset, leaders_end, broker_epoch."""

    stage: Place[Name, str]
    epoch: Place[Number, int]
    offset: Place[Number, int]
    leaders_end: Place[Number, int]
    broker_epoch: Place[Number, int]


class KraftState(State):
    """The variables in each state of Kraft."""

    log: Place[Per[Number | int, Per[Broker | BrokerId, Sequence[LogRecord]]], Any]
    epoch_cache: Place[Per[Number | int, Per[Broker | BrokerId, Sequence[EpochCacheRecord]]], Any]
    next_record_id: Place[Number, int]
    state: Place[Per[Number | int, StateRecord], Any]
    live: Place[Brokers, set[Any] | frozenset[Any]]
    metadata: Place[Sequence[MetadataRecord], list[Any]]
    applied: Place[Per[Broker | BrokerId, Number], Any]
    alteration: Place[Per[Number | int, Per[Broker | BrokerId, AlterationRecord]], Any]
    waiting: Place[Per[Number | int, WaitingRecord], Any]
    acknowledged: Place[Per[Number | int, Flag], Any]
    committed: Place[Per[Number | int, CommittedRecord], Any]
    elr: Place[Per[Number | int, Brokers], Any]
    last_leader: Place[Per[Number | int, Broker], Any]
    expiries: Place[Number, int]
    known_end: Place[Per[Number | int, Per[Broker | BrokerId, Per[Broker | BrokerId, Number]]], Any]
    caught_up: Place[Per[Number | int, Per[Broker | BrokerId, Brokers]], Any]
    replica: Place[Per[Number | int, Per[Broker | BrokerId, ReplicaRecord]], Any]
    answer: Place[Per[Number | int, Per[Broker | BrokerId, Per[Broker | BrokerId, AnswerRecord]]], Any]
    log_moves: Place[Number, int]
    reassignments: Place[Number, int]
    min_isr_changed: Place[Flag, bool]
    up: Place[Brokers, set[Any] | frozenset[Any]]
    broker_epoch: Place[Per[Broker | BrokerId, Number], Any]
    known_broker_epoch: Place[Per[Number | int, Per[Broker | BrokerId, Per[Broker | BrokerId, Number]]], Any]
    crashes: Place[Number, int]
    stopped_uncleanly: Place[Brokers, set[Any] | frozenset[Any]]
    lossy_crashes: Place[Number, int]
    shutdowns: Place[Number, int]
    stopping: Place[Brokers, set[Any] | frozenset[Any]]
    directory_failures: Place[Number, int]
    offline: Place[Brokers, set[Any] | frozenset[Any]]
    without_directory: Place[Brokers, set[Any] | frozenset[Any]]
    lost_responses: Place[Number, int]
    unclean_elections: Place[Number, int]
    directory_assignments: Place[Number, int]
    unnoted: Place[Per[Number | int, Per[Broker | BrokerId, Per[Broker | BrokerId, UnnotedRecord]]], Any]
    late_notes: Place[Number, int]
