"""Confirms what docs/explanation/mutation.md says about mutants that nothing notices in a design."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

from isrcheck import check
from isrcheck.checker.changes.mutation.edits import Edit, candidates
from isrcheck.checker.changes.mutation.mutants import mutated
from isrcheck.checker.engines.explicit.search import search
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.checker.results.exploration import Limits
from isrcheck.checker.scenarios.scenario import read
from isrcheck.invariants.durability import no_committed_loss
from isrcheck.model.designs.alter_isr import AlterIsr
from isrcheck.model.designs.alter_isr_handler import AlterationHandling
from isrcheck.model.designs.commands import Commands
from isrcheck.model.designs.controller import Controller
from isrcheck.model.designs.data_plane import DataPlane
from isrcheck.model.designs.fetches import Fetching
from isrcheck.model.designs.logs import Logs
from isrcheck.model.designs.partition_state import PartitionState
from isrcheck.model.designs.pending_isr import PendingIsr
from isrcheck.model.designs.v1 import ZookeeperListeners
from isrcheck.model.designs.v2 import LeaderCoordination
from isrcheck.model.designs.v2_leader_nodes import LeaderNodes
from isrcheck.model.designs.v2_leaders import NewLeaders
from isrcheck.model.designs.v3 import ControllerDesign
from isrcheck.model.designs.zookeeper_watches import ZookeeperWatches
from isrcheck.model.language import Model, action, broker, every, for_all, implies, invariant
from isrcheck.model.semantics.concrete_state import State, initial_states
from isrcheck.model.semantics.interpreter import Interpreter
from isrcheck.model.semantics.tracing import trace
from isrcheck.model.semantics.transition_system import Label
from tests.marks import EXHAUSTIVE, one_in

COUNTEREXAMPLES = Path(__file__).parents[2] / "counterexamples"
NOTICES = "isr-has-what-is-committed"


def line(function: FunctionType, words: str) -> Edit:
    """The edit with these words, as in the tables."""
    (edit,) = [e for e in candidates(function) if e.words == words]
    return edit


def lengths(cls: type[Model], settings: dict[str, Any], names: list[str]) -> dict[str, int]:
    """The violated invariants, each with the length of its trace in states."""
    result = check(cls, settings, profile="bare", invariants=names, keep_going=True, workers=1)
    assert result.reason is None
    return {n: f.trace.length for n, f in result.invariants.items() if f.trace is not None}


# --- v1, v2: what truncation to the high watermark hides, or that a fetch is one step ---------------------------------


class TruncatesByEpochs(ZookeeperListeners):
    """V1 with the truncation of KIP-101, which it never had: the members of its ISR have what is committed."""

    truncation = "kip-101"


class AnswersLate(TruncatesByEpochs):
    """The same where the answer to a fetch may be late."""

    fetch_reply = "checked"
    handle_fetched = Fetching.handle_fetched
    ignore_fetched = Fetching.ignore_fetched


class V2AnswersLate(LeaderCoordination):
    """V2 where the answer to a fetch may be late: what a replica tells is not one record behind what it has."""

    fetch_reply = "checked"
    handle_fetched = Fetching.handle_fetched
    ignore_fetched = Fetching.ignore_fetched


class AlterIsrAnswersLate(AlterIsr):
    """AlterIsr where the answer to a fetch may be late."""

    fetch_reply = "checked"
    answer_that_logs_diverge = Fetching.answer_that_logs_diverge
    handle_fetched = Fetching.handle_fetched
    ignore_fetched = Fetching.ignore_fetched


ALTER_SMALL = {"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 2, "max_version": 4, "crashes": 1}
V2_SMALL = {"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 1, "crashes": 1,
            "truncation": "kip-101", "checkpoint": "at-stop"}  # fmt: skip
FIXED = {"replicas": 3, "log_size": 1, "max_records": 1, "election": "multi", "isr_write": "conditional",
         "skip_same_leader": True}  # fmt: skip
ONE_ELECTION = {**FIXED, "max_leader_epoch": 1, "max_version": 2, "expiries": 1, "isr_at_start": 2}
TWO_ELECTIONS = {**FIXED, "max_leader_epoch": 2, "max_version": 3, "expiries": 2}
HIDDEN: dict[str, tuple[type[Model], dict[str, Any], str, FunctionType, str, int]] = {
    "the-leader-of-a-fetch": (
        TruncatesByEpochs, ONE_ELECTION, "fetch-out-of-range", Logs.follows, "without replica.leader == leader", 14,
    ),
    "the-start-of-an-epoch": (
        AnswersLate, ONE_ELECTION, "expand-isr", PartitionState.may_expand, "without end >= replica.epoch_start", 11,
    ),
    "one-before-its-start": (
        AnswersLate, ONE_ELECTION, "expand-isr", PartitionState.may_expand,
        "end >= replica.epoch_start - 1, not end >= replica.epoch_start", 11,
    ),
    "one-before-the-end-in-v2": (
        V2AnswersLate, V2_SMALL, "start-leading", NewLeaders.start_leading,
        "known >= end - 1, not known >= end", 10,
    ),
    "one-before-the-start-in-alter-isr": (
        AlterIsrAnswersLate, ALTER_SMALL, "expand-isr", PartitionState.may_expand,
        "end >= replica.epoch_start - 1, not end >= replica.epoch_start", 17,
    ),
    "what-followers-had-before": (
        TruncatesByEpochs, TWO_ELECTIONS, "take-the-lead", DataPlane.forget_followers,
        "without s.known_end[p][b] = [UNKNOWN for _ in self.brokers]", 13,
    ),
}  # fmt: skip
"""Mutants that survive in their design, with a variant of the design in which a member of the ISR lacks a record."""
REASSIGNED = {"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 1, "reassignments": 1}
BOUNCED = {**REASSIGNED, "assigned_at_start": 1, "crashes": 1, "expand_guard": "high-watermark"}
OWNED = {"isr_write": "conditional", "new_epoch": "owner"}
FOLLOWS_ANEW = line(LeaderNodes.start_replica, "without self.follows_anew(s, p, b, 'on-start-replica', 'always')")
MOVED = {**REASSIGNED, "max_leader_epoch": 3, "max_version": 4, "assigned_at_start": 2, "reassignments": 2}
NOTICED: dict[str, tuple[type[Model], dict[str, Any], str, Edit, str, int]] = {
    "a-fetch-past-the-end": (
        LeaderCoordination,
        {**OWNED, "replicas": 2, "log_size": 2, "max_records": 3, "max_leader_epoch": 2, "expiries": 2, "min_isr": 2,
         "skip_same_leader": "always"},
        "fetch", line(Fetching.fetch, "without end <= leaders.length"),
        "own-isr-has-what-the-leader-committed", 16,
    ),
    "the-high-watermark-of-what-is-truncated": (
        LeaderCoordination,
        {"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 2, "expiries": 1, "truncation": "kip-101",
         "new_leader_high_watermark": "own"},
        "truncate",
        line(
            Fetching.truncate_to,
            "without s.replica[p][follower].high_watermark = minimum(length, s.replica[p][follower].high_watermark)",
        ),
        "high-watermark-covers-what-is-committed", 11,
    ),
    "a-new-leader-in-the-epoch-before": (
        AlterIsr,
        {"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 2, "max_version": 5, "crashes": 1},
        "on-broker-change",
        line(
            AlterationHandling.begins_an_epoch,
            "without other = ~known.leader.is_none if leader is none else known.leader != leader",
        ),
        "every-live-replica-follows", 12,
    ),
    "what-followers-had-before-in-alter-isr": (
        AlterIsr, MOVED, "become-leader-by-command",
        line(DataPlane.forget_followers, "without s.known_end[p][b] = [UNKNOWN for _ in self.brokers]"),
        NOTICES, 15,
    ),
    "a-fetch-of-an-earlier-epoch": (
        AlterIsr, MOVED, "fetch",
        line(
            Fetching.answers,
            "s.replica[p][leader].epoch >= s.replica[p][follower].epoch, "
            "not s.replica[p][leader].epoch == s.replica[p][follower].epoch",
        ),
        NOTICES, 15,
    ),
    "a-fetch-of-another-epoch": (
        AlterIsr, MOVED, "fetch",
        line(Fetching.answers, "without same_epoch = s.replica[p][leader].epoch == s.replica[p][follower].epoch"),
        NOTICES, 15,
    ),
    **{
        f"a-{action}-that-asks-who-is-not-its-leader": (
            ControllerDesign,
            {"replicas": 3, "log_size": 1, "max_records": 2, "max_leader_epoch": 1, "max_version": 2, "expiries": 1,
             "truncation": "kip-101"},
            action, line(Logs.follows, "without replica.leader == leader"),
            NOTICES, length,
        )
        for action, length in (("fetch", 9), ("truncate", 11))
    },
}  # fmt: skip
"""Mutants that no checked scenario notices, with settings at which an invariant does, and the states of its trace."""


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", HIDDEN)
def test_where_nothing_hides_it_the_mutant_is_noticed(name: str) -> None:
    cls, settings, action, function, words, length = HIDDEN[name]
    assert lengths(mutated(cls, action, line(function, words)), settings, [NOTICES]) == {NOTICES: length}


@pytest.mark.exhaustive
@pytest.mark.parametrize(("cls", "settings"), [(V2AnswersLate, V2_SMALL), (AlterIsrAnswersLate, ALTER_SMALL)])
def test_where_answers_are_late_v2_and_alter_isr_hold(cls: type[Model], settings: dict[str, Any]) -> None:
    assert lengths(cls, settings, [NOTICES]) == {}


@pytest.mark.exhaustive
@pytest.mark.parametrize(("cls", "settings"), [(AnswersLate, ONE_ELECTION), (TruncatesByEpochs, TWO_ELECTIONS)])
def test_where_followers_truncate_by_epochs_v1_holds(cls: type[Model], settings: dict[str, Any]) -> None:
    assert lengths(cls, settings, [NOTICES]) == {}
    assert NOTICES in lengths(ZookeeperListeners, settings, [NOTICES])


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", NOTICED)
def test_at_other_settings_the_mutant_is_noticed(name: str) -> None:
    cls, settings, action, edit, invariant, length = NOTICED[name]
    assert lengths(cls, settings, [invariant]) == {}
    assert lengths(mutated(cls, action, edit), settings, [invariant]) == {invariant: length}


class CrashesWithoutRecords(LeaderCoordination):
    """V2 where a broker crashes only as long as it has no record: truncating to the high watermark costs nothing."""

    @action(b=broker, actor="b", environment=True)
    def crash(self, s: Any, b: Any) -> None:
        """A broker with empty logs stops."""
        super().crash(s, b)
        s.require(every(s.log[p][b].is_empty for p in self.all_partitions))


def test_where_nothing_is_truncated_by_a_crash_a_start_that_follows_anew_is_noticed() -> None:
    """V2 itself loses the record in as many states, because one truncation at the start is enough."""
    found = {
        cls: lengths(cls, BOUNCED, ["no-committed-loss"])
        for cls in (
            LeaderCoordination,
            CrashesWithoutRecords,
            mutated(CrashesWithoutRecords, "broker-startup", FOLLOWS_ANEW),
        )
    }
    assert list(found.values()) == [{"no-committed-loss": 21}, {}, {"no-committed-loss": 21}]


class FetchesPastTheEnd(ZookeeperListeners):
    """V1, and when a follower has more than the leader from which it fetches."""

    @invariant
    def never(self, s: Any) -> Any:
        """No follower fetches past its leader's log end."""
        return self.where_it_does(s, False)

    @invariant
    def after_a_loss(self, s: Any) -> Any:
        """No follower fetches past its leader's log end, but where a committed record is lost."""
        return self.where_it_does(s, implies(no_committed_loss(self, s), False))

    def where_it_does(self, s: Any, holds: Any) -> Any:
        return for_all(
            lambda p, follower, leader: holds,
            where=lambda p, follower, leader: (
                self.may_fetch(s, p, follower, leader) & (s.log[p][follower].length > s.log[p][leader].length)
                if follower != leader
                else False
            ),
            p=self.all_partitions,
            follower=self.brokers,
            leader=self.brokers,
        )


