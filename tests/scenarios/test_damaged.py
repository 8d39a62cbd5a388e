"""A `scenario.toml` with a mistake is one line on standard error, and exit code 150."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import run
from tests.scenarios.writing import HOLDS, VIOLATED, scenario

ROOT = Path(__file__).parents[2]
KNOWN = (
    "known: control, deadlock, expect, fairness, invariants, keep_going, lengths, liveness, model, note, "
    "seen_to_hold, settings, source, story, title"
)
MISTAKES = {
    "not TOML": ("title = ", "not TOML: Invalid value (at end of document)"),
    "an unknown key": ("modle = 1\n" + HOLDS, f"there is no key 'modle'; did you mean model? {KNOWN}"),
    "no title": (HOLDS.replace("title", "note"), "title is missing; write one line of text"),
    "no story": (HOLDS.replace("story", "note"), "story is missing; write a paragraph of text"),
    "a verdict that is none": (
        HOLDS.replace('"holds"', '"ok"'),
        """expect is 'ok'; write "violated" or "holds\"""",
    ),
    "a number for a title": (HOLDS.replace('"Few presses"', "3"), "title is 3; write one line of text"),
    "a word for a flag": ('deadlock = "yes"\n' + HOLDS, "deadlock is 'yes'; write true or false"),
    "no invariant": ("invariants = []\n" + HOLDS, "invariants is []; write a non-empty list of names"),
    "a list as a setting": (
        HOLDS + "[settings]\nfew = [1]\n",
        "settings is {'few': [1]}; write a table of numbers, booleans and strings",
    ),
    "a length of what holds": (
        HOLDS + "[lengths]\npresses-are-few = 3\n",
        'lengths cannot be combined with expect = "holds"; remove them',
    ),
    "wider bounds of what is violated": (
        VIOLATED.replace("[lengths]", "[seen_to_hold]\nfew = 4\n[lengths]"),
        'seen_to_hold cannot be combined with expect = "violated"; remove it',
    ),
    "a length of zero": (
        VIOLATED.replace("few = 3", "few = 0"),
        "lengths is {'presses-are-few': 0}; write a table of invariants with numbers of states",
    ),
    "a deadlock that is not looked for": (
        VIOLATED + "deadlock = 3\n",
        "lengths has an entry for deadlock, which is not checked; add deadlock = true",
    ),
    "a length of what is not checked": (
        'invariants = ["other"]\n' + VIOLATED,
        "lengths has 'presses-are-few', which is not checked; known: other",
    ),
    "a promise that is none": (
        VIOLATED.replace("[lengths]", "[fairness]\nstrong = 'press'\n[lengths]"),
        "fairness is {'strong': 'press'}; write a table of default (weak or strong) and of strong, weak, unfair: "
        "lists of actions",
    ),
    "a promise for no property": (
        VIOLATED.replace("[lengths]", "[fairness]\nstrong = ['press']\n[lengths]"),
        "fairness requires a property; name one in liveness",
    ),
}


@pytest.mark.parametrize(("text", "message"), MISTAKES.values(), ids=list(MISTAKES))
def test_a_mistake_in_the_file(tmp_path: Path, text: str, message: str) -> None:
    folder = scenario(tmp_path / "mine", text)
    for arguments in (("check", "--scenario", folder), ("scenarios", folder)):
        outcome = run(*arguments)
        assert (outcome.code, outcome.err) == (150, f"isrcheck: {folder}/scenario.toml: {message}\n")
    outcome = run("regress", folder)
    assert outcome.code == 150
    assert outcome.out.splitlines()[0] == f"NOT RUN          mine: {folder}/scenario.toml: {message}"


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    folder = scenario(tmp_path / "mine", HOLDS)
    (folder / "scenario.toml").write_bytes(b'title = "\xff"')
    outcome = run("check", "--scenario", folder)
    assert (outcome.code, outcome.err) == (150, f"isrcheck: {folder}/scenario.toml: not UTF-8 text\n")


def test_names_that_the_model_does_not_have(tmp_path: Path) -> None:
    mistakes = {
        'model = "kip-11"': "there is no model 'kip-11'; did you mean kip-101 or kip-320 or kip-279? known: ",
        'model = "other.py"': f"{tmp_path}/0/scenario.toml: there is no file other.py",
        'model = "lamp.py:Bulb"': "lamp.py has no model 'Bulb'; known: Lamp",
        'model = "lamp.py"\ninvariants = ["few"]': "model lamp has no invariant 'few'; known: presses-are-few",
        'model = "lamp.py"\n[settings]\nmany = 1': "model lamp has no setting 'many'; known: brokers_, few, top",
        'model = "lamp.py"\n[settings]\nfew = true': "setting few must be an integer from 1 to 9, not True",
    }
    body = HOLDS.replace('model = "lamp.py"\n', "")
    for model, message in mistakes.items():
        folder = scenario(tmp_path / "0", f"{body}{model}\n")
        outcome = run("check", "--scenario", folder)
        assert outcome.code == 150
        assert outcome.err.startswith(f"isrcheck: {message}")
        regress = run("regress", folder)
        assert regress.code == 150
        assert regress.out.startswith(f"NOT RUN          0: {message}")
        folder.rename(tmp_path / f"was-{len(list(tmp_path.iterdir()))}")


def test_there_is_no_scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    outcome = run("regress", "empty")
    assert outcome.err == "isrcheck: there is no scenario in empty; create empty/<name>/scenario.toml\n"
    outcome = run("regress", "nowhere", "--json", "-")
    assert (outcome.code, '"exit_code": 150' in outcome.out) == (150, True)
    scenario(tmp_path / "counterexamples" / "mine", HOLDS)
    outcome = run("check", "--scenario", "nine")
    count = 1 + len(list(ROOT.glob("counterexamples/**/scenario.toml")))
    assert outcome.err == (
        f"isrcheck: there is no scenario 'nine'; did you mean mine? {count} names are known; or use a folder\n"
    )
    assert run("check", "--scenario", "./nine").err == "isrcheck: ./nine is not a scenario: it has no scenario.toml\n"


def test_code_is_taken_from_the_folder_that_was_named_alone(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    elsewhere = scenario(tmp_path / "elsewhere", HOLDS) / "lamp.py"
    elsewhere.write_text("raise SystemExit('this code was run')")
    for i, path in enumerate((str(elsewhere), "../elsewhere/lamp.py", "linked.py")):
        folder = scenario(tmp_path / f"mine-{i}", HOLDS.replace("lamp.py", path))
        (folder / "linked.py").symlink_to(elsewhere)
        outcome = run("check", "--scenario", folder)
        assert outcome.code == 150
        assert f"model {path!r} is outside {folder}, the given folder" in outcome.err
