"""ReplicationControlManager: the controller's answer to AlterPartition, and the elections that somebody asks for.

Whatever the controller decides is committed in one batch before it answers; so nobody hears of what may not be.

Left out: creation and deletion of topics, reassignment, several partitions in a request, other directories, and the
checks that cannot fail here: of a topic or partition that there is not, of a request ahead of the controller.

Source: ReplicationControlManager.java of Kafka 4.2; KIP-497, KIP-841, KIP-903.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.designs.kraft.alter_partition_manager import AlterPartitionManager
from isrcheck.model.designs.kraft.partition_change_builder import Change, PartitionChangeBuilder
from isrcheck.model.designs.kraft.replica import UNKNOWN
from isrcheck.model.designs.kraft.unified_log import any_partition
from isrcheck.model.language import action, becomes, broker, goal, setting, some, when


class ReplicationControl(PartitionChangeBuilder, AlterPartitionManager):
    """The controller's side of a partition."""

    abstract = True

    eligible_check = setting(
        True,
        meaning="the controller refuses members that are fenced or in controlled shutdown (KIP-841), or that have "
        "started anew since they fetched (KIP-903)",
    )

    # --- what is committed ------------------------------------------------------------------------------------------

    def commit_change(
        self,
        s: Any,
        changes: dict[int, Change],
        live: Any = None,
        started: Any = None,
        where: Any = True,
    ) -> None:
        """Commits changes of partitions, in one batch with who is active then, within the bounds of the search."""
        for p, change in changes.items():
            state = s.state[p]
            moved = change.registration["epoch"] != state.epoch
            s.require(when(where & moved, state.epoch < self.max_leader_epoch, True))
            s.require(when(where & change.changed, state.version < self.max_version, True))
            if self.elr:
                s.elr[p] = when(where, change.elr, s.elr[p])
            if self.keeps_last_leader:
                s.last_leader[p] = when(where, change.last_leader, s.last_leader[p])
        self.commit_batch(s, {p: change.registration for p, change in changes.items()}, live, started, where)

    # --- AlterPartition ---------------------------------------------------------------------------------------------

    def refusals(self, s: Any, p: int, b: Any) -> list[tuple[Any, str]]:
        """Conditions and what is answered where one holds, in the order of the source."""
        request, state = s.alteration[p][b], s.state[p]
        found: list[tuple[Any, str]] = [
            (request.epoch < state.epoch, "fenced-leader-epoch"),
            (state.leader != b, "invalid-request"),
            (request.version < state.version, "invalid-update-version"),
        ]
        if self.eligible_check:
            found.append((~(request.isr <= s.live), "ineligible-replica"))
            if self.restarts:
                for f in self.brokers:
                    named = request.broker_epoch[f]
                    other_life = request.isr.has(f) & (named != UNKNOWN) & (named != s.broker_epoch[f])
                    found.append((other_life, "ineligible-replica"))
        return found

    @action(p=any_partition, b=broker, actor="controller")
    def alter_partition(self, s: Any, p: int, b: Any) -> None:
        """alterPartition: the controller alters the ISR as a leader asks, or refuses, and its answer is on its way."""
        request = s.alteration[p][b]
        s.require(request.stage == "asked")
        answer: Any = "success"
        for condition, code in reversed(self.refusals(s, p, b)):
            answer = when(condition, code, answer)
        granted = answer == "success"
        change = self.build(s, p, request.isr, self.next_elr(s, p, request.isr), b)
        writes = granted & change.changed
        request.stage = answer
        request.said_version = when(granted, change.registration["version"], 0)
        self.commit_change(s, {p: change}, where=writes)

    def told_alter_partition(self, old: Any, new: Any, p: int, b: Any) -> str:
        request, answer = old.alteration[p][b], new.alteration[p][b].stage
        asks = f"the controller handles the request of {b} for ISR {request.isr} at version {request.version}"
        if answer != "success":
            return f"{asks}, and refuses it: {answer.upper().replace('-', '_')}"
        return f"{asks}: {self.change_in_words(old, new, p)}"

    # --- elections --------------------------------------------------------------------------------------------------

    @action(p=any_partition, leader=broker, actor="controller", perturbation=True)
    def elect_preferred_leader(self, s: Any, p: int, leader: Any) -> None:
        """electLeader (PREFERRED): the first replica that is assigned leads, if it is an active member of the ISR."""
        if self.election == "in-order" and leader != self.in_order[0]:
            return
        state = s.state[p]
        s.require(state.leader != leader, state.isr.has(leader), s.live.has(leader))
        elr = s.elr[p] if self.elr else state.isr - state.isr
        self.commit_change(s, {p: self.build(s, p, state.isr, elr, leader)})

    def told_elect_preferred_leader(self, old: Any, new: Any, p: int, leader: Any) -> str:
        return f"the controller elects the preferred leader {leader}: {self.change_in_words(old, new, p)}"

    def led_in_words(self, old: Any, new: Any, p: int) -> str:
        """Who leads after a change, and what else becomes of a partition's registration."""
        leader = new.state[p].leader
        leads = "nobody leads" if leader is None else f"{leader} leads"
        return f"{leads}; {self.change_in_words(old, new, p)}"

    def change_in_words(self, old: Any, new: Any, p: int) -> str:
        """What becomes of a partition's registration."""
        before, after = old.state[p], new.state[p]
        words = [] if before.leader == after.leader else [f"leader {becomes(before.leader, after.leader)}"]
        words.append(f"ISR {becomes(before.isr, after.isr)}")
        if before.epoch != after.epoch:
            words.append(f"leader epoch {before.epoch} -> {after.epoch}")
        if self.elr and old.elr[p] != new.elr[p]:
            words.append(f"ELR {becomes(old.elr[p], new.elr[p])}")
        words.append(f"version {becomes(before.version, after.version)}")
        return ", ".join(words)

    # --- goals ------------------------------------------------------------------------------------------------------

    def is_answered(self, s: Any, answer: str) -> Any:
        return some(s.alteration[p][b].stage == answer for p in self.all_partitions for b in self.brokers)

    @goal
    def isr_is_altered(self, s: Any) -> Any:
        """The controller has altered the ISR as a leader asked."""
        return self.is_answered(s, "success")

    @goal
    def fenced_leader_epoch_is_answered(self, s: Any) -> Any:
        """The controller answers FENCED_LEADER_EPOCH."""
        return self.is_answered(s, "fenced-leader-epoch")

    @goal
    def invalid_update_version_is_answered(self, s: Any) -> Any:
        """The controller answers INVALID_UPDATE_VERSION."""
        return self.is_answered(s, "invalid-update-version")

    @goal(where=lambda m: m.eligible_check)
    def ineligible_replica_is_answered(self, s: Any) -> Any:
        """The controller answers INELIGIBLE_REPLICA."""
        return self.is_answered(s, "ineligible-replica")
