"""The controller: it sees brokers come and go, elects leaders, and sends its decisions to brokers by direct RPC.

Requests travel in one FIFO channel for each controller and broker. A controller's crash empties its channels. A
broker's crash empties the channels to that broker only if `broker_epoch` is set (KIP-380).

Left out: batches of partitions in one ZooKeeper call, timeouts of unacknowledged requests, ExternalView for clients.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.designs import State, sentences
from isrcheck.model.designs.data_plane import DataPlane
from isrcheck.model.designs.logs import Logs
from isrcheck.model.designs.partition_state import PartitionState
from isrcheck.model.designs.replicas import any_partition
from isrcheck.model.language import (
    action,
    becomes,
    broker,
    enum,
    every,
    flag,
    implies,
    listed,
    none,
    number,
    optional,
    per,
    record,
    sequence,
    set_of,
    setting,
    some,
    when,
)


def any_controller(m: Any) -> Any:
    """The domain of controllers: all brokers or, without failover, only the number 0."""
    return broker if m.controller_failover else number(0, 0)


def any_place(m: Any) -> Any:
    """The domain of the places in a channel."""
    return number(0, m.channel_size - 1)


class Controller(PartitionState, DataPlane, Logs):
    """Elections of leaders and of controllers, and the channels to brokers."""

    abstract = True

    channel_size = setting(
        2,
        at_least=1,
        at_most=4,
        meaning="requests that may be in flight from a controller to a broker; the sender blocks while the channel is "
        "full",
        bound=lambda m, s: some(s.channel[c][b].is_full for c in m.controllers for b in m.brokers),
    )
    unclean = setting(False, meaning="if no member of the ISR is live, any live replica may be elected (KIP-106)")
    no_leader_isr = setting(
        "keep",
        choices=("keep", "empty"),
        meaning="the ISR that is written when nobody can lead. keep: the last ISR; empty: an empty ISR (KAFKA-708)",
    )
    preferred_election = setting(False, meaning="the controller may make broker 0 leader again, if it is in the ISR")
    controller_write = setting(
        "atomic",
        choices=("atomic", "conditional", "unconditional"),
        meaning="how the controller changes the LeaderAndISR path. atomic: it reads and writes in one step; "
        "conditional: it reads, then writes if the version is still the same, else tries again; unconditional: it "
        "reads, then writes",
    )
    controller_failover = setting(False, meaning="controllers are brokers, and may not notice that they are deposed")
    max_controller_epoch = setting(
        1,
        at_least=1,
        at_most=3,
        meaning="times that a controller may be elected",
        bound=lambda m, s: s.controller_epoch == m.max_controller_epoch if m.controller_failover else False,
    )
    controller_epoch_guard = setting(True, meaning="ZooKeeper refuses writes of a deposed controller (KAFKA-6082)")
    broker_epoch = setting(
        True,
        meaning="the controller sees each restart of a broker, and requests from before the restart do not count "
        "(KIP-380)",
    )
    init_flag = setting(
        False, meaning="the first LeaderAndISR of a new controller has the flag INIT and names all partitions"
    )

    # --- variables --------------------------------------------------------------------------------------------------

    @property
    def controllers(self) -> tuple[Any, ...]:
        return self.brokers if self.controller_failover else (0,)

    @property
    def stops_replicas(self) -> bool:
        """Whether the controller sends requests other than LeaderAndISR, such as StopReplica."""
        return False

    @property
    def reads_first(self) -> bool:
        return bool(self.controller_write != "atomic")

    def request_fields(self) -> dict[str, Any]:
        """The fields of a request; fields that the settings do not need are absent."""
        found = self.decision()
        if self.stops_replicas:
            found["kind"] = enum("leader-and-isr", "stop-replica", "delete-replica", "not-in-init")
        if self.partitions > 1:
            found["partition"] = any_partition(self)
        if self.controller_failover:
            found["controller_epoch"] = number(0, self.max_controller_epoch)
        return found

    def variables(self) -> dict[str, Any]:
        """Adds what each controller has seen, the channels and, with failover, which broker is the controller."""
        controllers, partition = any_controller(self), any_partition(self)
        request = record(**self.request_fields())
        found = {
            **super().variables(),
            "seen_live": per(controllers, per(partition, set_of(broker))),
            "channel": per(controllers, per(broker, sequence(request, self.channel_size))),
        }
        if self.reads_first:
            read = record(done=flag, live=set_of(broker), **self.decision())
            found["read"] = per(controllers, per(partition, read))
        if self.controller_failover:
            epoch = number(0, self.max_controller_epoch)
            found["controller"] = optional(broker)
            found["controller_epoch"] = epoch
            found["acts"] = per(broker, flag)
            found["own_controller_epoch"] = per(broker, epoch)
            found["heard_controller_epoch"] = per(broker, epoch)
        return found

    def initial(self, s: State) -> None:
        super().initial(s)
        for c in self.controllers:
            s.seen_live[c] = [set(self.brokers) for _ in self.all_partitions]
        if self.controller_failover:
            s.controller = self.broker(0)
            s.acts[self.broker(0)] = True

    # --- words ------------------------------------------------------------------------------------------------------

    def has_room(self, s: State) -> Any:
        return super().has_room(s) & ~s.controller.is_none if self.controller_failover else super().has_room(s)

    def acting(self, s: State, c: Any) -> Any:
        """Whether a controller believes that it is the current one, and ZooKeeper accepts its writes."""
        if not self.controller_failover:
            return True
        acts = s.acts[c] & self.is_up(s, c)
        return acts & (s.controller == c) if self.controller_epoch_guard else acts

    def is_controller(self, s: State, c: Any) -> Any:
        """Whether a controller is the current one. No step waits for a deposed one to see that a broker is gone."""
        return s.controller == c if self.controller_failover else True

    def assigned(self, s: State, p: int, brokers: Any) -> Any:
        """Those of the given brokers that are replicas of a partition."""
        return brokers

    def request(self, s: State, c: Any, p: int, decision: Any, kind: str = "leader-and-isr") -> dict[str, Any]:
        """A request of a controller about a partition."""
        found = dict(decision)
        if self.stops_replicas:
            found["kind"] = kind
        if self.partitions > 1:
            found["partition"] = p
        if self.controller_failover:
            found["controller_epoch"] = s.own_controller_epoch[c]
        return found

    def without_decision(self, epoch: Any = 0) -> dict[str, Any]:
        """The decision in a request that names no leader."""
        return {"leader": none, "isr": set(), "epoch": epoch, "version": 0}

    def send(self, s: State, c: Any, b: Any, *requests: tuple[Any, dict[str, Any]]) -> None:
        """Appends to a channel each request whose condition is true. Requires that the channel has room for it."""
        channel = s.channel[c][b]
        for condition, request in requests:
            s.require(s.room(~(condition & channel.is_full)))
            channel = when(condition, channel.appended(request), channel)
        s.channel[c][b] = channel

    # --- leaders ----------------------------------------------------------------------------------------------------

    def known_to(self, s: State, c: Any, p: int) -> tuple[Any, Any]:
        """The state and the live brokers from which a controller decides: the current ones, or those read earlier."""
        return (s.read[c][p], s.read[c][p].live) if self.reads_first else (s.state[p], s.live)

    def sees_a_change(self, s: State, c: Any, p: int) -> Any:
        """Whether a controller may decide about a partition because /brokers/ids has changed."""
        if self.reads_first:
            return self.acting(s, c) & s.read[c][p].done & self.has_path(s, p)
        return self.acting(s, c) & (s.live != s.seen_live[c][p]) & self.has_path(s, p)

    def decide(self, s: State, c: Any, p: int, leader: Any, isr: Any, changed: Any) -> None:
        """If `changed`, writes leader and ISR, and sends them to all live replicas.

        Otherwise, sends them only to the live replicas that the controller has not seen as live before.
        """
        known, live = self.known_to(s, c, p)
        if self.controller_write == "conditional":
            s.require(implies(changed, s.state[p].version == known.version))
        recipients = self.assigned(s, p, live)
        concerned = {b: recipients.has(b) & (changed | ~s.seen_live[c][p].has(b)) for b in self.brokers}
        self.write_decision(s, c, p, known, (leader, isr), changed, concerned)
        s.seen_live[c][p] = live
        if self.reads_first:
            self.forget_read(s, c, p)

    def write_decision(
        self, s: State, c: Any, p: int, known: Any, choice: tuple[Any, Any], changed: Any, notified: dict[Any, Any]
    ) -> None:
        """Writes a leader and an ISR if `changed`, and sends them to each broker for which `notified` is true."""
        state, new_epoch = s.state[p], self.begins_an_epoch(s, p, known, choice, changed)
        s.require(s.room(implies(new_epoch, known.epoch < self.max_leader_epoch)))
        s.require(s.room(implies(changed, self.has_version(s, p))))
        decision = {
            "leader": choice[0],
            "isr": choice[1],
            "epoch": when(new_epoch, known.epoch + 1, known.epoch),
            "version": when(changed, self.next_version(s, p), known.version),
        }
        for b in self.brokers:
            self.send(s, c, b, (notified[b], self.request(s, c, p, decision)))
        s.state[p] = when(changed, decision, state) if self.reads_first else decision

    def begins_an_epoch(self, s: State, p: int, known: Any, choice: tuple[Any, Any], changed: Any) -> Any:
        """Whether a decision begins a new leader epoch: here whenever the leader or the ISR changes."""
        return changed

    def lifeline(self, actor: str, parameters: dict[str, Any]) -> str:
        """The lane that shows an actor in a drawing. Each controller that is a broker has its own lane."""
        return f"controller {parameters['c']}" if actor == "controller" and self.controller_failover else actor

    def sent_in_words(self, old: Any, new: Any, c: Any) -> str:
        """Says to which brokers a controller has sent requests."""
        recipients = [b for b in self.brokers if len(new.channel[c][b]) > len(old.channel[c][b])]
        return f"; it tells {listed(recipients)}" if recipients else ""

    def decision_in_words(self, old: Any, new: Any, c: Any, p: int, leads: str) -> str:
        """Says what a controller decides when brokers come and go."""
        live = old.read[c][p].live if self.reads_first else old.live
        who, place = sentences.controller_in_words(self, old, c), f" for partition {p}" if self.partitions > 1 else ""
        sees = f"{who} sees live brokers {live}{place}: {leads}"
        wrote = "" if old.state[p] == new.state[p] else f"; {sentences.state_in_words(old, new, p)}"
        if wrote and self.reads_first and old.read[c][p].epoch != old.state[p].epoch:
            wrote += f" (it had read epoch {old.read[c][p].epoch}, so the leader epoch is {new.state[p].epoch})"
        return f"{sees}{wrote}{self.sent_in_words(old, new, c)}"

    @action(c=any_controller, p=any_partition, actor="controller", where=lambda m: m.reads_first)
    def read_leader_and_isr(self, s: State, c: Any, p: int) -> None:
        """Brokers came or went: the controller reads the live brokers and the LeaderAndISR path, to decide later."""
        s.require(self.believes(s, c), self.has_path(s, p), s.live != s.seen_live[c][p], ~s.read[c][p].done)
        state = s.state[p]
        path = {"leader": state.leader, "isr": state.isr, "epoch": state.epoch, "version": state.version}
        s.read[c][p] = {"done": True, "live": s.live, **path}

    def describe_read_leader_and_isr(self, old: Any, new: Any, c: Any, p: int) -> str:
        read, who = new.read[c][p], sentences.controller_in_words(self, old, c)
        leader = "no leader" if read.leader is None else f"leader {read.leader}"
        path = f"({leader}, ISR {read.isr}, epoch {read.epoch}, version {read.version}) and live brokers {read.live}"
        return f"{who} reads the LeaderAndISR path{sentences.of_partition(self, p)} {path}"

    def believes(self, s: State, c: Any) -> Any:
        """Whether a broker believes that it is the controller."""
        return s.acts[c] & self.is_up(s, c) if self.controller_failover else True

    @action(c=any_controller, p=any_partition, actor="controller", where=lambda m: m.controller_write == "conditional")
    def read_again(self, s: State, c: Any, p: int) -> None:
        """The controller's write fails because the version has changed since its read; the controller reads again."""
        s.require(self.believes(s, c), s.read[c][p].done)
        s.require(implies(self.has_path(s, p), s.state[p].version != s.read[c][p].version))
        self.forget_read(s, c, p)

    def describe_read_again(self, old: Any, new: Any, c: Any, p: int) -> str:
        there = f"version {old.state[p].version} is not {old.read[c][p].version}, which it has read"
        who = sentences.controller_in_words(self, old, c)
        return f"ZooKeeper refuses what {who} would write{sentences.of_partition(self, p)}: {there}"

    def forget_read(self, s: State, c: Any, p: int) -> None:
        s.read[c][p] = {"done": False, "live": set(), **self.without_decision()}

    def candidates(self, s: State, p: int, state: Any, live: Any) -> Any:
        """The replicas that may be elected: the live members of the ISR.

        If there are none and `unclean` is set, all live replicas may be elected.
        """
        inside = state.isr & live
        return when(inside.is_empty, self.assigned(s, p, live), inside) if self.unclean else inside

    @action(c=any_controller, p=any_partition, leader=broker, actor="controller")
    def on_broker_change(self, s: State, c: Any, p: int, leader: Any) -> None:
        """Brokers came or went: a live leader stays, or a live member of the ISR leads; dead brokers leave the ISR.

        If no member of the ISR is live and elections may be unclean, any live replica leads, as the only member of the
        ISR.
        """
        state, live = self.known_to(s, c, p)
        inside = state.isr & live
        s.require(self.sees_a_change(s, c, p))
        possible = self.candidates(s, p, state, live).has(leader)
        s.require(when(live.has(state.leader), state.leader == leader, possible))
        changed = ~live.has(state.leader) | ~(state.isr <= live)
        self.decide(s, c, p, leader, when(inside.is_empty, {leader}, inside), changed)

    def describe_on_broker_change(self, old: Any, new: Any, c: Any, p: int, leader: Any) -> str:
        known = old.read[c][p] if self.reads_first else old.state[p]
        outside = "" if leader in known.isr else ", which is not in the ISR,"
        leads = f"{leader}{outside} still leads" if known.leader == leader else f"{leader}{outside} is to lead"
        return self.decision_in_words(old, new, c, p, leads)

    @action(c=any_controller, p=any_partition, actor="controller")
    def on_broker_change_without_leader(self, s: State, c: Any, p: int) -> None:
        """Brokers came or went and nobody can lead: the leader becomes -1."""
        state, live = self.known_to(s, c, p)
        s.require(self.sees_a_change(s, c, p), ~live.has(state.leader))
        s.require(self.candidates(s, p, state, live).is_empty)
        isr = state.isr if self.no_leader_isr == "keep" else state.isr - set(self.brokers)
        self.decide(s, c, p, none, isr, ~state.leader.is_none)

    def describe_on_broker_change_without_leader(self, old: Any, new: Any, c: Any, p: int) -> str:
        return self.decision_in_words(old, new, c, p, "nobody can lead")

    @action(
        c=any_controller, p=any_partition, actor="controller", environment=True, where=lambda m: m.preferred_election
    )
    def on_preferred_replica_election(self, s: State, c: Any, p: int) -> None:
        """The controller gives the lead to the preferred replica, broker 0, if that broker is live and in the ISR."""
        preferred, state = self.broker(0), s.state[p]
        s.require(self.acting(s, c), state.leader != preferred, state.isr.has(preferred), s.live.has(preferred))
        s.require(s.live == s.seen_live[c][p], self.has_path(s, p))
        recipients = self.assigned(s, p, s.live)
        self.write_decision(s, c, p, state, (preferred, state.isr), True, {b: recipients.has(b) for b in self.brokers})

    def describe_on_preferred_replica_election(self, old: Any, new: Any, c: Any, p: int) -> str:
        who, state = sentences.controller_in_words(self, old, c), sentences.state_in_words(old, new, p)
        return f"{who} gives the lead{sentences.of_partition(self, p)} back to {self.broker(0)}: {state}"

    # --- controllers ------------------------------------------------------------------------------------------------

    @action(c=broker, actor="c", where=lambda m: m.controller_failover)
    def elect_controller(self, s: State, c: Any) -> None:
        """A broker creates /controller. It informs all live brokers later and, with `init_flag`, also in this step."""
        s.require(s.controller.is_none, s.live.has(c), self.is_up(s, c))
        s.require(s.room(s.controller_epoch < self.max_controller_epoch))
        epoch = s.controller_epoch + 1
        self.take_over(s, c, epoch)
        s.controller = c
        s.acts[c] = True
        s.own_controller_epoch[c] = epoch
        s.controller_epoch = epoch

    def describe_elect_controller(self, old: Any, new: Any, c: Any) -> str:
        epoch = becomes(old.controller_epoch, new.controller_epoch)
        return f"{c} creates /controller and is the controller: controller epoch {epoch}"

    def take_over(self, s: State, c: Any, epoch: Any) -> None:
        """Sets the state with which a new controller begins, and sends INIT if `init_flag` (on_controller_failover)."""
        s.seen_live[c] = [set() for _ in self.all_partitions]
        if self.reads_first:
            for p in self.all_partitions:
                self.forget_read(s, c, p)
        if self.init_flag:
            for b in self.brokers:
                said = [x for p in self.all_partitions for x in self.said_by_init(s, c, p, b)]
                now = {"controller_epoch": epoch}
                self.send(s, c, b, *((s.live.has(b) & condition, {**request, **now}) for condition, request in said))

    def said_by_init(self, s: State, c: Any, p: int, b: Any) -> list[tuple[Any, dict[str, Any]]]:
        """The requests with INIT to a broker about a partition, each with the condition under which it is sent.

        A request has the leader and the ISR, or says that INIT does not name the broker's replica.
        """
        state = s.state[p]
        path = {"leader": state.leader, "isr": state.isr, "epoch": state.epoch, "version": state.version}
        if not self.stops_replicas:
            return [(True, self.request(s, c, p, path))]
        named = self.has_path(s, p) & self.is_assigned(s, p, b)
        unnamed = self.request(s, c, p, self.without_decision(), "not-in-init")
        return [(named, self.request(s, c, p, path)), (~named, unnamed)]

    @action(c=broker, actor="c", where=lambda m: m.controller_failover)
    def resign_as_controller(self, s: State, c: Any) -> None:
        """A deposed controller notices that it is deposed."""
        s.require(s.acts[c], s.controller != c)
        s.acts[c] = False
        if self.reads_first:
            for p in self.all_partitions:
                self.forget_read(s, c, p)

    def describe_resign_as_controller(self, old: Any, new: Any, c: Any) -> str:
        return f"{c} notices that it is the controller no more, and resigns"

    def expire(self, s: State, b: Any) -> None:
        super().expire(s, b)
        if self.controller_failover:
            s.controller = when(s.controller == b, none, s.controller)

    def begin_session(self, s: State, b: Any) -> None:
        """Registers a broker.

        With `broker_epoch`, requires that the current controller has seen that the broker was gone, and drops the
        requests in flight to the broker.
        """
        if self.broker_epoch:
            s.require(~s.live.has(b))
            for c in self.controllers:
                unseen = every(implies(self.has_path(s, p), ~s.seen_live[c][p].has(b)) for p in self.all_partitions)
                s.require(implies(self.acting(s, c) & self.is_controller(s, c), unseen))
                s.channel[c][b] = []
        s.live = s.live | {b}

    def stop(self, s: State, b: Any, kept: Any = None) -> None:
        super().stop(s, b, kept)
        if self.controller_failover:
            s.acts[b] = False
            s.own_controller_epoch[b] = 0
            s.heard_controller_epoch[b] = 0
            for other in self.brokers:
                s.channel[b][other] = []
            if self.reads_first:
                for p in self.all_partitions:
                    self.forget_read(s, b, p)
        if self.broker_epoch:
            for c in self.controllers:
                if not self.controller_failover or c != b:
                    s.channel[c][b] = []
