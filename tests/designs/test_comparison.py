"""docs/explanation/comparison.md: every number in its tables is counted in the models."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from isrcheck import check
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.checker.results.exploration import Limits
from isrcheck.model.designs.watches import Cluster, messages, watches
from isrcheck.model.language import Model
from tests.designs.measuring import greatest
from tests.marks import EXHAUSTIVE, one_in
from tests.scenarios.shipped import FOLDERS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/explanation/comparison.md").read_text()
LIMITS = Limits(memory=4 << 30)


def table(heading: str) -> list[list[str]]:
    """The rows of the table in a section, without its head."""
    (section,) = re.findall(rf"^## {heading}$(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")]
    return [[cell.replace(",", "") if cell[0].isdigit() else cell for cell in row] for row in rows[2:]]


def model(name: str) -> Any:
    return load_model_class(name).cls


# --- watches and messages ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("design", "replicas", "on_partitions", "other"), table("Watches"))
def test_watches(design: str, replicas: str, on_partitions: str, other: str) -> None:
    cluster = Cluster(brokers=3, topics=1000, partitions=3, replicas=int(replicas))
    declared = model(design).watches
    assert watches(declared, cluster, "partition") == int(on_partitions)
    assert watches(declared, cluster) == int(on_partitions) + int(other)


def test_the_page_on_v2_counts_as_many() -> None:
    cluster = Cluster(brokers=3, topics=1000, partitions=3, replicas=1)
    assert [watches(model(design).watches, cluster, "partition") for design in ("v1", "v2")] == [15_000, 3_000]


def test_of_v2_only_the_leaders_watch_for_reassignments() -> None:
    # "Zookeeper listeners ONLY on the leader": with one partition a topic one broker watches the path of each topic.
    one_each = Cluster(brokers=3, topics=1000, partitions=1, replicas=1)
    assert watches(model("v2").watches, one_each, "topic") == 1000
    assert watches(model("v2").watches, Cluster(brokers=3, topics=2, partitions=1, replicas=1), "cluster") == 2


def test_what_the_model_of_v1_watches_is_declared() -> None:
    cls = model("v1")
    declared = " ".join(w.path for w in cls.watches if w.scope == "partition")
    assert [path for path in cls(reassignments=1).watched if path not in declared] == []


@pytest.mark.parametrize(("design", "steps", "count"), table("Messages for one decision"))
def test_messages(design: str, steps: str, count: str) -> None:
    assert tuple(steps.split(", ")) == model(design).message
    assert messages(model(design).message) == int(count)


# --- failures ---------------------------------------------------------------------------------------------------------

DATA = ("produce", "fetch", "fetch-out-of-range", "commit", "shrink-isr", "expand-isr", "checkpoint-high-watermark")
"""Actions on which elections do not depend here."""
BY_COMMAND = ("become-leader-by-command", "become-follower-by-command", "ignore-command")


def load(what: str, state: dict[str, Any]) -> int:
    return int(state["load"][what])


@pytest.mark.parametrize(
    "row",
    one_in(3, [(row,) for row in table("Cost of a broker failure")], EXHAUSTIVE),
    ids=lambda row: f"{row[0]}-{row[1]}",
)
def test_load_of_a_failure(row: list[str]) -> None:
    replicas, partitions, *expected = map(int, row)
    size = {"replicas": replicas, "partitions": partitions, "log_size": 1, "max_leader_epoch": 1, "crashes": 1}
    found = []
    for design in ("v1", "v2"):
        crashing = model(design)(**size, count_load=True)
        for what in ("notifications", "requests"):
            found.append(greatest(crashing, (*DATA, "broker-startup"), partial(load, what)))
    commanding = model("v3")(**size, channel_size=4)
    unread = (*DATA, *BY_COMMAND, "on-broker-startup")
    found.append(greatest(commanding, unread, lambda s: sum(map(len, s["channel"][0]))))
    assert found == expected


# --- failures tolerated -----------------------------------------------------------------------------------------------


def isr(replicas: int, failures: int, elections: int, **settings: Any) -> Any:
    return model("primary-backup")(
        replicas=replicas, log_size=1, crashes=failures, max_leader_epoch=elections + 1,
        max_version=2 * elections + replicas, **settings,
    )  # fmt: skip


def majority(replicas: int, failures: int, elections: int, **settings: Any) -> Any:
    return model("majority")(
        replicas=replicas, log_size=elections + 2, crashes=failures, max_leader_epoch=elections + 1, timeouts=0,
        restarts=False, votes="at-once", **settings,
    )  # fmt: skip


def verdict(of: Model, *invariants: str) -> str:
    return check(of, invariants=invariants, limits=LIMITS).verdict


def assert_tolerates(build: Any, replicas: int, failures: int, **settings: Any) -> None:
    """Asserts that a design tolerates `failures`, but not one more, even without time for an election."""
    asked = ("committed-survives", "service-goes-on")
    assert verdict(build(replicas, failures, failures, **settings), *asked) == "holds"
    assert verdict(build(replicas, failures + 1, 0, **settings), *asked) == "violated"


def assert_waits_for(build: Any, replicas: int, copies: int) -> None:
    asked = "acknowledged-has-enough-copies"
    assert verdict(build(replicas, 0, 0, min_isr=copies), asked) == "holds"
    if copies < replicas:
        assert verdict(build(replicas, 0, 0, min_isr=copies + 1), asked) == "violated"


def assert_writes_go_on(build: Any, replicas: int, failures: int, **settings: Any) -> None:
    """Asserts that after `failures` nothing is lost and a write can be acknowledged, but not after one more."""
    asked = ("a-write-can-be-acknowledged", "committed-survives")
    assert verdict(build(replicas, failures, failures, **settings), *asked) == "holds"
    assert verdict(build(replicas, failures + 1, 0, **settings), *asked) == "violated"


AT_THE_SAME = table("Failures tolerated at the same min.insync.replicas")


@pytest.mark.parametrize(
    "row",
    [pytest.param(r, marks=pytest.mark.exhaustive if r[0] == "3" else (), id="-".join(r[:2])) for r in AT_THE_SAME],
)
def test_failures_and_copies_at_the_same_min_isr(row: list[str]) -> None:
    replicas, min_isr, by_isr, copies, by_majority, of_majority = map(int, row)
    assert_writes_go_on(isr, replicas, by_isr, min_isr=min_isr)
    assert copies == min_isr
    assert verdict(isr(replicas, by_isr, by_isr, min_isr=min_isr), "acknowledged-has-enough-copies") == "holds"
    assert_writes_go_on(majority, replicas, by_majority)
    assert_waits_for(majority, replicas, of_majority)


TOLERATED = table("Failures tolerated: ISR and majority vote")


def rows(most: int, whole: int) -> list[Any]:
    """The rows for at most `whole` replicas. Those for more than `most` replicas run only in the long tests."""
    chosen = [row for row in TOLERATED if int(row[0]) <= whole]
    return [pytest.param(r, marks=pytest.mark.exhaustive if int(r[0]) > most else (), id=r[0]) for r in chosen]


@pytest.mark.parametrize("row", rows(2, 4))
def test_failures_tolerated(row: list[str]) -> None:
    replicas, by_isr, by_majority = int(row[0]), int(row[1]), int(row[4])
    assert_tolerates(isr, replicas, by_isr)
    assert_tolerates(majority, replicas, by_majority)


@pytest.mark.parametrize("row", rows(3, 5))
def test_failures_tolerated_with_slow_replicas(row: list[str]) -> None:
    assert_tolerates(isr, int(row[0]), int(row[3]), slow_replicas=True)


@pytest.mark.parametrize("row", rows(3, 5))
def test_copies(row: list[str]) -> None:
    replicas, copies, copies_of_majority = int(row[0]), int(row[2]), int(row[5])
    assert_waits_for(isr, replicas, copies)
    assert_waits_for(majority, replicas, copies_of_majority)


NUMBERS = ("no", "one", "two", "three", "four", "five")


@pytest.mark.parametrize(("design", "column"), [("primary-backup", 1), ("majority", 4)])
@pytest.mark.parametrize("replicas", [3, 5])
def test_what_scenarios_say_of_failures(design: str, column: int, replicas: int) -> None:
    """Five replicas take long, so the recorded verdicts of the scenarios are used."""
    tolerated = int(TOLERATED[replicas - 1][column])
    for failures, expected in ((tolerated, "holds"), (tolerated + 1, "violated")):
        verb = "fails" if failures == 1 else "fail"
        name = f"{design}-{NUMBERS[failures]}-of-{NUMBERS[replicas]}-{verb}"
        recorded = json.loads((FOLDERS[name] / "expected.json").read_text())
        assert (recorded["model"], recorded["verdict"]) == (design, expected)
        assert (recorded["settings"]["replicas"], recorded["settings"]["crashes"]) == (replicas, failures)
        assert recorded["invariants"].keys() == {"committed-survives", "service-goes-on"}


def test_the_page_on_replication_says_as_much() -> None:
    # f+1 replicas against 2f+1, and f+1 copies in both.
    rows = [[int(cell) for cell in row] for row in TOLERATED]
    for failures in (0, 1, 2):
        fewest_isr = min(r[0] for r in rows if r[1] >= failures)
        fewest_majority = min(r[0] for r in rows if r[4] >= failures)
        assert (fewest_isr, fewest_majority) == (failures + 1, 2 * failures + 1)
        assert rows[fewest_isr - 1][2] == failures + 1
        assert rows[fewest_majority - 1][5] == failures + 1


# --- flushing ---------------------------------------------------------------------------------------------------------

POWER_FAILS: dict[str, dict[str, Any]] = {
    "majority": {"log_size": 2, "max_records": 1, "max_leader_epoch": 2, "timeouts": 1},
    "v3": {"log_size": 1, "max_version": 4, "min_isr": 2, "shrink_guard": "any", "checkpoint": "at-stop"},
    "alter-isr": {"log_size": 1, "max_version": 4, "min_isr": 2, "shrink_guard": "any", "checkpoint": "at-stop"},
    "kraft": {
        "log_size": 1,
        "max_leader_epoch": 3,
        "max_version": 5,
        "min_isr": 2,
        "expiries": 0,
        "fetch": "one-step",
        "follower_state": "kept-unless-skipped",
        "equal_version": "keeps-pending",
    },
}
FLUSHING = table("Flushing before an answer")
LARGE = (
    "kraft-2-elr=true-1",
    "kraft-2-elr=false-1",
    "kraft-2-elr=true last_known_leader=never-2",
    "kraft-2-elr=true last_known_leader=must-live-2",
    "majority-3-fsync=log-1",
)
"""Rows that take seconds, and run only in the long tests."""


def flushing() -> list[Any]:
    named = [("-".join(row[:4]), row) for row in FLUSHING]
    assert {name for name, _ in named} >= {*LARGE}
    return [pytest.param(r, marks=pytest.mark.exhaustive if name in LARGE else (), id=name) for name, r in named]


@pytest.mark.parametrize("row", flushing())
def test_who_loses_an_acknowledged_record_with_the_power(row: list[str]) -> None:
    design, replicas, settings, crashes, *expected = row
    declared = model(design).declared_settings()
    chosen = {n: declared[n].parsed(v) for n, _, v in (pair.partition("=") for pair in settings.split())}
    failing = model(design)(**POWER_FAILS[design], **chosen, replicas=int(replicas), lossy_crashes=int(crashes))
    lacks = "elected-leader-has-what-is-committed" if design == "majority" else "no-acknowledged-loss"
    assert found(failing, (lacks, "acknowledged-is-not-lost-everywhere")) == expected


def found(failing: Model, invariants: tuple[str, ...]) -> list[str]:
    """The verdict on each invariant. A search ends at the first violation, so further searches check the rest."""
    said, left = dict.fromkeys(invariants, "holds"), list(invariants)
    while left:
        outcomes = check(failing, invariants=left, limits=LIMITS).invariants
        lengths = {name: outcome.trace.length for name, outcome in outcomes.items() if outcome.trace is not None}
        said |= {name: f"violated {length}" for name, length in lengths.items()}
        left = [name for name in left if name not in lengths] if lengths else []
    return list(said.values())


def test_with_as_many_lossy_crashes_as_copies_eligible_leaders_are_none() -> None:
    two = model("kraft")(**POWER_FAILS["kraft"], replicas=2, last_known_leader="never", lossy_crashes=2)
    assert verdict(two, "service-goes-on") == "violated"


def test_both_have_as_many_copies_and_bear_as_many_failures() -> None:
    # What is compared is what the table above says bears one failure: three replicas that vote, an ISR of two.
    copies = {"majority": 5, "v3": 2, "alter-isr": 2, "kraft": 2}
    tolerated = {"majority": 4, "v3": 1, "alter-isr": 1, "kraft": 1}
    for design, replicas, *_ in FLUSHING:
        assert TOLERATED[int(replicas) - 1][copies[design]] == "2"
        assert TOLERATED[int(replicas) - 1][tolerated[design]] == "1"
