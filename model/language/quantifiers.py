"""Quantifiers and choices, with the same meaning on traced values and on plain values.

Statements about all numbers below a bound, written once for every engine.

In exploration a bound is a Python number, and the functions of this file are loops. In a proof for all bounds the bound
is a term, and Python cannot loop up to a term. In such a proof the functions build conditions about all numbers
instead. The text of the model stays the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

from isrcheck.model.language.errors import mistake, not_a_condition
from isrcheck.model.semantics.concrete_values import TRUE, PlainFlag


def every(conditions: Iterable[Any]) -> Any:
    """True where all conditions hold; true if there are no conditions."""
    result: Any = True
    for condition in conditions:
        result = result & condition
    return result


def some(conditions: Iterable[Any]) -> Any:
    """True where at least one condition holds; false if there are no conditions."""
    result: Any = False
    for condition in conditions:
        result = result | condition
    return result


def implies(condition: Any, consequence: Any) -> Any:
    """True where the consequence holds or the condition is false."""
    return consequence | (not condition if isinstance(condition, bool) else ~condition)


def when(condition: Any, yes: Any, no: Any) -> Any:
    """`yes` where the condition holds, else `no`."""
    if isinstance(condition, bool):
        return yes if condition else no
    if not hasattr(type(condition), "choose"):
        raise not_a_condition(condition)
    return condition.choose(yes, no)


def count(conditions: Iterable[Any]) -> Any:
    """The number of conditions that hold."""
    return sum((when(condition, 1, 0) for condition in conditions), 0)


def minimum(first: Any, *others: Any) -> Any:
    """The least of some numbers."""
    for other in others:
        first = when(first <= other, first, other)
    return first


def maximum(first: Any, *others: Any) -> Any:
    """The greatest of some numbers."""
    for other in others:
        first = when(first >= other, first, other)
    return first


def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of a function's parameters. Engines need them in every state, and `inspect` would be too slow."""
    code = function.__code__
    return code.co_varnames[hasattr(function, "__self__") : code.co_argcount]


def for_all(holds: Callable[..., Any], where: Callable[..., Any] | None = None, **domains: Iterable[Any]) -> Any:
    """True if `holds` is true for every choice of parameters that fulfils `where`. Reports name a choice that fails.

    >>> for_all(lambda a, b: a + b < 5, a=[1, 2], b=[1, 2])
    True
    """
    if _parameters(holds) != tuple(domains):
        raise mistake(
            f"for_all binds {', '.join(domains)}, but its function takes other parameters", "use the same names in both"
        )
    values_of: Any
    for values_of in domains.values():
        if hasattr(type(values_of), "for_all"):  # numbers below a symbolic bound, over which Python cannot loop
            return values_of.for_all(holds, where, domains)
    result: Any = True
    for values in itertools.product(*map(list, domains.values())):
        instance = dict(zip(domains, values, strict=True))
        relevant = True if where is None else where(**instance)
        if isinstance(relevant, PlainFlag) and not relevant.value:
            result = result & TRUE  # a flag of the state, as in a traced model, even if no choice fulfils `where`
            continue
        if relevant is False:
            continue
        condition = implies(relevant, holds(**instance))
        if isinstance(condition, PlainFlag):
            condition = condition.because(instance, [holds] if where is None else [where, holds])
        result = result & condition
    return result


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
