"""Sentences that V1 and V2 share: the leader node, notified brokers, and brokers that only believe they lead.

Sentences of V2: requests in queues, replicas that start, and leader nodes that are deleted.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from isrcheck.model.designs.sentences import ends_in_words, for_partition, of_partition, truncates
from isrcheck.model.language import asked, listed


def node_in_words(s: Any, p: int, b: Any = None) -> str:
    """Words for the broker that the leader node names; "its own" if this broker is `b`."""
    leader = s.state[p].leader
    if leader is None:
        return "there is no leader node"
    return "the leader node is its own" if leader == b else f"the leader node is that of {leader}"


def leader_in_words(m: Any, s: Any, p: int, b: Any) -> str:
    """Words for a broker that leads, or that only believes it leads."""
    leader = f"the leader{of_partition(m, p)}"
    if s.state[p].leader == b:
        return f"{b}, {leader},"
    return f"{b}, still {leader} in its own eyes though {node_in_words(s, p)},"


def until_now(s: Any, p: int, b: Any) -> str:
    """Words for the role that a replica has had, or has believed to have, until now."""
    replica = s.replica[p][b]
    if replica.role == "leader":
        return "which led until now in its own eyes,"
    if replica.role == "follower" and replica.leader is not None:
        return f"until now a follower of {replica.leader},"
    return "until now without a role,"


def goes_on(s: Any, p: int, b: Any) -> str:
    """Words for the role that a replica keeps."""
    replica = s.replica[p][b]
    if replica.role == "leader":
        return "goes on leading" + ("" if s.state[p].leader == b else " in its own eyes")
    if replica.role == "follower" and replica.leader is not None:
        return f"goes on as a follower of {replica.leader}"
    return "goes on without a role"


def place_in(isr: Any) -> str:
    """Words for why an ISR allows a replica to lead: the replica is in the ISR, or the ISR is empty."""
    return f"it is in the ISR {isr}" if isr else "the ISR is empty"


def notified(m: Any, old: Any, new: Any, p: int, path: str, by: Any = None) -> str:
    """Words for the brokers that ZooKeeper notifies of a change of a path, except `by`; empty if there are none."""
    brokers = listed(notified_brokers(m, old, new, p, path) - {by})
    return "" if brokers == "nobody" else f"; ZooKeeper notifies {brokers}"


def notified_brokers(m: Any, old: Any, new: Any, p: int, path: str) -> set[Any]:
    """The brokers whose watches on a path fire in the step from `old` to `new`."""
    before, after = old.watch[p], new.watch[p]
    return {b for b in m.brokers if before[b][path] == "set" and after[b][path] == "fired"}


def follows(m: Any, old: Any, new: Any, p: int, b: Any) -> str:
    """Words for a replica that begins to follow a leader, or begins anew to follow the same leader."""
    before, leader = old.replica[p][b], new.replica[p][b].leader
    again = "begins anew to follow" if before.role == "follower" and before.leader == leader else "follows"
    return f"{again} {leader}{for_partition(m, p)} and {truncates(m, old, new, p, b)}"


def far(m: Any, s: Any, b: Any) -> str:
    """Words for the log ends and high watermarks of a broker's replicas."""
    return " and ".join(f"{ends_in_words(s, p, b)}{of_partition(m, p)}" for p in m.all_partitions)


def known_in_words(s: Any, p: int, b: Any, follower: Any) -> str:
    """Words for the offset up to which a follower has fetched, as far as the leader knows."""
    end, own = s.known_end[p][b][follower], len(s.log[p][b])
    return "which has not fetched from it yet" if end < 0 else f"which has fetched up to offset {end} of {own}"


def expires(m: Any, old: Any, new: Any, b: Any) -> str:
    """Words for the leader nodes that vanish with a session, and for the brokers that are notified."""
    nodes = [p for p in m.all_partitions if old.state[p].leader == b]
    if not nodes:
        return "it has no leader node"
    numbers = " and ".join(str(p) for p in nodes)
    which = f" of partition {numbers}" if m.partitions > 1 else ""
    brokers = listed({other for p in nodes for other in notified_brokers(m, old, new, p, "leader")})
    return f"its leader node{which} vanishes" + ("" if brokers == "nobody" else f"; ZooKeeper notifies {brokers}")


BY_NOBODY = -1


def deletes_node(m: Any, old: Any, new: Any, p: int, b: Any) -> str:
    """Words for the leader node that a broker deletes, and for the brokers that are notified."""
    node = old.state[p].leader
    if node is None:
        return "finds no leader node to delete"
    if new.state[p].leader is not None:
        return f"leaves the leader node, which is that of {node}"
    whose = "its own leader node" if node == b else f"the leader node, although that is the one of {node}"
    return f"deletes {whose}{notified(m, old, new, p, 'leader', by=b)}"


def starts(m: Any, old: Any, new: Any, p: int, b: Any) -> str:
    """Words for what startReplica does with a replica."""
    leader = old.state[p].leader
    if leader is None:
        return f"finds no leader{of_partition(m, p)}, and will hold leaderElection"
    if leader == b or not asked(old, m.follows_anew, p, b, "on-start-replica", "always"):
        return goes_on(old, p, b)
    return follows(m, old, new, p, b)


def request_in_words(m: Any, request: Any) -> str:
    """Words for a request, with the epoch of its sender."""
    partition = f" for partition {request.partition}" if m.partitions > 1 else ""
    if request.epoch == BY_NOBODY:
        return f"the administrator's {request.kind}-replica{partition} (epoch {BY_NOBODY})"
    return f"{request.kind}-replica of epoch {request.epoch}{partition}"


def queue_in_words(m: Any, queue: Any) -> str:
    return " and ".join(request_in_words(m, request) for request in queue)


def sends(m: Any, old: Any, new: Any, kind: str, epoch: int, receivers: Iterable[Any]) -> str:
    """Words for requests to some brokers, and for what full queues lose to make room for these requests."""
    receivers = sorted(receivers, key=lambda b: b.number)
    by = "" if epoch == BY_NOBODY else f" of epoch {epoch}"
    text = f"sends {kind}-replica{by} to {listed(receivers)}" if receivers else f"has nobody to {kind}"
    return text + "".join(_lost(m, old.queue[b], new.queue[b], b) for b in receivers)


def _lost(m: Any, before: Any, after: Any, b: Any) -> str:
    """Words for what a full queue has lost to make room for its newest request."""
    kept, lost = list(after[:-1]), list[Any]()
    for request in reversed(before):
        if kept and kept[-1] == request:
            kept.pop()
        else:
            lost.insert(0, request)
    return f"; the queue of {b} is full and drops {queue_in_words(m, lost)}" if lost else ""
