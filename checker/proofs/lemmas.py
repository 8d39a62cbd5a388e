"""A proof by lemmas, tried: at the settings in bit-vectors, or without bounds."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from isrcheck.checker.checking import check
from isrcheck.checker.engines.symbolic.solving import GaveUp, Watch
from isrcheck.checker.exploration import Limits
from isrcheck.checker.library import LoadedModel
from isrcheck.checker.proofs.bounded import Bounded
from isrcheck.checker.proofs.ending import solvers, stopped
from isrcheck.checker.proofs.history import differences, with_history
from isrcheck.checker.proofs.obligations import DOMAINS, MEANING, START, TARGET, Obligations
from isrcheck.checker.proofs.proving import Open, Tell, largest_inductive, prove, redundant
from isrcheck.checker.proofs.results import Counterexample, Failing, ProofResult
from isrcheck.checker.proofs.shown import counterexample, pair, with_reachability
from isrcheck.checker.proofs.statements import falsifying, predicate
from isrcheck.checker.proofs.tie import Tie, says_the_same
from isrcheck.checker.proofs.unbounded.form import Unbounded
from isrcheck.checker.proofs.unbounded.relation import without_bounds
from isrcheck.checker.reports.layout import number
from isrcheck.checker.results import Exit, Instance
from isrcheck.model.language import UnknownName
from isrcheck.model.language.errors import nearest
from isrcheck.model.language.model import Model
from isrcheck.model.language.profiles import BARE
from isrcheck.model.language.proofs import Proof, Statement
from isrcheck.model.language.tracing import trace

Kind = Literal["bit-vectors", "unbounded"]
SILENT: Tell = lambda text: None  # noqa: E731
SMALL: int = 2
"""To this the bounds are lowered for what is looked at beside the proof: every lemma in all reachable states."""
LOOK = Limits(seconds=20, memory=2 << 30)
GOALS = {
    DOMAINS: "After the step every value is in its domain.",
    MEANING: "Where the action can happen it means something.",
}


@dataclass(frozen=True)
class Attempt:
    """What is to be proved and how."""

    loaded: LoadedModel
    settings: dict[str, Any]
    proof: type[Proof]
    targets: tuple[str, ...] | None = None
    form: Kind = "bit-vectors"
    find_redundant: bool = False
    houdini: bool = False

    @property
    def model(self) -> type[Model]:
        return with_history(self.loaded.cls, self.proof)

    def chosen(self) -> dict[str, Statement]:
        """The targets by name; `UnknownName` for one that the proof does not have."""
        known = self.proof.statements("target")
        for name in self.targets or ():
            if name not in known:
                raise UnknownName(f"proof {self.proof.name()} has no target {name!r}; {nearest(name, known)}")
        return {n: s for n, s in known.items() if not self.targets or n in self.targets}

    def lemmas(self) -> dict[str, Statement]:
        return self.proof.statements("lemma", "candidate")


class Bound:
    """The traced model with history, its lemmas and targets as predicates of it, and its state as terms."""

    def __init__(self, attempt: Attempt, settings: dict[str, Any]) -> None:
        self.attempt = attempt
        self.plain = attempt.loaded.cls(**settings)
        self.model = attempt.model(**settings)
        statements = attempt.proof.statements("lemma", "candidate", "target")
        self.stated = {name: predicate(attempt.proof, s) for name, s in statements.items()}
        self.system = trace(self.model, self.stated)

    def obligations(self, bounded: Bounded) -> Obligations:
        """What is to be shown; where the model has the invariant that a target names, the invariant itself."""
        by_name = {p.name: p for p in self.system.invariants}
        shipped = {n: f for n, f in self.attempt.loaded.invariants.items() if n in self.attempt.chosen()}
        own = {p.name: p for p in trace(self.model, shipped).invariants}
        targets = tuple(own.get(name, by_name[name]) for name in self.attempt.chosen())
        return bounded.obligations(tuple(by_name[name] for name in self.attempt.lemmas()), targets)


def by_lemmas(attempt: Attempt, limits: Limits = Limits(), tell: Tell = SILENT, look: bool = True) -> ProofResult:
    """Tries a proof; `UnknownName` and `ModelError` for what is wrong with the question or with the proof's file.

    Without `look` the checks besides are left out.
    """
    began = time.perf_counter()
    attempt.proof.check_fit(attempt.loaded.cls, attempt.loaded.name)
    chosen = attempt.chosen()
    tell("reading the model and the proof")
    obligations, bound, bounded = obligations_of(attempt)
    result = ProofResult(
        model=attempt.loaded.name,
        settings=_settings(attempt),
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


def obligations_of(attempt: Attempt) -> tuple[Obligations, Bound | None, Bounded | None]:
    if attempt.form == "bit-vectors":
        bound = Bound(attempt, attempt.settings)
        bounded = Bounded.of(bound.system)
        return bound.obligations(bounded), bound, bounded
    free = without_bounds(attempt.model, attempt.proof, attempt.settings)
    return Unbounded(free, attempt.proof, attempt.lemmas()).obligations(attempt.chosen()), None, None


def _settings(attempt: Attempt) -> dict[str, Any]:
    settings = dict(attempt.loaded.cls(**attempt.settings).settings)
    if attempt.form == "unbounded":
        bounds = {n for n, s in attempt.loaded.cls.declared_settings().items() if s.bound is not None}
        return {n: "unbounded" if n in bounds else value for n, value in settings.items()}
    return settings


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
            self._timed("checks", self._checks)
        self._timed("proof", self._prove)
        if self.attempt.find_redundant and self.result.verdict == "proved":
            self._timed("redundant", self._redundant)

    def _timed(self, name: str, work: Any) -> None:
        began = time.perf_counter()
        try:
            work()
        finally:
            self.result.seconds[name] = time.perf_counter() - began

    # --- what is looked at besides ----------------------------------------------------------------------------------

    def _small(self) -> dict[str, Any]:
        """The settings with every bound lowered: where all reachable states can be looked at."""
        declared = self.attempt.loaded.cls.declared_settings()
        given = self.attempt.loaded.cls(**self.attempt.settings).settings
        return {n: min(x, SMALL) if declared[n].bound is not None else x for n, x in given.items()}

    def _checks(self) -> None:
        small = Bound(self.attempt, self._small())
        self.tell("comparing the model with history to the model")
        plain = trace(small.plain)
        self._record("history restricts nothing", differences(plain, small.system), "every step is the model's own")
        self.tell("looking at the lemmas in reachable states")
        self._reachable(small)
        if self.attempt.form == "unbounded":
            self.tell("comparing the unbounded form to the model within bounds")
            free = without_bounds(self.attempt.model, self.attempt.proof, self.attempt.settings)
            unbounded = Unbounded(free, self.attempt.proof, self.attempt.lemmas())
            settings = self._small()
            tied = Bound(self.attempt, settings)
            different = [*Tie(tied.system, tied.model, unbounded).differences(self.watch), *self._restated(tied)]
            self._record("the unbounded form is the model's", different, f"z3, each action at {_shown(settings)}")

    def _restated(self, tied: Bound) -> list[str]:
        """Targets that do not say what the invariant of their name says."""
        shipped = {n: f for n, f in self.attempt.loaded.invariants.items() if n in self.attempt.chosen()}
        own = trace(tied.model, shipped).invariants
        by_name = {p.name: p for p in tied.system.invariants}
        return [
            f"target {p.name} is not the invariant of that name"
            for p in own
            if not says_the_same(tied.system, p, by_name[p.name], self.watch)
        ]

    def _reachable(self, small: Bound) -> None:
        model = LoadedModel(self.attempt.model, self.attempt.loaded.name, None, small.stated)
        names = tuple(small.stated)
        self.watch.look()
        seconds = min(x for x in (LOOK.seconds, self.watch.left) if x is not None)
        limits = replace(LOOK, seconds=seconds)
        values = dict(small.model.settings)
        found = check(model, values, profile=BARE, invariants=names, keep_going=True, limits=limits)
        # A candidate may well be false, and so may a lemma of a model that is not safe: the proof will say so.
        false = [name for name, finding in found.findings.items() if finding.verdict == "violated"]
        states = f"{number(found.distinct)} states at {_shown(found.settings)}"
        how_far = f"all {states}" if found.verdict != "incomplete" else f"the first {states}"
        if found.evaluation is not None:
            false.append(f"evaluation error: {found.evaluation.where}: {found.evaluation.what}")
        candidates = self.attempt.proof.statements("candidate")
        serious = [name for name in false if name not in candidates]
        self._record("lemmas hold in reachable states", [f"{name} is false" for name in serious], how_far)
        never = found.actions_never_fired
        self._record("every action happens", [f"{name} never" for name in never], f"among {how_far}", fatal=False)

    def _record(self, name: str, wrong: Iterable[str], fine: str, fatal: bool = True) -> None:
        found = list(wrong)
        self.result.checks[name] = "; ".join(found) if found else fine
        if found and fatal:
            self.result.failed_checks.append(name)

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
        doubts = f", of {doubtful} of them the solver does not know" if doubtful else ""
        self.result.reason = f"{pairs} {'goal does' if pairs == 1 else 'goals do'} not follow{doubts}"

    def _failing(self, found: list[Open]) -> list[Failing]:
        grouped: dict[tuple[str, str], list[Open]] = {}
        for each in found:
            grouped.setdefault((each.obligation.action, each.goal), []).append(each)
        shown = [self._one(action, goal, group) for (action, goal), group in grouped.items()]
        if self.bound is None:
            return shown
        self.tell("are the states before reachable?")
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
        statement = self.attempt.proof.statements("lemma", "candidate", "target").get(found.goal)
        proof = self.attempt.proof

        def why(model: Model, state: Any) -> Instance | None:
            return None if statement is None else falsifying(proof, statement, model, state)

        if action == START:
            return counterexample(self.bound.model, system, [after], [], why)
        if action == TARGET or found.goal == MEANING:
            # What an action leads to where it means nothing is nothing to look at.
            return counterexample(self.bound.model, system, [before], [], why)
        return counterexample(self.bound.model, system, [before, after], [label], why)

    def _redundant(self) -> None:
        self.result.redundant = redundant(self.obligations, self.watch, self.tell)


def _shown(settings: dict[str, Any]) -> str:
    return "/".join(str(x) for x in settings.values() if isinstance(x, int) and not isinstance(x, bool))
