"""Designs consist of parts: their class hierarchy is low, and every part finds the methods that it needs in others."""

from __future__ import annotations

from typing import Any

import pytest

from isrcheck.checker.library import load_model_class
from isrcheck.model.language import Model
from tests.designs.shipped import OF_SHARED_PARTS


def height(cls: type[Any]) -> int:
    """The number of classes on the longest path from a class to `Model`, without `Model`."""
    above = [height(base) for base in cls.__bases__ if issubclass(base, Model)]
    return 1 + max(above) if above else 0


@pytest.mark.parametrize("name", OF_SHARED_PARTS)
def test_a_design_is_at_most_six_classes_high(name: str) -> None:
    assert height(load_model_class(name).cls) <= 6


@pytest.mark.parametrize("name", OF_SHARED_PARTS)
def test_a_design_has_what_its_parts_ask_of_each_other(name: str) -> None:
    cls = load_model_class(name).cls
    asked = {word: part for part in cls.__mro__[:-2] for word in vars(part).get("__annotations__", {})}
    assert not {word: part for word, part in asked.items() if not hasattr(cls, word)}
