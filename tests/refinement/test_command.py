"""`isrcheck refine`: its output, its files and its refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from isrcheck.checker.analysis.refinement.step_comparison import Watching
from tests.cli.running import run
from tests.refinement.clocks import asked, read

# --- verdicts -------------------------------------------------------------------------------------------------------


def test_what_refines_exits_0(clock: Path, tmp_path: Path) -> None:
    outcome = asked(clock, "by-the-small-hand", "--json", tmp_path / "out.json")
    assert outcome.code == 0
    first, *rest = outcome.out.splitlines()
    assert first == "HOLDS  clock:Hands: refines-clock:Clock; all of 8 states, depth 8"
    assert rest[rest.index("Specification clock:Clock") :] == [
        "Specification clock:Clock",
        "  mapping                            by-the-small-hand",
        "  top                                3",
        "  its steps per model step           any number",
        "  its states that the model maps to  4",
        "  its steps that the model maps to   3",
    ]
    data = read(tmp_path / "out.json")
    assert data["invariants"] == {"refines-clock:Clock": {"verdict": "holds"}}
    assert data["refinement"] == {
        "specification": "clock:Clock",
        "specification_settings": {"top": 3},
        "mapping": "by-the-small-hand",
        "at_most": None,
        "states": 4,
        "steps": 3,
        "beside": [],
        "refused": [],
    }


def test_what_does_not_exits_12_with_both_states(clock: Path, tmp_path: Path) -> None:
    outcome = asked(clock, "by-the-large-hand", "--json", tmp_path / "out.json")
    assert outcome.code == 12
    lines = outcome.out.splitlines()
    assert lines[0] == "VIOLATED  clock:Hands: refines-clock:Clock in 5 states"
    reported = lines[lines.index("Counterexample: refines-clock:Clock") :]
    assert "     clock:Clock.hour   0" in reported
    changes = [line.split() for line in reported]
    assert ["clock:Clock.hour", "0", "->", "1"] in changes
    assert ["clock:Clock.early", "true", "->", "false"] in changes
    assert reported[
        reported.index("refines-clock:Clock is false there: Every step of the model is allowed by clock:Clock.") :
    ][1:4] == [
        "  for k 2, where",
        "     small  2",
        "  Two things came together, and step 5 made of them what is wrong:",
    ]
    assert reported[-2:] == [
        "What clock:Clock does not allow",
        "  early  true -> false  no specification action allows this change",
    ]
    found = read(tmp_path / "out.json")
    assert found["exit_code"] == 12
    assert found["invariants"]["refines-clock:Clock"]["length"] == 5
    assert found["invariants"]["refines-clock:Clock"]["why"]["choice"] == {"k": 2}
    # A state of the specification for each of the trace; what the model's own states are stays as it is.
    assert [each["hour"] for each in found["refinement"]["beside"]] == [0, 1, 2, 3, 3]
    assert set(found["invariants"]["refines-clock:Clock"]["trace"][0]["state"]) == {"small", "large"}
    assert found["refinement"]["refused"] == [
        {"path": "early", "old": "true", "new": "false", "said": "no specification action allows this change"}
    ]


def test_how_many_steps_one_may_be(clock: Path) -> None:
    """A jump of two hours is not one step of a clock, but two steps."""
    text = clock.read_text()
    clock.write_text(text.replace('"hour": s.small, "early": True}', '"hour": s.small * 2, "early": True}', 1))
    more = ("-s", "top=1", "--spec-setting", "top=2", "--quiet")
    assert asked(clock, "by-the-small-hand", *more).code == 0
    assert asked(clock, "by-the-small-hand", *more, "--steps", "2").code == 0
    outcome = asked(clock, "by-the-small-hand", *more, "--steps", "1")
    assert outcome.code == 12
    assert outcome.out.splitlines() == [
        "VIOLATED  clock:Hands: refines-clock:Clock in 3 states",
        "What clock:Clock does not allow (in 1 step)",
        "  hour  0 -> 2  none of its steps makes this change",
    ]


def test_where_it_begins_otherwise(clock: Path) -> None:
    outcome = asked(clock, "too-late", "--quiet")
    assert outcome.code == 12
    assert outcome.out.splitlines() == [
        "VIOLATED  clock:Hands: refines-clock:Clock in 1 state",
        "What clock:Clock does not allow",
        "  hour   0      it is not an initial state of the specification",
        "  early  false  it is not an initial state of the specification",
    ]


def test_a_state_that_stands_for_nothing_exits_75(clock: Path, tmp_path: Path) -> None:
    outcome = asked(clock, "of-two-hours", "--json", tmp_path / "out.json")
    assert outcome.code == 75
    assert outcome.out.splitlines()[0] == (
        "EVALUATION ERROR  clock:Hands: clock.py:54: refinement of_two_hours returns no value for hour: "
        "the value 3 is not a number from 0 to 2"
    )
    data = read(tmp_path / "out.json")
    assert len(data["evaluation_error"]["trace"]) == 7
    assert data["invariants"]["refines-clock:Clock"]["verdict"] == "incomplete"


def test_an_unfinished_search_says_nothing(clock: Path, tmp_path: Path) -> None:
    outcome = asked(clock, "by-the-small-hand", "--max-states", "3", "--quiet", "--json", tmp_path / "out.json")
    assert outcome.code == 152
    assert outcome.out.startswith(
        "INCOMPLETE  clock:Hands: more than 3 states (--max-states); no violation in 4 states"
    )
    invariant_outcome = read(tmp_path / "out.json")["invariants"]["refines-clock:Clock"]
    assert invariant_outcome == {"verdict": "incomplete", "checked_depth": 4}


def test_a_specification_with_too_many_states_is_given_up(clock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isrcheck.checker.analysis.refinement.specification_steps.MOST", 1)
    outcome = asked(clock, "by-the-small-hand", "--quiet")
    assert outcome.code == 152
    # The first hour, at the third state, is the first step of which another state must be held.
    said = "more memory needed than the memory of this machine; no violation in 2 states, depth 2"
    assert outcome.out.splitlines()[0] == f"INCOMPLETE  clock:Hands: {said}"


def test_a_limit_of_time_ends_it_between_two_levels(clock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The report covers only levels of which all steps were judged."""
    monkeypatch.setattr("isrcheck.checker.analysis.refinement.step_comparison.Watching._begin", _late)
    outcome = asked(clock, "by-the-small-hand", "--quiet", "--max-seconds", "1000")
    assert outcome.code == 152
    assert outcome.out.startswith(
        "INCOMPLETE  clock:Hands: time limit of 1000 s reached (--max-seconds); no violation in 1 state, depth 1"
    )


