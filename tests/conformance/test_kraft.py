"""kraft and Kafka's own classes behave equally, and a change of either one or of the comparison is noticed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from isrcheck.checker.conformance import kraft_mapping
from isrcheck.checker.conformance.code_coverage import Coverage
from isrcheck.checker.conformance.conformance_run import Conforming, Report, mapping_of, recorded, with_traces
from isrcheck.checker.conformance.conformance_text import report_text
from isrcheck.checker.conformance.driver import Driven, Driver
from isrcheck.checker.conformance.harness_build import NEWEST, classpath
from isrcheck.checker.conformance.harness_process import Command, Harness, Moment, running
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.checker.results.errors import CommandError
from isrcheck.checker.results.result import Step
from isrcheck.model.designs.kraft import Kraft
from isrcheck.model.semantics.interpreter import Interpreter

pytestmark = [
    pytest.mark.exhaustive,  # The first build of the harness takes a minute, and needs Maven Central.
    pytest.mark.needs("java"),
    pytest.mark.needs("mvn"),
]

SCENARIOS = Path(__file__).parents[2] / "counterexamples" / "kraft"
DOCS = Path(__file__).parents[2] / "docs"
SMALL = {
    "replicas": 2,
    "min_isr": 1,
    "lost_responses": 0,
    "crashes": 0,
    "lossy_crashes": 0,
    "shutdowns": 0,
    "note_fetch": "at-once",
    "late_notes": 1,
}
"""Two brokers that never stop, so that random walks soon reach states in which a rule makes a difference."""


@pytest.fixture(scope="module")
def harness() -> Iterator[Harness]:
    with running(built(NEWEST)) as found:
        yield found


@cache
def built_or_why_not(version: str) -> str | CommandError:
    try:
        return classpath(version)
    except CommandError as failure:
        return failure


def built(version: str) -> str:
    """The harness of a version of Kafka. The test is skipped if Maven Central cannot be reached."""
    found = built_or_why_not(version)
    if isinstance(found, str):
        return found
    if "Maven Central" not in found.message:
        raise found
    pytest.skip(found.message)


def driver(harness: Harness, mapping: Any = kraft_mapping, **settings: Any) -> Driver:
    model = Kraft(**{**kraft_mapping.walks, **SMALL, **settings})
    return Driver(harness, Interpreter(model, {}), mapping)


def first_difference(found: Driver, most: int = 60, depth: int = 40) -> Driven | None:
    driven = (found.drive(found.walk(1, number, depth)) for number in range(1, most + 1))
    return next((each for each in driven if each.difference is not None), None)


def report_on(harness: Harness, *names: str, version: str = NEWEST) -> Report:
    report = Report("kraft", version, {}, 1)
    run = Conforming(harness, load_model_class("kraft"), mapping_of("kraft"), report, True, lambda line: None)
    run.scenarios(with_traces("kraft", names))
    return report


def test_every_recorded_path_conforms_but_where_its_settings_are_not_kafkas(harness: Harness) -> None:
    report = report_on(harness)
    assert not report.of("differs")
    assert len(report.outcomes) == len(list(SCENARIOS.glob("*/trace.itf.json")))
    assert len(report.of("conforms")) >= 23
    assert not report.of("not-driven-to-its-end")
    settings = {name for x in report.of("differs-as-its-settings-do") for name in x.of_others}
    assert settings >= {
        "diverging_fetch", "expand_guard", "epoch_begins", "fetch_fencing", "high_watermark_min_isr", "pending_isr",
        "caught_up_outside", "refused_request", "eligible_check", "last_known_leader", "unclean_start",
        "min_isr_change",
    }  # fmt: skip


def test_the_scenarios_of_the_findings_conform_except_those_that_the_page_names(harness: Harness) -> None:
    paragraphs = (DOCS / "how-to/real-systems.md").read_text(encoding="utf-8").split("\n\n")
    (named,) = (x for x in paragraphs if x.startswith("All 50 recorded paths were driven through 4.4.0."))
    found = scenarios_in((DOCS / "findings/index.md").read_text(encoding="utf-8"))
    conforming = {x.name.removeprefix("scenario ") for x in report_on(harness, *sorted(found)).of("conforms")}
    assert found - conforming == scenarios_in(named)


def scenarios_in(text: str) -> set[str]:
    return set(re.findall(r"`(kraft-[a-z0-9-]+)`", text))


@pytest.mark.parametrize(
    "scenario",
    ["kraft-forgotten-expansion-loses-a-record", "kraft-leader-misses-two-elections"],
)
def test_what_is_wrong_in_kafka_is_wrong_in_its_own_classes(harness: Harness, scenario: str) -> None:
    (outcome,) = report_on(harness, scenario).outcomes
    assert outcome.verdict == "conforms"
    assert outcome.driven.taken == outcome.length


def test_random_walks_conform(harness: Harness) -> None:
    for replicas in (2, 3):
        driven = first_difference(driver(harness, **{**kraft_mapping.walks, "replicas": replicas}), most=15)
        assert driven is None, driven


@pytest.mark.parametrize(("setting", "value", "part"), [("follower_state", "forgotten", "known_end")])
def test_a_model_with_another_rule_is_told_from_kafka(harness: Harness, setting: str, value: Any, part: str) -> None:
    driven = first_difference(driver(harness, **{setting: value}))
    assert driven is not None and driven.difference is not None
    assert part in driven.difference.kind


def test_the_change_of_make_leader_that_kafka_lacks_is_told_from_kafka(harness: Harness) -> None:
    (scenario,) = with_traces("kraft", ("kraft-forgotten-expansion-loses-a-record",))
    model, path = recorded(load_model_class("kraft"), scenario)
    changed = Driver(
        harness, Interpreter(Kraft(**{**model.settings, "equal_version": "keeps-pending"}), {}), kraft_mapping
    )
    driven = changed.drive(iter(changed.along(path)))
    assert driven.difference is not None
    assert ("replica[0][0].pending", [0, 1, 2], []) in driven.difference.parts


FETCH = {"p": 0, "follower": 1, "leader": 0}
LATE_ANSWER = (
    ("append-records-to-leader", {"p": 0, "b": 0}),
    ("fetch-records", FETCH),
    ("process-fetch-request", FETCH),
    ("append-records-to-leader", {"p": 0, "b": 0}),
    ("elect-preferred-leader", {"p": 0, "leader": 1}),
    ("fence-broker", {"b": 1, "leader": 0}),
    ("fetch-records", FETCH),
    ("apply-local-followers", {"b": 1, "to": 2}),
    ("process-fetch-request", FETCH),
)
"""Broker 1 fetches from broker 0 in epoch 0, and follows it in epoch 2 when the answer arrives (KAFKA-18991).

