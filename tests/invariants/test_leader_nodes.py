"""The leader node disappears with its session, and a new partition gets such a node; each invariant can be violated."""

from __future__ import annotations

from typing import Any

import pytest

from isrcheck import check
from isrcheck.checker.changes.mutation.edits import candidates
from isrcheck.checker.changes.mutation.mutants import mutated
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.model.designs.v2_leader_nodes import LeaderNodes
from isrcheck.model.designs.zookeeper_watches import ZookeeperWatches
from isrcheck.model.language import Model, UnknownName

NAME = "leader-node-has-a-session"
SMALL: dict[str, dict[str, Any]] = {
    "v1": {"log_size": 1, "max_records": 1, "max_leader_epoch": 1, "expiries": 2, "crashes": 1},
    "v2": {"log_size": 1, "max_records": 1, "max_leader_epoch": 1, "expiries": 2, "crashes": 1},
}


def verdict(model: str | type[Model], settings: dict[str, Any], name: str = NAME) -> str:
    return check(model, settings, profile="bare", invariants=[name], workers=1).verdict


@pytest.mark.parametrize("model", SMALL)
def test_it_goes_with_its_session(model: str) -> None:
    assert verdict(model, SMALL[model]) == "holds"


@pytest.mark.parametrize("model", SMALL)
def test_a_node_that_stays_when_its_session_ends_is_found(model: str) -> None:
    (edit,) = [e for e in candidates(ZookeeperWatches.expire) if e.words.startswith("without s.state[p].leader =")]
    assert verdict(mutated(load_model_class(model).cls, "session-expires", edit), SMALL[model]) == "violated"


def test_a_broker_that_creates_it_before_it_has_registered_is_found() -> None:
    """A broker of V2 that has just booted handles a start request from its queue, and then looks for a leader."""
    (edit,) = [e for e in candidates(ZookeeperWatches.connected) if e.words == "without s.live.has(b)"]
    moving = {"log_size": 1, "max_records": 1, "max_leader_epoch": 2, "assigned_at_start": 1, "reassignments": 1,
              "crashes": 1, "expand_guard": "high-watermark"}  # fmt: skip
    assert verdict("v2", moving) == "holds"
    assert verdict(mutated(load_model_class("v2").cls, "create-leader-node", edit), moving) == "violated"


CREATED = {"log_size": 1, "max_records": 1, "max_leader_epoch": 2, "topic_changes": 1}


def test_a_partition_that_was_created_gets_a_leader() -> None:
    assert verdict("v2", CREATED, "new-partition-has-a-leader") == "holds"


def test_replicas_that_do_not_dare_to_lead_a_new_partition_are_found() -> None:
    (edit,) = [e for e in candidates(LeaderNodes.may_lead) if e.words == "without isr.is_empty"]
    mutant = mutated(load_model_class("v2").cls, "ignore-leader-change", edit)
    assert verdict(mutant, CREATED, "new-partition-has-a-leader") == "violated"


def test_a_new_partition_is_without_a_leader_where_the_first_one_is_gone_for_good() -> None:
    """By the page, a replica that finds a leader drops the administrator's start request, and never looks again."""
    gone = {**CREATED, "crashes": 1, "restarts": False}
    assert verdict("v2", gone, "new-partition-has-a-leader") == "violated"
    heeded = {**gone, "start_check": "epoch-or-administrator", "lagging_replica": "follows"}
    assert verdict("v2", heeded, "new-partition-has-a-leader") == "holds"


def test_designs_without_leader_nodes_do_not_have_it() -> None:
    with pytest.raises(UnknownName, match="needs variables that model v3 does not have: watch"):
        check("v3", {}, invariants=[NAME])
