"""Writes scenarios with a small model beside them, and runs the command line on them."""

from __future__ import annotations

from pathlib import Path

MODEL = '''\
"""A lamp that two brokers switch."""

from isrcheck.model.language import Model, action, broker, flag, goal, invariant, number, setting


class Lamp(Model):
    """Each press counts; the lamp is on after an odd number of them."""

    invariants = ("presses-are-few",)
    top = setting(5, at_least=1, at_most=9, meaning="presses at most")
    few = setting(9, at_least=1, at_most=9, meaning="what is still few")
    brokers_ = setting(2, at_least=1, at_most=2, counts=broker, meaning="brokers")

    def variables(self):
        return {"presses": number(0, 9), "on": flag}

    @action(who=broker, actor="who", environment=True)
    def press(self, s, who):
        """A broker presses."""
        s.require(s.presses < self.top)
        s.presses += 1
        s.on = ~s.on

    @action(actor="hand")
    def skip(self, s):
        """Two presses at once."""
        s.require(s.presses + 2 <= self.top, s.on)
        s.presses += 2

    @invariant
    def presses_are_few(self, s):
        """There are few presses."""
        return s.presses <= self.few

    @goal
    def is_on(self, s):
        """The lamp is on."""
        return s.on
'''
VIOLATED = """\
title = "Too many presses"
model = "lamp.py"
expect = "violated"
source = []
story = "Someone presses too often."
control = "few"

[settings]
few = 2

[lengths]
presses-are-few = 3
"""
HOLDS = """\
title = "Few presses"
model = "lamp.py"
expect = "holds"
source = []
story = "Nobody presses too often."
control = "many"
"""


def scenario(folder: Path, text: str, model: str | None = MODEL) -> Path:
    """Writes a scenario with its model's file."""
    folder.mkdir(parents=True)
    (folder / "scenario.toml").write_text(text)
    if model is not None:
        (folder / "lamp.py").write_text(model)
    return folder


def pair(root: Path) -> Path:
    """Writes two scenarios with one model, each the control of the other. Returns the folder of both."""
    scenario(root / "many", VIOLATED.replace('"lamp.py"', '"../lamp.py"'), None)
    scenario(root / "few", HOLDS.replace('"lamp.py"', '"../lamp.py"'), None)
    (root / "lamp.py").write_text(MODEL)
    return root
