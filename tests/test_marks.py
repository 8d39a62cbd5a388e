"""The samples of large sets of tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.marks import EXHAUSTIVE, RELEASE, one_in

ROOT = Path(__file__).parent.parent


def test_a_sample_has_the_first_and_every_nth() -> None:
    found = one_in(3, ["a", "b", "c", ("d", 4), "e"])
    assert [one.values for one in found] == [("a",), ("b",), ("c",), ("d", 4), ("e",)]
    marks = [sorted(mark.name for mark in one.marks) for one in found]
    assert marks == [[], ["exhaustive", "release"], ["exhaustive", "release"], [], ["exhaustive", "release"]]
    marked = one_in(2, "abc", rest=RELEASE, sample=EXHAUSTIVE)
    assert [one.marks for one in marked] == [EXHAUSTIVE, RELEASE, EXHAUSTIVE]


def test_an_unknown_number_of_examples_is_one_clear_line() -> None:
    """A mistyped word must not try few examples, as if nothing had been asked."""
    words = (sys.executable, "-c", "import tests.agreement.profiles")
    asked = os.environ | {"ISRCHECK_HYPOTHESIS": "thorogh"}
    said = subprocess.run(words, cwd=ROOT, env=asked, capture_output=True, text=True, check=False)
    assert said.returncode == 1
    assert said.stderr.endswith("UsageError: ISRCHECK_HYPOTHESIS=thorogh: use many or thorough, or leave it out\n")
