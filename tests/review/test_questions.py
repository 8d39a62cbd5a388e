"""`isrcheck review` reports questions that are changed, removed, new, or without an answer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from isrcheck.checker.changes.review import change_review, verdict_differences
from tests.cli.running import run
from tests.review.test_review import review_summary, reviewed

MODEL = '''\
from isrcheck.model.language import Model, action, constraint, invariant, leads_to, number, sequence, setting


class Counting(Model):
    """A counter."""

    top = setting(3, at_least=1, at_most=60, meaning="what is no more counted", bound=lambda m, s: s.n == m.top)
    step = setting(1, at_least=1, at_most=2, meaning="how far it counts at once")
    # settings

    def variables(self):
        return {"n": number(0, 60), "log": sequence(number(0, 3), 2)}

    @action(actor="hand")
    def up(self, s):
        """One more."""
        s.require(s.n < self.top)
        s.n += self.step

    @action(actor="hand")
    def down(self, s):
        """One less."""
        s.require(s.n > 59)
        s.n -= 1

    @invariant
    def small(self, s):
        """The number is small."""
        return s.n <= 2

    @leads_to
    def comes_back(self, s):
        """What is large gets small."""
        return s.n > 2, s.n < 2
'''
SMALL = '''\
    @invariant
    def small(self, s):
        """The number is small."""
        return s.n <= 2

'''
SCENARIO = """\
title = "It counts far"
model = "model.py"
expect = "violated"
source = []
story = "It counts."
invariants = ["small"]
[settings]
top = 5
[lengths]
small = 4
"""


def written(folder: Path, name: str, *changes: tuple[str, str]) -> Path:
    """Writes the model into a file, with some changes of its text."""
    text = MODEL
    for old, new in changes:
        assert text.count(old) == 1
        text = text.replace(old, new)
    path = folder / name
    path.write_text(text)
    return path


def recorded(folder: Path, monkeypatch: pytest.MonkeyPatch, scenario: str = SCENARIO) -> None:
    """Writes a scenario of the model, and makes its folder the current directory."""
    place = folder / "counterexamples" / "far"
    place.mkdir(parents=True)
    (place / "scenario.toml").write_text(scenario)
    written(place, "model.py")
    monkeypatch.chdir(folder)


# --- which questions there are --------------------------------------------------------------------------------------


def test_a_weaker_invariant_mends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model and its behaviours are unchanged. Only the question differs, also in the scenario."""
    recorded(tmp_path, monkeypatch)
    old = written(tmp_path, "model.py")
    new = written(tmp_path, "weak.py", ("s.n <= 2", "s.n <= 9"))
    said, data = reviewed(tmp_path, old, new)
    verdict, cause, _ = review_summary(said)
    assert "fixes" not in verdict
    assert "checks differently small (violated in 4 states before, holds after)" in verdict
    assert "checks scenario differently: far" in verdict
    assert cause == "What changes: small changed."
    assert {row["name"]: row["turn"] for row in data["verdicts"]} == {"small": "otherwise", "comes-back": "same"}


def test_a_scenario_may_lie_below_the_folder_of_its_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded(tmp_path, monkeypatch, SCENARIO.replace('"model.py"', '"../model.py"'))
    model = written(tmp_path / "counterexamples", "model.py")
    new = written(tmp_path, "weak.py", ("s.n <= 2", "s.n <= 9"))
    said, _ = reviewed(tmp_path, model, new)
    assert "checks scenario differently: far" in review_summary(said)[0]


def test_a_scenario_of_another_file_with_the_same_name_is_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded(tmp_path, monkeypatch, SCENARIO.replace('"model.py"', '"../model.py"'))
    written(tmp_path / "counterexamples", "model.py")
    old = written(tmp_path, "model.py")
    new = written(tmp_path, "weak.py", ("s.n <= 2", "s.n <= 9"))
    said, data = reviewed(tmp_path, old, new)
    assert "scenario far" not in said.out
    assert data["scenarios"]["asked"] == 0


def test_an_invariant_that_holds_and_is_weaker_is_no_longer_the_same(tmp_path: Path) -> None:
    before, after = (written(tmp_path, f"m{n}.py", ("s.n <= 2", f"s.n <= {n}")) for n in (8, 9))
    said, _ = reviewed(tmp_path, before, after, "--no-scenarios")
    assert "checks differently small (holds before and after)" in review_summary(said)[0]


