"""Partition reassignment: a partition moves from its old replicas (AR) to new ones (RAR), in steps.

The partition has its old and its new replicas until all new replicas are in the ISR. If the leader is not in RAR, a
replica in RAR is then elected. Last, the old replicas that are not in RAR leave the ISR and are stopped. The steps are
those of on_partitions_reassigned and of the page "KafkaController".

Sources: KIP-570, KAFKA-9672, KAFKA-13972, KAFKA-15665. Left out: several reassignments of one partition at a time, and
changes of a reassignment under way (KIP-455), except its cancellation.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from isrcheck.model.designs import State, sentences
from isrcheck.model.designs.controller import Controller, any_controller
from isrcheck.model.designs.replicas import any_partition
from isrcheck.model.language import action, becomes, broker, budget, enum, number, per, record, set_of, setting, when


class Leaving(NamedTuple):
    """Replicas that are stopped. The requests to stop have the leader epoch `epoch`, by default the new one."""

    replicas: Any
    epoch: Any = None


class Reassignment(Controller):
    """The steps of on_partitions_reassigned. Without `reassignments` there are none."""

    abstract = True

    assigned_at_start = setting(
        0, at_least=0, at_most=5, meaning="replicas of each partition in the initial state; 0: all brokers"
    )
    reassignments = budget(at_most=3, meaning="reassignments that an administrator asks for")
    cancellations = setting(False, meaning="a reassignment may be cancelled before a new replica is in the ISR")
    target_isr_check = setting(
        True,
        meaning="a reassignment completes only when all replicas of its target are in the ISR; if false, when all "
        "replicas that it adds are in the ISR (KAFKA-15665)",
    )
    target_leader_check = setting(
        True,
        meaning="at the end of a reassignment only a new replica in the ISR may be elected; if false, any live new "
        "replica, as in 0.8.0",
    )
    stop_replica_check = setting(
        "at-least",
        choices=("none", "greater", "at-least"),
        meaning="which StopReplica requests a broker obeys after a reassignment. none: all, from any controller; "
        "greater: those of a greater leader epoch (KIP-570); at-least: those of the same or a greater leader epoch "
        "(KAFKA-13972)",
    )
    reassignment_rounds = setting(
        1,
        at_least=1,
        at_most=2,
        meaning="1: replicas and ISR shrink in one step; 2: the leader first hears of the smaller replica set, while "
        "the old replicas are still in its ISR (KAFKA-9672)",
    )

    # --- variables --------------------------------------------------------------------------------------------------

    @property
    def reassigns(self) -> bool:
        return bool(self.reassignments or self.assigned_at_start)

    @property
    def stops_replicas(self) -> bool:
        return self.reassigns or super().stops_replicas

    @property
    def replicas_at_start(self) -> tuple[Any, ...]:
        return self.brokers[: self.assigned_at_start or self.replicas]

    def _replicas(self) -> dict[str, Any]:
        return {"replicas": set_of(broker)} if self.reassigns else {}

    def request_fields(self) -> dict[str, Any]:
        return {**super().request_fields(), **self._replicas()}

    def replica_fields(self) -> dict[str, Any]:
        return {**super().replica_fields(), **self._replicas()}

    def variables(self) -> dict[str, Any]:
        """Adds the current, old and new replicas of each partition, and the phase of its reassignment."""
        found = super().variables()
        if self.reassigns:
            three = {"replicas": set_of(broker), "old": set_of(broker), "target": set_of(broker)}
            phase = enum("none", "requested", "adding", "caught-up", "removing")
            found["assignment"] = per(any_partition(self), record(phase=phase, **three))
        if self.reassignments:
            found["reassignments"] = number(0, self.reassignments)
        return found

    def initial(self, s: State) -> None:
        super().initial(s)
        if self.reassigns:
            for p in self.all_partitions:
                self.assign(s, p, set(self.replicas_at_start))

    def begin(self, s: State, p: int, b: Any, members: Any) -> None:
        super().begin(s, p, b, members)
        if self.reassigns and b == self.broker(0):
            s.replica[p][b].replicas = set(self.replicas_at_start)

    # --- words ------------------------------------------------------------------------------------------------------

    def assign(self, s: State, p: int, replicas: Any, old: Any = None, target: Any = None, phase: str = "none") -> None:
        whom = {"old": set() if old is None else old, "target": set() if target is None else target}
        s.assignment[p] = {"phase": phase, "replicas": replicas, **whom}

    def assigned(self, s: State, p: int, brokers: Any) -> Any:
        return brokers & s.assignment[p].replicas if self.reassigns else brokers

    def request(self, s: State, c: Any, p: int, decision: Any, kind: str = "leader-and-isr") -> dict[str, Any]:
        """A request of a controller about a partition.

        A LeaderAndISR request also has the replicas: those of the decision or, by default, the current replicas.
        """
        found = super().request(s, c, p, decision, kind)
        if not self.reassigns or "replicas" in found:
            return found
        return {**found, "replicas": s.assignment[p].replicas if kind == "leader-and-isr" else set()}

    def forget_history(self, s: State, p: int) -> None:
        super().forget_history(s, p)
        if self.reassigns:
            self.assign(s, p, s.assignment[p].replicas)

    def take_over(self, s: State, c: Any, epoch: Any) -> None:
        """Makes a new controller check again whether the new replicas have caught up."""
        super().take_over(s, c, epoch)
        if self.reassigns:
            for p in self.all_partitions:
                phase = s.assignment[p].phase
                s.assignment[p].phase = when(phase == "caught-up", "adding", phase)

    def may_move(self, s: State, c: Any, p: int, *phases: str) -> Any:
        """Whether a controller may continue a reassignment: it has seen all broker changes, and the leader is live."""
        settled = (s.live == s.seen_live[c][p]) & s.live.has(s.state[p].leader) & self.has_path(s, p)
        expected: Any = False
        for name in phases:
            expected = (s.assignment[p].phase == name) | expected
        return self.acting(s, c) & settled & expected

    def caught_up(self, s: State, p: int) -> Any:
        """Whether the ISR has the whole target or, without `target_isr_check`, all replicas that are added."""
        assignment = s.assignment[p]
        expected = assignment.target if self.target_isr_check else assignment.target - assignment.old
        return expected <= s.state[p].isr

    # --- the administrator ------------------------------------------------------------------------------------------

    @action(
        p=any_partition,
        target=set_of(broker),
        actor="administrator",
        environment=True,
        where=lambda m: m.reassignments,
    )
    def reassign_partition(self, s: State, p: int, target: Any) -> None:
        """An administrator asks for new replicas, at least min.insync.replicas many (/admin/partitions_reassigned)."""
        if len(target) < self.min_isr:
            return
        assignment = s.assignment[p]
        s.require(s.reassignments < self.reassignments, assignment.phase == "none", assignment.replicas != target)
        s.require(self.has_path(s, p))
        s.reassignments += 1
        self.assign(s, p, assignment.replicas, assignment.replicas, target, "requested")

    def describe_reassign_partition(self, old: Any, new: Any, p: int, target: Any) -> str:
        now = old.assignment[p].replicas
        return f"an administrator asks for replicas {target} in place of {now}{sentences.of_partition(self, p)}"

    @action(
        c=any_controller,
        p=any_partition,
        actor="administrator",
        environment=True,
        where=lambda m: m.reassignments and m.cancellations,
    )
    def cancel_reassignment(self, s: State, c: Any, p: int) -> None:
        """A reassignment is cancelled while no new replica is in the ISR. StopReplica has the old leader epoch."""
        state, assignment = s.state[p], s.assignment[p]
        s.require(self.may_move(s, c, p, "adding"), state.isr <= assignment.old)
        leaving = assignment.replicas - assignment.old
        self.tell(s, c, p, state.leader, state.isr, assignment.old, Leaving(leaving, state.epoch))
        self.assign(s, p, assignment.old)

    def describe_cancel_reassignment(self, old: Any, new: Any, c: Any, p: int) -> str:
        target = old.assignment[p].target
        return self.move_in_words(old, new, c, p, f"the reassignment to {target} is cancelled")

    # --- the controller ---------------------------------------------------------------------------------------------

    def tell(
        self, s: State, c: Any, p: int, leader: Any, isr: Any, replicas: Any, leaving: Leaving | None = None
    ) -> None:
        """Writes leader and ISR in a new epoch, sends them to live replicas, and stops the replicas in `leaving`."""
        state = s.state[p]
        there_is_one = state.epoch < self.max_leader_epoch
        s.require(s.room(there_is_one), s.room(self.has_version(s, p)))
        new_epoch = when(there_is_one, state.epoch + 1, state.epoch)
        decision = {"leader": leader, "isr": isr, "epoch": new_epoch, "version": self.next_version(s, p)}
        for b in self.brokers:
            start = self.request(s, c, p, {**decision, "replicas": replicas})
            requests = [(replicas.has(b) & s.live.has(b), start)]
            if leaving is not None:
                epoch = new_epoch if leaving.epoch is None else leaving.epoch
                stop = self.request(s, c, p, self.without_decision(epoch), "stop-replica")
                requests.append((leaving.replicas.has(b) & s.live.has(b), stop))
            self.send(s, c, b, *requests)
        s.state[p] = decision

    def move_in_words(self, old: Any, new: Any, c: Any, p: int, what: str) -> str:
        """A sentence about a controller's next step in a reassignment."""
        who, now = sentences.controller_in_words(self, old, c), new.assignment[p].replicas
        held = f"replica set {becomes(old.assignment[p].replicas, now)}, {sentences.state_in_words(old, new, p)}"
        return f"{who} decides: {what}; {held}{self.sent_in_words(old, new, c)}"

    @action(c=any_controller, p=any_partition, actor="controller", where=lambda m: m.reassignments)
    def on_partitions_reassigned(self, s: State, c: Any, p: int) -> None:
        """The controller sees a reassignment: the partition now has old and new replicas, and the new ones start."""
        state, assignment = s.state[p], s.assignment[p]
        s.require(self.may_move(s, c, p, "requested"), ~self.caught_up(s, p))
        both = assignment.old | assignment.target
        self.tell(s, c, p, state.leader, state.isr, both)
        self.assign(s, p, both, assignment.old, assignment.target, "adding")

    def describe_on_partitions_reassigned(self, old: Any, new: Any, c: Any, p: int) -> str:
        target = new.assignment[p].target
        return self.move_in_words(old, new, c, p, f"a reassignment to {target} begins, and new replicas start")

    @action(c=any_controller, p=any_partition, actor="controller", where=lambda m: m.reassignments)
    def on_new_replicas_in_isr(self, s: State, c: Any, p: int) -> None:
        """The controller sees that the new replicas are in the ISR; in a later step it may move the leader."""
        s.require(self.may_move(s, c, p, "requested", "adding"), self.caught_up(s, p))
        s.assignment[p].phase = "caught-up"

    def describe_on_new_replicas_in_isr(self, old: Any, new: Any, c: Any, p: int) -> str:
        who, target = sentences.controller_in_words(self, old, c), old.assignment[p].target
        return f"{who} sees that the new replicas of {target} are in the ISR {old.state[p].isr}"

    @action(c=any_controller, p=any_partition, leader=broker, actor="controller", where=lambda m: m.reassignments)
    def move_leader_to_target(self, s: State, c: Any, p: int, leader: Any) -> None:
        """The new replicas have caught up and the leader is not one of them: a new replica is elected."""
        state, assignment = s.state[p], s.assignment[p]
        s.require(self.may_move(s, c, p, "caught-up"), ~assignment.target.has(state.leader))
        s.require(assignment.target.has(leader), s.live.has(leader))
        if self.target_leader_check:
            s.require(state.isr.has(leader))
        self.tell(s, c, p, leader, state.isr, assignment.replicas)

    def describe_move_leader_to_target(self, old: Any, new: Any, c: Any, p: int, leader: Any) -> str:
        return self.move_in_words(old, new, c, p, f"{leader}, one of the new replicas, is to lead")

    @action(
        c=any_controller,
        p=any_partition,
        actor="controller",
        where=lambda m: m.reassignments and m.reassignment_rounds != 1,
    )
    def announce_target(self, s: State, c: Any, p: int) -> None:
        """The first of two rounds: the leader hears only of the new replicas, and adds no old replica to the ISR."""
        state, assignment = s.state[p], s.assignment[p]
        s.require(self.may_move(s, c, p, "caught-up"), self.caught_up(s, p), assignment.target.has(state.leader))
        self.tell(s, c, p, state.leader, state.isr, assignment.target)
        self.assign(s, p, assignment.replicas, assignment.old, assignment.target, "removing")

    def describe_announce_target(self, old: Any, new: Any, c: Any, p: int) -> str:
        return self.move_in_words(old, new, c, p, f"the leader is told of replicas {new.assignment[p].target} alone")

    @action(c=any_controller, p=any_partition, actor="controller", where=lambda m: m.reassignments)
    def remove_old_replicas(self, s: State, c: Any, p: int) -> None:
        """The old replicas leave the ISR and are stopped; the reassignment is complete."""
        state, assignment = s.state[p], s.assignment[p]
        phase = "caught-up" if self.reassignment_rounds == 1 else "removing"
        s.require(self.may_move(s, c, p, phase), assignment.target.has(state.leader))
        if self.reassignment_rounds == 1:
            s.require(self.caught_up(s, p))
        isr = state.isr & assignment.target
        leaving = assignment.replicas - assignment.target
        self.tell(s, c, p, state.leader, when(isr.is_empty, state.isr, isr), assignment.target, Leaving(leaving))
        self.assign(s, p, assignment.target)

    def describe_remove_old_replicas(self, old: Any, new: Any, c: Any, p: int) -> str:
        return self.move_in_words(old, new, c, p, "old replicas leave, the reassignment is complete")
