"""A budget is a setting that limits how often an event may happen, with a bound that holds when it is used up."""

from __future__ import annotations

from typing import Any

import pytest

from isrcheck import Model, ModelError, UnknownName, action, budget, check, flag, number


class Lamp(Model):
    """A lamp that is switched now and then."""

    switches = budget(at_most=3, meaning="times that it is switched")

    def variables(self) -> dict[str, Any]:
        return {"on": flag, **({"switches": number(0, self.switches)} if self.switches else {})}

    @action(actor="hand")
    def switch(self, s: Any) -> None:
        """On or off."""
        if self.switches:
            s.require(s.switches < self.switches)
            s.switches += 1
            s.on = ~s.on


class SwitchedOnce(Lamp):
    """A lamp that is switched once where nothing is said, and never more often than it allows."""

    switches = budget(1, at_most=1, meaning="times that it is switched")


class Candle(Lamp):
    """A lamp that burns down: it is never switched off."""

    @action(actor="hand")
    def switch(self, s: Any) -> None:
        """On."""
        s.require(~s.on)
        super().switch(s)


@pytest.mark.parametrize("engine", ["reference", "local"])
@pytest.mark.parametrize("switches", [1, 2, 3])
def test_a_budget_is_hit_where_it_is_used_up(engine: str, switches: int) -> None:
    result = check(Lamp, {"switches": switches}, invariants=[], engine=engine)
    assert (result.distinct, result.bound("switches")) == (switches + 1, "bound hit")


def test_what_is_left_of_a_budget_is_no_bound() -> None:
    result = check(Candle, {"switches": 2}, invariants=[])
    assert (result.distinct, result.bound("switches")) == (2, "bound not hit")


def test_a_budget_of_nothing_needs_no_variable_and_is_not_explored() -> None:
    result = check(Lamp, invariants=[])
    assert (result.settings, result.distinct) == ({"switches": 0}, 1)
    assert result.bound("switches") == "not explored"


def test_a_budget_is_from_zero_to_what_it_allows_at_most() -> None:
    for wrong in (-1, 4):
        with pytest.raises(UnknownName, match="setting switches must be"):
            Lamp(switches=wrong)


def test_each_model_has_its_own() -> None:
    assert (Lamp().switches, SwitchedOnce().switches) == (0, 1)
    assert check(SwitchedOnce, invariants=[]).bound("switches") == "bound hit"
    with pytest.raises(UnknownName, match="setting switches must be"):
        SwitchedOnce(switches=2)


class Uncounted(Lamp):
    """Nobody counts how often it is switched."""

    def variables(self) -> dict[str, Any]:
        return {"on": flag}

    @action(actor="hand")
    def switch(self, s: Any) -> None:
        """On or off."""
        s.on = ~s.on


@pytest.mark.parametrize("engine", ["reference", "local"])
def test_a_budget_that_nobody_counts_is_refused_by_its_name(engine: str) -> None:
    assert check(Uncounted, invariants=[], engine=engine).distinct == 2
    with pytest.raises(
        ModelError, match=r"^Uncounted has the budget switches but no variable switches; add a variable"
    ):
        check(Uncounted, {"switches": 1}, invariants=[], engine=engine)
