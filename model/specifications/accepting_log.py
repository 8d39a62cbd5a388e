"""A replicated log that also says whether it has accepted uncommitted records, and whether a client has more to write.

The log *waits* while its speaker (the leader) has records after the committed records. A log without a speaker does not
wait. The specification does not say which records wait, because such records may be lost with the speaker. Records are
*offered* while some client has a record left to write. Waiting and offering begin and end in steps of their own, at any
time. All steps of `replicated_log` stay possible. This specification adds properties that say what must happen.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.language import action, count, flag, for_each, leads_to, per
from isrcheck.model.specifications.replicated_log import ReplicatedLog, any_partition


class AcceptingLog(ReplicatedLog):
    """A replicated log that accepts records before they are committed."""

    def variables(self) -> dict[str, Any]:
        """Adds two variables: whether the log of each partition waits, and whether a record is offered."""
        return {**super().variables(), "waits": per(any_partition(self), flag), "offered": flag}

    def initial(self, s: Any) -> None:
        super().initial(s)
        s.offered = True

    @action(p=any_partition, actor="the log")
    def accept_or_settle(self, s: Any, p: int) -> None:
        """A record is accepted, or no record waits any more: all are committed, or their speaker is gone."""
        s.waits[p] = ~s.waits[p]

    @action(actor="a client")
    def write_the_last(self, s: Any) -> None:
        """The clients have no more records to write, or they have one again."""
        s.offered = ~s.offered

    @leads_to
    def accepted_is_committed(self, s: Any) -> Any:
        """An accepted record is committed in the end, or whoever accepted it no longer speaks for the log."""
        return for_each(lambda p: (s.waits[p], ~s.waits[p]), p=range(self.partitions))

    @leads_to
    def committed_grows(self, s: Any) -> Any:
        """As long as records are offered and there is room, more records are committed."""
        places = [(p, o) for p in range(self.partitions) for o in range(self.log_size)]
        records = count(s.committed[p].length > o for p, o in places)

        def says(length: int) -> Any:
            return (records == length) & s.offered, (records != length) | ~s.offered

        return for_each(says, length=range(len(places)))
