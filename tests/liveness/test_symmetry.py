"""A liveness question has the same answer with symmetry and without, also if orbits alone would give another answer."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from isrcheck.checker.analysis.check import check
from isrcheck.checker.results.result import Result
from isrcheck.model.language import (
    Model,
    action,
    broker,
    eventually_never,
    flag,
    for_each,
    leads_to,
    number,
    per,
    setting,
    some,
    when,
)
from isrcheck.model.language.errors import ModelError
from isrcheck.model.language.fairness import Fairness
from isrcheck.model.language.settings import BARE
from tests.liveness.graphs import STATES, Graph, drawn
from tests.marks import EXHAUSTIVE, one_in

KIP_320 = {"replicas": 3, "log_size": 1, "max_records": 1, "max_leader_epoch": 1}
RAISES = frozenset({"fenced-leader-inc-high-watermark", "fenced-leader-expand-isr"})
NO_FETCH = Fairness(strong=RAISES, unfair=frozenset({"fenced-follower-fetch"}))


def asked(fairness: Fairness, symmetry: bool) -> Result:
    return check(
        "kip-320", KIP_320, profile=BARE, invariants=[], liveness=["all"], fairness=fairness, symmetry=symmetry
    )


@pytest.mark.parametrize(
    ("fairness", "verdict", "components"),
    one_in(2, [(Fairness(), "holds", 0), (NO_FETCH, "violated", 30)], EXHAUSTIVE),
    ids=["weak: orbits have 20 components that seem fair", "no fetch: orbits have 9 fair components of 30"],
)
def test_orbits_are_not_taken_for_states(fairness: Fairness, verdict: str, components: int) -> None:
    plain, by_orbits = asked(fairness, False), asked(fairness, True)
    assert (plain.distinct, by_orbits.distinct) == (6_787, 1_165)
    assert by_orbits.liveness == plain.liveness
    outcome = by_orbits.liveness["true-leader-commits-its-log"]
    assert (outcome.verdict, outcome.total("fair_components")) == (verdict, components)


class Turns(Model):
    """Two brokers that each turn a lamp of their own, and one lamp that both reach."""

    brokers_ = setting(2, counts=broker, meaning="brokers")

    def variables(self) -> dict[str, Any]:
        return {"lit": per(broker, flag), "on": flag}

    @action(b=broker, actor="b")
    def turn(self, s: Any, b: Any) -> None:
        """A broker turns its own lamp on or off."""
        s.lit[b] = ~s.lit[b]

    @leads_to
    def first_is_lit(self, s: Any) -> Any:
        """The lamp of broker 0 is lit in the end."""
        return ~s.lit[self.broker(0)], s.lit[self.broker(0)]

    @leads_to
    def second_is_on(self, s: Any) -> Any:
        """Nobody turns the lamp that both reach."""
        return s.lit[self.broker(1)], s.on


@pytest.mark.parametrize("fairness", [Fairness(), Fairness(unfair=frozenset({"turn"}))], ids=["weak", "unfair"])
def test_a_property_may_be_about_one_broker(fairness: Fairness) -> None:
    plain, by_orbits = (check(Turns, liveness=["all"], fairness=fairness, symmetry=x) for x in (False, True))
    assert (plain.distinct, by_orbits.distinct) == (4, 3)
    assert by_orbits.liveness == plain.liveness
    first = "holds" if fairness == Fairness() else "violated"
    assert [f.verdict for f in plain.liveness.values()] == [first, "violated"]


class Pair(Model):
    """A random graph for each of two brokers, who hold each other up: one steps strongly only where the other may."""

    abstract = True
    graph: ClassVar[Graph]
    brokers_ = setting(2, counts=broker, meaning="brokers")

    def variables(self) -> dict[str, Any]:
        return {"n": per(broker, number(0, STATES - 1))}

    def go(self, s: Any, b: Any, name: str, k: int) -> None:
        instance = self.graph.of(name, k)
        if not instance.leads:
            return
        s.require(some(s.n[b] == a for a, _ in instance.leads))
        if name == "strongly":
            s.require(some(s.n[c] == x for c in self.brokers if c != b for x in sorted(self.graph.first | {0})))
        after: Any = s.n[b]
        for a, to in instance.leads:
            after = when(s.n[b] == a, to, after)
        s.n[b] = after

    @action(b=broker, k=number(0, 2), actor="b")
    def weakly(self, s: Any, b: Any, k: int) -> None:
        """Each instance is fair."""
        self.go(s, b, "weakly", k)

    @action(b=broker, k=number(0, 2), actor="b", fair="strong")
    def strongly(self, s: Any, b: Any, k: int) -> None:
        """Each instance is strongly fair."""
        self.go(s, b, "strongly", k)

    @action(b=broker, k=number(0, 2), actor="b", fair="none")
    def free(self, s: Any, b: Any, k: int) -> None:
        """It need not happen."""
        self.go(s, b, "free", k)

    @leads_to
    def leads(self, s: Any) -> Any:
        """The first leads to the second, for each broker."""

        def at(b: Any, states: frozenset[int]) -> Any:
            return some(s.n[b] == x for x in sorted(states))

        return for_each(lambda b: (at(b, self.graph.first), at(b, self.graph.second)), b=self.brokers)

    @eventually_never("free")
    def settles(self, s: Any) -> Any:
        """Broker 0 is in the first again and again, or what need not happen stops."""
        return some(s.n[self.broker(0)] == x for x in sorted(self.graph.first))


def require_alike(seed: int) -> str | None:
    """Asserts that symmetry makes no difference. Returns the verdict, or None if the model cannot be checked."""
    cls = type("RandomPair", (Pair,), {"graph": drawn(seed)})
    try:
        plain = check(cls, liveness=["all"])
    except ModelError:
        return None
    assert check(cls, liveness=["all"], symmetry=True).liveness == plain.liveness, seed
    return plain.verdict


def test_symmetry_makes_no_difference() -> None:
    assert {require_alike(seed) for seed in range(3)} <= {None, "holds", "violated"}


@pytest.mark.exhaustive
def test_symmetry_makes_no_difference_to_many() -> None:
    assert {require_alike(seed) for seed in range(3, 70)} >= {"holds", "violated"}


def test_what_means_nothing_in_a_state_that_is_not_kept_is_refused() -> None:
    class Odd(Turns):
        """A property with a meaning in half of the states of an orbit."""

        def variables(self) -> dict[str, Any]:
            from isrcheck.model.language import number, sequence

            return {**super().variables(), "log": per(broker, sequence(number(0, 1), 1))}

        @action(b=broker, actor="b")
        def write(self, s: Any, b: Any) -> None:
            """A broker writes."""
            s.require(s.log[b].is_empty)
            s.log[b].append(1)

        @leads_to
        def odd(self, s: Any) -> Any:
            """It reads a record that only broker 0 may have."""
            alone = ~s.log[self.broker(1)].is_empty & s.log[self.broker(0)].is_empty
            return alone & (s.log[self.broker(0)].at(0) == 1), True

    plain = check(Odd, liveness=["odd"])
    assert plain.exit_code == 75
    try:
        by_orbits = check(Odd, liveness=["odd"], symmetry=True)
    except ModelError as error:
        assert "check without symmetry" in str(error)
    else:
        assert by_orbits.exit_code == 75