@pytest.mark.parametrize("scenario", ["v1-split-brain-fixed-by-conditional-writes", "v1-one-zombie-too-late"])
def test_a_follower_of_v1_fetches_past_the_end_only_when_a_record_is_lost(scenario: str) -> None:
    """Only then does the mutant whose leader answers such a fetch behave differently."""
    settings = read(COUNTEREXAMPLES / "v1" / scenario).settings
    assert lengths(FetchesPastTheEnd, settings, ["never", "after-a-loss"]).keys() == {"never"}


# --- what is done sooner or later, and comes to the same --------------------------------------------------------------


def reached(model: Model) -> Iterator[State]:
    """Every reachable state, found by the local engine, because the methods themselves would take ten times as long."""
    system = trace(model, {})
    _, levels = search(system, keep_going=True, deadlock=False, limits=Limits(), report=None, workers=1)
    for level in range(1, levels.depth + 1):
        yield from map(system.decode, levels.leaves(levels.level_states(level)))


def differing(model: Interpreter, mutant: Interpreter, action: str) -> Iterator[tuple[State, State, int]]:
    """Each step of a mutant that the model does not take: both states, and the number of its label."""
    mine = [i for i, label in enumerate(model.labels) if label.action == action]
    for state in reached(mutant.model):
        for i in mine:
            found = mutant.step(state, i)
            if found is not None and model.step(state, i) != found:
                yield state, found, i


