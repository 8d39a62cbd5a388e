"""Asks a solver about every obligation of a proof, and collects the goals that the solver does not prove.

The obligations of a proof as z3 terms, for models with bounds and without bounds.

An *obligation* says that some conditions and the lemmas imply goals. A proof has three kinds of obligations: every
lemma holds at the start, every lemma holds after each step from a state in which all lemmas hold, and each target
follows from the lemmas.

There are two further goals: each step is defined, and all values lie in their domains at the start and after each step.
So the obligations about steps and targets may assume that all values lie in their domains. For a model with bounds, the
obligations about steps also assume the constraints of the model. If a constraint can be undefined, a third goal says
that every constraint is defined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import z3

from isrcheck.checker.engines.symbolic.solver import GaveUp, Watch

Term = Any
MEANING: Final = "every step is defined"
PREDICATES: Final = "every predicate is defined"
DOMAINS: Final = "values stay in their domains"
START: Final = "initial"
TARGET: Final = "targets"


@dataclass(frozen=True)
class Obligation:
    """A claim: if the conditions and the lemmas hold, all goals hold.

    `action` is the action whose instance makes the step, or START or TARGET if there is no step. A solver tries to
    prove the claim in up to `stages` stages. `lemmas(stage)` maps the name of each lemma to the terms to assume in a
    stage. The terms under the name "" belong to no lemma and are always assumed. A model with bounds has only one
    stage. Without bounds, a stage assumes a lemma about all numbers only for some numbers. If the stage does not prove
    the claim, the next stage assumes the lemma for more numbers.
    """

    label: str
    action: str
    conditions: tuple[Term, ...]
    lemmas: Callable[[int], Mapping[str, Sequence[Term]]]
    goals: Mapping[str, Term]
    stages: int = 1


@dataclass(frozen=True)
class Obligations:
    """All obligations of a proof, with the logic of their terms and the names of lemmas and targets."""

    logic: str
    lemmas: tuple[str, ...]
    targets: tuple[str, ...]
    all: tuple[Obligation, ...]

    def solver(self) -> z3.Solver:
        """A new solver for the logic of the terms."""
        return z3.SolverFor(self.logic) if self.logic == "QF_BV" else z3.Solver()


class Lazily(Mapping[str, Term]):
    """A mapping from names to terms. Each term is made when it is first used."""

    def __init__(self, names: Sequence[str], make: Callable[[str], Term]) -> None:
        self._names, self._make = dict.fromkeys(names), make
        self._made: dict[str, Term] = {}

    def __getitem__(self, name: str) -> Term:
        if name not in self._names:
            raise KeyError(name)
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


Answer = Literal["false", "unknown"]
Tell = Callable[[str], None]


@dataclass
class Open:
    """A goal that the solver did not prove, with its obligation. `model` is z3's counterexample, if there is one."""

    obligation: Obligation
    goal: str
    answer: Answer
    reason: str = ""
    model: z3.ModelRef | None = field(default=None, repr=False)


def ask(solver: z3.Solver, watch: Watch) -> z3.CheckSatResult:
    """The solver's answer, which may be "unknown". Raises `GaveUp` at a limit or after an interruption."""
    watch.look()
    try:
        with watch.while_running(solver):
            answer = solver.check()
        why = solver.reason_unknown() if answer == z3.unknown else ""
    except MemoryError:
        raise GaveUp("memory") from None
    except z3.Z3Exception as error:
        answer, why = z3.unknown, str(error.value)
    if answer == z3.unknown:
        watch.look()
        if "memory" in why:
            raise GaveUp("memory")
        if "interrupt" in why or "cancel" in why:
            raise GaveUp("interrupt")
    return answer


