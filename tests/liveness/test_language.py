"""Fairness, `room` and properties in the language, and the refusals of wrong uses."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from isrcheck.checker.analysis.check import check
from isrcheck.checker.report.result_text import brief
from isrcheck.model.language import (
    Model,
    ModelError,
    UnknownName,
    action,
    eventually_never,
    flag,
    for_each,
    leads_to,
    number,
    per,
    record,
    sequence,
    when,
)
from isrcheck.model.language.errors import EvaluationError
from isrcheck.model.language.fairness import Fairness, obligations
from isrcheck.model.semantics.expressions import FALSE, evaluate
from isrcheck.model.semantics.interpreter import Interpreter
from isrcheck.model.semantics.tracing import trace

WALL = """
from isrcheck import *

class Wall(Model):
    def variables(self):
        return {"n": number(0, 3), "up": flag}

    @action(actor="someone"FAIR)
    def count(self, s):
        "It counts."
        s.require(s.n < 3, ROOM)
        s.n += 1

    @action(actor="someone", fair="none")
    def turn(self, s):
        "It turns."
        s.up = ~s.up

PROPERTY
def all_is_counted(m, s):
    "It counts to three."
    ANSWER
"""


def wall(folder: Path, **parts: str) -> Path:
    text, usual = WALL, {"FAIR": "", "ROOM": "True", "PROPERTY": "@leads_to", "ANSWER": "return s.n == 0, s.n == 3"}
    for name, part in {**usual, **parts}.items():
        text = text.replace(name, part)
    file = folder / "wall.py"
    file.write_text(text)
    return file


def verdict(file: Path, **asked: Any) -> tuple[str, int, int]:
    outcome = check(str(file), liveness=["all-is-counted"], **asked).liveness["all-is-counted"]
    return outcome.verdict, outcome.total("fair_ends") + outcome.total("fair_components"), outcome.total("excused")


def test_healing_is_weakly_fair_unless_something_else_is_said(tmp_path: Path) -> None:
    assert verdict(wall(tmp_path)) == ("holds", 0, 0)
    assert verdict(wall(tmp_path, FAIR=", fair='none'"))[0] == "violated"
    assert verdict(wall(tmp_path, FAIR=", environment=True"))[0] == "violated"
    assert verdict(wall(tmp_path), fairness=Fairness(unfair=frozenset({"count"})))[0] == "violated"
    perturbed = wall(tmp_path, FAIR=", environment=True")
    assert verdict(perturbed, fairness=Fairness(weak=frozenset({"count"})))[0] == "holds"


def test_strong_fairness_asks_more_than_weak(tmp_path: Path) -> None:
    file = wall(tmp_path, ROOM="s.up")  # it can count in one of two states of which each leads to the other
    assert verdict(file)[0] == "violated"
    turning = Fairness(weak=frozenset({"turn"}))
    assert verdict(file, fairness=turning)[0] == "violated"
    assert verdict(file, fairness=Fairness(weak=frozenset({"turn"}), strong=frozenset({"count"})))[0] == "holds"
    assert verdict(file, fairness=Fairness(default="strong", weak=frozenset({"turn"})))[0] == "holds"


def test_what_only_the_room_stops_is_excused(tmp_path: Path) -> None:
    assert verdict(wall(tmp_path, ROOM="s.n < 2"))[0] == "violated"
    assert verdict(wall(tmp_path, ROOM="s.room(s.n < 2)")) == ("holds", 0, 3)  # an end, on and off, and the way between
    result = check(str(wall(tmp_path, ROOM="s.room(s.n < 2)")), liveness=["all"])
    assert result.to_json()["liveness"]["all-is-counted"]["holds_without_excuse"] is False
    assert "warning: all-is-counted holds, but a bound stops every behaviour: 2 ends and 1 component" in brief(result)


IDLE = """
from isrcheck import *

class Idle(Model):
    def variables(self):
        return {"n": number(0, 3), "m": number(0, 1)}

    @action(actor="someone"FAIR)
    def again(self, s):
        "It assigns what is there already, where there is no room."
        s.require(s.room(s.n != 1))
        s.n = 1

    @action(actor="someone")
    def begin(self, s):
        "It begins."
        s.require(s.n == 0)
        s.n = 1

    @leads_to
    def it_ends(self, s):
        "What has begun ends."
        return s.n == 1, s.n == 3
