"""Traces of refinements that are replayed and judged again, or refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.running import run
from tests.refinement.clocks import asked


@pytest.fixture
def recorded(clock: Path, tmp_path: Path) -> dict[str, Path]:
    files = {"json": tmp_path / "out.json", "itf": tmp_path / "out.itf.json"}
    assert asked(clock, "by-the-large-hand", "--json", files["json"], "--itf", files["itf"]).code == 12
    return files


@pytest.mark.parametrize("form", ["json", "itf"])
def test_a_trace_is_walked_and_judged_again(clock: Path, recorded: dict[str, Path], form: str) -> None:
    outcome = run("replay", recorded[form], "--model", f"{clock}:Hands", "--quiet")
    assert (outcome.code, outcome.err) == (12, "")
    said = "VALID  refines-clock:Clock: 5 states, ends in a step that the specification does not allow\n"
    assert outcome.out == said
    assert run("replay", recorded[form], "--model", f"{clock}:Hands", "--expect-violation", "--quiet").code == 0
    reported = run("replay", recorded[form], "--model", f"{clock}:Hands")
    assert "  5  hand  " in reported.out


@pytest.mark.parametrize("form", ["json", "itf"])
def test_the_state_of_the_specification_is_told_beside_the_models(
    clock: Path, recorded: dict[str, Path], form: str
) -> None:
    """The story is that of `refine` itself, from the head of the trace to the false condition at its end."""
    first = asked(clock, "by-the-large-hand").out
    story = first[first.index("Counterexample") : first.index("is false there")]
    assert "clock:Clock.hour" in story
    assert story in run("replay", recorded[form], "--model", f"{clock}:Hands").out
    values = run("replay", recorded[form], "--model", f"{clock}:Hands", "--expression", "s.large").out
    assert values.startswith("VALID") and "\ns.large\n  1  " in values


def test_a_page_has_both_states(clock: Path, recorded: dict[str, Path], tmp_path: Path) -> None:
    page = tmp_path / "shown.html"
    assert run("replay", recorded["json"], "--model", f"{clock}:Hands", "--html", page).code == 12
    assert "clock:Clock.hour" in page.read_text()


def test_a_shipped_one_needs_no_file(tmp_path: Path) -> None:
    """The shipped mapping determines the model with its history."""
    file = tmp_path / "out.json"
    sizes = ("-s", "replicas=2", "-s", "log_size=3", "-s", "max_records=3")
    assert run("refine", "kip-101", "--profile", "bare", *sizes, "--json", file, "--quiet").code == 12
    outcome = run("replay", file, "--quiet")
    assert outcome.code == 12
    assert outcome.out.startswith("VALID  refines-replicated-log: 17 states, ends in a step")


@pytest.mark.parametrize(
    ("kept", "message"),
    [
        (slice(0, 4), "INVALID  refines-clock:Clock: the specification allows step 4\n"),
        (slice(1, 5), "INVALID  refines-clock:Clock: the first state is not an initial state of the model\n"),
    ],
)
def test_a_part_of_it_is_none(clock: Path, recorded: dict[str, Path], kept: slice, message: str) -> None:
    data = json.loads(recorded["json"].read_text())
    invariant_outcome = data["invariants"]["refines-clock:Clock"]
    invariant_outcome["trace"] = invariant_outcome["trace"][kept]
    recorded["json"].write_text(json.dumps(data))
    outcome = run("replay", recorded["json"], "--model", f"{clock}:Hands", "--quiet")
    assert outcome.code == 10
    assert outcome.out.startswith(message)


def test_a_step_that_a_larger_specification_allows_is_none(clock: Path, recorded: dict[str, Path]) -> None:
    """By another mapping, every step of the same trace is one hour or nothing."""
    text = recorded["json"].read_text()
    recorded["json"].write_text(text.replace('"by-the-large-hand"', '"by-the-small-hand"'))
    outcome = run("replay", recorded["json"], "--model", f"{clock}:Hands", "--quiet")
    assert (outcome.code, outcome.out) == (10, "INVALID  refines-clock:Clock: the specification allows step 5\n")


def test_where_a_mapping_has_no_value_is_confirmed(clock: Path, tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    assert asked(clock, "of-two-hours", "--json", file).code == 75
    outcome = run("replay", file, "--model", f"{clock}:Hands", "--quiet")
    assert (outcome.code, outcome.out) == (
        75,
        "VALID  evaluation: 7 states, the model is undefined in the last state\n",
    )


@pytest.mark.parametrize(
    ("found", "instead", "message"),
    [
        ('"at_most": null', '"at_most": 0', "refinement.at_most is 0, which is not a number of steps"),
        ('"mapping": "by-the-large-hand"', '"mapping": 3', "refinement.mapping is missing or not a string"),
    ],
)
def test_a_damaged_file_is_refused(
    clock: Path, recorded: dict[str, Path], found: str, instead: str, message: str
) -> None:
    text = recorded["json"].read_text()
    assert found in text
    recorded["json"].write_text(text.replace(found, instead))
    outcome = run("replay", recorded["json"], "--model", f"{clock}:Hands")
    assert (outcome.code, outcome.err) == (150, f"isrcheck: {recorded['json']}: {message}\n")


def test_a_file_chooses_no_code(clock: Path, recorded: dict[str, Path]) -> None:
    """A user's own specification is loaded only from the file that the user names."""
    text = recorded["json"].read_text()
    for name in ("other:Clock", f"{clock}:Clock", str(clock)):
        recorded["json"].write_text(text.replace('"specification": "clock:Clock"', f'"specification": "{name}"'))
        outcome = run("replay", recorded["json"], "--model", f"{clock}:Hands")
        said = f"its specification {name!r} is neither shipped nor in the --model file"
        assert (outcome.code, outcome.err) == (150, f"isrcheck: {recorded['json']}: {said}\n")
