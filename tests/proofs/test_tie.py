"""The form without bounds agrees with the model: z3 shows it for states within bounds, tests for reachable steps."""

from __future__ import annotations

from typing import Any

import pytest
import z3

from isrcheck.checker.engines.symbolic.solver import Watch
from isrcheck.checker.proofs.attempts import predicate, with_history
from isrcheck.checker.proofs.bounded_equivalence import BoundedEquivalence
from isrcheck.checker.proofs.unbounded.step_relation import for_all_bounds
from isrcheck.checker.proofs.unbounded.unbounded_obligations import Unbounded
from isrcheck.model.language import EvaluationError, minimum
from isrcheck.model.language.proofs import Proof, lemma
from isrcheck.model.published.kip_320 import Kip320
from isrcheck.model.published.kip_320_proof import Kip320Proof
from isrcheck.model.published.kip_320_without import CommitWithoutFencing, TruncationWithoutFencing
from isrcheck.model.semantics.concrete_state import initial_states
from isrcheck.model.semantics.interpreter import Interpreter
from isrcheck.model.semantics.tracing import trace
from tests.proofs.asking import LIMITS, attempt, bounds, loaded, pairs
from tests.proofs.toys import ComparedPair, Pair, PairProof


def tied(proof: type[Proof] = Kip320Proof, at: str = "2/2/2/1", other: type[Kip320] = Kip320) -> BoundedEquivalence:
    """KIP-320 at bounds, tied to `other` in the form for all bounds."""
    settings, model = bounds(at), with_history(Kip320, proof)
    stated = {**proof.statements("lemma"), **proof.targets(loaded(Kip320).invariants, "kip-320")}
    free = for_all_bounds(with_history(other, proof), {"replicas": settings["replicas"]})
    system = trace(model(**settings), {n: predicate(proof, s) for n, s in stated.items()})
    return BoundedEquivalence(system, model(**settings), Unbounded(free, proof, proof.statements("lemma")), stated)


def differences(tie: BoundedEquivalence) -> list[str]:
    with Watch(LIMITS) as watch:
        return tie.differences(watch)


@pytest.mark.exhaustive
def test_both_forms_are_equal() -> None:
    assert differences(tied()) == []


class OfTwoOffsetsOnly(Proof):
    of = Kip320

    @lemma()
    def only_of_offsets(self, s: Any) -> Any:
        """No log has a third record: at small bounds there is no room for one."""
        return s.log[self.model.brokers[0]].length <= 2


def test_a_lemma_that_small_bounds_give_is_the_same_there_and_not_proved() -> None:
    assert differences(tied(OfTwoOffsetsOnly)) == []
    result = attempt(Kip320, {"replicas": 1}, OfTwoOffsetsOnly, form="unbounded", targets=())
    assert result.verdict == "not proved"
    assert ("leader-write", "only-of-offsets") in pairs(result)


def test_a_chosen_record_is_stored_only_inside_its_domain() -> None:
    result = attempt(Pair, {}, PairProof, form="unbounded", look=True)
    assert (result.verdict, result.failed_checks) == ("proved", [])


@pytest.mark.parametrize("form", ["bit-vectors", "unbounded"])
def test_a_comparison_with_a_record_outside_its_domain_is_undefined(form: str) -> None:
    assert pairs(attempt(ComparedPair, {}, PairProof, form=form)) == {("correct", "every step is defined")}


class ComparesLess(Kip320):
    abstract = True

    def end_of_common_records(self, s: Any, a: Any, b: Any) -> Any:
        return minimum(super().end_of_common_records(s, a, b), 1)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("other", "action"),
    [
        (CommitWithoutFencing, "fenced-leader-inc-high-watermark"),
        pytest.param(TruncationWithoutFencing, "fenced-become-follower-and-truncate", marks=pytest.mark.exhaustive),
        (ComparesLess, "fenced-become-follower-and-truncate"),
    ],
)
def test_another_model_is_noticed(other: type[Kip320], action: str) -> None:
    found = differences(tied(other=other))
    assert found
    assert all(each.startswith(f"{action}(") for each in found)


@pytest.mark.exhaustive
def test_every_reachable_step_is_one_without_bounds() -> None:
    tie = tied(at="2/1/1/1")
    it = Interpreter(tie.model, {})
    seen, frontier, steps = set(initial_states(tie.model)), list(initial_states(tie.model)), 0
    labels = {str(t.label): t for t in tie.system.transitions}
    while frontier:
        state = frontier.pop()
        for number, after in it.steps(state):
            assert not isinstance(after, EvaluationError)
            steps += 1
            if steps % 7 == 0:  # every seventh is enough for a test
                relation, numbers = tie._relation(labels[str(it.labels[number])].label)
                assert relation is not None
                assert leads(tie, relation, numbers, tie.system.encode(state), tie.system.encode(after))
            if after not in seen:
                seen.add(after)
                frontier.append(after)
    assert len(seen) >= 277  # TLC's states without history; with it there may be more
    assert steps > len(seen)


def leads(
    tie: BoundedEquivalence, relation: Any, numbers: Any, before: tuple[int, ...], after: tuple[int, ...]
) -> bool:
    """True if a step of the relation leads from one bounded state to another."""
    one, other = lifted(tie, before), lifted(tie, after)
    here = [*zip(tie.unbounded.before, one, strict=True), *numbers, *tie.bounds]
    solver = z3.Solver()
    solver.add(*(z3.substitute(x, *here) for x in (*relation.inside, relation.guard, z3.Not(relation.failure))))
    for q in relation.definitions.conditions:
        body = z3.substitute(q.condition, *here)
        solver.add(z3.ForAll([n for n, _ in q.numbers], body) if q.numbers else body)
    solver.add(*tie._same(other, [z3.substitute(x, *here) for x in relation.after]))
    return bool(solver.check() == z3.sat)


def lifted(tie: BoundedEquivalence, leaves: tuple[int, ...]) -> list[Any]:
    terms, system = tie.bounded.terms, tie.system
    return tie._lifted(
        [terms.constant(leaf.kind, x, (leaf.low, leaf.high)) for leaf, x in zip(system.leaves, leaves, strict=True)]
    )
