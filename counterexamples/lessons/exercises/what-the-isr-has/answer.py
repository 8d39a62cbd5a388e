"""Exercise what-the-isr-has: what does every member of an ISR have?"""

from __future__ import annotations

from typing import Any

from isrcheck import every, implies, invariant
from isrcheck.model.published.kip_101 import Kip101
from isrcheck.model.published.kip_320 import Kip320
from isrcheck.model.published.truncate_to_hw import TruncateToHighWatermark


class Right(Kip320):
    """KIP-320: a right one, of which the invariant must hold."""


class TruncatesToHighWatermark(TruncateToHighWatermark):
    """Before KIP-101: a wrong one, of which the invariant must be false somewhere."""


class MissesAnEpoch(Kip101):
    """KIP-101: a wrong one as well."""


@invariant
def isr_has_what_is_committed(m: Any, s: Any) -> Any:
    """What a leader has committed is in the log of every member of its ISR: to be written."""
    return every(implies(s.replica[leader].leader == leader, True) for leader in m.brokers)
