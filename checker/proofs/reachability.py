"""Decides by a search within limits whether states can be reached."""

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
    """Whether a state is reachable: the length of a path to it, and the number of all states that were explored.

    `length` is None if the search found no path. If `known` is true, no path exists. Otherwise the search ended early.
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
    """Whether each of the states is reachable. A state is given by its leaves. One search answers for all states."""
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
