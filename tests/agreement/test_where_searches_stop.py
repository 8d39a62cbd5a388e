"""Where a search ends if several reasons come together: the same place for every engine, written down case by case."""

from __future__ import annotations

import pytest

from isrcheck import check
from isrcheck.checker.results.exploration import Limits
from isrcheck.model.language import Model
from tests.agreement.engines import (
    Answer,
    Engine,
    by_a_table,
    by_arrays,
    by_evaluation,
    by_native_code,
    by_reference,
    traced,
)
from tests.agreement.random_models import load

ENGINES = pytest.mark.parametrize("engine", [by_reference, by_evaluation, by_native_code, by_a_table, by_arrays])

COUNTER = '''\
class Random(Model):
    invariants = ("below", "second")

    def variables(self):
        return {{"n": number(0, 5), "side": flag, "few": per(number(0, 1), number(0, 1))}}

    @action(actor="clock", side=flag)
    def step(self, s, side):
        """Counts, on one side or the other."""
        {step}

    @constraint
    def inside(self, s):
        """Constraint."""
        return {constraint}

    @goal
    def reached(self, s):
        """Goal."""
        return {goal}

    @invariant
    def below(self, s):
        """Invariant."""
        return {invariant}

    @invariant
    def second(self, s):
        """Another invariant."""
        return {second}
'''
COUNT = "s.require(s.n < 5)\n        s.n = s.n + 1\n        s.side = side"
UNGUARDED = COUNT.replace("s.require(s.n < 5)", "s.require(s.n < 9)")


def counter(
    step: str = COUNT,
    constraint: str = "s.n <= 5",
    goal: str = "s.n == 5",
    invariant: str = "s.n <= 5",
    second: str = "s.n <= 5",
) -> type[Model]:
    """A model with n = k - 1 in level k, on both sides from level 2 on. `few[n]` is undefined if n is above 1."""
    return load(COUNTER.format(step=step, constraint=constraint, goal=goal, invariant=invariant, second=second))


def found(engine: Engine, cls: type[Model], keep_going: bool = False, deadlock: bool = False) -> Answer:
    return engine(*traced(cls), keep_going, deadlock)


@ENGINES
def test_a_search_ends_with_the_level_of_the_first_violation(engine: Engine) -> None:
    answer = found(engine, counter(invariant="s.n < 2"))
    assert (answer.stopped, answer.violated, answer.levels, answer.generated) == (
        "violation",
        {"below": 3},
        [1, 2, 2],
        [[2], [4]],
    )


@ENGINES
def test_a_search_that_keeps_going_sees_everything(engine: Engine) -> None:
    answer = found(engine, counter(invariant="s.n < 2"), keep_going=True)
    assert (answer.stopped, answer.violated, answer.levels) == (None, {"below": 3}, [1, 2, 2, 2, 2, 2])
    assert (answer.goals, answer.degrees) == ({"reached": 6}, (0, 2))


@ENGINES
def test_a_violation_outside_the_constraints_is_at_the_level_where_the_state_would_be(engine: Engine) -> None:
    answer = found(engine, counter(constraint="s.n < 2", invariant="s.n < 2", goal="s.n == 2"))
    assert (answer.stopped, answer.violated, answer.levels) == ("violation", {"below": 3}, [1, 2])
    assert (answer.rejected, answer.goals, answer.generated) == (4, {}, [[2], [4]])


@ENGINES
def test_a_deadlock_ends_the_search_at_its_level_and_the_violation_after_it_is_not_seen(engine: Engine) -> None:
    stuck = COUNT.replace("s.n < 5", "(s.n < 2) | ((s.n == 2) & s.side)")
    answer = found(engine, counter(step=stuck, invariant="s.n < 3"), deadlock=True)
    assert (answer.stopped, answer.deadlock, answer.violated, answer.levels) == ("violation", 3, {}, [1, 2, 2])
    answer = found(engine, counter(step=stuck, invariant="s.n < 3"), keep_going=True, deadlock=True)
    assert (answer.stopped, answer.deadlock, answer.violated) == (None, 3, {"below": 4})


@ENGINES
def test_a_violation_ends_the_search_before_its_own_level_is_looked_at_for_deadlocks(engine: Engine) -> None:
    stuck = COUNT.replace("s.n < 5", "s.n < 2")
    answer = found(engine, counter(step=stuck, invariant="s.n < 2"), deadlock=True)
    assert (answer.stopped, answer.deadlock, answer.violated) == ("violation", None, {"below": 3})