STEP = "without s.replica[p][b].step == 'none'"
SOONER = {
    "commit": ("commit", line(NewLeaders.leads, STEP)),
    "expand-isr": ("expand-isr", line(NewLeaders.change_isr, "without self.leads(s, p, b)")),
}
JOINS = {"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 1, "crashes": 1, "truncation": "kip-101",
         "new_leader_high_watermark": "own", "isr_of_new_leader": "isr", "expand_guard": "next-commit"}  # fmt: skip


@pytest.mark.parametrize("name", one_in(2, SOONER, EXHAUSTIVE))
def test_what_a_new_leader_of_v2_does_too_soon_it_may_do_as_soon_as_it_leads(name: str) -> None:
    """The step leads to the same state before becomeLeader has ended and after it."""
    action, edit = SOONER[name]
    model = Interpreter(LeaderCoordination(**JOINS), {})
    mutant = Interpreter(mutated(LeaderCoordination, action, edit)(**JOINS), {})
    begins = {dict(label.parameters)["b"]: i for i, label in enumerate(model.labels) if label.action == "start-leading"}
    found = 0
    for state, early, step in differing(model, mutant, action):
        begin = begins[dict(model.labels[step].parameters)["b"]]
        leads = model.step(state, begin)
        assert leads is not None
        assert model.step(leads, step) == model.step(early, begin)
        found += 1
    assert found


