"""The result of a proof attempt as data: the verdict, open goals with counterexamples to induction, and checks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from isrcheck.checker.proofs.reachability import Reachability
from isrcheck.checker.results import FORMAT, Exit, Instance, Trace

Verdict = Literal["proved", "violated", "not proved", "incomplete"]


@dataclass(frozen=True)
class Counterexample:
    """A trace that shows why a goal was not proved.

    The first state satisfies the assumptions of the proof, or is initial. In the last state, the goal is false, or a
    predicate or an action instance is undefined. The states may be unreachable. `reachability` says whether a search
    reached the first state. `instance` says for which parameters the goal is false in the last state, if this is known.
    """

    trace: Trace
    instance: Instance | None
    reachability: Reachability | None

    def to_json(self) -> dict[str, Any]:
        found = self.reachability
        return {
            "trace": self.trace.to_json(),
            "reachable": None if found is None or not found.known else found.length is not None,
            "length": None if found is None else found.length,
        }


@dataclass(frozen=True)
class Failing:
    """A goal that was not proved for an action, and the instances of the action for which it was not proved.

    `answer` is "false" if the solver found a counterexample for one of the instances, and "unknown" if it could decide
    none of them.
    """

    action: str
    goal: str
    sentence: str
    instances: tuple[str, ...]
    answer: Literal["false", "unknown"]
    counterexample: Counterexample | None = None

    def to_json(self) -> dict[str, Any]:
        shown = None if self.counterexample is None else self.counterexample.to_json()
        return {
            "action": self.action,
            "goal": self.goal,
            "instances": list(self.instances),
            "answer": self.answer,
            "counterexample_to_induction": shown,
        }


@dataclass
class ProofResult:
    """The result of a proof attempt.

    `by` names the method: lemmas, or induction over `k` states. `form` is "bit-vectors" (at the settings) or
    "unbounded" (for all bounds). `violation` is a path from an initial state to a state with a false invariant or a
    failing evaluation. Only the base case of an induction can set `violation`. `checks` has a sentence for each side
    condition and each mutant. If a check is in `failed_checks`, the proof cannot be trusted, and the verdict is never
    "proved".
    """

    model: str
    settings: dict[str, Any]
    by: Literal["lemmas", "induction"]
    form: Literal["bit-vectors", "unbounded"]
    targets: dict[str, str]
    proof: str | None = None
    k: int | None = None
    verdict: Verdict = "incomplete"
    reason: str | None = None
    exit_code: int = Exit.BUG
    lemmas: dict[str, str] = field(default_factory=dict)
    dropped: list[str] = field(default_factory=list)
    redundant: list[str] | None = None
    obligations: int = 0
    stages: dict[str, int] = field(default_factory=dict)
    mutants: dict[str, list[Failing]] = field(default_factory=dict)
    failing: list[Failing] = field(default_factory=list)
    violation: Trace | None = None
    checks: dict[str, str] = field(default_factory=dict)
    failed_checks: list[str] = field(default_factory=list)
    solvers: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "prove": self.model,
            "settings": {n: x if isinstance(x, int | str) else str(x) for n, x in self.settings.items()},
            "by": self.by,
            "form": self.form,
            "proof": self.proof,
            "k": self.k,
            "targets": list(self.targets),
            "verdict": self.verdict,
            "reason": self.reason,
            "exit_code": self.exit_code,
            "lemmas": self.lemmas,
            "dropped": self.dropped,
            "redundant": self.redundant,
            "obligations": self.obligations,
            "failing": [each.to_json() for each in self.failing],
            "mutants": {name: [[f.action, f.goal] for f in found] for name, found in self.mutants.items()},
            "violation": None if self.violation is None else self.violation.to_json(),
            "checks": self.checks,
            "failed_checks": self.failed_checks,
            "solvers": self.solvers,
            "seconds": {name: round(s, 6) for name, s in self.seconds.items()},
        }
