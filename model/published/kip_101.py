"""KIP-101: a new follower asks the leader where the epoch of the follower's last record ends, and truncates there.

If the leader's last record has this epoch, the leader answers with its log end, otherwise with the offset of its first
record of a later epoch. If there is no later epoch, the follower truncates to its own high watermark. As in the source,
a replica cannot become a follower at all if its log is shorter than the part to keep. Two fast failovers can still
leave logs diverged (KAFKA-6361).

Source: github.com/hachikuji/kafka-specification, module Kip101.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isrcheck.model.language import when
from isrcheck.model.published.kafka_replication import UnfencedReplication

if TYPE_CHECKING:
    from isrcheck.model.published.kip_320_state import Kip320State


class Kip101(UnfencedReplication):
    """A new follower keeps its log up to the offset at which, in the leader's log, the follower's last epoch ends."""

    def truncation_offset(self, s: Kip320State, leader: Any, follower: Any) -> Any:
        own, leaders, fallback = s.log[follower], s.log[leader], s.replica[follower].high_watermark
        end = when(leaders.last.epoch == own.last.epoch, leaders.length, self._first_later(s, leader, follower))
        return when(own.is_empty, 0, when(leaders.is_empty, fallback, end))

    def _first_later(self, s: Kip320State, leader: Any, follower: Any) -> Any:
        """The leader's first offset with a later epoch than the follower's last record.

        If the leader has no such offset, returns the follower's high watermark.
        """
        offset = s.replica[follower].high_watermark
        for o in reversed(range(self.log_size)):
            later = (s.log[leader].length > o) & (s.log[leader].at(o).epoch > s.log[follower].last.epoch)
            offset = when(later, o, offset)
        return offset
