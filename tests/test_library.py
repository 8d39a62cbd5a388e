"""The invariants that are checked by default, and the loading of model files."""

from __future__ import annotations

import importlib
import os
import py_compile
import sys
from pathlib import Path

import pytest

from isrcheck import check
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.checker.report.result_text import report
from isrcheck.model.language.errors import nearest
from tests.cli.running import counter, run

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


IMPORTS = {
    "a file": ("from beside import LEAST", "beside.py"),
    "a file that a file imports": ("from between import LEAST", "beside.py"),
    "a file in a package": ("from package.beside import LEAST", "package/beside.py"),
    "a package": ("from package import LEAST", "package/__init__.py"),
    "a file in a folder": ("from folder import beside\nLEAST = beside.LEAST", "folder/beside.py"),
    "a file in another folder": ("from elsewhere import LEAST", "../path/elsewhere.py"),
}


@pytest.fixture(params=IMPORTS.values(), ids=list(IMPORTS))
def importing(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A model's file, and the file from which it imports `LEAST`."""
    line, imported = request.param
    for folder in ("mine/package", "mine/folder", "path"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "mine/package/__init__.py").touch()
    (tmp_path / "mine/between.py").write_text("from beside import *\n")
    path = counter(tmp_path / "mine")
    path.write_text(f"{line}\n" + path.read_text().replace("s.value < self.least", "s.value < LEAST"))
    monkeypatch.syspath_prepend(tmp_path / "path")
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return path, tmp_path / "mine" / imported


def saved(file: Path, least: int) -> None:
    """Saves a file of one length with one time of change."""
    file.write_text(f"LEAST = {least:2}\n")
    os.utime(file, (1e9, 1e9))


def test_an_edited_file_is_read_again_in_the_same_process(importing: tuple[Path, Path]) -> None:
    path, imported = importing
    verdicts = []
    for least in (10, 2, 10):
        saved(imported, least)
        verdicts.append(check(str(path), {"top": 9}).verdict)
    assert verdicts == ["holds", "violated", "holds"]


def test_an_edited_file_is_read_again_although_its_bytecode_looks_current(importing: tuple[Path, Path]) -> None:
    path, imported = importing
    saved(imported, 10)
    py_compile.compile(str(imported))
    saved(imported, 2)
    assert check(str(path), {"top": 9}).verdict == "violated"
    assert run("check", path, "-s", "top=9", "--quiet").code == 12


def test_a_program_keeps_what_it_imported_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = counter(tmp_path)
    path.write_text("import beside_a_program\n" + path.read_text())
    (tmp_path / "beside_a_program.py").write_text("class Own:\n    pass\n")
    load_model_class(str(path))
    assert "beside_a_program" not in sys.modules
    monkeypatch.syspath_prepend(tmp_path)
    own = importlib.import_module("beside_a_program")
    load_model_class(str(path))
    assert sys.modules.pop("beside_a_program") is own


def test_a_file_that_was_just_created_is_found(tmp_path: Path) -> None:
    path = counter(tmp_path)
    load_model_class(str(path))
    path.write_text("import created\n" + path.read_text())
    (tmp_path / "created.py").touch()
    load_model_class(str(path))


CHANGED = {
    "a number": ("s.value < 2", "s.value < 9"),
    "a number in a tuple": ("s.value < (0, 2)[1]", "s.value < (0, 9)[1]"),
    "a number in an inner function": ("(lambda: s.value < 2)()", "(lambda: s.value < 9)()"),
    "a default": ("(lambda n=2: s.value < n)()", "(lambda n=9: s.value < n)()"),
}


@pytest.mark.parametrize(("before", "after"), CHANGED.values(), ids=list(CHANGED))
def test_an_imported_class_is_checked_as_it_was_imported(
    before: str, after: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = counter(tmp_path)
    text = path.read_text()
    path.write_text(text.replace("s.value < self.least", before))
    monkeypatch.syspath_prepend(tmp_path)
    imported = importlib.import_module("counter")
    del sys.modules["counter"]
    path.write_text(text.replace("s.value < self.least", after))
    assert [check(model, {"top": 5}).verdict for model in (imported.Counter, str(path))] == ["violated", "holds"]
