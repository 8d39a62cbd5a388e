"""How many examples hypothesis tries: `ISRCHECK_HYPOTHESIS=thorough` tries twenty times as many as planned."""

from __future__ import annotations

import os
from typing import Final

from hypothesis import HealthCheck, Phase, settings

THOROUGH: Final = os.environ.get("ISRCHECK_HYPOTHESIS") == "thorough"


def examples(number: int, *, shrink: bool = True) -> settings:
    """Settings for about half of `number` examples, equal in every run, or (if thorough) for twenty times as many."""
    return settings(
        max_examples=20 * number if THOROUGH else (number + 1) // 2,
        derandomize=not THOROUGH,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink] if shrink else [Phase.generate],
    )
