"""Invariants about state changes in V2: each is refused without its feature, violated in a scenario, and can hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from isrcheck import check
from isrcheck.checker.registry.loader import library_invariants, load_model_class
from isrcheck.checker.results.exploration import Limits
from isrcheck.invariants import zookeeper
from isrcheck.model.language import Model, UnknownName
from tests.designs.replaying import Story

ROOT = Path(__file__).parents[2]
V2: type[Model] = load_model_class("v2").cls
OURS = {n for n, f in library_invariants().items() if f.__module__ == zookeeper.__name__} - {
    "leader-node-has-a-session"
}
"""The invariant about leader nodes has tests of its own (`test_leader_nodes.py`)."""
LIMITS = Limits(memory=4 << 30)


def verdicts() -> dict[str, set[str]]:
    """The recorded verdicts on each invariant in the scenarios of V2."""
    found: dict[str, set[str]] = {name: set() for name in OURS}
    for path in ROOT.glob("counterexamples/**/v2-*/expected.json"):
        for name, outcome in json.loads(path.read_text())["invariants"].items():
            if name in OURS:
                found[name].add(outcome["verdict"])
    return found


def test_every_invariant_is_broken_in_a_scenario_and_holds_in_another() -> None:
    assert verdicts() == {name: {"violated", "holds"} for name in OURS}


@pytest.mark.parametrize(
    ("model", "settings", "name", "words"),
    [
        ("v2", {"reassignments": 1}, "state-changes-complete", "set lifecycle to true"),
        ("v2", {"lifecycle": True}, "state-changes-complete", "reassignments or topic_changes to 1 or more"),
        ("v1", {}, "state-changes-complete", "in model v2"),
        ("v2", {}, "leader-nodes-are-deleted-by-their-owners", "set load_balancing to true or reassignments"),
        ("v1", {}, "leader-nodes-are-deleted-by-their-owners", "in model v2"),
        ("v3", {}, "leader-nodes-are-deleted-by-their-owners", "needs variables that model v3 does not have: watch"),
    ],
)
def test_an_invariant_about_a_feature_that_is_off_is_refused(
    model: str, settings: dict[str, Any], name: str, words: str
) -> None:
    with pytest.raises(UnknownName, match=words):
        check(model, settings, invariants=[name], limits=LIMITS)


class RequestsGetLost(V2):  # type: ignore[misc, valid-type]
    """A broker takes a request out of its queue and forgets it."""

    def handled(self, s: Any, p: int, b: Any, stage: Any) -> None:
        super().handled(s, p, b, "received")


MOVING: dict[str, Any] = {
    "reassignments": 1, "assigned_at_start": 1, "log_size": 1, "max_leader_epoch": 3, "lifecycle": True,
    "expand_guard": "high-watermark",
}  # fmt: skip


def test_a_request_that_gets_lost_is_found() -> None:
    asked: dict[str, Any] = {"profile": "bare", "invariants": ["state-changes-complete"], "limits": LIMITS}
    good, bad = (check(cls, MOVING, **asked) for cls in (V2, RequestsGetLost))
    assert (good.verdict, bad.verdict) == ("holds", "violated")


def test_the_life_of_a_request_is_that_of_the_newest_one() -> None:
    story = Story(load_model_class("v2"), ("state-changes-complete",), topic_changes=2, log_size=1, lifecycle=True)
    story.tell("""
        delete-partition(p=0)
        close-deleted-replicas(p=0, b=0)
        on-close-replica(p=0, b=0)
        not remove-deleted-paths(p=0)
        on-close-replica(p=0, b=1)
        remove-deleted-paths(p=0)
        create-topic(p=0)
        on-start-replica(p=0, b=0)
        creation-times-out(p=0)
        not finish-creation(p=0)
        clean-failed-creation(p=0)
    """)
    # Broker 1 has the request to start, and after it that to close; broker 0 has only the latter.
    assert [[r["kind"] for r in queue] for queue in story.value("queue")] == [["close"], ["start", "close"]]
    assert story.value("state_change") == [["requested", "requested"]]
    story.tell("""
        not on-start-replica(p=0, b=1)
        drop-state-change(p=0, b=1)
    """)
    assert story.value("state_change") == [["requested", "requested"]]
    story.tell("""
        on-close-replica(p=0, b=1)
        on-close-replica(p=0, b=0)
    """)
    assert story.value("state_change") == [["completed", "completed"]]
    assert story.holds() == {"state-changes-complete": True}
