"""`isrcheck check --scenario` and `isrcheck scenarios`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from isrcheck.checker.scenarios.scenario import KEYS, read
from tests.cli.running import run
from tests.scenarios.shipped import FOLDERS
from tests.scenarios.writing import HOLDS, VIOLATED, scenario

ROOT = Path(__file__).parents[2]


@pytest.fixture
def many(tmp_path: Path) -> Path:
    return scenario(tmp_path / "many", VIOLATED)


@pytest.mark.parametrize("engine", ["local", "reference"])
def test_a_check_says_that_its_expectation_is_met(many: Path, engine: str) -> None:
    outcome = run("check", "--scenario", many, "--engine", engine)
    assert outcome.code == 12
    assert outcome.out.startswith("VIOLATED  lamp: presses-are-few in 3 states\n")
    assert outcome.out.endswith(
        "\n\nScenario many\n  Too many presses\n  as expected: violated, presses-are-few in 3 states\n"
    )


def test_an_expectation_that_is_not_met_is_a_difference(many: Path) -> None:
    scenario(many.parent / "few", HOLDS.replace('control = "many"\n', "[settings]\nfew = 2"))
    outcome = run("check", "--scenario", many.parent / "few", "--quiet")
    assert outcome.code == 12
    assert outcome.out.splitlines() == [
        "VIOLATED  lamp: presses-are-few in 3 states",
        "Scenario few",
        "  Few presses",
        "  NOT AS EXPECTED",
        "    verdict: violated, expected holds",
        "    presses-are-few: violated in 3 states, expected no violation",
    ]
    text = (many / "scenario.toml").read_text()
    (many / "scenario.toml").write_text(text.replace("few = 2", "few = 9"))
    outcome = run("check", "--scenario", many, "--quiet", "--json", many / "out.json")
    assert outcome.code == json.loads((many / "out.json").read_text())["exit_code"] == 10
    assert outcome.out.splitlines()[0] == "HOLDS  lamp: presses-are-few; all of 6 states, depth 4"
    assert outcome.out.splitlines()[3:] == [
        "  NOT AS EXPECTED",
        "    verdict: holds, expected violated",
        "    presses-are-few: holds, expected violated in 3",
    ]


def test_other_settings_are_said_and_nothing_is_expected_of_them(many: Path) -> None:
    outcome = run("check", "--scenario", many, "-s", "few=9", "-s", "top=6", "--quiet")
    assert outcome.code == 0
    assert outcome.out.splitlines()[3:] == [
        "  not compared with the expectation, because these settings differ from the scenario:",
        "    few  9, in the scenario 2",
        "    top  6, in the scenario the default",
    ]
    for same in (("-s", "few=2"), ("-s", "top=5"), ("-s", "few=2", "-s", "top=5")):  # also the default itself
        outcome = run("check", "--scenario", many, *same, "--quiet")
        assert outcome.out.splitlines()[-1] == "  as expected: violated, presses-are-few in 3 states"


def test_a_scenario_says_itself_what_is_checked(many: Path) -> None:
    outcome = run("check", "kip-101", "--scenario", many, "--continue")
    assert (outcome.code, outcome.err.splitlines()[-1]) == (
        2,
        "Error: --scenario already determines what to check; remove --continue",
    )
    outcome = run("check")
    assert (outcome.code, outcome.err.splitlines()[-1]) == (2, "Error: Missing argument 'MODEL', or --scenario.")


def test_an_unknown_scenario_leaves_its_json(many: Path) -> None:
    outcome = run("check", "--scenario", many / "nothing", "--json", many / "out.json")
    data = json.loads((many / "out.json").read_text())
    assert (outcome.code, data["exit_code"], data["model"]) == (150, 150, str(many / "nothing"))
    assert outcome.err == f"isrcheck: {data['reason']}\n"


def test_the_list_of_scenarios(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(many.parent)
    assert run("scenarios", "many").out == "many  lamp.py  violated, 3 states\n  Too many presses\n"
    assert run("scenarios", ".", "many/scenario.toml").out == run("scenarios", "many").out
    (found,) = json.loads(run("scenarios", "many", "--json").out)
    assert (found["name"], found["folder"], found["lengths"]) == ("many", "many", {"presses-are-few": 3})


def test_the_list_loads_no_engine() -> None:
    heavy = "numba", "llvmlite", "numpy", "rich"
    code = f"""
import sys
from isrcheck.checker.cli import main
try:
    main(["scenarios"])
except SystemExit:
    pass
print(sorted(set({heavy}) & set(sys.modules)))
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True).stdout
    assert out.splitlines()[-1] == "[]"
    assert any(line.startswith("kip-101 ") for line in out.splitlines())


