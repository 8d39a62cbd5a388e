"""Bounded model checking: looks for a path of one state, then of two states, and so on, that ends in an error.

A *level* is the number of states of the paths, as in a breadth-first search. When the search first finds an error,
it has refuted this error for all shorter paths. So the first violation has the same length as in a breadth-first
search. But no states are counted, and nothing is known beyond the last level.
"""

from __future__ import annotations

from typing import NoReturn

import z3

from isrcheck.checker.engines.symbolic import symmetry_proof
from isrcheck.checker.engines.symbolic.path_order import IndependenceOrder, MentionOrder
from isrcheck.checker.engines.symbolic.solver import GaveUp, Solver, Watch
from isrcheck.checker.engines.symbolic.symbolic_paths import SymbolicPaths, least_state
from isrcheck.checker.engines.symbolic.unrolling import FAILING, MEANINGLESS, STUCK, Template, Unrolling
from isrcheck.checker.results.exploration import Exploration, Limits, Path, Progress, Report, Stop
from isrcheck.model.semantics.expressions import evaluate
from isrcheck.model.semantics.transition_system import TransitionSystem


class _Stopped(Exception):
    def __init__(self, reason: Stop) -> None:
        self.reason: Stop = reason


def search(
    system: TransitionSystem, *, keep_going: bool, deadlock: bool, limits: Limits, report: Report | None
) -> tuple[Exploration, SymbolicPaths]:
    """Searches level after level for violations, failing evaluations and, with `deadlock`, deadlocks.

    The search ends at a limit, at an interruption, at a failing evaluation, or when z3 gives up. Without `keep_going`,
    it also ends at a violation or a deadlock.
    """
    with Watch(limits) as watch:
        run = Search(system, watch, report, keep_going, deadlock)
        found = run.explore()
        found.seconds = {"search": watch.seconds}
    return found, run.paths


class Search:
    """A search through the levels with one solver. The solver keeps what it has learnt from level to level."""

    def __init__(
        self, system: TransitionSystem, watch: Watch, report: Report | None, keep_going: bool, deadlock: bool
    ) -> None:
        self.system, self.watch, self.report = system, watch, report
        self.keep_going, self.deadlock = keep_going, deadlock
        self.open = [p.name for p in system.invariants]
        self.found = Exploration(initial=len(system.initial), unrolled=(0, 0))
        self.template = Template(system)
        self.paths = SymbolicPaths(self.template, [], lambda: watch.left)
        # For each error: the level and the last state of the path that was found last.
        self._ends: dict[str, tuple[int, tuple[int, ...]]] = {}

    def explore(self) -> Exploration:
        try:
            self._levels()
        except _Stopped as stopped:
            self.found.stopped = stopped.reason
        except GaveUp as gave_up:
            self.found.stopped, self.found.why = gave_up.stop, gave_up.why
        except KeyboardInterrupt:
            self.found.stopped = "interrupt"
        if self.found.stopped not in ("violation", "error", "depth"):
            self._keep_what_is_wrong()
        return self.found

    def _levels(self) -> None:
        self.paths.classes = symmetry_proof.classes(self.system, self.watch)
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
        """Asks for a path of `level` states that ends in an error. Returns whether there is no such path.

        The question is only about errors that the search still looks for. If z3 finds a path, the path is kept for each
        of these errors in which the path ends. At nearly every level, this is the only question for z3.
        """
        questions = [*self.open, MEANINGLESS, FAILING, *([STUCK] if self.deadlock else [])]
        wrong = [z3.simplify(self.unrolling.asked(level, question)) for question in questions]
        anything = z3.Bool(f"wrong!{level}")
        self.solver.add([anything == z3.Or(wrong)])
        if self.solver.satisfiable(anything):
            model = self.solver.model()
            for question, term in zip(questions, wrong, strict=True):
                if z3.is_true(model.eval(term, model_completion=True)):
                    self._keep(question, level, model)
            return False
        self.solver.add([z3.Not(anything)])
        self.paths.refuted[level] = questions
        return True

    def _states(self, level: int) -> None:
        """Finds the errors in the states of a level that is not clean."""
        self.open = [name for name in self.open if not self._met(name, level)]
        meaningless = self._met(MEANINGLESS, level)
        self.found.unrolled = level, level - 1
        if meaningless:
            self._fail(MEANINGLESS, level, self._least(MEANINGLESS, level))
        if self.found.violated and not self.keep_going:
            raise _Stopped("violation")

    def _steps(self, level: int) -> None:
        """Finds the errors in the steps from the states of a level."""
        if self._met(FAILING, level):
            self._fail(FAILING, level, self._least(FAILING, level))
        if self.deadlock and self._met(STUCK, level):
            self.found.deadlock = self.found.deadlock or level
            if not self.keep_going:
                raise _Stopped("violation")
        self.found.unrolled = level, level

    def _met(self, question: str, level: int) -> bool:
        """Whether some path of `level` states ends in the error `question`. If so, one such path is kept."""
        if (question, level) not in self.paths.witnesses:
            if not self.solver.satisfiable(self.unrolling.asked(level, question)):
                self.paths.refuted.setdefault(level, []).append(question)
                return False
            self._keep(question, level, self.solver.model())
        return True

    def _keep(self, question: str, level: int, model: z3.ModelRef) -> None:
        """Keeps the path that a model of z3 describes. The path ends in the error `question`."""
        path = Path(self.unrolling.state(model, 1), self.unrolling.instances(model, level), canonical=False)
        self.paths.witnesses[question, level] = path
        self._ends[question] = level, self.unrolling.state(model, level)
        if question in self.open:
            self.found.violated[question] = level

    def _fail(self, question: str, level: int, leaves: tuple[int, ...]) -> NoReturn:
        """Records an error in a state, and ends the search."""
        failures = evaluate([t.failure for t in self.system.transitions], leaves)
        self.found.error = level, leaves, failures.index(1) if question == FAILING else None
        raise _Stopped("error")

    def _least(self, question: str, level: int) -> tuple[int, ...]:
        """The least state that has the error `question` at a level. Keeps a path to this state.

        If z3 gives up or is interrupted, the result is a state with this error that need not be the least such state.
        """
        _, leaves = self._ends[question]
        try:
            unrolling, solver = self.paths.of_length(level, self.watch)
            solver.add([unrolling.asked(level, question)])
            leaves = least_state(unrolling, solver, leaves)
            assert solver.satisfiable()
            model = solver.model()
        except (GaveUp, KeyboardInterrupt):
            return self._any(question)
        path = Path(unrolling.state(model, 1), unrolling.instances(model, level), canonical=False)
        self.paths.witnesses[leaves, level] = path
        return leaves

    def _any(self, question: str) -> tuple[int, ...]:
        """A known state with this error, which need not be the least such state. Keeps a path to this state."""
        level, leaves = self._ends[question]
        self.paths.witnesses[leaves, level] = self.paths.witnesses[question, level]
        self.paths.any.add(leaves)
        return leaves

    def _keep_what_is_wrong(self) -> None:
        """Records errors and deadlocks found before the search ended early. They need not be in the least state."""
        try:
            for question in (MEANINGLESS, FAILING):
                if question in self._ends:
                    self._fail(question, self._ends[question][0], self._any(question))
        except _Stopped as stopped:
            self.found.stopped = stopped.reason
        if STUCK in self._ends:
            self.found.deadlock = self.found.deadlock or self._ends[STUCK][0]
