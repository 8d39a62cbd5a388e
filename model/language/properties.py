"""Decorators that mark functions as properties of whole behaviours, and the conditions that these functions return.

A property is a function `(model, s)`. The function returns a condition, or with `leads_to` a pair of conditions. With
`for_each` the function returns a condition or a pair for every choice of parameters. A property is about the *fair*
behaviours: those that satisfy the fairness assumptions (see `fairness`).
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from isrcheck.model.language.decorators import decorator_for
from isrcheck.model.language.errors import mistake, mistake_in, not_an_answer
from isrcheck.model.language.scalarset_members import BrokerId

Method = TypeVar("Method", bound=Callable[..., Any])
Asked = tuple[tuple[str, Any], ...]
"""A choice of a property's parameters: pairs of a name and JSON data."""

KINDS: Final = ("eventually", "leads_to", "always_eventually", "eventually_always", "eventually_never", "stable")


def eventually(method: Method) -> Method:
    """Marks a property: every behaviour reaches a state where the condition holds, if only for a moment."""
    return decorator_for("eventually")(method)


def leads_to(method: Method) -> Method:
    """Marks a property: whenever the first condition holds, the second holds then or later."""
    return decorator_for("leads_to")(method)


def always_eventually(method: Method) -> Method:
    """Marks a property: the condition becomes true again and again, or stays true for ever."""
    return decorator_for("always_eventually")(method)


def eventually_always(method: Method) -> Method:
    """Marks a property: from some time on the condition holds for ever."""
    return decorator_for("eventually_always")(method)


def stable(method: Method) -> Method:
    """Marks a property: once the condition holds, it holds for ever."""
    return decorator_for("stable")(method)


def eventually_never(*actions: str) -> Callable[[Method], Method]:
    """Marks a property: if the condition stays true from some time on, the named actions happen only finitely often."""
    if not actions or not all(isinstance(name, str) for name in actions):
        raise mistake("@eventually_never without actions", 'list them: @eventually_never("shrink-isr", "expand-isr")')

    def decorate(method: Method) -> Method:
        decorator_for("eventually_never")(method).__never__ = actions  # type: ignore[attr-defined]
        return method

    return decorate


@dataclass(frozen=True)
class Each:
    """The result of `for_each`: a property's conditions for each choice of its parameters."""

    instances: tuple[tuple[Asked, Any], ...]


def for_each(says: Callable[..., Any], **domains: Iterable[Any]) -> Each:
    """Pairs each choice of parameters with the result of `says`. Choices with the result None are left out.

    >>> for_each(lambda a: a > 1, a=[1, 2]).instances
    (((('a', 1),), False), ((('a', 2),), True))
    """
    if list(inspect.signature(says).parameters) != list(domains):
        what = f"for_each binds {', '.join(domains)}, but its function takes other parameters"
        raise mistake(what, "use the same names in both")
    found = []
    for values in itertools.product(*map(list, domains.values())):
        said = says(**dict(zip(domains, values, strict=True)))
        if said is not None:
            found.append((tuple((n, _json(x)) for n, x in zip(domains, values, strict=True)), said))
    return Each(tuple(found))


def _json(value: Any) -> Any:
    return value.number if isinstance(value, BrokerId) else value


def kind_of(method: Any) -> str | None:
    """The kind of property that a function is marked as; None if it is not marked as a property."""
    kind = getattr(method, "__predicate__", None)
    return kind if kind in KINDS else None


def questions_of(
    method: Callable[..., Any], answer: Any, is_condition: Callable[[Any], bool]
) -> list[tuple[Asked, Any]]:
    """The questions of a property. Each has a choice of parameters, and a condition or a pair of conditions.

    Raises `ModelError` if the property returns anything else, or a `for_each` without choices.
    """
    found: list[tuple[Asked, Any]] = list(answer.instances) if isinstance(answer, Each) else [((), answer)]
    if isinstance(answer, Each) and not found:
        raise mistake_in(
            method, f"property {method.__name__} has no condition", "return a condition for at least one choice"
        )
    for _, said in found:
        pair = kind_of(method) == "leads_to"
        if pair and not (isinstance(said, tuple) and len(said) == 2):
            if said is None:
                raise not_an_answer(method, None)
            raise mistake_in(
                method, f"leads_to {method.__name__} does not return a pair", "return (condition, condition)"
            )
        for condition in said if pair else (said,):
            if not is_condition(condition):
                raise not_an_answer(method, condition)
    return found
