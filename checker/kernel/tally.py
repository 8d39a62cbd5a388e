"""The positions of the counts in a tally. A tally is the array of counts that an expansion of states updates."""

from __future__ import annotations

from typing import Final

LEAST: Final = 0
"""At this position is the least out-degree. The out-degree of a state is the number of instances enabled in it."""
GREATEST: Final = 1
"""At this position is the greatest out-degree."""
FAILURES: Final = 2
"""At this position is the number of failing instances, summed over the states. A failing instance does not count as
enabled."""
ACTIONS: Final = 3
"""From this position on, the tally has one count for each action: its enabled instances, summed over the states."""
HUGE: Final = (1 << 63) - 1
"""The value at `LEAST` before any state is counted."""