def test_a_name_is_looked_up_in_the_default_folder_first(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(many.parent)
    assert run("check", "--scenario", "many", "--quiet").out.splitlines()[2] == "  Too many presses"
    scenario(many.parent / "counterexamples" / "many", VIOLATED.replace("Too many", "Far too many"))
    assert run("check", "--scenario", "many", "--quiet").out.splitlines()[2] == "  Far too many presses"
    assert run("check", "--scenario", "./many", "--quiet").out.splitlines()[2] == "  Too many presses"
    assert run("regress", "--update").out.splitlines()[-2] == "  rewritten: expected.json, trace.itf.json, trace.txt"


def test_shipped_scenarios_are_meant_where_there_are_none_of_ones_own(
    many: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(many.parent)
    shipped = {path.parent.name for path in ROOT.glob("counterexamples/**/scenario.toml")}
    assert {each["name"] for each in json.loads(run("scenarios", "--json").out)} == shipped
    assert run("check", "--scenario", "truncate-to-hw", "--quiet").code == 12
    refused = run("regress", "--update")
    assert (refused.code, refused.err.splitlines()[-1]) == (
        2,
        "Error: --update does not rewrite the scenarios that ship with isrcheck; choose your own folder",
    )
    # A project's own come first, be they in its folder or at a path; the shipped ones can still be asked for.
    scenario(many.parent / "truncate-to-hw", VIOLATED)
    assert run("check", "--scenario", "truncate-to-hw", "--quiet").out.startswith("VIOLATED  lamp: ")
    scenario(many.parent / "counterexamples" / "many", VIOLATED)
    assert [each["name"] for each in json.loads(run("scenarios", "--json").out)] == ["many"]
    assert {each["name"] for each in json.loads(run("scenarios", "--shipped", "--json").out)} == shipped
    assert run("regress", "--shipped", "--update").code == 2
    both = run("scenarios", "--shipped", "many")
    assert (both.code, both.err.splitlines()[-1]) == (
        2,
        "Error: --shipped and PATH both name scenarios; remove one of them",
    )


def test_the_page_on_scenarios_has_every_key_and_a_real_example(tmp_path: Path) -> None:
    page = (ROOT / "docs/how-to/scenarios.md").read_text()
    example, _ = re.findall(r"^```toml\n(.*?)^```", page, re.S | re.M)
    (tmp_path / "scenario.toml").write_text(example)
    shown, shipped = read(tmp_path), read(FOLDERS["truncate-to-hw"])
    assert (shown.settings, shown.lengths, shown.title) == (shipped.settings, shipped.lengths, shipped.title)
    assert set(tomllib.loads(example)) <= KEYS.keys()
    assert set(re.findall(r"^\| `(\w+)` \|", page, re.M)) == KEYS.keys()


VARIANT = """
from isrcheck.model.designs.kraft import Kraft


class Mine(Kraft):
    '''A leader takes fetches of every epoch.'''

    {rule}
"""


def test_the_rules_of_a_variant_at_the_settings_of_a_scenario(tmp_path: Path) -> None:
    file, scenario = tmp_path / "mine.py", "kraft-fetch-of-an-earlier-epoch-fixed-by-kip-320"
    for rule in ("fetch_fencing = False", "fetch_fencing = Kraft.fetch_fencing.with_default(False)"):
        file.write_text(VARIANT.format(rule=rule))
        found = run("check", file, "--scenario", scenario, "--json", tmp_path / "found.json")
        lacking = "three changes that it lacks: equal_version, fetch_fencing, follower_state"
        about = f"mine (a variant of Kafka 4.4 with {lacking})"
        assert found.out.splitlines()[0] == f"VIOLATED  {about}: isr-has-what-is-committed in 10 states"
        assert found.out.splitlines()[-1] == "  nothing is expected of another model than the scenario's, kraft"
        change = json.loads((tmp_path / "found.json").read_text())["change"]
        assert change["settings"] == {"fetch_fencing": {"here": False, "base": True}}
        assert (change["acts"], change["depth"]) == (True, 4)
    file.write_text(VARIANT.format(rule="pass"))
    found = run("check", file, "--scenario", scenario, "--quiet")
    assert found.out.splitlines()[0].endswith("your change never acts at these settings: nothing was asked about it")
    assert run("check", "kraft", "--scenario", scenario, "--quiet").out.splitlines()[-1] == "  as expected: holds"
    other = run("check", "--scenario", scenario, "-s", "kafka=4.2", "--quiet").out
    assert "kraft (Kafka 4.2): " in other
    assert "    equal_version       overrides, in the scenario keeps-pending" in other.splitlines()


def test_a_model_of_another_family_has_no_settings_of_the_scenario(many: Path) -> None:
    outcome = run("check", "v3", "--scenario", "kraft-fetch-of-an-earlier-epoch")
    line = "model v3 does not inherit from kraft, the model of scenario kraft-fetch-of-an-earlier-epoch"
    assert (outcome.code, outcome.err) == (150, f"isrcheck: {line}; name a variant of it\n")