def test_a_question_that_is_gone_or_new(tmp_path: Path) -> None:
    holding = written(tmp_path, "holding.py", ("s.n <= 2", "s.n <= 9"))
    without = written(tmp_path, "without.py", (SMALL, ""))
    violated = written(tmp_path, "violated.py")
    gone, _ = reviewed(tmp_path, holding, without, "--no-scenarios")
    assert "no longer checks small (held)" in review_summary(gone)[0]
    assert review_summary(gone)[1] == "What changes: small gone."
    new, _ = reviewed(tmp_path, without, violated, "--no-scenarios")
    assert new.code == 12
    assert "newly fails small (violated in 4 states)" in review_summary(new)[0]


def test_a_constraint_and_initial_states_count(tmp_path: Path) -> None:
    limit = '    @constraint\n    def few(self, s):\n        """Few."""\n        return s.n <= 2\n\n' + SMALL
    old, new = written(tmp_path, "old.py"), written(tmp_path, "new.py", (SMALL, limit))
    said, data = reviewed(tmp_path, old, new, "--no-scenarios")
    assert review_summary(said)[1] == "What changes: few new; constraint few changed."
    assert data["states"] == ["constraint few"]
    # What would come after the first large state is no longer looked at: nothing is mended.
    assert review_summary(said)[0] == (
        "old -> new checks differently comes-back (violated: stuck after 4 states before, holds, vacuously after)."
    )
    start = "    def initial(self, s):\n        s.n = 1\n\n" + SMALL
    said, data = reviewed(tmp_path, old, written(tmp_path, "other.py", (SMALL, start)), "--no-scenarios")
    assert data["states"] == ["the initial states"]
    assert "the initial states changed" in review_summary(said)[1]


def test_what_holds_for_want_of_anything_to_come_is_not_mended(tmp_path: Path) -> None:
    """The number is never large in the new version, so it never has to become small."""
    old, new = written(tmp_path, "old.py"), written(tmp_path, "new.py", ("s.n < self.top", "s.n < 2"))
    said, data = reviewed(tmp_path, old, new, "--no-scenarios")
    (row,) = [row for row in data["verdicts"] if row["name"] == "comes-back"]
    assert (row["turn"], row["after"]["text"]) == ("vacuous", "holds, vacuously")
    assert "makes vacuous comes-back (violated: " in review_summary(said)[0]
    assert "fixes small" in review_summary(said)[0]


def test_a_scenario_is_asked_under_its_own_fairness() -> None:
    """The two differ only in fairness."""
    bounds = ("-s", "max_records=1", "-s", "log_size=1", "-s", "max_leader_epoch=1", "--visible", "quorum")
    said = run("review", "--scenario", "kip-320-promises-no-fetch", "--no-scenarios", *bounds)
    verdict, cause, behaviour = review_summary(said)
    assert verdict.endswith("fixes true-leader-commits-its-log (violated: stuck after 5 states before).")
    assert cause == "What changes: fairness of fenced-follower-fetch none -> weak."
    assert behaviour.endswith("only liveness changes: true-leader-commits-its-log.")


def test_a_scenario_is_asked_about_deadlock_where_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From 5 it can only go down. If it cannot, there is a deadlock."""
    text = SCENARIO.replace("[settings]", "deadlock = true\n[settings]").replace("small = 4", "deadlock = 6")
    recorded(tmp_path, monkeypatch, text.replace("source", 'control = "down"\nsource'))
    fixed_version = tmp_path / "counterexamples" / "down"
    fixed_version.mkdir()
    (fixed_version / "scenario.toml").write_text(text.replace('"violated"', '"holds"').partition("[lengths]")[0])
    written(fixed_version, "model.py", ("s.n > 59", "s.n > 0"))
    said, data = reviewed(tmp_path, "--scenario", "far", "--no-scenarios")
    (row,) = [row for row in data["verdicts"] if row["name"] == "deadlock"]
    assert (row["before"]["text"], row["turn"]) == ("violated in 6 states", "mended")
    assert "fixes deadlock" in review_summary(said)[0]


# --- settings of two versions -----------------------------------------------------------------------------------------

GUARD = """\
    guard = setting(False, meaning="stops in time")
    slack = setting(1, at_least=1, at_most=3, meaning="slack")
