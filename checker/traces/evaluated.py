"""The value of an expression at each state of a trace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from isrcheck.checker.wording.values import text_of
from isrcheck.model.language import Model
from isrcheck.model.language.brokers import BrokerId, NoBroker
from isrcheck.model.language.concrete import said
from isrcheck.model.language.domains import Flag
from isrcheck.model.language.plain import Part, Plain, PlainFlag, State, Undefined
from isrcheck.model.language.tracing import traced_value
from isrcheck.model.language.written import value_of


def evaluated(model: Model, states: Sequence[State], text: str) -> list[str]:
    """The value of an expression in each state, as text. Raises `ModelError` for a mistake in the expression.

    If the expression is undefined in a state, its text for this state says why. First, the expression is run
    symbolically, because this finds mistakes that an evaluation in a state hides. For example, a comparison
    with a misspelt value of an enum is simply false in every state.
    """
    traced_value(model, lambda m, s: value_of(text, m, s))
    return [_shown(said(model, state, lambda m, s: value_of(text, m, s))) for state in states]


def _shown(value: Any) -> str:
    match value:
        case Undefined():
            return f"undefined: {value._failure.what}"
        case Part():
            return text_of(value._domain, value._plain)
        case Plain():
            return text_of(value.domain, value.value)
        case PlainFlag():
            return text_of(Flag(), value.value)
        case bool():
            return text_of(Flag(), value)
        case BrokerId():
            return str(value.number)
        case frozenset():
            return "{" + ", ".join(sorted(_shown(x) for x in value)) + "}"
        case None:
            return "none"
        case int() | str() | NoBroker():
            return str(value)
    return repr(value)
