"""The state of any of v1, v2, v3, alter-isr, majority, primary-backup, for editors and type checkers, as `isrcheck
models v1 v2 v3 alter-isr majority primary-backup --types --as DesignState` writes it.
"""

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


class ReplicaRecord(Value):
    """A record: role, leader, epoch, isr, high_watermark, epoch_start, version, step, next_epoch, truncating,
    candidate, read_isr, replicas, target, moving, pending, looks, voted, votes.
    """

    role: Place[Name, str]
    leader: Place[Broker, BrokerId | NoBroker | None]
    epoch: Place[Number, int]
    isr: Place[Brokers, set[Any] | frozenset[Any]]
    high_watermark: Place[Number, int]
    epoch_start: Place[Number, int]
    version: Place[Number, int]
    step: Place[Name, str]
    next_epoch: Place[Number, int]
    truncating: Place[Flag, bool]
    candidate: Place[Flag, bool]
    read_isr: Place[Brokers, set[Any] | frozenset[Any]]
    replicas: Place[Brokers, set[Any] | frozenset[Any]]
    target: Place[Brokers, set[Any] | frozenset[Any]]
    moving: Place[Name, str]
    pending: Place[Brokers, set[Any] | frozenset[Any]]
    looks: Place[Flag, bool]
    voted: Place[Flag, bool]
    votes: Place[Brokers, set[Any] | frozenset[Any]]


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


class StateRecord(Value):
    """A record: leader, isr, epoch, version."""

    leader: Place[Broker, BrokerId | NoBroker | None]
    isr: Place[Brokers, set[Any] | frozenset[Any]]
    epoch: Place[Number, int]
    version: Place[Number, int]


class CandidateRecord(Value):
    """A record: stands, isr, version."""

    stands: Place[Flag, bool]
    isr: Place[Brokers, set[Any] | frozenset[Any]]
    version: Place[Number, int]


class WaitingRecord(Value):
    """A record: at, end."""

    at: Place[Broker, BrokerId | NoBroker | None]
    end: Place[Number, int]


class ConsumedRecord(Value):
    """A record: id, epoch."""

    id: Place[Number, int]
    epoch: Place[Number, int]


class LoadRecord(Value):
    """A record: notifications, requests."""

    notifications: Place[Number, int]
    requests: Place[Number, int]


class AssignmentRecord(Value):
    """A record: phase, replicas, target, old."""

    phase: Place[Name, str]
    replicas: Place[Brokers, set[Any] | frozenset[Any]]
    target: Place[Brokers, set[Any] | frozenset[Any]]
    old: Place[Brokers, set[Any] | frozenset[Any]]


class EpochCacheRecord(Value):
    """A record: epoch, start."""

    epoch: Place[Number, int]
    start: Place[Number, int]


class QueueRecord(Value):
    """A record: kind, epoch, partition."""

    kind: Place[Name, str]
    epoch: Place[Number, int]
    partition: Place[Number, int]


class TopicRecord(Value):
    """A record: exists, creations, has_path, incarnation."""

    exists: Place[Any, Any]
    creations: Place[Number, int]
    has_path: Place[Flag, bool]
    incarnation: Place[Number, int]


class ChannelRecord(Value):
    """A record: leader, isr, epoch, version, partition, controller_epoch, kind, incarnation, replicas."""

    leader: Place[Broker, BrokerId | NoBroker | None]
    isr: Place[Brokers, set[Any] | frozenset[Any]]
    epoch: Place[Number, int]
    version: Place[Number, int]
    partition: Place[Number, int]
    controller_epoch: Place[Number, int]
    kind: Place[Name, str]
    incarnation: Place[Number, int]
    replicas: Place[Brokers, set[Any] | frozenset[Any]]


class FetchedReplyRecordRecord(Value):
    """A record: id, epoch."""

    id: Place[Number, int]
    epoch: Place[Number, int]


class FetchedReplyRecord(Value):
    """A record: leader, asked_in, offset, kind, record, high_watermark, end_epoch, end."""

    leader: Place[Broker, BrokerId | NoBroker | None]
    asked_in: Place[Number, int]
    offset: Place[Number, int]
    kind: Place[Name, str]
    record: Place[FetchedReplyRecordRecord, dict[str, Any]]
    high_watermark: Place[Number, int]
    end_epoch: Place[Number, int]
    end: Place[Number, int]


class ReadRecord(Value):
    """A record: done, live, leader, isr, epoch, version."""

    done: Place[Flag, bool]
    live: Place[Brokers, set[Any] | frozenset[Any]]
    leader: Place[Broker, BrokerId | NoBroker | None]
    isr: Place[Brokers, set[Any] | frozenset[Any]]
    epoch: Place[Number, int]
    version: Place[Number, int]


class ReplyRecord(Value):
    """A record: leader, asked_in, epoch, end."""

    leader: Place[Broker, BrokerId | NoBroker | None]
    asked_in: Place[Number, int]
    epoch: Place[Number, int]
    end: Place[Number, int]


