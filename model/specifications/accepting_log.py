"""A replicated log, and whether whoever speaks for it has accepted more than is committed.

The log *waits* while the one that speaks for it holds records behind what is committed, and while nobody speaks it does
not wait. Which records these are is nobody's business: they may be given up with the one that took them. Whether the
log waits changes at any time, so as to what it allows this is `replicated_log`; what is new is that waiting ends.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.language import action, flag, for_each, leads_to, per
from isrcheck.model.specifications.replicated_log import ReplicatedLog, any_partition


class AcceptingLog(ReplicatedLog):
    """A replicated log that accepts records before they are committed."""

    def variables(self) -> dict[str, Any]:
        """Those of the log, and by partition whether it waits."""
        return {**super().variables(), "waits": per(any_partition(self), flag)}

    @action(p=any_partition, actor="the log")
    def accept_or_settle(self, s: Any, p: int) -> None:
        """A record is accepted, or none waits any more: it is committed, or the one that took it speaks no more."""
        s.waits[p] = ~s.waits[p]

    @leads_to
    def accepted_is_committed(self, s: Any) -> Any:
        """What is accepted is committed in the end, or the one that took it speaks for the log no more."""
        return for_each(lambda p: (s.waits[p], ~s.waits[p]), p=range(self.partitions))