"""
GUARDED = ("s.require(s.n < self.top)", "s.require(s.n < (2 if self.guard else self.top))")
SLACK = ("s.n <= 2", "s.n <= 2 + self.slack * (0 if self.guard else 1)")


@pytest.mark.parametrize(
    ("old", "new", "cause"),
    [
        (GUARD, GUARD.replace("setting(False", "setting(True"), "guard false -> true (stops in time)."),
        (
            GUARD + '    extra = setting(0, at_least=0, at_most=1, meaning="nothing")\n',
            GUARD.replace("setting(False", "setting(True"),
            "guard false -> true (stops in time); extra gone (nothing).",
        ),
        (
            GUARD,
            GUARD.replace("setting(False", "setting(True").replace("1, at_least=1", "2, at_least=2"),
            "guard false -> true (stops in time); slack 1 -> 2 (slack).",
        ),
    ],
    ids=["alone", "beside a setting that is gone", "beside a value that the new one does not take"],
)
def test_a_default_that_changes_is_a_change_of_a_setting_and_mends(
    tmp_path: Path, old: str, new: str, cause: str
) -> None:
    """The invariant depends on the settings. At the settings of one version, both versions have the same invariant."""
    texts = (("    # settings\n", old), GUARDED, SLACK), (("    # settings\n", new), GUARDED, SLACK)
    before, after = (written(tmp_path, f"{name}.py", *each) for name, each in zip("ab", texts, strict=True))
    said, data = reviewed(tmp_path, before, after, "-s", "top=5", "--no-scenarios")
    assert review_summary(said)[0].startswith("a -> b fixes small (violated in 5 states before)")
    assert review_summary(said)[1] == f"What changes: {cause}"
    assert (data["settings"][0], data["narrower"]) == (["guard", "false", "true"], [])


def test_what_is_violated_no_more_within_narrower_bounds_is_not_mended(tmp_path: Path) -> None:
    """The new version does not count to three, so it is unknown whether the number would be small there."""
    wide, narrow = written(tmp_path, "wide.py"), written(tmp_path, "narrow.py", ("top = setting(3", "top = setting(2"))
    said, data = reviewed(tmp_path, wide, narrow, "--no-scenarios")
    assert data["narrower"] == ["top"]
    assert "fixes" not in review_summary(said)[0]
    assert "checks differently small (violated in 4 states before, holds after)" in review_summary(said)[0]
    assert (
        "  The new version is explored less (top): a violation that disappears for this reason is not fixed"
        in said.out.splitlines()
    )
    # The same where it is said on the command line; and with more to look at, what holds now is mended.
    said, _ = reviewed(tmp_path, wide, wide, "--b-setting", "top=2", "--no-scenarios")
    assert "checks differently small" in review_summary(said)[0]
    stops = written(tmp_path, "stops.py", ("s.n < self.top", "s.n < 2"))
    said, data = reviewed(tmp_path, wide, stops, "--b-setting", "top=5", "--no-scenarios")
    assert data["narrower"] == []
    assert "fixes small" in review_summary(said)[0]


# --- what has no answer ----------------------------------------------------------------------------------------------


def test_an_invariant_without_a_meaning_ends_the_review(tmp_path: Path) -> None:
    new = written(tmp_path, "new.py", ("s.n <= 2", "s.log.at(0) <= 2"))
    said = run("review", written(tmp_path, "old.py"), new, "--no-scenarios")
    (line,) = [i for i, text in enumerate(new.read_text().splitlines(), 1) if "s.log.at(0)" in text]
    assert said.code == 75
    assert f"new.py:{line}: offset 0 of a sequence of length 0" in said.err


# --- scenarios -------------------------------------------------------------------------------------------------------


@pytest.mark.exhaustive
def test_a_scenario_that_is_not_decided_is_open_and_one_that_breaks_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the review's settings `small` is violated on neither side. At the scenario's settings it is on one side."""
    recorded(tmp_path, monkeypatch)
    old = written(tmp_path, "model.py", ("s.n < self.top", "(s.n < self.top) & (s.n < 2)"))
    new = written(tmp_path, "new.py")
    bounds = ("-s", "top=1")
    said, data = reviewed(tmp_path, old, new, *bounds)
    assert said.code == 12
    assert "breaks scenario far" in review_summary(said)[0]
    assert [x["turn"] for x in data["scenarios"]["turned"]] == ["broken"]
    said, data = reviewed(tmp_path, new, old, *bounds)
    assert (said.code, [x["turn"] for x in data["scenarios"]["turned"]]) == (0, ["mended"])
    # Two states are all that there are at these settings, and not at those of the scenario.
    said, data = reviewed(tmp_path, new, old, *bounds, "--max-states", "2")
    assert (said.code, [x["turn"] for x in data["scenarios"]["turned"]]) == (152, ["open"])
    assert "fixes" not in review_summary(said)[0]
    assert "leaves scenario undecided: far" in review_summary(said)[0]


