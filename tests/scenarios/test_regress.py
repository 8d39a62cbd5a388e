"""Regression of a user's own scenarios: drift is explained, one failure does not stop the others."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from isrcheck.checker.scenarios.derived_files import Derived, as_text
from isrcheck.checker.scenarios.drift import drift
from tests.cli.running import run
from tests.scenarios.writing import HOLDS, MODEL, VIOLATED, pair, scenario


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two recorded scenarios with their own model."""
    root = pair(tmp_path / "scenarios")
    assert run("regress", root, "--update", "--workers", 1).code == 0
    return root


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def edit(path: Path, **values: Any) -> None:
    path.write_text(as_text({**json.loads(path.read_text()), **values}))


def lines(root: Path, code: int) -> list[str]:
    outcome = run("regress", root, "--workers", 1)
    assert outcome.code == code
    return outcome.out.splitlines()


def test_what_is_recorded_is_derived_again(root: Path) -> None:
    assert lines(root, 0) == [
        "as recorded      few: holds; 6 states, depth 4",
        "as recorded      many: violated: presses-are-few 3; 4 states, depth 3",
        "2 scenarios: 2 as recorded",
    ]


def test_an_update_shows_the_difference_and_leaves_the_scenario_alone(root: Path) -> None:
    before = (root / "many" / "scenario.toml").read_bytes()
    recorded = (root / "many" / "expected.json").read_bytes()
    edit(root / "many" / "expected.json", distinct=4_000)
    outcome = run("regress", root / "many", root / "few", "--update", "--workers", 1)
    assert outcome.code == 150  # the model lies beside both folders, not inside
    outcome = run("regress", root, "--update", "--workers", 1)
    assert outcome.code == 0
    assert outcome.out.splitlines()[1:4] == [
        "DRIFT            many: violated: presses-are-few 3; 4 states, depth 3",
        "  distinct: 4, recorded 4,000",
        "  rewritten: expected.json",
    ]
    assert (root / "many" / "scenario.toml").read_bytes() == before
    assert (root / "many" / "expected.json").read_bytes() == recorded


def test_a_changed_guard_is_found_at_its_level_and_action(root: Path) -> None:
    change(root / "lamp.py", "s.presses + 2 <= self.top, s.on", "s.presses + 2 <= self.top, ~s.on")
    found = lines(root, 10)
    assert found == [
        "DRIFT            few: holds; 6 states, depth 4",
        "  levels: level 2 has 2 states, recorded 1 (+1); 1 more level differs",
        "  generated: skip at level 1: 1, recorded 0 (+1); 1 more level differs",
        "  generated: press at level 2: 4, recorded 2 (+2); 1 more level differs",
        "DRIFT            many: violated: presses-are-few 3; 5 states, depth 3",
        "  levels: level 2 has 2 states, recorded 1 (+1)",
        "  generated: skip at level 1: 1, recorded 0 (+1)",
        "  generated: press at level 2: 4, recorded 2 (+2)",
        "  distinct: 5, recorded 4",
        "  trace: state 2 is reached with skip(), recorded press(who=0)",
        "2 scenarios: 2 DRIFT",
    ]
    assert run("regress", root, "--update", "--workers", 1).code == 0
    lines(root, 0)


def test_a_stricter_guard_loses_levels_and_a_violation(root: Path) -> None:
    change(root / "lamp.py", "s.require(s.presses < self.top)", "s.require(s.presses < 2)")
    change(root / "lamp.py", "s.presses + 2 <= self.top", "s.presses + 2 <= 2")
    assert lines(root, 10) == [
        "DRIFT            few: holds; 3 states, depth 3",
        "  levels: level 3 has 1 state, recorded 2 (-1); 1 more level differs",
        "  generated: skip at level 2: 0, recorded 1 (-1); 2 more levels differ",
        "  generated: press at level 3: 0, recorded 4 (-4); 1 more level differs",
        "  depth: 3, recorded 4",
        "  distinct: 3, recorded 6",
        '  vacuity.actions_never_fired: ["skip"], recorded []',
        "NOT AS EXPECTED  many: holds; 3 states, depth 3",
        "  verdict: holds, expected violated",
        "  presses-are-few: holds, expected violated in 3",
        "  trace.itf.json is recorded, but nothing is violated now",
        "  trace.txt is recorded, but nothing is violated now",
        "  verdict: holds, recorded violated",
        "  invariants.presses-are-few.length: nothing, recorded 3",
        "  invariants.presses-are-few.verdict: holds, recorded violated",
        "  levels: level 3 has 1 state, recorded 2 (-1)",
        "  generated: skip at level 2: 0, recorded 1 (-1); 1 more level differs",
        "  generated: press at level 3: 0, recorded nothing",
        "  distinct: 3, recorded 4",
        "  exit_code: 0, recorded 12",
        "  left: 0, recorded 2",
        '  vacuity.actions_never_fired: ["skip"], recorded []',
        "2 scenarios: 1 DRIFT, 1 NOT AS EXPECTED",
    ]


