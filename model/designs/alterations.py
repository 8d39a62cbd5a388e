"""How a leader has the ISR altered: it asks the controller by AlterIsr, and does not wait for the answer.

A leader may have one *alteration* under way, or several, each a request or its response. Until it learns what became of
it, the ISR of the leader is *pending*: it reckons with the largest ISR that there may be. A response says that the ISR
is altered, or why not: an *error*, after which the leader rolls back, asks again, or goes on waiting for news.

An alteration of a *former* life is one whose broker has stopped since; nobody waits for its response.

Left out: CLUSTER_AUTHORIZATION_FAILED, since brokers of the model are authorized and the leader would only ask again;
OPERATION_NOT_ATTEMPTED, by which a leader's own queue refuses a second request and nothing changes (there is no such
step here), and which in responses is an older name of INELIGIBLE_REPLICA; requests for several partitions; requests
that are lost, which the leader sends again.

Sources: KIP-497 with its comments, KAFKA-8836, KAFKA-13091, KAFKA-14144, KAFKA-15021.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.designs import sentences
from isrcheck.model.designs.eligibility import Eligibility
from isrcheck.model.designs.logs import UNKNOWN, any_partition
from isrcheck.model.language import (
    action,
    asked,
    becomes,
    broker,
    enum,
    flag,
    implies,
    number,
    per,
    record,
    set_of,
    setting,
    some,
    when,
)

ROLLED_BACK = ("ineligible-replica",)
"""Errors that say that nothing was done: the ISR is what it was."""

RETRIED = ("stale-broker-epoch", "not-controller")
"""Errors after which a leader asks again."""

AWAITING_NEWS = (
    "fenced-leader-epoch",
    "invalid-request",
    "invalid-isr-version",
    "unknown-topic-or-partition",
    "new-leader-elected",
)
"""Errors after which a leader goes on waiting: there is a later version that it will hear of."""

ERRORS = (*ROLLED_BACK, *RETRIED, *AWAITING_NEWS)
ANSWERS = ("success", "success-in-later-epoch", *ERRORS)


def any_request(m: Any) -> Any:
    """Places for alterations that a leader knows of."""
    return number(0, m.requests_in_flight - 1)


def any_arriving_request(m: Any) -> Any:
    """Besides, one for a request that it has sent again."""
    return number(0, len(m.all_places) - 1)


def one_of(value: Any, names: tuple[str, ...]) -> Any:
    """Whether a value is one of those named."""
    return some(value == name for name in names)


class Alterations(Eligibility):
    """A leader's side of AlterIsr."""

    abstract = True

    isr_in_flight = setting(
        "maximal",
        choices=("maximal", "committed", "requested"),
        meaning="the ISR that the high watermark waits for while an alteration is pending: the largest that there may "
        "be, the last known one, or the one asked for",
    )
    requests_in_flight = setting(
        1, at_least=1, at_most=2, meaning="requests that a leader may have under way, all at the version that it knows"
    )
    pending_isr = setting(
        "union",
        choices=("union", "last"),
        meaning="with several requests under way, what is pending: all that was asked for, or the last",
    )
    lost_responses = setting(
        0,
        at_least=0,
        at_most=2,
        meaning="responses that are lost, so that the leader sends the same request again",
        bound=lambda m, s: s.lost_responses == m.lost_responses if m.lost_responses else False,
    )
    late_requests = setting(
        0,
        at_least=0,
        at_most=2,
        meaning="requests that a leader sends again for want of a response, and that arrive twice, sooner or later",
        bound=lambda m, s: s.late_requests == m.late_requests if m.late_requests else False,
    )
    commit_after_shrink = setting(
        True,
        meaning="a leader looks at its high watermark when it learns that the ISR has become smaller (KAFKA-13091)",
    )
    caught_up_outside = setting(
        "passed",
        choices=("passed", "eligible-awaited", "awaited"),
        meaning="replicas outside the ISR that have the high watermark and may join soon: the leader does not wait for "
        "them, waits for those that are eligible, or for all (KAFKA-15021)",
    )

    # --- variables --------------------------------------------------------------------------------------------------

    def alteration_fields(self) -> dict[str, Any]:
        """What a request or its response carries; fields that nothing needs are not there."""
        found: dict[str, Any] = {
            "stage": enum("none", "asked", "accepted", *ANSWERS),
            "isr": set_of(broker),
            "epoch": self.any_epoch(),
            "version": number(0, self.max_version),
        }
        if self.says_version:
            found["said_version"] = number(0, self.max_version)
        if self.has_crashes:
            found["former"] = flag
        if self.marks_bounces:
            found["bounced"] = set_of(broker)
        if self.has_topics:
            found["incarnation"] = self.any_incarnation()
        return found

    @property
    def says_version(self) -> bool:
        """Whether a success may have another version than the next one after the request's."""
        return bool(self.lost_responses or self.late_requests or self.controller_failover or self.has_topics)

    @property
    def commits_on_events(self) -> bool:
        """Whether a leader must remember that it has to look at its high watermark."""
        return not self.commit_after_shrink

    def replica_fields(self) -> dict[str, Any]:
        found = {**super().replica_fields(), "pending": set_of(broker)}
        if self.commits_on_events:
            found["looks"] = flag
        return found

    def variables(self) -> dict[str, Any]:
        """Besides, the alterations under way from each broker."""
        found = super().variables()
        each = per(any_arriving_request(self), record(**self.alteration_fields()))
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
        """Those of requests, and one more for what arrives late and nobody waits for."""
        return range(self.requests_in_flight + (1 if self.late_requests else 0))

    def no_alteration(self) -> dict[str, Any]:
        found: dict[str, Any] = {"stage": "none", "isr": set(), "epoch": 0, "version": 0}
        if self.says_version:
            found["said_version"] = 0
        if self.has_crashes:
            found["former"] = False
        if self.marks_bounces:
            found["bounced"] = set()
        if self.has_topics:
            found["incarnation"] = 0
        return found

    # --- words ------------------------------------------------------------------------------------------------------

    def is_under_way(self, s: Any, p: int, b: Any, i: int) -> Any:
        return s.alteration[p][b][i].stage != "none"

    def is_expected(self, s: Any, p: int, b: Any, i: int) -> Any:
        """Whether a leader still waits for what becomes of an alteration: it knows of nothing later."""
        one, replica = s.alteration[p][b][i], s.replica[p][b]
        if i not in self.all_requests:
            return False
        found = self.leads(s, p, b) & (one.epoch == replica.epoch) & (one.version == replica.version)
        if self.has_topics:
            found = found & (one.incarnation == s.incarnation[p][b])
        return found & ~one.former if self.has_crashes else found

    def quorum_isr(self, s: Any, p: int, leader: Any) -> Any:
        replica = s.replica[p][leader]
        if self.isr_in_flight == "committed":
            return replica.isr
        if self.isr_in_flight == "requested":
            return when(replica.pending.is_empty, replica.isr, replica.pending)
        return replica.isr | replica.pending

    def awaited(self, s: Any, p: int, leader: Any) -> Any:
        found = self.quorum_isr(s, p, leader)
        if self.caught_up_outside == "passed":
            return found
        for f in self.brokers:
            end = s.known_end[p][leader][f]
            near = self.tracks(s, p, leader, f) & (end != UNKNOWN) & (end >= s.replica[p][leader].high_watermark)
            if self.caught_up_outside == "eligible-awaited":
                near = near & self.is_eligible(s, p, leader, f)
            found = when(near, found | {f}, found)
        return found

    def may_commit(self, s: Any, p: int, leader: Any) -> Any:
        return s.replica[p][leader].looks if self.commits_on_events else super().may_commit(s, p, leader)

    # --- the leader asks --------------------------------------------------------------------------------------------

    def change_isr(self, s: Any, p: int, b: Any, isr: Any) -> None:
        """The leader sends AlterIsr at the version that it knows, and from now on reckons with what it asks for."""
        replica = s.replica[p][b]
        free = [~self.is_under_way(s, p, b, i) for i in self.all_requests]
        expected = [self.is_under_way(s, p, b, i) & self.is_expected(s, p, b, i) for i in self.all_requests]
        s.require(self.leads(s, p, b), some(free), replica.pending.is_empty | some(expected))
        if self.requests_in_flight == 1:
            s.require(replica.pending.is_empty)
        earlier: Any = False
        for i in self.all_requests:
            one = s.alteration[p][b][i]
            s.require(~(expected[i] & (one.isr == isr)))
            s.alteration[p][b][i] = when(free[i] & ~earlier if i else free[i], self.new_request(s, p, b, isr), one)
            earlier = free[i] | earlier
        replica.pending = replica.pending | isr if self.pending_isr == "union" else isr

    def new_request(self, s: Any, p: int, b: Any, isr: Any) -> dict[str, Any]:
        """What AlterIsr says: the leader epoch, the ISR asked for and the version known; all else, the model's."""
        replica = s.replica[p][b]
        found = self.no_alteration()
        found.update(stage="asked", isr=isr, epoch=replica.epoch, version=replica.version)
        if self.marks_bounces:
            found["bounced"] = replica.bounced & isr
        if self.has_topics:
            found["incarnation"] = s.incarnation[p][b]
        return found

    def isr_in_words(self, old: Any, new: Any, p: int, b: Any, whom: str) -> str:
        """A leader asks for another ISR, and reckons with what it asks for."""
        who, replica = sentences.leader_in_words(self, old, p, b), old.replica[p][b]
        pending = becomes(replica.pending, new.replica[p][b].pending)
        asks = f"asks the controller for an ISR {whom} (AlterIsr at version {replica.version})"
        return f"{who} {asks}; its ISR is {replica.isr}, pending {pending}"

    def error_in_words(self, s: Any, p: int, b: Any, request: int) -> str:
        """A response on its way to a leader."""
        return str(s.alteration[p][b][request].stage).upper().replace("-", "_")

    # --- the leader learns ------------------------------------------------------------------------------------------

    def become_leader(self, s: Any, p: int, b: Any, epoch: Any, isr: Any) -> None:
        super().become_leader(s, p, b, epoch, isr)
        self.forget_pending(s, p, b, looks=True)

    def become_follower(self, s: Any, p: int, b: Any, leader: Any, epoch: Any, truncates: Any = True) -> None:
        super().become_follower(s, p, b, leader, epoch, truncates)
        self.forget_pending(s, p, b)

    def give_up_role(self, s: Any, p: int, b: Any, high_watermark: Any) -> None:
        super().give_up_role(s, p, b, high_watermark)
        self.forget_pending(s, p, b)

    def forget_pending(self, s: Any, p: int, b: Any, looks: Any = False) -> None:
        s.replica[p][b].pending = set()
        if self.commits_on_events:
            s.replica[p][b].looks = looks

    def answered(self, s: Any, p: int, b: Any, i: int, *answers: str) -> Any:
        """The response to an alteration, which the leader waits for, and which is one of some."""
        one = s.alteration[p][b][i]
        s.require(one_of(one.stage, answers), self.is_expected(s, p, b, i))
        return one

    @action(p=any_partition, b=broker, request=any_request, actor="b")
    def adopt_isr_by_response(self, s: Any, p: int, b: Any, request: int) -> None:
        """The response says that the ISR is altered: the leader has it now, at the version that it is told."""
        one, replica = self.answered(s, p, b, request, "success"), s.replica[p][b]
        s.require(self.is_news(s, p, b, request))
        smaller = replica.isr >= one.isr
        replica.isr = one.isr
        replica.version = one.said_version if self.says_version else one.version + 1
        self.forget_pending(s, p, b, looks=replica.looks | ~smaller if self.commits_on_events else False)
        s.alteration[p][b][request] = self.no_alteration()

    def told_adopt_isr_by_response(self, old: Any, new: Any, p: int, b: Any, request: int) -> str:
        isr = becomes(old.replica[p][b].isr, new.replica[p][b].isr)
        version = becomes(old.replica[p][b].version, new.replica[p][b].version)
        return f"{b} is told of success: ISR {isr}, version {version}; nothing is pending any more"

    def is_news(self, s: Any, p: int, b: Any, i: int) -> Any:
        """Whether a success is of a version that the leader may believe: not an earlier one than it knows."""
        one = s.alteration[p][b][i]
        return one.said_version >= s.replica[p][b].version if self.says_version else one.stage == "success"

    @action(p=any_partition, b=broker, request=any_request, actor="b")
    def roll_back_isr(self, s: Any, p: int, b: Any, request: int) -> None:
        """The response says that nothing was done: the leader has its last known ISR, and what else is under way."""
        self.answered(s, p, b, request, *ROLLED_BACK)
        pending: Any = s.replica[p][b].pending - set(self.brokers)
        for i in self.all_requests:
            if i != request:
                other = s.alteration[p][b][i]
                waits = self.is_under_way(s, p, b, i) & self.is_expected(s, p, b, i) & ~one_of(other.stage, ROLLED_BACK)
                pending = when(waits, other.isr, pending)
        s.replica[p][b].pending = pending
        s.alteration[p][b][request] = self.no_alteration()

    def told_roll_back_isr(self, old: Any, new: Any, p: int, b: Any, request: int) -> str:
        pending = becomes(old.replica[p][b].pending, new.replica[p][b].pending)
        isr, error = new.replica[p][b].isr, self.error_in_words(old, p, b, request)
        return f"{b} is told {error}: it rolls back to ISR {isr}, pending {pending}"

    @action(p=any_partition, b=broker, request=any_request, actor="b")
    def retry_alter_isr(self, s: Any, p: int, b: Any, request: int) -> None:
        """The response says that the wrong controller, or the wrong life, was asked: the leader asks again."""
        self.answered(s, p, b, request, *RETRIED).stage = "asked"

    def told_retry_alter_isr(self, old: Any, new: Any, p: int, b: Any, request: int) -> str:
        one = old.alteration[p][b][request]
        return f"{b} is told {self.error_in_words(old, p, b, request)}, and asks again for ISR {one.isr}"

    @action(p=any_partition, b=broker, request=any_request, actor="b")
    def await_later_version(self, s: Any, p: int, b: Any, request: int) -> None:
        """The response says that something later was decided: the ISR stays pending until the leader hears of it."""
        one = s.alteration[p][b][request]
        told = one_of(one.stage, (*AWAITING_NEWS, "success-in-later-epoch"))
        if self.says_version:
            told = told | ((one.stage == "success") & ~self.is_news(s, p, b, request))
        s.require(told, self.is_expected(s, p, b, request))
        s.alteration[p][b][request] = self.no_alteration()

    def told_await_later_version(self, old: Any, new: Any, p: int, b: Any, request: int) -> str:
        pending, error = new.replica[p][b].pending, self.error_in_words(old, p, b, request)
        return f"{b} is told {error}: something later was decided, and until it hears of it, {pending} is pending"

    @action(p=any_partition, b=broker, request=any_arriving_request, actor="b")
    def ignore_response(self, s: Any, p: int, b: Any, request: int) -> None:
        """A response that no leader waits for any more changes nothing."""
        s.require(one_of(s.alteration[p][b][request].stage, ANSWERS))
        s.require(implies(self.is_expected(s, p, b, request), False))
        s.alteration[p][b][request] = self.no_alteration()

    def told_ignore_response(self, old: Any, new: Any, p: int, b: Any, request: int) -> str:
        return f"{b} ignores {self.error_in_words(old, p, b, request)}, for which it does not wait any more"

    @action(p=any_partition, b=broker, request=any_request, actor="network", perturbation=True)
    def lose_response(self, s: Any, p: int, b: Any, request: int) -> None:
        """A response is lost, and the leader sends the same request again."""
        if not self.lost_responses:
            return
        one = self.answered(s, p, b, request, "success", "success-in-later-epoch", *ROLLED_BACK, *AWAITING_NEWS)
        s.require(s.lost_responses < self.lost_responses)
        s.lost_responses += 1
        one.stage = "asked"
        one.said_version = 0

    def told_lose_response(self, old: Any, new: Any, p: int, b: Any, request: int) -> str:
        one = old.alteration[p][b][request]
        return f"{self.error_in_words(old, p, b, request)} to {b} is lost; it sends its request for ISR {one.isr} again"

    @action(p=any_partition, b=broker, request=any_request, actor="b", perturbation=True)
    def send_again(self, s: Any, p: int, b: Any, request: int) -> None:
        """A leader has waited too long for a response, and sends the same request again; the first may still arrive."""
        if not self.late_requests:
            return
        one, late = self.answered(s, p, b, request, "asked"), self.all_places[-1]
        s.require(s.late_requests < self.late_requests, ~self.is_under_way(s, p, b, late))
        s.late_requests += 1
        s.alteration[p][b][late] = {name: getattr(one, name) for name in self.no_alteration()}

    def told_send_again(self, old: Any, new: Any, p: int, b: Any, request: int) -> str:
        one = old.alteration[p][b][request]
        return f"{b} has waited too long and sends its request for ISR {one.isr} again; both may arrive"

    # --- when the high watermark is looked at -----------------------------------------------------------------------

    def note_fetch(self, s: Any, p: int, leader: Any, follower: Any) -> None:
        super().note_fetch(s, p, leader, follower)
        if self.commits_on_events:
            s.replica[p][leader].looks = True

    def append_as(self, s: Any, p: int, b: Any, i: Any, has_it: Any = False) -> None:
        super().append_as(s, p, b, i, has_it)
        if self.commits_on_events:
            s.replica[p][b].looks = True

    @action(p=any_partition, b=broker, actor="b")
    def commit(self, s: Any, p: int, b: Any) -> None:
        """The leader raises its high watermark to the least log end offset that it waits for, and acknowledges."""
        super().commit(s, p, b)
        if self.commits_on_events:
            s.replica[p][b].looks = False

    @action(p=any_partition, b=broker, actor="b")
    def leave_high_watermark(self, s: Any, p: int, b: Any) -> None:
        """The leader looks at its high watermark and cannot raise it; it looks again when something happens."""
        if not self.commits_on_events:
            return
        replica = s.replica[p][b]
        s.require(replica.looks, self.leads(s, p, b), self.end_to_commit(s, p, b) <= replica.high_watermark)
        replica.looks = False

    def told_leave_high_watermark(self, old: Any, new: Any, p: int, b: Any) -> str:
        who, waits = sentences.leader_in_words(self, old, p, b), asked(old, self.awaited, p, b)
        passed = old.replica[p][b].high_watermark
        return f"{who} looks at its high watermark {passed} and leaves it: it waits for {waits}"