class AlterationRecord(Value):
    """A record: stage, isr, epoch, version, former, said_version, incarnation, holder."""

    stage: Place[Name, str]
    isr: Place[Brokers, set[Any] | frozenset[Any]]
    epoch: Place[Number, int]
    version: Place[Number, int]
    former: Place[Flag, bool]
    said_version: Place[Number, int]
    incarnation: Place[Number, int]
    holder: Place[Broker, BrokerId | NoBroker | None]


class ViewRecord(Value):
    """A record: leader, isr, epoch, version."""

    leader: Place[Broker, BrokerId | NoBroker | None]
    isr: Place[Brokers, set[Any] | frozenset[Any]]
    epoch: Place[Number, int]
    version: Place[Number, int]


class ElectedRecord(Value):
    """A record: leader, epoch."""

    leader: Place[Broker, BrokerId | NoBroker | None]
    epoch: Place[Number, int]


class LateRecord(Value):
    """A record: kind, sender, receiver, epoch, end, last_epoch, id, high_watermark."""

    kind: Place[Name, str]
    sender: Place[Broker, BrokerId | NoBroker | None]
    receiver: Place[Broker, BrokerId | NoBroker | None]
    epoch: Place[Number, int]
    end: Place[Number, int]
    last_epoch: Place[Number, int]
    id: Place[Number, int]
    high_watermark: Place[Number, int]


class DesignState(State):
    """The variables in each state of any of v1, v2, v3, alter-isr, majority, primary-backup."""

    log: Place[Per[Number | int, Per[Broker | BrokerId, Sequence[LogRecord]]], Any]
    replica: Place[Per[Number | int, Per[Broker | BrokerId, ReplicaRecord]], Any]
    known_end: Place[Per[Number | int, Per[Broker | BrokerId, Per[Broker | BrokerId, Number]]], Any]
    next_record_id: Place[Number, int]
    committed: Place[Per[Number | int, CommittedRecord], Any]
    acknowledged: Place[Per[Number | int, Flag], Any]
    live: Place[Brokers, set[Any] | frozenset[Any]]
    state: Place[Per[Number | int, StateRecord], Any]
    watch: Place[Per[Number | int, Per[Broker | BrokerId, Per[Name | str, Name]]], Any]
    candidate: Place[Per[Number | int, Per[Broker | BrokerId, CandidateRecord]], Any]
    acknowledged_by_one: Place[Per[Number | int, Flag], Any]
    waiting: Place[Per[Number | int, WaitingRecord], Any]
    retries: Place[Number, int]
    consumed: Place[Per[Number | int, Sequence[ConsumedRecord]], Any]
    offset_out_of_range: Place[Per[Number | int, Flag], Any]
    checkpoint: Place[Per[Number | int, Per[Broker | BrokerId, Number]], Any]
    up: Place[Brokers, set[Any] | frozenset[Any]]
    crashes: Place[Number, int]
    lossy_crashes: Place[Number, int]
    expiries: Place[Number, int]
    load: Place[LoadRecord, dict[str, Any]]
    assignment: Place[Per[Number | int, AssignmentRecord], Any]
    reassignments: Place[Number, int]
    epoch_cache: Place[Per[Number | int, Per[Broker | BrokerId, Sequence[EpochCacheRecord]]], Any]
    queue: Place[Per[Broker | BrokerId, Sequence[QueueRecord]], Any]
    robbed: Place[Flag, bool]
    topic: Place[Per[Number | int, TopicRecord], Any]
    state_change: Place[Per[Number | int, Per[Broker | BrokerId, Name]], Any]
    seen_live: Place[Per[Any, Per[Number | int, Brokers]], Any]
    channel: Place[Per[Any, Per[Broker | BrokerId, Sequence[ChannelRecord]]], Any]
    fetched_reply: Place[Per[Number | int, Per[Broker | BrokerId, FetchedReplyRecord]], Any]
    read: Place[Per[Any, Per[Number | int, ReadRecord]], Any]
    controller: Place[Broker, BrokerId | NoBroker | None]
    controller_epoch: Place[Number, int]
    acts: Place[Per[Broker | BrokerId, Flag], Any]
    own_controller_epoch: Place[Per[Broker | BrokerId, Number], Any]
    heard_controller_epoch: Place[Per[Broker | BrokerId, Number], Any]
    incarnation: Place[Per[Number | int, Per[Broker | BrokerId, Number]], Any]
    known_topic: Place[Per[Any, Per[Number | int, Flag]], Any]
    lost_replies: Place[Number, int]
    reply: Place[Per[Number | int, Per[Broker | BrokerId, ReplyRecord]], Any]
    alteration: Place[Per[Number | int, Per[Broker | BrokerId, Per[Number | int, AlterationRecord]]], Any]
    view: Place[Per[Broker | BrokerId, Per[Number | int, ViewRecord]], Any]
    asked_controller_epoch: Place[Per[Broker | BrokerId, Number], Any]
    shutdowns: Place[Number, int]
    stopping: Place[Brokers, set[Any] | frozenset[Any]]
    lost_responses: Place[Number, int]
    late_requests: Place[Number, int]
    elected: Place[Per[Number | int, ElectedRecord], Any]
    timeouts: Place[Number, int]
    flushed: Place[Per[Number | int, Per[Broker | BrokerId, Number]], Any]
    late: Place[Per[Number | int, Per[Number | int, LateRecord]], Any]