def test_what_is_set_for_one_side_is_set_in_scenarios_of_models_with_other_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps of two reach 4 with one state less than steps of one."""
    recorded(tmp_path, monkeypatch)
    more = '    more = setting(1, at_least=1, at_most=2, meaning="more")\n'
    new = written(tmp_path, "new.py", ("    # settings\n", more))
    for path in (new, written(tmp_path, "other.py", ("class Counting(", "class Other("))):
        _, data = reviewed(tmp_path, written(tmp_path, "model.py"), path, "--b-setting", "step=2")
        (turned,) = data["scenarios"]["turned"]
        assert (turned["before"], turned["after"]) == ("small violated in 4 states", "small violated in 3 states")


def test_what_two_versions_have_by_default_is_theirs_in_scenarios(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new version has one more setting, and another default (steps of two) for a setting that the scenario sets."""
    recorded(tmp_path, monkeypatch, SCENARIO.replace("top = 5", "top = 5\nstep = 1"))
    more = '    more = setting(1, at_least=1, at_most=2, meaning="more")\n'
    new = written(tmp_path, "new.py", ("    # settings\n", more), ("step = setting(1", "step = setting(2"))
    said, data = reviewed(tmp_path, written(tmp_path, "model.py"), new)
    (turned,) = data["scenarios"]["turned"]
    assert (turned["before"], turned["after"]) == ("small violated in 4 states", "small violated in 3 states")
    assert "more new: 1 (more)" in review_summary(said)[1]


def test_a_scenario_that_asks_something_else_of_the_new_model_is_not_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scenario checks all invariants of the model."""
    recorded(tmp_path, monkeypatch, SCENARIO.replace('invariants = ["small"]\n', ""))
    new = written(tmp_path, "new.py", ("s.n <= 2", "s.n <= 9"), ("def small", "def little"))
    said, data = reviewed(tmp_path, written(tmp_path, "model.py"), new)
    assert [x["turn"] for x in data["scenarios"]["turned"]] == ["otherwise"]
    assert "fixes" not in review_summary(said)[0]
    assert "no longer checks small (violated in 4 states before)" in review_summary(said)[0]


def test_folders_without_a_readable_scenario_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "counterexamples"
    folder.mkdir()
    monkeypatch.chdir(tmp_path)
    model = written(tmp_path, "model.py")
    said, data = reviewed(tmp_path, model, model)
    assert said.code == 0
    assert data["scenarios"]["unread"] == [
        "there is no scenario in counterexamples; create counterexamples/<name>/scenario.toml"
    ]
    (folder / "damaged").mkdir()
    (folder / "damaged" / "scenario.toml").write_text("title = ")
    said, data = reviewed(tmp_path, model, model)
    assert said.code == 0
    assert "Not checked: counterexamples/damaged/scenario.toml: not TOML" in said.out


def test_a_scenario_without_meaning_in_the_new_model_is_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From 2 on the model reads an empty log. The review does not reach that, but the scenario does."""
    recorded(tmp_path, monkeypatch)
    looks = ("s.require(s.n < self.top)", "s.require(s.n < self.top, (s.n < 2) | (s.log.at(0) == 0))")
    old, new = written(tmp_path, "model.py"), written(tmp_path, "new.py", looks)
    said, data = reviewed(tmp_path, old, new, "-s", "top=2")
    (line,) = [i for i, text in enumerate(new.read_text().splitlines(), 1) if "s.log.at(0)" in text]
    assert said.code == 152
    (turned,) = data["scenarios"]["turned"]
    assert (turned["name"], turned["turn"], turned["before"]) == ("far", "open", "small violated in 4 states")
    assert turned["after"] == f"undefined: new.py:{line}: offset 0 of a sequence of length 0"
    assert "leaves scenario undecided: far" in review_summary(said)[0]


