"""V1: which brokers have a partition, as each of them reads it in ZooKeeper.

An administrator writes the wanted replicas to partitions_reassigned. Every broker watches that path and the replicas of
the partition, and compares with itself: a new replica starts, the leader waits until the new ones are in the ISR and
then writes the replicas, and who is not among them stops by itself. (onPartitionsReassigned and replicaStateChange of
the first design; nobody is told to do anything.)
"""

from __future__ import annotations

from typing import Any

from model.designs.logs import any_partition
from model.designs.zookeeper_watches import ZookeeperWatches
from model.language import action, broker, enum, none, number, per, record, set_of, setting, when


class WatchedReplicas(ZookeeperWatches):
    """Reassignment; switched off without `reassignments`."""

    abstract = True

    controller_failover = False  # nor is there any controller

    assigned_at_start = setting(
        0, at_least=0, at_most=5, meaning="replicas to which partitions are first assigned; 0 is all brokers"
    )
    reassignments = setting(
        0,
        at_least=0,
        at_most=3,
        meaning="reassignments that an administrator asks for",
        bound=lambda m, s: s.reassignments == m.reassignments if m.reassignments else False,
    )

    # --- variables --------------------------------------------------------------------------------------------------

    @property
    def reassigns(self) -> bool:
        return bool(self.reassignments or self.assigned_at_start)

    @property
    def replicas_at_start(self) -> tuple[Any, ...]:
        return self.brokers[: self.assigned_at_start or self.replicas]

    @property
    def watched(self) -> tuple[str, ...]:
        return (*super().watched, "replicas", "reassigned") if self.reassigns else super().watched

    def variables(self) -> dict[str, Any]:
        found = super().variables()
        if self.reassigns:
            paths = {"replicas": set_of(broker), "target": set_of(broker)}
            found["assignment"] = per(any_partition(self), record(phase=enum("none", "moving"), **paths))
        if self.reassignments:
            found["reassignments"] = number(0, self.reassignments)
        return found

    def initial(self, s: Any) -> None:
        super().initial(s)
        if self.reassigns:
            for p in self.all_partitions:
                s.assignment[p].replicas = set(self.replicas_at_start)

    # --- words ------------------------------------------------------------------------------------------------------

    def is_assigned(self, s: Any, p: int, b: Any) -> Any:
        """Whether a broker is one of the replicas, or shall be."""
        return (s.assignment[p].replicas | s.assignment[p].target).has(b) if self.reassigns else True

    def tracks(self, s: Any, p: int, b: Any, follower: Any) -> Any:
        return self.is_assigned(s, p, follower)

    # --- the administrator ------------------------------------------------------------------------------------------

    @action(p=any_partition, target=set_of(broker), actor="administrator", perturbation=True)
    def reassign_partition(self, s: Any, p: int, target: Any) -> None:
        """An administrator asks for other replicas of a partition, and all brokers are told."""
        if not self.reassignments or not target:
            return
        assignment = s.assignment[p]
        s.require(s.reassignments < self.reassignments, assignment.phase == "none", assignment.replicas != target)
        s.reassignments += 1
        assignment.phase = "moving"
        assignment.target = target
        self.note_load(s, self.fire(s, p, "reassigned"), 0)

    # --- brokers ----------------------------------------------------------------------------------------------------

    @action(p=any_partition, b=broker, actor="b")
    def on_partitions_reassigned(self, s: Any, p: int, b: Any) -> None:
        """Told of a reassignment, a broker starts a replica that it shall have, and looks for the leader."""
        if not self.reassigns:
            return
        s.require(self.told(s, p, b, "reassigned"))
        starts = self.is_assigned(s, p, b) & (s.replica[p][b].role == "none")
        self.read_and_watch(s, p, b, "reassigned")
        s.watch[p][b]["leader"] = when(starts, "fired", s.watch[p][b]["leader"])
        self.note_load(s, 0, 1)

    @action(p=any_partition, b=broker, actor="b")
    def complete_reassignment(self, s: Any, p: int, b: Any) -> None:
        """The leader has the new replicas in the ISR, itself among them: they are the replicas now."""
        if not self.reassigns:
            return
        target = s.assignment[p].target
        s.require(target.has(b))
        self.note_load(s, self.write_replicas(s, p, b), 2)
        self.change_isr(s, p, b, target)

    @action(p=any_partition, b=broker, actor="b")
    def complete_reassignment_and_leave(self, s: Any, p: int, b: Any) -> None:
        """The leader has the new replicas in the ISR, and is none of them: it deletes its node and its log."""
        if not self.reassigns:
            return
        target, led = s.assignment[p].target, s.state[p].leader == b
        s.require(~target.has(b))
        s.state[p].leader = when(led, none, s.state[p].leader)
        self.note_load(s, self.write_replicas(s, p, b) + self.fire(s, p, "leader", led), 3)
        self.write_isr(s, p, b, target)
        self.delete_replica(s, p, b)

    def write_replicas(self, s: Any, p: int, b: Any) -> Any:
        """The leader replaces the replicas, and all brokers are told; gives how many watches that fires."""
        assignment = s.assignment[p]
        s.require(self.leads(s, p, b), assignment.phase == "moving", assignment.target <= s.replica[p][b].isr)
        s.assignment[p] = {"phase": "none", "replicas": assignment.target, "target": set()}
        return self.fire(s, p, "replicas") + self.fire(s, p, "reassigned")

    def write_isr(self, s: Any, p: int, b: Any, isr: Any) -> Any:
        """The leader writes the ISR path."""
        raise NotImplementedError

    @action(p=any_partition, b=broker, actor="b")
    def keep_replica(self, s: Any, p: int, b: Any) -> None:
        """Told that the replicas have changed, a broker goes on as before: it has a replica rightly, or has none."""
        if not self.reassigns:
            return
        s.require(self.told(s, p, b, "replicas"), self.is_assigned(s, p, b) | (s.replica[p][b].role == "none"))
        self.read_and_watch(s, p, b, "replicas")
        self.note_load(s, 0, 1)

    @action(p=any_partition, b=broker, actor="b")
    def stop_replica(self, s: Any, p: int, b: Any) -> None:
        """Told that the replicas have changed, a broker that is not among them deletes its log and its leader node."""
        if not self.reassigns:
            return
        s.require(self.told(s, p, b, "replicas"), ~self.is_assigned(s, p, b), s.replica[p][b].role != "none")
        led = s.state[p].leader == b
        s.state[p].leader = when(led, none, s.state[p].leader)
        told = self.fire(s, p, "leader", led)
        self.read_and_watch(s, p, b, "replicas")
        self.delete_replica(s, p, b)
        self.note_load(s, told, 1)
