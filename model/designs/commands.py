"""How a broker acts on the controller's commands, and how it starts.

A LeaderAndISR command makes a broker leader or follower (on_LeaderAndISRCommand). A StopReplica command removes a
replica from the broker (on_StopReplicaCommand). This file also defines which commands a broker ignores.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.designs import State, design_constraints, epoch_cache, sentences
from isrcheck.model.designs.controller import Controller, any_controller
from isrcheck.model.designs.replicas import any_partition
from isrcheck.model.language import action, broker, goal, implies, maximum, minimum, setting, some, when


class Commands(Controller):
    """Brokers that act on the controller's commands."""

    abstract = True

    command_check = setting(
        "leader-epoch",
        choices=("role", "leader-epoch", "controller-epoch"),
        meaning="which commands a broker obeys. role: those that change its role (the design document); leader-epoch: "
        "those of a greater leader epoch; controller-epoch: the same, but none of an older controller (KAFKA-1188)",
    )
    skip_same_leader = setting(
        False, meaning="a follower does not truncate when it hears of the same leader in a later epoch (KAFKA-7164)"
    )
    startup = setting(
        "zookeeper",
        choices=("zookeeper", "controller"),
        meaning="how a broker that starts learns its role. zookeeper: the broker reads its role from ZooKeeper; "
        "controller: it waits for the controller's command",
    )

    setting_constraints = design_constraints.CONTROLLER

    # Defined in `topics` and `reassignment`.
    topic_id: Any
    stop_replica_check: Any

    # --- which commands a broker follows ----------------------------------------------------------------------------

    def command(self, s: State, c: Any, b: Any, p: int) -> Any:
        """The next request in a channel. Requires that the request is about the given partition."""
        s.require(self.is_up(s, b), ~s.channel[c][b].is_empty)
        request = s.channel[c][b].first
        if self.partitions > 1:
            s.require(request.partition == p)
        return request

    def is_current(self, s: State, b: Any, request: Any) -> Any:
        """Whether the controller epoch of a request is at least the greatest that the broker has heard of.

        If brokers do not check controller epochs, every request counts as current.
        """
        if self.command_check == "controller-epoch" and self.controller_failover:
            return request.controller_epoch >= s.heard_controller_epoch[b]
        return True

    def is_followed(self, s: State, b: Any, p: int, request: Any) -> Any:
        """Whether a broker does what a LeaderAndISR command says."""
        replica = s.replica[p][b]
        if self.command_check == "role":
            leads, follows = replica.role == "leader", (replica.role == "follower") & (replica.leader == request.leader)
            followed = when(request.leader == b, ~leads, ~follows)
        else:
            followed = (request.epoch > replica.epoch) & self.is_current(s, b, request)
        if self.has_topics and self.topic_id:
            followed = followed & (request.incarnation == s.incarnation[p][b])
        return followed & (request.kind == "leader-and-isr") if self.stops_replicas else followed

    def is_old_news(self, s: State, b: Any, p: int, request: Any) -> Any:
        """Whether a LeaderAndISR command is out of date, so that a broker does not follow it."""
        return ~self.is_followed(s, b, p, request)

    def is_obeyed(self, s: State, b: Any, p: int, request: Any) -> Any:
        """Whether a broker obeys a StopReplica command.

        Leader epochs are compared only for a reassignment (`stop-replica`), not for a deleted topic (`delete-replica`).
        """
        moved = request.kind == "stop-replica"
        if self.stop_replica_check == "none":
            return (moved | (request.kind == "delete-replica")) & self.is_of_this_topic(s, b, p, request)
        if self.stop_replica_check == "greater":
            moved = moved & (request.epoch > s.replica[p][b].epoch)
        if self.stop_replica_check == "at-least":
            moved = moved & (request.epoch >= s.replica[p][b].epoch)
        obeyed = (moved | (request.kind == "delete-replica")) & self.is_current(s, b, request)
        return obeyed & self.is_of_this_topic(s, b, p, request)

    def is_of_this_topic(self, s: State, b: Any, p: int, request: Any) -> Any:
        return request.incarnation == s.incarnation[p][b] if self.has_topics and self.topic_id else True

    def is_unnamed(self, s: State, b: Any, request: Any) -> Any:
        """Whether a broker deletes a replica because a command with INIT does not name that replica."""
        return (request.kind == "not-in-init") & self.is_current(s, b, request)

    def is_of_a_later_topic(self, s: State, b: Any, p: int, request: Any) -> Any:
        later = request.incarnation > s.incarnation[p][b]
        return later & (request.kind == "leader-and-isr") & self.is_current(s, b, request)

    def taken(self, s: State, c: Any, b: Any, request: Any) -> None:
        """Removes a command from its channel, and notes the controller epoch of the command."""
        s.channel[c][b].remove_first()
        if self.controller_failover:
            heard = s.heard_controller_epoch[b]
            s.heard_controller_epoch[b] = maximum(heard, request.controller_epoch)

    # --- commands ---------------------------------------------------------------------------------------------------

    def adopt(self, s: State, p: int, b: Any, request: Any) -> None:
        """Stores the version of a command and, if the command has them, its topic id and its replicas."""
        s.replica[p][b].version = request.version
        if self.has_topics:
            s.incarnation[p][b] = request.incarnation
        if self.reassigns:
            s.replica[p][b].replicas = request.replicas

    def taking_in_words(self, old: Any, c: Any, b: Any, p: int) -> str:
        """Says that a broker takes the next request of a channel."""
        request = sentences.request_in_words(old.channel[c][b][0])
        return f"{b} takes {request}{sentences.of_partition(self, p)}{sentences.sender_in_words(c)}"

    def deleted_in_words(self, old: Any, p: int, b: Any) -> str:
        """Says which records a broker deletes with a replica."""
        records = old.log[p][b]
        return f" with {sentences.records_in_words(records)}" if records else ", which is empty"

    @action(c=any_controller, b=broker, p=any_partition, actor="b")
    def become_leader_by_command(self, s: State, c: Any, b: Any, p: int) -> None:
        """A broker gets LeaderAndISR that names it leader, and leads. A missing replica is created."""
        request = self.command(s, c, b, p)
        s.require(request.leader == b, self.is_followed(s, b, p, request))
        self.become_leader(s, p, b, request.epoch, request.isr)
        self.adopt(s, p, b, request)
        self.taken(s, c, b, request)

    def describe_become_leader_by_command(self, old: Any, new: Any, c: Any, b: Any, p: int) -> str:
        request = old.channel[c][b][0]
        ends = f"high watermark {new.replica[p][b].high_watermark}, log end {len(new.log[p][b])}"
        again = " on" if old.replica[p][b].role == "leader" else ""
        return f"{self.taking_in_words(old, c, b, p)} and leads{again} in epoch {request.epoch}: {ends}"

    @action(c=any_controller, b=broker, p=any_partition, actor="b")
    def become_follower_by_command(self, s: State, c: Any, b: Any, p: int) -> None:
        """A broker gets LeaderAndISR with another leader or none, and follows. A missing replica is created."""
        request = self.command(s, c, b, p)
        s.require(request.leader != b, self.is_followed(s, b, p, request))
        replica = s.replica[p][b]
        same = (replica.role == "follower") & (replica.leader == request.leader)
        self.become_follower(s, p, b, request.leader, request.epoch, ~same if self.skip_same_leader else True)
        self.adopt(s, p, b, request)
        self.taken(s, c, b, request)

    def describe_become_follower_by_command(self, old: Any, new: Any, c: Any, b: Any, p: int) -> str:
        leader, before = old.channel[c][b][0].leader, old.replica[p][b]
        stops = f"stops leading in epoch {before.epoch}, " if before.role == "leader" else ""
        whom = "follows nobody" if leader is None else f"follows {leader}"
        if self.skip_same_leader and leader is not None and before.leader == leader:
            whom += ", whom it followed already,"
        compares = ""
        if self.asks_where_epochs_end and new.replica[p][b].truncating:
            compares = ", which it is to compare with the leader's"
        log = sentences.log_in_words(old, new, p, b)
        return f"{self.taking_in_words(old, c, b, p)}, {stops}{whom} and {log}{compares}"

    @action(c=any_controller, b=broker, p=any_partition, actor="b", where=lambda m: m.stops_replicas)
    def stop_replica(self, s: State, c: Any, b: Any, p: int) -> None:
        """A broker gets a StopReplica command, stops fetching and deletes the partition."""
        request = self.command(s, c, b, p)
        s.require(self.is_obeyed(s, b, p, request))
        self.delete_replica(s, p, b)
        self.taken(s, c, b, request)

    def describe_stop_replica(self, old: Any, new: Any, c: Any, b: Any, p: int) -> str:
        return f"{self.taking_in_words(old, c, b, p)} and deletes its replica{self.deleted_in_words(old, p, b)}"

    @action(
        c=any_controller,
        b=broker,
        p=any_partition,
        actor="b",
        where=lambda m: m.stops_replicas and m.init_flag and m.controller_failover,
    )
    def delete_partition_not_in_init(self, s: State, c: Any, b: Any, p: int) -> None:
        """A broker deletes a local partition that a LeaderAndISR command with INIT does not name."""
        request = self.command(s, c, b, p)
        s.require(self.is_unnamed(s, b, request))
        self.delete_replica(s, p, b)
        self.taken(s, c, b, request)

    def describe_delete_partition_not_in_init(self, old: Any, new: Any, c: Any, b: Any, p: int) -> str:
        return f"{self.taking_in_words(old, c, b, p)} and deletes its replica{self.deleted_in_words(old, p, b)}"

    @action(c=any_controller, b=broker, p=any_partition, actor="b", where=lambda m: m.has_topics and m.topic_id)
    def delete_partition_of_old_topic(self, s: State, c: Any, b: Any, p: int) -> None:
        """A broker gets a command with a later topic id, and first deletes its replica of the earlier topic."""
        request = self.command(s, c, b, p)
        s.require(self.is_of_a_later_topic(s, b, p, request))
        self.delete_replica(s, p, b)
        s.incarnation[p][b] = request.incarnation

    def describe_delete_partition_of_old_topic(self, old: Any, new: Any, c: Any, b: Any, p: int) -> str:
        request = sentences.request_in_words(old.channel[c][b][0])
        sees = f"sees {request}{sentences.sender_in_words(c)}, which is of a later topic of that name"
        return f"{b} {sees}, and first deletes its replica{self.deleted_in_words(old, p, b)}"

    @action(c=any_controller, b=broker, p=any_partition, actor="b")
    def ignore_command(self, s: State, c: Any, b: Any, p: int) -> None:
        """A broker gets a command that is out of date, and ignores it."""
        request = self.command(s, c, b, p)
        s.require(self.is_old_news(s, b, p, request))
        if self.stops_replicas:
            s.require(~self.is_obeyed(s, b, p, request), ~self.is_unnamed(s, b, request))
        if self.has_topics and self.topic_id:
            s.require(~self.is_of_a_later_topic(s, b, p, request))
        self.taken(s, c, b, request)

    def describe_ignore_command(self, old: Any, new: Any, c: Any, b: Any, p: int) -> str:
        replica = old.replica[p][b]
        knows = f"it has heard of epoch {replica.epoch}" if replica.epoch >= 0 else "it has no such replica"
        return f"{self.taking_in_words(old, c, b, p)} and ignores it: {knows}"

    # --- startup ----------------------------------------------------------------------------------------------------

    @action(b=broker, actor="b", where=lambda m: m.has_crashes)
    def on_broker_startup(self, s: State, b: Any) -> None:
        """A broker starts and registers. It reads its roles from ZooKeeper, or waits for the controller's commands.

        With `broker_epoch` the controller handles each restart as a failure and then a start. So the broker starts only
        after the controller has seen that it was gone.
        """
        s.require(~s.up.has(b))
        if self.startup == "zookeeper":
            for p in self.all_partitions:
                self._take_role(s, p, b)
        self.begin_session(s, b)
        s.up = s.up | {b}

    def describe_on_broker_startup(self, old: Any, new: Any, b: Any) -> str:
        roles = []
        for p in self.all_partitions:
            replica, of = new.replica[p][b], sentences.of_partition(self, p)
            words = {"leader": f"it leads{of} in epoch {replica.epoch}", "none": f"it has no role{of} yet"}
            follows = "nobody" if replica.leader is None else str(replica.leader)
            roles.append(words.get(replica.role, f"it follows {follows}{of} in epoch {replica.epoch}"))
            if len(new.log[p][b]) < len(old.log[p][b]):
                roles.append(f"it {sentences.log_in_words(old, new, p, b)}")
        return f"{b} starts and registers: {'; '.join(roles)}"

    def _take_role(self, s: State, p: int, b: Any) -> None:
        """A replica takes the role that ZooKeeper has for it, if any. A stray replica (`_is_stray`) is deleted."""
        state, replica, log = s.state[p], s.replica[p][b], s.log[p][b]
        here = self._has_a_role(s, p, b)
        leads = (state.leader == b) & here
        replica.role = when(here, when(leads, "leader", "follower"), "none")
        replica.leader = when(here, state.leader, replica.leader)
        replica.epoch = when(here, state.epoch, -1)
        replica.isr = when(leads, state.isr, set())
        replica.version = when(here, state.version, 0)
        length = when(self._is_stray(s, p, b), 0, log.length)
        kept = minimum(replica.high_watermark, length)
        replica.high_watermark = kept
        if self.needs_epoch_start:
            replica.epoch_start = when(leads, length, 0)
        if self.has_topics:
            own = s.incarnation[p][b]
            s.incarnation[p][b] = when(here, s.topic[p].incarnation, own)
        if self.reassigns:
            replica.replicas = when(leads, s.assignment[p].replicas, set())
        if not self.has_epoch_cache:
            self.keep(s, p, b, when(leads | state.leader.is_none, length, kept))
            return
        if self.asks_where_epochs_end:
            replica.truncating = here & ~leads & (length > 0)
        self._keep_epochs(s, p, b, leads, length)

    def _keep_epochs(self, s: State, p: int, b: Any, leads: Any, length: Any) -> None:
        """Updates the epoch cache when a replica starts, and truncates the log to `length` if necessary."""
        top, cache = self.max_leader_epoch, epoch_cache.truncated(s.epoch_cache[p][b], length, self.max_leader_epoch)
        if self.keeps_every_partition:
            cache = s.epoch_cache[p][b]
        else:
            s.log[p][b].truncate(length)
        if self.assign_on_leader and self.records_have_epochs:
            cache = when(leads, epoch_cache.assigned(cache, s.state[p].epoch, length, top), cache)
        s.epoch_cache[p][b] = cache

    @property
    def keeps_every_partition(self) -> bool:
        """Whether a broker that starts is always a replica of all partitions on its disk."""
        return not (self.has_topics or self.reassigns)

    def _has_a_role(self, s: State, p: int, b: Any) -> Any:
        """Whether ZooKeeper has a role for a replica whose broker starts."""
        if self.keeps_every_partition:
            return True
        return self.has_path(s, p) & self.is_assigned(s, p, b)

    def _is_stray(self, s: State, p: int, b: Any) -> Any:
        """Whether a broker that starts deletes its replica, because the broker is not assigned or the topic is gone."""
        if self.keeps_every_partition:
            return False
        stray = implies(self.is_assigned(s, p, b), False)
        if self.has_topics:
            stray = ~s.topic[p].exists | stray
            if self.topic_id:
                stray = stray | (s.topic[p].has_path & (s.incarnation[p][b] != s.topic[p].incarnation))
        return stray

    # --- goals ------------------------------------------------------------------------------------------------------

    @goal
    def another_broker_leads(self, s: State) -> Any:
        """A broker other than the first is the legitimate leader."""
        others = self.brokers[1:]
        return some(self.is_legitimate(s, p, b) for p in self.all_partitions for b in others)
