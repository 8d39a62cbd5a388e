"""Liveness properties of a specification, checked for the mapped fair behaviours of a model."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from isrcheck.checker.analysis.check import check
from isrcheck.checker.analysis.refinement.refinement_check import refine
from isrcheck.checker.analysis.refinement.refinement_result import Refined
from isrcheck.checker.results.result import PropertyResult
from isrcheck.model.language import (
    Model,
    action,
    always_eventually,
    eventually,
    eventually_always,
    eventually_never,
    leads_to,
    number,
    refinement,
    some,
    stable,
    when,
)
from isrcheck.model.language.errors import UnknownName
from isrcheck.model.language.fairness import Fairness
from isrcheck.model.specifications.mappings import what_leaders_commit
from isrcheck.model.specifications.replicated_log import ReplicatedLog
from tests.cli.running import run
from tests.liveness.graphs import STATES, Brute, Graph, drawn
from tests.refinement.clocks import asked, read
from tests.refinement.graphs import looked_up

KINDS = ("always-comes", "comes", "comes-again", "leads")


class Anywhere(Model):
    """It goes anywhere at any time, so that any model refines it."""

    abstract = True
    first: ClassVar[frozenset[int]]
    second: ClassVar[frozenset[int]]

    def variables(self) -> dict[str, Any]:
        return {"at": number(0, STATES - 1)}

    @action(to=number(0, STATES - 1), actor="someone")
    def move(self, s: Any, to: int) -> None:
        """To another place."""
        s.require(s.at != to)
        s.at = to

    @action(actor="someone")
    def leave(self, s: Any) -> None:
        """Away from the first."""
        s.require(self.is_first(s))
        s.at = when(s.at == 0, 1, 0)

    def is_first(self, s: Any) -> Any:
        return some(s.at == x for x in sorted(self.first))

    @leads_to
    def leads(self, s: Any) -> Any:
        """The first leads to the second."""
        return self.is_first(s), some(s.at == x for x in sorted(self.second))

    @eventually
    def comes(self, s: Any) -> Any:
        """The first comes."""
        return self.is_first(s)

    @always_eventually
    def comes_again(self, s: Any) -> Any:
        """The first comes again and again: it can be left."""
        return s.enabled(self.leave)

    @eventually_always
    def always_comes(self, s: Any) -> Any:
        """In the end the first is there for ever."""
        return self.is_first(s)

    @stable
    def goes_on(self, s: Any) -> Any:
        """The first stays."""
        return self.is_first(s)


def table_of(seed: int) -> dict[int, int]:
    """The place to which each state of a graph is mapped. Initial states are mapped to place 0."""
    dice = random.Random(f"table {seed}")
    starts = drawn(seed).starts
    return {x: 0 if x in starts else dice.randrange(STATES) for x in range(STATES)}


def mapping(table: dict[int, int]) -> Any:
    @refinement(of="anywhere")
    def by_table(m: Any, s: Any) -> Any:
        """As the table says."""
        return {"at": looked_up(s.n, table, 0)}

    return by_table


def both(seed: int) -> tuple[Refined, Graph]:
    """The answer for a graph and a table, and the graph with the equivalent sets of states."""
    graph, table = drawn(seed), table_of(seed)
    dice = random.Random(f"sets {seed}")
    first, second = (frozenset(x for x in range(STATES) if dice.random() < share) for share in (0.5, 0.35))
    specification = type("Anywhere", (Anywhere,), {"first": first, "second": second})
    answer = refine(graph.model(), specification=specification, mapping=mapping(table), liveness=["all"])
    preimages = ({x for x in range(STATES) if table[x] in places} for places in (first, second))
    return answer, replace(graph, **dict(zip(("first", "second"), map(frozenset, preimages), strict=True)))


def reported(outcome: PropertyResult) -> Any:
    """A lasso as labels and states, with its loop and the reasons why it is fair."""
    assert outcome.trace is not None
    steps = [(str(step.label), step.state) for step in outcome.trace.steps]
    return steps, outcome.trace.loop, outcome.kept, outcome.shortest_cycle


def require_true(seed: int) -> Counter[str]:
    """Compares all answers with brute force over all subsets of states, and with `check` of the graph itself."""
    answer, graph = both(seed)
    brute, seen = Brute(graph), Counter[str]()
    direct = check(graph.model(), invariants=[], liveness=["all"]).liveness
    assert answer.result.invariants[answer.name].verdict == "holds"
    assert set(answer.result.liveness) == {*KINDS, "goes-on"}
    broken = answer.result.liveness["goes-on"]
    assert (broken.verdict == "violated") == brute.leaves_what_is_stable()
    for name in KINDS:
        outcome, truth = answer.result.liveness[name], brute.truth(name)
        (found,) = outcome.asked
        assert (outcome.verdict == "violated") == bool(truth.ends | truth.fair), (seed, name)
        assert (found.region, found.fair_ends, found.fair_states) == (
            len(truth.region), len(truth.ends), len(truth.fair),
        ), (seed, name)  # fmt: skip
        assert found.excused_ends == len(truth.raw_ends - truth.ends), (seed, name)
        seen[outcome.verdict] += 1
        if outcome.trace is not None:
            assert outcome.trace.loop is not None
            assert outcome.trace.loop + 1 == truth.prefix, (seed, name)
            assert reported(outcome) == reported(direct[name])
            places = [place for (place,) in answer.lassos[name]]
            assert places == [table_of(seed)[step.state[0]] for step in outcome.trace.steps]
            seen["round" if not outcome.trace.stays else "stays"] += 1
    codes = {"violated": 13, "holds": 0}
    worst = "violated" if any(f.verdict == "violated" for f in answer.result.liveness.values()) else "holds"
    assert (answer.result.verdict, answer.result.exit_code) == (worst, codes[worst])
    return seen


@pytest.mark.parametrize("seeds", [range(18), pytest.param(range(18, 48), marks=pytest.mark.exhaustive)])
def test_what_must_happen_is_what_every_subset_says(seeds: range) -> None:
    seen = sum((require_true(seed) for seed in seeds), Counter[str]())
    assert min(seen[x] for x in ("holds", "violated", "round", "stays")) >= 10, seen


@pytest.mark.release
@pytest.mark.exhaustive
@pytest.mark.parametrize("part", range(8))
def test_what_must_happen_is_what_every_subset_says_of_many(part: int) -> None:
    for seed in range(100 + 100 * part, 200 + 100 * part):
        require_true(seed)


# --- the specifications that ship -----------------------------------------------------------------------------------


def test_what_the_log_waits_for_is_what_the_true_leader_has_not_committed() -> None:
    """A property of the specification and a property of the model give the same counts and the same lasso."""
    settings, unfair = {"replicas": 2}, Fairness(unfair=frozenset({"fenced-follower-fetch"}))
    for fairness, verdict in ((Fairness(), "holds"), (unfair, "violated")):
        found = refine(
            "kip-320",
            settings,
            profile="bare",
            specification="accepting-log",
            liveness=["accepted-is-committed"],
            fairness=fairness,
        )
        direct = check(
            "kip-320",
            settings,
            profile="bare",
            invariants=[],
            liveness=["true-leader-commits-its-log"],
            fairness=fairness,
        )
        ours, theirs = found.result.liveness["accepted-is-committed"], direct.liveness["true-leader-commits-its-log"]
        assert (ours.verdict, theirs.verdict) == (verdict, verdict)
        if ours.trace is not None and theirs.trace is not None:
            assert [str(s.label) for s in ours.trace.steps] == [str(s.label) for s in theirs.trace.steps]
            assert [s.state[:-1] for s in ours.trace.steps] == [s.state for s in theirs.trace.steps]
            at = [name for name, _ in found.variables].index("waits")
            assert ours.trace.loop is not None
            assert {s[at] for s in found.lassos["accepted-is-committed"][ours.trace.loop :]} == {(True,)}


@pytest.mark.parametrize(("fairness", "code"), [(Fairness(weak=frozenset({"produce"})), 0), (Fairness(), 13)])
def test_what_is_committed_grows_as_long_as_clients_write(fairness: Fairness, code: int) -> None:
    """After the only record is written, the property requires nothing. Before that, nobody must write it."""
    settings = {"replicas": 2, "log_size": 2, "max_records": 1}
    found = refine(
        "majority", settings, profile="bare", specification="accepting-log", liveness=["committed-grows"],
        fairness=fairness,
    )  # fmt: skip
    assert found.result.exit_code == code
    if code:
        offered = [name for name, _ in found.variables].index("offered")
        assert {states[offered] for states in found.lassos["committed-grows"]} == {True}


# --- the command ----------------------------------------------------------------------------------------------------

PROMISES = '''
    @always_eventually
    def strikes(self, s):
        """It is the last hour infinitely often."""
        return s.hour == self.top

    @leads_to
    def goes_on(self, s):
        """Where the clock can go on, it strikes in the end."""
        return s.enabled(self.tick), s.hour == self.top

    @eventually_never("tick")
    def rests(self, s):
        """It does not tick for ever."""
        return True
'''


@pytest.fixture
def striking(clock: Path) -> Path:
    """A clock that must strike, and hands that stop for ever at their last hour, when the mapped clock strikes."""
    marker = "    def initial(self, s):\n        s.early = True\n"
    text = clock.read_text()
    assert text.count(marker) == 1
    clock.write_text(text.replace(marker, marker + PROMISES))
    return clock


def test_a_property_of_the_specification_is_asked(striking: Path) -> None:
    outcome = asked(striking, "by-the-small-hand", "--liveness", "strikes", "--liveness", "goes-on", "--quiet")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith(
        "HOLDS  clock:Hands: refines-clock:Clock, goes-on, strikes; all of 8 states, depth 8\n"
    )


def test_a_lasso_is_told_beside_the_specification(striking: Path, tmp_path: Path) -> None:
    """The hand is unfair, so it may never move, and the clock never strikes."""
    files = {"json": tmp_path / "out.json", "itf": tmp_path / "out.itf.json", "html": tmp_path / "out.html"}
    more = [text for kind, file in files.items() for text in (f"--{kind}", str(file))]
    outcome = asked(striking, "by-the-small-hand", "--liveness", "strikes", "--unfair", "move", *more)
    assert outcome.code == 13
    assert outcome.out.startswith("VIOLATED  clock:Hands: strikes stuck after 1 state\n")
    assert "     clock:Clock.hour   0\n" in outcome.out
    assert "strikes is false of that: It is the last hour infinitely often." in outcome.out
    assert "clock:Clock.hour" in files["html"].read_text()
    data = read(files["json"])
    assert (data["verdict"], data["exit_code"]) == ("violated", 13)
    assert data["invariants"]["refines-clock:Clock"]["verdict"] == "holds"
    assert data["refinement"]["lassos"] == {"strikes": [{"hour": 0, "early": True}]}
    assert data["refinement"]["beside"] == []
    for form in ("json", "itf"):
        again = run("replay", files[form], "--model", f"{striking}:Hands", "--quiet")
        assert (again.code, again.err) == (13, "")
        assert again.out == "VALID  strikes: 1 state, a fair behaviour that violates strikes\n"
        assert "     clock:Clock.hour   0\n" in run("replay", files[form], "--model", f"{striking}:Hands").out


def test_a_lasso_that_is_fair_no_more_is_refused(striking: Path, tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    assert asked(striking, "by-the-small-hand", "--liveness", "strikes", "--unfair", "move", "--json", file).code == 13
    data = json.loads(file.read_text())
    data["fairness"]["unfair"] = []
    file.write_text(json.dumps(data))
    outcome = run("replay", file, "--model", f"{striking}:Hands", "--quiet")
    assert outcome.code == 10
    assert outcome.out == ("INVALID  strikes: it is not fair: move() is enabled continuously, but never happens\n")


def test_what_does_not_refine_is_not_asked_what_must_happen(striking: Path) -> None:
    outcome = asked(striking, "by-the-large-hand", "--liveness", "strikes")
    assert outcome.code == 12
    why = "incomplete: liveness needs a complete exploration: the specification does not allow a step"
    assert f"  strikes  {why}\n" in outcome.out


class Unguarded(ReplicatedLog):
    """It asks for what is not there at first."""

    @always_eventually
    def begins(self, s: Any) -> Any:
        """The first record is of epoch 0."""
        return s.committed[0].at(0).epoch == 0


def test_a_property_without_meaning_exits_75() -> None:
    settings = {"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 0}
    asking: dict[str, Any] = {"specification": Unguarded, "mapping": what_leaders_commit, "liveness": ["begins"]}
    found = refine("kip-320", settings, profile="bare", **asking).result
    assert (found.exit_code, found.liveness["begins"].verdict) == (75, "incomplete")
    assert found.evaluation is not None
    assert found.evaluation.trace.length == 1


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        (
            ("--liveness", "strike"),
            150,
            "isrcheck: model clock:Clock has no property 'strike'; did you mean strikes? "
            "known: all, goes-on, rests, strikes\n",
        ),
        (
            ("--liveness", "rests"),
            150,
            "isrcheck: property rests is about actions of clock, which are not actions of the model; "
            "choose one about its states\n",
        ),
        (("--liveness", "strikes", "--weak", "tick"), 150, "isrcheck: model clock has no action 'tick'; known: move\n"),
    ],
)
def test_what_cannot_be_asked_is_said_in_a_line(striking: Path, more: tuple[str, ...], code: int, message: str) -> None:
    outcome = asked(striking, "by-the-small-hand", *more)
    assert (outcome.code, outcome.out, outcome.err) == (code, "", message)


def test_promises_go_with_a_property(clock: Path) -> None:
    outcome = asked(clock, "by-the-small-hand", "--weak", "move")
    assert outcome.code == 2
    assert "--weak requires --liveness" in outcome.err


def test_of_all_those_are_left_out_that_are_about_what_is_switched_off() -> None:
    found = refine("majority", {"replicas": 2}, profile="bare", specification="replicated-log", liveness=["all"])
    assert set(found.result.liveness) == {"lost-is-found"}
    with pytest.raises(UnknownName, match="committed-is-read is about consumers; set consumers to true"):
        refine("majority", {"replicas": 2}, specification="replicated-log", liveness=["committed-is-read"])


def test_actions_of_the_specification_are_no_steps_of_a_model() -> None:
    class Restless(Anywhere):
        """It does not move for ever."""

        abstract = False
        first = second = frozenset({0})

        @eventually_never("move")
        def rests(self, s: Any) -> Any:
            """It rests."""
            return True

    with pytest.raises(UnknownName, match=r"property rests is about actions of .*, which are not actions of the model"):
        refine(drawn(0).model(), specification=Restless, mapping=mapping({}), liveness=["rests"])
