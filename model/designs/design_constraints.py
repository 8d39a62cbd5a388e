"""Which settings of the designs exclude each other, and which settings have no effect without another setting.

Each tuple is the `together` attribute of the class that declares the settings. For each design and each setting without
effect at the default settings, a test changes that setting and shows that the actions and predicates stay the same.
"""

from __future__ import annotations

from typing import Any, Final

from isrcheck.model.language import clash, idle
from isrcheck.model.language.setting_constraints import Together


def _has_epochs_of_its_own(m: Any) -> bool:
    return bool(m.truncation in ("kip-101", "kip-279", "kip-320"))


REPLICAS: Final[Together] = (
    clash(
        "min_isr",
        "replicas",
        where=lambda m: m.min_isr > m.replicas,
        why="an ISR has at most all replicas; take a smaller min_isr or more replicas",
    ),
    idle("follower_reads", "past_high_watermark", unless=lambda m: m.consumers, words="it needs consumers=true"),
)
PARTITION_STATE: Final[Together] = (
    clash(
        "isr_at_start",
        "replicas",
        where=lambda m: m.isr_at_start > m.replicas,
        why="the first ISR has at most all replicas; 0 is all of them",
    ),
    idle(
        "fence_fetch",
        unless=lambda m: m.truncation in ("kip-320", "on-fetch"),
        words="it needs truncation=kip-320 or on-fetch",
    ),
    idle("fence_truncation", unless=lambda m: m.truncation == "kip-320", words="it needs truncation=kip-320"),
    idle(
        "assign_on_leader",
        unless=lambda m: m.has_epoch_cache,
        words="it needs truncation=kip-101, kip-279, kip-320 or on-fetch",
    ),
    idle(
        "refuse_undefined_epoch",
        "truncation_reply",
        unless=_has_epochs_of_its_own,
        words="it needs truncation=kip-101, kip-279 or kip-320",
    ),
    idle(
        "truncate_before_high_watermark",
        unless=lambda m: m.truncation == "on-fetch",
        words="it needs truncation=on-fetch",
    ),
    idle(
        "checkpoint",
        "checkpoint_all",
        unless=lambda m: m.has_crashes,
        words="it needs crashes>=1 or lossy_crashes>=1 (alter-isr: or shutdowns>=1)",
    ),
)
REASSIGNED: Final[Together] = (
    clash(
        "assigned_at_start",
        "replicas",
        where=lambda m: m.assigned_at_start > m.replicas,
        why="there are not so many brokers to assign; 0 is all of them",
    ),
    clash(
        "reassignments",
        "replicas",
        where=lambda m: m.reassignments and m.replicas == 1,
        why="a partition on the only broker has nowhere to move",
    ),
)
CONTROLLER: Final[Together] = (
    idle(
        "max_controller_epoch",
        "controller_epoch_guard",
        "init_flag",
        unless=lambda m: m.controller_failover,
        words="it needs controller_failover=true",
    ),
    idle("topic_id", "init_isr", unless=lambda m: m.topic_changes, words="it needs topic_changes>=1"),
    *REASSIGNED,
    idle(
        "cancellations",
        "target_isr_check",
        "target_leader_check",
        "stop_replica_check",
        "reassignment_rounds",
        unless=lambda m: m.reassignments,
        words="it needs reassignments>=1",
    ),
    idle(
        "startup",
        unless=lambda m: m.has_crashes,
        words="it needs crashes>=1 or lossy_crashes>=1 (alter-isr: or shutdowns>=1)",
    ),
)
V3: Final[Together] = (
    clash(
        "versions",
        "topic_changes",
        where=lambda m: m.versions == "identity" and m.topic_changes,
        why="versions of a topic that is made anew begin with 0 again, and meet those of the old one; count them",
    ),
    idle("read_back", unless=lambda m: m.lost_replies, words="it needs lost_replies>=1"),
)
V2: Final[Together] = (
    *REASSIGNED,
    idle("restarts", unless=lambda m: m.has_crashes, words="it needs crashes>=1 or lossy_crashes>=1"),
    idle(
        "queue_size",
        "full_queue",
        "close_check",
        "start_check",
        "lifecycle",
        unless=lambda m: m.has_queues,
        words="it needs reassignments>=1, assigned_at_start>=1 or topic_changes>=1",
    ),
    idle(
        "replica_check",
        "resumed_reassignment",
        "reassigned_isr",
        "reassignment_writes",
        unless=lambda m: m.reassignments,
        words="it needs reassignments>=1",
    ),
    idle("deletion_check", unless=lambda m: m.topic_changes, words="it needs topic_changes>=1"),
)
ALTER_ISR: Final[Together] = (
    idle("requests_in_order", unless=lambda m: m.late_requests, words="it needs late_requests>=1"),
    idle("controllers_in_order", unless=lambda m: m.controller_failover, words="it needs controller_failover=true"),
    idle(
        "failover_raises_version",
        unless=lambda m: m.names_holder,
        words="it needs controller_failover=true and answer=before-write",
    ),
    idle("idempotent_check", unless=lambda m: m.answer == "after-write", words="it needs answer=after-write"),
)
MAJORITY: Final[Together] = (
    idle("restarts", unless=lambda m: m.has_crashes, words="it needs crashes>=1 or lossy_crashes>=1"),
    idle("epoch_check", unless=lambda m: m.late_messages, words="it needs late_messages>=1"),
    idle("fsync", unless=lambda m: m.lossy_crashes, words="it needs lossy_crashes>=1"),
)
