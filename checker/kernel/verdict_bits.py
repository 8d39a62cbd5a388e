"""The verdict bits of a state: the values of the system's predicates, and whether a predicate is undefined.

The positions of the counts in a tally. A tally is the array of counts that an expansion of states updates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from isrcheck.model.semantics.expressions import FALSE, Expression, and_, not_, or_
from isrcheck.model.semantics.transition_system import Label, Predicate, TransitionSystem

LEAST: Final = 0
"""At this position is the least out-degree. The out-degree of a state is the number of instances enabled in it."""
GREATEST: Final = 1
"""At this position is the greatest out-degree."""
FAILURES: Final = 2
"""At this position is the number of failing instances, summed over the states. A failing instance does not count as
enabled."""
ACTIONS: Final = 3
"""From this position on, the tally has one count for each action: its enabled instances, summed over the states."""
HUGE: Final = (1 << 63) - 1
"""The value at `LEAST` before any state is counted."""


FAILED: Final = 0
"""The position of the bit that is set if a checked predicate or question is undefined in the state."""
OUTSIDE: Final = 1
"""The position of the bit that is set if a constraint is false or undefined in the state."""


@dataclass(frozen=True)
class Verdicts:
    """The verdict bits of a state, in order: FAILED, OUTSIDE, then a bit for each invariant, each goal and each bound.

    The bit of an invariant is set if the invariant is violated, and the bit of a goal or bound if the state reaches it.
    If properties are checked, more bits follow. Each question (an instance of a property) has three bits for its
    conditions `region`, `source` and `mark`. `questions` has the positions of these bits. An action instance is *cut*
    in a state if only its `s.room` conditions keep the instance from changing the state. The last bits say which
    instances are cut: one bit for each instance that can be cut. `cuts` has the labels of these instances and the
    positions of their bits.

    Goals and bounds are checked only in states that the constraints allow. If an invariant, goal or bound is undefined,
    its own bit is not set.
    """

    bits: tuple[Expression, ...]
    invariants: dict[str, int]
    goals: dict[str, int]
    bounds: dict[str, int]
    questions: tuple[tuple[int, int, int], ...] = ()
    cuts: tuple[tuple[Label, int], ...] = ()

    @property
    def words(self) -> int:
        """The number of 64-bit words for the bits of a state."""
        return (len(self.bits) + 63) // 64


def verdicts(system: TransitionSystem) -> Verdicts:
    inside = and_(*(and_(c.holds, not_(c.failure)) for c in system.constraints))
    always = [p.failure for p in (*system.constraints, *system.invariants)] + [q.failure for q in system.questions]
    counted = [p.failure for p in (*system.goals, *system.bounds)]
    bits = [or_(*always, and_(inside, or_(*counted))), not_(inside)]

    def add(predicates: tuple[Predicate, ...], wanted: bool) -> dict[str, int]:
        positions = {}
        for p in predicates:
            positions[p.name] = len(bits)
            seen = and_(inside, p.holds) if wanted else not_(p.holds)
            bits.append(and_(seen, not_(p.failure)))
        return positions

    invariants = add(system.invariants, False)
    goals = add(system.goals, True)
    bounds = add(system.bounds, True)
    if not system.questions:
        return Verdicts(tuple(bits), invariants, goals, bounds)
    asked = []
    for question in system.questions:
        asked.append((len(bits), len(bits) + 1, len(bits) + 2))
        bits += [question.region, question.source, question.mark]
    cut = [t for t in (*system.transitions, *system.shut_out) if t.cut is not FALSE]
    cuts = tuple((t.label, len(bits) + i) for i, t in enumerate(cut))
    bits += [t.cut for t in cut]
    return Verdicts(tuple(bits), invariants, goals, bounds, tuple(asked), cuts)
