"""The columns of the tables for queries: each variable becomes one or more columns, according to its domain.

Each part of a record or of `per(...)` becomes a column, with the name that `analyze --variable` uses
(`replica[0].isr`). A flag becomes a boolean. A number or a broker becomes an integer (null for no broker). A named
value becomes a string. A set, a sequence, a channel, a bag or a set of messages becomes a list. Elements that are
records become structs. Spark's executors do not know domains, so a *shape* describes a column to them. A shape is a
list `[kind, ...]`, from which `engines/spark/decoder.py` builds arrays.

The common part of two models: the variables that have the same name and comparable domains in both models.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
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
from isrcheck.model.semantics.expressions import Leaf
from isrcheck.model.semantics.transition_system import TransitionSystem


@dataclass(frozen=True)
class SharedVariables:
    """The names of the common variables (`variables`) and of all others (`apart`), and the leaves of common variables.

    A *leaf* is a scalar part of a state. `leaves` has the leaves that at least one of the two models has. For each
    model, `numbers` has the index of each of these leaves in a state of the model, or -1 if the model does not have the
    leaf. For example, a model with shorter logs lacks the leaves of the last records. A missing leaf counts as if it
    had the value in `fill`, the leaf's least value. Unused leaves of a sequence have this value too.
    """

    variables: tuple[str, ...]
    apart: tuple[str, ...]
    leaves: tuple[Leaf, ...]
    numbers: tuple[tuple[int, ...], tuple[int, ...]]
    fill: tuple[int, ...]

    def query(self, side: int) -> dict[str, Any]:
        """Plain data that tells executors how to take the common leaves from a state of model `side` (0 or 1)."""
        layout = Layout(self.leaves)
        return {
            "from": list(self.numbers[side]),
            "fill": list(self.fill),
            "to": [[p.word, p.shift, p.width, p.low] for p in layout.places],
            "key_words": layout.words,
        }


def shared_variables(one: TransitionSystem, other: TransitionSystem) -> SharedVariables:
    """The common variables and leaves of two systems."""
    domains = [{v.name: v.domain for v in system.variables} for system in (one, other)]
    shared = tuple(n for n, d in domains[0].items() if n in domains[1] and comparable(d, domains[1][n]))
    apart = tuple(sorted((domains[0].keys() | domains[1].keys()) - set(shared)))
    sides = [
        {leaf.path: leaf for leaf in system.leaves if _variable(system, leaf) in shared} for system in (one, other)
    ]
    paths = list(dict.fromkeys([*sides[0], *sides[1]]))
    leaves, fill = [], []
    for i, path in enumerate(paths):
        found = [side[path] for side in sides if path in side]
        low, high = min(x.low for x in found), max(x.high for x in found)
        leaves.append(replace(found[0], index=i, low=low, high=high))
        fill.append(found[0].low)
    numbers = tuple(tuple(side[path].index if path in side else -1 for path in paths) for side in sides)
    return SharedVariables(shared, apart, tuple(leaves), (numbers[0], numbers[1]), tuple(fill))


def comparable(one: Domain, other: Domain) -> bool:
    """Whether each value that both domains have is stored in the same way, in every leaf that both domains have."""
    match one, other:
        case (Number(), Number()):
            return True
        case (Record(), Record()):
            return one.names == other.names and all(map(comparable, one.domains, other.domains))
        case (Sequence_(), Sequence_()):
            # Unused places hold the first element, so both domains must have the same first element.
            return comparable(one.element, other.element) and one.element.encode(one.element.first) == (
                other.element.encode(other.element.first)
            )
        case (Per(), Per()):
            return one.index == other.index and comparable(one.element, other.element)
        case (Messages(), Messages()):
            return comparable(one.element, other.element)
        case (Bag(), Bag()):
            return comparable(one.element, other.element)
    return one == other


def _variable(system: TransitionSystem, leaf: Leaf) -> str:
    return next(v.name for v in reversed(system.variables) if v.start <= leaf.index)


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
