"""Whether a state can be reached, by the explicit engine, within limits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from checker.exploration import Limits
from checker.reports.layout import number
from model.language import expressions as e
from model.language.system import Predicate, TransitionSystem

HERE: Final = "here"
LOOK: Final = Limits(seconds=10, memory=2 << 30)


@dataclass(frozen=True)
class Reachability:
    """`length` states lead there; None where none does, or nothing is known: `known` says which."""

    known: bool
    length: int | None
    distinct: int

    def text(self) -> str:
        if self.length is not None:
            return f"reachable, in {self.length} states"
        if self.known:
            return f"not reachable: all {number(self.distinct)} reachable states were looked at"
        return f"not known to be reachable: {number(self.distinct)} reachable states are others"


def reachability(system: TransitionSystem, leaves: tuple[int, ...], limits: Limits = LOOK) -> Reachability:
    """Whether the state with these leaves is reachable."""
    from checker.engines.local.search import search

    is_here = e.and_(
        *(e.eq(e.leaf(leaf), e.constant(leaf.kind, x)) for leaf, x in zip(system.leaves, leaves, strict=True))
    )
    elsewhere = Predicate(HERE, "The state is another one.", e.not_(is_here), e.FALSE)
    asked = replace(system, invariants=(elsewhere,), goals=(), bounds=())
    found, _ = search(asked, keep_going=False, deadlock=False, limits=limits, report=None)
    length = found.violated.get(HERE)
    return Reachability(length is not None or found.stopped is None, length, sum(found.levels))
