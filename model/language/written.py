"""Conditions given as text: parsed by Python's grammar, computed step by step, never evaluated as Python.

A text may use the language's own words (`every`, `some`, `implies`, `when`), `and`, `or`, `not`, `in`, chained
comparisons, sums and sets. It may read what a model's methods may read: `s.isr`, a variable by its bare name, settings,
`brokers`, the model's own functions. `every b: ...` and `some p in partitions: ...` are quantifiers at the front. The
rest of Python is out of reach: a text reads only attributes of the state and of the model, and none whose name
begins with an underscore.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from isrcheck.model.language.marks import marked_as
from isrcheck.model.language.reading import Reading, is_condition
from isrcheck.model.language.texts import LONGEST, Condition, NotRead, error_at, whole

__all__ = ["LONGEST", "NotRead", "is_written", "value_of", "written"]


def is_written(name: str) -> bool:
    """True if the text that a user gives for an invariant is a condition and not the name of an invariant."""
    return re.fullmatch(r"[\w-]+", name.strip()) is None


def written(text: str) -> Callable[[Any, Any], Any]:
    """The invariant that a text describes; a bad text raises `NotRead` now, or when the invariant is evaluated."""
    condition = whole(text)

    def holds(m: Any, s: Any) -> Any:
        answer = _computed(text, condition, m, s)
        if not is_condition(answer):
            raise error_at(text, 0, f"{answer!r} is no condition", "compare it with something")
        return answer

    holds.__doc__ = "A condition that is asked as text."
    return marked_as("invariant")(holds)


def value_of(text: str, m: Any, s: Any) -> Any:
    """The value of a text in a state of a model, as the model's methods would receive it."""
    return _computed(text, whole(text), m, s)


def _computed(text: str, condition: Condition, m: Any, s: Any) -> Any:
    try:
        return Reading(text, m, s).value(condition, {})
    except RecursionError:
        raise error_at(text, 0, "it is nested too deeply", "write it with fewer brackets") from None
