"""The invariants of the designs: each declares the variables that it reads, and each can be violated."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

from isrcheck import check
from isrcheck.checker.changes.mutation.edits import candidates
from isrcheck.checker.changes.mutation.mutants import mutated
from isrcheck.checker.registry.loader import fitting, library_invariants, load_model_class, needed
from isrcheck.checker.results.exploration import Limits
from isrcheck.invariants import consumers, control_plane, durability, epochs, isr, quiescence, roles
from isrcheck.invariants import isr as eligible_leaders
from isrcheck.model.designs.commands import Commands
from isrcheck.model.designs.controller import Controller
from isrcheck.model.designs.data_plane import DataPlane
from isrcheck.model.designs.logs import Logs
from isrcheck.model.language import Model, UnknownName, action
from isrcheck.model.semantics.expressions import Leaf, topological
from isrcheck.model.semantics.tracing import trace
from isrcheck.model.semantics.transition_system import Predicate

ROOT = Path(__file__).parents[2]
V3: type[Model] = load_model_class("v3").cls
ALTER_ISR: type[Model] = load_model_class("alter-isr").cls
KRAFT: type[Model] = load_model_class("kraft").cls
THEMES = (consumers, control_plane, durability, eligible_leaders, epochs, isr, quiescence, roles)
PUBLISHED = {"weak-isr", "strong-isr", "leader-in-isr", "leader-in-isr-or-none", "valid-high-watermark"}
"""The invariants of the published models, which have no partitions."""
DESIGN = {
    name: f
    for name, f in library_invariants().items()
    if name not in PUBLISHED and f.__module__ in {theme.__name__ for theme in THEMES}
}
OPTIONAL = {
    "acknowledged_by_one": {"acks_one": True},
    "assignment": {"reassignments": 1},
    "consumed": {"consumers": True},
    "offset_out_of_range": {"consumers": True},
    "checkpoint": {"crashes": 1},
    "epoch_cache": {"truncation": "kip-320"},
    "retries": {"retries": 1},
    "up": {"crashes": 1},
}
"""Variables that exist only with a feature. An invariant about such a variable declares the others that it reads."""
DESIGNS_ALONE = {
    "epoch-has-its-own-records": "state",
    "who-is-down-has-no-role": "state",
    "leaders-follow-themselves": "state",
    "leaders-alone-know-followers": "state",
    "who-has-no-role-has-forgotten": "state",
    "who-has-a-role-knows-its-epoch": "seen_live",
    "who-is-down-has-what-is-on-disk": "state",
    "isr-is-active": "metadata",
    "leader-is-active": "metadata",
}
"""Invariants that name a variable only to exclude models in which the other variables have another meaning."""
OF_KRAFT = {"elr"}
FEATURES = {name: value for settings in OPTIONAL.values() for name, value in settings.items()}
SMALL = {"log_size": 1, "max_records": 1, "max_leader_epoch": 1, "max_version": 4}


def design_of(name: str) -> type[Model]:
    """The first design that has the variables that an invariant reads."""
    return next(cls for cls in (V3, ALTER_ISR, KRAFT) if name in fitting(cls, None))


@cache
def traced(cls: type[Model]) -> dict[str, Predicate]:
    """The invariants that belong to a design (by `design_of`), as expressions."""
    model = V3(**FEATURES) if cls is V3 else cls()
    system = trace(model, {name: method for name, method in DESIGN.items() if design_of(name) is cls})
    return {predicate.name: predicate for predicate in system.invariants}


def read_by(name: str) -> set[str]:
    """The variables of which parts occur in an invariant's expression."""
    predicate = traced(design_of(name))[name]
    nodes = topological([predicate.holds, predicate.failure])
    paths = [node.value.path for node in nodes if isinstance(node.value, Leaf)]
    return {path.replace(".", "[").partition("[")[0] for path in paths}


@pytest.mark.parametrize("name", sorted(DESIGN))
def test_an_invariant_reads_just_what_it_names(name: str) -> None:
    found, named = read_by(name), set(needed(DESIGN[name]))
    if DESIGN[name].__module__ == quiescence.__name__:
        # Whether an action is enabled depends on everything.
        assert named <= found
    else:
        assert found - OPTIONAL.keys() - OF_KRAFT == named - {DESIGNS_ALONE.get(name)}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("no-loss-with-acks-one", "set acks_one to true"),
        ("no-duplicates", "set retries to 1 or more"),
        ("reads-are-repeatable", "set consumers to true"),
        ("only-committed-records-are-read", "set consumers to true"),
        ("no-reader-is-turned-away", "set consumers to true"),
        ("epoch-cache-describes-the-log", "set truncation to kip-101, kip-279 or kip-320"),
        ("isr-is-assigned", "set reassignments to 1 or more"),
        ("leader-isr-is-of-its-replicas", "set reassignments to 1 or more"),
        ("no-stray-replica", "set reassignments to 1 or more"),
        ("epoch-starts-before-its-records", "set expand_guard to epoch-start"),
        ("epoch-has-its-own-records", "set expand_guard to epoch-start"),
        ("valid-isr-and-elr", "set elr to true"),
        ("eligible-leaders-have-what-is-committed", "set elr to true"),
        ("reassignments-complete", "set reassignments to 1 or more"),
    ],
)
def test_an_invariant_about_a_feature_that_is_off_is_refused(name: str, words: str) -> None:
    off = {"truncation": "high-watermark", "expand_guard": "literal"} if design_of(name) is V3 else {"elr": False}
    with pytest.raises(UnknownName, match=words):
        check(design_of(name), {**SMALL, **off}, invariants=[name])


