"""The names of methods that read a value of the state and do not change the state."""

from __future__ import annotations

from typing import Final

OF_SEQUENCES: Final = {"at", "appended", "truncated", "without_first", "without", "index", "is_prefix_of", "has"}
OF_BAGS: Final = {"has", "count"}
OF_SETS: Final = {"has", "including", "excluding"}
QUANTIFIED: Final = {"every", "some"}
METHODS: Final = frozenset(OF_SEQUENCES | OF_BAGS | OF_SETS | QUANTIFIED)
