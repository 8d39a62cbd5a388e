"""Asks a solver for every obligation of a proof, and finds what does not follow."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, Literal

import z3

from checker.proofs.obligations import Obligation, Obligations

Answer = Literal["false", "unknown"]
Tell = Callable[[str], None]
LONGEST: Final = 2**31 - 1
"""Milliseconds: the longest time that z3 can be given."""


class OutOfTime(Exception):
    """The limit on seconds is reached."""


class Clock:
    """The time that is left; None is no limit."""

    def __init__(self, seconds: float | None = None) -> None:
        self.end = None if seconds is None else time.perf_counter() + seconds

    def milliseconds(self) -> int | None:
        """What is left; `OutOfTime` where that is nothing."""
        if self.end is None:
            return None
        left = int(1000 * (self.end - time.perf_counter()))
        if left <= 0:
            raise OutOfTime
        return min(left, LONGEST)


@dataclass
class Open:
    """A goal that does not follow, or of which the solver does not know: in which obligation, and the solver's model."""

    obligation: Obligation
    goal: str
    answer: Answer
    reason: str = ""
    model: z3.ModelRef | None = field(default=None, repr=False)


def ask(solver: z3.Solver, clock: Clock) -> z3.CheckSatResult:
    """The solver's answer; `OutOfTime` where it ran out of it, `MemoryError` where it had no more memory."""
    left = clock.milliseconds()
    if left is not None:
        solver.set("timeout", left)
    try:
        answer = solver.check()
    except z3.Z3Exception as error:
        if "memory" in str(error):
            raise MemoryError from None
        raise
    if answer == z3.unknown:
        why = solver.reason_unknown()
        if "memory" in why:
            raise MemoryError
        if "interrupted" in why:
            raise KeyboardInterrupt
        if "timeout" in why or "canceled" in why:
            clock.milliseconds()
    return answer


def open_goals(
    obligations: Obligations, obligation: Obligation, clock: Clock, without: frozenset[str] = frozenset()
) -> list[Open]:
    """The goals of an obligation that do not follow from its conditions and the lemmas, but for those `without`.

    A lemma that is left out is neither assumed nor a goal.
    """
    wanted = [name for name in obligation.goals if name not in without]
    for stage in range(obligation.stages):
        found: list[Open] = []
        while wanted:
            solver = _solver(obligations, obligation, stage, without)
            solver.add(z3.Not(z3.And([obligation.goals[name] for name in wanted])))
            answer = ask(solver, clock)
            if answer == z3.unsat:
                break
            if answer == z3.unknown:
                found += _one_by_one(obligations, obligation, stage, wanted, clock, without)
                break
            model = solver.model()
            false = [n for n in wanted if z3.is_false(model.eval(obligation.goals[n], model_completion=True))]
            false = false or wanted[:1]
            found += [Open(obligation, name, "false", model=model) for name in false]
            wanted = [name for name in wanted if name not in false]
        if not found:
            return []
        wanted = [each.goal for each in found]
    return found


def _solver(obligations: Obligations, obligation: Obligation, stage: int, without: frozenset[str]) -> z3.Solver:
    solver = obligations.solver()
    solver.add(*obligation.conditions)
    for name, terms in obligation.lemmas(stage).items():
        if name not in without:
            solver.add(*terms)
    return solver


def _one_by_one(
    obligations: Obligations,
    obligation: Obligation,
    stage: int,
    goals: Iterable[str],
    clock: Clock,
    without: frozenset[str],
) -> list[Open]:
    """Each goal by itself: a solver may know of some where it does not know of all."""
    found = []
    for name in goals:
        solver = _solver(obligations, obligation, stage, without)
        solver.add(z3.Not(obligation.goals[name]))
        answer = ask(solver, clock)
        if answer == z3.sat:
            found.append(Open(obligation, name, "false", model=solver.model()))
        elif answer == z3.unknown:
            found.append(Open(obligation, name, "unknown", solver.reason_unknown()))
    return found


def prove(obligations: Obligations, clock: Clock, tell: Tell = lambda text: None) -> list[Open]:
    """Every goal of a proof that is open."""
    found = []
    for number, obligation in enumerate(obligations.all, 1):
        tell(f"obligation {number} of {len(obligations.all)}: {obligation.label}")
        found += open_goals(obligations, obligation, clock)
    return found


def redundant(obligations: Obligations, clock: Clock, tell: Tell = lambda text: None) -> list[str]:
    """The lemmas each of which can be dropped by itself: the proof goes through without it."""
    found = []
    for name in obligations.lemmas:
        tell(f"without {name}")
        without = frozenset({name})
        if not any(open_goals(obligations, each, clock, without) for each in obligations.all):
            found.append(name)
    return found


def largest_inductive(
    obligations: Obligations, candidates: Iterable[str], clock: Clock, tell: Tell = lambda text: None
) -> frozenset[str]:
    """The candidates that must be dropped until every other one holds at the start and is kept by every step (Houdini).

    What remains is the largest such subset: a candidate is dropped only where those that remain do not imply it.
    """
    droppable, dropped = set(candidates), set[str]()
    again = True
    while again:
        again = False
        for obligation in obligations.all:
            tell(f"{len(droppable) - len(dropped)} candidates left: {obligation.label}")
            lost = {
                each.goal
                for each in open_goals(obligations, obligation, clock, frozenset(dropped))
                if each.goal in droppable
            }
            dropped |= lost
            again = again or bool(lost)
    return frozenset(dropped)
