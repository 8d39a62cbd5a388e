"""Tries a proof by lemmas, either for a model at its settings (as bit-vectors) or for all bounds.

Tries a proof on its mutants. Each mutant is a model that lacks a rule of the protocol, so the proof must fail.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

from isrcheck.checker.engines.symbolic.solver import GaveUp, Watch
from isrcheck.checker.proofs.attempts import Attempt, Bound, falsifying, obligations_of, settings_shown
from isrcheck.checker.proofs.bounded_obligations import Bounded
from isrcheck.checker.proofs.induction_traces import counterexample, pair, with_reachability
from isrcheck.checker.proofs.obligations import (
    DOMAINS,
    MEANING,
    START,
    TARGET,
    Obligations,
    Open,
    Tell,
    largest_inductive,
    prove,
    redundant,
)
from isrcheck.checker.proofs.proof_result import Counterexample, Failing, ProofResult, solvers, stopped
from isrcheck.checker.proofs.side_conditions import side_conditions
from isrcheck.checker.registry.loader import LoadedModel, fitting
from isrcheck.checker.results.exploration import Limits
from isrcheck.checker.results.result import Exit, Instance
from isrcheck.model.language.errors import UnknownName
from isrcheck.model.language.model import Model, kebab
from isrcheck.model.semantics.tracing import sentence_of

SILENT: Tell = lambda text: None  # noqa: E731
GOALS = {
    DOMAINS: "After the step every value is in its domain.",
    MEANING: "Wherever the action is enabled, it is defined.",
}


def by_lemmas(attempt: Attempt, limits: Limits = Limits(), tell: Tell = SILENT, look: bool = True) -> ProofResult:
    """Tries a proof. Raises `UnknownName` or `ModelError` for mistakes in the attempt or in the proof's file.

    The side conditions are checked only if `look` is true.
    """
    began = time.perf_counter()
    attempt.proof.check_fit(attempt.loaded.cls, attempt.loaded.name)
    chosen = attempt.chosen()
    tell("reading the model and the proof")
    obligations, bound, bounded = obligations_of(attempt)
    if not chosen and look:
        raise UnknownName(f"there is nothing to prove of model {attempt.loaded.name}; name an invariant, or write one")
    result = ProofResult(
        model=attempt.loaded.name,
        settings=settings_shown(attempt),
        by="lemmas",
        form=attempt.form,
        targets={name: s.sentence for name, s in chosen.items()},
        proof=attempt.proof.name(),
        lemmas={name: s.sentence for name, s in attempt.lemmas().items()},
        solvers=solvers(),
        obligations=sum(len(o.goals) for o in obligations.all),
    )
    result.seconds["reading"] = time.perf_counter() - began
    try:
        with Watch(limits) as watch:
            run = _Run(attempt, obligations, bound, bounded, watch, tell, result)
            run.all(look)
    except GaveUp as gave_up:
        stopped(result, gave_up, limits)
    except KeyboardInterrupt:
        stopped(result, GaveUp("interrupt"), limits)
    result.seconds["total"] = time.perf_counter() - began
    return result


@dataclass
class _Run:
    attempt: Attempt
    obligations: Obligations
    bound: Bound | None
    bounded: Bounded | None
    watch: Watch
    tell: Tell
    result: ProofResult

    def all(self, look: bool) -> None:
        if look:
            self._timed("checks", self._look)
        self._timed("proof", self._prove)
        if self.attempt.find_redundant and self.result.verdict == "proved":
            self._timed("redundant", self._redundant)

    def _timed(self, name: str, work: Any) -> None:
        began = time.perf_counter()
        try:
            work()
        finally:
            self.result.seconds[name] = time.perf_counter() - began

    def _look(self) -> None:
        found = side_conditions(self.attempt, self.watch, self.tell)
        self.result.checks |= found.sentences
        self.result.failed_checks += found.failed

    # --- the proof --------------------------------------------------------------------------------------------------

    def _prove(self) -> None:
        without: frozenset[str] = frozenset()
        if self.attempt.houdini:
            without = largest_inductive(self.obligations, self.attempt.lemmas(), self.watch, self.tell)
            self.result.dropped = [name for name in self.attempt.lemmas() if name in without]
            self.result.lemmas = {n: s for n, s in self.result.lemmas.items() if n not in without}
        found = prove(self.obligations, self.watch, self.tell, without, self.result.stages)
        self.result.failing = self._failing(found)
        if found:
            self._open()
        elif self.result.failed_checks:
            self.result.verdict, self.result.exit_code = "not proved", Exit.DIFFERENCE
            self.result.reason = f"a check failed: {', '.join(self.result.failed_checks)}"
        else:
            self.result.verdict, self.result.exit_code = "proved", Exit.HOLDS

    def _open(self) -> None:
        failing = self.result.failing
        self.result.verdict, self.result.exit_code = "not proved", Exit.DIFFERENCE
        pairs = len(failing)
        doubtful = sum(f.answer == "unknown" for f in failing)
        doubts = f", {doubtful} of them because the solver gave up" if doubtful else ""
        self.result.reason = f"{pairs} {'goal does' if pairs == 1 else 'goals do'} not follow{doubts}"

    def _failing(self, found: list[Open]) -> list[Failing]:
        grouped: dict[tuple[str, str], list[Open]] = {}
        for each in found:
            grouped.setdefault((each.obligation.action, each.goal), []).append(each)
        shown = [self._one(action, goal, group) for (action, goal), group in grouped.items()]
        if self.bound is None:
            return shown
        self.tell("is the state before the step reachable?")
        return with_reachability(self.bound.system, shown)

    def _one(self, action: str, goal: str, group: list[Open]) -> Failing:
        sentences = {**self.result.lemmas, **self.result.targets, **GOALS}
        first = min(group, key=lambda each: each.answer == "unknown")
        labels = tuple(each.obligation.label for each in group)
        return Failing(action, goal, sentences[goal], labels, first.answer, self._counterexample(first))

    def _counterexample(self, found: Open) -> Counterexample | None:
        if found.model is None or self.bound is None or self.bounded is None:
            return None
        before, after = pair(self.bounded, found.model)
        action, label, system = found.obligation.action, found.obligation.label, self.bound.system
        statement = self.attempt.stated().get(found.goal)
        proof = self.attempt.proof

        def why(model: Model, state: Any) -> Instance | None:
            return None if statement is None else falsifying(proof, statement, model, state)

        if action == START:
            return counterexample(self.bound.model, system, [after], [], why)
        if action == TARGET or found.goal == MEANING:
            # Only the state `before` is shown: a target is about one state, and an undefined step leads to no state.
            return counterexample(self.bound.model, system, [before], [], why)
        return counterexample(self.bound.model, system, [before, after], [label], why)

    def _redundant(self) -> None:
        self.result.redundant = redundant(self.obligations, self.watch, self.tell, frozenset(self.result.dropped))


def try_mutants(attempt: Attempt, result: ProofResult, limits: Limits, tell: Tell) -> None:
    """Tries the proof on its mutants, and records for each mutant the goals that were not proved.

    If every goal is proved for a mutant, the proof proves too much, and the verdict of `result` becomes "not proved".
    If the attempt for a mutant is incomplete, the verdict becomes "incomplete", and no further mutant is tried.
    """
    for mutant in attempt.proof.mutants:
        name = mutant_name(mutant)
        tell(f"mutant {name}")
        loaded = LoadedModel(mutant, name, attempt.loaded.source_file, fitting(mutant, None))
        tried = by_lemmas(replace(attempt, loaded=loaded, find_redundant=False), limits, tell, look=False)
        if tried.verdict == "incomplete":
            result.verdict, result.exit_code, result.reason = "incomplete", tried.exit_code, f"{name}: {tried.reason}"
            return
        result.mutants[name] = tried.failing
        pairs = ", ".join(f"{f.action} and {f.goal}" for f in tried.failing)
        result.checks[f"mutant {name}"] = f"not proved ({sentence_of(mutant)}): {pairs}" if pairs else "proved"
        if not tried.failing:
            result.failed_checks.append(f"mutant {name}")
            result.verdict, result.exit_code = "not proved", Exit.DIFFERENCE
            result.reason = f"the proof also proves mutant {name}"


def mutant_name(mutant: type[Model]) -> str:
    """The name of a mutant: `FetchWithoutFencing` becomes `fetch-without-fencing`."""
    words = "".join(f"_{c.lower()}" if c.isupper() else c for c in mutant.__name__)
    return kebab(words.strip("_"))
