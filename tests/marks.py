"""Samples of large sets of similar tests: `.ci/run` runs one test in so many, and a release all of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def one_in(every: int, values: Iterable[Any]) -> list[Any]:
    """The parameters of tests; each is marked `release` except the first and every `every`th after it."""
    return [
        value
        if i % every == 0
        else pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.release)
        for i, value in enumerate(values)
    ]
