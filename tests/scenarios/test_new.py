"""`regress` confirms a scenario that the command line has begun; missing parts are reported, with a remedy."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from isrcheck.checker.scenarios.scenario import read
from tests.cli.running import counter, run

KIP_101 = ("--model", "kip-101", "-s", "replicas=2")


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_violation_is_written_with_its_lengths_and_its_trace() -> None:
    begun = run("scenarios", "new", "lost", *KIP_101, "--invariant", "weak-isr")
    assert (begun.code, begun.err) == (0, "")
    folder = Path("counterexamples/kip-101/lost")
    assert begun.out.splitlines() == [
        f"{folder}: violated: weak-isr 12",
        f"write title, source, story and control in {folder}/scenario.toml, then run: isrcheck regress "
        f"{folder} --update",
    ]
    assert sorted(os.listdir(folder)) == ["expected.json", "scenario.toml", "trace.itf.json", "trace.txt"]
    scenario = read(folder)
    assert (scenario.settings, scenario.invariants, scenario.lengths) == (
        {"replicas": 2},
        ("weak-isr",),
        {"weak-isr": 12},
    )
    assert run("regress").code == 0
    assert run("check", "--scenario", "lost").code == 12
    assert run("scenarios").out.startswith("lost  kip-101  violated, 12 states\n  To be written")


def test_what_holds_has_no_lengths() -> None:
    assert run("scenarios", "new", "fine", "--model", "kip-101", "-s", "replicas=1").code == 0
    assert read(Path("counterexamples/kip-101/fine")).expect == "holds"
    assert run("regress").code == 0


def test_another_scenario_of_a_model_is_made_beside_the_first(tmp_path: Path) -> None:
    run("scenarios", "new", "one", *KIP_101, "--in", "counterexamples/log-truncation")
    run("scenarios", "new", "two", *KIP_101, "--continue")
    assert sorted(os.listdir("counterexamples/log-truncation")) == ["one", "two"]


def test_a_model_of_ones_own_is_named_from_the_folder(tmp_path: Path) -> None:
    model = counter(tmp_path)
    assert run("scenarios", "new", "mine", "--model", str(model), "--in", str(tmp_path / "asked")).code == 0
    assert read(tmp_path / "asked/mine").model == "../../counter.py"
    assert run("regress", str(tmp_path)).code == 0
    outside = run("check", "--scenario", str(tmp_path / "asked/mine"))
    assert (outside.code, "is outside" in outside.err) == (150, True)


def test_another_scenario_of_a_model_of_ones_own_is_made_beside_the_first(tmp_path: Path) -> None:
    model = str(counter(tmp_path))
    run("scenarios", "new", "one", "--model", model, "--in", "counterexamples/own")
    run("scenarios", "new", "two", "--model", model)
    assert sorted(os.listdir("counterexamples/own")) == ["one", "two"]


def test_what_is_there_is_left_alone() -> None:
    assert run("scenarios", "new", "lost", *KIP_101).code == 0
    toml = Path("counterexamples/kip-101/lost/scenario.toml")
    toml.write_text(toml.read_text().replace("To be written: what", "What"))
    before = toml.read_text()
    for words in ((*KIP_101,), ("--model", "v1"), (*KIP_101, "--in", "counterexamples/kip-101")):
        again = run("scenarios", "new", "lost", *words)
        assert (again.code, again.out) == (153, "")
        assert again.err == (
            "isrcheck: counterexamples/kip-101/lost already exists; choose another name, or run: "
            "isrcheck regress counterexamples/kip-101/lost\n"
        )
    assert toml.read_text() == before


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("lost", "--model", "kip-100"), 150, "there is no model 'kip-100'"),
        (("lost", "--model", "kip-101", "-s", "x=1"), 150, "model kip-101 has no setting 'x'"),
        (("lost", "--model", "kip-101", "--invariant", "x"), 150, "'x'"),
        (("a/b", "--model", "kip-101"), 2, "'a/b' is not a folder name; use --in to say where to create it"),
        (("lost",), 2, "Missing option '--model'"),
        ((), 2, "Missing argument 'NAME'"),
    ],
)
def test_a_mistake_leaves_no_folder(words: tuple[str, ...], code: int, message: str) -> None:
    refused = run("scenarios", "new", *words)
    assert (refused.code, refused.out) == (code, "")
    assert message in refused.err
    assert not list(Path().rglob("scenario.toml"))


def test_missing_lengths_are_told_where_they_are_found() -> None:
    run("scenarios", "new", "lost", *KIP_101, "--continue")
    toml = Path("counterexamples/kip-101/lost/scenario.toml")
    toml.write_text(toml.read_text().partition("\n[lengths]")[0])
    line = "no lengths are expected; add [lengths] to scenario.toml, followed by strong-isr = 12, weak-isr = 12"
    found = run("regress")
    assert (found.code, found.out.splitlines()[1].strip()) == (10, line)
    assert line in run("check", "--scenario", "lost", "--quiet").out
    assert run("scenarios").out.startswith("lost  kip-101  violated\n  ")


@pytest.mark.exhaustive
def test_a_control_may_be_in_another_group() -> None:
    run("scenarios", "new", "lost", *KIP_101, "--invariant", "weak-isr")
    run("scenarios", "new", "kept", "--model", "kip-320", "-s", "replicas=2", "--invariant", "weak-isr")
    for name, group, other in (("lost", "kip-101", "kept"), ("kept", "kip-320", "lost")):
        toml = Path("counterexamples") / group / name / "scenario.toml"
        toml.write_text(f'control = "{other}"\n{toml.read_text()}')
    assert "The fix acts at step 12 (kept; model = kip-320)" in run("regress", "counterexamples", "--update").out
    assert run("regress").code == 0
    assert run("regress", "counterexamples/kip-101").out.splitlines()[0].startswith("as recorded")
