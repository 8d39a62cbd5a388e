"""V3 with versions as identities: the same protocol up to the names of versions, but without a bound on them."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from isrcheck import check
from isrcheck.checker.engines.explicit.search import search
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.checker.results.exploration import Limits
from isrcheck.checker.scenarios.derived_files import files_of, summary
from isrcheck.model.language import ModelError
from isrcheck.model.language.settings import BARE
from isrcheck.model.semantics.tracing import trace
from tests.liveness.test_known_figures import V3


@cache
def up_to_names(versions: str, greatest: int) -> tuple[int, frozenset[tuple[int, ...]]]:
    """The number of states, and the states with versions renamed in the order of their occurrence."""
    system = trace(load_model_class("v3").cls(**{**V3, "max_version": greatest, "versions": versions}))
    at = [leaf.index for leaf in system.leaves if leaf.path.endswith(".version")]
    found, levels = search(system, keep_going=True, deadlock=False, limits=Limits(), report=None)
    named = set()
    for level in range(levels.depth):
        for leaves in levels.leaves(levels.level_states(level + 1)):
            names, state = {0: 0}, list(leaves)
            for i in at:
                state[i] = names.setdefault(state[i], len(names))
            named.add(tuple(state))
    return sum(found.levels), frozenset(named)


def test_it_is_the_protocol_that_counts_up_to_names() -> None:
    count, states = up_to_names("identity", 4)
    counted, seen = up_to_names("counted", 6)  # with 4 it stops before all is seen
    assert (count, counted, len(states)) == (2_200, 5_352, 1_826)
    assert states == seen
    assert up_to_names("counted", 4)[1] < states
    assert up_to_names("identity", 9)[0] == 2_200


@pytest.mark.exhaustive
def test_a_cycle_that_no_counted_version_closes_is_found() -> None:
    flaps = {**V3, "max_leader_epoch": 1, "max_version": 5, "checkpoint": "at-stop", "controller_write": "conditional"}
    asked: dict[str, Any] = {"profile": BARE, "invariants": [], "liveness": ["isr-settles"]}
    by_identity, counted = (check("v3", {**flaps, "versions": x}, **asked) for x in ("identity", "counted"))
    assert (by_identity.liveness["isr-settles"].verdict, by_identity.bounds["max_version"]) == ("violated", False)
    outcome = counted.liveness["isr-settles"]
    assert (outcome.verdict, outcome.total("unfair_components"), counted.bounds["max_version"]) == ("holds", 0, True)


def test_files_have_the_setting_only_where_it_is_not_the_default() -> None:
    for versions, said in (("counted", None), ("identity", "identity")):
        settings = {**V3, "unclean": True, "versions": versions}
        result = check("v3", settings, profile=BARE, invariants=["no-committed-loss"])
        assert result.settings["versions"] == versions == result.to_json()["settings"]["versions"]
        assert summary(result)["settings"].get("versions") == said
        assert ("versions" in files_of(result)["trace.itf.json"]) == (said is not None)


def test_what_needs_an_order_is_refused() -> None:
    settings: dict[str, Any] = {**V3, "versions": "identity"}
    with pytest.raises(ModelError, match=r"control_plane\.py:\d+: identities have no order and no arithmetic"):
        check("v3", settings, profile=BARE, invariants=["no-version-from-the-future"])
    with pytest.raises(ModelError, match="versions=identity and topic_changes=1 cannot be combined"):
        check("v3", {**settings, "topic_changes": 1}, profile=BARE)