HEARS = (
    *("become-leader-by-command", "become-follower-by-command", "ignore-command", "truncate", "register-again"),
    *("create-leader-node", "become-follower-of-new-leader", "ignore-leader-change", "give-up-becoming-leader"),
    *("read-epoch", "write-epoch", "start-leading"),
)
"""Actions of V3 and V2 in which a broker handles received messages by itself."""
REGISTERED_TWICE = {"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 1, "max_version": 2,
                    "expiries": 2, "truncation": "kip-320"}  # fmt: skip
LOSSY = read(COUNTEREXAMPLES / "v3" / "v3-outsider-joins-as-it-fetches").settings
GOES_ON = {**read(COUNTEREXAMPLES / "v2" / "v2-goes-on-under-the-same-leader").settings, "max_leader_epoch": 1}
RESUMED = read(COUNTEREXAMPLES / "v2" / "v2-reassignment-resumed").settings
BUSY = "without s.replica[p][b].step == 'none'"
LATER: dict[str, tuple[type[Model], dict[str, Any], str, Edit, str]] = {
    "requests-of-the-session-before": (
        ControllerDesign, REGISTERED_TWICE, "register-again",
        line(Controller.begin_session, "without s.channel[c][b] = []"), "b",
    ),
    "the-end-of-a-leader-in-another-epoch": (
        ControllerDesign, LOSSY, "fetch-out-of-range",
        line(Fetching.answers, "without same_epoch = s.replica[p][leader].epoch == s.replica[p][follower].epoch"),
        "follower",
    ),
    "a-leader-found-without-a-session": (
        LeaderCoordination, GOES_ON, "become-follower-of-new-leader",
        line(ZookeeperWatches.connected, "without s.live.has(b)"), "b",
    ),
    "a-change-ignored-without-a-session": (
        LeaderCoordination, RESUMED, "ignore-leader-change",
        line(ZookeeperWatches.connected, "without s.live.has(b)"), "b",
    ),
    "a-node-created-while-becoming-leader": (
        LeaderCoordination, GOES_ON, "create-leader-node", line(LeaderNodes.is_notified, BUSY), "b",
    ),
    "a-change-ignored-while-becoming-leader": (
        LeaderCoordination, GOES_ON, "ignore-leader-change", line(LeaderNodes.is_notified, BUSY), "b",
    ),
}  # fmt: skip
"""A design, settings, an action, the line that it lacks, and the parameter with the acting broker."""
STEPS = 5
"""The number of own steps after which a broker of the mutant reaches a state of the model."""


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.exhaustive if LATER[n][1] in (GOES_ON, RESUMED) else ()) for n in LATER]
)
def test_what_a_broker_does_without_the_line_comes_to_what_it_does_with_it(name: str) -> None:
    """After the broker has handled its messages, its state is one that it also reaches with the line."""
    cls, settings, action, edit, who = LATER[name]
    model = Interpreter(cls(**settings), {})
    mutant = Interpreter(mutated(cls, action, edit)(**settings), {})
    found = 0
    for state, other, step in differing(model, mutant, action):
        broker = dict(model.labels[step].parameters)[who]
        assert by_itself(model, state, broker) & by_itself(model, other, broker)
        found += 1
    assert found