@pytest.mark.parametrize(
    ("model", "name", "setting"),
    [
        ("alter-isr", "no-loss-with-acks-one", "acks_one"),
        ("alter-isr", "reads-are-repeatable", "consumers"),
        ("alter-isr", "only-committed-records-are-read", "consumers"),
        ("alter-isr", "no-reader-is-turned-away", "consumers"),
        ("v3", "valid-isr-and-elr", "elr"),
        ("v3", "eligible-leaders-have-what-is-committed", "elr"),
    ],
)
def test_an_invariant_about_a_setting_that_a_model_does_not_have_does_not_fit_it(
    model: str, name: str, setting: str
) -> None:
    assert name not in load_model_class(model).invariants
    verb = "fixes" if model == "alter-isr" else "does not have"
    words = f"invariant {name} is about setting {setting}, which model {model} {verb}"
    with pytest.raises(UnknownName, match=words):
        check(model, SMALL, invariants=[name])


def test_why_an_invariant_does_not_fit_a_model_is_told() -> None:
    with pytest.raises(UnknownName) as reported:
        check("kip-320", invariants=["service-goes-on"])
    assert str(reported.value) == (
        "invariant service-goes-on applies only to the models in model/designs, not to kip-320"
    )


def violated_by_scenarios() -> set[str]:
    recorded = [
        path for d in ("v3", "alter-isr", "kraft") for path in ROOT.glob(f"counterexamples/**/{d}-*/expected.json")
    ]
    summaries = [json.loads(path.read_text()) for path in recorded]
    violated = {name for s in summaries for name, f in s["invariants"].items() if f["verdict"] == "violated"}
    return violated & DESIGN.keys()


# --- what no scenario breaks, a setting or a mistake in the model does ------------------------------------------------

LOSSY = {"truncation": "kip-320", "lossy_crashes": 1, "broker_epoch": False, "max_records": 2}
REPLY = {"truncation": "kip-320", "isr_at_start": 1, "lost_replies": 1, "read_back": False}
UNCONDITIONAL = {"truncation": "kip-320", "isr_write": "unconditional", "expiries": 2, "max_version": 6}
BY_SETTINGS = {
    "one-record-per-offset-and-epoch": LOSSY,
    "quorum-is-superset-of-isr": REPLY,
    "no-epoch-from-the-future": UNCONDITIONAL,
    "one-leader-per-epoch": UNCONDITIONAL,
    "latest-epoch-is-led-by-its-leader": UNCONDITIONAL,
}


@pytest.mark.parametrize("name", BY_SETTINGS)
def test_a_setting_breaks(name: str) -> None:
    assert broken(design_of(name), name, **BY_SETTINGS[name])


class LeaderLeavesTheIsr(V3):  # type: ignore[misc, valid-type]
    """A leader that shrinks the ISR takes itself out, too."""

    def write_isr(self, s: Any, p: int, b: Any, isr: Any, reported: bool = True) -> None:
        super().write_isr(s, p, b, isr - {b}, reported)


class LeaderWritesAndForgets(V3):  # type: ignore[misc, valid-type]
    """A leader that shrinks the ISR keeps the old one in mind, with the new version."""

    def write_isr(self, s: Any, p: int, b: Any, isr: Any, reported: bool = True) -> None:
        version = s.state[p].version + 1
        super().write_isr(s, p, b, isr, update_own_copy=False)
        s.replica[p][b].version = version


class LeaderCountsOn(V3):  # type: ignore[misc, valid-type]
    """A leader that shrinks the ISR raises its version once more than ZooKeeper does."""

    def write_isr(self, s: Any, p: int, b: Any, isr: Any, reported: bool = True) -> None:
        version = s.state[p].version + 2
        s.require(version <= self.max_version)
        super().write_isr(s, p, b, isr, update_own_copy=False)
        s.replica[p][b].isr = isr
        s.replica[p][b].version = version


class ConsumersReadEverything(V3):  # type: ignore[misc, valid-type]
    """A consumer reads up to the log end."""

    @action(**V3.consume.__action__.parameters, actor="client")
    def consume(self, s: Any, p: int, b: Any) -> None:
        """A consumer reads the next record of a leader's log."""
        position, log = s.consumed[p].length, s.log[p][b]
        s.require(self.leads(s, p, b), position < log.length)
        s.consumed[p].append(log.at(position))


class CacheForgetsEpochs(V3):  # type: ignore[misc, valid-type]
    """An append leaves the epoch cache as it is."""

    def noted_epoch(self, s: Any, p: int, b: Any, epoch: Any, start: Any) -> Any:
        return s.epoch_cache[p][b]


