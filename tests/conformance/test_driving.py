"""How a path is driven and compared, with a harness without Kafka, and the errors if there is no harness."""

from __future__ import annotations

import inspect
import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from click.testing import CliRunner

from isrcheck.checker.cli import main
from isrcheck.checker.conformance import harness_build, kraft_mapping
from isrcheck.checker.conformance.conformance_run import Conforming, Outcome, Report, mapping_of, with_traces
from isrcheck.checker.conformance.conformance_text import report_text
from isrcheck.checker.conformance.covering_walks import START, Covering, pairs_of
from isrcheck.checker.conformance.driver import MISSING, Difference, Driver, differences
from isrcheck.checker.conformance.harness_process import Command
from isrcheck.checker.registry.loader import LoadedModel, load_model_class
from isrcheck.checker.results.errors import CommandError
from isrcheck.checker.results.result import Exit, Step
from isrcheck.model.language import Model, UnknownName, action, number, setting
from isrcheck.model.semantics.interpreter import Interpreter
from tests.conformance.harness import Echo


class Counter(Model):
    """A number that goes up."""

    def variables(self) -> dict[str, Any]:
        return {"n": number(0, 9), "other": number(0, 9)}

    @action(actor="somebody")
    def count(self, s: Any) -> None:
        """One more."""
        s.require(s.n < 9)
        s.n += 1

    @action(actor="somebody")
    def rest(self, s: Any) -> None:
        """Another number goes up."""
        s.require(s.other < 9)
        s.other += 1

    @action(actor="somebody")
    def leap(self, s: Any) -> None:
        """Five more at once."""
        s.require(s.n == 0)
        s.n += 5


def counting(limit: int = 9) -> tuple[Driver, Echo]:
    """A counter, and a harness that also counts, but only up to a limit."""
    seen = {"n": 0, "last_batch": 0}

    def state(commands: list[Command]) -> dict[str, Any]:
        for command in commands:
            seen["n"] = 0 if command["op"] == "reset" else min(seen["n"] + 1, limit)
        return dict(seen)

    harness = Echo(state)
    mapping = SimpleNamespace(
        of_kafka=lambda version: {},
        walks={},
        weights={},
        unreached={"leap": "nobody leaps"},
        calls={"count": lambda x: [{"op": "count"}], "rest": lambda x: []},
        decided=lambda moment, answer: {},
        is_possible=lambda model, action, arguments, answer: True,
        offers=lambda model, state, seen, answer: {},
        reset=lambda model, state: [{"op": "reset"}],
        expected=lambda model, state, seen: {"n": state["n"]},
        found=lambda model, state, answer: {"n": answer["n"]},
    )
    interpreter = Interpreter(Counter(), {})
    return Driver(harness, interpreter, mapping), harness  # type: ignore[arg-type]


def test_a_path_without_a_difference_is_driven_to_its_end() -> None:
    driver, harness = counting()
    driven = driver.drive(driver.walk(1, 1, 8))
    assert (driven.taken, driven.difference, driven.unreached) == (8, None, None)
    assert len(harness.commands) == 9


def test_a_walk_takes_no_action_that_is_not_reached() -> None:
    driver, _ = counting()
    taken = {step.label.action for i in range(20) for step in driver.walk(1, i, 8) if step.label is not None}
    assert taken == {"count", "rest"}


def test_a_path_ends_before_an_action_that_is_not_reached() -> None:
    driver, _ = counting()
    leap = next(i for i, label in enumerate(driver.interpreter.labels) if label.action == "leap")
    first = next(driver.walk(1, 1, 1))
    after = driver.interpreter.step(first.state, leap)
    assert after is not None
    step = type(first)(driver.interpreter.labels[leap], None, after)
    driven = driver.drive(iter([first, step]))
    assert (driven.taken, driven.difference, driven.unreached) == (0, None, "leap")


