"""V2, reassignment: the leader starts the new replicas, closes the old ones, and completes in several ZooKeeper writes.

AR (assigned replicas) are the replicas in the path of the partition. RAR (reassigned replicas) are to replace AR: the
new replicas are RAR - AR, and the old replicas are AR - RAR. An administrator writes RAR to partitions_reassigned. Only
the leader watches that path. In checkReassignedReplicas the leader closes the old replicas when all of RAR have caught
up. When the old replicas have left the ISR, the leader makes four writes. The first writes RAR + ISR (the union) as the
ISR, the second writes RAR as AR, and the third deletes the path in partitions_reassigned. The fourth deletes the leader
node, unless the leader is the preferred replica and is in RAR. The leader may crash between any two writes.

Left out: several reassignments of a partition at a time; a timeout for closing, which the design document leaves open.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.designs import State
from isrcheck.model.designs.replicas import any_partition
from isrcheck.model.designs.sentences import of_partition
from isrcheck.model.designs.zookeeper_sentences import deletes_node, leader_in_words, sends
from isrcheck.model.designs.zookeeper_watches import ZookeeperWatches
from isrcheck.model.language import (
    action,
    becomes,
    broker,
    budget,
    enum,
    every,
    implies,
    number,
    per,
    record,
    set_of,
    setting,
    some,
    when,
)


class ReassignedReplicas(ZookeeperWatches):
    """V2's onPartitionsReassigned, checkReassignedReplicas and completePartitionsReassignment, with `reassignments`."""

    abstract = True

    assigned_at_start = setting(
        0, at_least=0, at_most=5, meaning="replicas of each partition in the initial state; 0: all brokers"
    )
    reassignments = budget(at_most=3, meaning="reassignments that an administrator asks for")
    replica_check = setting(
        "or-reassigned",
        choices=("assigned", "or-reassigned"),
        meaning="which brokers count as replicas when a broker checks whether it is one. assigned: those in the path "
        "of the partition (the design document); or-reassigned: also those of a reassignment under way",
    )
    resumed_reassignment = setting(
        "read",
        choices=("read", "started"),
        meaning="what a new leader does when it finds a reassignment. read: it only reads the reassignment; started: "
        "it also starts the new replicas",
    )
    reassigned_isr = setting(
        "own-too",
        choices=("path", "own-too"),
        meaning="where RAR + ISR becomes the ISR. path: in ZooKeeper (the design document); own-too: also in the "
        "leader's own copy",
    )
    reassignment_writes = setting(
        "separate",
        choices=("separate", "together"),
        meaning="how ISR, AR and partitions_reassigned are written. separate: one after the other; together: all in "
        "one step",
    )

    # Defined in `v2_topics`, `v2_queues`, `v2_leaders` and `v2_leader_nodes`.
    deletion_check: Any
    is_being_deleted: Any
    send: Any
    has_caught_up: Any
    write_isr: Any
    stop_leading: Any
    give_up_node: Any

    # --- variables --------------------------------------------------------------------------------------------------

    @property
    def reassigns(self) -> bool:
        return bool(self.reassignments or self.assigned_at_start or self.has_topics)

    @property
    def replicas_at_start(self) -> tuple[Any, ...]:
        return self.brokers[: self.assigned_at_start or self.replicas]

    def phases(self) -> tuple[str, ...]:
        """Names for the possible contents of a partition's ZooKeeper node in partitions_reassigned."""
        return ("none", "requested", *(("creating", "deleting", "closing") if self.has_topics else ()))

    def replica_fields(self) -> dict[str, Any]:
        """Adds the assigned and the reassigned replicas that a leader knows, and the step of its reassignment."""
        found = super().replica_fields()
        if self.reassigns:
            steps = ("none", "known", "closed", "isr-written", "replicas-written", "path-deleted")
            return {**found, "replicas": set_of(broker), "target": set_of(broker), "moving": enum(*steps)}
        return found

    def variables(self) -> dict[str, Any]:
        found = super().variables()
        if self.reassigns:
            paths = record(phase=enum(*self.phases()), replicas=set_of(broker), target=set_of(broker))
            found["assignment"] = per(any_partition(self), paths)
        if self.reassignments:
            found["reassignments"] = number(0, self.reassignments)
        return found

    def initial(self, s: State) -> None:
        super().initial(s)
        if self.reassigns:
            for p in self.all_partitions:
                s.assignment[p].replicas = set(self.replicas_at_start)

    def begin(self, s: State, p: int, b: Any, members: Any) -> None:
        super().begin(s, p, b, members)
        if self.reassigns and b == self.broker(0):
            s.replica[p][b].replicas = set(self.replicas_at_start)

    # --- words ------------------------------------------------------------------------------------------------------

    def is_wanted(self, s: State, p: int, b: Any) -> Any:
        return (s.assignment[p].replicas | s.assignment[p].target).has(b) if self.reassigns else True

    def is_replica(self, s: State, p: int, b: Any) -> Any:
        """Whether a broker counts as a replica of a partition, as `replica_check` and `deletion_check` define it."""
        if not self.reassigns:
            return True
        assignment = s.assignment[p]
        named = assignment.replicas.has(b)
        counts = named if self.replica_check == "assigned" else named | assignment.target.has(b)
        return counts & ~self.is_being_deleted(s, p) if self.has_topics and self.deletion_check else counts

    def lags(self, s: State, p: int, b: Any, follower: Any) -> Any:
        """Whether a follower is behind; a replica that was closed and fetches no more counts as behind."""
        lags = super().lags(s, p, b, follower)
        if not self.reassigns:
            return lags
        closed = (s.replica[p][b].moving == "closed") & ~s.replica[p][b].target.has(follower)
        return lags | (closed & ~self.follows(s, p, follower, b))

    def forget_reassignment(self, s: State, p: int, b: Any) -> None:
        """Clears the assigned and reassigned replicas that a broker knows, because the broker does not lead."""
        if self.reassigns:
            replica = s.replica[p][b]
            replica.replicas, replica.target, replica.moving = set(), set(), "none"

    def all_caught_up(self, s: State, p: int, b: Any) -> Any:
        """Whether every reassigned replica has caught up with the leader."""
        target = s.replica[p][b].target
        return every(implies(target.has(f), self.has_caught_up(s, p, b, f)) for f in self.brokers if f != b)

    # --- onPartitionsReassigned -------------------------------------------------------------------------------------

    @action(
        p=any_partition,
        target=set_of(broker),
        actor="administrator",
        environment=True,
        where=lambda m: m.reassignments,
    )
    def reassign_partition(self, s: State, p: int, target: Any) -> None:
        """An administrator writes a new set of replicas of a partition to partitions_reassigned."""
        if len(target) < self.min_isr:
            return
        assignment = s.assignment[p]
        s.require(s.reassignments < self.reassignments, assignment.phase == "none", assignment.replicas != target)
        s.require(self.has_path(s, p))
        s.reassignments += 1
        assignment.phase = "requested"
        assignment.target = target

    def describe_reassign_partition(self, old: Any, new: Any, p: int, target: Any) -> str:
        moved = f"replicas {old.assignment[p].replicas}{of_partition(self, p)} shall become {target}"
        return f"an administrator writes to partitions_reassigned that the {moved}"

    @action(p=any_partition, b=broker, actor="b", where=lambda m: m.reassignments)
    def on_partitions_reassigned(self, s: State, p: int, b: Any) -> None:
        """The leader is told of a reassignment: it starts the new replicas."""
        assignment, replica = s.assignment[p], s.replica[p][b]
        s.require(self.leads(s, p, b), self.connected(s, b), assignment.phase == "requested", replica.moving == "none")
        replica.target, replica.moving = assignment.target, "known"
        self.start_new_replicas(s, p, b)

    def describe_on_partitions_reassigned(self, old: Any, new: Any, p: int, b: Any) -> str:
        target, replicas = old.assignment[p].target, old.assignment[p].replicas
        read = f"is told that the replicas {replicas} shall become {target}"
        starts = sends(self, old, new, "start", old.replica[p][b].epoch, target - replicas)
        return f"{leader_in_words(self, old, p, b)} {read}; it {starts}"

    def start_new_replicas(self, s: State, p: int, b: Any) -> None:
        """Sends start-replica to the reassigned replicas that are not assigned yet (RAR - AR)."""
        new = s.assignment[p].target - s.assignment[p].replicas
        for f in self.brokers:
            self.send(s, p, f, new.has(f), "start", s.replica[p][b].epoch)

    def find_reassignment(self, s: State, p: int, b: Any) -> None:
        """A new leader reads the replicas, and the reassignment if there is one."""
        if not self.reassigns:
            return
        assignment, replica = s.assignment[p], s.replica[p][b]
        moves = assignment.phase == "requested"
        replica.replicas = assignment.replicas
        replica.target = when(moves, assignment.target, set())
        replica.moving = when(moves, "known", "none")

    def found_in_words(self, new: Any, p: int, b: Any) -> str:
        """Words for the reassignment that a new leader has found; empty if there is none."""
        moves = self.reassigns and new.replica[p][b].moving == "known"
        return f"; it finds the reassignment to {new.replica[p][b].target}" if moves else ""

    # --- checkReassignedReplicas ------------------------------------------------------------------------------------

    def moves(self, s: State, p: int, b: Any, step: str) -> Any:
        """Whether a leader is at a given step of a reassignment, and ZooKeeper has the partition."""
        return self.leads(s, p, b) & (s.replica[p][b].moving == step) & self.has_path(s, p)

    @action(
        p=any_partition, b=broker, actor="b", where=lambda m: m.reassignments and m.resumed_reassignment == "started"
    )
    def start_new_replicas_again(self, s: State, p: int, b: Any) -> None:
        """A new leader starts the new replicas of a reassignment that it has found."""
        replica = s.replica[p][b]
        s.require(self.moves(s, p, b, "known"), s.assignment[p].phase == "requested")
        new = replica.target - s.assignment[p].replicas - {b}
        idle = {f: new.has(f) & ~self.follows(s, p, f, b) & s.queue[f].is_empty for f in self.brokers}
        s.require(some(idle.values()))
        for f in self.brokers:
            self.send(s, p, f, idle[f], "start", replica.epoch)

    def describe_start_new_replicas_again(self, old: Any, new: Any, p: int, b: Any) -> str:
        notified = [f for f in self.brokers if new.queue[f] != old.queue[f]]
        starts = sends(self, old, new, "start", old.replica[p][b].epoch, notified)
        return f"{leader_in_words(self, old, p, b)} {starts}, which does not follow it yet"

    @action(p=any_partition, b=broker, actor="b", where=lambda m: m.reassignments)
    def close_old_replicas(self, s: State, p: int, b: Any) -> None:
        """All new replicas have caught up: the leader closes the old ones, except itself."""
        replica = s.replica[p][b]
        s.require(self.moves(s, p, b, "known"), self.all_caught_up(s, p, b))
        old = replica.replicas - replica.target
        for f in self.brokers:
            if f != b:
                self.send(s, p, f, old.has(f), "close", replica.epoch)
        replica.moving = "closed"

    def describe_close_old_replicas(self, old: Any, new: Any, p: int, b: Any) -> str:
        replica = old.replica[p][b]
        closes = sends(self, old, new, "close", replica.epoch, replica.replicas - replica.target - {b})
        known = f"finds that all of {replica.target} have caught up"
        return f"{leader_in_words(self, old, p, b)} {known}; it {closes}"

    @action(p=any_partition, b=broker, actor="b", where=lambda m: m.reassignments)
    def write_reassigned_isr(self, s: State, p: int, b: Any) -> None:
        """The old replicas have left the ISR: the leader adds all reassigned replicas to the ISR (first write)."""
        replica = s.replica[p][b]
        isr, old = replica.target | replica.isr, replica.replicas - replica.target - {b}
        s.require(self.moves(s, p, b, "closed"), self.all_caught_up(s, p, b), (replica.isr & old).is_empty)
        self.write_isr(s, p, b, isr, own=self.reassigned_isr == "own-too")
        if self.reassignment_writes == "separate":
            replica.moving = "isr-written"
            return
        self.close_itself(s, p, b)
        self.name_new_replicas(s, p, b)
        self.delete_path(s, p)
        replica.moving = when(self.leaves(s, p, b), "path-deleted", "none")

    def describe_write_reassigned_isr(self, old: Any, new: Any, p: int, b: Any) -> str:
        replica, who = old.replica[p][b], leader_in_words(self, old, p, b)
        wrote = f"writes RAR {replica.target} + its ISR {replica.isr}: {self.written_in_words(old, new, p)}"
        if self.reassignment_writes == "separate":
            own = f", its own copy stays {replica.isr}" if self.reassigned_isr == "path" else ""
            return f"{who} {wrote}{own}; the replicas in ZooKeeper are still {old.assignment[p].replicas}"
        named = becomes(old.assignment[p].replicas, new.assignment[p].replicas)
        closes = self.closing_in_words(old, new, p, b)
        return f"{who} in one step {wrote}, replicas {named}, and deletes the path in partitions_reassigned{closes}"

    def closing_in_words(self, old: Any, new: Any, p: int, b: Any) -> str:
        if b in old.replica[p][b].target:
            return ""
        return f"; it {sends(self, old, new, 'close', old.replica[p][b].epoch, [b])}, itself"

    @action(p=any_partition, b=broker, actor="b", where=lambda m: m.reassignments)
    def write_new_replicas(self, s: State, p: int, b: Any) -> None:
        """The leader writes the reassigned replicas as the replicas of the partition (second write)."""
        s.require(self.moves(s, p, b, "isr-written"))
        self.name_new_replicas(s, p, b)
        s.replica[p][b].moving = "replicas-written"

    def describe_write_new_replicas(self, old: Any, new: Any, p: int, b: Any) -> str:
        named = becomes(old.assignment[p].replicas, new.assignment[p].replicas)
        return f"{leader_in_words(self, old, p, b)} writes the replicas {named}"

    @action(p=any_partition, b=broker, actor="b", where=lambda m: m.reassignments)
    def delete_reassigned_path(self, s: State, p: int, b: Any) -> None:
        """The leader deletes the path in partitions_reassigned (third write)."""
        s.require(self.moves(s, p, b, "replicas-written"))
        self.delete_path(s, p)
        s.replica[p][b].moving = when(self.leaves(s, p, b), "path-deleted", "none")

    def describe_delete_reassigned_path(self, old: Any, new: Any, p: int, b: Any) -> str:
        done = f"deletes the path in partitions_reassigned: the reassignment to {old.replica[p][b].target} is through"
        left = ", but for its leader node" if new.replica[p][b].moving == "path-deleted" else ""
        return f"{leader_in_words(self, old, p, b)} {done}{left}"

    @action(p=any_partition, b=broker, actor="b", where=lambda m: m.reassignments)
    def hand_over(self, s: State, p: int, b: Any) -> None:
        """The leader gives up the leader node (fourth write). An old replica closes itself, unless it has done so."""
        s.require(self.moves(s, p, b, "path-deleted"))
        if self.reassignment_writes == "separate":
            self.close_itself(s, p, b)
        self.stop_leading(s, p, b)
        self.give_up_node(s, p, b)

    def describe_hand_over(self, old: Any, new: Any, p: int, b: Any) -> str:
        preferred = f"is not {self.broker(0)}, the preferred replica"
        why = (
            preferred if b in old.replica[p][b].target else f"is not among the new replicas {old.replica[p][b].target}"
        )
        closes = self.closing_in_words(old, new, p, b) if self.reassignment_writes == "separate" else ""
        given = deletes_node(self, old, new, p, b)
        return f"{leader_in_words(self, old, p, b)} {why}: it stops leading and {given}{closes}"

    # --- the commit thread ------------------------------------------------------------------------------------------

    def is_completing(self, s: State, p: int, b: Any) -> Any:
        """Whether the leader has made only some of the four writes. It then neither commits nor changes its ISR."""
        moving = s.replica[p][b].moving
        return (moving == "isr-written") | (moving == "replicas-written") | (moving == "path-deleted")

    def change_isr(self, s: State, p: int, b: Any, isr: Any) -> None:
        if self.reassigns:
            s.require(~self.is_completing(s, p, b))
        super().change_isr(s, p, b, isr)

    @action(p=any_partition, b=broker, actor="b")
    def commit(self, s: State, p: int, b: Any) -> None:
        """The leader raises its high watermark to the least log end offset of its ISR, and acknowledges its records."""
        if self.reassigns:
            s.require(~self.is_completing(s, p, b))
        super().commit(s, p, b)

    # --- the writes -------------------------------------------------------------------------------------------------

    def leaves(self, s: State, p: int, b: Any) -> Any:
        """Whether the leader stops leading when a reassignment ends.

        Only the preferred replica (broker 0) goes on leading, and only if it is one of the reassigned replicas.
        """
        return ~s.replica[p][b].target.has(b) if b == self.broker(0) else True

    def close_itself(self, s: State, p: int, b: Any) -> None:
        self.send(s, p, b, ~s.replica[p][b].target.has(b), "close", s.replica[p][b].epoch)

    def name_new_replicas(self, s: State, p: int, b: Any) -> None:
        s.assignment[p].replicas = s.replica[p][b].target
        s.replica[p][b].replicas = s.replica[p][b].target

    def delete_path(self, s: State, p: int) -> None:
        s.assignment[p].phase = "none"
        s.assignment[p].target = set()
