"""What every output says of a property for which each behaviour, or some behaviours, are excused for want of room."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from isrcheck.checker.analysis.check import check
from isrcheck.checker.report.result_text import brief, report
from isrcheck.testing import NotAsAsserted, assert_holds
from tests.cli.running import run

TALLY = """
from isrcheck import *

class Tally(Model):
    "It counts to three, but there may be no room to do so."

    room = setting(2, at_least=0, at_most=3, meaning="how far there is room to count")

    def variables(self):
        return {"n": number(0, 3)}

    @action(actor="someone")
    def count(self, s):
        "It counts."
        s.require(s.n < 3, s.room(s.n < self.room))
        s.n += 1

    @action(actor="someone", environment=True)
    def skip(self, s):
        "It may skip from one to three."
        s.require(s.n == 1, SKIPS)
        s.n = 3

    @leads_to
    def three_comes(self, s):
        "Three comes."
        return s.n == 0, s.n == 3

    @leads_to
    def two_goes(self, s):
        "Nothing comes after three."
        return s.n > 3, s.n == 0
"""
ALL = "three-comes holds, but a bound stops every behaviour: 1 end (raise the bounds)"
SOME = "three-comes holds, except where a bound stops it: 1 end (raise the bounds)"
PLAIN = "three-comes holds"
CASES = {"all": (ALL, {"skips": "False"}), "some": (SOME, {}), "none": (PLAIN, {"room": 3})}


def tally(folder: Path, skips: str = "True", room: int = 2, name: str = "tally") -> Path:
    file = folder / f"{name}.py"
    text = TALLY.replace("SKIPS", skips).replace("setting(2", f"setting({room}")
    file.write_text(text[: text.index("    @leads_to\n    def two_goes")])
    return file


@pytest.mark.parametrize("case", CASES)
def test_texts_and_json_say_how_much_is_excused(tmp_path: Path, case: str) -> None:
    said, parts = CASES[case]
    result = check(str(tally(tmp_path, **parts)), liveness=["all"])  # type: ignore[arg-type]
    assert result.verdict == "holds"
    assert (f"warning: {said}\n" in brief(result)) == (case != "none")
    assert " ".join(said.split()[1:]) in report(result)
    data = result.to_json()["liveness"]["three-comes"]
    assert (data["holds_without_excuse"], data["every_behaviour_excused"]) == (case == "none", case == "all")


@pytest.mark.parametrize("case", CASES)
def test_an_assertion_fails_if_every_behaviour_is_excused(tmp_path: Path, case: str) -> None:
    said, parts = CASES[case]
    file = str(tally(tmp_path, **parts))  # type: ignore[arg-type]
    if case != "all":
        assert assert_holds(file, liveness=["three-comes"]).verdict == "holds"
        return
    with pytest.raises(NotAsAsserted) as failed:
        assert_holds(file, liveness=["three-comes"])
    assert str(failed.value).startswith(f"{said}\nHOLDS  tally: three-comes;")


@pytest.mark.parametrize("case", CASES)
def test_reports_for_ci_show_it(tmp_path: Path, case: str) -> None:
    said, parts = CASES[case]
    words = said.removeprefix("three-comes ")
    files = [tmp_path / name for name in ("j.xml", "s.sarif")]
    options = ("--liveness", "three-comes", "--junit", files[0], "--sarif", files[1])
    assert run("check", tally(tmp_path, **parts), *options).code == 0  # type: ignore[arg-type]
    root = ElementTree.parse(files[0]).getroot()
    skipped = [x.get("message") for x in root.iter("skipped")]
    remarks = [x.text for x in root.iter("system-out")]
    assert (skipped, remarks) == {"all": ([words], []), "some": ([], [words]), "none": ([], [])}[case]
    (found,) = json.loads(files[1].read_text())["runs"][0]["results"]
    assert (found["kind"], words in found["message"]["text"]) == ("notApplicable" if case == "all" else "pass", True)


@pytest.mark.parametrize("case", CASES)
def test_what_shows_nothing_fails_as_vacuous(tmp_path: Path, case: str) -> None:
    """If every behaviour is to be excused, the skip leads to two, so that every action happens."""
    file, junit = tally(tmp_path, room=CASES[case][1].get("room", 2)), tmp_path / "j.xml"  # type: ignore[arg-type]
    if case == "all":
        file.write_text(file.read_text().replace("s.n = 3", "s.n = 2"))
    outcome = run("check", file, "--liveness", "all", "--fail-on-vacuity", "--quiet", "--junit", junit)
    verdict = outcome.out.splitlines()[0]
    nothing = "vacuous, nothing shown by: three-comes"
    assert (outcome.code, nothing in verdict) == ((10, True) if case == "all" else (0, False))
    assert ("nothing shown by: three-comes" in junit.read_text()) == (case == "all")
    assert run("check", file, "--liveness", "all", "--quiet").code == 0


def test_a_premise_that_never_comes_true_fails_as_vacuous(tmp_path: Path) -> None:
    file = tally(tmp_path)
    file.write_text(TALLY.replace("SKIPS", "True").replace("setting(2", "setting(3"))
    assert run("check", file, "--liveness", "all", "--quiet").code == 0
    outcome = run("check", file, "--liveness", "all", "--fail-on-vacuity", "--quiet")
    assert (outcome.code, outcome.out.splitlines()[0].endswith("; vacuous, nothing shown by: two-goes")) == (10, True)


def reviewed(folder: Path, old: Path, new: Path) -> dict[str, Any]:
    file = folder / "review.json"
    run("review", old, new, "--no-scenarios", "--json", file)
    (row,) = (row for row in json.loads(file.read_text())["review"]["verdicts"] if row["name"] == "three-comes")
    return row  # type: ignore[no-any-return]


def test_a_review_shows_it(tmp_path: Path) -> None:
    files = {case: tally(tmp_path, **CASES[case][1], name=case) for case in CASES}  # type: ignore[arg-type]
    excused = "holds, except where a bound stops it"
    every = "holds, but a bound stops every behaviour"
    for old, new, turn, text in (
        ("none", "some", "other", excused),
        ("none", "all", "vacuous", every),
        ("some", "all", "vacuous", every),
        ("some", "some", "same", excused),
        ("all", "none", "other", "holds"),
    ):
        row = reviewed(tmp_path, files[old], files[new])
        assert (row["turn"], row["after"]["text"]) == (turn, text), (old, new)
    said = run("review", files["some"], files["some"], "--no-scenarios")
    assert "three-comes (except where a bound stops it)" in said.out
