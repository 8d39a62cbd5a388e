"""AlterIsr: the requests of leaders for another ISR, and their responses.

An *alteration* is a request or its response. A leader may have one or more alterations under way. A response says that
the ISR is altered, or gives an *error*. `pending_isr` defines how a leader handles a response, and
`alter_isr_handler` how the controller handles a request.

An alteration is *former* if the leader has stopped since it sent the request. Then nobody waits for the response.

Left out:

* CLUSTER_AUTHORIZATION_FAILED: brokers of the model are authorized, and the leader would only ask again;
* OPERATION_NOT_ATTEMPTED: a leader's own queue refuses a second request with this error and nothing changes, so the
  model has no such step. In responses, this error is an older name of INELIGIBLE_REPLICA;
* requests for several partitions;
* requests that are lost: the leader sends them again.

Sources: KIP-497 with its comments, KAFKA-14144.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.designs import State
from isrcheck.model.designs.partition_state import PartitionState
from isrcheck.model.designs.replicas import any_partition
from isrcheck.model.language import (
    action,
    broker,
    budget,
    enum,
    flag,
    implies,
    none,
    number,
    optional,
    per,
    record,
    set_of,
    setting,
    some,
)

ROLLED_BACK = ("ineligible-replica",)
"""Errors after which a leader goes back to its last known ISR, because the controller has changed nothing."""

RETRIED = ("stale-broker-epoch", "not-controller")
"""Errors after which a leader asks again."""

AWAITING_NEWS = ("fenced-leader-epoch", "invalid-request", "invalid-isr-version", "unknown-topic-or-partition")
"""Errors after which a leader keeps waiting: a later version exists, and the leader will learn it."""

ERRORS = (*ROLLED_BACK, *RETRIED, *AWAITING_NEWS)
ANSWERS = ("success", *ERRORS)


def any_request(m: Any) -> Any:
    """Indexes of the alterations that a leader has under way."""
    return number(0, m.requests_in_flight - 1)


def any_arriving_request(m: Any) -> Any:
    """Indexes of the alterations under way and, with `late_requests`, one more for a request that was sent again."""
    return number(0, len(m.all_places) - 1)


def one_of(value: Any, names: tuple[str, ...]) -> Any:
    """Whether a value is one of the given names."""
    return some(value == name for name in names)


class Alterations(PartitionState):
    """Requests for another ISR, and their responses."""

    abstract = True

    answer = setting(
        "after-write",
        choices=("after-write", "before-write"),
        meaning="when the controller answers AlterIsr. after-write: with the outcome, as in Kafka; before-write: "
        "immediately, and the leader learns the outcome by LeaderAndIsr (the KIP's text)",
    )
    requests_in_flight = setting(
        1, at_least=1, at_most=2, meaning="requests that a leader may have in flight, all at the version that it knows"
    )
    lost_responses = budget(at_most=2, meaning="responses that are lost; the leader then sends the same request again")
    late_requests = budget(
        at_most=2,
        meaning="requests that a leader sends again because no response has come: each of the two copies arrives at "
        "any time",
    )
    eligible_check = setting(
        True,
        meaning="fenced and stopping brokers do not join the ISR: a leader requests no broker without a session, and "
        "the controller refuses fenced and stopping brokers (KIP-841, KAFKA-14140)",
    )

    # Defined in `controller` and `topics`.
    controller_failover: Any
    any_incarnation: Any

    # --- variables --------------------------------------------------------------------------------------------------

    @property
    def says_version(self) -> bool:
        """Whether a response of success may have a version other than the request's version plus one."""
        return bool(self.lost_responses or self.late_requests or self.controller_failover or self.has_topics)

    @property
    def names_holder(self) -> bool:
        """Whether an alteration must name the controller that has accepted it and will write it."""
        return bool(self.controller_failover and self.answer == "before-write")

    def alteration_fields(self) -> dict[str, tuple[Any, Any]]:
        """The fields of a request or response: the domain of each, and its value while there is no alteration.

        Fields that the settings do not need are absent.
        """
        found: dict[str, tuple[Any, Any]] = {
            "stage": (enum("none", "asked", "accepted", *ANSWERS), "none"),
            "isr": (set_of(broker), set()),
            "epoch": (self.any_epoch(), 0),
            "version": (number(0, self.max_version), 0),
        }
        if self.says_version:
            found["said_version"] = (number(0, self.max_version), 0)
        if self.has_crashes:
            found["former"] = (flag, False)
        if self.has_topics:
            found["incarnation"] = (self.any_incarnation(), 0)
        if self.names_holder:
            found["holder"] = (optional(broker), none)
        return found

    def no_alteration(self) -> dict[str, Any]:
        return {name: empty for name, (_, empty) in self.alteration_fields().items()}

    def variables(self) -> dict[str, Any]:
        """Adds the alterations under way from each broker."""
        found = super().variables()
        fields = {name: domain for name, (domain, _) in self.alteration_fields().items()}
        each = per(any_arriving_request(self), record(**fields))
        found["alteration"] = per(any_partition(self), per(broker, each))
        if self.lost_responses:
            found["lost_responses"] = number(0, self.lost_responses)
        if self.late_requests:
            found["late_requests"] = number(0, self.late_requests)
        return found

    @property
    def all_requests(self) -> range:
        return range(self.requests_in_flight)

    @property
    def all_places(self) -> range:
        """The indexes of requests and, with `late_requests`, one more for a late request, for which nobody waits."""
        return range(self.requests_in_flight + (1 if self.late_requests else 0))

    # --- words ------------------------------------------------------------------------------------------------------

    def is_under_way(self, s: State, p: int, b: Any, i: int) -> Any:
        return s.alteration[p][b][i].stage != "none"

    def is_expected(self, s: State, p: int, b: Any, i: int) -> Any:
        """Whether a leader awaits the outcome of an alteration: it still leads at the request's epoch and version."""
        one, replica = s.alteration[p][b][i], s.replica[p][b]
        if i not in self.all_requests:
            return False
        found = self.leads(s, p, b) & (one.epoch == replica.epoch) & (one.version == replica.version)
        if self.has_topics:
            found = found & (one.incarnation == s.incarnation[p][b])
        return found & ~one.former if self.has_crashes else found

    def answered(self, s: State, p: int, b: Any, i: int, *answers: str) -> Any:
        """Returns an alteration. Requires that the leader waits for the outcome, and that the stage is in `answers`."""
        one = s.alteration[p][b][i]
        s.require(one_of(one.stage, answers), self.is_expected(s, p, b, i))
        return one

    def error_in_words(self, s: Any, p: int, b: Any, request: int) -> str:
        """The name of the response that is on its way to a leader."""
        return str(s.alteration[p][b][request].stage).upper().replace("-", "_")

    # --- requests and responses -------------------------------------------------------------------------------------

    def new_request(self, s: State, p: int, b: Any, isr: Any) -> dict[str, Any]:
        """The content of AlterIsr: leader epoch, requested ISR, known version. Other fields exist only in the model."""
        replica = s.replica[p][b]
        found = self.no_alteration()
        found.update(stage="asked", isr=isr, epoch=replica.epoch, version=replica.version)
        if self.has_topics:
            found["incarnation"] = s.incarnation[p][b]
        return found

    @action(p=any_partition, b=broker, request=any_arriving_request, actor="b")
    def ignore_response(self, s: State, p: int, b: Any, request: int) -> None:
        """A leader gets a response that it no longer waits for, and ignores it."""
        s.require(one_of(s.alteration[p][b][request].stage, ANSWERS))
        s.require(implies(self.is_expected(s, p, b, request), False))
        s.alteration[p][b][request] = self.no_alteration()

    def describe_ignore_response(self, old: Any, new: Any, p: int, b: Any, request: int) -> str:
        return f"{b} ignores {self.error_in_words(old, p, b, request)}, for which it does not wait any more"

    @action(
        p=any_partition,
        b=broker,
        request=any_request,
        actor="network",
        environment=True,
        where=lambda m: m.lost_responses,
    )
    def lose_response(self, s: State, p: int, b: Any, request: int) -> None:
        """A response is lost, and the leader sends the same request again."""
        one = self.answered(s, p, b, request, "success", *ROLLED_BACK, *AWAITING_NEWS)
        s.require(s.lost_responses < self.lost_responses)
        s.lost_responses += 1
        one.stage = "asked"
        one.said_version = 0

    def describe_lose_response(self, old: Any, new: Any, p: int, b: Any, request: int) -> str:
        one = old.alteration[p][b][request]
        return f"{self.error_in_words(old, p, b, request)} to {b} is lost; it sends its request for ISR {one.isr} again"

    @action(
        p=any_partition, b=broker, request=any_request, actor="b", environment=True, where=lambda m: m.late_requests
    )
    def send_again(self, s: State, p: int, b: Any, request: int) -> None:
        """A leader has waited too long for a response and sends the same request again; both requests may arrive."""
        one, late = self.answered(s, p, b, request, "asked"), self.all_places[-1]
        s.require(s.late_requests < self.late_requests, ~self.is_under_way(s, p, b, late))
        s.late_requests += 1
        s.alteration[p][b][late] = {name: getattr(one, name) for name in self.no_alteration()}

    def describe_send_again(self, old: Any, new: Any, p: int, b: Any, request: int) -> str:
        one = old.alteration[p][b][request]
        return f"{b} has waited too long and sends its request for ISR {one.isr} again; both may arrive"
