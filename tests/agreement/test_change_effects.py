"""A check of a changed model says where the change first acts, or that it never does, and never wrongly the latter."""

from __future__ import annotations

from typing import Any

import pytest

from isrcheck import check
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.checker.results.exploration import Limits
from isrcheck.checker.results.result import ChangeEffect, Result
from isrcheck.model.language import (
    Model,
    action,
    always_eventually,
    broker,
    constraint,
    enum,
    flag,
    invariant,
    number,
    per,
    setting,
    when,
)
from isrcheck.model.language.errors import UnknownName
from isrcheck.model.semantics.concrete_state import initial_states
from isrcheck.model.semantics.interpreter import Interpreter
from tests.marks import EXHAUSTIVE, one_in


class Walk(Model):
    """A number that goes up to its top, where it rests. Before the top, it may go back to zero."""

    invariants = ("is-small",)
    top = setting(4, at_least=1, at_most=9, meaning="where it ends", bound=lambda m, s: s.value == m.top)
    polite = setting(True, meaning="whether it rests at the top alone")
    ways = setting(2, at_least=1, at_most=3, counts=broker, meaning="ways to go up")

    def variables(self) -> dict[str, Any]:
        return {"value": number(0, 9), "rests": flag, "way": per(broker, flag)}

    def may_go(self, s: Any) -> Any:
        return s.value < self.top

    @action(b=broker, actor="b")
    def go(self, s: Any, b: Any) -> None:
        """One more."""
        s.require(self.may_go(s), ~s.rests)
        s.value += 1
        s.way[b] = True

    @action(actor="hand")
    def rest(self, s: Any) -> None:
        """No instance of the other action is enabled: it rests."""
        s.require(~s.enabled(self.go), (s.value == self.top) if self.polite else s.value >= 3)
        s.rests = True

    @constraint
    def is_low(self, s: Any) -> Any:
        """The number is below nine."""
        return s.value < 9

    @invariant
    def is_small(self, s: Any) -> Any:
        """The number is small."""
        return s.value < 8

    @always_eventually
    def is_at_rest(self, s: Any) -> Any:
        """It rests, again and again."""
        return s.rests


class LaterThanEver(Walk):
    """Its guard differs only at a number that is never reached."""

    def may_go(self, s: Any) -> Any:
        return super().may_go(s) | (s.value == 7)


class BeyondTheTop(Walk):
    """It goes on from the top."""

    def may_go(self, s: Any) -> Any:
        return s.value <= self.top


class OtherEffect(Walk):
    """From two it goes on without noting its way."""

    @action(b=broker, actor="b")
    def go(self, s: Any, b: Any) -> None:
        """One more."""
        s.require(self.may_go(s), ~s.rests)
        s.way[b] = when(s.value == 2, s.way[b], True)
        s.value += 1


class InvariantInVain(Walk):
    """Its invariant differs only in a state that is never reached."""

    @invariant
    def is_small(self, s: Any) -> Any:
        """The number is small."""
        return (s.value < 8) & ((s.value != 3) | ~s.rests)


class InvariantIsStrict(Walk):
    """Its invariant is false at three."""

    @invariant
    def is_small(self, s: Any) -> Any:
        """The number is small."""
        return s.value != 3


class Lax(Walk):
    """Its constraint allows more, and it goes there."""

    top = Walk.top.with_default(9)

    @constraint
    def is_low(self, s: Any) -> Any:
        """All numbers."""
        return s.value < 10


class LaxInVain(Walk):
    """Its constraint allows more than it ever reaches."""

    @constraint
    def is_low(self, s: Any) -> Any:
        """All numbers."""
        return s.value < 10


class Strict(Walk):
    """Its constraint keeps it below three. No state that the search counts shows the difference."""

    @constraint
    def is_low(self, s: Any) -> Any:
        """The number is below three."""
        return s.value < 3


class HigherBound(Walk):
    """Only the default of a bound differs."""

    top = Walk.top.with_default(5)