Broker 1 has a record already. With an empty log it would first truncate, and in every version ignore the answer.
"""


def named(found: Driver, path: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Step]:
    """A path from the names of its actions and their arguments."""
    labels = {(label.action, str(label.to_json())): label for label in found.interpreter.labels}
    first = next(found.walk(1, 1, 1))
    return [first, *(Step(labels[action, str(given)], None, first.state) for action, given in path)]


def late_answer(harness: Harness, answers: str) -> Driven:
    """Drives the path as far as the model allows. At settings that check answers, the last step is impossible."""
    found = driver(harness, fetch_answer=answers)
    return found.drive(found.along(named(found, LATE_ANSWER)))


@pytest.mark.parametrize(
    ("version", "own"),
    [("3.9.0", "unchecked"), ("3.9.1", "checked"), ("4.0.0", "unchecked"), ("4.0.1", "checked"), (NEWEST, "checked")],
)
def test_versions_before_and_after_kafka_18991_are_told_apart(version: str, own: str) -> None:
    other = "checked" if own == "unchecked" else "unchecked"
    with running(built(version)) as process:
        conforms, differs = late_answer(process, own), late_answer(process, other)
    assert conforms.difference is None
    assert conforms.taken == (8 if own == "checked" else 9)
    assert differs.difference is not None
    assert "log[0][1]" in {part for part, _, _ in differs.difference.parts}


@pytest.mark.parametrize(
    ("earlier", "later", "path"),
    [
        ("4.0.1", "4.1.1", "kraft-dead-leader-is-elected"),  # KAFKA-19522, mended in 4.1.1
        ("4.2.0", NEWEST, "kraft-directory-assignment-clears-the-elr"),  # apache/kafka#20716, mended in 4.3.0
        ("4.2.0", NEWEST, "kraft-cancelled-reassignment-leaves-an-eligible-leader"),  # KAFKA-19975, since 4.3.0
    ],
)
def test_versions_before_and_after_a_change_are_told_apart(earlier: str, later: str, path: str) -> None:
    """One version takes a recorded path to its end, and the other does not."""
    verdicts = []
    for version in (earlier, later):
        with running(built(version)) as process:
            (outcome,) = report_on(process, path, version=version).outcomes
        verdicts.append(outcome.verdict)
        assert outcome.verdict != "conforms" or outcome.driven.taken == outcome.length
    assert verdicts == ["conforms", "differs-as-its-settings-do"]


CLEAN_STOP: Sequence[tuple[str, Mapping[str, Any]]] = (
    ("begin-controlled-shutdown", {"b": 1, "leader": 0}),
    ("finish-controlled-shutdown", {"b": 1}),
    ("register-broker", {"b": 1, "leader": 0}),
)
"""Broker 1 is in the ELR while it stops and starts, and loses no record."""


@pytest.mark.parametrize(("version", "stays"), [("3.9.2", False), ("4.0.0", True)])
def test_versions_before_and_after_kafka_18635_are_told_apart(version: str, stays: bool) -> None:
    """3.9 has eligible leader replicas only in a metadata version for development, and ignores clean stops."""
    with running(built(version)) as process:
        found = driver(process, min_isr=2, shutdowns=1)
        driven = found.drive(found.along(named(found, CLEAN_STOP)))
    assert driven.taken == len(CLEAN_STOP)
    if stays:
        assert driven.difference is None
    else:
        assert driven.difference is not None
        assert ("elr[0]", [1], []) in driven.difference.parts


@pytest.mark.release
def test_kafka_3_9_does_what_the_model_does_without_eligible_leader_replicas() -> None:
    version = "3.9.2"
    own = {name: values[0] for name, values in kraft_mapping.of_kafka(version).items()}
    assert own["elr"] is False
    with running(built(version)) as process:
        report = report_on(process, version=version)
        driven = first_difference(driver(process, **{**kraft_mapping.walks, **own}), most=15)
    assert not report.of("differs") and not report.of("not-driven-to-its-end")
    assert len(report.of("conforms")) >= 21
    assert driven is None, driven


def test_a_guard_that_is_broken_is_noticed(harness: Harness) -> None:
    class Broken(Kraft):
        def is_in_sync(self, x: Any, end: Any) -> Any:
            return True

    found = driver(harness)
    broken = Driver(harness, Interpreter(Broken(**found.model.settings), {}), kraft_mapping)
    driven = first_difference(broken)
    assert driven is not None and driven.difference is not None


class AnybodyLeads(Kraft):
    """Whoever is in the ISR may be elected, be it active or not."""

    def is_valid(self, s: Any, p: int, x: Any, isr: Any, elr: Any, active: Any) -> Any:
        return isr.has(x)


class NobodyIsEligible(Kraft):
    """Whoever leaves a small ISR is no eligible leader replica."""

    def next_elr(self, s: Any, p: int, isr: Any, stopped_uncleanly: Any = None) -> Any:
        return isr - isr


class NoVersionIsRefused(Kraft):
    """A request in an earlier partition epoch is granted."""

    def refusals(self, s: Any, p: int, b: Any) -> list[tuple[Any, str]]:
        return [x for x in super().refusals(s, p, b) if x[1] != "invalid-update-version"]


@pytest.mark.parametrize(
    ("broken", "part"), [(AnybodyLeads, "state"), (NobodyIsEligible, "elr"), (NoVersionIsRefused, "alteration")]
)
def test_a_rule_of_the_controller_that_is_broken_is_noticed(harness: Harness, broken: type[Kraft], part: str) -> None:
    settings = {**kraft_mapping.walks, **SMALL, "min_isr": 2, "election": "in-order", "lost_responses": 1}
    asks_again = mapping(weights={**kraft_mapping.weights, "lose-response": 24})
    driven = first_difference(Driver(harness, Interpreter(broken(**settings), {}), asks_again))
    assert driven is not None and driven.difference is not None
    assert part in driven.difference.kind


def test_random_walks_with_the_order_of_replicas_conform(harness: Harness) -> None:
    settings = {**kraft_mapping.walks, "election": "in-order"}
    driven = first_difference(driver(harness, **settings), most=15)
    assert driven is None, driven


def test_reassignments_and_unclean_elections_conform(harness: Harness) -> None:
    moving = {"reassignments": 2, "cancellations": True, "assigned_at_start": 2, "unclean_elections": 1}
    driven = first_difference(driver(harness, **{**kraft_mapping.walks, **moving}), most=15)
    assert driven is None, driven


def mapping(**parts: Any) -> Any:
    """The mapping with some parts replaced."""
    names = kraft_mapping.__all__
    return SimpleNamespace(**{name: getattr(kraft_mapping, name) for name in names} | parts)


def test_a_mapping_with_another_call_is_noticed(harness: Harness) -> None:
    wrong = {**kraft_mapping.calls, "shrink-isr": lambda x: []}
    driven = first_difference(driver(harness, mapping(calls=wrong)))
    assert driven is not None and driven.difference is not None
    label = driven.steps[-1].label
    assert label is not None and label.action == "shrink-isr"


def test_a_mapping_that_reads_another_variable_is_noticed(harness: Harness) -> None:
    def found(model: Any, s: Mapping[str, Any], answer: Mapping[str, Any]) -> Any:
        values = kraft_mapping.found(model, s, answer)
        return {n: 0 if n.endswith(".high_watermark") else x for n, x in values.items()}

    driven = first_difference(driver(harness, mapping(found=found)))
    assert driven is not None and driven.difference is not None
    assert driven.difference.kind == "replica.high_watermark"


@pytest.mark.parametrize(
    ("action", "call"),
    [
        ("fence-broker", {"op": "heartbeat", "want_shut_down": True}),
        ("elect-preferred-leader", {"op": "elect_leaders", "type": "UNCLEAN"}),
        ("unfence-broker", {"op": "expire_session"}),
    ],
)
def test_a_mapping_with_another_call_of_the_controller_is_noticed(
    harness: Harness, action: str, call: dict[str, Any]
) -> None:
    def other(x: Moment) -> list[Command]:
        first, *rest = kraft_mapping.calls[action](x)
        return [{**{n: v for n, v in first.items() if n != "type"}, **call}, *rest]

    found = driver(
        harness, mapping(calls={**kraft_mapping.calls, action: other}), **{**kraft_mapping.walks, "replicas": 2}
    )
    driven = first_difference(found)
    assert driven is not None and driven.difference is not None
    label = driven.steps[-1].label
    assert label is not None and (label.action == action or action == "fence-broker")


@pytest.mark.parametrize(("field", "other"), [("isr", "elr"), ("elr", "isr"), ("last_known_elr", "elr")])
def test_a_field_of_the_controller_that_is_read_wrongly_is_noticed(harness: Harness, field: str, other: str) -> None:
    def found(model: Any, s: Mapping[str, Any], answer: Mapping[str, Any]) -> Any:
        partition = answer["controller"]["partition"]
        wrong = {**answer["controller"], "partition": {**partition, field: partition[other]}}
        return kraft_mapping.found(model, s, {**answer, "controller": wrong})

    driven = first_difference(driver(harness, mapping(found=found), min_isr=2))
    assert driven is not None and driven.difference is not None


def test_what_kafka_would_do_and_the_model_would_not_is_noticed(harness: Harness) -> None:
    class NobodyIsAcceptable(Kraft):
        def acceptable(self, s: Any, active: Any) -> Any:
            return active - {self.in_order[0]}

    settings = {**kraft_mapping.walks, **SMALL, "election": "in-order"}
    driven = first_difference(Driver(harness, Interpreter(NobodyIsAcceptable(**settings), {}), kraft_mapping), most=5)
    assert driven is not None and driven.difference is not None
    assert driven.difference.parts[0] == ("enabled(elect-preferred-leader)", False, True)


def test_a_broker_that_says_it_was_shut_down_cleanly_is_believed(harness: Harness) -> None:
    def stop(x: Moment) -> list[Command]:
        return [{**each, "clean": True} if each["op"] == "stop" else each for each in kraft_mapping.calls[x.action](x)]

    found = driver(
        harness, mapping(calls={**kraft_mapping.calls, "crash": stop}), **{**kraft_mapping.walks, "replicas": 2}
    )
    driven = first_difference(found)
    assert driven is not None and driven.difference is not None
    label = driven.steps[-1].label
    assert label is not None and label.action == "register-broker"
    assert "elr" in driven.difference.kind or "last_leader" in driven.difference.kind


def test_failed_directories_conform(harness: Harness) -> None:
    for failed in ("removed", "replaced"):
        settings = {"directory_failures": 2, "directory_assignments": 0, "failed_directory": failed}
        driven = first_difference(driver(harness, **{**kraft_mapping.walks, **settings}), most=15)
        assert driven is None, driven


def test_moved_logs_conform(harness: Harness) -> None:
    driven = first_difference(driver(harness, **{**kraft_mapping.walks, "log_moves": 2}), most=15)
    assert driven is None, driven


def test_a_heartbeat_that_unfences_elects_a_replica_whose_directory_it_says_has_failed(harness: Harness) -> None:
    """processBrokerHeartbeat: the election does not know the failed directories yet, and later nobody else is elected.

    The partition has no leader, and broker 1 is elected from the ELR, although it has lost its log. The task for
    preferred leaders removes it as leader again. But broker 1 stays the only member of the ISR, so broker 0, which has
    all records, is not elected.
    """
    image = {
        "brokers": 2,
        "configuration": {"min.insync.replicas": 2},
        "partition": {"leader": 0, "isr": [0, 1], "replicas": [0, 1]},
    }

    def run(*commands: Command) -> tuple[int, list[int], list[int]]:
        said = harness.run(list(commands))["state"]["controller"]["partition"]
        return said["leader"], said["isr"], said["elr"]

    switches = {"eligible_leader_replicas": True, "truncates_later": False}
    begun: Command = {"op": "reset", **switches, "index": 0, "image": image}
    expired: list[Command] = [{"op": "expire_session", "broker": b} for b in (1, 0)]
    assert run(begun, *expired, {"op": "fail_directory", "broker": 1}) == (-1, [], [0, 1])
    assert run({"op": "heartbeat", "broker": 1, "directories": True}) == (1, [1], [0])
    assert run({"op": "heartbeat", "broker": 0}) == (1, [1], [0])
    assert run({"op": "balance"}) == (-1, [1], [0])
    assert run({"op": "heartbeat", "broker": 1, "directories": True}, {"op": "balance"}) == (-1, [1], [0])
    assert run({"op": "expire_session", "broker": 1}) == (0, [0], [1])


def test_covering_walks_conform_and_drive_more_pairs_of_actions_than_random_ones(harness: Harness) -> None:
    settings = {**kraft_mapping.walks, **kraft_mapping.covering}
    pairs = {}
    for cover in (False, True):
        report = Report("kraft", NEWEST, settings, 1, known=tuple(Kraft(**settings).actions()))
        run = Conforming(harness, load_model_class("kraft"), kraft_mapping, report, False, lambda line: None)
        run.walks(20, 40, cover)
        assert not report.of("differs"), report_text(report)
        pairs[cover] = len(report.pairs)
    assert pairs[True] > 1.1 * pairs[False]
    assert set(report.why) == set(report.never)


OUT_OF_RANGE = (
    ("append-records-to-leader", {"p": 0, "b": 0}),
    ("elect-preferred-leader", {"p": 0, "leader": 1}),
    ("apply-local-leaders", {"b": 1, "to": 1}),
    ("maybe-replace-current-with-future-replica", {"p": 0, "b": 1}),
    ("apply-local-followers", {"b": 0, "to": 1}),
    ("fetch-offset-and-truncate", {"p": 0, "follower": 0, "leader": 1}),
)
"""A new leader with an empty log moves this log. It forgets its own epoch, and does not know its follower's."""


