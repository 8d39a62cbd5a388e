"""Where fixes act: the step at which a control departs from a recorded trace, and the cause."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

import isrcheck.checker
from isrcheck.checker.analysis import compare_with_fix
from isrcheck.checker.analysis.compare_with_fix import fixed_version
from isrcheck.checker.results.story import Fix
from isrcheck.checker.scenarios.controls import fixed_versions_of
from isrcheck.checker.trace.fixed_run import fix
from tests.cli.running import run
from tests.marks import one_in
from tests.scenarios.shipped import FOLDERS
from tests.traces.walks import VIOLATED, walk

SCHEMA = json.loads((Path(isrcheck.checker.__file__).parent / "schema.json").read_text())


def found(name: str) -> Fix:
    scenario, loaded, invariant, evaluated = walk(name)
    return fix(evaluated, invariant, fixed_versions_of(scenario, loaded, {})[0])


@pytest.mark.parametrize(
    ("name", "how", "step"),
    [
        ("kip-101", "differs", 12),
        ("v1-split-brain", "refused", 9),  # a version counter that the unfixed model does not keep differs at 7
        ("v2-two-leaders-share-an-epoch", "refused", 12),
        ("v3-one-epoch-two-leaders", "refused", 9),
        ("v3-unclean-election", "refused", 6),
        ("v3-stale-high-watermark", "differs", 6),
        ("majority-vote-for-the-longest-log", "refused", 13),
        ("alter-isr-request-of-a-former-life", "refused", 10),
        ("v3-late-truncation-answer", "refused", 27),
        ("v3-acks-one", "absent", 3),
    ],
)
def test_the_fix_acts_where_its_document_says(name: str, how: str, step: int) -> None:
    reported = found(name)
    assert (reported.how, reported.step) == (how, step)


def test_a_refusal_says_where_by_what_and_how_old_that_is() -> None:
    reported = found("v3-one-epoch-two-leaders")
    assert reported.changes == (("isr_write", "unconditional", "conditional"),)
    assert reported.where is not None
    assert reported.where.startswith("v3.py:")
    assert (reported.source, reported.condition) == (
        "state.version == replica.version",
        "state[0].version != replica[0][0].version",
    )
    assert [(read.path, read.value, read.since) for read in reported.reads] == [
        ("state[0].version", "1", 4),
        ("replica[0][0].version", "0", 1),
    ]


def test_what_the_control_alone_has_is_told_with_its_age() -> None:
    """KIP-101: broker 0, which restarted in step 17, must ask its leader before it fetches."""
    reported = found("v3-lost-unflushed-tail")
    assert (reported.how, reported.step) == ("refused", 18)
    assert [(read.path, read.value, read.since) for read in reported.reads] == [
        ("replica[0][0].truncating", "true", 17)
    ]


def test_a_difference_is_told_with_what_it_was_computed_from() -> None:
    reported = found("kip-101")
    assert [(d.path, d.here, d.fixed) for d in reported.differs] == [("log[1]", "[]", "[0: (id 0, epoch 0)]")]
    assert ("replica[1].high_watermark", "0", 1) in [(r.path, r.value, r.since) for r in reported.rests_on]
    assert reported.changes == (("model", "kip-101", "kip-279"),)


def test_a_fix_may_allow_every_step_and_go_on() -> None:
    reported = found("v2-isr-waits-for-a-write")
    assert (reported.how, reported.step, reported.verdict) == ("allows", None, "holds")
    assert "expand-isr(p=0, b=0, follower=1)" in reported.enabled


@pytest.mark.parametrize("name", ["kip-101", "kip-279", "v1-split-brain", "v3-one-epoch-two-leaders"])
def test_an_unfixed_design_is_no_fix_of_itself(name: str) -> None:
    scenario, loaded, invariant, evaluated = walk(name)
    same = fixed_version("itself", loaded, scenario.settings, evaluated.model, loaded.name)
    reported = fix(evaluated, invariant, same)
    assert (reported.how, reported.verdict, reported.enabled, reported.changes) == ("allows", "violated", (), ())


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", one_in(8, VIOLATED))
def test_every_control_that_ships_parts_from_its_trace_or_heals_it(name: str) -> None:
    scenario, loaded, invariant, evaluated = walk(name)
    for each in fixed_versions_of(scenario, loaded, {}):
        reported = fix(evaluated, invariant, each)
        assert reported.how != "allows" or reported.verdict == "holds"


TRACE = FOLDERS["truncate-to-hw"] / "trace.itf.json"


def test_replay_and_show_ask_for_a_control_by_name(tmp_path: Path) -> None:
    line = (
        "  The fix acts at step 9 (model = kip-101): it does otherwise\n     log[1]  [] here, [0: (id 0, epoch 0)] with"
    )
    path = tmp_path / "r.json"
    outcome = run("replay", TRACE, "--control", "kip-101", "--json", path)
    assert outcome.code == 12
    assert line in outcome.out
    assert line in run("replay", TRACE, "--control", "kip-101").out
    data = json.loads(path.read_text())
    Draft202012Validator(SCHEMA).validate(data)
    (reported,) = data["traces"][0]["why"]["fixes"]
    assert (reported["how"], reported["step"], reported["changes"]) == (
        "differs",
        9,
        {"model": ["truncate-to-hw", "kip-101"]},
    )


def test_a_line_does_not_wait_for_where_a_fix_acts_but_a_file_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Walking a dozen traces with their controls takes longer than finding the traces."""
    asked: list[str] = []
    monkeypatch.setattr(
        compare_with_fix, "compare_all_with_fixes", lambda result, loaded, fixed_versions: asked.append(result.model)
    )
    question = ("check", "--scenario", "v3-unclean-election", "--quiet")
    assert run(*question).code == 12
    assert asked == []
    wrong = run(*question, "--control", "unclaen=false")
    assert (wrong.code, asked) == (150, [])
    for file in ("--json", "--html", "--junit"):
        assert run(*question, file, tmp_path / "file").code == 12
    assert run(*question, "--github").code == 12
    assert asked == ["v3"] * 4


