"""Changes of Kafka's protocol and the behaviours that they add and remove, with lengths from another program.

That program was a prototype in plain Python that kept every pair. Where it found no behaviour, its number of pairs is
given. isrcheck leaves out pairs that another pair with the same state makes unnecessary, so it has at most as many.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import pytest

from isrcheck.checker.analysis.inclusion.inclusion_check import Comparison, OneWay, Side, compare
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.checker.results.result import Trace
from isrcheck.checker.results.state_text import label_text
from isrcheck.checker.scenarios.collection import one
from isrcheck.checker.trace.step_replay import replay

LARGER = {"replicas": 2, "log_size": 2, "max_records": 2, "max_leader_epoch": 2}
SMALLER = {"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 1}
LOST_REPLY = ("v3-lost-zookeeper-reply", "v3-lost-zookeeper-reply-fixed-by-kafka-1382")
LOST_RESPONSE = ("alter-isr-lost-response", "alter-isr-lost-response-fixed-by-kafka-14144")


@dataclass(frozen=True)
class Known:
    """Two sides and visible variables; in each direction the states of the shortest behaviour, or else the pairs."""

    sides: tuple[str, str]
    settings: tuple[tuple[str, int], ...]
    visible: tuple[str, ...]
    new: tuple[int | None, int | None]
    gone: tuple[int | None, int | None]


def known(
    sides: tuple[str, str], settings: dict[str, int], visible: str, *ways: tuple[int | None, int | None]
) -> Known:
    return Known(sides, tuple(settings.items()), tuple(visible.split(",")), *ways)


KNOWN = [
    known(("kip-101", "kip-279"), LARGER, "log,quorum", (11, None), (11, None)),
    known(("kip-279", "kip-320"), SMALLER, "log,quorum", (None, 427), (8, None)),
    known(LOST_REPLY, {}, "log,state,committed", (None, 10_870), (5, None)),
    known(LOST_RESPONSE, {}, "state,replica.isr,replica.pending", (None, 157), (None, 134)),
]
IDS = ["KIP-279", "KIP-320", "KAFKA-1382", "KAFKA-14144"]


def side(name: str, settings: tuple[tuple[str, int], ...]) -> Side:
    if settings:
        loaded = load_model_class(name)
        return Side(name, loaded, loaded.cls(**dict(settings)))
    scenario = one(name)
    loaded = load_model_class(scenario.specification())
    return Side(name, loaded, loaded.cls(**scenario.settings))


@cache
def found(row: Known) -> Comparison:
    a, b = (side(name, row.settings) for name in row.sides)
    return compare(a, b, row.visible)


def last(way: OneWay) -> str:
    assert way.endings is not None
    label = way.endings.trace.steps[-1].label
    assert label is not None
    return label_text(label)


@pytest.mark.parametrize("row", KNOWN, ids=IDS)
def test_a_change_adds_and_takes_away_what_is_known(row: Known) -> None:
    for way, (length, pairs) in ((found(row).new, row.new), (found(row).gone, row.gone)):
        assert way.verdict == ("none" if length is None else "found")
        if pairs is not None:
            assert 0 < way.pairs <= pairs
        if length is not None:
            assert way.endings is not None
            assert (way.endings.trace.length, way.depth) == (length, length - 1)


def visible_history(trace: Trace, visible: tuple[str, ...]) -> list[tuple[object, ...]]:
    """The visible states along a trace, without repetitions."""
    places = [i for i, (name, _) in enumerate(trace.variables) if name in visible]
    states = [tuple(step.state[i] for i in places) for step in trace.steps]
    return [x for i, x in enumerate(states) if i == 0 or x != states[i - 1]]


@pytest.mark.parametrize("row", KNOWN[:3], ids=IDS[:3])
def test_both_endings_are_behaviours_with_the_same_history_but_for_the_end(row: Known) -> None:
    comparison = found(row)
    for way, mine, other in (
        (comparison.new, comparison.b, comparison.a),
        (comparison.gone, comparison.a, comparison.b),
    ):
        if way.endings is None:
            continue
        assert way.endings.other is not None
        assert replay(mine.model, way.endings.trace).valid
        assert replay(other.model, way.endings.other).valid
        own = visible_history(way.endings.trace, row.visible)
        assert visible_history(way.endings.other, row.visible) == own[:-1]


def test_kip_279_keeps_a_record_that_kip_101_truncates() -> None:
    """Logs differ at their first record. By KIP-101 a follower keeps too much or nothing, never just that record."""
    new, gone = found(KNOWN[0]).new, found(KNOWN[0]).gone
    assert new.endings is not None
    assert gone.endings is not None
    assert (new.endings.ending.how, gone.endings.ending.how) == ("elsewhere", "elsewhere")
    assert last(new).startswith("become-follower(")
    (log,) = [d for d in gone.endings.ending.differs if d.path.startswith("log[")]
    # KIP-101 falls back to its high watermark, which is 0; what KIP-279 keeps both logs have.
    assert log.here == "[]"
    assert log.fixed.startswith("[0: ")


def test_kip_320_takes_no_follower_of_another_epoch_into_the_isr() -> None:
    gone = found(KNOWN[1]).gone
    assert last(gone) == "leader-expand-isr(leader=0, follower=1)"
    assert gone.endings is not None
    ending = gone.endings.ending
    assert (ending.how, ending.step) == ("refused", "fenced-leader-expand-isr(leader=0, follower=1)")
    assert ending.source == "self.follows_in_same_epoch(s, follower, leader)"
    assert ending.condition == "replica[1].leader_epoch != replica[0].leader_epoch"
    assert [read.path for read in ending.reads] == ["replica[1].leader_epoch", "replica[0].leader_epoch"]


def test_kafka_1382_takes_away_the_commit_of_one_broker_alone() -> None:
    """The loss takes nine states. The commit before the second member of ZooKeeper's ISR has the record takes five."""
    gone = found(KNOWN[2]).gone
    assert last(gone) == "commit(p=0, b=0)"
    assert gone.endings is not None
    state = dict(zip((n for n, _ in gone.endings.trace.variables), gone.endings.trace.steps[-1].state, strict=True))
    assert state["state"][0][1] == frozenset({0, 1})
    assert [len(log) for log in state["log"][0]] == [1, 0]
    assert gone.endings.ending.how == "refused"
