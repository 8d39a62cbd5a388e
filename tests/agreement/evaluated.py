"""A third engine: evaluates the transitions of a traced model in plain Python, by the semantics of their operators.

If the reference engine and native code disagree, this engine shows whether tracing or compilation is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from isrcheck.checker.results.exploration import Exploration, Limits
from isrcheck.model.semantics import expressions as e
from isrcheck.model.semantics.expressions import Expression, Leaf
from isrcheck.model.semantics.transition_system import Predicate, TransitionSystem

State = tuple[int, ...]


class Program:
    """Expressions to be evaluated together in many states."""

    def __init__(self, roots: Sequence[Expression]) -> None:
        self.roots, self.order = roots, e.topological(roots)

    def run(self, state: State) -> list[int]:
        values: dict[Expression, int] = {}
        for node in self.order:
            if isinstance(node.value, Leaf):
                values[node] = state[node.value.index]
            elif isinstance(node.value, int):
                values[node] = node.value
            else:
                values[node] = e.SEMANTICS[node.operator](*(values[x] for x in node.arguments))
            assert node.low <= values[node] <= node.high, f"{node!r} is {values[node]}"
        return [values[root] for root in self.roots]


@dataclass
class _Seen:
    violated: set[str] = field(default_factory=set)
    goals: set[str] = field(default_factory=set)
    bounds: set[str] = field(default_factory=set)
    failing: list[State] = field(default_factory=list)
    rejected: int = 0


class Search:
    """A search that implements the definition of all counts literally."""

    def __init__(self, system: TransitionSystem) -> None:
        self.system = system
        self.levels: list[list[State]] = []
        self.known: set[State] = set()
        kinds = (system.constraints, system.invariants, system.goals, system.bounds)
        self.predicates = Program([x for kind in kinds for p in kind for x in (p.holds, p.failure)])
        self.steps = Program([x for t in system.transitions for x in (t.guard, t.failure, *t.updates.values())])

    def explore(self, keep_going: bool, deadlock: bool, limits: Limits) -> Exploration:
        found = Exploration(initial=len(self.system.initial))
        pending = list(self.system.initial)
        expansion: tuple[list[int], list[int]] | None = None
        while True:
            number = len(self.levels) + 1
            fresh, seen = self._look_at(pending)
            found.rejected += seen.rejected
            if fresh:
                found.levels.append(len(fresh))
                self.levels.append(fresh)
            if expansion is not None:
                counts, degrees = expansion
                found.generated.append(counts)
                least, greatest = found.degrees or (degrees[0], degrees[0])
                found.degrees = min(least, *degrees), max(greatest, *degrees)
            for into, names in (
                (found.violated, seen.violated),
                (found.goals, seen.goals),
                (found.bounds, seen.bounds),
            ):
                into.update({name: number for name in names if name not in into})
            if seen.failing:
                found.error, found.stopped = (number, min(seen.failing), None), "error"
            elif found.violated and not keep_going:
                found.stopped = "violation"
            elif fresh and limits.states is not None and sum(found.levels) > limits.states:
                found.stopped = "states"
            if found.stopped or not fresh:
                return found
            pending, expansion, failing = self._expand(fresh)
            if failing:
                found.error, found.stopped = (number, *min(failing)), "error"
            elif deadlock and 0 in expansion[1]:
                found.deadlock = found.deadlock or number
                found.stopped = None if keep_going else "violation"
            if found.stopped:
                return found

    def _look_at(self, states: Sequence[State]) -> tuple[list[State], _Seen]:
        seen, fresh = _Seen(), []
        for state in states:
            values = iter(self.predicates.run(state))

            def ask(predicates: Sequence[Predicate], values=values) -> tuple[set[str], set[str], bool]:  # type: ignore[no-untyped-def]
                answers = [(p.name, next(values), next(values)) for p in predicates]
                true = {name for name, holds, failing in answers if holds and not failing}
                false = {name for name, holds, failing in answers if not holds and not failing}
                return true, false, any(failing for _, _, failing in answers)

            true, _, failing = ask(self.system.constraints)
            inside = len(true) == len(self.system.constraints)
            _, violated, unclear = ask(self.system.invariants)
            failing |= unclear
            seen.violated |= violated
            if inside:
                goals, _, unclear = ask(self.system.goals)
                bounds, _, unclear_too = ask(self.system.bounds)
                failing |= unclear | unclear_too
                seen.goals |= goals
                seen.bounds |= bounds
            seen.rejected += not inside
            if failing:
                seen.failing.append(state)
            if inside and state not in self.known:
                self.known.add(state)
                fresh.append(state)
        return fresh, seen

    def _expand(
        self, states: Sequence[State]
    ) -> tuple[list[State], tuple[list[int], list[int]], list[tuple[State, int]]]:
        counts, degrees, failing = dict.fromkeys(self.system.actions, 0), [], []
        successors = []
        for state in states:
            values, degree = iter(self.steps.run(state)), 0
            for i, transition in enumerate(self.system.transitions):
                enabled, fails = next(values), next(values)
                following = list(state)
                for position in transition.updates:
                    following[position] = next(values)
                if fails:
                    failing.append((state, i))
                elif enabled:
                    counts[transition.label.action] += 1
                    degree += 1
                    successors.append(tuple(following))
            degrees.append(degree)
        return successors, (list(counts.values()), degrees), failing
