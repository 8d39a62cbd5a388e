"""Sentences of V2: requests in queues, replicas that start, and leader nodes that are deleted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from isrcheck.model.designs.replica_sentences import of_partition
from isrcheck.model.designs.zookeeper_sentences import follows, goes_on, notified
from isrcheck.model.language import asked, listed

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
