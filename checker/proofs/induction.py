"""Proves invariants by k-induction, which is induction over k successive states instead of one.

The base case shows that the invariants hold in the first k states of every path from an initial state. The induction
step is about paths of k + 1 states, which may begin in an unreachable state. It shows that the invariants hold in the
last state if they hold in the first k states. The induction step considers only paths whose states are pairwise
different, and whose first state has all its values in their domains. Paths that repeat a state need no check, because a
shortest path to a violation visits no state twice. The base case and the induction step treat a failing evaluation like
a false invariant. As in a search, a path does not continue from a state that violates the model's constraints.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import z3

from isrcheck.checker.engines.symbolic.solver import GaveUp, Watch
from isrcheck.checker.engines.symbolic.unrolling import FAILING, MEANINGLESS, Template, Unrolling
from isrcheck.checker.engines.symbolic.z3_terms import Term
from isrcheck.checker.proofs.bounded_obligations import Bounded
from isrcheck.checker.proofs.induction_traces import counterexample, of_predicate, trace_of, with_reachability
from isrcheck.checker.proofs.obligations import MEANING, PREDICATES, Tell, ask
from isrcheck.checker.proofs.proof_result import Counterexample, Failing, ProofResult, solvers, stopped, unknown
from isrcheck.checker.registry.loader import LoadedModel
from isrcheck.checker.results.exploration import Limits
from isrcheck.checker.results.result import Exit
from isrcheck.model.language.errors import UnknownName
from isrcheck.model.language.model import Model
from isrcheck.model.semantics.tracing import sentence_of, trace
from isrcheck.model.semantics.transition_system import TransitionSystem

SILENT: Tell = lambda text: None  # noqa: E731


class AnyPath(Unrolling):
    """Paths that begin in any state whose values lie in their domains."""

    def _start(self) -> list[Term]:
        here = self.states[0]
        return Bounded(self.system, self.template.terms, here, here).domain(here)


def induction(
    loaded: LoadedModel,
    settings: dict[str, Any],
    invariants: tuple[str, ...] | None,
    k: int,
    limits: Limits = Limits(),
    tell: Tell = SILENT,
) -> ProofResult:
    """Checks whether `invariants` (None: the model's default invariants), taken together, are k-inductive.

    Raises `UnknownName` if the model has no such invariant or setting, or if a setting cannot have its given value.
    """
    began = time.perf_counter()
    chosen = loaded.chosen(invariants)
    if not chosen:
        raise UnknownName(f"there is nothing to prove of model {loaded.name}; name an invariant, or write one")
    model = loaded.cls(**settings)
    system = trace(model, chosen)
    result = ProofResult(
        model=loaded.name,
        settings=dict(model.settings),
        by="induction",
        form="bit-vectors",
        targets={name: sentence_of(f) for name, f in chosen.items()},
        k=k,
        solvers=solvers(),
    )
    try:
        with Watch(limits) as watch:
            _Attempt(model, system, chosen, k, watch, tell, result).run()
    except GaveUp as gave_up:
        stopped(result, gave_up, limits)
    except KeyboardInterrupt:
        stopped(result, GaveUp("interrupt"), limits)
    result.seconds["total"] = time.perf_counter() - began
    return result


class _Attempt:
    def __init__(
        self,
        model: Model,
        system: TransitionSystem,
        chosen: dict[str, Any],
        k: int,
        watch: Watch,
        tell: Tell,
        result: ProofResult,
    ) -> None:
        self.model, self.chosen, self.k, self.watch, self.tell, self.result = model, chosen, k, watch, tell, result
        # Goals and bounds are left out, so that the proof does not fail if one of them is undefined.
        self.system = replace(system, goals=(), bounds=())
        self.template = Template(self.system)
        names = [p.name for p in self.system.invariants]
        self.wrong = [*names, *([FAILING] if self.system.transitions else []), MEANINGLESS]

    def run(self) -> None:
        if self._base():
            return
        if self._step():
            self.result.verdict, self.result.exit_code = "proved", Exit.HOLDS

    def _solver(self) -> z3.Solver:
        self.result.obligations += 1
        return z3.SolverFor("QF_BV")

    def _base(self) -> bool:
        """Whether the base case fails.

        It fails if an invariant is false or an evaluation fails in one of the first k states of a path from an initial
        state. It also fails if z3 cannot decide whether there is such a path.
        """
        path, asserted = Unrolling(self.template), list[Term]()
        for length in range(1, self.k + 1):
            self.tell(f"base: paths of {length} of {self.k} states")
            asserted += path.extend()
            solver = self._solver()
            solver.add(*asserted, z3.Or([path.asked(length, q) for q in self.wrong]))
            answer = ask(solver, self.watch)
            if answer == z3.unknown:
                unknown(self.result, solver)
                return True
            if answer == z3.sat:
                self._violated(path, solver.model(), length)
                return True
        return False

    def _violated(self, path: Unrolling, model: z3.ModelRef, length: int) -> None:
        wrong = [q for q in self.wrong if z3.is_true(model.eval(path.asked(length, q)))]
        states = [path.state(model, level) for level in range(1, length + 1)]
        labels = [str(self.system.transitions[i].label) for i in path.instances(model, length)]
        self.result.violation = trace_of(self.model, self.system, states, labels)
        failing = not any(name in self.chosen for name in wrong)
        self.result.verdict = "incomplete" if failing else "violated"
        self.result.exit_code = Exit.EVALUATION if failing else Exit.VIOLATED
        self.result.reason = f"{', '.join(wrong)} at the end of a path of {length} states from an initial state"

    def _step(self) -> bool:
        """Whether z3 proves the induction step. If not, records the reason in the result."""
        path, asserted = AnyPath(self.template), list[Term]()
        for length in range(1, self.k + 2):
            asserted += path.extend()
            if length <= self.k:
                asserted += [z3.Not(path.asked(length, q)) for q in self.wrong]
        for i, a in enumerate(path.states):
            for b in path.states[:i]:
                asserted.append(z3.Or([x != y for x, y in zip(a, b, strict=True) if not x.eq(y)]))
        self.tell(f"step: paths of {self.k + 1} states")
        failing = []
        for name in self.wrong:
            solver = self._solver()
            solver.add(*asserted, path.asked(self.k + 1, name))
            answer = ask(solver, self.watch)
            if answer == z3.unknown:
                unknown(self.result, solver)
                return False
            if answer == z3.sat:
                failing.append(self._failing(path, solver.model(), name))
        self.tell("is the state before the step reachable?")
        failing = with_reachability(self.system, failing)
        self.result.failing = failing
        if failing:
            self._set_verdict(failing)
        return not failing

    def _failing(self, path: Unrolling, model: z3.ModelRef, name: str) -> Failing:
        states = [path.state(model, level) for level in range(1, self.k + 2)]
        instances = [self.system.transitions[i].label for i in path.instances(model, self.k + 1)]
        why = of_predicate(self.chosen.get(name))
        shown = counterexample(self.model, self.system, states, [str(x) for x in instances], why)
        sentence = self.result.targets.get(name, "An action or a predicate is undefined.")
        goal = {FAILING: MEANING, MEANINGLESS: PREDICATES}.get(name, name)
        return Failing(instances[-1].action, goal, sentence, (str(instances[-1]),), "false", shown)

    def _set_verdict(self, failing: list[Failing]) -> None:
        reached = [f for f in failing if _is_reachable(f.counterexample) and f.goal in self.chosen]
        if reached:
            self.result.verdict, self.result.exit_code = "violated", Exit.VIOLATED
            self.result.reason = f"{reached[0].goal} is violated in a reachable state"
            return
        self.result.verdict, self.result.exit_code = "not proved", Exit.DIFFERENCE
        names = ", ".join(dict.fromkeys(f.goal for f in failing))
        self.result.reason = f"{names} not {self.k}-inductive, but possibly true in all reachable states"


def _is_reachable(found: Counterexample | None) -> bool:
    return found is not None and found.reachability is not None and found.reachability.length is not None
