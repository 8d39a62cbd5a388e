"""Runs the command line in this process, and writes small models for it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner

from isrcheck.checker.cli import main

COUNTER = '''\
"""A counter, for the command line's tests."""

from isrcheck.model.language import Model, action, broker, enum, flag, goal, invariant, number, per, setting


class Counter(Model):
    """A number that goes up by one until it is at its top."""

    invariants = ("is-small",)
    top = setting(3, at_least=1, at_most=9, meaning="where it ends", bound=lambda m, s: s.value == m.top)
    least = setting(9, at_least=0, at_most=9, meaning="what is no longer small")
    wraps = setting(True, meaning="whether it starts again")
    brokers_ = setting(2, at_least=1, at_most=3, counts=broker, meaning="brokers")

    def variables(self):
        return {"value": number(0, 9), "seen": per(broker, flag)}

    @action(actor="hand")
    def count(self, s):
        """One more."""
        s.require(s.value < self.top)
        s.value += 1

    @action(actor="hand")
    def start_again(self, s):
        """Back to zero."""
        s.require(self.wraps, s.value == self.top)
        s.value = 0

    @invariant
    def is_small(self, s):
        """The number is below the least large one."""
        return s.value < self.least

    @invariant
    def half(self, s):
        """Eight has no successor here."""
        return per_mille(s) >= 0

    @goal
    def is_seven(self, s):
        """The number is seven."""
        return s.value == 7


def per_mille(s):
    return s.value
'''
HEAD = '''\
from isrcheck.model.language import Model, action, broker, enum, none, number, optional, per, sequence, set_of, setting


class Mine(Model):
    """A model with a mistake."""

    brokers_ = setting(2, counts=broker, meaning="brokers")

    def variables(self):
        x = number(0, 3)
        return {"x": x, "leader": optional(broker), "log": sequence(x, 2), "of": per(number(1, 2), number(0, 1))}

'''


PROGRESS = re.compile(r"^\d+ s  .*\n", re.MULTILINE)


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


def run(*arguments: str | Path) -> Outcome:
    """The outcome of a command, without lines of progress, because their number depends on the machine."""
    result = CliRunner().invoke(main, [str(x) for x in arguments], prog_name="isrcheck", catch_exceptions=False)
    assert "Traceback" not in result.output
    return Outcome(result.exit_code, result.stdout, PROGRESS.sub("", result.stderr))


def counter(folder: Path) -> Path:
    """A file with the counter."""
    path = folder / "counter.py"
    path.write_text(COUNTER)
    return path


def mistaken(folder: Path, body: str) -> Path:
    """A file with a model whose first action has this body (its docstring included), from line 13 on."""
    path = folder / "mine.py"
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    path.write_text(f'{HEAD}    @action(actor="x")\n    def act(self, s):\n{lines}\n')
    return path
