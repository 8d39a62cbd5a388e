"""How a derived model changes the settings and actions of its base model."""

from __future__ import annotations

from typing import Any

import pytest

from isrcheck.model.language import Model, ModelError, UnknownName, action, flag, setting


class Lagging(Model):
    """A flag, and a setting with the meaning nothing."""

    lag = setting(1, at_least=0, at_most=3, meaning="lag")
    speed = setting(1, meaning="speed")

    def variables(self) -> dict[str, Any]:
        return {"on": flag}

    @action(actor="b")
    def act(self, s: Any) -> None:
        """It acts."""
        s.on = True

    @action(actor="b")
    def rest(self, s: Any) -> None:
        """It rests."""
        s.on = False


class Slower(Lagging):
    """Another default."""

    lag = Lagging.lag.with_default(2)


class Fixed(Lagging):
    """One value."""

    lag = 2


class Derived(Lagging):
    """One value, which another setting decides."""

    @property
    def lag(self) -> int:
        return int(self.speed) + 1


class Free(Fixed):
    """Any value again."""

    lag = setting(3, meaning="lag")


class Inert(Lagging):
    """One action less."""

    act: Any = None


def test_a_setting_can_have_another_default() -> None:
    assert (Slower().lag, Slower(lag=3).lag, Lagging().lag) == (2, 3, 1)
    assert Slower.declared_settings()["lag"].domain == "an integer from 0 to 3"
    with pytest.raises(UnknownName, match="setting lag must be an integer from 0 to 3, not 7"):
        Lagging.lag.with_default(7)


@pytest.mark.parametrize(("cls", "value"), [(Fixed, 2), (Derived, 2)])
def test_a_value_in_place_of_a_setting_fixes_it(cls: type[Model], value: int) -> None:
    assert getattr(cls(), "lag") == value  # noqa: B009
    assert list(cls.declared_settings()) == list(cls().settings) == ["speed"]
    with pytest.raises(UnknownName, match="has no setting 'lag'"):
        cls(lag=2)


def test_a_fixed_value_is_one_that_the_setting_can_have() -> None:
    with pytest.raises(ModelError) as caught:
        type("Wrong", (Lagging,), {"lag": 4})
    assert str(caught.value) == ("Wrong.lag has a fixed value, but setting lag must be an integer from 0 to 3, not 4")


def test_a_setting_that_was_fixed_may_be_declared_again() -> None:
    assert (Free().lag, Free(lag=1).lag) == (3, 1)


def test_an_action_can_be_taken_away() -> None:
    assert list(Inert.actions()) == ["rest"]
    assert list(Lagging.actions()) == ["act", "rest"]