def test_a_difference_ends_a_path_and_is_made_shorter() -> None:
    driver, _ = counting(limit=2)
    driven = driver.drive(driver.walk(1, 1, 18))
    assert driven.difference is not None
    assert driven.difference.parts == (("n", 3, 2),)
    shorter = driver.shortened(driven)
    assert shorter.taken == 3 < driven.taken
    assert [step.label.action for step in shorter.steps[1:] if step.label] == ["count"] * 3


def walked(driver: Driver, covering: Covering | None) -> list[list[str]]:
    walks = [driver.drive(driver.walk(1, number, 6, covering)) for number in range(1, 5)]
    return [[step.label.action for step in driven.steps[1:] if step.label] for driven in walks]


def test_a_covering_walk_takes_what_a_random_one_seldom_does() -> None:
    driver, _ = counting()
    driver.mapping.weights = {"rest": 10**9}  # type: ignore[misc]
    assert {name for taken in walked(driver, None) for name in taken} == {"rest"}
    covering = walked(driver, Covering())
    assert {pair for taken in covering for pair in pairs_of(taken)} == {
        (before, action) for before in (START, "count", "rest") for action in ("count", "rest")
    }
    assert covering == walked(driver, Covering())


class Waiting(Model):
    """A number, and what nobody can do to it."""

    def variables(self) -> dict[str, Any]:
        return {"n": number(0, 9)}

    @action(by=number(1, 2), actor="somebody")
    def count(self, s: Any, by: int) -> None:
        """More."""
        s.require(s.n < 7)
        s.n += by

    @action(by=number(1, 2), actor="somebody")
    def shrink(self, s: Any, by: int) -> None:
        """Nobody is asked."""
        s.require(s.n > 100)
        s.n = 0

    @action(by=number(1, 2), actor="somebody")
    def jump(self, s: Any, by: int) -> None:
        """At these settings nobody does."""


def test_what_was_never_driven_is_told_with_the_reason() -> None:
    driver, _ = counting()
    found = Driver(driver.harness, Interpreter(Waiting(), {}), driver.mapping)
    covering = Covering()
    for walk in range(1, 4):
        list(found.walk(1, walk, 5, covering))
    line = inspect.getsourcelines(Waiting.shrink)[1] + 3
    first = found.first().state
    assert covering.driven == {"count"}
    tried = sum(count for (_, action), count in covering.tried.items() if action == "shrink")
    assert covering.why(found.interpreter, first, "shrink") == (
        f"no instance was enabled where it was tried; refused {2 * tried} times at test_driving.py:{line}"
    )
    assert covering.why(found.interpreter, first, "jump") == "the model has no such step with these settings"
    assert Covering().why(found.interpreter, first, "shrink") == "never tried"


class Drawing(Model):
    """A number that is any of three is drawn, and counts what was drawn."""

    def variables(self) -> dict[str, Any]:
        return {"sum": number(0, 20)}

    @action(drawn=number(1, 3), actor="somebody")
    def draw(self, s: Any, drawn: int) -> None:
        """Adds what is drawn."""
        s.require(s.sum < 17)
        s.sum += drawn


def drawing(*numbers: int) -> Driver:
    """A harness that chooses numbers by itself: the given numbers, repeated."""
    reported = {"sum": 0, "last_batch": 0, "drawn": 0}

    def state(commands: list[Command]) -> dict[str, Any]:
        reported["drawn"] = numbers[len(harness.commands) % len(numbers)] if commands[0]["op"] == "draw" else 0
        reported["sum"] = reported["sum"] + reported["drawn"] if reported["drawn"] else 0
        return dict(reported)

    harness = Echo(state)
    mapping = SimpleNamespace(
        weights={},
        unreached={},
        calls={"draw": lambda x: [{"op": "draw"}]},
        decided=lambda moment, answer: {"drawn": answer["drawn"]},
        is_possible=lambda model, action, arguments, answer: True,
        offers=lambda model, state, seen, answer: {},
        reset=lambda model, state: [{"op": "reset"}],
        expected=lambda model, state, seen: {"sum": state["sum"]},
        found=lambda model, state, answer: {"sum": answer["sum"]},
    )
    return Driver(harness, Interpreter(Drawing(), {}), mapping)  # type: ignore[arg-type]


