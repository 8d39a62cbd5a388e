"""The reference engine: a whole model checker in one short file. All other engines are tested against it.

The engine runs the action methods themselves on concrete states. It compiles no methods and packs no states. The search
is breadth-first, so the first violation found has the shortest trace of all violations.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
import psutil

from isrcheck.checker.results.exploration import Edges, Exploration, Limits, Progress, Report, Stop
from isrcheck.model.language.errors import EvaluationError
from isrcheck.model.semantics.concrete_state import initial_states
from isrcheck.model.semantics.concrete_values import State
from isrcheck.model.semantics.interpreter import Interpreter, Predicate


def search(
    interpreter: Interpreter,
    *,
    keep_going: bool = False,
    deadlock: bool = False,
    limits: Limits = Limits(),
    report: Report | None = None,
) -> tuple[Exploration, ReferenceLevels]:
    """Explores the reachable states level by level until no state is new, or until there is a reason to stop earlier.

    Such a reason is a limit, an interruption, an evaluation that fails or, without `keep_going`, a violation. With
    `deadlock`, a deadlock counts like a violation.
    """
    found, visited = Exploration(), set[State]()
    levels: list[list[State]] = []
    watch = _Watch(limits, report, found)
    successors: Iterable[State] = sorted(set(initial_states(interpreter.model)), key=interpreter.leaves)
    found.initial = len(list(successors))
    level: list[State] = []
    tally = _Tally(interpreter)
    try:
        while True:
            # New states form the next level, so every state is checked once.
            level = []
            for state in successors:
                watch.tick(len(levels) + 1, tally, len(visited))
                if tally.admits(state) and state not in visited:
                    visited.add(state)
                    level.append(state)
                    tally.look_at(state)
            # An error while a level is expanded ends the search in that level. The next level is dropped.
            if tally.failing:
                found.error, found.stopped = min(tally.failing), "error"
                break
            if deadlock and 0 in tally.degrees:
                found.deadlock = found.deadlock or len(levels)
                if not keep_going:
                    found.stopped = "violation"
                    break
            tally.close(found, len(level), len(levels) + 1)
            if level:
                levels.append(level)
            found.stopped = watch.reason(found, keep_going)
            if not level or found.stopped:
                break
            # Every action instance that is enabled in a state leads to a successor.
            tally = _Tally(interpreter, len(levels))
            successors = (after for state in level for after in tally.expand(state))
    except (_Enough, KeyboardInterrupt) as stop:
        found.stopped = stop.reason if isinstance(stop, _Enough) else "interrupt"
        tally.abandon(found, len(level), len(levels) + 1)
    found.seconds = {"search": watch.seconds}
    return found, ReferenceLevels(interpreter, levels)


@dataclass
class _Tally:
    """The observations made while one level is expanded and the next level is built."""

    interpreter: Interpreter
    level: int = 0
    generated: dict[str, int] = field(default_factory=dict)
    rejected: int = 0
    violated: set[str] = field(default_factory=set)
    goals: set[str] = field(default_factory=set)
    bounds: set[str] = field(default_factory=set)
    failing: list[tuple[int, tuple[int, ...], int]] = field(default_factory=list)
    meaningless: list[tuple[int, ...]] = field(default_factory=list)
    degrees: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.generated = dict.fromkeys(self.interpreter.actions, 0)
        self.seen: dict[State, bool] = {}

    def expand(self, state: State) -> Iterable[State]:
        degree = 0
        for instance, after in self.interpreter.steps(state):
            if isinstance(after, EvaluationError):
                self.failing.append((self.level, self.interpreter.leaves(state), instance))
                continue
            degree += 1
            self.generated[self.interpreter.labels[instance].action] += 1
            yield after
        self.degrees.append(degree)

    def admits(self, state: State) -> bool:
        """Whether all constraints are defined and true in a state.

        If not, counts the state as rejected, and records the invariants that are false in the state.
        """
        if not self.interpreter.constraints:
            return True
        if state not in self.seen:
            self.seen[state] = not self._named(state, self.interpreter.constraints, False, None)
            if not self.seen[state]:
                self.violated |= self._named(state, self.interpreter.invariants, False)
        self.rejected += not self.seen[state]
        return self.seen[state]

    def look_at(self, state: State) -> None:
        self.violated |= self._named(state, self.interpreter.invariants, False)
        self.goals |= self._named(state, self.interpreter.goals, True)
        self.bounds |= self._named(state, self.interpreter.bounds, True)

    def _named(self, state: State, predicates: dict[str, Predicate], *wanted: bool | None) -> set[str]:
        """The names of the predicates whose answer in the state is in `wanted`. The answer None means undefined.

        Records the state if a predicate is undefined in it.
        """
        answers = self.interpreter.evaluated(state, predicates)
        if None in answers.values():
            self.meaningless.append(self.interpreter.leaves(state))
        return {name for name, answer in answers.items() if answer in wanted}

    def close(self, found: Exploration, size: int, level: int) -> None:
        """Adds the observations of a complete level to the result."""
        if size:
            found.levels.append(size)
        if self.level:
            found.generated.append(list(self.generated.values()))
            least, greatest = found.degrees or (self.degrees[0], 0)
            found.degrees = min(least, *self.degrees), max(greatest, *self.degrees)
        found.rejected += self.rejected
        for seen, known in ((self.violated, found.violated), (self.goals, found.goals), (self.bounds, found.bounds)):
            for name in seen:
                known.setdefault(name, level)
        if self.meaningless:
            found.error = level, min(self.meaningless), None

    def abandon(self, found: Exploration, size: int, level: int) -> None:
        """Adds the observations of an incomplete level to the result."""
        found.partial = {"level": level, "distinct": size, "generated": sum(self.generated.values())}
        for name in self.violated - found.violated.keys():
            found.violated[name] = level
            found.partial_violations.add(name)


class _Enough(Exception):
    """Raised when the limit of time or memory is reached."""

    def __init__(self, reason: Stop) -> None:
        self.reason: Stop = reason


class _Watch:
    """Checks the limits of time, memory and states, and reports progress."""

    def __init__(self, limits: Limits, report: Report | None, found: Exploration) -> None:
        self.limits, self.report, self.found = limits, report, found
        self.start, self.count = time.perf_counter(), 0
        self.process = psutil.Process()

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.start

    def tick(self, level: int, tally: _Tally, distinct: int) -> None:
        self.count += 1
        if self.count % 256:
            return
        memory = self.process.memory_info().rss
        if self.limits.seconds is not None and self.seconds > self.limits.seconds:
            raise _Enough("time")
        if self.limits.memory is not None and memory > self.limits.memory:
            raise _Enough("memory")
        if self.report is not None:
            done, whole = sum(tally.generated.values()), sum(map(sum, self.found.generated))
            frontier = self.found.levels[-1] if self.found.levels else 0
            self.report(Progress(level, distinct, whole + done, frontier, len(tally.degrees), memory, self.seconds))

    def reason(self, found: Exploration, keep_going: bool) -> Stop | None:
        """A reason to stop the search early after a complete level, or None."""
        if found.error:
            return "error"
        if found.violated and not keep_going:
            return "violation"
        if self.limits.states is not None and sum(found.levels) > self.limits.states:
            return "states"
        return None


class ReferenceLevels:
    """The levels of a finished search, from which traces are built. States have the form that the interpreter uses."""

    def __init__(self, interpreter: Interpreter, levels: list[list[State]]) -> None:
        self.interpreter, self.levels = interpreter, levels

    def edges_into_violation(self, level: int, invariant: str) -> Edges:
        predicate = {invariant: self.interpreter.invariants[invariant]}
        return self._edges(level, None, lambda state: self.interpreter.evaluated(state, predicate)[invariant] is False)

    def edges_into(self, level: int, targets: list[State]) -> Edges:
        wanted = set(targets)
        return self._edges(level, targets, wanted.__contains__)

    def _edges(self, level: int, targets: list[State] | None, wanted: Callable[[State], bool]) -> Edges:
        positions = {state: i for i, state in enumerate(targets or ())}
        sources: list[State] = []
        rows: list[tuple[int, int, int]] = []
        for state in self.levels[level - 1]:
            before = len(rows)
            for instance, after in self.interpreter.steps(state):
                if not isinstance(after, EvaluationError) and wanted(after):
                    rows.append((len(sources), instance, positions.setdefault(after, len(positions))))
            if len(rows) > before:
                sources.append(state)
        source, transition, target = np.array(rows, dtype=np.int64).reshape(-1, 3).T
        return Edges(sources, list(positions), source, transition, target)

    def deadlocked(self, level: int) -> list[State]:
        return [state for state in self.levels[level - 1] if not any(True for _ in self.interpreter.steps(state))]

    def state(self, leaves: tuple[int, ...]) -> list[State]:
        rest = iter(leaves)
        return [tuple(domain.decode(rest) for domain in self.interpreter.model.domains.values())]

    def leaves(self, states: list[State]) -> list[tuple[int, ...]]:
        return [self.interpreter.leaves(state) for state in states]