def test_an_unmet_expectation_stays_one_after_an_update(root: Path) -> None:
    change(root / "lamp.py", "s.presses <= self.few", "s.presses < self.few")
    change(root / "few" / "scenario.toml", "holds", "violated")
    change(root / "few" / "scenario.toml", "control", "[lengths]\ncontrol")
    change(root / "few" / "scenario.toml", 'control = "many"', "presses-are-few = 2")
    expected = [
        "NOT AS EXPECTED  few: holds; 6 states, depth 4",
        "  verdict: holds, expected violated",
        "  presses-are-few: holds, expected violated in 2",
        "NOT AS EXPECTED  many: violated: presses-are-few 3; 4 states, depth 3",
    ]
    assert lines(root, 10)[:4] == expected
    assert run("regress", root, "--update", "--workers", 1).code == 10
    assert lines(root, 10)[:4] == expected


def test_a_trace_that_is_gone(root: Path) -> None:
    change(root / "many" / "scenario.toml", "few = 2", "few = 9")
    assert lines(root, 10)[1:] == [
        "NOT AS EXPECTED  many: holds; 6 states, depth 4",
        "  verdict: holds, expected violated",
        "  presses-are-few: holds, expected violated in 3",
        "  trace.itf.json is recorded, but nothing is violated now",
        "  trace.txt is recorded, but nothing is violated now",
        "  verdict: holds, recorded violated",
        "  invariants.presses-are-few.length: nothing, recorded 3",
        "  invariants.presses-are-few.verdict: holds, recorded violated",
        "  levels: level 4 has 2 states, not recorded",
        "  generated: press at level 3: 4, recorded nothing; 1 more level differs",
        "  generated: skip at level 3: 1, recorded nothing; 1 more level differs",
        "  depth: 4, recorded 3",
        "  distinct: 6, recorded 4",
        "  exit_code: 0, recorded 12",
        "  left: 0, recorded 2",
        "  settings.few: 9, recorded 2",
        "2 scenarios: 1 NOT AS EXPECTED, 1 as recorded",
    ]
    run("regress", root, "--update", "--workers", 1)
    assert sorted(path.name for path in (root / "many").iterdir()) == ["expected.json", "scenario.toml"]


# --- recorded files that somebody has edited ------------------------------------------------------------------------


@pytest.fixture
def derived(root: Path) -> Derived:
    """The derived files of the violated scenario of the pair."""
    files = {path.name: path.read_text() for path in (root / "many").glob("*[!l]") if path.name != "scenario.toml"}
    return Derived(json.loads(files["expected.json"]), files, None)


EDITS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a level": ({"levels": [1, 2, 2]}, ["levels: level 2 has 1 state, recorded 2 (-1)"]),
    "a level more": ({"levels": [1, 1, 2, 7]}, ["levels: level 4 is missing, recorded 7"]),
    "levels that are none": ({"levels": "many"}, ["levels: [1, 1, 2], recorded many"]),
    "an action more": (
        {"generated": {"press": [2, 2], "skip": [0, 1], "wait": [0]}},
        ["generated: wait is gone"],
    ),
    "an action less": ({"generated": {"press": [2, 2]}}, ["generated: skip is new"]),
    "an action without counts": (
        {"generated": {"press": [2, 2], "skip": {"1": 0}}},
        ["generated: skip: the recorded value is not a list of counts"],
    ),
    "a length": (
        {"invariants": {"presses-are-few": {"length": 4, "verdict": "violated"}}},
        ["invariants.presses-are-few.length: 3, recorded 4"],
    ),
    "a setting": (
        {"settings": {"brokers_": 2, "few": 2, "top": True}},
        ["settings.top: 5, recorded true"],
    ),
    "what is not known": ({"more": [None]}, ["more: nothing, recorded [null]"]),
}


@pytest.mark.parametrize(("values", "reported"), EDITS.values(), ids=list(EDITS))
def test_an_edited_count_is_told(derived: Derived, values: dict[str, Any], reported: list[str]) -> None:
    old = {name: text.encode() for name, text in derived.files.items()}
    assert drift(old, derived) == []
    old["expected.json"] = as_text({**derived.summary, **values}).encode()
    assert drift(old, derived) == reported


