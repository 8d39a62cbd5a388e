"""The state of Kip320, for editors and type checkers, as `isrcheck models kip-320 --types` writes it."""

from __future__ import annotations

from typing import Any

from isrcheck.model.language.scalarset_members import BrokerId, NoBroker
from isrcheck.model.language.state_types import (
    Broker,
    Brokers,
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
    """A record: high_watermark, leader_epoch, leader, isr."""

    high_watermark: Place[Number, int]
    leader_epoch: Place[Number, int]
    leader: Place[Broker, BrokerId | NoBroker | None]
    isr: Place[Brokers, set[Any] | frozenset[Any]]


class RequestsRecord(Value):
    """A record: leader, isr."""

    leader: Place[Broker, BrokerId | NoBroker | None]
    isr: Place[Brokers, set[Any] | frozenset[Any]]


class QuorumRecord(Value):
    """A record: leader_epoch, leader, isr."""

    leader_epoch: Place[Number, int]
    leader: Place[Broker, BrokerId | NoBroker | None]
    isr: Place[Brokers, set[Any] | frozenset[Any]]


class Kip320State(State):
    """The variables in each state of Kip320."""

    log: Place[Per[Broker | BrokerId, Sequence[LogRecord]], Any]
    replica: Place[Per[Broker | BrokerId, ReplicaRecord], Any]
    next_record_id: Place[Number, int]
    next_leader_epoch: Place[Number, int]
    requests: Place[Per[Number | int, RequestsRecord], Any]
    quorum: Place[QuorumRecord, dict[str, Any]]
