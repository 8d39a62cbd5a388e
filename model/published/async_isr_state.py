"""The state of AsyncIsr, for editors and type checkers, as `isrcheck models async-isr --types` writes it."""

from __future__ import annotations

from typing import Any

from isrcheck.model.language.scalarset_members import BrokerId
from isrcheck.model.language.state_types import (
    Broker,
    Brokers,
    Messages,
    Number,
    Per,
    Place,
    State,
    Value,
)


class ControllerRecord(Value):
    """A record: isr, version."""

    isr: Place[Brokers, set[Any] | frozenset[Any]]
    version: Place[Number, int]


class LeaderRecord(Value):
    """A record: isr, version, pending_isr, pending_version."""

    isr: Place[Brokers, set[Any] | frozenset[Any]]
    version: Place[Number, int]
    pending_isr: Place[Brokers, set[Any] | frozenset[Any]]
    pending_version: Place[Number, int]


class RequestsRecord(Value):
    """A record: isr, version."""

    isr: Place[Brokers, set[Any] | frozenset[Any]]
    version: Place[Number, int]


class UpdatesRecord(Value):
    """A record: isr, version."""

    isr: Place[Brokers, set[Any] | frozenset[Any]]
    version: Place[Number, int]


class AsyncIsrState(State):
    """The variables in each state of AsyncIsr."""

    controller: Place[ControllerRecord, dict[str, Any]]
    leader: Place[LeaderRecord, dict[str, Any]]
    offsets: Place[Per[Broker | BrokerId, Number], Any]
    requests: Place[Messages[RequestsRecord], Any]
    updates: Place[Messages[UpdatesRecord], Any]
