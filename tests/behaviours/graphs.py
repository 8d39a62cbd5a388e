"""Random graphs, as models and as plain tables, and an enumeration of all their words."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from isrcheck.checker.analysis.inclusion.inclusion_check import Side
from isrcheck.checker.registry.loader import LoadedModel
from isrcheck.model.language import Model, action, constraint, every, initial, number

VISIBLE, HIDDEN, EDGES = 3, 4, 18
State = tuple[int, int]
"""The visible part of a state, and the hidden part."""
Word = tuple[int, ...]


@dataclass(frozen=True)
class Table:
    """The edges, the initial states, and the states that the constraint excludes."""

    edges: tuple[tuple[State, State], ...]
    starts: frozenset[State]
    outside: frozenset[State]

    def side(self, name: str) -> Side:
        """The graph as a model."""
        cls = type("Random", (OfTable,), {"table": self})
        return Side(name, LoadedModel(cls, name, None, {}), cls())


class OfTable(Model):
    """A graph: two variables say at which state it is."""

    abstract = True
    table: ClassVar[Table]

    def variables(self) -> dict[str, Any]:
        return {"seen": number(0, VISIBLE - 1), "hidden": number(0, HIDDEN - 1)}

    @initial(v=number(0, VISIBLE - 1), h=number(0, HIDDEN - 1))
    def initial(self, s: Any, v: int, h: int) -> None:
        s.require((v, h) in self.table.starts)
        s.seen, s.hidden = v, h

    @constraint
    def inside(self, s: Any) -> Any:
        """It is not one of those left out."""
        return every((s.seen != v) | (s.hidden != h) for v, h in sorted(self.table.outside))

    @action(k=number(0, EDGES - 1), actor="nobody")
    def go(self, s: Any, k: int) -> None:
        """It takes an edge."""
        if k >= len(self.table.edges):
            return
        (v, h), (w, i) = self.table.edges[k]
        s.require(s.seen == v, s.hidden == h)
        s.seen, s.hidden = w, i


def pair(seed: int) -> tuple[Table, Table]:
    """Two graphs. The second is the first with some changed edges and renamed hidden values, or sometimes unrelated."""
    chance = random.Random(seed)
    one = _table(chance)
    if chance.random() < 0.05:
        return one, _table(chance)
    edges = list(one.edges)
    for _ in range(chance.choice((0, 1, 2, 3, 4))):
        k = chance.randrange(len(edges))
        edges[k] = chance.choice(((edges[k][0], _state(chance)), edges[k - 1]))
    names = chance.sample(range(HIDDEN), HIDDEN)
    renamed = replace(one, edges=tuple((_renamed(a, names), _renamed(b, names)) for a, b in edges))
    starts, outside = (frozenset(_renamed(x, names) for x in states) for states in (one.starts, one.outside))
    return one, replace(renamed, starts=starts, outside=outside)


def _renamed(state: State, names: list[int]) -> State:
    return state[0], names[state[1]]


def _state(chance: random.Random) -> State:
    return chance.randrange(VISIBLE), chance.randrange(HIDDEN)


def _table(chance: random.Random) -> Table:
    starts = frozenset(_state(chance) for _ in range(chance.choice((1, 2, 2))))
    edges = tuple((_state(chance), _state(chance)) for _ in range(chance.randint(12, EDGES)))
    outside = frozenset({_state(chance)} if chance.random() < 0.4 else ()) - starts
    return Table(edges, starts, outside)


# --- brute force ------------------------------------------------------------------------------------------------------


def words(table: Table, longest: int) -> set[Word]:
    """All histories of at most `longest` visible parts, by any number of steps."""
    todo = [(state, (state[0],)) for state in table.starts - table.outside]
    met = set(todo)
    while todo:
        state, word = todo.pop()
        for node in _after(table, state, word):
            if len(node[1]) <= longest and node not in met:
                met.add(node)
                todo.append(node)
    return {word for _, word in met}


def shortest_lacking(table: Table, known: set[Word], longest: int) -> int | None:
    """The fewest states of a path whose history is not known; None if that takes more than `longest` states."""
    level = {(state, (state[0],)) for state in table.starts - table.outside}
    for length in range(1, longest + 1):
        if any(word not in known for _, word in level):
            return length
        level = {node for state, word in level for node in _after(table, state, word)}
    return None


def _after(table: Table, state: State, word: Word) -> list[tuple[State, Word]]:
    reached = [b for a, b in table.edges if a == state and b not in table.outside]
    return [(b, word if b[0] == word[-1] else (*word, b[0])) for b in reached]