"""


@pytest.mark.parametrize("fair", ["", ", fair='strong'"])
def test_a_step_without_room_that_would_change_nothing_excuses_nothing(tmp_path: Path, fair: str) -> None:
    file = tmp_path / "idle.py"
    file.write_text(IDLE.replace("FAIR", fair))
    (outcome,) = check(str(file), liveness=["it-ends"]).liveness.values()
    assert (outcome.verdict, outcome.total("excused"), outcome.total("fair_ends")) == ("violated", 0, 1)


class Blocked(Model):
    """Steps that lack room: some change nothing, some have no defined effect, some have no defined guard."""

    def variables(self) -> dict[str, Any]:
        number_and_flag = record(n=number(0, 3), up=flag)
        return {"at": per(number(0, 1), number_and_flag), "k": number(0, 3), "xs": sequence(number(0, 1), 2)}

    @action(i=number(0, 1), actor="someone")
    def copy(self, s: Any, i: int) -> None:
        """A record becomes a copy of the other."""
        s.require(s.room(s.k < 2))
        s.at[i] = s.at[1 - i]

    @action(i=number(0, 1), actor="someone")
    def count(self, s: Any, i: int) -> None:
        """At 3 the new value does not fit."""
        s.require(s.at[i].up, s.room(s.at[i].n < 2))
        s.at[i].n = s.at[i].n + 1

    @action(actor="someone")
    def cap(self, s: Any) -> None:
        """At 3 nothing changes."""
        s.require(s.room(s.k < 2))
        s.k = when(s.k < 3, s.k + 1, s.k)

    @action(actor="someone")
    def first(self, s: Any) -> None:
        """An empty sequence has no first value, so neither the guard nor the effect is defined."""
        s.require(s.xs.at(0) == 1, s.room(s.k < 2))
        s.k = s.xs.at(0)

    @action(actor="someone")
    def append(self, s: Any) -> None:
        """A full sequence has no room for another value."""
        s.require(s.room(s.xs.length < 2))
        s.xs = s.xs.appended(1)


def drawn_states(model: Model, count: int) -> Iterator[tuple[Any, ...]]:
    """Random states; most of them cannot be reached."""
    dice = random.Random(3)
    values = [list(domain.values()) for domain in model.domains.values()]
    for _ in range(count):
        yield tuple(map(dice.choice, values))


def test_both_semantics_agree_on_which_steps_lack_room_alone() -> None:
    model = Blocked()
    system, it, seen = trace(model), Interpreter(model, {}), set()
    numbers = {label: k for k, label in enumerate(it.labels)}
    for state in drawn_states(model, 400):
        cut = evaluate([t.cut for t in system.transitions], it.leaves(state))
        for t, bit in zip(system.transitions, cut, strict=True):
            try:
                enabled = it.step(state, numbers[t.label]) is not None
            except EvaluationError:
                continue
            assert bool(bit) == (not enabled and it.would_change(state, numbers[t.label])), (state, t.label)
            seen.add((t.label.action, enabled, bool(bit)))
    names = {t.label.action for t in system.transitions}
    assert seen >= {(name, *case) for name in names for case in ((True, False), (False, True))}
    assert seen >= {(name, False, False) for name in names - {"append"}}


class Grouped(Model):
    """Actions of each grouping."""

    def variables(self) -> dict[str, Any]:
        return {"n": number(0, 3)}

    @action(a=number(0, 1), b=number(0, 1), actor="someone", together=("a",))
    def alike(self, s: Any, a: int, b: int) -> None:
        """Alike."""
        s.n = a + b

    @action(a=number(0, 1), b=number(0, 1), actor="someone", handler="watch")
    def first(self, s: Any, a: int, b: int) -> None:
        """One outcome."""
        s.require(s.room(s.n < 2))
        s.n = a + b

    @action(a=number(0, 1), actor="someone", handler="watch")
    def second(self, s: Any, a: int) -> None:
        """Another outcome."""
        s.n = a

    @action(actor="someone")
    def shut(self, s: Any) -> None:
        """It never has room."""
        s.require(s.n == 1, s.room(False))
        s.n = 0


def test_a_promise_can_be_about_several_instances() -> None:
    model = Grouped()
    labels = Interpreter(model, {}).labels
    found = {each.name: len(each.instances) for each in obligations(model, labels, Fairness())}
    assert found == {"alike(a=0)": 2, "alike(a=1)": 2, "watch(a=0)": 3, "watch(a=1)": 3, "shut()": 1}


def test_room_is_part_of_the_guard_and_told_apart_from_it() -> None:
    system = trace(Grouped())
    cut = {str(t.label): t.cut is not FALSE for t in system.transitions}
    assert cut["first(a=0, b=0)"] and not cut["second(a=0)"] and "shut()" not in cut
    assert [str(t.label) for t in system.shut_out] == ["shut()"]
    it = Interpreter(Grouped(), {})
    first = [str(label) for label in it.labels].index("first(a=0, b=0)")
    assert [(it.step((n,), first) is not None, it.would_change((n,), first)) for n in (1, 2)] == [
        (True, True),
        (False, True),
    ]


MISTAKES = {
    "unknown fairness": ({"FAIR": ", fair='some'"}, 'fair=\'some\'; write "weak", "strong" or "none"'),
    "promised environment": (
        {"FAIR": ", fair='weak', environment=True"},
        "an environment action with fairness; remove fair, together and handler",
    ),
    "together": ({"FAIR": ", together=('x',)"}, "together=('x',); write a tuple of parameters: none"),
    "handler": ({"FAIR": ", handler=''"}, "handler='' with together=None; use one of them; handler takes a name"),
    "room in a larger condition": (
        {"ROOM": "s.room(s.n < 2) & s.up"},
        "s.room(...) in a larger condition; write s.require(a, s.room(b))",
    ),
    "room of no condition": ({"ROOM": "s.room(3)"}, "3 is not a condition; compare it with a value"),
    "room decides": ({"ROOM": "s.room(True) or s.up"}, "a branch depends on the state"),
    "no pair": (
        {"ANSWER": "return s.n == 0"},
        "leads_to all_is_counted does not return a pair; return (condition, condition)",
    ),
    "nothing": ({"ANSWER": "pass"}, "leads_to all_is_counted returns nothing; return a condition"),
    "nothing of an invariant kind": (
        {"PROPERTY": "@eventually", "ANSWER": "pass"},
        "eventually all_is_counted returns nothing; return a condition",
    ),
    "no condition": (
        {"PROPERTY": "@stable", "ANSWER": "return 3"},
        "stable all_is_counted must return a condition",
    ),
    "no choice": ({"ANSWER": "return for_each(lambda a: None, a=[1])"}, "property all_is_counted has no condition"),
    "other parameters": (
        {"ANSWER": "return for_each(lambda b: None, a=[1])"},
        "for_each binds a, but its function takes other parameters; use the same names in both",
    ),
    "no actions": ({"PROPERTY": "@eventually_never()"}, "@eventually_never without actions"),
    "unknown action": (
        {"PROPERTY": "@eventually_never('turns')", "ANSWER": "return True"},
        "there is no action 'turns'; did you mean turn?",
    ),
    "assigns": (
        {"ANSWER": "s.n = 1; return True, True"},
        "an assignment in a predicate; predicates only read the state",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named_with_its_line(name: str, tmp_path: Path) -> None:
    parts, message = MISTAKES[name]
    with pytest.raises(ModelError) as error:
        verdict(wall(tmp_path, **parts))
    assert str(error.value).startswith("wall.py:")
    assert message in str(error.value)


def test_a_property_takes_a_model_and_a_state(tmp_path: Path) -> None:
    file = wall(tmp_path)
    file.write_text(file.read_text().replace("all_is_counted(m, s)", "all_is_counted(s)"))
    with pytest.raises(ModelError, match="leads_to all_is_counted takes"):
        verdict(file)


UNKNOWN = {
    "no such property": (
        {"liveness": ["all-is-count"]},
        "has no property 'all-is-count'; did you mean all-is-counted?",
    ),
    "not of this model": ({"liveness": ["isr-settles"]}, "property isr-settles does not apply to model wall"),
    "a text": ({"liveness": "all"}, "liveness must be a list of names: ['all']"),
    "no such action": (
        {"liveness": ["all"], "fairness": Fairness(strong=frozenset({"counts"}))},
        "model wall has no action 'counts'; did you mean count?",
    ),
    "two promises": (
        {"liveness": ["all"], "fairness": Fairness(strong=frozenset({"count"}), unfair=frozenset({"count"}))},
        "action count is listed as both strong and unfair; choose one",
    ),
    "another engine": ({"liveness": ["all"], "engine": "reference"}, "cannot check liveness"),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_cannot_be_asked_is_refused(name: str, tmp_path: Path) -> None:
    asked, message = UNKNOWN[name]
    with pytest.raises(UnknownName) as error:
        check(str(wall(tmp_path)), **asked)
    assert message in str(error.value)


def test_a_handler_has_one_fairness(tmp_path: Path) -> None:
    class Torn(Grouped):
        @action(a=number(0, 1), actor="someone", handler="watch", fair="strong")
        def second(self, s: Any, a: int) -> None:
            """Another outcome."""
            s.n = a

    with pytest.raises(ModelError, match="of the same handler is strong; give both the same fairness"):
        obligations(Torn(), Interpreter(Torn(), {}).labels, Fairness())


def test_parameters_of_for_each_name_the_choice() -> None:
    asked = for_each(lambda a, b: None if a == b else (a < b, True), a=[0, 1], b=[0, 1])
    assert [choice for choice, _ in asked.instances] == [(("a", 0), ("b", 1)), (("a", 1), ("b", 0))]


def test_a_property_is_inherited_as_an_action_is() -> None:
    class Light(Model):
        """A light."""

        def variables(self) -> dict[str, Any]:
            return {"on": flag}

        @action(actor="someone")
        def turn(self, s: Any) -> None:
            """It turns."""
            s.on = ~s.on

        @leads_to
        def shines(self, s: Any) -> Any:
            """It shines."""
            return ~s.on, s.on

        @eventually_never("turn")
        def rests(self, s: Any) -> Any:
            """It rests."""
            return True

    found = check(type("Lamp", (Light,), {"__doc__": "A lamp."}), liveness=["all"]).liveness
    assert {name: outcome.verdict for name, outcome in found.items()} == {"rests": "violated", "shines": "holds"}
