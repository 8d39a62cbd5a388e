"""The story of a scenario on a page is about the trace in its files."""

from __future__ import annotations

from pathlib import Path

from isrcheck.checker.scenarios.derived_files import derive
from isrcheck.checker.scenarios.scenario import read
from tests.scenarios.writing import scenario

MODEL = '''\
"""A counter that may stop early."""

from isrcheck import *


class Stops(Model):
    """Counts up."""

    def variables(self):
        return {"x": number(0, 4), "stopped": flag}

    @action(actor="x")
    def up(self, s):
        """One more."""
        s.require(s.x < 4, ~s.stopped)
        s.x += 1

    @action(actor="x")
    def stop(self, s):
        """Stops."""
        s.require(s.x == 1, ~s.stopped)
        s.stopped = True

    @invariant
    def is_small(self, s):
        """It is small."""
        return s.x <= 4

    @leads_to
    def after_three(self, s):
        """After three comes five."""
        return s.x == 3, s.x > 4

    @leads_to
    def before_two(self, s):
        """After one comes five."""
        return s.x == 1, s.x > 4
'''
SCENARIO = """\
title = "Who stops"
model = "lamp.py"
expect = "violated"
source = []
story = "It stops."
invariants = ["is-small"]
liveness = ["after-three", "before-two"]

[lengths]
after-three = 5
before-two = 3
"""


def test_of_several_lassos_the_page_tells_the_shortest(tmp_path: Path) -> None:
    """The first property by name has the longer lasso."""
    derived = derive(read(scenario(tmp_path / "stops", SCENARIO, MODEL)), with_story=True)
    lengths = {name: found["length"] for name, found in derived.summary["liveness"].items()}
    assert lengths["after-three"] > lengths["before-two"]
    assert derived.story is not None
    assert [one["name"] for one in derived.story["falsified"]] == ["before-two"]
    assert "before-two" in derived.files["trace.txt"]
    assert "after-three" not in derived.files["trace.txt"]