def test_what_the_model_leaves_open_is_taken_from_kafka() -> None:
    found = drawing(1, 3)
    driven = found.drive(found.walk(1, 1, 6))
    assert driven.difference is None
    drawn = [step.label.to_json()["drawn"] for step in driven.steps[1:] if step.label]
    assert drawn == [1, 3, 1, 3, 1, 3] or drawn == [3, 1, 3, 1, 3, 1]


def test_what_the_model_does_not_allow_is_not_taken_from_kafka() -> None:
    found = drawing(1, 4)
    driven = found.drive(found.walk(1, 1, 6))
    assert driven.difference is not None
    assert driven.taken <= 2


def test_what_kafka_may_not_do_now_is_not_asked_for() -> None:
    driver, _ = counting()
    driver.mapping.is_possible = lambda model, action, arguments, answer: action == "rest"  # type: ignore[method-assign]
    driven = driver.drive(driver.walk(1, 1, 5))
    assert [step.label.action for step in driven.steps[1:] if step.label] == ["rest"] * 5


def test_a_difference_is_reported_with_its_path_in_words() -> None:
    driver, _ = counting(limit=2)
    report = Report("counter", "0.0.0", {}, 1, unreached={"leap": "nobody leaps"}, known=("count", "leap", "rest"))
    driven = driver.drive(driver.walk(1, 1, 18))
    nameless = [replace(step, actor=None) for step in driven.steps]
    report.add(Outcome("walk 1 of seed 1", driver.model, driven, {}, None))
    report.shown = Outcome("walk 1 of seed 1", driver.model, driver.drive(driver.along(nameless)), {}, None)
    text = "\n".join(report_text(report))
    assert text.startswith("counter and Kafka 0.0.0: DOES NOT CONFORM: 1 path of 1 path")
    assert re.search(r"n +3 +2$", text, re.MULTILINE)
    assert "nobody leaps" in text
    assert report.exit_code == Exit.NONCONFORMING == 14
    json.dumps(report.to_json())
    assert report.to_json()["paths"][0]["difference"]["parts"] == [{"part": "n", "model": 3, "kafka": 2}]


def test_a_difference_that_settings_ask_for_is_no_failure() -> None:
    driver, _ = counting(limit=2)
    report = Report("counter", "0.0.0", {}, 1)
    report.add(Outcome("scenario x", driver.model, driver.drive(driver.walk(1, 1, 18)), {"leaps": True}, 18))
    assert (report.exit_code, report.outcomes[0].verdict) == (Exit.HOLDS, "differs-as-its-settings-do")
    assert "leaps = true" in "\n".join(report_text(report))


def test_a_path_of_which_steps_are_left_out_is_not_driven_to_its_end() -> None:
    driver, _ = counting()
    path = driver.drive(driver.walk(1, 1, 8)).steps
    driver.mapping.is_possible = lambda model, action, arguments, answer: action == "rest"  # type: ignore[method-assign]
    rests = sum(step.label.action == "rest" for step in path[1:] if step.label)
    report = Report("counter", "0.0.0", {}, 1)
    report.add(Outcome("scenario x", driver.model, driver.drive(driver.along(path)), {}, 8))
    assert 0 < rests < 8
    assert (report.outcomes[0].verdict, report.outcomes[0].left_out) == ("not-driven-to-its-end", 8 - rests)
    assert re.search(rf"scenario x +step {rests} of 8 +{8 - rests} steps skipped", "\n".join(report_text(report)))


class Leaping(Counter):
    """A counter that leaps, by one, at a setting that is not Kafka's."""

    leaps = setting(False, meaning="whether it leaps")

    @action(actor="somebody")
    def leap(self, s: Any) -> None:
        """One more, where it leaps."""
        if not self.leaps:
            return
        s.require(s.n < 9)
        s.n += 1