class Renaming(Walk):
    """The action has another name, and the old one is gone."""

    @action(b=broker, actor="b")
    def ascend(self, s: Any, b: Any) -> None:
        """One more."""
        s.require(self.may_go(s), ~s.rests)
        s.value += 1
        s.way[b] = True

    @action(b=broker, actor="b", where=lambda m: False)
    def go(self, s: Any, b: Any) -> None:
        """Never."""

    @action(actor="hand")
    def rest(self, s: Any) -> None:
        """No instance of the other action is enabled: it rests."""
        s.require(~s.enabled(self.ascend), s.value == self.top)
        s.rests = True


class WiderDomain(Walk):
    """A variable has another domain."""

    def variables(self) -> dict[str, Any]:
        return super().variables() | {"value": number(0, 11)}


class MoreVariables(Walk):
    """It counts its rests in a variable of its own, and is otherwise as before."""

    def variables(self) -> dict[str, Any]:
        return {"how": enum("up", "down"), **super().variables()}

    @action(b=broker, actor="b")
    def go(self, s: Any, b: Any) -> None:
        """One more, up."""
        super().go(s, b)
        s.how = "down"


class OtherStart(Walk):
    """It starts at one."""

    def initial(self, s: Any) -> None:
        s.value = 1


class Impolite(Walk):
    """The setting has another default."""

    polite = Walk.polite.with_default(False)


class AlsoAsks(Walk):
    """It only adds an invariant."""

    invariants = ("is-small", "is-tiny")

    @invariant
    def is_tiny(self, s: Any) -> Any:
        """The number is tiny."""
        return s.value < 7


class Apart(Walk):
    """Only way 0 may be taken after way 0."""

    @action(b=broker, actor="b")
    def go(self, s: Any, b: Any) -> None:
        """One more."""
        s.require(self.may_go(s), ~s.rests, ~s.way[self.broker(0)] | (b == self.broker(0)))
        s.value += 1
        s.way[b] = True


class Together(Apart):
    """All ways may be taken, as at first."""

    @action(b=broker, actor="b")
    def go(self, s: Any, b: Any) -> None:
        """One more."""
        Walk.go(self, s, b)


class FromOutside(Walk):
    """The same steps, but they need not happen."""

    @action(b=broker, actor="b", environment=True)
    def go(self, s: Any, b: Any) -> None:
        """One more."""
        super().go(s, b)


EXPECTED: dict[type[Model], tuple[dict[str, int | None], bool]] = {
    LaterThanEver: ({"action go": None}, True),
    BeyondTheTop: ({"action go": 5, "action rest": 5}, False),
    OtherEffect: ({"action go": 3}, False),
    InvariantInVain: ({"invariant is-small": None}, True),
    InvariantIsStrict: ({"invariant is-small": 4}, False),
    Lax: ({"constraint is-low": 10}, False),
    LaxInVain: ({"constraint is-low": None}, True),
    HigherBound: ({}, True),
    Renaming: ({"action ascend": 1, "action go": 1}, False),
    MoreVariables: ({}, True),
    OtherStart: ({"initial states": 1}, False),
    Impolite: ({"action rest": None}, True),
    Apart: ({"action go": 2}, False),
    Together: ({"action go": 2}, False),
}
"""Maps each changed model to the parts that differ, each with its first depth, and to whether the change never acts."""


def changed(cls: type[Model], engine: str = "local", **options: Any) -> tuple[Result, ChangeEffect]:
    result = check(cls, start={}, engine=engine, keep_going=True, **options)
    assert result.change is not None
    return result, result.change


@pytest.mark.parametrize("engine", ["local", "reference"])
@pytest.mark.parametrize("cls", EXPECTED, ids=lambda cls: cls.__name__)
def test_first_depth_of_each_part(cls: type[Model], engine: str) -> None:
    result, effect = changed(cls, engine)
    assert (effect.parts, effect.never, effect.unlocated) == (*EXPECTED[cls], [])
    without = check(cls, engine=engine, keep_going=True)
    assert without.change is None
    assert (result.levels, result.generated, result.verdict) == (without.levels, without.generated, without.verdict)


@pytest.mark.parametrize("engine", ["local", "reference"])
def test_nobody_claims_that_a_change_never_acts_where_no_goal_can_show_it(engine: str) -> None:
    _, strict = changed(Strict, engine)
    assert not strict.never
    assert strict.unlocated == ["it may act outside the constraints, through constraint is-low"]
    _, wider = changed(WiderDomain, engine)
    assert not wider.never
    assert wider.unlocated == ["test-change-effects has other domains: value"]


