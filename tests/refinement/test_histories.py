"""A history is only recorded and never decides a step; otherwise the verdict would be about another model."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import run

MODEL = '''\
from isrcheck import Model, action, constraint, number, refinement


class Clock(Model):
    """Goes on, up to three."""

    def variables(self):
        return {"t": number(0, 3)}

    @action(actor="clock")
    def tick(self, s):
        """Ticks."""
        s.require(s.t < 3)
        s.t += 1


class Hand(Model):
    """Goes on, and back to the start."""

    def variables(self):
        return {"at": number(0, 3)}

    @action(actor="hand")
    def go(self, s):
        """Goes on."""
        s.require(s.at < 3)
        s.at += 1

    @action(actor="hand")
    def back(self, s):
        """Back."""
        s.require(s.at == 3)
        s.at = 0


def noted(cls):
    class Noted(cls):
        """With how often it went back."""

        def variables(self):
            return {**super().variables(), "rounds": number(0, 1)}
BODY
    return Noted


@refinement(of="Clock", history=noted)
def reads(m, s):
    """Where it is."""
    return {"t": s.at}
'''
ONLY_NOTES = '''
        @action(actor="hand")
        def back(self, s):
            """Back."""
            super().back(s)
            s.rounds = 1
'''
OTHERWISE = {
    "back behaves differently": '''
        @action(actor="hand")
        def back(self, s):
            """Back."""
            s.require(s.at == 3, s.rounds == 0)
            s.at, s.rounds = 0, 1
''',
    "go behaves differently": '''
        @action(actor="hand")
        def go(self, s):
            """Goes on."""
            s.require(s.at < 3)
            s.at, s.rounds = s.at, 1
''',
    "its action instances differ": '''
        @action(actor="hand")
        def back(self, s):
            """Back."""
            s.require(s.at == 3, s.at == 0)
            s.at = 0
''',
    "its constraints differ": '''
        @constraint
        def early(self, s):
            """Not yet three."""
            return s.at < 3
''',
    "its initial states differ": """
        def initial(self, s):
            s.at = 1
""",
}


def refined(folder: Path, body: str) -> tuple[int, str]:
    path = folder / "clocks.py"
    path.write_text(MODEL.replace("BODY", body))
    outcome = run("refine", f"{path}:Hand", "--spec", f"{path}:Clock", "--quiet")
    return outcome.code, outcome.out + outcome.err


def test_a_history_that_only_notes_leaves_the_verdict(tmp_path: Path) -> None:
    code, said = refined(tmp_path, ONLY_NOTES)
    assert code == 12
    assert "in 5 states" in said  # three steps to the end, and the one back


@pytest.mark.parametrize("what", OTHERWISE)
def test_a_history_that_decides_is_refused(tmp_path: Path, what: str) -> None:
    code, said = refined(tmp_path, OTHERWISE[what])
    assert code == 150
    assert f"the history of reads changes the model: {what}; it may only append variables" in said