@pytest.mark.parametrize(
    ("path", "skipped", "verdict"),
    [
        (("count", "leap"), (), "differs-as-its-settings-do"),
        # A step of the recorded path that nobody has taken makes no difference.
        (("count", "leap"), ("leap",), "differs-as-its-settings-do"),
        # Without the leap the last step is the second one, which conforms: of the third one that says nothing.
        (("leap", "count", "count"), (), "differs"),
    ],
)
def test_settings_are_the_reason_only_if_the_steps_before_can_be_taken_without_them(
    path: tuple[str, ...], skipped: tuple[str, ...], verdict: str
) -> None:
    driver, harness = counting(limit=1 if verdict != "differs" else 2)
    driver.mapping.of_kafka = lambda version: {"leaps": (False,)}  # type: ignore[method-assign]
    driver.mapping.calls["leap"] = driver.mapping.calls["count"]  # type: ignore[index]
    driver.mapping.unreached = {}  # type: ignore[misc]
    driver.mapping.known = lambda model, driven: None  # type: ignore[method-assign]
    found = Driver(harness, Interpreter(Leaping(leaps=True), {}), driver.mapping)  # type: ignore[arg-type]

    def stepped(names: tuple[str, ...]) -> list[Step]:
        steps = [found.first()]
        for name in names:
            number = next(i for i, label in enumerate(found.interpreter.labels) if label.action == name)
            after = found.interpreter.step(steps[-1].state, number)
            assert after is not None
            steps.append(Step(found.interpreter.labels[number], None, after))
        return steps

    steps = stepped(path)
    loaded = cast(LoadedModel, SimpleNamespace(cls=Leaping))
    run = Conforming(found.harness, loaded, found.mapping, Report("counter", "0.0.0", {}, 1), True, print)
    driven = found.drive(found.along(steps))
    assert driven.difference is not None and driven.taken == len(path)
    outcome = Outcome("scenario x", found.model, driven, {"leaps": True}, len(path))
    assert run.at_kafkas_settings(found, outcome, stepped((*skipped, *path)))[1].verdict == verdict


def test_differences_of_one_kind_are_about_the_same_parts_without_their_indices() -> None:
    names = ("log[0][1]", "log[0][2]", "replica[0][1].isr[0].epoch", "up.has(0)", "up.has(1)", "live", "enabled(fetch)")
    found = Difference(3, None, tuple((name, 1, 2) for name in names))
    assert found.kind == "enabled(fetch), live, log, replica.isr.epoch, up.has"


def test_a_refusal_is_a_difference() -> None:
    driver, harness = counting()
    harness.refusal = "NOT_LEADER_OR_FOLLOWER"
    driven = driver.drive(driver.walk(1, 1, 8))
    assert driven.difference is not None
    assert (driven.difference.step, driven.difference.kind) == (0, "refused: NOT_LEADER_OR_FOLLOWER")


def test_what_one_of_both_has_not_is_a_difference() -> None:
    assert list(differences({"a": 1, "b": 2}, {"a": 1, "c": 3})) == [("b", 2, MISSING), ("c", MISSING, 3)]


def test_the_mapping_has_a_call_or_a_reason_for_each_action() -> None:
    actions = set(load_model_class("kraft").cls().actions())
    assert actions == {*kraft_mapping.calls, *kraft_mapping.unreached}
    assert not set(kraft_mapping.calls) & set(kraft_mapping.unreached)


def test_the_mapping_names_settings_and_values_that_there_are() -> None:
    declared = load_model_class("kraft").cls.declared_settings()
    for version in ("3.9.0", "4.0.0", harness_build.NEWEST):
        for name, values in kraft_mapping.of_kafka(version).items():
            assert all(value in (declared[name].choices or (True, False)) for value in values), name
    load_model_class("kraft").cls(**kraft_mapping.walks)
    load_model_class("kraft").cls(**kraft_mapping.walks, **kraft_mapping.covering)
    assert set(kraft_mapping.weights) <= set(kraft_mapping.calls)


def test_the_defaults_of_kraft_are_what_kafka_does() -> None:
    model, kafka = load_model_class("kraft").cls(), kraft_mapping.of_kafka(harness_build.NEWEST)
    assert not {n: model.settings[n] for n, own in kafka.items() if model.settings[n] not in own}