@ENGINES
def test_an_instance_without_meaning_ends_the_search_at_its_level_whatever_else_happens(engine: Engine) -> None:
    answer = found(engine, counter(step=UNGUARDED, invariant="s.n < 9"), keep_going=True, deadlock=True)
    assert (answer.stopped, answer.levels, answer.deadlock) == ("error", [1, 2, 2, 2, 2, 2], None)
    assert answer.error is not None
    assert (answer.error[:2], str(answer.error[2])) == ((6, (5, 0, 0, 0)), "step(side=false)")
    assert len(answer.generated) == 5


@ENGINES
def test_an_instance_without_meaning_comes_before_a_deadlock_of_the_same_level(engine: Engine) -> None:
    step = COUNT.replace("s.n < 5", "(s.n < 2) | s.side").replace("s.n + 1", "when(s.n < 2, s.n + 1, s.n + 4)")
    answer = found(engine, counter(step=step), deadlock=True)
    assert (answer.stopped, answer.deadlock, answer.levels) == ("error", None, [1, 2, 2])
    assert answer.error is not None
    assert answer.error[:2] == (3, (2, 1, 0, 0))


@ENGINES
def test_a_violation_of_the_next_level_is_not_seen_where_an_instance_has_no_meaning(engine: Engine) -> None:
    step = COUNT.replace("s.n + 1", "when(s.side & (s.n == 2), s.n + 4, s.n + 1)")
    answer = found(engine, counter(step=step, invariant="s.n < 3"))
    assert (answer.stopped, answer.violated, answer.levels) == ("error", {}, [1, 2, 2])


@ENGINES
def test_a_predicate_without_meaning_ends_the_search_with_its_level_and_the_violations_there(engine: Engine) -> None:
    answer = found(engine, counter(goal="s.few[s.n] == 9", invariant="s.n < 2"))
    assert (answer.stopped, answer.error, answer.levels) == ("error", (3, (2, 0, 0, 0), None), [1, 2, 2])
    assert (answer.violated, answer.goals) == ({"below": 3}, {})


@ENGINES
def test_an_invariant_without_meaning_hides_no_other_one(engine: Engine) -> None:
    answer = found(engine, counter(invariant="s.n < 2", second="s.few[s.n] == 0"))
    assert (answer.stopped, answer.violated) == ("error", {"below": 3})


@ENGINES
def test_a_state_in_which_a_constraint_has_no_meaning_is_not_counted(engine: Engine) -> None:
    answer = found(engine, counter(constraint="s.few[s.n] == 0", invariant="s.n < 9"))
    assert (answer.stopped, answer.error, answer.levels) == ("error", (3, (2, 0, 0, 0), None), [1, 2])
    assert answer.rejected == 4


@ENGINES
def test_goals_are_not_asked_outside_the_constraints(engine: Engine) -> None:
    answer = found(engine, counter(constraint="s.n < 2", goal="s.few[s.n] == 0"))
    assert (answer.stopped, answer.error, answer.goals) == (None, None, {"reached": 1})


@pytest.mark.parametrize("engine", ["reference", "local"])
def test_an_error_in_a_state_outside_the_constraints_has_a_trace_to_it(engine: str) -> None:
    cls = counter(constraint="s.n < 2", invariant="s.few[s.n] == 0")
    result = check(cls, engine=engine)
    assert result.evaluation is not None
    assert (result.exit_code, result.evaluation.trace.length, result.evaluation.label) == (75, 3, None)
    assert result.evaluation.trace.steps[-1].state[0] == 2


@pytest.mark.parametrize("engine", ["reference", "local"])
@pytest.mark.parametrize(("states", "depth", "code"), [(0, 1, 152), (2, 2, 152), (3, 3, 152), (10, 6, 152), (11, 6, 0)])
def test_a_limit_of_states_ends_the_search_with_the_level_that_has_more(
    engine: str, states: int, depth: int, code: int
) -> None:
    result = check(counter(), engine=engine, limits=Limits(states=states))
    assert (result.levels, result.exit_code) == ([1, 2, 2, 2, 2, 2][:depth], code)