@pytest.mark.parametrize(
    ("content", "reported"),
    [
        (b"{", "the recorded file is not JSON"),
        (b"[" * 100_000, "the recorded file is not JSON"),
        (b"\xff", "the recorded file is not JSON"),
        (b"[]", "the recorded file is not a JSON object"),
    ],
)
def test_a_damaged_recording_is_told(derived: Derived, content: bytes, reported: str) -> None:
    old = {name: text.encode() for name, text in derived.files.items()} | {
        "expected.json": content,
        "trace.itf.json": content,
    }
    assert drift(old, derived) == [f"expected.json: {reported}", f"trace.itf.json: {reported}"]


def test_other_bytes_of_the_same_content_are_told(derived: Derived) -> None:
    old = {name: text.encode() for name, text in derived.files.items()}
    counts = as_text(derived.summary).replace("[1, 1, 2]", "[1,1,2]")
    text = derived.files["trace.txt"].replace("is false", "is wrong")
    assert drift({**old, "expected.json": counts.encode(), "trace.txt": text.encode()}, derived) == [
        "expected.json: line 19 is ' \"levels\": [1, 1, 2],', recorded ' \"levels\": [1,1,2],'",
        "trace.txt: line 20 is 'presses-are-few is false there: There are few presses.', "
        "recorded 'presses-are-few is wrong there: There are few presses.'",
    ]


def test_the_first_difference_of_a_trace_is_told(derived: Derived) -> None:
    def reported(edited: Any) -> list[str]:
        old = {name: text.encode() for name, text in derived.files.items()}
        return drift({**old, "trace.itf.json": json.dumps(edited).encode()}, derived)

    trace = json.loads(derived.files["trace.itf.json"])
    first, second, third = trace["states"]
    assert reported({**trace, "states": [first, second]}) == [
        "trace: it continues to state 3 with skip(), but was recorded to end before it"
    ]
    assert reported({**trace, "states": [first, second, third, second]}) == [
        "trace: it ends with state 3, but was recorded with a further step press(who=0)"
    ]
    assert reported({**trace, "states": [first, {**second, "presses": 2}, third]}) == [
        "trace: state 2.presses: 1, recorded 2"
    ]
    assert reported({**trace, "states": [{**first, "#meta": 1}, second, third], "vars": []})[0].startswith(
        "trace: state 1"
    )
    assert reported({**trace, "states": [1]}) == ["trace.itf.json: the recorded file has no states"]


# --- what cannot run ------------------------------------------------------------------------------------------------


def test_what_cannot_run_does_not_stop_the_others(root: Path) -> None:
    scenario(root / "broken", HOLDS, MODEL.replace("s.presses += 1", "s.press += 1"))
    scenario(root / "ended", HOLDS, MODEL + "raise SystemExit(3)\n")
    scenario(root / "undefined", HOLDS, MODEL.replace("self.top)", "10)"))
    scenario(root / "damaged", "")
    found = lines(root, 75)
    assert found == [
        "NOT RUN          broken: lamp.py:21: the state has no variable 'press'; did you mean presses? "
        "known: on, presses",
        f"NOT RUN          damaged: {root}/damaged/scenario.toml: title is missing; write one line of text",
        "NOT RUN          ended: lamp.py:39: the model file calls sys.exit(); remove it",
        "as recorded      few: holds; 6 states, depth 4",
        "as recorded      many: violated: presses-are-few 3; 4 states, depth 3",
        "NOT RUN          undefined: the model cannot be evaluated in some state: lamp.py:21: presses: "
        "the value 10 is not a number from 0 to 9",
        "6 scenarios: 4 NOT RUN, 2 as recorded",
    ]


def test_a_limit_is_told_and_nothing_is_compared(root: Path) -> None:
    recorded = (root / "few" / "expected.json").read_bytes()
    outcome = run("regress", root, "--workers", 1, "--max-states", 3, "--update")
    assert outcome.code == 152
    assert outcome.out.splitlines() == [
        "NOT RUN          few: more than 3 states (--max-states)",
        "as recorded      many: violated: presses-are-few 3; 4 states, depth 3",
        "2 scenarios: 1 NOT RUN, 1 as recorded",
    ]
    assert (root / "few" / "expected.json").read_bytes() == recorded


def test_a_process_that_is_killed_takes_no_other_scenario_with_it(root: Path) -> None:
    scenario(
        root / "killed",
        HOLDS,
        "import os\n"
        + MODEL.replace('"""There are few', '"""').replace(
            "    def variables(self):\n", "    def variables(self):\n        os._exit(9)\n"
        ),
    )
    outcome = run("regress", root, "--workers", 2)
    assert outcome.code == 152
    assert outcome.out.splitlines() == [
        "as recorded      few: holds; 6 states, depth 4",
        "NOT RUN          killed: its process ended: out of memory, or the model calls sys.exit()",
        "as recorded      many: violated: presses-are-few 3; 4 states, depth 3",
        "3 scenarios: 1 NOT RUN, 2 as recorded",
    ]


