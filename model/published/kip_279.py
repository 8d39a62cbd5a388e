"""KIP-279: leader and follower go back to the last record that they agree on, and the follower truncates there.

The exchange of (epoch, end offset) is abstracted to its result. Fetches are not fenced yet: a replica in an old epoch
still feeds the high watermark of a leader (KAFKA-6880).

Source: github.com/hachikuji/kafka-specification, module Kip279.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.published.kafka_replication import UnfencedReplication


class Kip279(UnfencedReplication):
    """A new follower keeps what lies below the last record that both logs have."""

    def truncation_offset(self, s: Any, leader: Any, follower: Any) -> Any:
        return self.end_of_common_records(s, leader, follower)