ONE_LEADER_CHANGE = {"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 1, "max_version": 2,
                     "expiries": 1}  # fmt: skip
STAYS = line(Commands.taken, "without s.channel[c][b].remove_first()")
SETTLED_NEXT = {
    "a-response-stays": (
        "adopt-isr-by-response", "ignore-response",
        line(PendingIsr.adopt_isr_by_response, "without s.alteration[p][b][request] = self.no_alteration()"),
    ),
    "a-command-to-follow-stays": ("become-follower-by-command", "ignore-command", STAYS),
    "a-command-to-lead-stays": ("become-leader-by-command", "ignore-command", STAYS),
    "a-request-stays-as-it-is-granted": (
        "grant-alter-isr", "confirm-alter-isr",
        line(AlterationHandling.grant_alter_isr, "without one.stage = 'success'"),
    ),
}  # fmt: skip
"""Mutants of alter-isr: an action, another action with the effect of the line, and the line."""


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", SETTLED_NEXT)
def test_what_the_line_of_alter_isr_does_another_action_does_next(name: str) -> None:
    """The response or the command is ignored, or the controller repeats the answer that the ISR is altered."""
    action, after, edit = SETTLED_NEXT[name]
    model = Interpreter(AlterIsr(**ONE_LEADER_CHANGE), {})
    mutant = Interpreter(mutated(AlterIsr, action, edit)(**ONE_LEADER_CHANGE), {})
    settles = [i for i, label in enumerate(model.labels) if label.action == after]
    found = 0
    for state, other, step in differing(model, mutant, action):
        assert model.step(state, step) in {model.step(other, i) for i in settles}
        found += 1
    assert found


