"""V2, the administrator: it creates and deletes partitions, and waits until brokers have taken the requests.

Each partition of the model is a topic of its own. To create a topic, the administrator writes its replicas to
partitions_reassigned and sends start-replica in epoch -1 to each replica. When all replicas have taken this request
from their queues, the administrator writes the replicas to the path of the partition. To delete a topic, the
administrator writes an empty list to partitions_reassigned. Then the leader sends close-replica to all replicas. When
all replicas have taken this request from their queues, the administrator deletes the paths. A creation that takes too
long fails. The next creation cleans up.

Left out: the timeout of a deletion. This timeout would change nothing: the administrator would only stop waiting.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.designs import State
from isrcheck.model.designs.replicas import any_partition
from isrcheck.model.designs.v2_leader_nodes import PATH
from isrcheck.model.designs.v2_queues import NOT_BY_A_LEADER
from isrcheck.model.designs.zookeeper_sentences import leader_in_words, notified, sends
from isrcheck.model.designs.zookeeper_watches import ZookeeperWatches
from isrcheck.model.language import (
    action,
    broker,
    enum,
    every,
    implies,
    listed,
    none,
    number,
    per,
    record,
    setting,
    some,
)


class AdministeredTopics(ZookeeperWatches):
    """V2's createTopic, addPartition, deletePartition, cleanFailedTopicCreationAttempt, if `topic_changes` is set."""

    abstract = True

    topic_changes = setting(
        0,
        at_least=0,
        at_most=2,
        meaning="how often each topic may be created again, after a deletion or after a creation that failed",
        bound=lambda m, s: (
            some(s.topic[p].creations == m.topic_changes for p in m.all_partitions) if m.topic_changes else False
        ),
    )

    deletion_check = setting(
        False,
        meaning="a broker is no replica of a partition that is being deleted; if false, it remains a replica as long "
        "as the path with the replicas exists (the design document)",
    )

    # Defined in `v2_queues`.
    queue_size: Any
    send: Any

    @property
    def has_topics(self) -> bool:
        return bool(self.topic_changes)

    def variables(self) -> dict[str, Any]:
        """Adds whether each topic exists, and how often it was created."""
        found = super().variables()
        if self.has_topics:
            topic = record(exists=enum("yes", "creating", "failed", "no"), creations=number(0, self.topic_changes))
            found["topic"] = per(any_partition(self), topic)
        return found

    # --- words ------------------------------------------------------------------------------------------------------

    def has_path(self, s: State, p: int) -> Any:
        return s.topic[p].exists != "no" if self.has_topics else True

    def is_being_deleted(self, s: State, p: int) -> Any:
        return (s.assignment[p].phase == "deleting") | (s.assignment[p].phase == "closing")

    def serves_the_topic(self, s: State, p: int, b: Any) -> Any:
        return self.has_path(s, p) & ~self.is_being_deleted(s, p) if self.has_topics else True

    def is_owed(self, s: State, p: int) -> Any:
        return ~self.is_being_deleted(s, p) if self.has_topics else True

    def is_taken_out(self, s: State, p: int, replicas: Any) -> Any:
        """Whether none of the given replicas has a request for the partition in its queue."""

        def waits(b: Any) -> Any:
            places = range(self.queue_size)
            return some((s.queue[b].length > i) & self.is_about(s.queue[b].at(i), p) for i in places)

        return every(implies(replicas.has(b), ~waits(b)) for b in self.brokers)

    def is_about(self, request: Any, p: int) -> Any:
        return request.partition == p if self.partitions > 1 else True

    def remove_paths(self, s: State, p: int) -> None:
        self.fire(s, p, PATH)
        s.topic[p].exists = "no"
        s.state[p] = {"leader": none, "isr": set(), "epoch": 0, "version": 0}
        s.assignment[p] = {"phase": "none", "replicas": set(), "target": set()}
        self.forget_history(s, p)

    # --- deletePartition --------------------------------------------------------------------------------------------

    @action(p=any_partition, actor="administrator", environment=True, where=lambda m: m.has_topics)
    def delete_partition(self, s: State, p: int) -> None:
        """An administrator deletes a partition (empty list in partitions_reassigned). Its records need not survive."""
        s.require(s.topic[p].exists == "yes", s.assignment[p].phase == "none")
        s.require(s.topic[p].creations < self.topic_changes)
        s.assignment[p].phase = "deleting"
        self.forget_history(s, p)

    def describe_delete_partition(self, old: Any, new: Any, p: int) -> str:
        which = f"the partition{self.number_of(p)}"
        return f"an administrator deletes {which}: it writes an empty list of replicas to partitions_reassigned"

    def number_of(self, p: int) -> str:
        return f" {p}" if self.partitions > 1 else ""

    @action(p=any_partition, b=broker, actor="b", where=lambda m: m.has_topics)
    def close_deleted_replicas(self, s: State, p: int, b: Any) -> None:
        """The leader is told of the empty list: it closes all replicas, itself included (onPartitionsReassigned)."""
        s.require(self.leads(s, p, b), self.connected(s, b), s.assignment[p].phase == "deleting")
        for f in self.brokers:
            self.send(s, p, f, s.assignment[p].replicas.has(f), "close", s.replica[p][b].epoch)
        s.assignment[p].phase = "closing"

    def describe_close_deleted_replicas(self, old: Any, new: Any, p: int, b: Any) -> str:
        closes = sends(self, old, new, "close", old.replica[p][b].epoch, old.assignment[p].replicas)
        read = f"is told that the partition{self.number_of(p)} shall be deleted"
        return f"{leader_in_words(self, old, p, b)} {read}; it {closes}"

    @action(p=any_partition, actor="administrator", where=lambda m: m.has_topics)
    def remove_deleted_paths(self, s: State, p: int) -> None:
        """All replicas have taken the close request from their queues: the administrator deletes the paths."""
        s.require(s.assignment[p].phase == "closing", self.is_taken_out(s, p, s.assignment[p].replicas))
        self.remove_paths(s, p)

    def describe_remove_deleted_paths(self, old: Any, new: Any, p: int) -> str:
        done = f"finds that the requests to {listed(old.assignment[p].replicas)} have been taken out"
        news = notified(self, old, new, p, PATH)
        return f"the administrator {done}, and deletes the paths of the partition{self.number_of(p)}{news}"

    # --- createTopic ------------------------------------------------------------------------------------------------

    @action(p=any_partition, actor="administrator", environment=True, where=lambda m: m.has_topics)
    def create_topic(self, s: State, p: int) -> None:
        """An administrator creates the topic: it names the new replicas and sends start-replica to each."""
        topic = s.topic[p]
        s.require(topic.exists == "no", topic.creations < self.topic_changes)
        s.topic[p] = {"exists": "creating", "creations": topic.creations + 1}
        replicas = self.replicas_at_start
        s.assignment[p].phase = "creating"
        s.assignment[p].target = set(replicas)
        for f in replicas:
            self.send(s, p, f, True, "start", NOT_BY_A_LEADER)

    def describe_create_topic(self, old: Any, new: Any, p: int) -> str:
        target = new.assignment[p].target
        starts = sends(self, old, new, "start", NOT_BY_A_LEADER, target)
        return f"an administrator creates the topic{self.number_of(p)} with replicas {target}, and {starts}"

    @action(p=any_partition, actor="administrator", where=lambda m: m.has_topics)
    def finish_creation(self, s: State, p: int) -> None:
        """All replicas have taken the start-replica request from their queues: the administrator writes the path."""
        assignment = s.assignment[p]
        s.require(s.topic[p].exists == "creating", self.is_taken_out(s, p, assignment.target))
        s.topic[p].exists = "yes"
        s.assignment[p] = {"phase": "none", "replicas": assignment.target, "target": set()}

    def describe_finish_creation(self, old: Any, new: Any, p: int) -> str:
        done = f"finds that the requests to {listed(old.assignment[p].target)} have been taken out"
        return f"the administrator {done}, and names them as replicas: the topic{self.number_of(p)} is there"

    @action(p=any_partition, actor="administrator", environment=True, where=lambda m: m.has_topics)
    def creation_times_out(self, s: State, p: int) -> None:
        """A replica takes too long to start: the administrator gives up, and leaves everything as it is."""
        s.require(s.topic[p].exists == "creating", ~self.is_taken_out(s, p, s.assignment[p].target))
        s.require(s.topic[p].creations < self.topic_changes)
        s.topic[p].exists = "failed"

    def describe_creation_times_out(self, old: Any, new: Any, p: int) -> str:
        late = [b for b in self.brokers if b in old.assignment[p].target and old.queue[b]]
        waits = f"waits too long for {listed(late)} to take out their requests"
        return f"the administrator {waits}: the creation of the topic{self.number_of(p)} has failed"

    @action(p=any_partition, actor="administrator", where=lambda m: m.has_topics)
    def clean_failed_creation(self, s: State, p: int) -> None:
        """The next createTopic first sends close-replica to all replicas of the failed topic, and deletes the paths."""
        s.require(s.topic[p].exists == "failed")
        for f in self.brokers:
            self.send(s, p, f, s.assignment[p].target.has(f), "close", NOT_BY_A_LEADER)
        self.remove_paths(s, p)

    def describe_clean_failed_creation(self, old: Any, new: Any, p: int) -> str:
        closes = sends(self, old, new, "close", NOT_BY_A_LEADER, old.assignment[p].target)
        return f"the administrator {closes}, and deletes the paths of the failed topic{self.number_of(p)}"
