"""The columns of the tables for queries: each variable becomes one or more columns, according to its domain.

Each part of a record or of `per(...)` becomes a column, with the name that `analyze --variable` uses
(`replica[0].isr`). A flag becomes a boolean. A number or a broker becomes an integer (null for no broker). A named
value becomes a string. A set, a sequence, a channel, a bag or a set of messages becomes a list. Elements that are
records become structs. Spark's executors do not know domains, so a *shape* describes a column to them. A shape is a
list `[kind, ...]`, from which `engines/spark/decoding.py` builds arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from isrcheck.checker.kernel.layout import Layout
from isrcheck.model.language.domains import (
    Bag,
    Broker,
    BrokerSet,
    Domain,
    Enum,
    Flag,
    Messages,
    Number,
    Per,
    Record,
    Sequence_,
)
from isrcheck.model.language.system import TransitionSystem

Column = tuple[str, str, list[Any]]
"""A column: its name, its type in the notation of SQL, and its shape."""


def columns_of(system: TransitionSystem, layout: Layout) -> list[Column]:
    """The columns of a system's states, in the order of its variables."""
    places = [[place.word, place.shift, place.width, place.low] for place in layout.places]
    found: list[Column] = []
    for variable in system.variables:
        mine = iter(places[variable.start : variable.start + variable.domain.width])
        found += _columns(variable.name, variable.domain, mine)
    return found


def _columns(name: str, domain: Domain, places: Iterator[list[int]]) -> Iterator[Column]:
    match domain:
        case Record():
            for part, inner in zip(domain.names, domain.domains, strict=True):
                yield from _columns(f"{name}.{part}", inner, places)
        case Per():
            for index in domain.index.values():
                yield from _columns(f"{name}[{domain.index.to_json(index)}]", domain.element, places)
        case _:
            yield name, sql_of(type_of(domain)), _shape(domain, places)


def type_of(domain: Domain) -> Any:
    """The type of a domain's values: a name of Spark's SQL, `[type]` for a list, a dict of types for a record."""
    match domain:
        case Flag():
            return "boolean"
        case Number() | Broker():
            return "bigint"
        case Enum():
            return "string"
        case BrokerSet() | Sequence_() | Messages() | Bag() | Per():
            return [type_of(domain.element)]
        case Record():
            return {name: type_of(inner) for name, inner in zip(domain.names, domain.domains, strict=True)}
    raise AssertionError(f"{domain} has no type")


def sql_of(kind: Any) -> str:
    """The text of a type (as from `type_of`) in the notation of Spark's SQL."""
    if isinstance(kind, list):
        return f"array<{sql_of(kind[0])}>"
    if isinstance(kind, dict):
        return f"struct<{', '.join(f'`{name}`: {sql_of(inner)}' for name, inner in kind.items())}>"
    return str(kind)


def _shape(domain: Domain, places: Iterator[list[int]]) -> list[Any]:
    match domain:
        case Enum():
            return ["enum", next(places), list(domain.members)]
        case Flag() | Number() | Broker():
            return [type(domain).__name__.lower(), next(places)]
        case BrokerSet():
            return ["set", next(places), domain.element.count]
        case Record():
            return ["record", list(domain.names), [_shape(inner, places) for inner in domain.domains]]
        case Sequence_():
            return ["sequence", next(places), [_shape(domain.element, places) for _ in range(domain.capacity)]]
        case Per():
            return ["per", [_shape(domain.element, places) for _ in range(domain.count)]]
        case Messages():
            elements = [domain.element.to_json(x) for x in domain.elements]
            return ["messages", [next(places) for _ in elements], elements, type_of(domain.element)]
        case Bag():
            elements = [domain.element.to_json(x) for x in domain.elements]
            return ["bag", [next(places) for _ in elements], elements, type_of(domain.element)]
    raise AssertionError(f"{domain} has no shape")
