"""Answers to exercises: solutions, starting files, and starting files with one changed line."""

from __future__ import annotations

from pathlib import Path

import pytest

from isrcheck.checker.course.exercise import exercises
from tests.cli.running import Outcome, run

SOLUTIONS = Path(__file__).parent / "solutions"
EXERCISES = exercises()
SLOW = ("one-leader-in-an-epoch", "the-last-replica-standing", "which-copies-count")
"""Exercises with many states."""
NAMES = [pytest.param(name, marks=[pytest.mark.exhaustive] * (name in SLOW)) for name in EXERCISES]


def solution(name: str) -> Path:
    found = SOLUTIONS / name.replace("-", "_")
    return found if found.is_dir() else found.with_suffix(".py")


def begun(name: str, folder: Path) -> Path:
    """The starting file of an exercise, written as an answer."""
    target = folder / ("mine" if EXERCISES[name].pair else "mine.py")
    assert run("course", "grade", name, "--start", target).code == 0
    return target


def changed(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) == 1, (path, old)
    path.write_text(text.replace(old, new))


def answered(name: str, folder: Path, old: str, new: str) -> Outcome:
    """The grade of a starting file with one changed line."""
    target = begun(name, folder)
    changed(target, old, new)
    return run("course", "grade", name, target)


def failed(outcome: Outcome) -> list[str]:
    """The criteria that an answer fails, each followed by the reasons."""
    assert outcome.code == 10, outcome
    lines = [
        line for line in outcome.out.splitlines()[2:] if not line.startswith("  yes") and "reproduce: " not in line
    ]
    return [line.strip().removeprefix("no   ") for line in lines]
