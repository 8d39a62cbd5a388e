"""Designs consist of parts: their class hierarchy is low, and every part finds the methods that it needs in others."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from isrcheck.checker.library import load_model_class
from isrcheck.model import designs
from isrcheck.model.language import Model
from isrcheck.model.language.parts import COLLECTED
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


def test_no_part_of_kraft_overrides_another() -> None:
    """Its parts are named like Kafka's classes, and each derives from the parts that it uses: eleven classes, but
    every rule has one place.
    """
    parts = [cls for cls in load_model_class("kraft").cls.__mro__ if cls.__module__.startswith(designs.__name__)]
    places = Counter(name for part in parts for name in vars(part) if not name.startswith("__"))
    assert len(parts) > 10
    assert {name for name, number in places.items() if number > 1} <= COLLECTED
