"""Before KIP-101: a new follower truncates its log to its own high watermark.

A follower's high watermark is one fetch behind the leader's. So the follower's log may lose a committed record just
before the follower is elected (KAFKA-1211, KIP-101 scenario 1).

Source: github.com/hachikuji/kafka-specification, module KafkaTruncateToHighWatermark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isrcheck.model.published.kafka_replication import UnfencedReplication

if TYPE_CHECKING:
    from isrcheck.model.published.kip_320_state import Kip320State


class TruncateToHighWatermark(UnfencedReplication):
    """A new follower keeps the records below its own high watermark."""

    def truncation_offset(self, s: Kip320State, leader: Any, follower: Any) -> Any:
        return s.replica[follower].high_watermark
