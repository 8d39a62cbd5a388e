"""Designs consist of parts: their class hierarchy is low, and every part finds the methods that it needs in others."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from typing import Any

import pytest

from isrcheck.checker.registry.loader import load_model_class
from isrcheck.model.language import Model, Part
from tests.designs.shipped import DESIGNS


def height(cls: type[Any]) -> int:
    """The number of classes on the longest path from a class to the language's `Model` or `Part`, without these."""
    return 0 if cls in (Model, Part) else 1 + max(height(base) for base in cls.__bases__ if issubclass(base, Model))


@pytest.mark.parametrize("name", DESIGNS)
def test_a_design_is_at_most_six_classes_high(name: str) -> None:
    """A variant of a shipped design may be one class higher for each design that it builds on."""
    cls, others = load_model_class(name).cls, {load_model_class(other).cls for other in DESIGNS}
    assert height(cls) <= 6 + len(others & {*cls.__mro__[1:]})


@pytest.mark.parametrize("name", DESIGNS)
def test_a_design_has_what_its_parts_ask_of_each_other(name: str) -> None:
    cls = load_model_class(name).cls
    asked = {word: part for part in cls.__mro__[:-2] for word in vars(part).get("__annotations__", {})}
    assert not {word: part for word, part in asked.items() if not hasattr(cls, word)}


def asked_of(part: type[Any]) -> dict[str, list[str]]:
    """The modules of which a part of `kraft` says that they define an attribute that it needs, by attribute."""
    (body,) = (node.body for node in ast.parse(inspect.getsource(sys.modules[part.__module__])).body
               if isinstance(node, ast.ClassDef) and node.name == part.__name__)  # fmt: skip
    found: dict[str, list[str]] = {}
    waiting: list[str] = []
    for node in body:
        if isinstance(node, ast.AnnAssign) and node.value is None and isinstance(node.target, ast.Name):
            waiting.append(node.target.id)
        elif waiting:
            assert isinstance(node, ast.Expr), f"{part.__name__} does not say which part defines {waiting}"
            assert isinstance(node.value, ast.Constant)
            found |= dict.fromkeys(waiting, re.findall("`(.*?)`", str(node.value.value)))
            waiting = []
    return found


def test_a_part_of_kraft_says_which_parts_define_what_it_needs() -> None:
    parts = {c.__module__.rsplit(".", 1)[1]: c for c in load_model_class("kraft").cls.__mro__[1:-3]}
    asked = [(part, *one) for part in parts.values() for one in asked_of(part).items()]
    assert len(asked) > 10
    for part, word, said in asked:
        assert [name for name in said if word in vars(parts[name])], f"{word} of {part.__name__}"
