"""Samples of large sets of similar tests: one test in so many is run often, and the rest where there is more time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import pytest

EXHAUSTIVE: Final = (pytest.mark.exhaustive,)
"""The marks of a test that `.ci/run` runs, and a quick run leaves out."""
RELEASE: Final = (pytest.mark.exhaustive, pytest.mark.release)
"""The marks of a test that is for a release only."""


def one_in(
    every: int,
    values: Iterable[Any],
    rest: tuple[pytest.MarkDecorator, ...] = RELEASE,
    sample: tuple[pytest.MarkDecorator, ...] = (),
) -> list[Any]:
    """The parameters of tests. The first and every `every`th after it are marked as `sample`, the others as `rest`.

    A set of several groups takes a sample of each group, so that no group is without one.
    """
    together = [value if isinstance(value, tuple) else (value,) for value in values]
    return [pytest.param(*value, marks=rest if i % every else sample) for i, value in enumerate(together)]
