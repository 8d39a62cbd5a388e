"""Designs are put together of parts: few classes to climb, and every part has what it asks of those beside it."""

from __future__ import annotations

from typing import Any

import pytest

from isrcheck.checker.library import load_model_class
from isrcheck.model.language import Model

DESIGNS = ("v1", "v2", "v3", "alter-isr", "majority", "primary-backup")
"""Those whose parts may override each other; the parts of `kraft` do not."""


def height(cls: type[Any]) -> int:
    """How many classes there are on the longest way from a class to `Model`, which is not counted."""
    above = [height(base) for base in cls.__bases__ if issubclass(base, Model)]
    return 1 + max(above) if above else 0


@pytest.mark.parametrize("name", DESIGNS)
def test_a_design_is_at_most_six_classes_high(name: str) -> None:
    assert height(load_model_class(name).cls) <= 6


@pytest.mark.parametrize("name", DESIGNS)
def test_a_design_has_what_its_parts_ask_of_each_other(name: str) -> None:
    cls = load_model_class(name).cls
    asked = {word: part for part in cls.__mro__[:-2] for word in vars(part).get("__annotations__", {})}
    assert not {word: part for word, part in asked.items() if not hasattr(cls, word)}
