"""Statements about all numbers below a bound, written once for every engine.

In exploration a bound is a Python number, and the functions of this file are loops. In a proof for all bounds the bound
is a term, and Python cannot loop up to a term. In such a proof the functions build conditions about all numbers
instead. The text of the model stays the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from isrcheck.model.language.logic import when


def below(end: Any) -> Any:
    """The numbers from 0 up to but excluding the setting `end`, as the range of a parameter of `for_all`."""
    return end.below() if hasattr(type(end), "below") else range(end)


def one_past_last(limit: Any, holds: Callable[[Any], Any]) -> Any:
    """The greatest number below `limit` for which `holds` is true, plus 1; 0 if there is no such number.

    The limit is a number in the state, such as the end of a log. `holds` must be defined for every number below the
    limit.

    >>> one_past_last(5, lambda offset: offset * offset < 10)
    4
    """
    if hasattr(type(limit), "one_past_last"):
        return limit.one_past_last(holds)
    end = limit * 0  # an undefined limit gives an undefined end
    for number in range(_greatest(limit)):
        end = when((number < limit) & holds(number), number + 1, end)
    return end


def _greatest(limit: Any) -> int:
    """The greatest value of a limit, which is a Python number, a concrete number or a traced number."""
    if isinstance(limit, int):
        return limit
    return int(limit.value if hasattr(type(limit), "value") else limit.node.high)
