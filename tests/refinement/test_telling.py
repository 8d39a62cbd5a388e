"""The reasons for a refused last step, and the step of a fix, are the same as for an equivalent invariant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from isrcheck.checker.analysis.check import check
from isrcheck.checker.analysis.compare_with_fix import compare_all_with_fixes
from isrcheck.checker.analysis.refinement.refinement_check import refine
from isrcheck.checker.analysis.replay import replay
from isrcheck.checker.registry.loader import LoadedModel, load_model_class
from isrcheck.checker.scenarios.controls import named
from isrcheck.model.language import Model, invariant
from isrcheck.model.specifications.mappings import what_leaders_commit, with_history
from tests.cli.running import run
from tests.refinement.clocks import asked, read

SIZES = {"replicas": 2, "log_size": 3, "max_records": 3}
OPTIONS = ("--profile", "bare", *(text for n, x in SIZES.items() for text in ("-s", f"{n}={x}")))


@invariant
def is_agreed(m: Any, s: Any) -> Any:
    """The true leader has what is committed."""
    return what_leaders_commit(m, s)["agreed"][0]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("recorded")
    files = {"json": folder / "out.json", "itf": folder / "out.itf.json"}
    written = [text for kind, file in files.items() for text in (f"--{kind}", str(file))]
    assert run("refine", "kip-101", *OPTIONS, "--control", "kip-279", "--quiet", *written).code == 12
    return files


def test_a_refused_step_is_told_as_an_invariant_is(recorded: dict[str, Path]) -> None:
    """A rule that a flag never becomes false is like an invariant that it is true: same trace, reasons and fix."""
    cls: type[Model] = with_history(load_model_class("kip-101").cls)
    loaded = LoadedModel(cls, "kip-101", None, {"is-agreed": is_agreed})
    result = check(loaded, SIZES, profile="bare", invariants=["is-agreed"])
    compare_all_with_fixes(result, loaded, [named("kip-279", loaded, cls(**SIZES))])
    theirs, ours = result.to_json()["invariants"]["is-agreed"], read(recorded["json"])["invariants"]
    mine = ours["refines-replicated-log"]
    assert theirs["why"]["reasons"]["reasons"]
    assert theirs["why"]["fixes"]
    for part in ("length", "trace"):
        assert mine[part] == theirs[part]
    assert mine["why"] == theirs["why"]


@pytest.mark.parametrize("form", [pytest.param("json", marks=pytest.mark.exhaustive), "itf"])
def test_a_recorded_one_is_told_alike(recorded: dict[str, Path], form: str) -> None:
    (found,) = replay(recorded[form])
    first = refine("kip-101", SIZES, profile="bare", specification="replicated-log").result.invariants
    expected = first["refines-replicated-log"]
    assert found.invariant_result is not None
    assert found.invariant_result.causes is not None
    assert found.invariant_result.causes == expected.causes
    assert found.invariant_result.instance == expected.instance
    reported = run("replay", recorded[form], "--control", "kip-279")
    assert reported.code == 12
    assert (
        "refines-replicated-log is false there: Every step of the model is allowed by replicated-log." in reported.out
    )
    assert "  The fix acts at step 15 (model = kip-279): it does otherwise" in reported.out


def test_what_may_not_be_less_is_told_by_what_made_it_less() -> None:
    """The greatest high watermark falls when broker 0 takes over the high watermark of broker 1."""
    outcome = run(
        "refine", "kip-320", "--profile", "bare", "-s", "replicas=2", "--spec-setting", "end_offsets=never-fall"
    )
    assert outcome.code == 12
    reported = outcome.out[outcome.out.index("refines-replicated-log is false there") :]
    assert "and step 12 made of them what is wrong" in reported
    assert "     9  replica[1].leader = 1\n" in reported


def test_the_control_of_a_scenario_is_told() -> None:
    outcome = run("refine", "--scenario", "alter-isr-shrink-before-it-is-granted")
    assert outcome.code == 12
    assert "  The fix acts at step " in outcome.out
    assert "(alter-isr-shrink-once-it-is-granted; isr_in_flight = maximal)" in outcome.out


def test_a_trace_of_one_state_has_no_reasons(clock: Path, tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    assert asked(clock, "too-late", "--json", file).code == 12
    (outcome,) = read(file)["invariants"].values()
    assert outcome["length"] == 1
    assert outcome["why"]["reasons"] is None
    assert run("replay", file, "--model", f"{clock}:Hands", "--quiet").code == 12
