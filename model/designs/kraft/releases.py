"""The releases of Kafka that `kraft` describes: the values of settings that describe each of them.

The comparison of `kraft` with Kafka's classes uses these values, and each verdict names the release.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from isrcheck.model.language.settings import Releases

_TODAY: Mapping[str, tuple[Any, ...]] = {
    "moved_log": ("forgets-epochs",),
    "config_order": ("after-partitions",),
    "follower_state": ("kept",),
    "equal_version": ("overrides",),
    "pending_isr": ("awaited",),
    "caught_up_outside": ("eligible-awaited",),
    "high_watermark_min_isr": (True,),
    "looks_again": (False,),
    "expand_guard": ("epoch-start",),
    "epoch_begins": ("with-a-leader-epoch",),
    "refused_request": ("waits",),
    "metadata_batches": ("merged", "one-by-one"),
    "fetch": ("two-steps", "one-step"),
    "fetch_answer": ("checked", "appends-checked"),
    "fetch_fencing": (True,),
    "diverging_fetch": ("passed-over",),
    "note_fetch": ("at-once", "apart"),
    "former_life": ("refused",),
    # the controller
    "elr": (True, False),
    "election": ("any-order", "in-order"),
    "eligible_check": (True,),
    "last_known_leader": ("must-live",),
    "removed_replica": ("stays-eligible",),
    "replicas_counted": ("own", "of-partition-0"),
    "unclean_start": ("leaves",),
    "min_isr_change": ("alone",),
    "elr_is_cleared": ("always",),
    "assigned_directory": ("keeps-elr",),
    "awaited_in_isr": ("added-or-all-if-fewer",),
}
"""For each setting about Kafka's behaviour, the values that describe Kafka 4.4.

A setting has several values if Kafka behaves differently in different situations.
"""

_BEFORE: Mapping[tuple[int, ...], Mapping[str, tuple[Any, ...]]] = {
    (4, 0, 0): {"elr": (False,)},
    (4, 0, 1): {"fetch_answer": ("unchecked",)},
    (4, 1, 1): {"last_known_leader": ("may-be-dead",)},
    (4, 3, 0): {"assigned_directory": ("clears-elr",), "awaited_in_isr": ("all",)},
}
"""Maps a version of Kafka to the settings that changed in it, each with its earlier values (but see `_BACKPORTED`).

The changes are, in this order: KIP-966, KAFKA-18991, KAFKA-19522, and in 4.3.0 apache/kafka#20716 and KAFKA-19975.
"""

_BACKPORTED: Mapping[tuple[int, ...], tuple[int, ...]] = {(4, 0, 1): (3, 9, 1)}
"""Maps the version of a backported change in `_BEFORE` to the earlier version that already has the change.

For example, 3.9.1 and 3.9.2 have the change of 4.0.1, but 4.0.0 does not.
"""


def of_kafka(version: str) -> Mapping[str, tuple[Any, ...]]:
    """Maps each setting about Kafka's behaviour to the values that describe a version. 4.0 is 4.0.0."""
    numbers = (*(int(x) for x in version.split(".")), 0)[:3]
    found = dict(_TODAY)
    for later, otherwise in _BEFORE.items():
        first = _BACKPORTED.get(later, later)
        if numbers < later and not (numbers[:2] == first[:2] and numbers >= first):
            found.update(otherwise)
    return found


KAFKA: Final = Releases("Kafka", ("3.9.0", "3.9.1", "4.0.0", "4.0.1", "4.1.0", "4.1.1", "4.2", "4.3", "4.4"), of_kafka)
