"""A check, a proof or a recording that asks nothing does not look like a success."""

from __future__ import annotations

from pathlib import Path

import pytest

import isrcheck
from isrcheck import check
from isrcheck.model.language.errors import UnknownName
from isrcheck.testing import NotAsAsserted, assert_holds
from tests.cli.running import run

MODEL = '''
from isrcheck.model.language import *


class Bare(Model):
    """A counter without invariants."""

    def variables(self):
        return {"n": number(0, 3)}

    @action(actor="x")
    def up(self, s):
        """Up."""
        s.require(s.n < 3)
        s.n += 1
'''
SAID = "there is no invariant to check, and no property or deadlock was asked"
LINE = f"NOTHING ASKED  bare: {SAID}; all of 4 states, depth 4\n"


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    (tmp_path / "bare.py").write_text(MODEL)
    return tmp_path / "bare.py"


def test_a_check_says_that_nothing_was_asked(bare: Path) -> None:
    assert (run("check", bare, "--quiet").out, run("check", bare, "--quiet").code) == (LINE, 0)
    asked = run("check", bare, "--quiet", "--deadlock")
    assert asked.code == 11


def test_vacuity_fails(bare: Path) -> None:
    outcome = run("check", bare, "--quiet", "--fail-on-vacuity", "--junit", bare.parent / "a.xml")
    assert (outcome.out, outcome.code) == (LINE, 10)
    assert f'<failure message="{SAID}"' in (bare.parent / "a.xml").read_text()


def test_junit_has_a_skipped_case(bare: Path) -> None:
    run("check", bare, "--junit", bare.parent / "a.xml")
    text = (bare.parent / "a.xml").read_text()
    assert 'tests="1" failures="0" errors="0"' in text
    assert f'<skipped message="{SAID}"' in text


def test_python_counts_states_and_asserts_nothing(bare: Path) -> None:
    assert check(str(bare), invariants=[]).distinct == 4
    assert check("kip-101", {"replicas": 2}, invariants=[]).asks_nothing
    with pytest.raises(NotAsAsserted, match="NOTHING ASKED"):
        assert_holds(str(bare))


def test_nothing_is_proved(bare: Path) -> None:
    outcome = run("prove", bare)
    said = "there is nothing to prove of model bare; name an invariant, or write one"
    assert (outcome.err, outcome.code) == (f"isrcheck: {said}\n", 150)
    with pytest.raises(UnknownName, match=said):
        isrcheck.prove(str(bare))


def test_a_recording_without_lines_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"recording": 1, "model": "kip-101", "lanes": ["a"]}\n')
    outcome = run("conform", "--recording", file)
    said = "it has a header and no lines, so nothing is asked; record at least one event"
    assert (outcome.err, outcome.code) == (f"isrcheck: {file}: {said}\n", 150)