def test_a_follower_whose_leader_has_forgotten_epochs_truncates(harness: Harness) -> None:
    found = driver(harness, log_moves=1)
    driven = found.drive(found.along(named(found, OUT_OF_RANGE)))
    assert driven.difference is None
    assert driven.taken == len(OUT_OF_RANGE)


CLEARED: Sequence[tuple[str, Mapping[str, Any]]] = (
    ("crash", {"b": 1, "on_disk": 0}),
    ("fence-stopped-broker", {"b": 1, "leader": 0}),
    ("begin-controlled-shutdown", {"b": 0, "leader": None}),
    ("incremental-alter-configs", {}),
    ("finish-controlled-shutdown", {"b": 0}),
    ("register-broker", {"b": 1, "leader": None}),
    ("unfence-broker", {"b": 1, "leader": None}),
    ("crash", {"b": 1, "on_disk": 0}),
    ("elect-leader", {"p": 0, "leader": 1}),
    ("fence-stopped-broker", {"b": 1, "leader": None}),
    ("register-broker", {"b": 1, "leader": None}),
)
"""The ELR is {0, 1} when it is cleared, and {1} later, when broker 1 starts after a crash. Kafka lists it twice."""


def test_an_elr_that_was_cleared_stays_in_an_index_of_kafka_which_is_known(harness: Harness) -> None:
    found = driver(harness, **{**kraft_mapping.walks, "replicas": 2, "min_isr_then": 1, "unclean_elections": 1})
    driven = found.drive(found.along(named(found, CLEARED)))
    assert driven.difference is not None and driven.taken == len(CLEARED)
    ((part, said, has),) = driven.difference.parts
    assert (part, has) == ("state[0]", {**said, "version": said["version"] + 1})
    assert kraft_mapping.known(found.model, driven) == "Kafka: a cleared ELR stays in an index"
    other = replace(driven.difference, parts=((part, said, {**has, "leader": 0}),))
    assert kraft_mapping.known(found.model, replace(driven, difference=other)) is None
    assert kraft_mapping.known(found.model, replace(driven, steps=driven.steps[5:])) is None


