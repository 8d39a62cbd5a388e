"""k-induction on models with answers worked out by hand, and on random models."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isrcheck import check
from isrcheck.checker.proofs.induction import induction
from isrcheck.checker.results.exploration import Limits
from tests.agreement.engines import traced
from tests.agreement.profiles import examples
from tests.agreement.random_models import load, models
from tests.proofs.asking import LIMITS, loaded
from tests.proofs.toys import Ring


@pytest.mark.parametrize(("k", "first"), [(1, (6,)), (2, (5,))])
def test_what_is_not_inductive_yet_has_a_counterexample_to_induction(k: int, first: tuple[int]) -> None:
    result = induction(loaded(Ring), {}, None, k, LIMITS)
    assert (result.verdict, result.exit_code) == ("not proved", 10)
    (failing,) = result.failing
    assert failing.counterexample is not None
    steps = failing.counterexample.trace.steps
    # 5, 6, 7 is the only way to 7, and nothing leads to 5: three states are needed, and then it is inductive.
    assert [s.state for s in steps] == [(x,) for x in range(first[0], 8)]
    assert [str(s.label) for s in steps[1:]] == ["slip()"] * k
    reachability = failing.counterexample.reachability
    assert reachability is not None
    assert (reachability.known, reachability.length, reachability.distinct) == (True, None, 4)


def test_three_states_of_the_ring_are_enough() -> None:
    result = induction(loaded(Ring), {}, None, 3, LIMITS)
    assert (result.verdict, result.exit_code, result.failing) == ("proved", 0, [])


def test_a_reachable_violation_is_one() -> None:
    # 0 1 2 3 5 6 7: seven states; within them the base finds it, before that the step does.
    base = induction(loaded(Ring), {"reaches": True}, None, 7, LIMITS)
    assert (base.verdict, base.exit_code) == ("violated", 12), "checker/proofs/induction.py: the base misses a path"
    assert base.violation is not None
    assert [s.state[0] for s in base.violation.steps] == [0, 1, 2, 3, 5, 6, 7]
    step = induction(loaded(Ring), {"reaches": True}, None, 1, LIMITS)
    assert (step.verdict, step.exit_code) == ("violated", 12)
    assert step.failing[0].counterexample is not None
    assert step.failing[0].counterexample.reachability is not None
    assert step.failing[0].counterexample.reachability.text() == "reachable, in 6 states"


@examples(40)
@given(models(), st.sampled_from((1, 2)))
def test_what_is_proved_of_a_random_model_holds(source: str, k: int) -> None:
    cls = load(source)
    traced(cls)
    proved = induction(loaded(cls), {}, None, k, LIMITS)
    searched = check(cls, engine="reference", keep_going=True, limits=Limits(states=2000))
    broken = [name for name, f in searched.invariants.items() if f.verdict == "violated"]
    if proved.verdict == "proved":
        assert not broken
    if proved.verdict == "violated" and searched.verdict != "incomplete":
        assert broken
