"""Small recordings for which it is obvious whether they can be explained."""

from __future__ import annotations

import json
from typing import Any

import pytest

from isrcheck.checker.trace_validation.line_matches import question
from isrcheck.checker.trace_validation.recording_file import recognised
from isrcheck.checker.trace_validation.validation_search import Limits, SearchResult, search
from isrcheck.model.language import Model, action, constraint, number
from isrcheck.model.semantics.interpreter import Interpreter
from isrcheck.model.semantics.tracing import trace


class Stairs(Model):
    """Somebody climbs, one step at a time; a mark is made at the bottom, or three up, and then one step down."""

    def variables(self) -> dict[str, Any]:
        return {"height": number(0, 9), "marked": number(0, 2)}

    @action(actor="climber")
    def up(self, s: Any) -> None:
        """One step up."""
        s.require(s.height < 9)
        s.height += 1

    @action(by=number(0, 1), actor="painter")
    def mark(self, s: Any, by: int) -> None:
        """A mark at the bottom, or where somebody is who then goes down by one."""
        s.require(s.height == 3 * by, s.marked < 2)
        s.marked += 1
        s.height -= by


def asked(
    *lines: dict[str, Any],
    at_most: int,
    limits: Limits = Limits(),
    complete: tuple[str, ...] = (),
    model: Stairs = Stairs(),
) -> SearchResult:
    """The result of the search for a recording in which steps up are hidden."""
    header = {"recording": 1, "lanes": ["climber", "painter"], "hidden": ["up"], "complete": [*complete]}
    recording = recognised("\n".join(json.dumps(x) for x in (header, *lines)).encode())
    return search(question(recording, Interpreter(model, {}), trace(model)), at_most, limits)


def height(order: int, value: int) -> dict[str, Any]:
    return {"lane": "climber", "order": order, "observed": {"height": value}}


def marks(order: int = 1, **line: Any) -> dict[str, Any]:
    return {"lane": "painter", "order": order, "event": "mark", **line}


@pytest.mark.parametrize(("at_most", "is_explained"), [(2, False), (3, True), (4, True)])
def test_as_many_hidden_steps_in_a_row_as_are_allowed(at_most: int, is_explained: bool) -> None:
    found = asked(height(1, 3), at_most=at_most)
    assert (found.end is not None) == is_explained
    assert found.stopped is None


def test_what_is_observed_ends_no_row_of_hidden_steps() -> None:
    """Three steps up are three hidden steps in a row, also if values are observed between them."""
    assert asked(height(1, 1), height(2, 3), at_most=2).end is None
    assert asked(height(1, 1), height(2, 3), at_most=3).end is not None


def test_a_state_that_was_reached_with_more_hidden_steps_is_not_done_with() -> None:
    """Two paths reach the same height with different numbers of hidden steps. Only after one may three more follow.

    The other path is found first. A line with a step ends a row of hidden steps.
    """
    found = asked(marks(), height(1, 5), at_most=3)
    assert found.end is not None
    actions = [node.label.action for node in found.end.path if node.label is not None]
    assert actions == ["up", "up", "up", "mark", "up", "up", "up"]
    assert (found.end.hidden, found.end.longest) == (6, 3)
    assert asked(marks(event={"action": "mark", "parameters": {"by": 0}}), height(1, 5), at_most=3).end is None


def test_what_comes_after_comes_after() -> None:
    up = {"lane": "climber", "order": 1, "event": "up"}
    above = {"action": "mark", "parameters": {"by": 0}}
    assert asked(up, marks(event=above), at_most=0).end is not None
    assert asked(up, marks(event=above, after=[["climber", 1]]), at_most=0).end is None


def test_one_of_several_events_is_enough_and_none_is_taken_twice() -> None:
    either = {"lane": "climber", "order": 1, "event": ["mark", "up"]}
    assert asked({**either, "observed": {"height": 1, "marked": 0}}, at_most=0).end is not None
    assert asked({**either, "observed": {"height": 0, "marked": 1}}, at_most=0).end is not None
    assert asked({**either, "observed": {"height": 1, "marked": 1}}, at_most=0).end is None
    assert asked(marks(1), marks(2), marks(3), at_most=9).end is None


def test_values_stand_for_their_ranks() -> None:
    header = {
        "recording": 1,
        "lanes": ["climber"],
        "hidden": ["up"],
        "classes": {"metres": {"from": 1, "known": [90.5]}},
    }
    seen = [
        {"lane": "climber", "order": i, "observed": {"height": {"class": "metres", "value": value}}}
        for i, value in enumerate((70, 110), 1)
    ]
    recording = recognised("\n".join(json.dumps(x) for x in (header, *seen)).encode())
    # 70, 90.5 and 110 are the first, second and third height.
    assert [line.observed for line in recording.process_logs["climber"]] == [{"height": 1}, {"height": 3}]


def test_limits_end_a_search_without_an_answer() -> None:
    found = asked(height(1, 9), at_most=9, limits=Limits(nodes=3))
    assert (found.end, found.stopped) == (None, "states")
    assert found.furthest


def test_no_hidden_step_changes_what_is_said_to_be_complete() -> None:
    """If heights are complete, no step up can be hidden."""
    assert asked(height(1, 1), at_most=3).end is not None
    assert asked(height(1, 1), at_most=3, complete=("height",)).end is None
    assert asked(height(1, 1), at_most=3, complete=("marked",)).end is not None
    assert asked({"lane": "climber", "order": 1, "event": "up"}, at_most=3, complete=("height",)).end is not None


def test_a_step_may_be_the_line_of_any_lane() -> None:
    """The second step up is the climber's line, so the first step up must be the painter's line."""
    mine = {"lane": "climber", "order": 1, "event": "up", "observed": {"height": 2}}
    assert asked(mine, {"lane": "painter", "order": 1, "event": "up"}, at_most=0).end is not None


def test_what_holds_in_one_state_is_taken_in_the_order_that_is_asked_for() -> None:
    seen = {"lane": "painter", "order": 1, "observed": {"marked": 0}}
    assert asked({**height(1, 0), "after": [["painter", 1]]}, seen, at_most=0).end is not None


class Platform(Stairs):
    """Nobody goes on from above the second step."""

    @constraint
    def is_low(self, s: Any) -> Any:
        """At most two steps up."""
        return s.height <= 2


def test_nothing_goes_on_from_outside_the_constraints() -> None:
    """The third step leads outside the constraints, from where no step continues."""
    assert asked(height(1, 3), at_most=9, model=Platform()).end is not None
    assert asked(height(1, 4), at_most=9, model=Platform()).end is None


class Tower(Platform):
    """Above the third step there is nothing, so that a step up from there is undefined."""

    def variables(self) -> dict[str, Any]:
        return {"height": number(0, 3), "marked": number(0, 2)}

    @action(actor="climber")
    def up(self, s: Any) -> None:
        """One step up."""
        s.height += 1


def test_what_is_undefined_outside_the_constraints_is_not_needed() -> None:
    """The third step leads outside the constraints. No state of the last round is within them."""
    found = asked({**height(1, 0), "event": "up"}, at_most=9, model=Tower())
    assert (found.end, found.stopped, found.failing) == (None, None, None)