def test_a_control_is_settings_or_a_scenario_or_a_model(tmp_path: Path) -> None:
    trace = FOLDERS["v3-unclean-election"] / "trace.itf.json"
    by_setting = run("replay", trace, "--control", "unclean=false")
    by_name = run("replay", trace, "--control", "v3-unclean-election-forbidden")
    assert "The fix acts at step 6 (unclean = false): it refuses this step" in by_setting.out
    assert "The fix acts at step 6 (v3-unclean-election-forbidden; unclean = false): it refuses this" in by_name.out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("unclaen=false", "model v3 has no setting 'unclaen'; did you mean unclean?"),
        ("unclean=perhaps", "unclean"),
        ("v3-uncle", "there is no scenario 'v3-uncle'"),
    ],
)
def test_a_control_that_is_none_is_refused(text: str, message: str) -> None:
    outcome = run("replay", FOLDERS["v3-unclean-election"] / "trace.itf.json", "--control", text)
    assert outcome.code == 150
    assert message in outcome.err
    assert len(outcome.err.splitlines()) == 1


def test_a_fix_of_several_settings_is_told_setting_by_setting_too(tmp_path: Path) -> None:
    """Each setting is described as if it were the whole fix."""
    recorded = FOLDERS["v2-as-written"] / "trace.itf.json"
    run("replay", recorded, "--control", "v2-with-later-fixes", "--json", tmp_path / "all.json", "--quiet")
    reported = json.loads((tmp_path / "all.json").read_text())["traces"][0]["why"]["fixes"][0]
    assert list(reported["changes"]) == ["truncation", "lagging_replica", "new_epoch", "isr_write"]
    assert [list(each["changes"]) for each in reported["singly"]] == [[name] for name in reported["changes"]]
    for each in reported["singly"]:
        ((name, (_, value)),) = each["changes"].items()
        run("replay", recorded, "--control", f"{name}={value}", "--json", tmp_path / "one.json", "--quiet")
        (alone,) = json.loads((tmp_path / "one.json").read_text())["traces"][0]["why"]["fixes"]
        assert (each["how"], each["step"], each["verdict"]) == (alone["how"], alone["step"], alone["verdict"]), name
        assert alone["singly"] == []
    assert len({each["how"] for each in reported["singly"]}) > 1, "not all of them act"
    text = run("replay", recorded, "--control", "v2-with-later-fixes").out
    assert "Of its changes alone" in text
    assert "truncation = kip-279       allows every step, and the violation is there" in text