def test_steps_that_need_not_happen_are_a_change_of_behaviours_alone() -> None:
    assert changed(FromOutside)[1].never
    _, effect = changed(FromOutside, liveness=("is-at-rest",))
    assert not effect.never
    assert effect.unlocated == ["properties of behaviours, or which actions are fair, differ"]


def test_symmetry_hides_a_change_that_tells_members_apart() -> None:
    _, effect = changed(Together, symmetry=True)
    assert not effect.never
    assert effect.unlocated == ["it tells brokers apart that are otherwise interchangeable; check without --symmetry"]
    assert changed(BeyondTheTop, symmetry=True)[1].parts == {"action go": 5, "action rest": 5}


def test_an_engine_without_goals_does_not_know() -> None:
    _, effect = changed(LaterThanEver, "symbolic")
    assert not effect.never
    assert effect.unlocated == ["this engine does not look for the states in which it acts"]


def test_an_added_invariant_and_a_bound_are_named() -> None:
    _, effect = changed(AlsoAsks)
    assert (effect.added, effect.parts, effect.never) == (["is-tiny"], {}, False)
    assert changed(HigherBound)[1].sizes == {"top": 5}


def test_a_change_that_never_acts_fails_with_the_flag() -> None:
    assert changed(LaterThanEver, fail_on_vacuity=True)[0].exit_code == 10
    assert changed(LaterThanEver)[0].exit_code == 0


SMALL: dict[str, dict[str, Any]] = {
    "alter-isr": {"replicas": 2, "max_version": 2},
    "v3": {"replicas": 2},
    "primary-backup": {"replicas": 2, "crashes": 1},
}


def differing(model: str) -> list[tuple[str, str, Any]]:
    """The settings of a model that are rules, each with the values that the profile does not have."""
    cls = load_model_class(model).cls
    found = []
    for name, s in cls.declared_settings().items():
        values = (True, False) if isinstance(s.default, bool) else s.choices or ()
        found += [(model, name, value) for value in values]
    return found


@pytest.mark.parametrize(
    ("model", "name", "value"), [x for model in SMALL for x in one_in(5, differing(model), EXHAUSTIVE)]
)
def test_depth_is_that_of_the_methods_themselves(model: str, name: str, value: Any) -> None:
    """Base and changed model take each instance in each state of the changed model, without transition systems."""
    begun = load_model_class(model).cls(**SMALL[model])
    try:
        here = load_model_class(model).cls(**{**SMALL[model], name: value})
    except UnknownName:
        pytest.skip("other settings do not go with this value")
    if here.settings == begun.settings or begun.domains != here.domains:
        pytest.skip("no change, or one of domains")
    settings = {**SMALL[model], name: value}
    effect = check(
        model, settings, profile="bare", invariants=(), start=SMALL[model], limits=Limits(states=STATES)
    ).change
    assert effect is not None
    assert effect.settings == {name: (value, begun.settings[name])}
    level, known = first_difference(Interpreter(begun, {}), Interpreter(here, {}))
    assert (effect.first if effect.first is not None and effect.first <= known else None) == level


STATES = 300


def first_difference(base: Interpreter, changed: Interpreter) -> tuple[int | None, int]:
    """The first level with a state in which the steps differ, or None, and the last level that was looked at."""
    level, frontier = 1, [*dict.fromkeys(initial_states(changed.model))]
    if {*frontier} != {*initial_states(base.model)}:
        return 1, 1
    seen = {*frontier}
    while frontier:
        after = []
        for state in frontier:
            steps = {str(changed.labels[i]): s for i, s in changed.steps(state)}
            if {str(base.labels[i]): s for i, s in base.steps(state)} != steps:
                return level, level
            after += [s for s in steps.values() if changed.counted(s)]
        frontier = [*dict.fromkeys(s for s in after if s not in seen)]
        seen |= {*frontier}
        if len(seen) > STATES:
            return None, level
        level += 1
    return None, level
