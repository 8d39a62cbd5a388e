"""The profiles of the designs: `plain`, which is checked by default, and three others that are worth checking.

`plain` has failures, and each of its actions happens. It has at least three replicas, unless its check would then take
longer than seconds. `as-written` is the design as its document describes it, without later fixes. `with-fixes` has
every later fix. `worst-case` is the largest profile whose check ends in about a minute on two cores. `isrcheck models
NAME` says how large each profile is.
"""

from __future__ import annotations

from typing import Any, Final

Profiles = dict[str, tuple[dict[str, Any], str]]

_THREE: Final = {"replicas": 3, "log_size": 1, "crashes": 1, "expiries": 1, "max_leader_epoch": 1}
_ONE_EACH: Final = {"crashes": 1, "expiries": 1, "max_records": 2}
"""Two replicas, logs of two records, a crash and an expired session."""

_V3_FIXED: Final = {"truncation": "on-fetch", "command_check": "controller-epoch", "min_isr": 2}
_V3_PAGE: Final = {
    "truncation": "high-watermark",
    "unclean": True,
    "command_check": "role",
    "expand_guard": "literal",
    "broker_epoch": False,
}
V3: Final[Profiles] = {
    "plain": (
        {**_THREE, **_V3_FIXED, "max_version": 2, "checkpoint": "at-stop"},
        "three replicas, min.insync.replicas 2, a crash, an expired session and a new leader, with the fixes up to "
        "KAFKA-10554: holds, as Kafka on ZooKeeper promises of brokers that keep what they wrote; a crash that loses "
        "records is not in it: with lossy_crashes=1 max_leader_epoch=2 max_version=3 a committed record is lost, in 13 "
        "states, since a member of the ISR comes back without it and leads",
    ),
    "as-written": (
        {**_V3_PAGE, **_ONE_EACH},
        "the design document alone: violated, as scenario v3-as-written tells",
    ),
    "with-fixes": (
        {**_V3_FIXED, **_ONE_EACH, "replicas": 2, "min_isr": 1},
        "every later fix, two replicas and longer logs: holds",
    ),
    "worst-case": (
        {**_THREE, **_V3_FIXED, "max_leader_epoch": 2, "max_version": 3},
        "the fixes, two new leaders, and high watermarks that reach the disk at any moment or never: holds",
    ),
}

_V2_FIXED: Final = {
    "isr_write": "conditional",
    "new_epoch": "owner",
    "truncation": "kip-279",
    "lagging_replica": "follows",
    "leader_node_deletion": "own",
}
V2: Final[Profiles] = {
    "plain": (
        {**_THREE, "max_version": 2, "checkpoint": "at-stop"},
        "three replicas, a crash and an expired session, unconditional writes as in the design document: violated, "
        "since a leader that missed its expiry overwrites its successor's ISR, as in v2-zombie-overwrites-the-isr",
    ),
    "as-written": (
        {**_ONE_EACH, "max_leader_epoch": 3, "max_version": 6, "expiries": 2},
        "the design document alone, two replicas, a crash and two expiries: violated, as scenario v2-as-written tells",
    ),
    "with-fixes": (
        {**_THREE, **_V2_FIXED, "checkpoint": "at-stop"},
        "writes at a version, an epoch raised by the owner of the leader node, truncation by KIP-279: holds",
    ),
    "worst-case": (
        {**_THREE, **_V2_FIXED, "max_leader_epoch": 2},
        "the fixes, two new leaders, and high watermarks that reach the disk at any moment or never: holds",
    ),
}

_V1_FIXED: Final = {"election": "multi", "isr_write": "conditional", "skip_same_leader": True}
V1: Final[Profiles] = {
    "plain": (
        {**_ONE_EACH, "max_leader_epoch": 1, "max_version": 2, "max_records": 1},
        "two replicas (three are too many for seconds), a crash and an expired session, as in the document: "
        "violated, since a leader that missed its expiry goes on, as in v1-zombie-shrinks-the-isr-first",
    ),
    "as-written": (
        {**_ONE_EACH, "max_leader_epoch": 2},
        "the design document alone, with longer logs: violated in the same way, and split brain besides",
    ),
    "with-fixes": (
        {**_THREE, **_V1_FIXED, "max_version": 2, "checkpoint": "at-stop"},
        "election in one step and conditional writes, three replicas: violated all the same, by truncation to the "
        "high watermark (KIP-101), for V1 has no other: a member of the ISR starts again, truncates a record that its "
        "leader commits, and leads",
    ),
    "worst-case": (
        {**_V1_FIXED, "replicas": 3, "log_size": 2, "max_records": 2, "expiries": 1},
        "the fixes, three replicas, longer logs and a single expiry, which lose nothing: holds",
    ),
}

