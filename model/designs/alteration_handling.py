"""How a controller handles AlterIsr, and how a leader hears of an ISR that it did not ask for.

Two kinds of controllers were built. The *ZooKeeper* controller answers a leader by response alone; what it decides
itself takes a new leader epoch. The *KRaft* controller writes a metadata log that every broker reads, so that a leader
also hears of each new ISR by a command in its own leader epoch; there only a new leader takes a new one. The text of
KIP-497 is a third way (`answer`): the controller says at once that it has the request, writes later, and the leader
hears of the outcome by LeaderAndIsr.

A deposed controller that has not noticed answers from its *view*: what it knew when another was elected.

Left out: the metadata log's own replication; a controller that is not a controller at all, and answers NOT_CONTROLLER.

Sources: KIP-497 with its comments, KIP-380, KAFKA-13790, KAFKA-14144, KAFKA-14154, KAFKA-15021; the order of checks is
that of Kafka's two controllers after KAFKA-14154.
"""

from __future__ import annotations

from typing import Any

from model.designs.alterations import ERRORS, Alterations, any_request
from model.designs.controller import any_controller
from model.designs.logs import any_partition
from model.language import action, broker, every, implies, none, number, optional, per, record, setting, when


class AlterationHandling(Alterations):
    """A controller's side of AlterIsr."""

    abstract = True

    controller_kind = setting(
        "zookeeper",
        choices=("zookeeper", "kraft"),
        meaning="the controller that was built upon ZooKeeper, or upon a metadata log",
    )
    answer = setting(
        "after-write",
        choices=("after-write", "before-write"),
        meaning="when the controller answers AlterIsr: with the outcome, as was built; or at once, as in the KIP's text",
    )
    failover_raises_version = setting(
        True,
        meaning="answer = before-write: a new controller writes each partition's state at a new version, since requests "
        "that the last one accepted are lost with it",
    )
    idempotent_check = setting(
        True, meaning="controller_kind = zookeeper: a request for the ISR that there is succeeds (KAFKA-14144)"
    )
    ahead_check = setting(
        True,
        meaning="a controller that knows less than the leader says NOT_CONTROLLER, not FENCED_LEADER_EPOCH, "
        "INVALID_ISR_VERSION or success (KAFKA-14154)",
    )
    sender_epoch_check = setting(
        True, meaning="requests name the leader's broker epoch, and those of a former life are refused (KIP-380)"
    )
    controllers_in_order = setting(
        True, meaning="no leader asks an older controller than the last that it has asked"
    )
    epoch_bump_on_shrink = setting(
        False, meaning="controller_kind = kraft: a smaller ISR takes a new leader epoch (before KAFKA-15021)"
    )
    version_is_an_epoch = setting(
        False,
        meaning="brokers take a command of a later version for one of a new leader epoch (before KAFKA-13790)",
    )

    # --- variables --------------------------------------------------------------------------------------------------

    @property
    def tells_by_command(self) -> bool:
        """Whether a leader hears of its new ISR by a command."""
        return bool(self.controller_kind == "kraft" or self.answer == "before-write")

    @property
    def names_holder(self) -> bool:
        return bool(self.controller_failover and self.answer == "before-write")

    def alteration_fields(self) -> dict[str, Any]:
        return {**super().alteration_fields(), **({"holder": optional(broker)} if self.names_holder else {})}

    def no_alteration(self) -> dict[str, Any]:
        return {**super().no_alteration(), **({"holder": none} if self.names_holder else {})}

    def variables(self) -> dict[str, Any]:
        """Besides, what deposed controllers know, and which controller each leader has asked."""
        found = super().variables()
        if self.controller_failover:
            view = record(**self.decision())
            found["view"] = per(broker, per(any_partition(self), view))
            if self.controllers_in_order:
                found["asked_controller_epoch"] = per(broker, number(0, self.max_controller_epoch))
        return found

    # --- what a controller knows ------------------------------------------------------------------------------------

    def is_latest(self, s: Any, c: Any) -> Any:
        """Whether no other controller was elected after this one."""
        return s.own_controller_epoch[c] == s.controller_epoch if self.controller_failover else True

    def known(self, s: Any, c: Any, p: int, field: str) -> Any:
        """A field of a partition's state as a controller knows it."""
        now = getattr(s.state[p], field)
        return when(self.is_latest(s, c), now, getattr(s.view[c][p], field)) if self.controller_failover else now

    def take_over(self, s: Any, c: Any, epoch: Any) -> None:
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

    @action(c=broker, actor="c")
    def resign_as_controller(self, s: Any, c: Any) -> None:
        """A deposed controller notices; what it had accepted and not written is lost."""
        if not self.controller_failover:
            return
        super().resign_as_controller(s, c)
        self.forget_view(s, c)
        self.lose_accepted(s, c)

    def forget_view(self, s: Any, c: Any) -> None:
        for p in self.all_partitions:
            s.view[c][p] = self.without_decision()

    def lose_accepted(self, s: Any, c: Any, stopped: Any = None) -> None:
        """What a controller has accepted is lost; alterations of a broker that stops are of a former life now."""
        for p in self.all_partitions:
            for leader in self.brokers:
                for i in self.all_requests:
                    one = s.alteration[p][leader][i]
                    stops = stopped is not None and leader == stopped
                    if self.names_holder:
                        held = (one.stage == "accepted") & (one.holder == c)
                        for name, nothing in self.no_alteration().items():
                            kept = one.stage != "none" if stops and name == "former" else getattr(one, name)
                            setattr(one, name, when(held, nothing, kept))
                    elif stops:
                        one.former = one.stage != "none"

    def stop(self, s: Any, b: Any, kept: Any = None) -> None:
        super().stop(s, b, kept)
        self.lose_accepted(s, b, stopped=b)
        if self.controller_failover:
            self.forget_view(s, b)
            if self.controllers_in_order:
                s.asked_controller_epoch[b] = 0

    def begin_life(self, s: Any, b: Any) -> None:
        super().begin_life(s, b)
        if not self.marks_bounces:
            return
        for p in self.all_partitions:
            for leader in self.brokers:
                for i in self.all_requests:
                    if leader != b:
                        one = s.alteration[p][leader][i]
                        one.bounced = when(one.isr.has(b), one.bounced | {b}, one.bounced)

    # --- what is wrong with a request -------------------------------------------------------------------------------

    def refusals(self, s: Any, c: Any, p: int, b: Any, i: int) -> list[tuple[Any, str]]:
        """Conditions and what is answered where one holds, in the order in which the controller looks at them."""
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
        # KRaft looks at the sender first; with ZooKeeper it must be in the ISR that the request asks for.
        misfit = [(leader != b, "invalid-request")]
        old = [(one.version != version, "invalid-isr-version")]
        if self.controller_kind == "zookeeper" and self.idempotent_check and self.answer == "after-write":
            old.insert(0, ((leader == b) & (one.isr == self.known(s, c, p, "isr")), "success"))
        found += [*misfit, *old, (~self.is_of_replicas(s, p, one.isr), "invalid-request")]
        found += self._refused_members(s, c, p, one)
        if self.controller_failover:
            found.append((~self.acting(s, c), "not-controller"))
            moved = (s.state[p].version != one.version) | (s.state[p].epoch != one.epoch)
            found.append((moved, "invalid-isr-version"))
        return found

    def _refused_sender(self, s: Any, c: Any, p: int, b: Any, one: Any) -> list[tuple[Any, str]]:
        """A request of a former life; with ZooKeeper a broker without a session has no broker epoch."""
        if not self.sender_epoch_check:
            return []
        found = [one.former] if self.has_crashes else []
        if self.controller_kind == "zookeeper":
            found.append(~s.seen_live[c][p].has(b))
        return [(condition, "stale-broker-epoch") for condition in found]

    def _refused_members(self, s: Any, c: Any, p: int, one: Any) -> list[tuple[Any, str]]:
        """Members that are fenced or stopping as far as the controller has seen, and those that have bounced."""
        found = [~(one.isr <= s.seen_live[c][p])] if self.eligible_check else []
        if self.marks_bounces:
            found.append(~one.bounced.is_empty)
        return [(condition, "ineligible-replica") for condition in found]

    def is_of_replicas(self, s: Any, p: int, isr: Any) -> Any:
        return isr <= s.assignment[p].replicas if self.reassigns else isr <= set(self.brokers)

    def asked(self, s: Any, c: Any, p: int, b: Any, i: int) -> Any:
        """A request that a controller handles now; it has seen which brokers there are."""
        one = s.alteration[p][b][i]
        s.require(one.stage == "asked", self.believes(s, c), ~s.seen_live[c][p].is_empty)
        if self.controller_failover and self.controllers_in_order:
            mine, present = s.own_controller_epoch[c], ~one.former if self.has_crashes else True
            s.require(implies(present, mine >= s.asked_controller_epoch[b]))
            s.asked_controller_epoch[b] = when(present, mine, s.asked_controller_epoch[b])
        return one

    def is_in_order(self, s: Any, c: Any, p: int, b: Any, i: int) -> Any:
        """Whether nothing is wrong with a request."""
        return every(~condition for condition, _ in self.refusals(s, c, p, b, i))

    # --- the controller handles a request ---------------------------------------------------------------------------

    @action(c=any_controller, p=any_partition, b=broker, request=any_request, actor="controller")
    def grant_alter_isr(self, s: Any, c: Any, p: int, b: Any, request: int) -> None:
        """The controller alters the ISR as a leader asks, at the next version, and says so."""
        if self.answer == "before-write":
            return
        one = self.asked(s, c, p, b, request)
        s.require(self.is_in_order(s, c, p, b, request))
        s.require(implies(self.completes_reassignment(s, p, b, one.isr), False))
        version, later_epoch = self.write_altered(s, c, p, b, one.isr)
        one.stage = when(later_epoch, "success-in-later-epoch", "success")
        if self.says_version:
            one.said_version = version

    def write_altered(self, s: Any, c: Any, p: int, b: Any, isr: Any) -> tuple[Any, Any]:
        """Writes an ISR that a leader asked for, and tells where commands tell; the version, and whether the epoch is new."""
        state = s.state[p]
        bumps: Any = False
        if self.controller_kind == "kraft" and self.epoch_bump_on_shrink:
            bumps = ~(state.isr <= isr)
        s.require(state.version < self.max_version, implies(bumps, state.epoch < self.max_leader_epoch))
        epoch, version = when(bumps, state.epoch + 1, state.epoch), state.version + 1
        decision = {"leader": state.leader, "isr": isr, "epoch": epoch, "version": version}
        if self.tells_by_command:
            for x in self.brokers:
                told: Any = True if x == b else bumps & s.live.has(x)
                if self.version_is_an_epoch:
                    told = True if x == b else s.live.has(x)
                self.send(s, c, x, (told, self.request(s, c, p, decision)))
        self.note_isr(s, p, isr)
        s.state[p] = decision
        return version, bumps

    def note_isr(self, s: Any, p: int, isr: Any) -> None:
        """What else the controller keeps when an ISR is written."""

    @action(c=any_controller, p=any_partition, b=broker, request=any_request, actor="controller")
    def confirm_alter_isr(self, s: Any, c: Any, p: int, b: Any, request: int) -> None:
        """The controller has the ISR that a leader asks for already, and says so at whatever version (KAFKA-14144)."""
        if self.controller_kind == "kraft" or not self.idempotent_check or self.answer == "before-write":
            return
        one = self.asked(s, c, p, b, request)
        s.require(self.first_refusal(s, c, p, b, request, "success"))
        one.stage = "success"
        if self.says_version:
            one.said_version = self.known(s, c, p, "version")

    def first_refusal(self, s: Any, c: Any, p: int, b: Any, i: int, *answers: str) -> Any:
        """Whether the first thing that the controller notices leads to one of some answers."""
        found: Any = False
        for condition, answer in reversed(self.refusals(s, c, p, b, i)):
            found = condition | found if answer in answers else ~condition & found
        return found

    @action(c=any_controller, p=any_partition, b=broker, request=any_request, actor="controller")
    def refuse_alter_isr(self, s: Any, c: Any, p: int, b: Any, request: int) -> None:
        """The controller answers a request with an error."""
        one = self.asked(s, c, p, b, request)
        s.require(self.first_refusal(s, c, p, b, request, *ERRORS))
        answer: Any = "none"
        for condition, code in reversed(self.refusals(s, c, p, b, request)):
            answer = when(condition, code, answer)
        one.stage = answer

    @action(c=any_controller, p=any_partition, b=broker, request=any_request, actor="controller")
    def accept_alter_isr(self, s: Any, c: Any, p: int, b: Any, request: int) -> None:
        """The controller says that it has a request, and will write the ISR later (the KIP's text)."""
        if self.answer == "after-write":
            return
        one = self.asked(s, c, p, b, request)
        s.require(self.is_in_order(s, c, p, b, request))
        one.stage = "accepted"
        if self.names_holder:
            one.holder = c

    def accepted(self, s: Any, c: Any, p: int, b: Any, i: int) -> tuple[Any, Any]:
        """A request that a controller has accepted, and whether it is still at the version that there is."""
        one, state = s.alteration[p][b][i], s.state[p]
        s.require(one.stage == "accepted", self.believes(s, c))
        if self.names_holder:
            s.require(one.holder == c)
        return one, (state.version == one.version) & (state.epoch == one.epoch) & self.has_path(s, p)

    @action(c=any_controller, p=any_partition, b=broker, request=any_request, actor="controller")
    def write_accepted_isr(self, s: Any, c: Any, p: int, b: Any, request: int) -> None:
        """The controller writes the ISR of a request that it has accepted, and tells the leader by LeaderAndIsr.

        It waits for members that are not eligible now.
        """
        if self.answer == "after-write":
            return
        one, fits = self.accepted(s, c, p, b, request)
        s.require(fits, self.acting(s, c), *(~x for x, _ in self._refused_members(s, c, p, one)))
        self.write_altered(s, c, p, b, one.isr)
        s.alteration[p][b][request] = self.no_alteration()

    @action(c=any_controller, p=any_partition, b=broker, request=any_request, actor="controller")
    def drop_accepted_isr(self, s: Any, c: Any, p: int, b: Any, request: int) -> None:
        """The controller drops a request that it has accepted: there is a later version, of which the leader hears."""
        if self.answer == "after-write":
            return
        _, fits = self.accepted(s, c, p, b, request)
        s.require(~fits)
        s.alteration[p][b][request] = self.no_alteration()

    # --- reassignment in KRaft --------------------------------------------------------------------------------------

    def completes_reassignment(self, s: Any, p: int, b: Any, isr: Any) -> Any:
        """Whether an ISR has all new replicas of a partition whose leader is not one of them."""
        if self.controller_kind == "zookeeper" or not self.reassignments:
            return False
        assignment = s.assignment[p]
        return (assignment.phase == "adding") & (assignment.target <= isr) & ~assignment.target.has(b)

    @action(c=any_controller, p=any_partition, b=broker, request=any_request, leader=broker, actor="controller")
    def complete_reassignment(self, s: Any, c: Any, p: int, b: Any, request: int, leader: Any) -> None:
        """With the ISR that a leader asks for the reassignment is complete: a new replica leads, the old ones stop."""
        if self.controller_kind == "zookeeper" or not self.reassignments or self.answer == "before-write":
            return
        if b == leader:
            return
        one, assignment = self.asked(s, c, p, b, request), s.assignment[p]
        s.require(self.is_in_order(s, c, p, b, request), self.completes_reassignment(s, p, b, one.isr))
        s.require(assignment.target.has(leader), s.live.has(leader))
        leaving = assignment.replicas - assignment.target
        self.tell(s, c, p, leader, one.isr & assignment.target, assignment.target, leaving)
        self._assign(s, p, assignment.target)
        one.stage = "new-leader-elected"

    # --- commands in the same leader epoch --------------------------------------------------------------------------

    def begins_an_epoch(self, s: Any, p: int, known: Any, choice: tuple[Any, Any], changed: Any) -> Any:
        """With ZooKeeper whatever the controller changes does, in KRaft a new leader; and a smaller ISR, if so set."""
        leader, isr = choice
        other = ~known.leader.is_none if leader is none else known.leader != leader
        if self.controller_kind == "zookeeper":
            return changed & (other | (known.isr != isr))
        return changed & (other | ~(known.isr <= isr)) if self.epoch_bump_on_shrink else changed & other

    def decide(self, s: Any, c: Any, p: int, leader: Any, isr: Any, changed: Any) -> None:
        """A new controller has seen no broker yet: where requests may be lost with the last one, all is written anew."""
        if self.names_holder and self.failover_raises_version:
            changed = changed | s.seen_live[c][p].is_empty
        super().decide(s, c, p, leader, isr, changed)

    def is_later_version(self, s: Any, b: Any, p: int, request: Any) -> Any:
        """Whether a command says something later in the leader epoch that a broker knows."""
        replica = s.replica[p][b]
        later = (request.epoch == replica.epoch) & (request.version > replica.version)
        later = later & self.is_current(s, b, request)
        if self.has_topics and self.topic_id:
            later = later & (request.incarnation == s.incarnation[p][b])
        return later & (request.kind == "leader-and-isr") if self.stops_replicas else later

    def is_followed(self, s: Any, b: Any, p: int, request: Any) -> Any:
        followed = super().is_followed(s, b, p, request)
        if self.version_is_an_epoch and self.tells_by_command:
            return followed | self.is_later_version(s, b, p, request)
        return followed

    def changes_isr(self, s: Any, b: Any, p: int, request: Any) -> Any:
        """Whether a command tells a leader of another ISR in the epoch in which it leads already."""
        return (request.leader == b) & self.leads(s, p, b) & self.is_later_version(s, b, p, request)

    @property
    def adopts_by_command(self) -> bool:
        return self.tells_by_command and not self.version_is_an_epoch

    def is_old_news(self, s: Any, b: Any, p: int, request: Any) -> Any:
        found = super().is_old_news(s, b, p, request)
        return found & ~self.changes_isr(s, b, p, request) if self.adopts_by_command else found

    @action(c=any_controller, b=broker, p=any_partition, actor="b")
    def adopt_isr_by_command(self, s: Any, c: Any, b: Any, p: int) -> None:
        """On a command of a later version in its own epoch a leader adopts the ISR, and nothing is pending any more."""
        if not self.adopts_by_command:
            return
        request = self.command(s, c, b, p)
        s.require(self.changes_isr(s, b, p, request))
        s.replica[p][b].isr = request.isr
        self.adopt(s, p, b, request)
        self.forget_pending(s, p, b, looks=True)
        self.taken(s, c, b, request)

    @action(c=any_controller, b=broker, p=any_partition, actor="b")
    def skip_command(self, s: Any, c: Any, b: Any, p: int) -> None:
        """A broker reads two records of the metadata log as one: only what the later one says happens."""
        if self.controller_kind == "zookeeper":
            return
        s.require(self.is_up(s, b), s.channel[c][b].length >= 2)
        first, second = s.channel[c][b].first, s.channel[c][b].at(1)
        s.require(first.epoch <= second.epoch)
        if self.partitions > 1:
            s.require(first.partition == p, second.partition == p)
        if self.has_topics:
            s.require(first.incarnation == second.incarnation)
        if self.stops_replicas:
            s.require(first.kind == "leader-and-isr", second.kind == "leader-and-isr")
        self.taken(s, c, b, first)
