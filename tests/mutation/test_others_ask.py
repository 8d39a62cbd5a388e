"""Mutants of an action about which another action asks: `s.enabled` there refers to the mutant, too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.running import run
from tests.marks import EXHAUSTIVE, one_in

MODEL = '''
from isrcheck import Model, action, flag, invariant, number


class Asks(Model):
    """What follows needs that a step is possible."""

    def variables(self):
        return {"x": number(0, 2), "y": flag}

    @action(actor="one")
    def step(self, s):
        """One more."""
        s.require(s.x < 1)
        s.x = s.x + 1

    @action(actor="other")
    def follow(self, s):
        """It follows where a step is possible after one."""
        s.require(s.enabled(self.step), s.x == 1)
        s.y = True

    @invariant
    def nobody_follows(self, s):
        """Nobody follows."""
        return ~s.y
'''


@pytest.mark.parametrize(
    "asks", one_in(2, ["s.enabled(self.step)", "getattr(s, 'enab' + 'led')(self.step)"], EXHAUSTIVE)
)
def test_a_mutant_is_killed_by_what_another_action_does_then(asks: str, tmp_path: Path) -> None:
    """With `x <= 1` in place of `x < 1` a second step is possible, and so is the other action, which violates."""
    (tmp_path / "asks.py").write_text(MODEL.replace("s.enabled(self.step)", asks))
    run("mutate", tmp_path / "asks.py", "--action", "step", "--json", tmp_path / "m.json", "--quiet")
    mutants = json.loads((tmp_path / "m.json").read_text())["mutants"]
    (weaker,) = [each for each in mutants if each["change"] == "s.x <= 1, not s.x < 1"]
    assert (weaker["outcome"], weaker["by"], weaker["length"]) == ("killed", "follow()", 3)
