"""Invariants about split brain, availability and votes: each declares what it reads, and is not vacuous."""

from __future__ import annotations

from typing import Any

import pytest

from isrcheck import check
from isrcheck.checker.registry.loader import library_invariants, load_model_class, needed
from isrcheck.model.language import action
from isrcheck.model.semantics.expressions import Leaf, topological
from isrcheck.model.semantics.tracing import trace

READ = [
    ("no-split-brain", "v1", {}),
    ("elected-leader-has-what-is-committed", "majority", {}),
    ("one-leader-in-each-epoch", "majority", {}),
    ("committed-survives", "majority", {"crashes": 1}),
    ("service-goes-on", "majority", {"crashes": 1}),
    ("a-write-can-be-acknowledged", "majority", {"crashes": 1}),
    ("a-write-can-be-acknowledged", "v3", {"crashes": 1}),
    ("live-isr-has-a-leader", "v1", {"crashes": 1}),
]
ANYTHING = {"service-goes-on", "a-write-can-be-acknowledged", "live-isr-has-a-leader"}
"""Invariants that ask whether an action is enabled, which depends on all variables."""

DESIGNS_ALONE = {
    "one-leader-in-each-epoch": "elected",
}
"""The invariant names this variable only to select the designs with votes and exclude those with an ISR."""


@pytest.mark.parametrize(("name", "design", "settings"), READ)
def test_an_invariant_reads_what_it_names(name: str, design: str, settings: dict[str, Any]) -> None:
    chosen = library_invariants()[name]
    (predicate,) = trace(load_model_class(design).cls(**settings), {name: chosen}).invariants
    paths = [n.value.path for n in topological([predicate.holds, predicate.failure]) if isinstance(n.value, Leaf)]
    found = {path.replace(".", "[").partition("[")[0] for path in paths}
    named = set(needed(chosen)) - {DESIGNS_ALONE.get(name)}
    assert named <= found
    if name not in ANYTHING:
        assert found - {"up"} == named


MAJORITY: Any = load_model_class("majority").cls


class NobodyStands(MAJORITY):  # type: ignore[misc]
    """Replicas that vote, of which none ever stands."""

    @action(p=MAJORITY.stand_for_election.__action__.parameters["p"], b=MAJORITY.crash.__action__.parameters["b"],
            actor="b")  # fmt: skip
    def stand_for_election(self, s: Any, p: int, b: Any) -> None:
        """Never happens."""


class CommitsAlone(MAJORITY):  # type: ignore[misc]
    """A leader that waits for nobody."""

    @property
    def majority(self) -> int:
        return 1


class VotesTwice(MAJORITY):  # type: ignore[misc]
    """Replicas that vote for everybody in an epoch."""

    def grants(self, s: Any, p: int, voter: Any, candidate: Any, epoch: Any) -> Any:
        return self.is_up(s, voter) & (s.replica[p][voter].epoch <= epoch) & (s.replica[p][voter].role != "leader")


@pytest.mark.parametrize(
    ("broken", "name"),
    [
        (NobodyStands, "service-goes-on"),
        (NobodyStands, "a-write-can-be-acknowledged"),
        (CommitsAlone, "committed-survives"),
        (CommitsAlone, "elected-leader-has-what-is-committed"),
        (VotesTwice, "one-leader-in-each-epoch"),
    ],
)
def test_a_mistake_in_the_model_breaks_it(broken: Any, name: str) -> None:
    settings = {"replicas": 3, "crashes": 1, "timeouts": 0, "restarts": False, "log_size": 3}
    settings |= {"timeouts": 2, "log_size": 1} if broken is VotesTwice else {}
    assert check("majority", settings, profile="bare", invariants=[name]).verdict == "holds"
    assert check(broken, settings, profile="bare", invariants=[name]).verdict == "violated"