@pytest.mark.parametrize("named", ["model.py", "../../model.py"])
def test_a_scenario_that_the_new_version_cannot_be_asked_is_said_and_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    scenario = SCENARIO.replace("top = 5", "top = 5\nstep = 1").replace('"model.py"', f'"{named}"')
    recorded(tmp_path, monkeypatch, scenario)
    new = ("    step = setting(1", "    leap = setting(1"), ("self.step", "self.leap")
    place = tmp_path / "new"
    place.mkdir()
    said, data = reviewed(tmp_path, written(tmp_path, "model.py"), written(place, "model.py", *new))
    ((_, why),) = (each.values() for each in data["scenarios"]["not_asked"])
    assert why.endswith(" has no setting step")
    assert (said.code, data["scenarios"]["lost"], data["scenarios"]["asked"]) == (152, ["far"], 0)
    assert "cannot check scenario far" in review_summary(said)[0]
    assert f"  Not checked, because {why}: far" in said.out.splitlines()
    # The other way round it is the old version that has no such setting: nothing is lost.
    said, data = reviewed(tmp_path, place / "model.py", tmp_path / "model.py")
    assert (said.code, data["scenarios"]["lost"]) == (0, [])
    assert [each["name"] for each in data["scenarios"]["not_asked"]] == ["far"]


def test_a_scenario_that_promises_something_of_an_action_that_is_gone_is_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = SCENARIO.replace('invariants = ["small"]', 'invariants = ["small"]\nliveness = ["comes-back"]')
    recorded(tmp_path, monkeypatch, text.replace("[settings]", '[fairness]\nstrong = ["down"]\n[settings]'))
    new = written(tmp_path, "new.py", ("def down", "def back"))
    said, data = reviewed(tmp_path, written(tmp_path, "model.py"), new)
    assert data["scenarios"]["not_asked"] == [{"name": "far", "reason": "model new has no action 'down'"}]
    assert said.code == 0


def test_a_line_of_a_section_is_escaped_in_markdown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "counterexamples" / "a*b*<i>[x](y)"
    folder.mkdir(parents=True)
    (folder / "scenario.toml").write_text("title = ")
    monkeypatch.chdir(tmp_path)
    model = written(tmp_path, "model.py")
    said = run("review", model, model, "--markdown", "-")
    assert said.code == 0
    (line,) = [line for line in said.out.splitlines() if line.startswith("Not checked: counterexamples")]
    assert "a\\*b\\*" in line
    assert "<i>" not in line
    assert "[x](y)" not in line


def test_what_cannot_be_compared_is_named_in_the_first_lines(tmp_path: Path) -> None:
    new = written(tmp_path, "new.py", ("sequence(number(0, 3), 2)", "number(0, 3)"), ("s.n <= 2", "s.n <= 3"))
    said, _ = reviewed(tmp_path, written(tmp_path, "old.py"), new, "--no-scenarios")
    assert review_summary(said)[2] == (
        "Behaviour: no history of n is new or gone. Not compared, because their types differ: log."
    )


def test_a_missing_model_is_called_as_the_usage_calls_it(tmp_path: Path) -> None:
    for arguments, missing in (((), "'OLD'"), ((written(tmp_path, "model.py"),), "'NEW'")):
        said = run("review", *arguments)
        assert said.code == 2
        assert f"Missing argument {missing}" in said.err


@pytest.mark.parametrize("part", ["verdicts", "proofs"])
def test_an_interrupt_ends_a_review_although_something_is_violated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    """An invariant is violated before the interrupt, and its search alone would have another exit code."""

    def interrupted(asked: Any) -> Any:
        return lambda *given, **more: replace(asked(*given, **more), reason="interrupted")

    if part == "verdicts":
        monkeypatch.setattr(verdict_differences, "check", interrupted(verdict_differences.check))
    else:
        monkeypatch.setattr(change_review, "prove", interrupted(change_review.prove))
    model = written(tmp_path, "model.py")
    said = run("review", model, model, "--no-scenarios", "--prove", "--b-setting", "step=2")
    assert (said.code, said.out, said.err) == (130, "", "isrcheck: interrupted\n")


def test_the_obligation_that_breaks_is_named(tmp_path: Path) -> None:
    """The old version stops at two, so each of its steps keeps the number small."""
    stops = written(tmp_path, "stops.py", ("s.n < self.top", "s.n < 2"))
    said, data = reviewed(tmp_path, stops, written(tmp_path, "goes_on.py"), "--no-scenarios", "--prove")
    assert [proof["verdict"] for proof in data["proofs"]] == ["proved", "not proved"]
    assert "  goes-on does not preserve: small after up" in said.out.splitlines()
    assert said.code == 12
