"""Which settings of the designs exclude each other, and which settings have no effect without another setting.

Each tuple is the `setting_constraints` attribute of the class that declares the settings. For each design and each
setting without effect at the default settings, a test changes that setting and shows that the actions and predicates
stay the same.
"""

from __future__ import annotations

from typing import Any, Final

from isrcheck.model.language import conflict, inert
from isrcheck.model.language.setting_constraints import SettingConstraints


def _has_epochs_of_its_own(m: Any) -> bool:
    return bool(m.truncation in ("kip-101", "kip-279", "kip-320"))


REPLICAS: Final[SettingConstraints] = (
    conflict(
        "min_isr",
        "replicas",
        where=lambda m: m.min_isr > m.replicas,
        why="an ISR has at most all replicas; use a smaller min_isr or more replicas",
    ),
    inert("follower_reads", "past_high_watermark", unless=lambda m: m.consumers, words="it needs consumers=true"),
)
PARTITION_STATE: Final[SettingConstraints] = (
    conflict(
        "isr_at_start",
        "replicas",
        where=lambda m: m.isr_at_start > m.replicas,
        why="the first ISR has at most all replicas; 0 means all of them",
    ),
    inert(
        "fence_fetch",
        unless=lambda m: m.truncation in ("kip-320", "on-fetch"),
        words="it needs truncation=kip-320 or on-fetch",
    ),
    inert("fence_truncation", unless=lambda m: m.truncation == "kip-320", words="it needs truncation=kip-320"),
    inert(
        "assign_on_leader",
        unless=lambda m: m.has_epoch_cache,
        words="it needs truncation=kip-101, kip-279, kip-320 or on-fetch",
    ),
    inert(
        "refuse_undefined_epoch",
        "truncation_reply",
        unless=_has_epochs_of_its_own,
        words="it needs truncation=kip-101, kip-279 or kip-320",
    ),
    inert(
        "truncate_before_high_watermark",
        unless=lambda m: m.truncation == "on-fetch",
        words="it needs truncation=on-fetch",
    ),
    inert(
        "checkpoint",
        "checkpoint_all",
        unless=lambda m: m.has_crashes,
        words="it needs crashes>=1 or lossy_crashes>=1 (alter-isr: or shutdowns>=1)",
    ),
)
REASSIGNED: Final[SettingConstraints] = (
    conflict(
        "assigned_at_start",
        "replicas",
        where=lambda m: m.assigned_at_start > m.replicas,
        why="there are not that many brokers to assign; 0 means all of them",
    ),
    conflict(
        "reassignments",
        "replicas",
        where=lambda m: m.reassignments and m.replicas == 1,
        why="a partition on the only broker has nowhere to move",
    ),
)
CONTROLLER: Final[SettingConstraints] = (
    inert(
        "max_controller_epoch",
        "controller_epoch_guard",
        "init_flag",
        unless=lambda m: m.controller_failover,
        words="it needs controller_failover=true",
    ),
    inert("topic_id", "init_isr", unless=lambda m: m.topic_changes, words="it needs topic_changes>=1"),
    *REASSIGNED,
    inert(
        "cancellations",
        "target_isr_check",
        "target_leader_check",
        "stop_replica_check",
        "reassignment_rounds",
        unless=lambda m: m.reassignments,
        words="it needs reassignments>=1",
    ),
    inert(
        "startup",
        unless=lambda m: m.has_crashes,
        words="it needs crashes>=1 or lossy_crashes>=1 (alter-isr: or shutdowns>=1)",
    ),
)
V3: Final[SettingConstraints] = (
    conflict(
        "versions",
        "topic_changes",
        where=lambda m: m.versions == "identity" and m.topic_changes,
        why="versions of a recreated topic start from 0 again and collide with the old ones; count them",
    ),
    inert("read_back", unless=lambda m: m.lost_replies, words="it needs lost_replies>=1"),
)
V2: Final[SettingConstraints] = (
    *REASSIGNED,
    inert("restarts", unless=lambda m: m.has_crashes, words="it needs crashes>=1 or lossy_crashes>=1"),
    inert(
        "queue_size",
        "full_queue",
        "close_check",
        "start_check",
        "lifecycle",
        unless=lambda m: m.has_queues,
        words="it needs reassignments>=1, assigned_at_start>=1 or topic_changes>=1",
    ),
    inert(
        "replica_check",
        "resumed_reassignment",
        "reassigned_isr",
        "reassignment_writes",
        unless=lambda m: m.reassignments,
        words="it needs reassignments>=1",
    ),
    inert("deletion_check", unless=lambda m: m.topic_changes, words="it needs topic_changes>=1"),
)
ALTER_ISR: Final[SettingConstraints] = (
    inert("requests_in_order", unless=lambda m: m.late_requests, words="it needs late_requests>=1"),
    inert("controllers_in_order", unless=lambda m: m.controller_failover, words="it needs controller_failover=true"),
    inert(
        "failover_raises_version",
        unless=lambda m: m.names_holder,
        words="it needs controller_failover=true and answer=before-write",
    ),
    inert("idempotent_check", unless=lambda m: m.answer == "after-write", words="it needs answer=after-write"),
)
MAJORITY: Final[SettingConstraints] = (
    inert("restarts", unless=lambda m: m.has_crashes, words="it needs crashes>=1 or lossy_crashes>=1"),
    inert("epoch_check", unless=lambda m: m.late_messages, words="it needs late_messages>=1"),
    inert("fsync", unless=lambda m: m.lossy_crashes, words="it needs lossy_crashes>=1"),
)