THREE_ELECTIONS = {"replicas": 3, "log_size": 1, "max_records": 1, "max_leader_epoch": 3, "max_version": 4,
                   "expiries": 2, "preferred_election": True}  # fmt: skip
LATER_EPOCH = """\
session-expires(b=0)
on-broker-change(c=0, p=0, leader=1)
become-follower-by-command(c=0, b=2, p=0)
become-leader-by-command(c=0, b=1, p=0)
register-again(b=0)
on-broker-change(c=0, p=0, leader=1)
become-follower-by-command(c=0, b=0, p=0)
fetch(p=0, follower=0, leader=1)
expand-isr(p=0, b=1, follower=0)
grant-alter-isr(c=0, p=0, b=1, request=0)
adopt-isr-by-response(p=0, b=1, request=0)
on-preferred-replica-election(c=0, p=0)
produce(p=0, b=1)
session-expires(b=0)
on-broker-change(c=0, p=0, leader=1)
become-leader-by-command(c=0, b=0, p=0)
register-again(b=0)
fetch(p=0, follower=2, leader=1)
fetch(p=0, follower=2, leader=1)
become-follower-by-command(c=0, b=2, p=0)
truncate(p=0, follower=2, leader=0)
on-broker-change(c=0, p=0, leader=1)
become-follower-by-command(c=0, b=0, p=0)
fetch(p=0, follower=0, leader=1)
fetch(p=0, follower=0, leader=1)
commit(p=0, b=1)""".splitlines()
"""Broker 1 leads in epoch 1, and in epoch 3 before it hears of that. In between, broker 2 truncates its records."""


def test_a_leader_of_alter_isr_that_answers_a_later_epoch_commits_what_a_member_of_the_isr_has_lost() -> None:
    """The path is known from v3. Without the line every step is possible; with it, the fetches of epoch 3 are not."""
    edit = line(
        Fetching.answers,
        "s.replica[p][leader].epoch <= s.replica[p][follower].epoch, "
        "not s.replica[p][leader].epoch == s.replica[p][follower].epoch",
    )
    invariants = {NOTICES: load_model_class("alter-isr").invariants[NOTICES]}
    model = Interpreter(AlterIsr(**THREE_ELECTIONS), {})
    mutant = Interpreter(mutated(AlterIsr, "fetch", edit)(**THREE_ELECTIONS), invariants)
    numbers = {str(label): i for i, label in enumerate(mutant.labels)}
    (state,) = initial_states(mutant.model)
    impossible = []
    for step in LATER_EPOCH:
        assert not mutant.violated(state)
        if model.step(state, numbers[step]) is None:
            impossible.append(step)
        after = mutant.step(state, numbers[step])
        assert after is not None
        state = after
    assert mutant.violated(state) == {NOTICES}
    assert impossible == ["fetch(p=0, follower=0, leader=1)"] * 2


@pytest.mark.exhaustive
def test_where_truncation_goes_by_epochs_a_broker_of_v2_that_follows_anew_keeps_all_that_it_has() -> None:
    """The broker asks its leader again for the end of its last epoch, and reaches the same state as with the line."""
    settings = {**BOUNCED, "truncation": "kip-101"}
    model = Interpreter(LeaderCoordination(**settings), {})
    mutant = Interpreter(mutated(LeaderCoordination, "broker-startup", FOLLOWS_ANEW)(**settings), {})
    found = 0
    for state, other, step in differing(model, mutant, "broker-startup"):
        goes_on = model.step(state, step)
        assert goes_on in by_itself(model, other, dict(model.labels[step].parameters)["b"])
        found += 1
    assert found


def by_itself(model: Interpreter, state: State, broker: Any) -> set[State]:
    """The states that a few steps of a broker reach."""
    own = [i for i, label in enumerate(model.labels) if label.action in HEARS and _of(label) == broker]
    seen = new = {state}
    for _ in range(STEPS):
        new = {x for y in new for i in own if (x := model.step(y, i)) is not None} - seen
        seen = seen | new
    return seen


def _of(label: Label) -> Any:
    parameters = dict(label.parameters)
    return parameters.get("follower", parameters.get("b"))
