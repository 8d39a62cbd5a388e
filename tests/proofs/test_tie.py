"""The form without bounds is tied to the model: by z3 over all states within bounds, and along reachable steps."""

from __future__ import annotations

from typing import Any

import pytest
import z3

from isrcheck.checker.engines.interpreter import Interpreter
from isrcheck.checker.engines.symbolic.solving import Watch
from isrcheck.checker.proofs.history import with_history
from isrcheck.checker.proofs.statements import predicate
from isrcheck.checker.proofs.tie import Tie
from isrcheck.checker.proofs.unbounded.form import Unbounded
from isrcheck.checker.proofs.unbounded.relation import without_bounds
from isrcheck.model.language import EvaluationError, implies
from isrcheck.model.language.concrete import initial_states
from isrcheck.model.language.proofs import Proof, lemma
from isrcheck.model.language.proofs import without_bounds as replaces
from isrcheck.model.language.tracing import trace
from isrcheck.model.published.kip_320 import Kip320
from isrcheck.model.published.kip_320_proof import Kip320Proof, any_offset
from isrcheck.model.published.kip_320_without import CommitWithoutFencing, TruncationWithoutFencing
from tests.proofs.asking import LIMITS, bounds


def tied(proof: type[Proof] = Kip320Proof, at: str = "2/2/2/1", other: type[Kip320] = Kip320) -> Tie:
    """KIP-320 within bounds, and `other` without."""
    settings, model = bounds(at), with_history(Kip320, proof)
    free = without_bounds(with_history(other, proof), proof, {"replicas": settings["replicas"]})
    system = trace(model(**settings), {n: predicate(proof, s) for n, s in proof.statements("lemma", "target").items()})
    return Tie(system, model(**settings), Unbounded(free, proof, proof.statements("lemma")))


def differences(tie: Tie) -> list[str]:
    with Watch(LIMITS) as watch:
        return tie.differences(watch)


def test_both_forms_are_equal() -> None:
    assert differences(tied()) == []


class KeepsTooLittle(Kip320Proof):
    @replaces
    def end_of_common_records(self, s: Any, a: Any, b: Any) -> Any:
        return s.log[a].length - s.log[a].length


class OfBoundsOnly(Proof):
    of = Kip320

    @lemma(offset=any_offset)
    def only_of_offsets(self, s: Any, offset: Any) -> Any:
        """No log has a record at the last offset that there is: without bounds there is no last one."""
        return implies(s.log[self.model.brokers[0]].length > offset, self.model.log_size >= offset + 2)

    @replaces
    def end_of_common_records(self, s: Any, a: Any, b: Any) -> Any:
        return Kip320Proof.end_of_common_records(self, s, a, b)  # type: ignore[arg-type]


def test_a_lemma_that_needs_a_bound_is_noticed() -> None:
    assert differences(tied(OfBoundsOnly)) == ["only-of-offsets says something else"]


def test_a_replacement_that_does_something_else_is_noticed() -> None:
    found = differences(tied(KeepsTooLittle))
    assert found
    assert all(each.startswith("fenced-become-follower-and-truncate(") for each in found)


@pytest.mark.parametrize(
    ("other", "action"),
    [
        (CommitWithoutFencing, "fenced-leader-inc-high-watermark"),
        (TruncationWithoutFencing, "fenced-become-follower-and-truncate"),
    ],
)
def test_another_model_is_noticed(other: type[Kip320], action: str) -> None:
    found = differences(tied(other=other))
    assert found
    assert all(each.startswith(f"{action}(") for each in found)


def test_every_reachable_step_is_one_without_bounds() -> None:
    tie = tied(at="2/1/1/1")
    it = Interpreter(tie.model, {})
    seen, frontier, steps = set(initial_states(tie.model)), list(initial_states(tie.model)), 0
    labels = {str(t.label): t for t in tie.system.transitions}
    known = {r.label: r for r in tie.unbounded.relations}
    while frontier:
        state = frontier.pop()
        for number, after in it.steps(state):
            assert not isinstance(after, EvaluationError)
            steps += 1
            if steps % 7 == 0:  # every seventh is enough for a test
                relation, numbers = tie._relation(labels[str(it.labels[number])], known)
                assert relation is not None
                assert leads(tie, relation, numbers, tie.system.encode(state), tie.system.encode(after))
            if after not in seen:
                seen.add(after)
                frontier.append(after)
    assert len(seen) >= 277  # TLC's states without history; with it there may be more
    assert steps > len(seen)


def leads(tie: Tie, relation: Any, numbers: Any, before: tuple[int, ...], after: tuple[int, ...]) -> bool:
    """Whether a step of the relation leads from one bounded state to another."""
    one, other = lifted(tie, before), lifted(tie, after)
    here = [*zip(tie.unbounded.before, one, strict=True), *numbers]
    solver = z3.Solver()
    solver.add(*(z3.substitute(x, *here) for x in (*relation.inside, relation.guard, z3.Not(relation.failure))))
    for q in (q for d in relation.definitions for q in d.conditions):
        body = z3.substitute(q.condition, *here)
        solver.add(z3.ForAll([n for n, _ in q.numbers], body) if q.numbers else body)
    solver.add(*tie._same(other, [z3.substitute(x, *here) for x in relation.after]))
    return bool(solver.check() == z3.sat)


def lifted(tie: Tie, leaves: tuple[int, ...]) -> list[Any]:
    terms, system = tie.bounded.terms, tie.system
    return tie._lifted(
        [terms.constant(leaf.kind, x, (leaf.low, leaf.high)) for leaf, x in zip(system.leaves, leaves, strict=True)]
    )
