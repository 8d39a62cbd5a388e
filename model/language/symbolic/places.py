"""Places of the state: structures lie at places, and assignments write to places."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from isrcheck.model.language import expressions as e
from isrcheck.model.language.domains import Domain
from isrcheck.model.language.expressions import TRUE, Expression, Leaf


@dataclass(frozen=True)
class Step:
    """A choice among `count` elements of `stride` leaves each. `index` equals `first` for the first element."""

    index: Expression
    first: int
    stride: int
    count: int

    def chosen(self, element: int) -> Expression:
        return e.eq(self.index, e.constant(self.index.kind, self.first + element))


class Traced(Protocol):
    """What a `Place` uses of its state; `SymbolicState` in `tracing` implements this interface."""

    _leaves: Sequence[Leaf]

    def _read(self, leaf: int) -> Expression: ...
    def _assign(self, condition: Expression) -> None: ...
    def _write(self, leaf: int, node: Expression) -> None: ...
    def _path(self, start: int, domain: Domain) -> str: ...


@dataclass(frozen=True)
class Place:
    """The place of a value in the state. Its first leaf is `start` plus the state-dependent offsets of `steps`."""

    state: Traced
    start: int
    steps: tuple[Step, ...] = ()
    defined: Expression = TRUE

    def within(self, offset: int) -> Place:
        return Place(self.state, self.start + offset, self.steps, self.defined)

    def locations(self) -> Iterator[tuple[Expression, int]]:
        """Each first leaf that the place can have, with the condition under which the place starts there."""
        for choice in itertools.product(*(range(step.count) for step in self.steps)):
            chosen = [step.chosen(i) for step, i in zip(self.steps, choice, strict=True)]
            offset = sum(step.stride * i for step, i in zip(self.steps, choice, strict=True))
            yield e.and_(*chosen), self.start + offset

    def read(self, width: int) -> list[Expression]:
        if not self.steps:
            return [self.state._read(leaf) for leaf in range(self.start, self.start + width)]
        nodes: list[Expression] | None = None
        for condition, start in self.locations():
            here = [self.state._read(start + i) for i in range(width)]
            nodes = here if nodes is None else [e.if_(condition, x, y) for x, y in zip(here, nodes, strict=True)]
        assert nodes is not None
        return nodes

    def write(self, nodes: list[Expression], defined: Expression) -> None:
        self.state._assign(e.and_(self.defined, defined))
        for condition, start in self.locations():
            for i, node in enumerate(nodes):
                self.state._write(
                    start + i, node if condition is TRUE else e.if_(condition, node, self._old(start + i))
                )

    def _old(self, leaf: int) -> Expression:
        return e.leaf(self.state._leaves[leaf])