def open_goals(
    obligations: Obligations,
    obligation: Obligation,
    watch: Watch,
    without: frozenset[str] = frozenset(),
    stages: dict[str, int] | None = None,
) -> list[Open]:
    """The goals of an obligation that the solver does not prove from the conditions and the lemmas.

    A lemma in `without` is neither assumed nor a goal. If `stages` is given, the function sets
    `stages[obligation.label]` to the number of the last stage that it tried (see `Obligation`).
    """
    wanted = [name for name in obligation.goals if name not in without]
    found: list[Open] = []
    for stage in range(obligation.stages):
        found = []
        if stages is not None:
            stages[obligation.label] = stage
        while wanted:
            solver = _solver(obligations, obligation, stage, without)
            solver.add(z3.Not(z3.And([obligation.goals[name] for name in wanted])))
            answer = ask(solver, watch)
            if answer == z3.unsat:
                break
            if answer == z3.unknown:
                found += _one_by_one(obligations, obligation, stage, wanted, watch, without)
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
    watch: Watch,
    without: frozenset[str],
) -> list[Open]:
    """The goals that the solver does not prove when it is asked about each goal alone.

    A solver may decide each goal alone even if it cannot decide all goals together.
    """
    found = []
    for name in goals:
        solver = _solver(obligations, obligation, stage, without)
        solver.add(z3.Not(obligation.goals[name]))
        answer = ask(solver, watch)
        if answer == z3.sat:
            found.append(Open(obligation, name, "false", model=solver.model()))
        elif answer == z3.unknown:
            found.append(Open(obligation, name, "unknown", solver.reason_unknown()))
    return found


def prove(
    obligations: Obligations,
    watch: Watch,
    tell: Tell = lambda text: None,
    without: frozenset[str] = frozenset(),
    stages: dict[str, int] | None = None,
) -> list[Open]:
    """The open goals of all obligations of a proof. `open_goals` explains the parameters."""
    found = []
    for number, obligation in enumerate(obligations.all, 1):
        tell(f"obligation {number} of {len(obligations.all)}: {obligation.label}")
        found += open_goals(obligations, obligation, watch, without, stages)
    return found


def redundant(
    obligations: Obligations, watch: Watch, tell: Tell = lambda text: None, dropped: frozenset[str] = frozenset()
) -> list[str]:
    """Each lemma that the proof does not need if it has all other lemmas. The lemmas in `dropped` are never used."""
    found = []
    for name in [name for name in obligations.lemmas if name not in dropped]:
        tell(f"without {name}")
        without = dropped | {name}
        if all(follows(obligations, each, watch, without) for each in obligations.all):
            found.append(name)
    return found


def follows(
    obligations: Obligations, obligation: Obligation, watch: Watch, without: frozenset[str] = frozenset()
) -> bool:
    """Whether the solver proves all goals of an obligation together. Lemmas in `without` are left out."""
    for stage in range(obligation.stages):
        solver = _solver(obligations, obligation, stage, without)
        solver.add(z3.Not(z3.And([term for name, term in obligation.goals.items() if name not in without])))
        if ask(solver, watch) == z3.unsat:
            return True
    return False


def largest_inductive(
    obligations: Obligations, candidates: Iterable[str], watch: Watch, tell: Tell = lambda text: None
) -> frozenset[str]:
    """Returns the candidates to drop, found by the Houdini algorithm.

    The remaining candidates are *inductive*: they hold at the start, and every step preserves them. For a model with
    bounds, a candidate is dropped if it is false in an initial state, or after a step from a state that satisfies all
    candidates not yet dropped. A candidate is also dropped if the solver cannot decide its goal. If the solver decides
    every goal, the remaining set is the largest inductive set. Without bounds, a larger inductive set may exist,
    because lemmas are assumed only for some numbers.
    """
    droppable, dropped = set(candidates), set[str]()
    again = True
    while again:
        again = False
        for obligation in obligations.all:
            tell(f"{len(droppable) - len(dropped)} candidates left: {obligation.label}")
            lost = {
                each.goal
                for each in open_goals(obligations, obligation, watch, frozenset(dropped))
                if each.goal in droppable
            }
            dropped |= lost
            again = again or bool(lost)
    return frozenset(dropped)
