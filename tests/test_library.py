"""The invariants that are checked by default, and the loading of model files."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from isrcheck import check
from isrcheck.checker.report.result_text import report
from isrcheck.checker.scenarios.derived_files import forgetting_neighbours
from isrcheck.model.language.errors import nearest
from tests.cli.running import counter

MODEL = '''
from isrcheck.model.language import Model, action, invariant, number


class Counter(Model):
    """A counter."""

    def variables(self):
        return {"n": number(0, 3)}

    @action(actor="client")
    def up(self, s):
        """Counts up."""
        s.require(s.n < 3)
        s.n += 1

    @invariant
    def small(self, s):
        """The counter stays below three."""
        return s.n < 3


@invariant
def natural(m, s):
    """The counter is not negative."""
    return s.n >= 0
'''


def test_a_model_that_names_no_invariants_is_asked_all_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "counter.py").write_text(MODEL)
    result = check(str(tmp_path / "counter.py"))
    assert {name: outcome.verdict for name, outcome in result.invariants.items()} == {
        "natural": "incomplete",
        "small": "violated",
    }


def test_a_model_that_names_invariants_is_asked_those(tmp_path: Path) -> None:
    named = MODEL.replace('"""A counter."""', '"""A counter."""\n\n    invariants = ("natural",)')
    (tmp_path / "counter.py").write_text(named)
    result = check(str(tmp_path / "counter.py"))
    assert (result.verdict, list(result.invariants)) == ("holds", ["natural"])


DERIVED = '''
from isrcheck.model.language import invariant
from isrcheck.model.published.truncate_to_hw import TruncateToHighWatermark


class Mine(TruncateToHighWatermark):
    """What ships, and a wish."""

    @invariant
    def nobody_leads(self, s):
        """There is no leader."""
        return s.quorum.leader.is_none


@invariant
def nothing_is_written(m, s):
    """Every log is empty."""
    return s.next_record_id == 0
'''
SMALL = {"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 0}


def test_a_model_upon_one_that_ships_is_asked_what_stands_in_its_own_file(tmp_path: Path) -> None:
    """The defaults are inherited, so the author has not chosen among the invariants of this file."""
    (tmp_path / "mine.py").write_text(DERIVED)
    result = check(str(tmp_path / "mine.py"), SMALL)
    assert {*check("truncate-to-hw", SMALL).invariants} < {*result.invariants}
    assert [name for name, outcome in result.invariants.items() if outcome.verdict == "violated"] != []
    assert {"nobody-leads", "nothing-is-written"} <= {*result.invariants}


def test_a_report_names_what_stands_in_the_file_and_was_not_asked(tmp_path: Path) -> None:
    named = MODEL.replace('"""A counter."""', '"""A counter."""\n\n    invariants = ("natural",)')
    (tmp_path / "counter.py").write_text(named)
    assert "  small    not checked by default: --invariant small\n" in report(check(str(tmp_path / "counter.py")))
    assert check(str(tmp_path / "counter.py")).to_json()["not_asked"] == ["small"]
    assert "not asked" not in report(check(str(tmp_path / "counter.py"), invariants=["natural"]))
    assert "not asked" not in report(check("truncate-to-hw", SMALL))


def test_an_error_lists_all_known_names_unless_they_are_very_many() -> None:
    few, many = ["alpha", "beta"], ["kip-320", *(str(1000 + i) for i in range(60))]
    assert nearest("alpah", few) == "did you mean alpha? known: alpha, beta"
    assert nearest("kip320", many) == "did you mean kip-320? 61 names are known"
    assert nearest("zzz", many).startswith("known: 1000, 1001, 1002, ")


def test_a_file_of_the_same_length_saved_in_the_same_second_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    path, verdicts = counter(tmp_path), []
    text = path.read_text()
    for least in ("self.least", "2 + 0 + 00"):
        path.write_text(text.replace("s.value < self.least", f"s.value < {least}"))
        os.utime(path, (1e9, 1e9))
        verdicts.append(check(str(path)).verdict)
    assert verdicts == ["holds", "violated"]


def test_a_neighbour_of_the_same_length_saved_in_the_same_second_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    path = counter(tmp_path)
    path.write_text("from beside import LEAST\n" + path.read_text().replace("s.value < self.least", "s.value < LEAST"))
    verdicts = []
    for least in (10, 2):
        (tmp_path / "beside.py").write_text(f"LEAST = {least:2}\n")
        os.utime(tmp_path / "beside.py", (1e9, 1e9))
        with forgetting_neighbours(path):
            verdicts.append(check(str(path), {"top": 9}).verdict)
    assert verdicts == ["holds", "violated"]
