"""Decides whether given states are reachable, by a search within limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from isrcheck.checker.exploration import Limits
from isrcheck.checker.wording.layout import number
from isrcheck.model.language import expressions as e
from isrcheck.model.language.system import Predicate, TransitionSystem

HERE: Final = "here"
LOOK: Final = Limits(seconds=10, memory=2 << 30)


@dataclass(frozen=True)
class Reachability:
    """The result of a search for a path to a state.

    `length` is the number of states on the path, or None if the search found no path. `known` is false if the search
    ended early without a path. `distinct` is the number of states that the search found.
    """

    known: bool
    length: int | None
    distinct: int

    def text(self) -> str:
        if self.length is not None:
            return f"reachable, in {self.length} states"
        if self.known:
            return f"not reachable: all {number(self.distinct)} reachable states were looked at"
        return f"not known to be reachable: {number(self.distinct)} reachable states are others"


def reachability(
    system: TransitionSystem, states: Sequence[tuple[int, ...]], limits: Limits = LOOK
) -> list[Reachability]:
    """Searches for all given states in one search, and says of each state whether it is reachable.

    A state is given by its leaves (its stored integers).
    """
    from isrcheck.checker.engines.local.search import search

    asked = {leaves: f"{HERE}{i:06d}" for i, leaves in enumerate(dict.fromkeys(states))}
    predicates = tuple(_elsewhere(system, leaves, name) for leaves, name in asked.items())
    question = replace(system, invariants=predicates, goals=(), bounds=())
    found, _ = search(question, keep_going=len(asked) > 1, deadlock=False, limits=limits, report=None)
    lengths = [found.violated.get(asked[leaves]) for leaves in states]
    return [Reachability(n is not None or found.stopped is None, n, sum(found.levels)) for n in lengths]


def _elsewhere(system: TransitionSystem, leaves: tuple[int, ...], name: str) -> Predicate:
    is_here = e.and_(
        *(e.eq(e.leaf(leaf), e.constant(leaf.kind, x)) for leaf, x in zip(system.leaves, leaves, strict=True))
    )
    return Predicate(name, "The state is another one.", e.not_(is_here), e.FALSE)