def _late(watching: Any, levels: Any) -> None:
    watching._until = 0.0  # long ago


def test_a_refinement_in_which_nothing_happens_is_vacuous(clock: Path, tmp_path: Path) -> None:
    clock.write_text(clock.read_text().replace('"hour": s.small, "early"', '"hour": s.small * 0, "early"', 1))
    outcome = asked(clock, "by-the-small-hand", "--quiet")
    assert outcome.code == 0
    said = "warning: vacuous: no step of clock:Clock ever happens, with mapping by-the-small-hand"
    assert outcome.out.splitlines()[1:] == [said]
    assert asked(clock, "by-the-small-hand").out.splitlines()[-1] == said
    assert asked(clock, "by-the-small-hand", "--fail-on-vacuity").code == 10


def test_a_variant_that_commits_in_an_action_of_another_name_is_refused(tmp_path: Path) -> None:
    """Without the history of committed records, everything would refine."""
    file = tmp_path / "variant.py"
    file.write_text(
        "from typing import Any\n"
        "from isrcheck.model.published.kip_320 import Kip320\n\n\n"
        'class Variant(Kip320):\n    """A variant."""\n\n    fenced_leader_inc_high_watermark: Any = None\n'
    )
    outcome = run("refine", file)
    assert outcome.code == 150
    assert outcome.err == (
        "isrcheck: variant.py:5: model variant has no action ...-inc-high-watermark(leader), in which it would be seen "
        "what is committed; call it so, or write a mapping of your own\n"
    )


# --- what is written ------------------------------------------------------------------------------------------------


def test_it_writes_what_a_check_writes(tmp_path: Path) -> None:
    files = {name: tmp_path / f"out.{name}" for name in ("html", "itf", "mermaid", "junit", "sarif")}
    options = [x for name, path in files.items() for x in (f"--{name}", path)]
    outcome = run("refine", "--scenario", "v3-stale-high-watermark", "--quiet", *options)
    assert outcome.code == 12
    for name, path in files.items():
        assert "refines-replicated-log" in path.read_text() or name == "mermaid", name
    assert "sequenceDiagram" in files["mermaid"].read_text()
    # The page steps through the specification's state beside the model's.
    assert '"path":"replicated-log.agreed[0]"' in files["html"].read_text()


