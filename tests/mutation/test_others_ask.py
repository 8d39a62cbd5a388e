"""Mutants of an action about which another action asks: `s.enabled` there refers to the mutant, too."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from isrcheck.checker.changes.mutation.further_checks import places
from isrcheck.checker.changes.mutation.mutant_verdicts import Question
from isrcheck.checker.changes.mutation.mutation_run import mutation
from tests.cli.running import run
from tests.marks import EXHAUSTIVE, one_in

QUIETLY = ("--quiet", "--workers", "1")
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
    run("mutate", tmp_path / "asks.py", "--action", "step", "--json", tmp_path / "m.json", *QUIETLY)
    mutants = json.loads((tmp_path / "m.json").read_text())["mutants"]
    (weaker,) = [each for each in mutants if each["change"] == "s.x <= 1, not s.x < 1"]
    assert (weaker["outcome"], weaker["by"], weaker["length"]) == ("killed", "follow()", 3)


INVARIANT = '''
from isrcheck import Model, action, flag, implies, invariant, number


class Ticks(Model):
    """It must be possible to begin."""

    def variables(self):
        return {"x": number(0, 1), "y": flag}

    @action(actor="one")
    def tick(self, s):
        """Once."""
        s.require((s.x == 0) | s.y)
        s.x = 1

    @invariant
    def can_begin(self, s):
        """At zero a step is possible."""
        return implies(s.x == 0, s.enabled(self.tick))
'''


def test_a_mutant_whose_action_never_happens_is_killed_by_an_invariant_that_asks(tmp_path: Path) -> None:
    (tmp_path / "ticks.py").write_text(INVARIANT)
    run("mutate", tmp_path / "ticks.py", "--json", tmp_path / "m.json", *QUIETLY)
    mutants = {each["change"]: each for each in json.loads((tmp_path / "m.json").read_text())["mutants"]}
    assert {name: each["outcome"] for name, each in mutants.items()}["without s.x == 0"] == "killed"
    # Where nothing asks, the comparison alone decides.
    (tmp_path / "ticks.py").write_text(INVARIANT.replace("s.enabled(self.tick)", "s.x == 0"))
    run("mutate", tmp_path / "ticks.py", "--json", tmp_path / "m.json", *QUIETLY)
    mutants = {each["change"]: each for each in json.loads((tmp_path / "m.json").read_text())["mutants"]}
    assert (mutants["without s.x == 0"]["outcome"], mutants["without s.x == 0"]["reason"]) == ("vacuous", "never: tick")


ELSEWHERE = '''
from isrcheck import Model, action, flag, invariant


class Notices(Model):
    """One action notices that another is not possible."""

    def variables(self):
        return {"full": flag, "seen": flag}

    @action(actor="one")
    def fill(self, s):
        """Fills it."""
        s.require(~s.full | s.seen)
        s.full = True

    @action(actor="other")
    def notice(self, s):
        """It cannot be filled, though it is empty."""
        s.require(~s.full, ~s.enabled(self.fill))
        s.seen = True

    @invariant
    def nobody_notices(self, s):
        """Nobody notices."""
        return ~s.seen
'''


def test_a_mutant_whose_action_never_happens_is_killed_by_an_action_that_asks(tmp_path: Path) -> None:
    (tmp_path / "notices.py").write_text(ELSEWHERE)
    run(
        "mutate",
        tmp_path / "notices.py",
        "--action",
        "fill",
        "--json",
        tmp_path / "m.json",
        "--quiet",
        "--workers",
        "1",
    )
    mutants = {each["change"]: each for each in json.loads((tmp_path / "m.json").read_text())["mutants"]}
    assert (mutants["without ~s.full"]["outcome"], mutants["without ~s.full"]["by"]) == ("killed", "notice()")


CONSTRAINT = '''
from isrcheck import Model, action, constraint, flag, invariant, number


class Fenced(Model):
    """A constraint asks what is enabled."""

    def variables(self):
        return {"x": number(0, 2), "y": flag}

    @action(actor="one")
    def step(self, s):
        """One more."""
        s.require(s.x < 2)
        s.x += 1

    @action(actor="other")
    def jump(self, s):
        """Only with y, which never comes."""
        s.require(s.x == 1, s.y)
        s.y = False

    @constraint
    def goes_on(self, s):
        """Beyond zero, only where a jump is possible."""
        return (s.x == 0) | s.enabled(self.jump)

    @invariant
    def not_two(self, s):
        """It is not two."""
        return s.x != 2
'''


def test_a_mutant_that_differs_only_outside_the_constraints_is_killed_if_a_constraint_asks(tmp_path: Path) -> None:
    """Within the constraints of the model, a jump is possible in no state, with or without the condition."""
    (tmp_path / "fenced.py").write_text(CONSTRAINT)
    run("mutate", tmp_path / "fenced.py", "--action", "jump", "--json", tmp_path / "m.json", *QUIETLY)
    mutants = {each["change"]: each for each in json.loads((tmp_path / "m.json").read_text())["mutants"]}
    assert mutants["without s.y"]["outcome"] == "killed"
    # Another guard makes another constraint. Without the update the guard, and so the constraint, is the same.
    assert mutants["without s.x == 1"]["outcome"] == "survived"
    assert mutants["without s.y = False"]["outcome"] == "equivalent"


SCENARIO = """\
title = "Where a constraint asks"
model = "../fenced.py"
expect = "holds"
source = []
story = "Beyond zero, only where a jump is possible."

[settings]
asks = true
"""


def test_a_scenario_kills_a_mutant_if_a_constraint_asks_only_there(tmp_path: Path) -> None:
    """Within the constraints of the scenario, too, a jump is possible in no state, with or without the condition."""
    model, folder = tmp_path / "fenced.py", tmp_path / "asks"
    setting = '    asks = setting(False, meaning="the constraint asks")\n\n    def variables'
    text = CONSTRAINT.replace("    def variables", setting).replace("number\n", "number, setting\n", 1)
    asks = "| s.enabled(self.jump)"
    model.write_text(text.replace(asks, f"{asks} if self.asks else s.x == 0"))
    folder.mkdir()
    (folder / "scenario.toml").write_text(SCENARIO)
    assert run("regress", tmp_path, "--update").code == 0
    asked = Question(str(model), {}, None, actions=("jump",), workers=1, scenarios=places(str(model), (str(tmp_path),)))
    (without,) = [v for v in mutation(asked).verdicts if v.edit.words == "without s.y"]
    assert (without.outcome, without.scenario) == ("killed", "asks")
    (alone,) = [v for v in mutation(replace(asked, scenarios=())).verdicts if v.edit.words == "without s.y"]
    assert alone.outcome == "equivalent"
