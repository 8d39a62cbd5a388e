"""Checks that history variables only record what happens, and do not change the behaviour of a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from isrcheck.model.language.errors import mistake_in
from isrcheck.model.language.system import Transition, TransitionSystem


def require_only_notes(plain: TransitionSystem, noted: TransitionSystem, mapping: Callable[..., Any]) -> None:
    """Raises `ModelError` if a model behaves differently with its history variables than without them."""
    wrong = _otherwise(plain, noted)
    if wrong is not None:
        what = f"the history of {mapping.__name__} changes the model: {wrong}"
        raise mistake_in(mapping, what, "let it add variables behind the others, and only note in them")


def _otherwise(plain: TransitionSystem, noted: TransitionSystem) -> str | None:
    """The first difference between the model with history and the plain model, in words. None if they are alike."""
    count = len(plain.leaves)
    if noted.leaves[:count] != plain.leaves:
        return "its variables are not those of the model with others behind them"
    if {state[:count] for state in noted.initial} != set(plain.initial):
        return "it begins otherwise"
    if [(p.name, p.holds) for p in noted.constraints] != [(p.name, p.holds) for p in plain.constraints]:
        return "it has other constraints"
    if [t.label for t in noted.transitions] != [t.label for t in plain.transitions]:
        return "it has other instances of actions"
    for mine, theirs in zip(plain.transitions, noted.transitions, strict=True):
        if mine.guard is not theirs.guard or _own(mine, count) != _own(theirs, count):
            return f"{mine.label.action} does otherwise"
    return None


def _own(transition: Transition, count: int) -> list[tuple[int, int]]:
    """The assignments to leaves (scalars) that are not history: pairs of a leaf's index and the `id` of the new value.

    The new value is an expression. Equal expressions are the same object, so they have the same `id`.
    """
    return [(i, id(update)) for i, update in transition.updates.items() if i < count]
