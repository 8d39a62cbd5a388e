"""How long hypothesis searches: `ISRCHECK_HYPOTHESIS=thorough` searches twenty times as long."""

from __future__ import annotations

import os
from typing import Final

from hypothesis import HealthCheck, Phase, settings

THOROUGH: Final = os.environ.get("ISRCHECK_HYPOTHESIS") == "thorough"


def examples(number: int, *, shrink: bool = True) -> settings:
    """Settings for about half as many examples, the same ones at every run; twenty times as many where thorough."""
    return settings(
        max_examples=20 * number if THOROUGH else (number + 1) // 2,
        derandomize=not THOROUGH,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink] if shrink else [Phase.generate],
    )
