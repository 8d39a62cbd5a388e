"""Conditions that only keep a search finite (for example, that a channel has room for another element)."""

from __future__ import annotations

from typing import Any

from isrcheck.model.language.errors import OfTheState, not_a_condition


class Room(OfTheState):
    """A condition that `s.room` marks; only `require` accepts it."""

    __slots__ = ("_condition",)
    _condition: Any

    def __init__(self, condition: Any) -> None:
        if not isinstance(condition, bool | OfTheState) or isinstance(condition, Room):
            raise not_a_condition(condition)
        self._condition = condition

    def _operators(self) -> tuple[str, str]:
        return "s.room(...) in a larger condition", "write s.require(a, s.room(b))"

    __hash__ = OfTheState.__hash__

    def __eq__(self, other: object) -> Any:
        self._refused(other)

    def __ne__(self, other: object) -> Any:
        self._refused(other)
