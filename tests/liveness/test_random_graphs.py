"""Liveness of random graphs, compared with brute force over all subsets of their states."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest

from isrcheck.checker.analysis.check import check
from isrcheck.checker.analysis.liveness import lasso
from isrcheck.checker.results.exploration import Limits, StateStore
from isrcheck.checker.results.result import Result, Trace
from tests.liveness.graphs import ACTIONS, INSTANCES, KINDS, STATES, Brute, Graph, Instance, Label, deep, drawn
from tests.marks import one_in

LARGE = Limits(memory=1 << 28)
"""With so little memory, workers with a store explore also small state spaces."""


def asked(seed: int, workers: int = 1, limits: Limits = Limits(), by: Callable[[int], Graph] = drawn) -> Result:
    return check(by(seed).model(), invariants=[], liveness=["all"], workers=workers, limits=limits)


def reported(trace: Trace) -> tuple[int, tuple[Label, ...], tuple[Label, ...]]:
    """The first state of a lasso, and the labels of its prefix and of its cycle."""
    taken = [step.label for step in trace.steps if step.label is not None]
    labels = tuple((label.action, int(label.parameters[0][1])) for label in taken)
    assert trace.loop is not None
    return trace.steps[0].state[0], labels[: trace.loop], labels[trace.loop :]


def require_true(seed: int, by: Callable[[int], Graph] = drawn) -> set[str]:
    """Compares all answers about a graph. Returns the cases that occurred. Every other graph is explored in a store."""
    result, brute, seen = asked(seed, 1, LARGE if seed % 2 else Limits(), by), Brute(by(seed)), set[str]()
    assert result.levels == [list(brute.levels().values()).count(k + 1) for k in range(result.depth)]
    for name in KINDS:
        outcome = result.liveness[name]
        if name == "goes-on":
            assert (outcome.verdict == "violated") == brute.leaves_what_is_stable(), (seed, name)
            continue
        truth, (found,) = brute.truth(name), outcome.asked
        assert (outcome.verdict == "violated") == bool(truth.ends | truth.fair), (seed, name)
        assert found.region == len(truth.region), (seed, name)
        assert found.fair_ends == len(truth.ends), (seed, name)
        assert found.fair_states == len(truth.fair), (seed, name)
        assert found.excused_ends == len(truth.raw_ends - truth.ends), (seed, name)
        assert found.vacuous == (not truth.region), (seed, name)
        assert found.only_excused == bool(found.excused and not truth.has_behaviour), (seed, name)
        assert outcome.only_excused == found.only_excused, (seed, name)
        seen |= {f"{name} only excused"} if found.only_excused else set()
        if outcome.trace is not None:
            assert outcome.trace.loop is not None
            assert outcome.trace.loop + 1 == truth.prefix, (seed, name)
            assert reported(outcome.trace) == brute.lasso(truth), (seed, name)
            seen.add(f"{name} {'stays' if outcome.trace.stays else 'goes round'}")
        elif found.unfair_components:
            seen.add(f"{name} unfair")
        seen |= {f"{name} excused"} if found.excused else set()
    return seen


def require_true_so_far(seed: int, states: int) -> set[str]:
    """Compares the answers of a search that ends after `states` states, about the levels that it has expanded."""
    result, brute, seen = asked(seed, limits=Limits(states=states)), Brute(drawn(seed)), set[str]()
    if result.reason is None:
        return seen
    assert result.distinct > states
    for name in set(KINDS) - {"goes-on"}:
        truth, outcome = brute.truth(name, result.depth - 1), result.liveness[name]
        assert outcome.verdict == ("violated" if truth.ends | truth.fair else "incomplete"), (seed, name)
        seen.add(outcome.verdict)
        if outcome.trace is not None:
            assert not outcome.canonical
            assert outcome.trace.loop is not None
            assert outcome.trace.loop + 1 == truth.prefix, (seed, name)
            assert brute.truth(name).prefix is not None
        else:
            assert outcome.asked == ()
            assert outcome.why == "liveness needs a complete exploration: the search did not finish"
            missed = brute.truth(name)
            seen |= {"missed"} if missed.ends | missed.fair else set()
    return seen


def test_a_lasso_in_what_was_explored_is_one() -> None:
    seen = set().union(*(require_true_so_far(seed, 2) for seed in range(20)))
    assert seen == {"violated", "incomplete", "missed"}


@pytest.mark.exhaustive
@pytest.mark.release
def test_a_lasso_in_what_was_explored_is_one_of_many() -> None:
    for seed in range(1000, 1100):
        for states in (1, 2, 4):
            require_true_so_far(seed, states)


def test_what_must_happen_is_what_every_subset_says() -> None:
    """In graphs 82, 135 and 168 a step that lacks room, but would change nothing, decides about an answer."""
    seen = set().union(*map(require_true, (*range(20), 30, 39, 48, 82, 110, 135, 168)))
    for name in set(KINDS) - {"goes-on"}:
        wanted = {"goes round", "unfair", "excused"} | ({"stays"} if name != "settles" else set())
        assert {f"{name} {case}" for case in wanted} <= seen
    assert {f"{name} only excused" for name in ("leads", "comes", "comes-again", "always-comes")} <= seen


def test_the_cycle_may_avoid_states_with_a_strong_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    """0 and 1 are a cycle; in 3, on the cycle of 0, 2 and 3, a strongly fair step is enabled."""
    leads = {("free", 0): ((0, 1), (1, 0)), ("free", 1): ((0, 2), (2, 3)), ("strongly", 0): ((3, 0),)}
    instances = tuple(Instance(*x, leads.get(x, ()), frozenset()) for x in product(ACTIONS, range(INSTANCES)))
    everything = frozenset(range(STATES))
    graph = Graph(instances, frozenset({0}), everything, everything, frozenset())
    found = lambda: check(graph.model(), invariants=[], liveness=["settles"]).liveness["settles"]  # noqa: E731
    exact = found()
    assert exact.trace is not None
    short = ("free", 0), ("free", 0)
    assert (reported(exact.trace)[2], exact.shortest_cycle) == (short, True)
    monkeypatch.setattr(lasso, "EXACT", 0)
    quick = found()
    assert quick.trace is not None
    assert reported(quick.trace)[2] == (*short, ("free", 1), ("free", 1), ("strongly", 0))
    assert not quick.shortest_cycle


@pytest.mark.exhaustive
def test_the_lasso_is_the_one_that_the_contract_picks_among_all() -> None:
    seen = set().union(*(require_true(seed, deep) for seed in (*range(40), 118, 137)))
    assert {f"{name} goes round" for name in ("leads", "comes", "comes-again", "always-comes")} <= seen


@pytest.mark.release
@pytest.mark.exhaustive
@pytest.mark.parametrize("part", range(4))
def test_the_lasso_is_the_one_that_the_contract_picks_among_all_of_many(part: int) -> None:
    for seed in range(1000 + 100 * part, 1100 + 100 * part):
        require_true(seed, deep)


@pytest.mark.exhaustive
@pytest.mark.parametrize("part", one_in(30, range(30)))
def test_what_must_happen_is_what_every_subset_says_of_many(part: int) -> None:
    for seed in range(1000 + 100 * part, 1100 + 100 * part):
        require_true(seed)


@pytest.mark.parametrize("seed", range(2))
def test_neither_workers_nor_the_store_change_an_answer(seed: int) -> None:
    small = asked(seed).liveness
    for workers in (1, 2):
        assert asked(seed, workers, LARGE).liveness == small
    on_disk = check(drawn(seed).model(), invariants=[], liveness=["all"], state_store=StateStore("disk"))
    assert on_disk.liveness == small


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(2, 42))
def test_neither_workers_nor_the_store_change_an_answer_of_many(seed: int) -> None:
    small = asked(seed).liveness
    for workers in (1, 2, 4):
        assert asked(seed, workers, LARGE).liveness == small
