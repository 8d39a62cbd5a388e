"""V2: partition leaders coordinate the replicas by ephemeral leader nodes and queues of state changes in ZooKeeper.

The parts of the design document are in these files: produce and commit in `logs`; the fetcher in `fetches`;
becomeFollower and crashes in `data_plane`; watches and sessions in `zookeeper_watches`; leaderElection in
`v2_leader_nodes`; becomeLeader and the ISR in `v2_leaders`; state changes and brokerStartup in `v2_queues`;
reassignment in `v2_reassignment`; the administrator's commands in `v2_topics`. This file has checkLoadBalancing.

The document compares two versions, with removed and added lines side by side. Where the versions disagree, the model
takes the later one: each partition has an epoch, in its ISR path; a new leader sends no request; an empty list in
partitions_reassigned deletes a partition. Where the text is still ambiguous, there is a setting. By default such a
setting follows the literal text. Two settings do not: by the literal text no new replica of a reassignment would start
(`replica_check`), and a reassignment could lose committed records (`reassigned_isr`).

Left out: several partitions in one request, PreferredReplicaTime, the add-brokers and remove-brokers commands.

Source: the page "Kafka replication detailed design V2".
"""

from __future__ import annotations

from typing import Any, ClassVar

from isrcheck.model.designs import State, design_constraints, design_profiles
from isrcheck.model.designs.replicas import any_partition
from isrcheck.model.designs.v2_leader_nodes import LeaderNodes
from isrcheck.model.designs.v2_leaders import NewLeaders
from isrcheck.model.designs.v2_queues import StateChangeQueues
from isrcheck.model.designs.v2_reassignment import ReassignedReplicas
from isrcheck.model.designs.v2_topics import AdministeredTopics
from isrcheck.model.designs.watches import Watch
from isrcheck.model.designs.zookeeper_sentences import deletes_node, leader_in_words
from isrcheck.model.language import action, broker, goal, setting, some


# The order of the parts is the order in which `super()` calls them.
class LeaderCoordination(AdministeredTopics, ReassignedReplicas, StateChangeQueues, NewLeaders, LeaderNodes):
    """The design V2: the leader of a partition decides by itself, without a controller."""

    invariants = ("committed-records-are-stable", "no-committed-loss", "single-committed-leader-per-epoch")
    profiles = design_profiles.V2

    watches: ClassVar = (
        Watch("/brokers/topics/[topic]/[partition]/leader", "partition", "replicas"),
        Watch("/brokers/state/[broker]", "broker", "itself"),
        Watch("/brokers/partitions_reassigned", "cluster", "leaders"),
        Watch("/brokers/partitions_reassigned/[topic]", "topic", "leaders"),
    )
    message: ClassVar = ("write", "notification", "read", "write")
    """The steps of a state change: a write into the queue, a notification, a read, and a removal from the queue."""

    load_balancing = setting(False, meaning="a leader gives up so that broker 0 leads again, if broker 0 is in its ISR")

    setting_constraints = design_constraints.V2

    @action(p=any_partition, b=broker, actor="b", environment=True)
    def check_load_balancing(self, s: State, p: int, b: Any) -> None:
        """A leader other than broker 0 gives up the leader node, because broker 0 (the preferred one) is in its ISR."""
        preferred = self.broker(0)
        if not self.load_balancing or b == preferred:
            return
        s.require(self.leads(s, p, b), s.replica[p][b].isr.has(preferred), self.has_path(s, p))
        self.stop_leading(s, p, b)
        self.give_up_node(s, p, b)

    def describe_check_load_balancing(self, old: Any, new: Any, p: int, b: Any) -> str:
        why = f"has {self.broker(0)}, the preferred replica, in its ISR {old.replica[p][b].isr}"
        given = deletes_node(self, old, new, p, b)
        return f"{leader_in_words(self, old, p, b)} {why}: it stops leading and {given}"

    @goal
    def another_broker_leads(self, s: State) -> Any:
        """A broker other than broker 0 leads, and the leader node names this broker."""
        others = self.brokers[1:]
        return some(self.is_legitimate(s, p, b) for p in self.all_partitions for b in others)
