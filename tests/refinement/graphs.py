"""Two random graphs, a table that maps states of the first to states of the second, and true answers about them.

The true answers are computed by networkx on graphs of plain numbers.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import networkx as nx

from isrcheck.model.language import Model, action, constraint, flag, initial, invariant, number, refinement, some, when

STATES = 8
INSTANCES = 3
ACTIONS = ("hop", "jump", "skip")
NOTHING = STATES
"""The entry in a table for states that are mapped to no state."""


@dataclass(frozen=True)
class Graph:
    """A graph: the steps of each instance, by action and number; its initial states; and its counted states."""

    leads: dict[tuple[str, int], dict[int, int]]
    starts: frozenset[int]
    counted: frozenset[int]

    @cached_property
    def steps(self) -> nx.DiGraph:
        """Every step, also from states that are not counted."""
        found = nx.DiGraph()
        found.add_nodes_from(range(STATES))
        found.add_edges_from((a, b) for leads in self.leads.values() for a, b in leads.items())
        return found

    def levels(self) -> Iterator[tuple[list[tuple[int | None, int]], set[int]]]:
        """For each level: the steps into it (from None into the first level), and its new counted states."""
        into: list[tuple[int | None, int]] = [(None, x) for x in sorted(self.starts)]
        seen: set[int] = set()
        while into:
            new = {b for _, b in into if b in self.counted} - seen
            yield into, new
            seen |= new
            into = [(a, b) for a in sorted(new) for b in self.steps.successors(a)]


def at(s: Any, states: Any) -> Any:
    return some(s.n == x for x in sorted(states))


class Walk(Model):
    """A graph: one variable says at which state it is."""

    abstract = True
    graph: ClassVar[Graph]

    def variables(self) -> dict[str, Any]:
        return {"n": number(0, STATES - 1)}

    @initial(k=number(0, STATES - 1))
    def initial(self, s: Any, k: int) -> None:
        s.require(k in self.graph.starts)
        s.n = k

    def go(self, s: Any, name: str, k: int) -> None:
        leads = self.graph.leads[name, k]
        if not leads:
            return
        s.require(at(s, leads))
        s.n = looked_up(s.n, leads, 0)

    @action(k=number(0, INSTANCES - 1), actor="one")
    def hop(self, s: Any, k: int) -> None:
        """A step."""
        self.go(s, "hop", k)

    @action(k=number(0, INSTANCES - 1), actor="other")
    def jump(self, s: Any, k: int) -> None:
        """A step."""
        self.go(s, "jump", k)

    @action(k=number(0, INSTANCES - 1), actor="one")
    def skip(self, s: Any, k: int) -> None:
        """A step."""
        self.go(s, "skip", k)


class Bounded(Walk):
    """A graph of which not all states are explored."""

    abstract = True

    @constraint
    def is_counted(self, s: Any) -> Any:
        """States that are explored."""
        return at(s, self.graph.counted)


def looked_up(value: Any, table: dict[int, int], otherwise: int) -> Any:
    """The entry of a table for a number."""
    found: Any = otherwise
    for a, b in sorted(table.items()):
        found = when(value == a, b, found)
    return found


class Watched(Bounded):
    """The first graph with a history variable: whether it began astray, or a step was taken that is not allowed."""

    abstract = True
    wrong: ClassVar[frozenset[tuple[int, int]]]
    astray: ClassVar[frozenset[int]]

    def variables(self) -> dict[str, Any]:
        return {**super().variables(), "broken": flag}

    @initial(k=number(0, STATES - 1))
    def initial(self, s: Any, k: int) -> None:
        s.require(k in self.graph.starts)
        s.n = k
        s.broken = k in self.astray

    def go(self, s: Any, name: str, k: int) -> None:
        broken = s.broken | at(s, [a for a, b in self.graph.leads[name, k].items() if (a, b) in self.wrong])
        super().go(s, name, k)
        if self.graph.leads[name, k]:
            s.broken = broken

    @invariant
    def is_whole(self, s: Any) -> Any:
        """Every step so far is allowed."""
        return ~s.broken


class Spoken(Walk):
    """The second graph, its state spread over two variables."""

    abstract = True

    def variables(self) -> dict[str, Any]:
        return {"half": number(0, STATES // 2 - 1), "odd": flag}

    @initial(k=number(0, STATES - 1))
    def initial(self, s: Any, k: int) -> None:
        s.require(k in self.graph.starts)
        s.half = k // 2
        s.odd = k % 2 == 1

    def go(self, s: Any, name: str, k: int) -> None:
        leads = self.graph.leads[name, k]
        if not leads:
            return
        n = s.half * 2 + when(s.odd, 1, 0)
        s.require(some(n == x for x in sorted(leads)))
        s.half = looked_up(n, {a: b // 2 for a, b in leads.items()}, 0)
        s.odd = looked_up(n, {a: b % 2 for a, b in leads.items()}, 0) == 1


@dataclass(frozen=True)
class Pair:
    """A graph, a graph that it should refine, the table of the mapping, and the most steps for one step."""

    first: Graph
    second: Graph
    table: tuple[int, ...]
    at_most: int | None

    def models(self) -> tuple[type[Model], type[Model], type[Model]]:
        """Models of the first graph, of the second, and of the first with an invariant that says the same."""
        reported = {
            "wrong": frozenset((a, b) for a, b in self.first.steps.edges if not self.allows(a, b)),
            "astray": frozenset(a for a in range(STATES) if not self.begins(a)),
        }
        bodies = ({"graph": self.first}, {"graph": self.second}, {"graph": self.first, **reported})
        bases = zip(("First", "Second", "Watching"), (Bounded, Spoken, Watched), bodies, strict=True)
        first, second, watching = (type(name, (base,), dict(body)) for name, base, body in bases)
        return first, second, watching

    def mapping(self) -> Any:
        table = dict(enumerate(self.table))

        @refinement(of="second")
        def by_table(m: Any, s: Any) -> Any:
            """As the table says."""
            return {
                "half": looked_up(s.n, {a: b // 2 for a, b in table.items()}, 0),
                "odd": looked_up(s.n, {a: b % 2 for a, b in table.items()}, 0) == 1,
            }

        return by_table

    # --- what is true -----------------------------------------------------------------------------------------------

    def begins(self, a: int) -> bool:
        return self.table[a] in self.second.starts

    def allows(self, a: int, b: int) -> bool:
        """True if the second graph has a short enough path between the mapped states, or one is mapped to nothing."""
        if NOTHING in (self.table[a], self.table[b]):
            return True
        found = nx.single_source_shortest_path_length(self.second.steps, self.table[a], cutoff=self.at_most)
        return self.table[b] in found

    def first_mistake(self) -> tuple[str, int] | None:
        """The first mistake and its level: a state that is mapped to nothing, or a step that is not allowed."""
        for level, (into, _) in enumerate(self.first.levels(), start=1):
            if any(self.table[b] == NOTHING for _, b in into):
                return "nothing", level
            if not all(self.begins(b) if a is None else self.allows(a, b) for a, b in into):
                return "refused", level
        return None

    def pairs(self) -> set[tuple[int, int]]:
        """The different pairs of mapped states of the first graph's steps."""
        steps = [step for into, _ in self.first.levels() for step in into]
        return {(self.table[a], self.table[b]) for a, b in steps if a is not None} - {(x, x) for x in range(STATES)}


