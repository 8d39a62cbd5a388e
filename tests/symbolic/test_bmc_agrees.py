"""On random models a search that unrolls finds what enumeration finds, at the same level; breaking it is noticed."""

from __future__ import annotations

from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from checker import check
from checker.exploration import Limits
from tests.agreement.engines import STATES, traced
from tests.agreement.profiles import examples
from tests.agreement.random_models import load, models
from tests.agreement.test_engines_agree import QUESTIONS, Question
from tests.symbolic.unrolled import DEPTH, by_enumeration, by_unrolling


def assert_agree(source: str, question: Question) -> None:
    interpreter, system = traced(load(source))
    expected, depth = by_enumeration(interpreter, *question)
    assume(depth > 0)
    assert by_unrolling(system, *question, depth) == expected


@examples(150)
@given(models(), st.sampled_from(QUESTIONS))
def test_unrolling_finds_what_enumeration_finds_and_at_the_same_level(source: str, question: Question) -> None:
    assert_agree(source, question)


@examples(60)
@given(models(), st.sampled_from(QUESTIONS))
def test_traces_are_canonical(source: str, question: Question) -> None:
    cls = load(source)
    traced(cls)
    keep_going, deadlock = question
    ask: dict[str, Any] = {"keep_going": keep_going, "deadlock": deadlock}
    one = check(cls, engine="local", limits=Limits(states=STATES), **ask)
    other = check(cls, engine="symbolic", limits=Limits(depth=DEPTH), **ask)
    for name, finding in other.findings.items():
        if finding.verdict == "violated":
            assert finding == one.findings[name]
    if other.deadlock is not None and other.deadlock.verdict == "violated":
        assert other.deadlock == one.deadlock
    if other.evaluation is not None:
        assert other.evaluation == one.evaluation
    assert other.verdict != "holds"
