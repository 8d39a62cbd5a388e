"""Conditions on the scalars of a state in readable form: `replica[0].role = leader`, `quorum.isr has 1`.

A *scalar* is a part of a state that is stored in one integer. This integer is a *leaf* of the state.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from isrcheck.model.language.domains import Bag, Domain, Flag, Messages, Number, Per, Record, Sequence_
from isrcheck.model.semantics.expressions import Expression, Leaf, is_constant, render
from isrcheck.model.semantics.operators import OPERATORS

LONGEST: Final = 60
"""The most characters of a condition that is shown. Instead of a longer condition, values that it reads are shown."""


@dataclass(frozen=True)
class Words:
    """Writes the names and values of a model's scalars, and conditions on them."""

    variables: tuple[tuple[str, Domain], ...]

    @cached_property
    def _leaves(self) -> list[tuple[str, Domain, str]]:
        """For every scalar, in the order of leaves: its path, its domain, and the path that `part` returns."""
        return [scalar for name, domain in self.variables for scalar in _scalars(name, domain)]

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """The path of every scalar."""
        return tuple(path for path, _, _ in self._leaves)

    def path(self, leaf: int) -> str:
        return self._leaves[leaf][0]

    def value(self, leaf: int, value: int) -> str:
        domain = self._leaves[leaf][1]
        return domain.text(domain.decode(iter([value])))

    def pair(self, leaf: int, value: int) -> tuple[str, str]:
        return self.path(leaf), self.value(leaf, value)

    def part(self, leaf: int) -> str:
        """The path of the outermost sequence, bag or set of messages around a scalar, or else the scalar's own path."""
        return self._leaves[leaf][2]

    def is_(self, leaf: int, value: int) -> str:
        """The text that says that a scalar has this value: `quorum.leader = 1`."""
        path, domain, _ = self._leaves[leaf]
        if isinstance(domain, Flag):
            return _flag(path, bool(value))
        return f"{path} = {self.value(leaf, value)}"

    def condition(self, e: Expression, true: bool) -> str:
        """The text of a condition, or of its negation if `true` is False. The condition is not an `and` or an `or`."""
        if e.operator == "not":
            return self.condition(e.arguments[0], not true)
        if isinstance(e.value, Leaf):
            return _flag(self.path(e.value.index), true)
        words = None if is_constant(e) else OPERATORS[e.operator].wording
        if words is None:
            return render(e) if true else f"not ({render(e)})"
        a, b = e.arguments
        if e.operator == "le" and is_constant(b) and (end := _end(a, b.low, true)) is not None:
            return f"{self._operand(a, b)} = {end}"
        return f"{self._operand(a, b)} {words[not true]} {self._operand(b, a)}"

    def _operand(self, e: Expression, other: Expression) -> str:
        if isinstance(e.value, Leaf):
            return self.path(e.value.index)
        if is_constant(e) and e.kind == "enum" and isinstance(other.value, Leaf):
            return self.value(other.value.index, e.low)
        return render(e) if not e.arguments or e.operator == "size" else f"({render(e)})"


def _end(e: Expression, bound: int, true: bool) -> int | None:
    """The only value that `e` can have if `e <= bound` has the truth value `true`, or None if there are several."""
    if true:
        return bound if bound == e.low else None
    return e.high if bound == e.high - 1 else None


def _flag(path: str, true: bool) -> str:
    name, brace, element = path.partition("{")
    if brace:
        return f"{name} {'has' if true else 'lacks'} {element.removesuffix('}')}"
    return path if true else f"{path} = false"


def _scalars(path: str, domain: Domain) -> Iterable[tuple[str, Domain, str]]:
    match domain:
        case Record():
            for name, inner in zip(domain.names, domain.domains, strict=True):
                yield from _scalars(f"{path}.{name}", inner)
        case Sequence_():
            yield f"{path}.length", Number(0, domain.capacity), path
            for offset in range(domain.capacity):
                yield from ((scalar, d, path) for scalar, d, _ in _scalars(f"{path}[{offset}]", domain.element))
        case Messages():
            yield from ((f"{path}{{{domain.element.text(x)}}}", Flag(), path) for x in domain.elements)
        case Bag():
            counted = Number(0, domain.capacity)
            yield from ((f"{path}{{{domain.element.text(x)}}}", counted, path) for x in domain.elements)
        case Per():
            for key in domain.index.values():
                yield from _scalars(f"{path}[{domain.index.text(key)}]", domain.element)
        case _:
            yield path, domain, path
