"""Exercise whom-to-vote-for: whose log is good enough for a vote?"""

from __future__ import annotations

from typing import Any

from isrcheck.model.designs.majority import MajorityVote


class WhomToVoteFor(MajorityVote):
    """Majority vote, in which a replica votes for anybody."""

    def accepts_log(self, s: Any, p: int, voter: Any, others_last: Any, other: Any) -> Any:
        """Whether a voter accepts a log whose last record is of epoch `others_last` and that ends at `other`."""
        last = self.last_epoch(s, p, voter)
        return (others_last > last) | ((others_last == last) & (other >= s.log[p][voter].length))
