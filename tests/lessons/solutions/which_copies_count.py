"""Exercise which-copies-count: which copies of a record let a leader commit it?"""

from __future__ import annotations

from typing import Any

from isrcheck import action, broker, count, when
from isrcheck.model.designs.majority import MajorityVote
from isrcheck.model.designs.replicas import any_partition


class WhichCopiesCount(MajorityVote):
    """Majority vote, in which a leader commits whatever most replicas have."""

    commit_only_own_epoch = False

    def may_commit(self, s: Any, p: int, leader: Any, offset: int) -> Any:
        """Whether the leader, seeing a majority with the record at an offset, may commit up to it: to be written."""
        return s.log[p][leader].at(offset).epoch == s.replica[p][leader].epoch

    @action(p=any_partition, b=broker, actor="b")
    def commit(self, s: Any, p: int, b: Any) -> None:
        """The leader raises its high watermark to the greatest offset that it may, of those that most replicas have."""
        replica, log = s.replica[p][b], s.log[p][b]
        end: Any = replica.high_watermark
        for o in range(self.log_size):
            copies = count(self.end_seen_by(s, p, b, x) > o for x in self.brokers)
            enough = (log.length > o) & (copies >= self.majority) & self.may_commit(s, p, b, o)
            end = when(enough & (end <= o), o + 1, end)
        s.require(self.leads(s, p, b), end > replica.high_watermark)
        self.note_commit(s, p, b, end, True)
        s.replica[p][b].high_watermark = end
        self.flush(s, p, b, end)