def test_coverage_says_what_was_reached_and_what_was_not(tmp_path: Path) -> None:
    jars = built(NEWEST)
    seen = Coverage(tmp_path, kraft_mapping.classes, jars, lambda line: None)
    with running(jars, seen.options) as process:
        assert report_on(process, "kraft-min-isr-of-one").of("conforms")
    reached = {(x.owner, x.method): x.is_reached for x in seen.report()}
    assert reached["Partition", "makeLeader"] and reached["ReplicationControlManager", "handleBrokerFenced"]
    assert not reached["Partition", "delete"] and not reached["ReplicationControlManager", "deleteTopics"]
    assert {owner for owner, _ in reached} == set(kraft_mapping.classes)


def test_a_path_that_differs_is_made_shorter(harness: Harness) -> None:
    found = driver(harness, min_isr=2, high_watermark_min_isr=False)
    driven = first_difference(found)
    assert driven is not None and driven.difference is not None
    shorter = found.shortened(driven)
    assert shorter.difference is not None
    assert shorter.difference.kind == driven.difference.kind
    assert shorter.taken < min(driven.taken, 12)


def test_the_same_seed_takes_the_same_steps(harness: Harness) -> None:
    found = driver(harness)
    assert list(found.walk(3, 7, 30)) == list(found.walk(3, 7, 30))
    assert list(found.walk(3, 7, 30)) != list(found.walk(4, 7, 30))
