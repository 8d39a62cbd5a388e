"""Random walks in a few lines of plain Python, with the documented choices of `simulate`."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from isrcheck.model.semantics.expressions import evaluate
from isrcheck.model.semantics.transition_system import Predicate, TransitionSystem
from tests.kernel.toys import successors

State = tuple[int, ...]
MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


def mixed(x: int) -> int:
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def draw(key: int, position: int, bound: int) -> int:
    return (mixed(key + GOLDEN * (position + 1) & MASK) >> 32) * bound >> 32


@dataclass
class Walked:
    """The observations of walks: steps by transition, walks by length and by reason of the end, first violations."""

    taken: Counter[int] = field(default_factory=Counter)
    lengths: Counter[int] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    reached: Counter[str] = field(default_factory=Counter)
    first: dict[str, tuple[int, int]] = field(default_factory=dict)
    states: set[State] = field(default_factory=set)
    visited: int = 0
    rejected: int = 0

    def note(self, what: str, position: int, walk: int) -> None:
        self.first[what] = min(self.first.get(what, (position, walk)), (position, walk))


def walked(system: TransitionSystem, seed: int, walks: int, depth: int) -> Walked:
    found = Walked()
    for walk in range(walks):
        _walk(system, mixed(mixed(seed) + GOLDEN * (walk + 1) & MASK), walk, depth, found)
    return found


def _walk(system: TransitionSystem, key: int, walk: int, depth: int, found: Walked) -> None:
    starts = [state for state in system.initial if inside(system, state)]
    state, position, met = starts[draw(key, 0, len(starts))], 1, set[str]()
    while True:
        found.visited += 1
        found.states.add(state)
        met |= true(system, (*system.goals, *system.bounds), state)
        wrong = violated(system, state)
        for name in wrong if position > 1 else ():
            found.note(name, position, walk)
        if wrong and position > 1:
            end = "violation or error"
            break
        if position == depth:
            end = "at the depth"
            break
        if any(evaluate([t.failure for t in system.transitions], state)):
            found.note("failing", position, walk)
        following = successors(system, state)
        if not following:
            found.note("stuck", position, walk)
            end = "nothing enabled"
            break
        counted = [(t, after) for t, after in following if inside(system, after)]
        for _, after in following:
            if not inside(system, after):
                found.rejected += 1
                for name in violated(system, after):
                    found.note(name, position + 1, walk)
        if not counted:
            end = "all outside the constraints"
            break
        transition, state = counted[draw(key, position, len(counted))]
        found.taken[transition] += 1
        position += 1
    found.lengths[position] += 1
    found.ends[end] += 1
    found.reached.update(met)


def inside(system: TransitionSystem, state: State) -> bool:
    return all(evaluate([c.holds for c in system.constraints], state)) and not any(
        evaluate([c.failure for c in system.constraints], state)
    )


def true(system: TransitionSystem, predicates: tuple[Predicate, ...], state: State) -> set[str]:
    answers = {p.name: evaluate([p.holds, p.failure], state) for p in predicates}
    return {name for name, (holds, failing) in answers.items() if holds and not failing}


def violated(system: TransitionSystem, state: State) -> set[str]:
    """The invariants that are false in a state, and "meaningless" if a predicate is undefined there."""
    answers = {p.name: evaluate([p.holds, p.failure], state) for p in system.invariants}
    wrong = {name for name, (holds, failing) in answers.items() if not holds and not failing}
    asked = [*system.constraints, *system.invariants]
    asked += [*system.goals, *system.bounds] if inside(system, state) else []
    return wrong | ({"meaningless"} if any(evaluate([p.failure for p in asked], state)) else set())
