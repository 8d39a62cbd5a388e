"""The counts of an expansion, in one array of 64-bit integers."""

from __future__ import annotations

from typing import Final

LEAST: Final = 0
"""The least number of enabled instances of a state."""
GREATEST: Final = 1
"""The greatest number of enabled instances of a state."""
FAILURES: Final = 2
"""How many instances fail; a failing instance is not enabled."""
ACTIONS: Final = 3
"""From here on one entry for each action: how many of its instances were enabled."""
HUGE: Final = (1 << 63) - 1
"""The least value before any state was counted."""
