"""Counters in a file, mappings between them, and the command that compares two of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

import isrcheck.checker
from tests.cli.running import Outcome, run

SCHEMA = json.loads((Path(isrcheck.checker.__file__).parent / "schema.json").read_text())
FILE = '''
"""Counters, one that counts and one that is counted upon."""

from isrcheck import *


class Clock(Model):
    """What is asked for: a number that goes up by one, and comes back."""

    top = setting(3, at_least=1, at_most=9, meaning="where it ends")

    def variables(self):
        return {"hour": number(0, self.top), "early": flag}

    def initial(self, s):
        s.early = True

    @action(actor="clock")
    def tick(self, s):
        """One more."""
        s.require(s.hour < self.top)
        s.hour += 1

    @action(actor="clock")
    def begin_again(self, s):
        """Back to zero."""
        s.require(s.hour == self.top)
        s.hour = 0


class Hands(Model):
    """Two hands, of which the small one moves when the large one has gone round."""

    top = setting(3, at_least=1, at_most=9, meaning="where it ends")

    def variables(self):
        return {"small": number(0, 9), "large": number(0, 1)}

    @action(actor="hand")
    def move(self, s):
        """The large hand moves."""
        begun = s.large == 0
        s.require(begun | (s.small < self.top))
        s.large = when(begun, 1, 0)
        s.small = when(begun, s.small, s.small + 1)


@refinement(of="Clock")
def by_the_small_hand(m, s):
    """The hour is that of the small hand."""
    return {"hour": s.small, "early": True}


@refinement(of="Clock", settings=lambda m: {"top": 2})
def of_two_hours(m, s):
    """The hour is that of the small hand, of a clock that has two."""
    return {"hour": s.small, "early": True}


@refinement(of="Clock")
def by_the_large_hand(m, s):
    """Twice as many hours."""
    return {"hour": minimum(s.small * 2 + s.large, 3), "early": for_all(lambda k: s.small < k, k=[9, 2])}


@refinement(of="Clock")
def too_late(m, s):
    """It begins too late."""
    return {"hour": s.small, "early": False}


@refinement(of="Clock")
def lacking(m, s):
    """It says nothing of being late."""
    return {"hour": s.small}


@refinement(of="Clock")
def more(m, s):
    """It has minutes."""
    return {"hour": s.small, "early": True, "minute": s.large}


@refinement(of="Clock")
def of_another_kind(m, s):
    """It takes a flag for a number."""
    return {"hour": s.small == 1, "early": True}


@refinement(of="Clock")
def no_values(m, s):
    """A list."""
    return [s.small]


@refinement(of="Clock", settings=lambda m: {"bottom": 1})
def set_wrongly(m, s):
    """It sets what there is not."""
    return {"hour": s.small, "early": True}
'''


def asked(clock: Path, mapping: str, *more: str | Path) -> Outcome:
    return run("refine", f"{clock}:Hands", "--spec", f"{clock}:Clock", "--mapping", mapping, *more)


def read(path: Path) -> dict[str, Any]:
    """The JSON of a file, which the schema must allow."""
    data = json.loads(path.read_text())
    Draft202012Validator(SCHEMA).validate(data)
    assert isinstance(data, dict)
    return data
