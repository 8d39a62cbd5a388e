"""ReplicationControlManager: the controller's answers to AlterPartition, its elections, and operators' requests.

Each decision of the controller is committed in one batch before the controller answers. So nobody learns of a decision
that may be lost.

Left out: creation and deletion of topics, several partitions in a request, and the checks that cannot fail here. These
are the checks for a topic or partition that does not exist, for a request ahead of the controller, and for an ISR
member that is not a replica. (The removal of a replica raises the leader epoch. So a request from before the removal is
refused for its old epoch.)

Source: ReplicationControlManager.java of Kafka 4.3; KIP-497, KIP-841, KIP-903.
"""

from __future__ import annotations

from typing import Any, ClassVar

from isrcheck.model.designs.kraft.alter_partition_manager import AlterPartitionManager
from isrcheck.model.designs.kraft.metadata_log import MetadataLog
from isrcheck.model.designs.kraft.partition_change_builder import Change, ChangeOptions, PartitionChangeBuilder
from isrcheck.model.designs.kraft.replica import UNKNOWN
from isrcheck.model.designs.kraft.state import KraftState
from isrcheck.model.designs.kraft.unified_log import any_partition
from isrcheck.model.language import (
    action,
    becomes,
    broker,
    budget,
    every,
    goal,
    inert,
    none,
    number,
    optional,
    set_of,
    setting,
    some,
    when,
)
from isrcheck.model.language.setting_constraints import SettingConstraints

somebody_or_nobody = optional(broker)
"""The domain of the leader after a change."""


