"""What a model says of all numbers below a bound, written once for every engine.

While a model is explored a bound is a Python number and these are loops. In a proof for all bounds it is a term: Python
cannot loop up to it, and the same words become conditions for all numbers. So there is nothing to transcribe.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from isrcheck.model.language.logic import when


def below(end: Any) -> Any:
    """The numbers 0, 1, ... below a setting, for a parameter of `for_all`."""
    return end.below() if hasattr(type(end), "below") else range(end)


def one_past_last(limit: Any, holds: Callable[[Any], Any]) -> Any:
    """One past the greatest number below `limit` for which `holds` is true, 0 if there is none.

    The limit is a number of the state, the end of a log, say. `holds` must be defined for every number below it.

    >>> one_past_last(5, lambda offset: offset * offset < 10)
    4
    """
    if hasattr(type(limit), "one_past_last"):
        return limit.one_past_last(holds)
    end = limit * 0  # a limit without a meaning gives an end without one
    for number in range(_greatest(limit)):
        end = when((number < limit) & holds(number), number + 1, end)
    return end


def _greatest(limit: Any) -> int:
    """The greatest value of a limit: of a number, of one of a concrete state, of a traced one."""
    if isinstance(limit, int):
        return limit
    return int(limit.value if hasattr(type(limit), "value") else limit.node.high)