@pytest.mark.parametrize(
    ("version", "otherwise"),
    [
        ("4.4.0", set()),
        ("4.3.0", set()),
        ("4.2.2", {"awaited_in_isr", "assigned_directory"}),
        ("4.1.0", {"awaited_in_isr", "assigned_directory", "last_known_leader"}),
        ("4.0.1", {"awaited_in_isr", "assigned_directory", "last_known_leader"}),
        ("4.0.0", {"awaited_in_isr", "assigned_directory", "last_known_leader", "fetch_answer"}),
        ("3.9.2", {"awaited_in_isr", "assigned_directory", "last_known_leader", "elr"}),
        ("3.9.1", {"awaited_in_isr", "assigned_directory", "last_known_leader", "elr"}),
        ("3.9.0", {"awaited_in_isr", "assigned_directory", "last_known_leader", "elr", "fetch_answer"}),
    ],
)
def test_what_an_earlier_version_of_kafka_did_otherwise(version: str, otherwise: set[str]) -> None:
    today, then = kraft_mapping.of_kafka(harness_build.NEWEST), kraft_mapping.of_kafka(version)
    assert set(then) == set(today)
    assert {name for name in today if then[name] != today[name]} == otherwise


def test_a_model_without_a_mapping_is_refused() -> None:
    with pytest.raises(UnknownName, match="model v3 has no mapping to Kafka's classes"):
        mapping_of("v3")
    with pytest.raises(UnknownName, match="has no recorded path, because everything it checks holds"):
        with_traces("kraft", ("kraft-kept-expansion-loses-nothing",))
    with pytest.raises(UnknownName, match="is of model v3, not of kraft"):
        with_traces("kraft", (next(s.name for s in with_traces("v3", ())),))


def test_a_version_without_sources_is_refused() -> None:
    for version in ("1.0.0", "3.8.1", "4.2", "4.2.0; rm", "latest"):
        with pytest.raises(CommandError, match="the harness does not support Kafka") as caught:
            harness_build.known_version(version)
        assert caught.value.code == Exit.UNKNOWN


@pytest.mark.parametrize("tool", ["java", "mvn"])
def test_a_tool_that_is_missing_is_named_with_the_remedy(
    tool: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("ISRCHECK_CACHE", str(tmp_path))
    monkeypatch.setattr("shutil.which", lambda name: None if name == tool else f"/usr/bin/{name}")
    with pytest.raises(CommandError, match=f"{tool} not found; install a JDK of version 17 or later and Maven"):
        harness_build.classpath(harness_build.NEWEST)


def test_a_build_that_fails_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    failing = tmp_path / "mvn"
    failing.write_text("#!/bin/sh\necho '[ERROR] Unknown host repo'\nexit 1\n")
    failing.chmod(0o755)
    monkeypatch.setenv("ISRCHECK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(harness_build, "_tool", lambda name, own=None: str(failing))
    with pytest.raises(
        CommandError, match="could not build the harness: Unknown host repo; Maven needs access to Maven Central"
    ):
        harness_build.classpath(harness_build.NEWEST)
    assert not list((tmp_path / "cache").rglob("*.jar"))


def test_what_another_may_write_is_not_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ISRCHECK_CACHE", str(tmp_path))
    folder = harness_build._folder(harness_build.NEWEST)
    folder.mkdir(parents=True, mode=0o700)
    (folder / "harness.jar").write_bytes(b"")
    (folder / "classpath.txt").write_text(str(folder / "harness.jar"))
    assert harness_build._is_whole(folder)
    folder.chmod(0o777)
    assert not harness_build._is_whole(folder)


def test_the_command_refuses_in_one_line() -> None:
    for arguments, words in (
        (["conform", "v3"], "has no mapping"),
        (["conform", "kraft", "--kafka", "0.9"], "does not support Kafka '0.9'"),
        (["conform", "kraft", "--scenario", "kraft-never"], "there is no scenario"),
        (["conform", "kraft", "-s", "nothing=1"], "no setting"),
    ):
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == Exit.UNKNOWN, result.output
        assert words in result.output
        assert len(result.output.strip().splitlines()) == 1
