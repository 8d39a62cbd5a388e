"""DefaultAlterPartitionManager: the one request that a leader may have in flight, and the controller's answer.

A broker has at most one AlterPartition request in flight for a partition. Kafka refuses a second request immediately
(OPERATION_NOT_ATTEMPTED), and the leader goes back to the last ISR that it knew to be committed. In the model, a
leader makes no second request. The request names the leader epoch, the partition epoch, the members of the new ISR, and
the broker epochs in which these members last fetched (KIP-903).

Left out: errors of the whole request, after which the same request is sent again; requests that arrive after their
leader has stopped. Such a request has the same effect as if it had arrived just before the leader stopped.

Source: AlterPartitionManager.scala of Kafka 4.3; KIP-497, KIP-903.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.designs.kraft.partition_registration import PartitionRegistration
from isrcheck.model.designs.kraft.state import KraftState
from isrcheck.model.designs.kraft.unified_log import any_partition
from isrcheck.model.language import action, broker, budget, enum, number, per, record, set_of, when

REFUSED = ("fenced-leader-epoch", "invalid-request", "invalid-update-version", "new-leader-elected")
"""Errors after which a leader (with `refused_request = waits`) waits for a metadata record newer than its request."""

IN_LATER_EPOCH = "success-in-later-epoch"
"""Success, but in a new leader epoch, because a reassignment is complete. The leader learns the epoch from metadata."""

ANSWERS = ("success", IN_LATER_EPOCH, "ineligible-replica", *REFUSED)


class AlterPartitionManager(PartitionRegistration):
    """Requests and answers in flight, at most one for each partition and leader."""

    abstract = True

    lost_responses = budget(
        at_most=2, meaning="answers of the controller that are lost; the leader then sends the same request again"
    )

    restarts: Any
    """An attribute of `metadata_log`."""

    def holds(self) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "stage": enum("none", "asked", *ANSWERS),
            "isr": set_of(broker),
            "epoch": self.any_epoch(),
            "version": self.any_version(),
            "said_version": self.any_version(),
        }
        if self.restarts:
            fields["broker_epoch"] = per(broker, number(-1, self.restarts))
        found: dict[str, Any] = {"alteration": per(any_partition(self), per(broker, record(**fields)))}
        if self.lost_responses:
            found["lost_responses"] = number(0, self.lost_responses)
        return found

    def no_alteration(self) -> dict[str, Any]:
        found: dict[str, Any] = {"stage": "none", "isr": set(), "epoch": 0, "version": 0, "said_version": 0}
        if self.restarts:
            found["broker_epoch"] = [-1 for _ in self.brokers]
        return found

    def may_submit(self, s: KraftState, p: int, b: Any) -> Any:
        return s.alteration[p][b].stage == "none"

    def submit(self, s: KraftState, p: int, b: Any, asked: dict[str, Any], where: Any) -> None:
        """Sends a request if `where` is true. The caller requires that no other request is in flight (`may_submit`)."""
        request = {**self.no_alteration(), "stage": "asked", **asked}
        s.alteration[p][b] = when(where, request, s.alteration[p][b])

    def forget_alteration(self, s: KraftState, p: int, b: Any) -> None:
        s.alteration[p][b] = self.no_alteration()

    @action(p=any_partition, b=broker, actor="b", environment=True, where=lambda m: m.lost_responses)
    def lose_response(self, s: KraftState, p: int, b: Any) -> None:
        """NodeToControllerChannelManager: the answer is lost with the connection, and the leader asks again."""
        request = s.alteration[p][b]
        s.require(s.lost_responses < self.lost_responses, request.stage != "none", request.stage != "asked")
        s.lost_responses += 1
        request.stage = "asked"
        request.said_version = 0

    def describe_lose_response(self, old: Any, new: Any, p: int, b: Any) -> str:
        request = new.alteration[p][b]
        return f"the answer to {b} is lost; it asks again for ISR {request.isr} at version {request.version}"