# --- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        (
            "lacking",
            "clock.py:72: refinement lacking does not return early of clock; return a value for each variable",
        ),
        ("more", "clock.py:78: refinement more returns 'minute', which is not a variable of clock; known: early, hour"),
        (
            "of-another-kind",
            "clock.py:84: refinement of_another_kind returns a value outside the domain of hour; small "
            "== 1 is a flag; store a number from 0 to 3",
        ),
        (
            "no-values",
            "clock.py:90: refinement no_values returns list, not a dict of variables; return a dict of hour, early",
        ),
        ("set-wrongly", "clock.py:96: refinement set_wrongly passes clock a setting 'bottom'; known: top"),
        (
            "strange",
            "there is no mapping 'strange' from model clock:Hands to specification clock:Clock; known: "
            "by-the-large-hand, by-the-small-hand, lacking, more, no-values, of-another-kind, of-two-hours, "
            "set-wrongly, too-late",
        ),
    ],
)
def test_a_mapping_with_a_mistake_is_refused_in_a_line(clock: Path, mapping: str, message: str) -> None:
    outcome = asked(clock, mapping)
    assert (outcome.code, outcome.out, outcome.err) == (150, "", f"isrcheck: {message}\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("kip-320", "--spec", "strange"),
            "there is no specification 'strange'; known: accepting-log, replicated-log; or use a file: "
                "my_log.py",
        ),
        (
            ("async-isr",),
            "there is no mapping from model async-isr to specification replicated-log; decorate a "
                'function (model, s) with @refinement(of="replicated-log") in the file of either',
        ),
        (("kip-320", "--mapping", "what-leaders"), "there is no mapping 'what-leaders' from model kip-320 to "
         "specification replicated-log; did you mean what-leaders-commit? known: what-leaders-commit"),
        (("kip-320", "--spec-setting", "size=3"), "model replicated-log has no setting 'size'; did you mean log_size? "
         "known: consumers, deletions, end_offsets, log_size, max_leader_epoch, max_records, must_keep, partitions"),
        (("kip-320", "-s", "replicas=x"), "setting replicas must be an integer from 1 to 8, not 'x'"),
        (("kip-32",), "there is no model 'kip-32'; did you mean kip-320 or kip-279 or kip-101? known: alter-isr, "
            "async-isr, kip-101, kip-279, kip-320, kip-320-first-try, kraft, majority, primary-backup, "
            "truncate-to-hw, v1, v2, v3; or use a file: my_model.py"),
        (("kip-320", "-s", "size=3"), "model kip-320 has no setting 'size'; did you mean log_size? known: log_size, "
         "max_leader_epoch, max_records, replicas"),
    ],
)  # fmt: skip
def test_what_there_is_not_is_said_in_a_line(arguments: tuple[str, ...], message: str) -> None:
    outcome = run("refine", *arguments)
    assert (outcome.code, outcome.out) == (150, "")
    assert outcome.err == f"isrcheck: {message}\n"


def test_several_mappings_are_not_chosen_among(clock: Path) -> None:
    outcome = run("refine", f"{clock}:Hands", "--spec", f"{clock}:Clock")
    assert outcome.code == 150
    assert outcome.err.startswith(
        "isrcheck: there are several mappings from model clock:Hands to specification clock:Clock; "
        "choose one with --mapping: by-the-large-hand, "
    )


def test_a_specification_with_a_constraint_is_refused(clock: Path) -> None:
    clock.write_text(
        clock.read_text().replace(
            '    @action(actor="clock")\n    def tick',
            '    @constraint\n    def early(self, s):\n        """Early."""\n        return s.hour < 2\n\n'
            '    @action(actor="clock")\n    def tick',
            1,
        )
    )
    outcome = asked(clock, "by-the-small-hand")
    assert outcome.code == 150
    assert outcome.err == (
        "isrcheck: specification clock:Clock has a constraint (early); remove it, because a "
        "specification has no bounds\n"
    )


def test_a_specification_that_has_no_meaning_somewhere_exits_75(clock: Path) -> None:
    """From hour 3 only hour 4 can follow, which is outside the clock's domain."""
    text = clock.read_text().replace("s.require(s.hour < self.top)", "s.require(s.hour <= self.top)", 1)
    clock.write_text(text.replace('"hour": s.small,', '"hour": when(s.small == 0, 0, 4 - s.small),', 1))
    outcome = asked(clock, "by-the-small-hand", "--quiet")
    assert (outcome.code, outcome.err) == (75, "isrcheck: clock.py:22: hour: the value 4 is not a number from 0 to 3\n")


def test_an_interrupt_leaves_whole_levels(clock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compare = Watching._compare

    def interrupted(self: Watching, levels: Any, level: int) -> Any:
        if level == 4:
            raise KeyboardInterrupt
        return compare(self, levels, level)

    monkeypatch.setattr(Watching, "_compare", interrupted)
    outcome = asked(clock, "by-the-small-hand", "--quiet")
    assert (outcome.code, outcome.err) == (130, "")
    assert outcome.out.startswith("INCOMPLETE  clock:Hands: interrupted; no violation in 3 states, depth 3\n")