class OldReplicasStayInTheIsr(V3):  # type: ignore[misc, valid-type]
    """A reassignment changes the replicas and not the ISR."""

    def tell(self, s: Any, c: Any, p: int, leader: Any, isr: Any, replicas: Any, leaving: Any = None) -> None:
        super().tell(s, c, p, leader, s.state[p].isr, replicas, leaving)


class ControllerNeverSeesTheNewReplicas(V3):  # type: ignore[misc, valid-type]
    """A reassignment that adds replicas never goes on."""

    def caught_up(self, s: Any, p: int) -> Any:
        return super().caught_up(s, p) & s.live.is_empty


class DeadMembersAreElected(V3):  # type: ignore[misc, valid-type]
    """Whoever is in the ISR may be elected, dead or alive."""

    def candidates(self, s: Any, p: int, state: Any, live: Any) -> Any:
        return state.isr


class MembersStayEligible(KRAFT):  # type: ignore[misc, valid-type]
    """A replica that comes back into the ISR stays an eligible leader replica besides."""

    def next_elr(self, s: Any, p: int, isr: Any, stopped_uncleanly: Any = None) -> Any:
        return s.elr[p] | (s.state[p].isr - isr)


BY_MISTAKE: dict[str, tuple[type[Model], dict[str, Any]]] = {
    "valid-isr-and-elr": (MembersStayEligible, {"replicas": 2, "min_isr": 2, "fetch": "one-step"}),
    "leader-is-live": (DeadMembersAreElected, {"crashes": 1}),
    "isr-is-assigned": (OldReplicasStayInTheIsr, {"reassignments": 1}),
    "reassignments-complete": (ControllerNeverSeesTheNewReplicas, {"reassignments": 1, "max_leader_epoch": 3}),
    "isr-sane": (LeaderLeavesTheIsr, {}),
    "same-version-same-isr": (LeaderWritesAndForgets, {}),
    "no-version-from-the-future": (LeaderCountsOn, {}),
    "only-committed-records-are-read": (ConsumersReadEverything, {"consumers": True}),
    "epoch-cache-describes-the-log": (CacheForgetsEpochs, {"truncation": "kip-320"}),
}


BY_A_LINE_LESS: dict[str, tuple[str, FunctionType, str]] = {
    "who-is-down-has-no-role": ("crash", DataPlane.give_up_role, "replica.role = 'none'"),
    "leaders-follow-themselves": ("become-leader-by-command", DataPlane.become_leader, "replica.leader = b"),
    "leaders-alone-know-followers": ("become-follower-by-command", DataPlane.become_follower, "replica.isr = set()"),
    "who-has-no-role-has-forgotten": ("crash", DataPlane.give_up_role, "replica.epoch = -1"),
    "who-has-a-role-knows-its-epoch": (
        "on-broker-startup",
        Commands._take_role,
        "replica.epoch = when(here, state.epoch, -1)",
    ),
    "who-is-down-has-what-is-on-disk": (
        "crash",
        DataPlane.give_up_role,
        "replica.high_watermark = high_watermark",
    ),
    "epoch-has-its-own-records": (
        "become-leader-by-command",
        DataPlane.become_leader,
        "replica.epoch_start = s.log[p][b].length",
    ),
    "decisions-reach-live-replicas": (
        "on-broker-change-without-leader",
        Controller.send,
        "s.channel[c][b] = channel",
    ),
    "commits-are-on-record": (
        "commit",
        Logs.note_commit,
        "s.committed[p].by[replica.epoch] = when(before.is_none & advances, b, before)",
    ),
}
"""For each invariant: an action, the function that it calls, and the update that is left out."""
FAILING = {"crashes": 1, "expiries": 1}


@pytest.mark.parametrize("name", BY_A_LINE_LESS)
def test_an_update_left_out_breaks(name: str) -> None:
    action_name, function, text = BY_A_LINE_LESS[name]
    (edit,) = [e for e in candidates(function) if e.text == text]
    assert broken(mutated(V3, action_name, edit), name, **FAILING)


def test_with_all_updates_nothing_of_this_breaks() -> None:
    assert not broken(V3, *BY_A_LINE_LESS, **FAILING)


@pytest.mark.parametrize("name", BY_MISTAKE)
def test_a_mistake_breaks(name: str) -> None:
    cls, settings = BY_MISTAKE[name]
    assert broken(cls, name, **settings)
    assert not broken(design_of(name), name, **settings)


def broken(model: str | type[Model], *names: str, **settings: Any) -> bool:
    limits = Limits(memory=4 << 30)
    result = check(model, {**SMALL, **settings}, profile="bare", invariants=names, limits=limits)
    assert result.verdict in ("holds", "violated")
    return result.verdict == "violated"


def test_every_invariant_is_broken_somewhere() -> None:
    broken = violated_by_scenarios() | BY_SETTINGS.keys() | BY_MISTAKE.keys() | BY_A_LINE_LESS.keys()
    assert DESIGN.keys() == broken, "neither a scenario nor BY_SETTINGS, BY_MISTAKE or BY_A_LINE_LESS violates it"
