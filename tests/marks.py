"""Samples of large sets of similar tests: `.ci/run` runs one test in so many, and a release all of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import pytest

RELEASE: Final = (pytest.mark.exhaustive, pytest.mark.release)


def one_in(every: int, values: Iterable[Any]) -> list[Any]:
    """The parameters of tests, all marked for a release except the first and every `every`th after it.

    A set of several groups takes a sample of each group, so that no group is without one.
    """
    together = [value if isinstance(value, tuple) else (value,) for value in values]
    return [pytest.param(*value, marks=RELEASE if i % every else ()) for i, value in enumerate(together)]
