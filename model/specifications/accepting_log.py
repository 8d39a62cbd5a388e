"""A replicated log, whether it has accepted more than is committed, and whether anybody has more to write.

The log *waits* while the one that speaks for it holds records behind what is committed, and while nobody speaks it does
not wait. Which records these are is nobody's business: they may be given up with the one that took them. A record is
*offered* as long as a client has one that it did not write yet. Both change at any time, so as to what it allows this
is `replicated_log`; what is new is what must happen.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.language import action, count, flag, for_each, leads_to, per
from isrcheck.model.specifications.replicated_log import ReplicatedLog, any_partition


class AcceptingLog(ReplicatedLog):
    """A replicated log that accepts records before they are committed."""

    def variables(self) -> dict[str, Any]:
        """Those of the log, by partition whether it waits, and whether a record is offered."""
        return {**super().variables(), "waits": per(any_partition(self), flag), "offered": flag}

    def initial(self, s: Any) -> None:
        super().initial(s)
        s.offered = True

    @action(p=any_partition, actor="the log")
    def accept_or_settle(self, s: Any, p: int) -> None:
        """A record is accepted, or none waits any more: it is committed, or the one that took it speaks no more."""
        s.waits[p] = ~s.waits[p]

    @action(actor="a client")
    def write_the_last(self, s: Any) -> None:
        """No client has another record to write, or one has again."""
        s.offered = ~s.offered

    @leads_to
    def accepted_is_committed(self, s: Any) -> Any:
        """What is accepted is committed in the end, or the one that took it speaks for the log no more."""
        return for_each(lambda p: (s.waits[p], ~s.waits[p]), p=range(self.partitions))

    @leads_to
    def committed_grows(self, s: Any) -> Any:
        """As long as records are offered and there is room, what is committed grows."""
        places = [(p, o) for p in range(self.partitions) for o in range(self.log_size)]
        records = count(s.committed[p].length > o for p, o in places)

        def says(length: int) -> Any:
            return (records == length) & s.offered, (records != length) | ~s.offered

        return for_each(says, length=range(len(places)))