class ReplicationControl(PartitionChangeBuilder, AlterPartitionManager, MetadataLog):
    """The controller's decisions about a partition."""

    abstract = True

    eligible_check = setting(
        True,
        meaning="the controller refuses to add brokers that are fenced or in controlled shutdown (KIP-841), or that "
        "have restarted since they fetched (KIP-903)",
    )
    unclean_elections = budget(at_most=2, meaning="leader elections that an operator asks for and that may be unclean")
    directory_assignments = budget(
        at_most=2, meaning="reports of a replica's directory to the controller, except reports after a directory failed"
    )
    assigned_directory = setting(
        "keeps-elr",
        choices=("keeps-elr", "clears-elr"),
        meaning="with elr: what becomes of the ELR when a broker reports a directory. "
        "keeps-elr: it stays; clears-elr: it is cleared, as before Kafka 4.3, where handleAssignReplicasToDirs forgot "
        "the eligible leader replicas",
    )

    setting_constraints: ClassVar[SettingConstraints] = (
        inert(
            "assigned_directory",
            unless=lambda m: m.elr and m.directory_assignments + m.directory_failures > 0,
            words="it needs elr=true, and directory_assignments>=1 or directory_failures>=1",
        ),
    )

    def holds(self) -> dict[str, Any]:
        budgets = ("unclean_elections", "directory_assignments")
        return {name: number(0, most) for name in budgets if (most := getattr(self, name))}

    # --- what is committed ------------------------------------------------------------------------------------------

    def commit_change(
        self,
        s: KraftState,
        changes: dict[int, Change],
        live: Any = None,
        started: Any = None,
        where: Any = True,
        min_isr_changes: bool = False,
    ) -> None:
        """Commits changes of partitions and of the active brokers in one batch, if a condition holds.

        Requires that the changes stay within the bounds of the search.
        """
        for p, change in changes.items():
            state = s.state[p]
            moved = change.registration.get("epoch", state.epoch) != state.epoch
            s.require(s.room(when(where & moved, state.epoch < self.max_leader_epoch, True)))
            s.require(s.room(when(where & change.changed, state.version < self.max_version, True)))
            if self.elr:
                s.elr[p] = when(where, change.elr, s.elr[p])
            if self.keeps_last_leader:
                s.last_leader[p] = when(where, change.last_leader, s.last_leader[p])
        self.commit_batch(
            s, {p: change.registration for p, change in changes.items()}, live, started, where, min_isr_changes
        )

    # --- AlterPartition ---------------------------------------------------------------------------------------------

    def refusals(self, s: KraftState, p: int, b: Any) -> list[tuple[Any, str]]:
        """The conditions for refusing a request, each with its error, in the order in which Kafka checks them."""
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
    def alter_partition(self, s: KraftState, p: int, b: Any) -> None:
        """alterPartition: the controller grants or refuses the ISR that a leader asks for; its answer is on its way."""
        request = s.alteration[p][b]
        granted = self.is_granted(s, p, b)
        s.require(request.stage == "asked", ~(granted & self.ends_leadership(s, p, b)))
        change = self.build(s, p, request.isr, b, s.live, elects=False)
        answer: Any = "success"
        if self.reassignments:
            later = change.registration["epoch"] != request.epoch
            answer = when(later, "success-in-later-epoch", "success")
        for condition, code in reversed(self.refusals(s, p, b)):
            answer = when(condition, code, answer)
        request.stage = answer
        request.said_version = when(granted, change.registration["version"], 0)
        self.commit_change(s, {p: change}, where=granted & change.changed)

    def is_granted(self, s: KraftState, p: int, b: Any) -> Any:
        return every(~condition for condition, _ in self.refusals(s, p, b))

    def ends_leadership(self, s: KraftState, p: int, b: Any) -> Any:
        """Whether the ISR that a leader asks for completes a reassignment that removes this leader."""
        _, assigned = self.completed(s.alteration[p][b].isr, self.assignment_of(s, p))
        return False if assigned is None else ~assigned.replicas.has(b)

    def describe_alter_partition(self, old: Any, new: Any, p: int, b: Any) -> str:
        request, answer = old.alteration[p][b], new.alteration[p][b].stage
        asks = f"the controller handles the request of {b} for ISR {request.isr} at version {request.version}"
        if not answer.startswith("success"):
            return f"{asks}, and refuses it: {answer.upper().replace('-', '_')}"
        return f"{asks}: {self.change_in_words(old, new, p)}"

    @action(p=any_partition, b=broker, leader=somebody_or_nobody, actor="controller", where=lambda m: m.reassignments)
    def alter_partition_and_elect(self, s: KraftState, p: int, b: Any, leader: Any) -> None:
        """alterPartition: the ISR that a leader asks for completes a reassignment, which removes this leader.

        Another leader is elected in the same record, and the answer is NEW_LEADER_ELECTED.
        """
        request = s.alteration[p][b]
        s.require(request.stage == "asked", self.is_granted(s, p, b), self.ends_leadership(s, p, b))
        self.commit_change(s, {p: self.build(s, p, request.isr, leader, s.live)})
        request.stage = "new-leader-elected"

    def describe_alter_partition_and_elect(self, old: Any, new: Any, p: int, b: Any, leader: Any) -> str:
        asks = f"the controller handles the request of {b} for ISR {old.alteration[p][b].isr}"
        return f"{asks}, which completes the reassignment: {self.led_in_words(old, new, p)}"

    # --- reassignment -----------------------------------------------------------------------------------------------

    @action(
        p=any_partition,
        target=set_of(broker),
        leader=somebody_or_nobody,
        actor="operator",
        environment=True,
        where=lambda m: m.reassignments,
    )
    def alter_partition_reassignments(self, s: KraftState, p: int, target: Any, leader: Any) -> None:
        """changePartitionReassignment: an operator assigns the partition to other replicas.

        This ends an earlier reassignment. The new reassignment is complete immediately if the ISR already has the
        replicas for which the controller waits (`have_joined`). The request is refused if it would elect a replica that
        it adds. The target must differ from the present target, which lacks the replicas that are being removed. So
        during a removal, the target may be the set of all present replicas.
        """
        if len(target) < self.fewest_replicas:
            return
        state = s.state[p]
        s.require(s.reassignments < self.reassignments, state.replicas - state.removing != target)
        if not self.replication_factor_changes:
            s.require((state.replicas - state.removing).size == len(target))
        s.reassignments += 1
        # The request is refused if it would elect a broker that is no replica yet: its directory is not known.
        for x in self.brokers:
            eligible = state.isr.is_empty & s.elr[p].has(x) if self.elr else False
            s.require(~(eligible & s.live.has(x) & ~state.replicas.has(x)) if x in target else True)
        options = ChangeOptions(assignment=self.reassigned(s, p, target), unclean=False)
        change = self.build(s, p, state.isr, leader, s.live, options=options)
        registration = {**change.registration, "version": state.version + 1}
        self.commit_change(s, {p: change._replace(registration=registration, changed=True)})

    def describe_alter_partition_reassignments(self, old: Any, new: Any, p: int, target: Any, leader: Any) -> str:
        now = old.state[p].replicas
        return f"an operator asks for replicas {target} in place of {now}: {self.led_in_words(old, new, p)}"

    @action(
        p=any_partition,
        leader=somebody_or_nobody,
        actor="operator",
        environment=True,
        where=lambda m: m.reassignments and m.cancellations,
    )
    def cancel_partition_reassignment(self, s: KraftState, p: int, leader: Any) -> None:
        """cancelPartitionReassignment: an operator cancels a reassignment, and the partition keeps its former replicas.

        The cancellation is refused if none of the former replicas is in the ISR, unless `unclean` is set.
        """
        state, isr = s.state[p], self.reverted_isr(s, p, leader)
        s.require(~state.adding.is_empty | ~state.removing.is_empty, ~isr.is_empty)
        options = ChangeOptions(assignment=self.reverted(s, p))
        self.commit_change(s, {p: self.build(s, p, isr, leader, s.live, options=options)})

    def describe_cancel_partition_reassignment(self, old: Any, new: Any, p: int, leader: Any) -> str:
        return f"an operator cancels the reassignment: {self.led_in_words(old, new, p)}"

    # --- elections --------------------------------------------------------------------------------------------------

    @action(p=any_partition, leader=broker, actor="controller", environment=True)
    def elect_preferred_leader(self, s: KraftState, p: int, leader: Any) -> None:
        """electLeader (PREFERRED): the controller elects the first assigned replica, if it is in the ISR and active."""
        if self.election == "in-order" and leader != self.in_order[0]:
            return
        state = s.state[p]
        s.require(~state.leader.is_none, state.leader != leader)
        s.require(state.isr.has(leader), self.acceptable(s, s.live).has(leader))
        if self.reassigns and self.election == "in-order":
            s.require(state.replicas.has(leader))
        self.commit_change(s, {p: self.build(s, p, state.isr, leader, s.live, elects=False)})

    def describe_elect_preferred_leader(self, old: Any, new: Any, p: int, leader: Any) -> str:
        return f"the controller elects the preferred leader {leader}: {self.change_in_words(old, new, p)}"

    @action(p=any_partition, leader=broker, actor="operator", environment=True, where=lambda m: m.unclean_elections)
    def elect_leader(self, s: KraftState, p: int, leader: Any) -> None:
        """electLeader (UNCLEAN): if nobody leads, the controller elects a leader, if need be any active replica."""
        s.require(s.unclean_elections < self.unclean_elections, s.state[p].leader.is_none)
        s.unclean_elections += 1
        options = ChangeOptions(unclean=True)
        self.commit_change(s, {p: self.build(s, p, s.state[p].isr, leader, s.live, options=options)})

    def describe_elect_leader(self, old: Any, new: Any, p: int, leader: Any) -> str:
        return f"an operator asks for a leader, unclean if need be: {self.led_in_words(old, new, p)}"

    @action(
        p=any_partition,
        leader=broker,
        actor="controller",
        where=lambda m: m.unclean or m.reassigns or m.directory_failures or m.directory_assignments,
    )
    def elect_leader_for_leaderless_partition(self, s: KraftState, p: int, leader: Any) -> None:
        """maybeBalancePartitionLeaders: from time to time the controller elects leaders for partitions that have none.

        It elects a replica from the ISR or the ELR, or the last known leader. If none of these can be elected and
        `unclean` is set, it elects any active replica (maybeTriggerUncleanLeaderElectionForLeaderlessPartitions).
        """
        s.require(s.state[p].leader.is_none)
        self.commit_change(s, {p: self.build(s, p, s.state[p].isr, leader, s.live)})

    def describe_elect_leader_for_leaderless_partition(self, old: Any, new: Any, p: int, leader: Any) -> str:
        return f"the controller finds the partition without a leader: {self.led_in_words(old, new, p)}"

    # --- directories ------------------------------------------------------------------------------------------------

    @action(
        p=any_partition,
        b=broker,
        leader=somebody_or_nobody,
        actor="b",
        environment=True,
        where=lambda m: m.directory_assignments or m.directory_failures,
    )
    def handle_assign_replicas_to_dirs(self, s: KraftState, p: int, b: Any, leader: Any) -> None:
        """handleAssignReplicasToDirs: a broker reports the directory of its replica, and the partition changes.

        The broker reports the directory after a move, or after it has created the replica again because the earlier
        directory failed. Like any change, this change may complete a reassignment, clear the ELR (if the ISR is large
        enough) and elect a leader. With `assigned_directory = clears-elr`, the change always clears the ELR.
        """
        anew: Any = s.without_directory.has(b) & ~s.offline.has(b) if self.directory_failures else False
        moves: Any = False
        if self.directory_assignments:
            moves = s.directory_assignments < self.directory_assignments
            s.directory_assignments = when(anew, s.directory_assignments, s.directory_assignments + 1)
        s.require(anew | moves, self.runs(s, b), self.is_replica(s.state[p], b), s.replica[p][b].role != "none")
        keeps = self.assigned_directory == "keeps-elr"
        options = ChangeOptions(unclean=False, knows_last_leader=keeps)
        change = self.build(s, p, s.state[p].isr, leader, s.live, options=options)
        if self.directory_failures:
            s.without_directory = s.without_directory - {b}
        registration = {**change.registration, "version": s.state[p].version + 1}
        if not keeps:
            last = s.last_leader[p] if self.keeps_last_leader else none
            change = change._replace(elr=change.elr - change.elr, last_leader=last)
        self.commit_change(s, {p: change._replace(registration=registration, changed=True)})

    def describe_handle_assign_replicas_to_dirs(self, old: Any, new: Any, p: int, b: Any, leader: Any) -> str:
        return f"{b} tells the controller in which directory its replica is: {self.led_in_words(old, new, p)}"

    @action(b=broker, leader=somebody_or_nobody, actor="controller", where=lambda m: m.directory_failures)
    def handle_directories_offline(self, s: KraftState, b: Any, leader: Any) -> None:
        """handleDirectoriesOffline: a heartbeat reports a failed directory, and the replica in it leaves the ISR.

        If the broker is no longer a replica, the partition does not change, because the controller knows no directory
        for this broker (updatePartitionDirectories).
        """
        s.require(s.offline.has(b), ~s.without_directory.has(b), self.runs(s, b))
        active, changes = s.live - {b}, {}
        for p in self.all_partitions:
            state, known = s.state[p], self.is_replica(s.state[p], b)
            s.require(when(known, True, state.leader == leader))
            change = self.build(s, p, state.isr - {b}, leader, active, elects=known)
            changes[p] = self.only_where(s, p, known, change)
        self.commit_change(s, changes)
        s.without_directory = s.without_directory | {b}

    def describe_handle_directories_offline(self, old: Any, new: Any, b: Any, leader: Any) -> str:
        return f"the controller hears that the directory of {b} has failed: {self.led_in_words(old, new, 0)}"

    def elr_of(self, s: KraftState, p: int) -> Any:
        return s.elr[p] if self.elr else s.state[p].isr - s.state[p].isr

    # --- min.insync.replicas ----------------------------------------------------------------------------------------

    @action(actor="operator", environment=True, where=lambda m: m.min_isr_then)
    def incremental_alter_configs(self, s: KraftState) -> None:
        """incrementalAlterConfigs: an operator changes min.insync.replicas, and the controller clears the ELR.

        The ELR was right only for the earlier value (KAFKA-16540). `elr_is_cleared` can restrict the clearing.
        """
        s.require(~s.min_isr_changed)
        self.commit_change(s, {p: self.cleared(s, p) for p in self.all_partitions}, min_isr_changes=True)

    def describe_incremental_alter_configs(self, old: Any, new: Any) -> str:
        said = f"an operator changes min.insync.replicas from {self.min_isr} to {self.min_isr_then}"
        return f"{said}: {self.change_in_words(old, new, 0)}"

    # --- sentences --------------------------------------------------------------------------------------------------

    def led_in_words(self, old: Any, new: Any, p: int) -> str:
        """Words for the leader after a change, and for the other changes of a partition's registration."""
        leader = new.state[p].leader
        fenced = leader is not None and leader != old.state[p].leader and leader not in new.live
        leads = "nobody leads" if leader is None else f"{leader} leads{', although it is fenced' if fenced else ''}"
        return f"{leads}; {self.change_in_words(old, new, p)}"

    def change_in_words(self, old: Any, new: Any, p: int) -> str:
        """Words for the changes of a partition's registration."""
        before, after = old.state[p], new.state[p]
        words = [] if before.leader == after.leader else [f"leader {becomes(before.leader, after.leader)}"]
        if self.reassigns and before.replicas != after.replicas:
            words.append(f"replicas {becomes(before.replicas, after.replicas)}")
        words.append(f"ISR {becomes(before.isr, after.isr)}")
        if before.epoch != after.epoch:
            words.append(f"leader epoch {before.epoch} -> {after.epoch}")
        if self.elr and old.elr[p] != new.elr[p]:
            words.append(f"ELR {becomes(old.elr[p], new.elr[p])}")
        words.append(f"version {becomes(before.version, after.version)}")
        return ", ".join(words)

    # --- goals ------------------------------------------------------------------------------------------------------

    def is_answered(self, s: KraftState, answer: str) -> Any:
        return some(s.alteration[p][b].stage == answer for p in self.all_partitions for b in self.brokers)

    @goal
    def isr_is_altered(self, s: KraftState) -> Any:
        """The controller has altered the ISR as a leader asked."""
        return self.is_answered(s, "success")

    @goal
    def fenced_leader_epoch_is_answered(self, s: KraftState) -> Any:
        """The controller answers FENCED_LEADER_EPOCH."""
        return self.is_answered(s, "fenced-leader-epoch")

    @goal
    def invalid_update_version_is_answered(self, s: KraftState) -> Any:
        """The controller answers INVALID_UPDATE_VERSION."""
        return self.is_answered(s, "invalid-update-version")

    @goal(where=lambda m: m.reassignments)
    def new_leader_elected_is_answered(self, s: KraftState) -> Any:
        """The controller answers NEW_LEADER_ELECTED."""
        return self.is_answered(s, "new-leader-elected")

    @goal(where=lambda m: m.eligible_check)
    def ineligible_replica_is_answered(self, s: KraftState) -> Any:
        """The controller answers INELIGIBLE_REPLICA."""
        return self.is_answered(s, "ineligible-replica")