def drawn(seed: int) -> Pair:
    """A random pair. In most pairs, the second graph gets most of the steps that the mapped steps need."""
    dice = random.Random(seed)
    first = _graph(dice, dice.choice((0.08, 0.15, 0.25)), bounded=True)
    table = [dice.randrange(STATES) for _ in range(STATES)]
    for x in range(1, STATES):
        if dice.random() < 0.04:
            table[x] = NOTHING
    second = _graph(dice, dice.choice((0.05, 0.15, 0.3)), bounded=False)
    if dice.random() < 0.7:
        for leads in first.leads.values():
            for a, b in leads.items():
                if NOTHING not in (table[a], table[b]) and dice.random() < 0.97:
                    second.leads[dice.choice(ACTIONS), dice.randrange(INSTANCES)].setdefault(table[a], table[b])
    starts = frozenset(table[x] for x in first.starts) if dice.random() < 0.9 else second.starts
    second = Graph(second.leads, starts - {NOTHING} or frozenset({0}), second.counted)
    return Pair(first, second, tuple(table), dice.choice((None, None, 1, 2)))


def _graph(dice: random.Random, share: float, bounded: bool) -> Graph:
    leads = {
        (name, k): {a: dice.randrange(STATES) for a in range(STATES) if dice.random() < share}
        for name in ACTIONS
        for k in range(INSTANCES)
    }
    starts = frozenset({0}) | frozenset(x for x in range(STATES) if dice.random() < 0.1)
    counted = frozenset(range(STATES))
    if bounded and dice.random() < 0.3:
        counted = frozenset(x for x in range(STATES) if dice.random() < 0.8) | {0}
    return Graph(leads, starts, counted)
