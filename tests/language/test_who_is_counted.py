"""Scalarsets without a size, and sets without a value, are refused, because conditions about them hold vacuously."""

from __future__ import annotations

from typing import Any

import pytest

from isrcheck import check
from isrcheck.model.language import (  # fmt: skip
    Model,
    ModelError,
    action,
    broker,
    channel,
    flag,
    invariant,
    per,
    scalarset,
    set_of,
    setting,
)

client = scalarset("client")


class Lights(Model):
    """Each client has a light."""

    def variables(self) -> Any:
        return {"on": per(client, flag)}

    @invariant
    def dark(self, s: Any) -> Any:
        """All are dark."""
        return s.on == s.on


class Counted(Lights):
    """They are counted."""

    clients = setting(0, counts=client, meaning="how many there are")


class Twice(Counted):
    """They are counted twice."""

    clients = setting(1, counts=client, meaning="how many there are")
    others = setting(1, counts=client, meaning="how many there are, too")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Lights, r"test_who_is_counted.py:\d+: model test-who-is-counted has clients but no setting that counts them"),
        (Counted, "has clients, but the setting that counts them is 0; set it to 1 or more"),
        (Twice, "two settings of model test-who-is-counted count clients; remove counts=client from others"),
    ],
)
def test_a_variable_over_nobody_is_refused(model: type[Model], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        check(model, {})


class Queue(Model):
    """Sets of brokers wait in line."""

    brokers_ = setting(2, counts=broker, meaning="how many there are")

    def variables(self) -> Any:
        return {"line": channel(set_of(broker), 1), "on": flag}

    @action(actor="somebody")
    def switch(self, s: Any) -> None:
        """It goes on."""
        s.on = True

    @invariant
    def some_of_the_first(self, s: Any) -> Any:
        """False of everybody, but nobody is first."""
        return s.line.head.some(lambda b: s.on & ~s.on)

    @invariant
    def every_one_of_the_first(self, s: Any) -> Any:
        """True of everybody, but nobody is first."""
        return s.line.head.every(lambda b: s.on | ~s.on)


@pytest.mark.parametrize("engine", ["local", "reference"])
@pytest.mark.parametrize("name", ["some-of-the-first", "every-one-of-the-first"])
def test_what_holds_of_the_members_of_no_set_is_an_evaluation_error(engine: str, name: str) -> None:
    result = check(Queue, {}, invariants=[name], engine=engine)
    assert result.evaluation is not None
    assert result.evaluation.what == "head of an empty channel"


class TooMuch(Model):
    """Nobody asks whether there is room, or anything there."""

    put = setting(False, meaning="something is put in at its end")

    def variables(self) -> Any:
        return {"line": channel(flag, 2)}

    @action(actor="somebody", where=lambda m: m.put)
    def add(self, s: Any) -> None:
        """One more."""
        s.line.put(True)

    @action(actor="somebody", where=lambda m: not m.put)
    def remove(self, s: Any) -> None:
        """One less."""
        s.line.take()


@pytest.mark.parametrize("engine", ["local", "reference"])
@pytest.mark.parametrize(
    ("put", "depth", "what"),
    [
        (True, 3, "line: element added to a full channel of 2 elements"),
        (False, 1, "line: element taken from an empty channel"),
    ],
)
def test_what_a_channel_cannot_do_is_told_of_a_channel(engine: str, put: bool, depth: int, what: str) -> None:
    result = check(TooMuch, {"put": put}, engine=engine)
    assert result.evaluation is not None
    assert (result.exit_code, result.evaluation.what, len(result.evaluation.trace.steps)) == (75, what, depth)


@pytest.mark.parametrize("name", ["instances", "domains", "actions", "members"])
def test_a_name_that_every_model_has_is_refused_with_the_line(name: str) -> None:
    def go(self: Any, s: Any) -> None:
        """It goes."""
        s.on = True

    go.__name__ = name
    with pytest.raises(
        ModelError, match=f"every model already has a {name}, which is not an action; choose another name"
    ):
        type("Mine", (Queue,), {name: action(actor="somebody")(go), "__doc__": "Mine."})