def test_each_model_has_the_neighbours_of_its_own_folder(tmp_path: Path) -> None:
    for name, top in (("one", 1), ("two", 2)):
        text = HOLDS.replace('control = "many"\n', "")
        folder = scenario(
            tmp_path / name,
            text,
            MODEL.replace("setting(5", "setting(words.TOP", 1).replace("\n\n", "\n\nimport words\n", 1),
        )
        (folder / "words.py").write_text(f"TOP = {top}\n")
    found = [line for line in lines(tmp_path, 10) if line.startswith("DRIFT")]
    assert found == ["DRIFT            one: holds; 2 states, depth 2", "DRIFT            two: holds; 3 states, depth 3"]


def test_a_deadlock_has_a_length_and_a_trace(tmp_path: Path) -> None:
    text = (
        VIOLATED.replace('control = "few"\n', "deadlock = true\n")
        .replace("few = 2", "top = 1")
        .replace("presses-are-few = 3", "deadlock = 2")
    )
    folder = scenario(tmp_path / "stuck", text)
    assert run("regress", folder, "--update").code == 0
    assert (folder / "trace.txt").read_text().startswith("Counterexample: deadlock\n")
    assert run("replay", folder / "trace.itf.json", "--model", folder / "lamp.py").code == 11


# --- controls -------------------------------------------------------------------------------------------------------


def test_a_control_that_is_none_is_told(root: Path) -> None:
    change(root / "few" / "scenario.toml", 'control = "many"', 'control = ["many", "nobody"]\ndeadlock = true')
    change(root / "many" / "scenario.toml", '"../lamp.py"', '"lamp.py"')
    (root / "lamp.py").rename(root / "many" / "lamp.py")
    (root / "few" / "lamp.py").write_text(MODEL)
    change(root / "few" / "scenario.toml", '"../lamp.py"', '"lamp.py"')
    found = lines(root, 10)
    assert [line for line in found if "control" in line] == [
        "  control many: model and settings differ; a pair differs in exactly one of model, settings and fairness",
        "  control many: it checks different invariants",
        "  control nobody: there is no such scenario next to this one, or its scenario.toml is damaged",
        "  control few: model and settings differ; a pair differs in exactly one of model, settings and fairness",
        "  control few: it checks different invariants",
    ]


def test_a_control_names_its_partner_and_has_another_verdict(root: Path) -> None:
    change(root / "few" / "scenario.toml", 'control = "many"', 'control = "other"')
    scenario(root / "other", HOLDS.replace("lamp.py", "../lamp.py"), None)
    found = lines(root, 10)
    assert [line for line in found if "control" in line] == [
        "  control other: it does not name few as its control",
        "  control other: both expect holds",
        "  control other: model, settings and fairness are the same; a pair differs in exactly one of "
        "model, settings and fairness",
        "  control few: it does not name many as its control",
        "  control many: it does not name other as its control",
    ]


def test_an_interrupt_of_a_terminal_while_processes_begin_is_one_line() -> None:
    """A terminal sends the interrupt to all processes of the command, which form their own group here."""
    command = [sys.executable, "-m", "isrcheck", "regress", "--shipped", "--workers", "2"]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, start_new_session=True, **pipes) as process:
        while sum("spawn_main" in " ".join(child.cmdline()) for child in psutil.Process(process.pid).children()) < 2:
            time.sleep(0.01)
        time.sleep(0.1)  # they import what they need
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate()
    assert (process.returncode, err) == (130, b"isrcheck: interrupted\n")


@pytest.mark.parametrize("more", [(), ("--in", "some")], ids=["in its own place", "in another folder"])
@pytest.mark.parametrize("begun", [("scenarios", "new"), ("init", "scenario")], ids=" ".join)
def test_the_command_that_a_new_scenario_names_takes_it(
    begun: tuple[str, str], more: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "lamp.py").write_text(MODEL)
    made = run(*begun, "lit", "--model", "mine/lamp.py", "--invariant", "presses-are-few", *more)
    assert made.code == 0
    _, _, command = made.out.strip().rpartition("then run: isrcheck ")
    outcome = run(*command.split())
    assert (outcome.code, outcome.out.splitlines()[-1]) == (0, "1 scenario: 1 as recorded")
    (said,) = run(*begun, "lit", "--model", "mine/lamp.py", *more).err.splitlines()
    assert run(*said.rpartition("run: isrcheck ")[2].split()).code == 0
