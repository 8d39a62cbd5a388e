"""How a controller handles AlterIsr.

The controller makes its checks of a request in a fixed order. It answers with the first error. If there is none, it
alters the ISR, immediately or later (setting `answer`). A deposed controller may not have noticed that it is deposed.
Then it answers from its *view*, which is the state that it knew when the next controller was elected.

Left out: requests to brokers that were never the controller. Such a broker would answer NOT_CONTROLLER.

Sources: KIP-497 with its comments, KIP-380, KAFKA-14140, KAFKA-14144, KAFKA-14154. The order of checks is that of
Kafka's controller with ZooKeeper after KAFKA-14154.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.designs import State, sentences
from isrcheck.model.designs.alterations import ERRORS, Alterations, any_arriving_request, one_of
from isrcheck.model.designs.controller import Controller, any_controller
from isrcheck.model.designs.replicas import any_partition
from isrcheck.model.language import action, asked, broker, every, implies, none, number, per, record, setting, when


class AlterationHandling(Alterations, Controller):
    """The controller's side of AlterIsr."""

    abstract = True

    failover_raises_version = setting(
        True,
        meaning="with answer = before-write: a new controller writes each partition's state at a new version, because "
        "the previous controller may have accepted changes that are lost",
    )
    idempotent_check = setting(
        True,
        meaning="with answer = after-write: a request succeeds if the requested ISR is already the current ISR "
        "(KAFKA-14144)",
    )
    ahead_check = setting(
        True,
        meaning="a controller that knows less than the leader answers NOT_CONTROLLER; if false, it answers "
        "FENCED_LEADER_EPOCH, INVALID_ISR_VERSION or success (KAFKA-14154)",
    )
    sender_epoch_check = setting(
        True,
        meaning="requests carry the broker epoch of the leader; the controller refuses requests with an earlier broker "
        "epoch (KIP-380)",
    )
    controllers_in_order = setting(
        True, meaning="a leader sends no request to a controller that is older than the last controller that it asked"
    )
    requests_in_order = setting(
        True,
        meaning="with late_requests: requests are handled in the order in which they were sent, one after the other",
    )

    # Defined in `controlled_shutdown` and `topics`.
    shutdowns: Any
    topic_id: Any

    # --- variables --------------------------------------------------------------------------------------------------

    def variables(self) -> dict[str, Any]:
        """Adds what deposed controllers know, and the epoch of the last controller that each leader has asked."""
        found = super().variables()
        if self.controller_failover:
            view = record(**self.decision())
            found["view"] = per(broker, per(any_partition(self), view))
            if self.controllers_in_order:
                found["asked_controller_epoch"] = per(broker, number(0, self.max_controller_epoch))
        return found

    # --- what a controller knows ------------------------------------------------------------------------------------

    def is_latest(self, s: State, c: Any) -> Any:
        """Whether no other controller was elected after this one."""
        return s.own_controller_epoch[c] == s.controller_epoch if self.controller_failover else True

    def known(self, s: State, c: Any, p: int, field: str) -> Any:
        """A field of a partition's state as a controller knows it."""
        now = getattr(s.state[p], field)
        return when(self.is_latest(s, c), now, getattr(s.view[c][p], field)) if self.controller_failover else now

    def take_over(self, s: State, c: Any, epoch: Any) -> None:
        super().take_over(s, c, epoch)
        self.lose_accepted(s, c)
        for p in self.all_partitions:
            state = s.state[p]
            for other in self.brokers:
                if other == c:
                    s.view[c][p] = self.without_decision()
                else:
                    deposed = s.acts[other] & self.is_latest(s, other)
                    now = {"leader": state.leader, "isr": state.isr, "epoch": state.epoch, "version": state.version}
                    s.view[other][p] = when(deposed, now, s.view[other][p])

    @action(c=broker, actor="c", where=lambda m: m.controller_failover)
    def resign_as_controller(self, s: State, c: Any) -> None:
        """A deposed controller notices that it is deposed; requests that it has accepted but not written are lost."""
        super().resign_as_controller(s, c)
        self.forget_view(s, c)
        self.lose_accepted(s, c)

    def describe_resign_as_controller(self, old: Any, new: Any, c: Any) -> str:
        return f"{c} notices that it is the controller no more, and resigns; what it had accepted is lost"

    def forget_view(self, s: State, c: Any) -> None:
        for p in self.all_partitions:
            s.view[c][p] = self.without_decision()

    def lose_accepted(self, s: State, c: Any, stopped: Any = None) -> None:
        """Drops the requests that controller `c` has accepted. Marks alterations of broker `stopped` as `former`."""
        for p in self.all_partitions:
            for leader in self.brokers:
                for i in self.all_places:
                    one = s.alteration[p][leader][i]
                    stops = stopped is not None and leader == stopped
                    if self.names_holder:
                        kept = {name: getattr(one, name) for name in self.no_alteration()}
                        if stops:
                            kept["former"] = one.stage != "none"
                        held = (one.stage == "accepted") & (one.holder == c)
                        s.alteration[p][leader][i] = when(held, self.no_alteration(), kept)
                    elif stops:
                        one.former = one.stage != "none"

    def stop(self, s: State, b: Any, kept: Any = None) -> None:
        super().stop(s, b, kept)
        self.lose_accepted(s, b, stopped=b)
        if self.controller_failover:
            self.forget_view(s, b)
            if self.controllers_in_order:
                s.asked_controller_epoch[b] = 0

    def decide(self, s: State, c: Any, p: int, leader: Any, isr: Any, changed: Any) -> None:
        """Decides. With `failover_raises_version` and `answer = before-write` a new controller always writes the state.

        It does so even if leader and ISR stay the same, because its predecessor may have promised a change. A
        controller is new if it has seen no broker yet.
        """
        if self.names_holder and self.failover_raises_version:
            changed = changed | s.seen_live[c][p].is_empty
        super().decide(s, c, p, leader, isr, changed)

    def begins_an_epoch(self, s: State, p: int, known: Any, choice: tuple[Any, Any], changed: Any) -> Any:
        """Whether a decision of the controller begins a leader epoch. It does if it changes the leader or the ISR."""
        leader, isr = choice
        other = ~known.leader.is_none if leader is none else known.leader != leader
        return changed & (other | (known.isr != isr))

    def write_altered(self, s: State, p: int, isr: Any) -> dict[str, Any]:
        """Writes an ISR that a leader asked for, at the next version, in the current leader epoch."""
        state = s.state[p]
        s.require(s.room(state.version < self.max_version))
        decision = {"leader": state.leader, "isr": isr, "epoch": state.epoch, "version": state.version + 1}
        s.state[p] = decision
        return decision

    # --- what is wrong with a request -------------------------------------------------------------------------------

    def refusals(self, s: State, c: Any, p: int, b: Any, i: int) -> list[tuple[Any, str]]:
        """The controller's checks in their order: pairs of a condition, and the answer if the condition is true."""
        one = s.alteration[p][b][i]
        leader, epoch, version = (self.known(s, c, p, name) for name in ("leader", "epoch", "version"))
        found: list[tuple[Any, str]] = [*self._refused_sender(s, c, p, b, one)]
        if self.has_topics:
            gone = ~s.topic[p].has_path
            unknown = gone | (one.incarnation != s.topic[p].incarnation) if self.topic_id else gone
            found.append((unknown, "unknown-topic-or-partition"))
        if self.ahead_check:
            found.append(((one.epoch > epoch) | (one.version > version), "not-controller"))
        found.append((one.epoch != epoch, "fenced-leader-epoch"))
        found.append((leader != b, "invalid-request"))
        if self.idempotent_check and self.answer == "after-write":
            found.append((one.isr == self.known(s, c, p, "isr"), "success"))
        found.append((one.version != version, "invalid-isr-version"))
        found.append((~self.is_of_replicas(s, p, one.isr), "invalid-request"))
        found += self._refused_members(s, c, p, one)
        if self.controller_failover:
            found.append((~self.acting(s, c), "not-controller"))
            moved = (s.state[p].version != one.version) | (s.state[p].epoch != one.epoch)
            found.append((moved, "invalid-isr-version"))
        return found

    def _refused_sender(self, s: State, c: Any, p: int, b: Any, one: Any) -> list[tuple[Any, str]]:
        """The refusals of requests that were sent before the broker restarted, or by a broker without a session.

        A broker without a session has no broker epoch.
        """
        if not self.sender_epoch_check:
            return []
        found = [one.former] if self.has_crashes else []
        gone = ~s.seen_live[c][p].has(b)
        found.append(gone & ~s.stopping.has(b) if self.shutdowns else gone)
        return [(condition, "stale-broker-epoch") for condition in found]

    def _refused_members(self, s: State, c: Any, p: int, one: Any) -> list[tuple[Any, str]]:
        """The refusal of an ISR with a member that the controller has seen to be fenced or stopping."""
        return [(~(one.isr <= s.seen_live[c][p]), "ineligible-replica")] if self.eligible_check else []

    def is_of_replicas(self, s: State, p: int, isr: Any) -> Any:
        return isr <= s.assignment[p].replicas if self.reassigns else isr <= set(self.brokers)

    def asked(self, s: State, c: Any, p: int, b: Any, i: int) -> Any:
        """The request that a controller handles now. Requires that the controller has seen the live brokers.

        Also requires what the settings `requests_in_order` and `controllers_in_order` say, if they are set.
        """
        one = s.alteration[p][b][i]
        s.require(one.stage == "asked", self.believes(s, c), ~s.seen_live[c][p].is_empty)
        if self.requests_in_order and i in self.all_requests:
            for late in self.all_places[self.requests_in_flight :]:
                s.require(~one_of(s.alteration[p][b][late].stage, ("asked", "accepted")))
        if self.controller_failover and self.controllers_in_order:
            mine, present = s.own_controller_epoch[c], ~one.former if self.has_crashes else True
            s.require(implies(present, mine >= s.asked_controller_epoch[b]))
            s.asked_controller_epoch[b] = when(present, mine, s.asked_controller_epoch[b])
        return one

    def is_in_order(self, s: State, c: Any, p: int, b: Any, i: int) -> Any:
        """Whether no condition in the list of `refusals` is true of a request."""
        return every(~condition for condition, _ in self.refusals(s, c, p, b, i))

    # --- the controller handles a request ---------------------------------------------------------------------------

    def handling_in_words(self, old: Any, c: Any, p: int, b: Any, request: int) -> str:
        """Says that a controller handles the request of a leader."""
        one, who = old.alteration[p][b][request], sentences.controller_in_words(self, old, c)
        return f"{who} handles the request of {b} for ISR {one.isr}"

    @action(
        c=any_controller,
        p=any_partition,
        b=broker,
        request=any_arriving_request,
        actor="controller",
        where=lambda m: m.answer != "before-write",
    )
    def grant_alter_isr(self, s: State, c: Any, p: int, b: Any, request: int) -> None:
        """The controller grants a request: it writes the ISR at the next version, and answers with this version."""
        one = self.asked(s, c, p, b, request)
        s.require(self.is_in_order(s, c, p, b, request))
        version = self.write_altered(s, p, one.isr)["version"]
        one.stage = "success"
        if self.says_version:
            one.said_version = version

    def describe_grant_alter_isr(self, old: Any, new: Any, c: Any, p: int, b: Any, request: int) -> str:
        state = sentences.state_in_words(old, new, p)
        return f"{self.handling_in_words(old, c, p, b, request)}: {state}"

    @action(
        c=any_controller,
        p=any_partition,
        b=broker,
        request=any_arriving_request,
        actor="controller",
        where=lambda m: m.idempotent_check and m.answer != "before-write",
    )
    def confirm_alter_isr(self, s: State, c: Any, p: int, b: Any, request: int) -> None:
        """The controller answers success to a request for the current ISR, even if its version is old (KAFKA-14144)."""
        one = self.asked(s, c, p, b, request)
        s.require(self.first_refusal(s, c, p, b, request, "success"))
        one.stage = "success"
        if self.says_version:
            one.said_version = self.known(s, c, p, "version")

    def describe_confirm_alter_isr(self, old: Any, new: Any, c: Any, p: int, b: Any, request: int) -> str:
        return f"{self.handling_in_words(old, c, p, b, request)}: success, since that is the ISR already"

    def first_refusal(self, s: State, c: Any, p: int, b: Any, i: int, *answers: str) -> Any:
        """Whether the first true condition in the list of `refusals` comes with one of the given answers."""
        found: Any = False
        for condition, answer in reversed(self.refusals(s, c, p, b, i)):
            found = condition | found if answer in answers else ~condition & found
        return found

    @action(c=any_controller, p=any_partition, b=broker, request=any_arriving_request, actor="controller")
    def refuse_alter_isr(self, s: State, c: Any, p: int, b: Any, request: int) -> None:
        """The controller answers a request with an error."""
        one = self.asked(s, c, p, b, request)
        s.require(self.first_refusal(s, c, p, b, request, *ERRORS))
        answer: Any = "none"
        for condition, code in reversed(self.refusals(s, c, p, b, request)):
            answer = when(condition, code, answer)
        one.stage = answer

    def describe_refuse_alter_isr(self, old: Any, new: Any, c: Any, p: int, b: Any, request: int) -> str:
        one, answer = old.alteration[p][b][request], new.alteration[p][b][request].stage
        epoch, version = (asked(old, self.known, c, p, name) for name in ("epoch", "version"))
        why = f", it has seen live brokers {old.seen_live[c][p]}" if answer == "ineligible-replica" else ""
        if one.version != version:
            why = f", version {one.version} is not {version}"
        if one.epoch != epoch:
            why = f", epoch {one.epoch} is not {epoch}"
        code = answer.upper().replace("-", "_")
        return f"{self.handling_in_words(old, c, p, b, request)}: refused with {code}{why}"

    @action(
        c=any_controller,
        p=any_partition,
        b=broker,
        request=any_arriving_request,
        actor="controller",
        where=lambda m: m.answer != "after-write",
    )
    def accept_alter_isr(self, s: State, c: Any, p: int, b: Any, request: int) -> None:
        """The controller accepts a request, and will write the ISR later (the KIP's text)."""
        one = self.asked(s, c, p, b, request)
        s.require(self.is_in_order(s, c, p, b, request))
        one.stage = "accepted"
        if self.names_holder:
            one.holder = c

    def describe_accept_alter_isr(self, old: Any, new: Any, c: Any, p: int, b: Any, request: int) -> str:
        return f"{self.handling_in_words(old, c, p, b, request)}: accepted, to be written later"

    def accepted(self, s: State, c: Any, p: int, b: Any, i: int) -> tuple[Any, Any]:
        """A request that a controller has accepted, and whether the request is still at the current version."""
        one, state = s.alteration[p][b][i], s.state[p]
        s.require(one.stage == "accepted", self.believes(s, c))
        if self.names_holder:
            s.require(one.holder == c)
        return one, (state.version == one.version) & (state.epoch == one.epoch) & self.has_path(s, p)

    @action(
        c=any_controller,
        p=any_partition,
        b=broker,
        request=any_arriving_request,
        actor="controller",
        where=lambda m: m.answer != "after-write",
    )
    def write_accepted_isr(self, s: State, c: Any, p: int, b: Any, request: int) -> None:
        """The controller writes an ISR that it has accepted, and sends it to the leader by LeaderAndIsr.

        The controller waits while a member is not eligible.
        """
        one, fits = self.accepted(s, c, p, b, request)
        s.require(fits, self.acting(s, c), *(~x for x, _ in self._refused_members(s, c, p, one)))
        self.send(s, c, b, (True, self.request(s, c, p, self.write_altered(s, p, one.isr))))
        s.alteration[p][b][request] = self.no_alteration()

    def describe_write_accepted_isr(self, old: Any, new: Any, c: Any, p: int, b: Any, request: int) -> str:
        who, isr = sentences.controller_in_words(self, old, c), old.alteration[p][b][request].isr
        state = sentences.state_in_words(old, new, p)
        return f"{who} writes ISR {isr}, for which {b} had asked: {state}{self.sent_in_words(old, new, c)}"

    @action(
        c=any_controller,
        p=any_partition,
        b=broker,
        request=any_arriving_request,
        actor="controller",
        where=lambda m: m.answer != "after-write",
    )
    def drop_accepted_isr(self, s: State, c: Any, p: int, b: Any, request: int) -> None:
        """The controller drops an accepted request because a later version exists, or because the topic is deleted."""
        _, fits = self.accepted(s, c, p, b, request)
        s.require(~fits)
        s.alteration[p][b][request] = self.no_alteration()

    def describe_drop_accepted_isr(self, old: Any, new: Any, c: Any, p: int, b: Any, request: int) -> str:
        who, one = sentences.controller_in_words(self, old, c), old.alteration[p][b][request]
        later = f"there is version {old.state[p].version} of epoch {old.state[p].epoch}"
        return f"{who} drops the request of {b} for ISR {one.isr} at version {one.version}: {later}"
