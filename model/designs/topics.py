"""The deletion of topics, their re-creation under the same name, and the StopReplica requests of a deletion.

Each partition of the model is a topic of its own. Successive topics of the same name are *incarnations*. With
`topic_id` brokers tell incarnations apart by topic ids (KIP-516); without it they cannot. A deletion removes the
LeaderAndISR path immediately. Brokers hear of the deletion only after the controller has heard of it. Epochs and
versions of a new incarnation begin at 0 again. With `deletion_waits` a new incarnation is created only when no
controller knows the old one, no command is in transit, and all brokers, including those that are down, have stopped
their replicas.

Left out: /admin/delete_topics and its retries.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.designs import State, sentences
from isrcheck.model.designs.controller import Controller, any_controller
from isrcheck.model.designs.replicas import any_partition
from isrcheck.model.language import action, becomes, broker, every, flag, number, per, record, setting, some


class Topics(Controller):
    """The procedures on_topic_change and init_leaders of the V3 design document, if `topic_changes` is set."""

    abstract = True

    topic_changes = setting(
        0,
        at_least=0,
        at_most=2,
        meaning="how often each topic may be deleted; after each deletion it may be created again",
        bound=lambda m, s: (
            some(s.topic[p].incarnation == m.topic_changes for p in m.all_partitions) if m.topic_changes else False
        ),
    )
    topic_id = setting(
        True, meaning="requests, fetches and ISR writes carry the topic id; those with another id are refused (KIP-516)"
    )
    deletion_waits = setting(False, meaning="a topic can be created again only when all its old replicas have stopped")
    init_isr = setting(
        "live",
        choices=("live", "assigned"),
        meaning="the first ISR of a new topic. live: its live replicas; assigned: all replicas",
    )

    # --- variables --------------------------------------------------------------------------------------------------

    @property
    def has_topics(self) -> bool:
        return bool(self.topic_changes)

    @property
    def stops_replicas(self) -> bool:
        return self.has_topics or super().stops_replicas

    def any_incarnation(self) -> Any:
        return number(0, self.topic_changes)

    def request_fields(self) -> dict[str, Any]:
        return {**super().request_fields(), **({"incarnation": self.any_incarnation()} if self.has_topics else {})}

    def replica_variables(self) -> dict[str, Any]:
        return {**super().replica_variables(), **({"incarnation": self.any_incarnation()} if self.has_topics else {})}

    def variables(self) -> dict[str, Any]:
        """Adds the state of each topic, and which topics each controller knows."""
        found = super().variables()
        if self.has_topics:
            topic = record(exists=flag, has_path=flag, incarnation=self.any_incarnation())
            found["topic"] = per(any_partition(self), topic)
            found["known_topic"] = per(any_controller(self), per(any_partition(self), flag))
        return found

    def initial(self, s: State) -> None:
        super().initial(s)
        if self.has_topics:
            for p in self.all_partitions:
                s.topic[p] = {"exists": True, "has_path": True, "incarnation": 0}
                for c in self.controllers:
                    s.known_topic[c][p] = True

    # --- words ------------------------------------------------------------------------------------------------------

    def has_path(self, s: State, p: int) -> Any:
        return s.topic[p].has_path if self.has_topics else True

    def serves_the_topic(self, s: State, p: int, b: Any) -> Any:
        if not self.has_topics:
            return True
        return s.topic[p].exists & (s.incarnation[p][b] == s.topic[p].incarnation)

    def is_owed(self, s: State, p: int) -> Any:
        return ~self.is_being_deleted(s, p) if self.has_topics and self.deletion_waits else True

    def is_being_deleted(self, s: State, p: int) -> Any:
        """Whether a topic is deleted, but some broker or controller has not finished the deletion."""
        stopped = [(s.replica[p][b].role == "none") & s.log[p][b].is_empty for b in self.brokers]
        notified = [~s.known_topic[c][p] & s.channel[c][b].is_empty for c in self.controllers for b in self.brokers]
        return ~s.topic[p].exists & ~every([*stopped, *notified])

    def answers(self, s: State, p: int, leader: Any, follower: Any, fenced: bool) -> Any:
        asked = super().answers(s, p, leader, follower, fenced)
        if not (self.has_topics and self.topic_id):
            return asked
        return asked & (s.incarnation[p][leader] == s.incarnation[p][follower])

    def knows_the_topic(self, s: State, p: int, b: Any) -> Any:
        return s.incarnation[p][b] == s.topic[p].incarnation if self.has_topics and self.topic_id else True

    def request(self, s: State, c: Any, p: int, decision: Any, kind: str = "leader-and-isr") -> dict[str, Any]:
        found = super().request(s, c, p, decision, kind)
        return {**found, "incarnation": s.topic[p].incarnation} if self.has_topics else found

    def take_over(self, s: State, c: Any, epoch: Any) -> None:
        super().take_over(s, c, epoch)
        if self.has_topics:
            s.known_topic[c] = [s.topic[p].has_path for p in self.all_partitions]

    # --- the administrator ------------------------------------------------------------------------------------------

    @action(p=any_partition, actor="administrator", environment=True, where=lambda m: m.has_topics)
    def delete_topic(self, s: State, p: int) -> None:
        """An administrator deletes a topic; its committed, acknowledged and consumed records need not survive."""
        topic = s.topic[p]
        s.require(topic.exists, topic.incarnation < self.topic_changes)
        s.topic[p] = {"exists": False, "has_path": False, "incarnation": topic.incarnation}
        s.state[p] = self.without_decision()
        self.forget_history(s, p)

    def describe_delete_topic(self, old: Any, new: Any, p: int) -> str:
        return f"an administrator deletes the topic{sentences.of_partition(self, p)}"

    @action(p=any_partition, actor="administrator", environment=True, where=lambda m: m.has_topics)
    def create_topic(self, s: State, p: int) -> None:
        """An administrator creates a topic again under the same name."""
        topic = s.topic[p]
        s.require(~topic.exists, topic.incarnation < self.topic_changes)
        if self.deletion_waits:
            s.require(~self.is_being_deleted(s, p))
        s.topic[p] = {"exists": True, "has_path": False, "incarnation": topic.incarnation + 1}

    def describe_create_topic(self, old: Any, new: Any, p: int) -> str:
        numbers = becomes(old.topic[p].incarnation, new.topic[p].incarnation)
        return f"an administrator creates the topic{sentences.of_partition(self, p)} again: incarnation {numbers}"

    # --- the controller ---------------------------------------------------------------------------------------------

    @action(c=any_controller, p=any_partition, actor="controller", where=lambda m: m.has_topics)
    def on_topic_change(self, s: State, c: Any, p: int) -> None:
        """The controller finds that a topic is gone, and sends StopReplica to every live broker with a replica."""
        s.require(self.acting(s, c), s.known_topic[c][p], ~s.topic[p].exists)
        replicas = self.assigned(s, p, s.live)
        for b in self.brokers:
            stop = self.request(s, c, p, self.without_decision(), "delete-replica")
            self.send(s, c, b, (replicas.has(b), stop))
        s.known_topic[c][p] = False

    def describe_on_topic_change(self, old: Any, new: Any, c: Any, p: int) -> str:
        who = sentences.controller_in_words(self, old, c)
        return f"{who} sees that the topic{sentences.of_partition(self, p)} is gone{self.sent_in_words(old, new, c)}"

    @action(c=any_controller, p=any_partition, leader=broker, actor="controller", where=lambda m: m.has_topics)
    def init_leaders(self, s: State, c: Any, p: int, leader: Any) -> None:
        """The controller finds a new topic and elects a live replica. The first ISR is as `init_isr` says."""
        live = self.assigned(s, p, s.live)
        s.require(self.acting(s, c), s.topic[p].exists, ~s.topic[p].has_path, live.has(leader))
        isr = live if self.init_isr == "live" else self.assigned(s, p, s.live | set(self.brokers))
        decision = {"leader": leader, "isr": isr, "epoch": 0, "version": 0}
        for b in self.brokers:
            self.send(s, c, b, (live.has(b), self.request(s, c, p, decision)))
        s.state[p] = decision
        s.topic[p].has_path = True
        s.known_topic[c][p] = True
        s.seen_live[c][p] = s.live

    def describe_init_leaders(self, old: Any, new: Any, c: Any, p: int, leader: Any) -> str:
        who, state = sentences.controller_in_words(self, old, c), new.state[p]
        new_topic = f"sees a new topic{sentences.of_partition(self, p)}: {leader} is to lead in epoch {state.epoch}"
        return f"{who} {new_topic} with ISR {state.isr}{self.sent_in_words(old, new, c)}"