_FAILS_OVER: Final = {**_THREE, "replicas": 2, "controller_failover": True, "checkpoint": "at-stop"}
ALTER_ISR: Final[Profiles] = {
    "plain": (
        {**_FAILS_OVER, "max_version": 3, "lost_responses": 1},
        "two replicas (three with a failover are too many for seconds), a crash, a session that expires, a failover of "
        "the controller and a response that is lost: holds; a crash that loses records is not in it: with "
        "lossy_crashes=1 a committed record is lost, in 11 states, by a leader that comes back without it, which "
        "eligible leader replicas prevent in kraft",
    ),
    "as-written": (
        {"crashes": 1, "expiries": 1, "log_size": 1, "controller_failover": True, "preferred_election": True,
         "answer": "before-write", "failover_raises_version": False, "eligible_check": False,
         "sender_epoch_check": False},
        "the text of KIP-497 alone: violated, as scenario alter-isr-as-written tells",
    ),
    "with-fixes": (
        {**_FAILS_OVER, "max_leader_epoch": 2, "min_isr": 2, "late_requests": 1},
        "two replicas, min.insync.replicas 2, two new leaders, and a request that arrives twice: holds",
    ),
    "worst-case": (
        {**_THREE, "min_isr": 2, "max_version": 2, "checkpoint": "at-stop"},
        "three replicas, min.insync.replicas 2, a controller that stays, and logs that are kept: holds",
    ),
}  # fmt: skip

MAJORITY: Final[Profiles] = {
    "plain": (
        {"replicas": 3, "crashes": 1, "lossy_crashes": 1, "max_leader_epoch": 1},
        "three replicas, a crash, one that loses what was not flushed, a needless election, and votes for logs that "
        "are up to date: holds, as Raft proves",
    ),
    "as-written": (
        {
            "replicas": 3,
            "log_size": 1,
            "max_records": 2,
            "max_leader_epoch": 3,
            "timeouts": 3,
            "commit_only_own_epoch": False,
        },
        "what KafkaController says of a majority and no more: copies count whatever their epoch; violated, as in "
        "majority-counts-copies-of-earlier-epochs",
    ),
    "with-fixes": (
        {"replicas": 3, "lossy_crashes": 1, "late_messages": 1},
        "Raft's rules, a crash that loses what was not flushed, and a message that is late, lost or repeated: holds",
    ),
    "worst-case": (
        {"replicas": 3, "lossy_crashes": 2, "timeouts": 2, "max_records": 2, "log_size": 3},
        "Raft's rules, longer logs, two crashes that lose what was not flushed, two needless elections: holds",
    ),
}

_FAIL_FOR_GOOD: Final = {"replicas": 3, "crashes": 2, "max_records": 2}
PRIMARY_BACKUP: Final[Profiles] = {
    "plain": (
        _FAIL_FOR_GOOD,
        "three replicas of which two fail for good, and every live one keeps up: holds, f+1 replicas bear f failures",
    ),
    "as-written": (
        {**_FAIL_FOR_GOOD, "truncation": "high-watermark"},
        "with the design document's own truncation: violated, as in primary-backup-truncates-to-high-watermark",
    ),
    "with-fixes": (
        {**_FAIL_FOR_GOOD, "log_size": 3, "max_records": 3, "max_leader_epoch": 3, "max_version": 6},
        "truncation where logs diverge, longer logs: holds",
    ),
    "worst-case": (
        {"replicas": 5, "crashes": 3, "log_size": 1, "max_leader_epoch": 3, "max_version": 6},
        "five replicas of which three fail: holds",
    ),
}
