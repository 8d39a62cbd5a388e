"""Refinement with symmetry gives the verdicts, traces, lassos and counts of the specification that it gives without."""

from __future__ import annotations

from typing import Any

import pytest

from isrcheck.checker.analysis.refinement.refinement_check import refine
from isrcheck.checker.analysis.refinement.refinement_result import Refined
from isrcheck.checker.results.result import Trace
from isrcheck.checker.scenarios.collection import one
from isrcheck.model.language import Model, action, broker, flag, per, refinement, setting, some
from isrcheck.model.language.errors import UnknownName
from isrcheck.model.language.fairness import Fairness
from tests.cli.running import run

UNFAIR = {"liveness": ["accepted-is-committed"], "fairness": Fairness(unfair=frozenset({"fenced-follower-fetch"}))}


def reported(trace: Trace | None) -> Any:
    return None if trace is None else ([(str(step.label), step.state) for step in trace.steps], trace.loop)


def same(model: str, settings: dict[str, Any] | None, specification: str, **asked: Any) -> tuple[Refined, Refined]:
    """The answers without and with symmetry. Asserts that they are equal."""
    plain, orbits = (
        refine(model, settings, specification=specification, symmetry=symmetry, **asked) for symmetry in (False, True)
    )
    assert orbits.result.orbits is not None
    assert (orbits.result.verdict, orbits.result.exit_code) == (plain.result.verdict, plain.result.exit_code)
    assert (orbits.states, orbits.steps, orbits.refused) == (plain.states, plain.steps, plain.refused)
    ours, theirs = orbits.result.invariants[orbits.name], plain.result.invariants[plain.name]
    assert (reported(ours.trace), ours.causes, ours.canonical) == (
        reported(theirs.trace),
        theirs.causes,
        theirs.canonical,
    )
    for name, outcome in plain.result.liveness.items():
        assert reported(orbits.result.liveness[name].trace) == reported(outcome.trace)
        assert orbits.result.liveness[name].verdict == outcome.verdict
    assert orbits.result.distinct < plain.result.distinct
    return plain, orbits


def test_a_refused_step_is_the_same() -> None:
    scenario = one("primary-backup-truncates-to-high-watermark")
    model, settings = scenario.specification(), dict(scenario.settings)
    plain, _ = same(model, settings, "replicated-log", profile="bare")
    trace = plain.result.invariants[plain.name].trace
    assert trace is not None
    assert trace.length == 15


def test_a_refused_step_is_the_same_where_no_flag_says_so() -> None:
    never = {"end_offsets": "never-fall"}
    plain, _ = same("kip-320", {"replicas": 2}, "replicated-log", profile="bare", specification_settings=never)
    trace = plain.result.invariants[plain.name].trace
    assert trace is not None
    assert trace.length == 12


@pytest.mark.parametrize("asked", [UNFAIR, pytest.param({"liveness": ["all"]}, marks=pytest.mark.exhaustive)])
def test_what_must_happen_is_the_same(asked: dict[str, Any]) -> None:
    plain, _ = same("kip-320", {"replicas": 2}, "accepting-log", profile="bare", **asked)
    assert plain.result.exit_code == 13


def test_the_command_counts_orbits() -> None:
    outcome = run("refine", "kip-320", "--profile", "bare", "-s", "replicas=2", "--symmetry", "--quiet")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == ("HOLDS  kip-320: refines-replicated-log; all of 3,009 orbits (6,017 states), depth 18\n")


# --- mappings that tell brokers apart ---------------------------------------------------------------------------------


class Turns(Model):
    """Whose turn it was, of two brokers that are alike."""

    brokers_ = setting(2, counts=broker, meaning="brokers")

    def variables(self) -> dict[str, Any]:
        return {"had": per(broker, flag)}

    @action(b=broker, actor="b")
    def take(self, s: Any, b: Any) -> None:
        """It has its turn, and the other one not."""
        s.had = [x == b for x in self.brokers]


class Bell(Model):
    """A bell that has rung, for good."""

    def variables(self) -> dict[str, Any]:
        return {"rung": flag}

    @action(actor="bell")
    def ring(self, s: Any) -> None:
        """It rings."""
        s.require(~s.rung)
        s.rung = True


@refinement(of="bell")
def for_the_first(m: Any, s: Any) -> dict[str, Any]:
    """It rings for broker 0, and is silent again after that."""
    return {"rung": s.had[m.broker(0)]}


@refinement(of="bell")
def for_anybody(m: Any, s: Any) -> dict[str, Any]:
    """It rings once, whoever it is for."""
    return {"rung": some(s.had[b] for b in m.brokers)}


def test_a_mapping_that_tells_brokers_apart_is_refused() -> None:
    """Two states that differ by an exchange are mapped to different states, so keeping one of them would be wrong."""
    assert refine(Turns, specification=Bell, mapping=for_the_first).result.exit_code == 12
    with pytest.raises(UnknownName, match=r"distinguished by for-the-first, which gives rung; check without it"):
        refine(Turns, specification=Bell, mapping=for_the_first, symmetry=True)
    answers = [refine(Turns, specification=Bell, mapping=for_anybody, symmetry=symmetry) for symmetry in (False, True)]
    assert [(each.result.exit_code, each.result.distinct) for each in answers] == [(0, 3), (0, 2)]
