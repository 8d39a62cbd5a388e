"""On random models, unrolling gives the results of enumeration at the same levels, and a defect in it is noticed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from isrcheck import check
from isrcheck.checker.engines.symbolic.symbolic_paths import LeastPath
from isrcheck.checker.engines.symbolic.unrolling import Link
from isrcheck.checker.results.exploration import Limits
from tests.agreement.engines import STATES, traced
from tests.agreement.profiles import examples
from tests.agreement.random_models import load, models
from tests.agreement.test_engines_agree import QUESTIONS, Question
from tests.agreement.test_where_searches_stop import COUNT, UNGUARDED, counter
from tests.symbolic.unrolled import DEPTH, by_enumeration, by_unrolling


def assert_agree(source: str, question: Question) -> None:
    interpreter, system = traced(load(source))
    expected, depth = by_enumeration(interpreter, *question)
    assume(depth > 0)
    assert by_unrolling(system, *question, depth) == expected


@examples(100)
@given(models(), st.sampled_from(QUESTIONS))
def test_unrolling_finds_what_enumeration_finds_and_at_the_same_level(source: str, question: Question) -> None:
    assert_agree(source, question)


@examples(40)
@given(models(), st.sampled_from(QUESTIONS))
def test_traces_are_canonical(source: str, question: Question) -> None:
    cls = load(source)
    traced(cls)
    keep_going, deadlock = question
    ask: dict[str, Any] = {"keep_going": keep_going, "deadlock": deadlock}
    one = check(cls, engine="local", limits=Limits(states=STATES), **ask)
    other = check(cls, engine="symbolic", limits=Limits(depth=DEPTH), **ask)
    for name, outcome in other.invariants.items():
        if outcome.verdict == "violated":
            assert outcome == one.invariants[name]
    if other.deadlock is not None and other.deadlock.verdict == "violated":
        assert other.deadlock == one.deadlock
    if other.evaluation is not None:
        assert other.evaluation == one.evaluation
    assert other.verdict != "holds"


UNGUARDED_WHEN = COUNT.replace("s.n + 1", "when(s.side & (s.n == 2), s.n + 4, s.n + 1)")
STUCK = COUNT.replace("s.n < 5", "(s.n < 2) | ((s.n == 2) & s.side)")
TOGETHER: list[dict[str, str]] = [
    {"invariant": "s.n < 2"},
    {"constraint": "s.n < 2", "invariant": "s.n < 2", "goal": "s.n == 2"},
    {"step": STUCK, "invariant": "s.n < 3"},
    {"step": UNGUARDED, "invariant": "s.n < 9"},
    {"step": UNGUARDED_WHEN, "invariant": "s.n < 3"},
    {"step": UNGUARDED_WHEN, "constraint": "s.n < 2"},
    {"goal": "s.few[s.n] == 9", "invariant": "s.n < 2"},
    {"invariant": "s.n < 2", "second": "s.few[s.n] == 0"},
    {"constraint": "s.few[s.n] == 0", "invariant": "s.n < 9"},
    {"constraint": "s.n < 2", "goal": "s.few[s.n] == 0"},
    {"constraint": "s.n < 2", "second": "s.few[s.n] == 0"},
]


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("parts", TOGETHER, ids=str)
def test_where_several_things_happen_at_once_the_same_one_ends_the_search(
    parts: dict[str, str], question: Question
) -> None:
    interpreter, system = traced(counter(**parts))
    expected, depth = by_enumeration(interpreter, *question)
    assert (depth, by_unrolling(system, *question, depth)) == (DEPTH, expected)


# --- broken on purpose ----------------------------------------------------------------------------------------------


WALKS = '''\
class Random(Model):
    invariants = ("below",)

    def variables(self):
        return {"n": number(0, 9), "side": flag, "start": number(0, 2)}

    @initial(start=number(0, 2))
    def initial(self, s, start):
        s.start = start

    @action(who=number(0, 1), actor="who")
    def step(self, s, who):
        """Counts; the two take turns."""
        s.require(s.start > 0, (s.n == 1) | (s.n == 3) if who == 0 else (s.n == 0) | (s.n == 2))
        s.n += 1

    @action(to=flag, actor="clock")
    def turn(self, s, to):
        """Counts alone, after the first step."""
        s.require(s.n > 0, s.n < 5)
        s.n += 1
        s.side = to

    @invariant
    def below(self, s):
        """Invariant."""
        return s.n < 4
'''


def traces_agree() -> bool:
    ours, local = (check(load(WALKS), engine=engine) for engine in ("symbolic", "local"))
    return ours.invariants == local.invariants


def test_the_trace_of_many_walks_is_canonical() -> None:
    assert traces_agree()


def greatest_start(walk: LeastPath) -> None:
    """A faulty method that takes the last initial state instead of the least."""
    last = walk.unrolling.starts[2]
    assert walk._better(last)
    walk.solver.add([last])


@pytest.mark.parametrize(
    ("method", "instead"),
    [
        ("_fewest_changes", lambda walk: None),
        ("_least_start", greatest_start),
    ],
)
def test_a_step_towards_the_least_path_that_is_left_out_is_noticed(
    method: str, instead: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LeastPath, method, instead)
    assert not traces_agree()


def test_labels_that_are_not_made_least_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def above(link: Link, instance: int) -> Any:
        return link.any(range(instance + 1, len(link.taken)))

    monkeypatch.setattr(Link, "below", above)  # z3 may find the least by itself
    assert not traces_agree()
