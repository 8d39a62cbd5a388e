"""How many examples hypothesis tries: few in an ordinary run, more with ISRCHECK_HYPOTHESIS=many or =thorough.

`.ci/run` tries few in the quick tests, and `many` beside the exhaustive tests.
"""

from __future__ import annotations

import os
from typing import Final

import pytest
from hypothesis import HealthCheck, Phase, settings

SHARES: Final = {"": 1 / 6, "many": 1 / 2, "thorough": 20}
WANTED: Final = os.environ.get("ISRCHECK_HYPOTHESIS", "")
if WANTED not in SHARES:
    raise pytest.UsageError(f"ISRCHECK_HYPOTHESIS={WANTED}: use many or thorough, or leave it out")
SHARE: Final = SHARES[WANTED]
"""The share of the numbers in the tests that is tried."""
THOROUGH: Final = SHARE > 1


def examples(number: int, *, shrink: bool = True) -> settings:
    """Settings for a share of `number` examples (`SHARE`), which are equal in every run unless it is thorough."""
    return _settings(max(1, round(number * SHARE)), shrink)


def attempts(number: int) -> settings:
    """Settings for a search that ends at its first hit: at most half of `number` examples, or more if thorough."""
    return _settings(round(number * max(SHARE, 1 / 2)), shrink=False)


def _settings(examples: int, shrink: bool) -> settings:
    return settings(
        max_examples=examples,
        derandomize=not THOROUGH,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink] if shrink else [Phase.generate],
    )
