"""The result of a proof attempt as data: the verdict, open goals with counterexamples to induction, and checks.

Decides whether given states are reachable, by a search within limits.

Records in a result why a proof attempt ends without a decision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

import z3

from isrcheck.checker.engines.symbolic.solver import GaveUp
from isrcheck.checker.results.exploration import Limits
from isrcheck.checker.results.result import FORMAT, Exit, Instance, Trace
from isrcheck.checker.results.text_layout import number, plural
from isrcheck.model.semantics import expressions as e
from isrcheck.model.semantics.transition_system import Predicate, TransitionSystem

HERE: Final = "here"
LOOK: Final = Limits(seconds=10, memory=2 << 30)


@dataclass(frozen=True)
class Reachability:
    """The result of a search for a path to a state.

    `length` is the number of states on the path, or None if the search found no path. `known` is false if the search
    ended early without a path. `distinct` is the number of states that the search found.
    """

    known: bool
    length: int | None
    distinct: int

    def text(self) -> str:
        if self.length is not None:
            return f"reachable, in {plural(self.length, 'state')}"
        if self.known:
            return f"unreachable: it is none of the {number(self.distinct)} reachable states"
        return f"not known to be reachable: it is not among {number(self.distinct)} reachable states"


def reachability(
    system: TransitionSystem, states: Sequence[tuple[int, ...]], limits: Limits = LOOK
) -> list[Reachability]:
    """Searches for all given states in one search, and says of each state whether it is reachable.

    A state is given by its leaves (its stored integers).
    """
    from isrcheck.checker.engines.explicit.search import search

    asked = {leaves: f"{HERE}{i:06d}" for i, leaves in enumerate(dict.fromkeys(states))}
    predicates = tuple(_elsewhere(system, leaves, name) for leaves, name in asked.items())
    question = replace(system, invariants=predicates, goals=(), bounds=())
    found, _ = search(question, keep_going=len(asked) > 1, deadlock=False, limits=limits, report=None)
    lengths = [found.violated.get(asked[leaves]) for leaves in states]
    return [Reachability(n is not None or found.stopped is None, n, sum(found.levels)) for n in lengths]


def _elsewhere(system: TransitionSystem, leaves: tuple[int, ...], name: str) -> Predicate:
    is_here = e.and_(
        *(e.eq(e.leaf(leaf), e.constant(leaf.kind, x)) for leaf, x in zip(system.leaves, leaves, strict=True))
    )
    return Predicate(name, "The state is a different one.", e.not_(is_here), e.FALSE)


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


def solvers() -> dict[str, str]:
    """The solvers that an answer depends on, with their versions."""
    return {"z3": z3.get_version_string()}


def stopped(result: ProofResult, gave_up: GaveUp, limits: Limits) -> None:
    """Records why an attempt was given up."""
    result.verdict = "incomplete"
    match gave_up.stop:
        case "time":
            result.exit_code, result.reason = (
                Exit.LIMIT,
                (f"time limit of {limits.seconds:g} s reached (--max-seconds)"),
            )
        case "memory":
            limit = "the memory of this machine" if limits.memory is None else f"{limits.memory} bytes (--max-memory)"
            result.exit_code, result.reason = Exit.LIMIT, f"more memory needed than {limit}"
        case "interrupt":
            result.exit_code, result.reason = Exit.INTERRUPTED, "interrupted"
        case _:
            result.exit_code, result.reason = Exit.DIFFERENCE, f"the solver gave up: {gave_up.why}"


def unknown(result: ProofResult, solver: Any) -> None:
    """Records that the solver answered "unknown", and why."""
    stopped(result, GaveUp("unknown", solver.reason_unknown()), Limits())
