"""Bounded model checking: is there a path of one state, of two, of three, ... at whose end something is wrong?

Levels are those of a breadth-first search: what is refuted for every shorter path is first met at this level. So the
first violation has the same length; but no state is counted, and nothing is known beyond the last level.
"""

from __future__ import annotations

import z3

from checker.engines.symbolic import symmetry
from checker.engines.symbolic.paths import SymbolicPaths, least_state
from checker.engines.symbolic.reductions import IndependenceOrder, MentionOrder
from checker.engines.symbolic.solving import GaveUp, Solver, Watch
from checker.engines.symbolic.unrolling import FAILING, MEANINGLESS, STUCK, Template, Unrolling
from checker.exploration import Exploration, Limits, Path, Progress, Report, Stop
from model.language.expressions import evaluate
from model.language.system import TransitionSystem


class _Stopped(Exception):
    def __init__(self, reason: Stop) -> None:
        self.reason: Stop = reason


def search(
    system: TransitionSystem, *, keep_going: bool, deadlock: bool, limits: Limits, report: Report | None
) -> tuple[Exploration, SymbolicPaths]:
    """Looks for violations, deadlocks and errors at ever deeper levels, until a limit is reached."""
    with Watch(limits) as watch:
        run = Search(system, watch, report, keep_going, deadlock)
        found = run.explore()
        found.seconds = {"search": watch.seconds}
    return found, run.paths


class Search:
    """A search with one solver, which learns from level to level."""

    def __init__(
        self, system: TransitionSystem, watch: Watch, report: Report | None, keep_going: bool, deadlock: bool
    ) -> None:
        self.system, self.watch, self.report = system, watch, report
        self.keep_going, self.deadlock = keep_going, deadlock
        self.open = [p.name for p in system.invariants]
        self.found = Exploration(initial=len(system.initial), unrolled=(0, 0))
        self.template = Template(system)
        self.paths = SymbolicPaths(self.template, [], lambda: watch.left)

    def explore(self) -> Exploration:
        try:
            self._levels()
        except _Stopped as stopped:
            self.found.stopped = stopped.reason
        except GaveUp as gave_up:
            self.found.stopped, self.found.why = gave_up.stop, gave_up.why
        except KeyboardInterrupt:
            self.found.stopped = "interrupt"
        return self.found

    def _levels(self) -> None:
        self.paths.classes = symmetry.classes(self.system, self.watch)
        self.unrolling, self.solver = Unrolling(self.template), Solver(self.watch)
        self._orders = (MentionOrder(self.system, self.paths.classes), IndependenceOrder(self.system))
        level = 0
        while True:
            if self.watch.limits.depth is not None and level >= self.watch.limits.depth:
                raise _Stopped("depth")
            level += 1
            self._tell(level)
            self._extend(level)
            if self._clean(level):
                self.found.unrolled = level, level
                continue
            self._states(level)
            self._steps(level)

    def _tell(self, level: int) -> None:
        if self.report is not None:
            self.report(Progress(level, None, None, None, None, self.watch.memory, self.watch.seconds))

    def _extend(self, level: int) -> None:
        self.solver.add(self.unrolling.extend())
        if level > 1:
            for order in self._orders:
                self.solver.add(order.constraints(self.unrolling, level - 1))

    # --- one level --------------------------------------------------------------------------------------------------

    def _clean(self, level: int) -> bool:
        """Whether nothing at all is wrong at a level: one question, which is the only one at nearly every level."""
        questions = [*self.open, MEANINGLESS, FAILING, *([STUCK] if self.deadlock else [])]
        wrong = [z3.simplify(self.unrolling.asked(level, question)) for question in questions]
        anything = z3.Bool(f"wrong!{level}")
        self.solver.add([anything == z3.Or(wrong)])
        if self.solver.satisfiable(anything):
            return False
        self.solver.add([z3.Not(anything)])
        self.paths.refuted[level] = questions
        return True

    def _states(self, level: int) -> None:
        """What is wrong with the states of a level, which is not clean."""
        for name in list(self.open):
            if self._met(name, level):
                self.found.violated[name] = level
                self.open.remove(name)
        meaningless = self._met(MEANINGLESS, level)
        self.found.unrolled = level, level - 1
        if meaningless:
            self.found.error = level, self._least(MEANINGLESS, level), None
            raise _Stopped("error")
        if self.found.violated and not self.keep_going:
            raise _Stopped("violation")

    def _steps(self, level: int) -> None:
        """What is wrong with the steps from the states of a level."""
        if self._met(FAILING, level):
            leaves = self._least(FAILING, level)
            failures = evaluate([t.failure for t in self.system.transitions], leaves)
            self.found.error = level, leaves, failures.index(1)
            raise _Stopped("error")
        if self.deadlock and self._met(STUCK, level):
            self.found.deadlock = self.found.deadlock or level
            if not self.keep_going:
                raise _Stopped("violation")
        self.found.unrolled = level, level

    def _met(self, question: str, level: int) -> bool:
        """Whether something is wrong at the end of some path; the path is kept."""
        asked = self.unrolling.asked(level, question)
        if not self.solver.satisfiable(asked):
            self.paths.refuted.setdefault(level, []).append(question)
            return False
        self.paths.witnesses[question, level] = self._path(self.solver.model(), level)
        self._last = self.unrolling.state(self.solver.model(), level)
        return True

    def _path(self, model: z3.ModelRef, length: int) -> Path:
        return Path(self.unrolling.state(model, 1), self.unrolling.instances(model, length))

    def _least(self, question: str, level: int) -> tuple[int, ...]:
        """The least state of a level in which something is wrong, with a path to it."""
        unrolling, solver = self.paths.of_length(level, self.watch)
        solver.add([unrolling.asked(level, question)])
        leaves = least_state(unrolling, solver, self._last)
        assert solver.satisfiable()
        instances = unrolling.instances(solver.model(), level)
        self.paths.witnesses[leaves, level] = Path(unrolling.state(solver.model(), 1), instances)
        return leaves
