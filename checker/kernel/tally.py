"""The positions of the counts in a tally. A tally is the array of counts that an expansion of states updates."""

from __future__ import annotations

from typing import Final

LEAST: Final = 0
"""The position of the least number of instances that are enabled in a state."""
GREATEST: Final = 1
"""The position of the greatest number of instances that are enabled in a state."""
FAILURES: Final = 2
"""The position of the number of failing instances. A failing instance does not count as enabled."""
ACTIONS: Final = 3
"""From this position on, the tally has one count for each action: how many of its instances were enabled."""
HUGE: Final = (1 << 63) - 1
"""The value at `LEAST` before any state is counted."""
