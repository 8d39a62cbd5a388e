"""V2, state changes: requests to start or close a replica, in a persistent queue of each broker in ZooKeeper.

Leaders and administrators put requests into /brokers/state/[broker_id]. The broker takes the requests out in order
(stateChangeListener). A broker that starts first handles all requests in its queue. A leader's request has the leader's
epoch, an administrator's request has epoch -1. A full queue shrinks to the newest close-replica of each partition. If
there is still no room, the sender waits.

With `lifecycle` a *ghost* has the stage of the newest request for each replica: requested, received, completed, or
dropped (because of its epoch, or because the broker is no replica). A request that a shrinking queue loses stays in
stage requested.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.designs import State
from isrcheck.model.designs.replicas import any_partition
from isrcheck.model.designs.sentences import deletes_log
from isrcheck.model.designs.v2_leader_nodes import PATH
from isrcheck.model.designs.zookeeper_sentences import far, queue_in_words, request_in_words, starts
from isrcheck.model.designs.zookeeper_watches import ZookeeperWatches
from isrcheck.model.language import action, asked, broker, enum, per, record, sequence, setting, some, when

NOT_BY_A_LEADER = -1
"""The epoch of requests that an administrator sends."""


class StateChangeQueues(ZookeeperWatches):
    """V2's sendStateChange, stateChangeListener, startReplica and closeReplica. Queues exist only if `has_queues`."""

    abstract = True

    queue_size = setting(
        2,
        at_least=1,
        at_most=4,
        meaning="requests that the queue of a broker can hold",
        bound=lambda m, s: some(s.queue[b].is_full for b in m.brokers) if m.has_queues else False,
    )
    full_queue = setting(
        "shrinks",
        choices=("shrinks", "waits"),
        meaning="what happens to a full queue. shrinks: it keeps only the newest close-replica of each partition; "
        "waits: the sender waits",
    )
    close_check = setting(
        "none",
        choices=("none", "epoch"),
        meaning="which close-replica requests a broker obeys. none: all; epoch: those of the latest epoch, and those "
        "of administrators",
    )
    start_check = setting(
        "epoch",
        choices=("epoch", "epoch-or-administrator"),
        meaning="which start-replica requests a broker obeys while there is a leader. epoch: those of the latest "
        "epoch; epoch-or-administrator: also those of administrators",
    )
    lifecycle = setting(False, meaning="a ghost variable follows each state change from its request to its completion")

    # Defined in `v2_leader_nodes` and `v2_reassignment`.
    restarts: Any
    is_replica: Any
    is_out_of_service: Any
    start_replica: Any
    start_replicas: Any
    started_in_words: Any

    # --- variables --------------------------------------------------------------------------------------------------

    @property
    def has_queues(self) -> bool:
        """Whether anybody puts requests into the brokers' queues."""
        return self.reassigns

    @property
    def follows_requests(self) -> bool:
        return bool(self.lifecycle and self.has_queues)

    def variables(self) -> dict[str, Any]:
        """Adds the queue of each broker, and the stage of the newest request for each replica."""
        found = super().variables()
        if self.has_queues:
            request = {"kind": enum("start", "close"), "epoch": self.any_epoch(NOT_BY_A_LEADER)}
            if self.partitions > 1:
                request["partition"] = any_partition(self)
            found["queue"] = per(broker, sequence(record(**request), self.queue_size))
        if self.follows_requests:
            stages = enum("none", "requested", "received", "completed", "dropped")
            found["state_change"] = per(any_partition(self), per(broker, stages))
        return found

    # --- sendStateChange --------------------------------------------------------------------------------------------

    def send(self, s: State, p: int, b: Any, condition: Any, kind: str, epoch: Any) -> None:
        """Puts a request for a partition into a broker's queue, if a condition holds."""
        request: dict[str, Any] = {"kind": kind, "epoch": epoch}
        if self.partitions > 1:
            request["partition"] = p
        queue = s.queue[b]
        room = when(queue.is_full, self.shrunk(queue), queue) if self.full_queue == "shrinks" else queue
        s.require(~(condition & room.is_full))
        s.queue[b] = when(condition, room.appended(request), queue)
        if self.follows_requests:
            s.state_change[p][b] = when(condition, "requested", s.state_change[p][b])

    def shrunk(self, queue: Any) -> Any:
        """The part of a full queue that is kept: the newest close-replica of each partition."""
        kept = queue.truncated(0)
        for i in range(self.queue_size):
            later = [queue.at(j) for j in range(i + 1, self.queue_size)]
            superseded = some((x.kind == "close") & self.same_partition(x, queue.at(i)) for x in later)
            stays = (queue.at(i).kind == "close") & ~superseded if later else queue.at(i).kind == "close"
            kept = when(stays, kept.appended(queue.at(i)), kept)
        return kept

    def same_partition(self, one: Any, other: Any) -> Any:
        return one.partition == other.partition if self.partitions > 1 else True

    # --- stateChangeListener ----------------------------------------------------------------------------------------

    def next_request(self, s: State, p: int, b: Any) -> Any:
        """Requires that a broker is up and that its first request is for partition `p`; returns this request."""
        s.require(self.is_up(s, b), ~s.queue[b].is_empty)
        request = s.queue[b].first
        if self.partitions > 1:
            s.require(request.partition == p)
        return request

    def starts(self, s: State, p: int, b: Any, request: Any) -> Any:
        """Whether a request is a start-replica that a broker obeys.

        The broker must be a replica. There must be no leader, or `start_check` must allow the epoch of the request.
        """
        state = s.state[p]
        valid = state.leader.is_none | (request.epoch == state.epoch)
        if self.start_check == "epoch-or-administrator":
            valid = valid | (request.epoch == NOT_BY_A_LEADER)
        return (request.kind == "start") & valid & self.is_replica(s, p, b) & self.has_path(s, p)

    def closes(self, s: State, p: int, b: Any, request: Any) -> Any:
        """Whether a request is a close-replica that a broker obeys (`close_check`)."""
        close = request.kind == "close"
        if self.close_check == "none":
            return close
        return close & ((request.epoch == NOT_BY_A_LEADER) | (request.epoch == s.state[p].epoch))

    def handled(self, s: State, p: int, b: Any, stage: Any) -> None:
        """Removes the first request from a queue.

        The stage of the request is recorded, unless the queue has a newer request for the same replica.
        """
        queue = s.queue[b]
        if self.follows_requests:
            rest = range(1, self.queue_size)
            newer = some((queue.length > i) & self.same_partition(queue.at(i), queue.first) for i in rest)
            s.state_change[p][b] = when(newer, s.state_change[p][b], stage)
        queue.remove_first()

    def complete_request(self, s: State, p: int, b: Any) -> None:
        """Marks a received request to start a replica as completed, because the replica has got its role."""
        if self.follows_requests:
            stage = s.state_change[p][b]
            s.state_change[p][b] = when(stage == "received", "completed", stage)

    @action(p=any_partition, b=broker, actor="b", where=lambda m: m.has_queues)
    def on_start_replica(self, s: State, p: int, b: Any) -> None:
        """A broker gets a start-replica request and starts the replica: it follows the leader, or looks for one."""
        request, leader = self.next_request(s, p, b), s.state[p].leader
        s.require(self.starts(s, p, b, request), s.replica[p][b].step == "none")
        self.start_replica(s, p, b, True)
        self.note_load(s, 0, 2)
        self.handled(s, p, b, when(leader.is_none, "received", "completed"))

    def describe_on_start_replica(self, old: Any, new: Any, p: int, b: Any) -> str:
        request = request_in_words(self, old.queue[b][0])
        return f"{b} takes {request} out of its queue: it {starts(self, old, new, p, b)}"

    @action(p=any_partition, b=broker, actor="b", where=lambda m: m.has_queues)
    def on_close_replica(self, s: State, p: int, b: Any) -> None:
        """A broker gets a close-replica request: it stops fetching, closes the replica and deletes it."""
        request = self.next_request(s, p, b)
        s.require(self.closes(s, p, b, request))
        self.delete_replica(s, p, b)
        s.watch[p][b][PATH] = "none"
        self.handled(s, p, b, "completed")

    def describe_on_close_replica(self, old: Any, new: Any, p: int, b: Any) -> str:
        request, isr = old.queue[b][0], old.state[p].isr
        late = request.epoch not in (NOT_BY_A_LEADER, old.state[p].epoch)
        over = f", although epoch {old.state[p].epoch} is there by now," if late else ""
        needed = b in isr and asked(old, self.serves_the_topic, p, b)
        member = f", although it is in the ISR {isr}" if needed else ""
        taken = f"takes {request_in_words(self, request)} out of its queue{over} and obeys"
        return f"{b} {taken}: it {deletes_log(old, p, b)}{member}"

    @action(p=any_partition, b=broker, actor="b", where=lambda m: m.has_queues)
    def drop_state_change(self, s: State, p: int, b: Any) -> None:
        """A broker drops a request that it does not obey: the epoch is not the latest, or the broker is no replica."""
        request = self.next_request(s, p, b)
        s.require(~self.starts(s, p, b, request), ~self.closes(s, p, b, request))
        self.handled(s, p, b, "dropped")

    def describe_drop_state_change(self, old: Any, new: Any, p: int, b: Any) -> str:
        request, epoch = old.queue[b][0], old.state[p].epoch
        if not asked(old, self.has_path, p):
            why = "the partition is deleted"
        elif request.kind == "start" and not asked(old, self.is_replica, p, b):
            why = f"it is not among the replicas {old.assignment[p].replicas}"
        else:
            why = (
                f"{old.state[p].leader} leads in epoch {epoch}"
                if request.kind == "start"
                else f"epoch {epoch} is there"
            )
        return f"{b} takes {request_in_words(self, request)} out of its queue and ignores it: {why}"

    # --- brokerStartup ----------------------------------------------------------------------------------------------

    @action(b=broker, actor="b", where=lambda m: m.has_crashes and m.restarts and m.has_queues)
    def boot(self, s: State, b: Any) -> None:
        """A broker whose last session is over runs again. It will first handle all requests in its queue."""
        s.require(~s.up.has(b), ~s.live.has(b))
        s.up = s.up | {b}

    def describe_boot(self, old: Any, new: Any, b: Any) -> str:
        queue = old.queue[b]
        waiting = f"with {queue_in_words(self, queue)}, before anything else" if queue else "which is empty"
        return f"{b} runs again with {far(self, new, b)}, and looks into its queue first, {waiting}"

    @action(b=broker, actor="b", where=lambda m: m.has_crashes and m.restarts)
    def broker_startup(self, s: State, b: Any) -> None:
        """A broker with an empty queue starts its replicas and registers (brokerStartup)."""
        if self.has_queues:
            s.require(s.up.has(b), ~s.live.has(b), s.queue[b].is_empty)
            # Without expiries, a broker that is up and has no session is one that starts, even if a request in its
            # queue has given it a role.
            if self.expiries:
                s.require(self.is_out_of_service(s, b))
        else:
            s.require(~s.up.has(b), ~s.live.has(b))
            s.up = s.up | {b}
        self.start_replicas(s, b)

    def describe_broker_startup(self, old: Any, new: Any, b: Any) -> str:
        who = f"{b}, whose queue is empty," if self.has_queues else f"{b} runs again with {far(self, old, b)},"
        return f"{who} starts its replicas and registers: {self.started_in_words(old, new, b)}"

    @action(b=broker, actor="b", where=lambda m: m.expiries)
    def register_again(self, s: State, b: Any) -> None:
        """A broker that lost its session gets a new one, and reads everything again."""
        if self.has_queues and self.has_crashes and self.restarts and self.expiries:
            # A broker without any role counts as one that starts: it empties its queue first (`broker_startup`).
            s.require(~self.is_out_of_service(s, b))
        super().register_again(s, b)
