"""A leader with a pending ISR: it has asked for another ISR, and goes on working before the answer arrives.

Until the leader learns the result of its request, it commits a record only if the members of both ISRs have the record.
When the response arrives, the leader adopts the new ISR, goes back to the old ISR, asks again, or waits for a
LeaderAndISR command with a new leader epoch. If the controller answers before it writes (the text of KIP-497), the
command may instead have a later version in the leader's own epoch.

Left out: the lag of a leader's metadata cache. A leader knows immediately which brokers have a session, but this may
change before the controller decides. Also left out: the wait of a leader, before it commits a record, for a caught-up
follower outside the ISR that may join (KAFKA-15021). The design `kraft` has this wait. As in Kafka with ZooKeeper, the
controller does not notice that a follower has restarted since its last fetch (KIP-903). So a replica may join because
of what it had fetched before its restart.

Sources: KIP-497 with its comments, KIP-841, KAFKA-8836, KAFKA-13091, KAFKA-14140.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.designs import State, sentences
from isrcheck.model.designs.alterations import AWAITING_NEWS, RETRIED, ROLLED_BACK, Alterations, any_request, one_of
from isrcheck.model.designs.controller import Controller
from isrcheck.model.designs.replicas import any_partition
from isrcheck.model.language import action, asked, becomes, broker, flag, set_of, setting, some, when


class PendingIsr(Alterations, Controller):
    """A leader's side of AlterIsr."""

    abstract = True

    expand_guard = setting(
        "epoch-start",
        choices=("high-watermark", "epoch-start", "at-fetch"),
        meaning="when a replica may join the ISR. high-watermark: when it has reached the leader's high watermark; "
        "epoch-start: when it has also reached the start of the leader's epoch (KAFKA-7128); at-fetch: the same, but "
        "only while the leader handles its fetch, as in Kafka",
    )
    isr_in_flight = setting(
        "maximal",
        choices=("maximal", "committed", "requested"),
        meaning="which ISR the high watermark waits for while a request is pending. maximal: the largest possible one; "
        "committed: the last one that the leader knows; requested: the requested one",
    )
    pending_isr = setting(
        "union",
        choices=("union", "last"),
        meaning="which ISR is pending while several requests are in flight. union: the union of all requested ones; "
        "last: the last requested one",
    )
    commit_after_shrink = setting(
        True,
        meaning="a leader tries to raise its high watermark when it learns that the ISR has shrunk (KAFKA-13091)",
    )

    # --- variables --------------------------------------------------------------------------------------------------

    @property
    def commits_on_events(self) -> bool:
        """Whether a leader must remember that it still has to try to raise its high watermark."""
        return not self.commit_after_shrink

    def replica_fields(self) -> dict[str, Any]:
        found = {**super().replica_fields(), "pending": set_of(broker)}
        if self.commits_on_events:
            found["looks"] = flag
        return found

    # --- whom the leader waits for ----------------------------------------------------------------------------------

    def quorum_isr(self, s: State, p: int, leader: Any) -> Any:
        replica = s.replica[p][leader]
        if self.isr_in_flight == "committed":
            return replica.isr
        if self.isr_in_flight == "requested":
            return when(replica.pending.is_empty, replica.isr, replica.pending)
        return replica.isr | replica.pending

    def may_commit(self, s: State, p: int, leader: Any) -> Any:
        return s.replica[p][leader].looks if self.commits_on_events else super().may_commit(s, p, leader)

    # --- the leader asks --------------------------------------------------------------------------------------------

    def may_expand(self, s: State, p: int, b: Any, follower: Any) -> Any:
        return super().may_expand(s, p, b, follower) & self.is_eligible(s, follower)

    def is_eligible(self, s: State, follower: Any) -> Any:
        """Whether a leader may ask to add a follower to the ISR.

        A leader does not know which followers are shutting down, so it may ask to add these followers too.
        """
        return self.has_session(s, follower) if self.eligible_check else True

    def change_isr(self, s: State, p: int, b: Any, isr: Any) -> None:
        """The leader sends AlterIsr at the version that it knows; the requested ISR is pending from now on."""
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

    def isr_in_words(self, old: Any, new: Any, p: int, b: Any, whom: str) -> str:
        """A sentence about a leader that asks for another ISR, and about the ISR that is pending afterwards."""
        who, replica = sentences.leader_in_words(self, old, p, b), old.replica[p][b]
        pending = becomes(replica.pending, new.replica[p][b].pending)
        asks = f"asks the controller for an ISR {whom} (AlterIsr at version {replica.version})"
        return f"{who} {asks}; its ISR is {replica.isr}, pending {pending}"

    # --- the leader learns ------------------------------------------------------------------------------------------

    def become_leader(self, s: State, p: int, b: Any, epoch: Any, isr: Any) -> None:
        super().become_leader(s, p, b, epoch, isr)
        self.forget_pending(s, p, b, looks=True)

    def become_follower(self, s: State, p: int, b: Any, leader: Any, epoch: Any, truncates: Any = True) -> None:
        super().become_follower(s, p, b, leader, epoch, truncates)
        self.forget_pending(s, p, b)

    def forget_pending(self, s: State, p: int, b: Any, looks: Any = False) -> None:
        s.replica[p][b].pending = set()
        if self.commits_on_events:
            s.replica[p][b].looks = looks

    @action(p=any_partition, b=broker, request=any_request, actor="b")
    def adopt_isr_by_response(self, s: State, p: int, b: Any, request: int) -> None:
        """A response tells the leader that the ISR is altered: it adopts that ISR and the version of the response."""
        one, replica = self.answered(s, p, b, request, "success"), s.replica[p][b]
        s.require(self.is_news(s, p, b, request))
        smaller = replica.isr >= one.isr
        replica.isr = one.isr
        replica.version = one.said_version if self.says_version else one.version + 1
        self.forget_pending(s, p, b, looks=replica.looks | ~smaller if self.commits_on_events else False)
        s.alteration[p][b][request] = self.no_alteration()

    def describe_adopt_isr_by_response(self, old: Any, new: Any, p: int, b: Any, request: int) -> str:
        isr = becomes(old.replica[p][b].isr, new.replica[p][b].isr)
        version = becomes(old.replica[p][b].version, new.replica[p][b].version)
        return f"{b} is told of success: ISR {isr}, version {version}; nothing is pending any more"

    def is_news(self, s: State, p: int, b: Any, i: int) -> Any:
        """Whether a success is news to a leader: its version is not earlier than the version that the leader knows."""
        one = s.alteration[p][b][i]
        return one.said_version >= s.replica[p][b].version if self.says_version else one.stage == "success"

    @action(p=any_partition, b=broker, request=any_request, actor="b")
    def roll_back_isr(self, s: State, p: int, b: Any, request: int) -> None:
        """A response tells the leader that nothing was altered: it keeps its last known ISR and its other requests."""
        self.answered(s, p, b, request, *ROLLED_BACK)
        pending: Any = s.replica[p][b].pending - set(self.brokers)
        for i in self.all_requests:
            if i != request:
                other = s.alteration[p][b][i]
                waits = self.is_under_way(s, p, b, i) & self.is_expected(s, p, b, i) & ~one_of(other.stage, ROLLED_BACK)
                pending = when(waits, other.isr, pending)
        s.replica[p][b].pending = pending
        s.alteration[p][b][request] = self.no_alteration()

    def describe_roll_back_isr(self, old: Any, new: Any, p: int, b: Any, request: int) -> str:
        pending = becomes(old.replica[p][b].pending, new.replica[p][b].pending)
        isr, error = new.replica[p][b].isr, self.error_in_words(old, p, b, request)
        return f"{b} is told {error}: it rolls back to ISR {isr}, pending {pending}"

    @action(p=any_partition, b=broker, request=any_request, actor="b")
    def retry_alter_isr(self, s: State, p: int, b: Any, request: int) -> None:
        """A response is the error NOT_CONTROLLER or STALE_BROKER_EPOCH. The leader asks again."""
        self.answered(s, p, b, request, *RETRIED).stage = "asked"

    def describe_retry_alter_isr(self, old: Any, new: Any, p: int, b: Any, request: int) -> str:
        one = old.alteration[p][b][request]
        return f"{b} is told {self.error_in_words(old, p, b, request)}, and asks again for ISR {one.isr}"

    @action(p=any_partition, b=broker, request=any_request, actor="b")
    def await_later_version(self, s: State, p: int, b: Any, request: int) -> None:
        """A response says that a later version exists: the ISR stays pending until the leader learns that version."""
        one = s.alteration[p][b][request]
        has_news = one_of(one.stage, AWAITING_NEWS)
        if self.says_version:
            has_news = has_news | ((one.stage == "success") & ~self.is_news(s, p, b, request))
        s.require(has_news, self.is_expected(s, p, b, request))
        s.alteration[p][b][request] = self.no_alteration()

    def describe_await_later_version(self, old: Any, new: Any, p: int, b: Any, request: int) -> str:
        pending, error = new.replica[p][b].pending, self.error_in_words(old, p, b, request)
        return f"{b} is told {error}: something later was decided, and until it hears of it, {pending} is pending"

    # --- when the high watermark is looked at -----------------------------------------------------------------------

    def note_fetch(self, s: State, p: int, leader: Any, follower: Any) -> None:
        super().note_fetch(s, p, leader, follower)
        if self.commits_on_events:
            s.replica[p][leader].looks = True

    def append_as(self, s: State, p: int, b: Any, i: Any, has_it: Any = False) -> None:
        super().append_as(s, p, b, i, has_it)
        if self.commits_on_events:
            s.replica[p][b].looks = True

    @action(p=any_partition, b=broker, actor="b")
    def commit(self, s: State, p: int, b: Any) -> None:
        """The leader raises its high watermark to the least log end of awaited replicas, and acknowledges records."""
        super().commit(s, p, b)
        if self.commits_on_events:
            s.replica[p][b].looks = False

    @action(p=any_partition, b=broker, actor="b", where=lambda m: m.commits_on_events)
    def leave_high_watermark(self, s: State, p: int, b: Any) -> None:
        """The leader cannot raise its high watermark. It tries again after an event, such as a fetch or a write."""
        replica = s.replica[p][b]
        s.require(replica.looks, self.leads(s, p, b), self.end_to_commit(s, p, b) <= replica.high_watermark)
        replica.looks = False

    def describe_leave_high_watermark(self, old: Any, new: Any, p: int, b: Any) -> str:
        who, waits = sentences.leader_in_words(self, old, p, b), asked(old, self.quorum_isr, p, b)
        passed = old.replica[p][b].high_watermark
        return f"{who} looks at its high watermark {passed} and leaves it: it waits for {waits}"
