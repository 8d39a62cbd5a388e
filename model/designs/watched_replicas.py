"""V1, reassignment: each broker reads in ZooKeeper which brokers have a replica of a partition.

An administrator writes the wanted replicas to partitions_reassigned. Every broker watches that path and the replicas of
the partition, and acts by itself. A new replica starts. The leader waits until the new replicas are in the ISR, and
then writes the new replica set. A broker that is not in this set stops its replica. The first design calls the broker's
steps onPartitionsReassigned and replicaStateChange. No broker sends a command.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.designs import State
from isrcheck.model.designs import zookeeper_sentences as sentences
from isrcheck.model.designs.replicas import any_partition
from isrcheck.model.designs.sentences import deletes_log, of_partition
from isrcheck.model.designs.zookeeper_watches import ZookeeperWatches
from isrcheck.model.language import (
    action,
    asked,
    becomes,
    broker,
    budget,
    enum,
    none,
    number,
    per,
    record,
    set_of,
    setting,
    when,
)


class WatchedReplicas(ZookeeperWatches):
    """The replicas of each partition, and their reassignment if `reassignments` is set."""

    abstract = True

    controller_failover = False  # nor is there any controller

    assigned_at_start = setting(
        0, at_least=0, at_most=5, meaning="replicas of each partition in the initial state; 0: all brokers"
    )
    reassignments = budget(at_most=3, meaning="reassignments that an administrator asks for")

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

    def initial(self, s: State) -> None:
        super().initial(s)
        if self.reassigns:
            for p in self.all_partitions:
                s.assignment[p].replicas = set(self.replicas_at_start)

    # --- words ------------------------------------------------------------------------------------------------------

    def is_assigned(self, s: State, p: int, b: Any) -> Any:
        """Whether a broker is one of the replicas, or will be after the reassignment under way."""
        return (s.assignment[p].replicas | s.assignment[p].target).has(b) if self.reassigns else True

    def tracks(self, s: State, p: int, b: Any, follower: Any) -> Any:
        return self.is_assigned(s, p, follower)

    # --- the administrator ------------------------------------------------------------------------------------------

    @action(
        p=any_partition,
        target=set_of(broker),
        actor="administrator",
        environment=True,
        where=lambda m: m.reassignments,
    )
    def reassign_partition(self, s: State, p: int, target: Any) -> None:
        """An administrator assigns a partition to other replicas; all brokers are notified."""
        if not target:
            return
        assignment = s.assignment[p]
        s.require(s.reassignments < self.reassignments, assignment.phase == "none", assignment.replicas != target)
        s.reassignments += 1
        assignment.phase = "moving"
        assignment.target = target
        self.note_load(s, self.fire(s, p, "reassigned"), 0)

    def describe_reassign_partition(self, old: Any, new: Any, p: int, target: Any) -> str:
        moved = f"the replicas {old.assignment[p].replicas}{of_partition(self, p)} shall become {target}"
        notified = sentences.notified(self, old, new, p, "reassigned")
        return f"an administrator writes to partitions_reassigned that {moved}{notified}"

    # --- brokers ----------------------------------------------------------------------------------------------------

    @action(p=any_partition, b=broker, actor="b", where=lambda m: m.reassigns)
    def on_partitions_reassigned(self, s: State, p: int, b: Any) -> None:
        """A broker is told of a reassignment. If it needs a replica and has none, it starts one and seeks a leader."""
        s.require(self.has_notification(s, p, b, "reassigned"))
        starts = self.is_assigned(s, p, b) & (s.replica[p][b].role == "none")
        self.read_and_watch(s, p, b, "reassigned")
        s.watch[p][b]["leader"] = when(starts, "fired", s.watch[p][b]["leader"])
        self.note_load(s, 0, 1)

    def describe_on_partitions_reassigned(self, old: Any, new: Any, p: int, b: Any) -> str:
        assignment, replica = old.assignment[p], old.replica[p][b]
        moved = f"that the replicas{of_partition(self, p)} shall be {assignment.target}"
        read = moved if assignment.phase == "moving" else f"that no reassignment{of_partition(self, p)} is left"
        if replica.role != "none":
            return f"{b} reads {read}; it has a replica already, and {sentences.goes_on(old, p, b)}"
        if not asked(old, self.is_assigned, p, b):
            return f"{b} reads {read}; it shall have none, and does nothing"
        return f"{b} reads {read}, starts one with log end {len(old.log[p][b])}, and will look for the leader"

    @action(p=any_partition, b=broker, actor="b", where=lambda m: m.reassigns)
    def complete_reassignment(self, s: State, p: int, b: Any) -> None:
        """All new replicas are in the ISR: a leader that is one of them writes the new replica set to ZooKeeper."""
        target = s.assignment[p].target
        s.require(target.has(b))
        self.note_load(s, self.write_replicas(s, p, b), 2)
        self.change_isr(s, p, b, target)

    def describe_complete_reassignment(self, old: Any, new: Any, p: int, b: Any) -> str:
        return f"{self.completion_in_words(old, new, p, b)}{sentences.notified(self, old, new, p, 'replicas', by=b)}"

    @action(p=any_partition, b=broker, actor="b", where=lambda m: m.reassigns)
    def complete_reassignment_and_leave(self, s: State, p: int, b: Any) -> None:
        """All new replicas are in the ISR: a leader outside the new set writes the set and deletes its node and log."""
        target, led = s.assignment[p].target, s.state[p].leader == b
        s.require(~target.has(b))
        s.state[p].leader = when(led, none, s.state[p].leader)
        self.note_load(s, self.write_replicas(s, p, b) + self.fire(s, p, "leader", led), 3)
        self.write_isr(s, p, b, target)
        self.delete_replica(s, p, b)

    def describe_complete_reassignment_and_leave(self, old: Any, new: Any, p: int, b: Any) -> str:
        node = "deletes its leader node" if old.state[p].leader == b else "has no leader node to delete"
        left = f"as it is not among them, it {node} and {deletes_log(old, p, b)}"
        notified = sentences.notified(self, old, new, p, "replicas", by=b)
        return f"{self.completion_in_words(old, new, p, b)}; {left}{notified}"

    def completion_in_words(self, old: Any, new: Any, p: int, b: Any) -> str:
        who, target = sentences.leader_in_words(self, old, p, b), old.assignment[p].target
        replicas = becomes(old.assignment[p].replicas, new.assignment[p].replicas)
        known = f"has the new replicas {target} in its own ISR {old.replica[p][b].isr}"
        return f"{who} {known} and completes: replicas {replicas}, in ZooKeeper {self.written_in_words(old, new, p)}"

    def write_replicas(self, s: State, p: int, b: Any) -> Any:
        """The leader writes the new replica set, and all brokers are notified. Returns how many watches fire."""
        assignment = s.assignment[p]
        s.require(self.leads(s, p, b), assignment.phase == "moving", assignment.target <= s.replica[p][b].isr)
        s.assignment[p] = {"phase": "none", "replicas": assignment.target, "target": set()}
        return self.fire(s, p, "replicas") + self.fire(s, p, "reassigned")

    def write_isr(self, s: State, p: int, b: Any, isr: Any) -> Any:
        """The leader writes the ISR path."""
        raise NotImplementedError

    @action(p=any_partition, b=broker, actor="b", where=lambda m: m.reassigns)
    def keep_replica(self, s: State, p: int, b: Any) -> None:
        """A broker is told that the replicas changed, and does nothing: it keeps its replica, or has none."""
        s.require(
            self.has_notification(s, p, b, "replicas"), self.is_assigned(s, p, b) | (s.replica[p][b].role == "none")
        )
        self.read_and_watch(s, p, b, "replicas")
        self.note_load(s, 0, 1)

    def describe_keep_replica(self, old: Any, new: Any, p: int, b: Any) -> str:
        why = "of which it is one" if asked(old, self.is_assigned, p, b) else "not it, and it has no replica"
        read = f"reads that the replicas{of_partition(self, p)} are {old.assignment[p].replicas}"
        return f"{b} {read}, {why}; it {sentences.goes_on(old, p, b)}"

    @action(p=any_partition, b=broker, actor="b", where=lambda m: m.reassigns)
    def stop_replica(self, s: State, p: int, b: Any) -> None:
        """A broker is told that it is no longer a replica: it deletes its log, and the leader node if it leads."""
        s.require(
            self.has_notification(s, p, b, "replicas"), ~self.is_assigned(s, p, b), s.replica[p][b].role != "none"
        )
        led = s.state[p].leader == b
        s.state[p].leader = when(led, none, s.state[p].leader)
        notified = self.fire(s, p, "leader", led)
        self.read_and_watch(s, p, b, "replicas")
        self.delete_replica(s, p, b)
        self.note_load(s, notified, 1)

    def describe_stop_replica(self, old: Any, new: Any, p: int, b: Any) -> str:
        read = f"reads that the replicas{of_partition(self, p)} are {old.assignment[p].replicas}, not it"
        node = " and its leader node" if old.state[p].leader == b else ""
        return f"{b}, {sentences.until_now(old, p, b)} {read}; it {deletes_log(old, p, b)}{node}"
