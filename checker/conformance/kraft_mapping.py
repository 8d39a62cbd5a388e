"""The mapping of `kraft` to Kafka's classes: the calls for each action, and the variables of a state.

Kafka's own controller makes the decisions. Each broker builds its metadata image from the records that the controller
writes, and a leader receives the controller's answer to AlterPartition. `kraft_state` says which parts of Kafka's state
are read. docs/how-to/real-systems.md has a table of the real and the replaced parts of Kafka.

Source of the calls: ReplicaManager, ReplicaFetcherThread, DefaultAlterPartitionManager, ReplicationControlManager,
ClusterControlManager, ConfigurationControlManager of Kafka 3.9 to 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from isrcheck.checker.conformance.harness_process import Command, Moment
from isrcheck.checker.conformance.kraft_known import known
from isrcheck.checker.conformance.kraft_state import P, State, expected, found
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.model.language.descriptions import SeenState, asked

__all__ = [
    "calls", "classes", "covering", "decided", "expected", "found", "is_possible", "known", "of_kafka", "offers",
    "reset", "unreached", "walks", "weights",
]  # fmt: skip


def of_kafka(version: str) -> Mapping[str, tuple[Any, ...]]:
    """The values of settings that describe a version of Kafka, as the model knows them."""
    releases = load_model_class("kraft").cls.releases
    assert releases is not None
    return releases.values(version)


walks: Mapping[str, Any] = {
    "replicas": 3,
    "first_replica": 1,
    "min_isr": 2,
    "log_size": 4,
    "max_records": 4,
    "max_leader_epoch": 9,
    "max_version": 15,
    "metadata_lag": 3,
    "expiries": 4,
    "crashes": 2,
    "shutdowns": 2,
    "lossy_crashes": 1,
    "lost_responses": 1,
    "note_fetch": "apart",
    "late_notes": 4,
}
"""The settings of random walks, unless the user gives others. They allow long paths and most kinds of faults."""

covering: Mapping[str, Any] = {
    "reassignments": 2,
    "cancellations": True,
    "assigned_at_start": 2,
    "unclean_elections": 1,
    "min_isr_then": 1,
    "directory_failures": 1,
    "directory_assignments": 1,
    "log_moves": 2,
}
"""Further settings of covering walks. They allow all actions of an operator, and a disk that fails."""

weights: Mapping[str, int] = {
    "append-records-to-leader": 12,
    "fetch-records": 48,
    "process-fetch-request": 36,
    "apply-local-leaders": 24,
    "apply-local-followers": 24,
    "update-metadata-cache": 24,
    "unfence-broker": 12,
    "register-broker": 12,
    "shrink-isr": 12,
    "alter-partition": 18,
    "alter-partition-and-elect": 18,
    "handle-alter-partition-response": 18,
    "alter-partition-reassignments": 2,
    "elect-leader-for-leaderless-partition": 3,
    "elect-preferred-leader": 2,
}
"""Weights of actions in random walks. Without them, brokers would mostly stop and start, and do little else."""

classes = (
    "Partition", "Replica", "ReplicaState", "ReplicaManager", "DelayedProduce", "DefaultAlterPartitionManager",
    "AbstractFetcherThread", "ReplicaFetcherThread", "UnifiedLog", "LeaderEpochFileCache", "TopicDelta",
    "PartitionRegistration", "ReplicationControlManager", "PartitionChangeBuilder", "PartitionReassignmentReplicas",
    "PartitionReassignmentRevert", "ClusterControlManager", "BrokerHeartbeatManager",
)  # fmt: skip

unreached: Mapping[str, str] = {
    "look-again": "Kafka has no such step",
}
"""Actions that the harness cannot take, each with the reason. A path ends before the first such action."""


def _call(op: str, **arguments: Any) -> list[Command]:
    return [{"op": op, **arguments}]


# --- an action as calls ---------------------------------------------------------------------------------------------


def _publish(x: Moment) -> list[Command]:
    """A broker publishes the metadata up to a batch, and late answers arrive.

    If the model drops an answer to the broker's fetch because the fetcher restarts, the answer is late from now on. The
    harness gives a late answer to Kafka immediately, and again whenever the broker publishes metadata, until the broker
    sends its next fetch to the leader that answered. A late answer must change nothing.
    """
    b, first = x.arguments["b"], x.last_batch - (len(x.before["metadata"]) - 1)
    late = [c for f, leader in dropped(x) for c in _call("late_answer", broker=f, leader=leader) if f == b]
    return [*_call("publish", broker=b, batch=first + x.arguments["to"]), *late]


def _stop_partitions(x: Moment) -> list[Command]:
    b, first = x.arguments["b"], x.last_batch - (len(x.before["metadata"]) - 1)
    gone = [c for f, leader in dropped(x) for c in _call("drop_answer", broker=f, leader=leader)]
    return [*_call("publish", broker=b, batch=first + x.arguments["to"]), *gone]


def _stop(x: Moment) -> list[Command]:
    """A broker is killed (kill -9), crashes and loses the end of its log, or is shut down.

    With the setting `clean_crashes`, a crash without loss stops the broker cleanly, but the controller is not told. If
    the model drops answers to fetches of other brokers in this step, the harness drops the same answers.
    """
    b, clean = x.arguments["b"], x.action == "finish-controlled-shutdown"
    last = _call("finish_shutdown", broker=b) if clean else []
    clean = clean or (x.action == "crash" and x.model.clean_crashes)
    stop: Command = {"op": "stop", "broker": b, "clean": clean}
    if x.action == "crash-with-loss":
        stop["kept"] = x.arguments["kept"]
    if not clean and x.model.checkpoint == "any":
        stop["on_disk"] = x.after["replica"][P][b]["high_watermark"]
    lost = [c for f, leader in dropped(x) if f != b for c in _call("drop_answer", broker=f, leader=leader)]
    return [*last, stop, *lost]


def _start(x: Moment) -> list[Command]:
    """A broker starts and registers. Files in its directories say whether its last stop was clean."""
    new = {"broker": x.arguments["b"], "broker_epoch": x.after["broker_epoch"][x.arguments["b"]]}
    return [
        *_call("start", **new, failed_directory=x.model.failed_directory),
        *_call("register", broker=x.arguments["b"]),
    ]


def _begin_shutdown(x: Moment) -> list[Command]:
    """A shutdown begins as in BrokerServer: the heartbeat announces it first, then ReplicaManager prepares for it."""
    b = x.arguments["b"]
    return [*_call("heartbeat", broker=b, want_shut_down=True), *_call("prepare_shutdown", broker=b)]


def _directories_offline(x: Moment) -> list[Command]:
    """A heartbeat reports a failed directory.

    If the broker is not active, the heartbeat asks Kafka to fence the broker. Without this request Kafka would also
    unfence the broker, which is a separate step in the model.
    """
    b = x.arguments["b"]
    return _call("heartbeat", broker=b, directories=True, want_fence=b not in x.before["live"])


def _session_ends(x: Moment) -> list[Command]:
    return _call("expire_session", broker=x.arguments["b"])


def _reassign(x: Moment) -> list[Command]:
    """The operator names the new replicas in the model's order.

    If the partition already has these replicas in this order, the harness reverses the order.
    """
    return _call("reassign", replicas=[b for b in in_order(x.model) if b in x.arguments["target"]])


def _fail_directory(x: Moment) -> list[Command]:
    gone = [c for f, leader in dropped(x) for c in _call("drop_answer", broker=f, leader=leader)]
    return [*_call("fail_directory", broker=x.arguments["b"]), *gone]


def _fetch(x: Moment) -> list[Command]:
    whom = {"broker": x.arguments["follower"], "leader": x.arguments["leader"]}
    now = x.action == "fetch-offset-and-truncate" or x.model.fetch == "one-step"
    return [*_call("send_fetch", **whom), *(_call("take_answer", **whom) if now else [])]


calls: Mapping[str, Callable[[Moment], list[Command]]] = {
    # clients and followers
    "append-records-to-leader": lambda x: _call("produce", broker=x.arguments["b"], id=x.before["next_record_id"]),
    "fetch-records": _fetch,
    "fetch-offset-and-truncate": _fetch,
    "process-fetch-request": lambda x: _call(
        "take_answer", broker=x.arguments["follower"], leader=x.arguments["leader"]
    ),
    "read-records": lambda x: _call("read_fetch", broker=x.arguments["leader"], follower=x.arguments["follower"]),
    "update-follower-fetch-state": lambda x: _call(
        "note_fetch", broker=x.arguments["leader"], follower=x.arguments["follower"]
    ),
    # the ISR
    "shrink-isr": lambda x: _call("shrink_isr", broker=x.arguments["b"]),
    "lag-time-passes": lambda x: _call("lag", broker=x.arguments["b"], follower=x.arguments["follower"]),
    "handle-alter-partition-response": lambda x: _call("answer_alteration", broker=x.arguments["b"]),
    "lose-response": lambda x: _call("lose_response", broker=x.arguments["b"]),
    # metadata
    "apply-local-leaders": _publish,
    "apply-local-followers": _publish,
    "update-metadata-cache": _publish,
    "stop-partitions": _stop_partitions,
    # brokers that stop and start
    "crash": _stop,
    "crash-with-loss": _stop,
    "finish-controlled-shutdown": _stop,
    "register-broker": _start,
    "begin-controlled-shutdown": _begin_shutdown,
    "handle-log-dir-failure": _fail_directory,
    "maybe-replace-current-with-future-replica": lambda x: _call("move_log", broker=x.arguments["b"]),
    # the controller
    "alter-partition": lambda x: _call("alter_partition", broker=x.arguments["b"]),
    "alter-partition-and-elect": lambda x: _call("alter_partition", broker=x.arguments["b"]),
    "alter-partition-reassignments": _reassign,
    "cancel-partition-reassignment": lambda x: _call("reassign", replicas=None),
    "elect-preferred-leader": lambda x: _call("elect_leaders", type="PREFERRED"),
    "elect-leader": lambda x: _call("elect_leaders", type="UNCLEAN"),
    "elect-leader-for-leaderless-partition": lambda x: _call("balance"),
    "fence-broker": _session_ends,
    "fence-stopped-broker": _session_ends,
    "unfence-broker": lambda x: _call("heartbeat", broker=x.arguments["b"]),
    "incremental-alter-configs": lambda x: _call("alter_min_isr", min_isr=x.model.min_isr_then),
    "handle-directories-offline": _directories_offline,
    "handle-assign-replicas-to-dirs": lambda x: _call("assign_directory", broker=x.arguments["b"]),
}

elections = {
    "alter-partition-and-elect", "alter-partition-reassignments", "begin-controlled-shutdown",
    "cancel-partition-reassignment", "elect-leader", "elect-leader-for-leaderless-partition", "fence-broker",
    "fence-stopped-broker", "handle-assign-replicas-to-dirs", "handle-directories-offline", "register-broker",
    "unfence-broker",
}  # fmt: skip
"""Actions that may elect a leader."""


def decided(x: Moment, answer: Mapping[str, Any]) -> Mapping[str, Any]:
    """The argument that Kafka has decided: the elected leader, if the model leaves the choice open."""
    if x.model.election != "any-order" or x.action not in elections:
        return {}
    leader = answer["controller"]["partition"]["leader"]
    return {"leader": None if leader < 0 else leader}


def is_possible(model: Any, action: str, arguments: Mapping[str, Any], answer: Mapping[str, Any]) -> bool:
    """Whether Kafka can take an action instance now.

    Kafka has one preferred leader, but a model with `election = any-order` allows any leader. Kafka moves a log only if
    the broker has the partition. In the model any broker may move its log, but nothing changes if the broker does not
    have the partition. The directory with a broker's log is not made to fail while the controller knows another
    directory for the replica. Kafka's controller would then ignore the failure, but the model does not distinguish
    directories.
    """
    if action == "maybe-replace-current-with-future-replica":
        return bool(answer["brokers"][str(arguments["b"])]["role"] != "none")
    if action == "handle-log-dir-failure":
        known = answer["controller"]["partition"]["directories"].get(str(arguments["b"]))
        return known is None or bool(known == answer["brokers"][str(arguments["b"])].get("directory"))
    if action != "elect-preferred-leader" or model.election != "any-order":
        return True
    return bool(arguments["leader"] == answer["controller"]["partition"]["replicas"][0])


def offers(model: Any, s: State, seen: SeenState, answer: Mapping[str, Any]) -> dict[str, bool]:
    """Whether Kafka's controller would take an action now, for each action that can be compared.

    The result is empty if the bounds of the search leave no room for another change. An unclean election is left out
    if the budget `unclean_elections` is used up, and a cancellation if the setting `cancellations` is false.
    """
    real, nobody_leads = answer["controller"], s["state"][P]["leader"] is None
    if not asked(seen, model.has_room):
        return {}
    if not nobody_leads:
        found = {"elect-preferred-leader": "elect_preferred" in real["would"]}
    else:
        found = {"elect-leader-for-leaderless-partition": "balance" in real["would"]}
        if s.get("unclean_elections", 0) < model.unclean_elections:
            found["elect-leader"] = "elect_unclean" in real["would"]
    return found | ({"cancel-partition-reassignment": real["would_cancel"]} if model.cancellations else {})


def in_order(model: Any) -> list[int]:
    """The numbers of the brokers in the model's order of replicas."""
    return [b.number for b in model.in_order]


def dropped(x: Moment) -> Iterator[tuple[int, int]]:
    """Yields (follower, leader) for each leader's answer to a follower's fetch that the model drops in this step."""
    if "answer" in x.before:
        for f, by_leader in enumerate(x.before["answer"][P]):
            for leader, answer in enumerate(by_leader):
                if answer["kind"] != "none" and x.after["answer"][P][f][leader]["kind"] == "none":
                    yield f, leader


def reset(model: Any, state: State) -> list[Command]:
    """The call that sets up the first metadata image, in which all brokers are active."""
    said, brokers = state["state"][P], range(len(model.brokers))
    replicas = said.get("replicas", brokers)
    image = {
        "brokers": len(brokers),
        "configuration": {
            "min.insync.replicas": model.min_isr,
            "unclean.leader.election.enable": str(model.unclean).lower(),
        },
        "partition": {
            "leader": said["leader"],
            "isr": said["isr"],
            "replicas": [b for b in in_order(model) if b in replicas],
        },
    }
    index = 1 if model.reassigns and model.replicas_counted == "of-partition-0" else 0
    later = bool(model.truncates_later)
    return _call("reset", eligible_leader_replicas=bool(model.elr), truncates_later=later, index=index, image=image)
