"""KIP-279: leader and follower go back to the last record that they agree on, and the follower truncates there.

The model has only the result of the exchange of (epoch, end offset) pairs. Fetches are not fenced yet: the fetches of a
replica in an old epoch still raise a leader's high watermark (KAFKA-6880).

Source: github.com/hachikuji/kafka-specification, module Kip279.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isrcheck.model.published.kafka_replication import UnfencedReplication

if TYPE_CHECKING:
    from isrcheck.model.published.kip_320_state import Kip320State


class Kip279(UnfencedReplication):
    """A new follower keeps its log up to the last record that both logs have."""

    def truncation_offset(self, s: Kip320State, leader: Any, follower: Any) -> Any:
        return self.end_of_common_records(s, leader, follower)
