"""Output files are written completely or not at all; `-` is standard output."""

from __future__ import annotations

import json
import os
from importlib.metadata import version
from pathlib import Path

import pytest

from isrcheck.checker.cli import output_files
from isrcheck.checker.cli.options import size_of
from isrcheck.checker.results.errors import CommandError
from tests.cli.running import COUNTER, counter, run


def test_json_on_standard_output_sends_the_report_to_standard_error(tmp_path: Path) -> None:
    outcome = run("check", counter(tmp_path), "--json", "-", "--engine", "reference")
    assert json.loads(outcome.out)["distinct"] == 4
    assert outcome.err.startswith("HOLDS  counter: is-small; all of 4 states, depth 4\n")


@pytest.mark.parametrize("engine", ["local", "reference"])
def test_what_a_model_prints_is_no_answer(tmp_path: Path, engine: str) -> None:
    path = counter(tmp_path)
    text = path.read_text().replace(
        "        s.value += 1\n", "        print('seen', repr(s.value))\n        s.value += 1\n"
    )
    path.write_text(f"print('loaded')\n{text}")
    outcome = run("check", path, "--json", "-", "--quiet", "--engine", engine)
    assert json.loads(outcome.out)["distinct"] == 4
    assert outcome.err.startswith("loaded\nseen ")


def test_nothing_is_left_beside_the_file(tmp_path: Path) -> None:
    target = tmp_path / "r.json"
    output_files.require_writable(str(target))
    assert list(tmp_path.iterdir()) == []
    output_files.write_json(str(target), {"a": 1})
    assert list(tmp_path.iterdir()) == [target]
    assert target.read_text() == '{\n "a": 1\n}\n'


def test_a_new_file_has_the_usual_permissions_and_a_replaced_one_keeps_its_own(tmp_path: Path) -> None:
    mask = os.umask(0o027)
    try:
        output_files.write_json(str(tmp_path / "new"), 1)
    finally:
        os.umask(mask)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o640
    (tmp_path / "new").chmod(0o604)
    output_files.write_json(str(tmp_path / "new"), 2)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o604


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")
    output_files.write_json(str(tmp_path / "link"), 1)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "1\n"


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "r.json"
    target.write_text("old")

    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(CommandError) as failure:
        output_files.write_json(str(target), 1)
    assert failure.value.code == 153
    assert [x.read_text() for x in tmp_path.iterdir()] == ["old"]


def test_without_a_counterexample_no_itf_is_written(tmp_path: Path) -> None:
    target = tmp_path / "t.itf.json"
    outcome = run("check", counter(tmp_path), "--itf", target, "--quiet", "--engine", "reference")
    assert outcome.err == f"isrcheck: no counterexample; {target} was not written\n"
    assert not target.exists()


@pytest.mark.parametrize(
    ("text", "count"),
    [("1", 1), ("1e9", 10**9), ("512MB", 512 * 10**6), ("2GiB", 2**31), ("1.5k", 1536), ("1 TiB", 2**40), ("7B", 7)],
)
def test_sizes(text: str, count: int) -> None:
    assert size_of(text) == count


def test_the_version_is_that_of_the_distribution() -> None:
    outcome = run("--version")
    assert (outcome.code, outcome.out) == (0, f"isrcheck {version('isrcheck')}\n")


VARIANT = """
class Careful(Counter):
    '''It also asks for a number that is never reached.'''

    @action(actor="hand")
    def count(self, s):
        '''One more.'''
        s.require(s.value < self.top, s.value != {never})
        s.value += 1
"""


def test_a_change_of_a_model_is_no_plain_holds(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(COUNTER + VARIANT.format(never=7), encoding="utf-8")
    found = run("check", f"{file}:Careful")
    assert "your change never acts at these settings: nothing was asked about it" in found.out.splitlines()[0]
    assert found.code == 0
    found = run("check", f"{file}:Careful", "--fail-on-vacuity", "--json", str(tmp_path / "j.json"))
    assert found.code == 10
    assert json.loads((tmp_path / "j.json").read_text())["change"]["acts"] is False
    file.write_text(COUNTER + VARIANT.format(never=1), encoding="utf-8")
    found = run("check", f"{file}:Careful", "--json", str(tmp_path / "j.json"))
    assert "your change" not in found.out.splitlines()[0]
    assert "  acts first at depth 2: action count" in found.out.splitlines()
    data = json.loads((tmp_path / "j.json").read_text())["change"]
    assert (data["acts"], data["depth"], data["parts"]) == (True, 2, {"action count": 2})


def test_a_changed_setting_is_a_change_and_a_bound_is_none(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(COUNTER, encoding="utf-8")
    assert "Your change" not in run("check", str(file), "-s", "top=5").out
    lines = run("check", str(file), "-s", "wraps=false").out.splitlines()
    assert lines[lines.index("Your change") + 1] == "  wraps=false (without it true)"
    assert lines[lines.index("Your change") + 2].startswith("  acts first at depth ")
