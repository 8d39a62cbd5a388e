"""Random graphs: the verdicts of `refine` agree with networkx, and its trace with that of an equivalent invariant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from types import SimpleNamespace

import pytest

from isrcheck.checker.analysis.check import check
from isrcheck.checker.analysis.refinement import refinement_check, step_comparison
from isrcheck.checker.analysis.refinement.refinement_result import Refined
from isrcheck.checker.analysis.refinement.specification_steps import Abstraction, Allowed, TooMany
from isrcheck.checker.engines.explicit import small_search
from isrcheck.checker.engines.explicit.search import search
from isrcheck.checker.kernel.layout import Integers, Layout, Words
from isrcheck.checker.results.exploration import Limits
from isrcheck.checker.results.result import Exit, Trace
from tests.refinement.graphs import NOTHING, STATES, Pair, drawn

SEEDS = range(120)
whole, numbers = Abstraction.compile, Abstraction.of
MORE = range(120, 1200)


def asked(pair: Pair, limits: Limits = Limits()) -> Refined:
    first, second, _ = pair.models()
    return refinement_check.refine(
        first, specification=second, mapping=pair.mapping(), steps=pair.at_most, limits=limits
    )


def reported(trace: Trace) -> list[tuple[str, int]]:
    """The labels of a trace, each with the state after it."""
    return [(str(step.label), step.state[0]) for step in trace.steps]


def compare(pair: Pair) -> str:
    """Compares an answer with the truth. Returns the kind of the outcome."""
    found, truth = asked(pair), pair.first_mistake()
    outcome = found.result.invariants[found.name]
    if truth is None:
        assert (outcome.verdict, found.result.exit_code, found.refused) == ("holds", Exit.HOLDS, ())
        assert found.result.distinct == len({x for _, new in pair.first.levels() for x in new})
        assert found.steps == len(pair.pairs())
        assert found.states == len({pair.table[b] for into, _ in pair.first.levels() for _, b in into})
        return "holds"
    kind, level = truth
    if kind == "nothing":
        failure = found.result.evaluation
        assert failure is not None
        assert (found.result.exit_code, outcome.verdict, failure.trace.length) == (75, "incomplete", level)
        assert pair.table[failure.trace.steps[-1].state[0]] == NOTHING
        return "nothing"
    counted = [len(new) for _, new in list(pair.first.levels())[:level] if new]
    assert (outcome.verdict, found.result.exit_code, found.result.levels) == ("violated", Exit.VIOLATED, counted)
    assert outcome.trace is not None
    assert outcome.trace.length == level
    states = [step.state[0] for step in outcome.trace.steps]
    assert [2 * half + odd for half, odd in found.beside] == [pair.table[x] for x in states]
    assert found.refused
    # The same question as an invariant over states, with a history variable, has the same canonical trace.
    whole = check(pair.models()[2], invariants=["is-whole"]).invariants["is-whole"]
    assert whole.trace is not None
    assert reported(outcome.trace) == reported(whole.trace)
    return f"refused {'at once' if level == 1 else 'by a step'}"


@pytest.mark.parametrize("seeds", [SEEDS[:30], pytest.param(SEEDS[30:], marks=pytest.mark.exhaustive)])
def test_random_graphs(seeds: range) -> None:
    kinds = Counter(compare(drawn(seed)) for seed in seeds)
    assert min(kinds[x] for x in ("holds", "nothing", "refused at once", "refused by a step")) >= 3, kinds


def test_compiled_code_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same with the search for large state spaces, with workers, and with the mapping as machine code."""
    compiled = list[Abstraction]()
    monkeypatch.setattr(refinement_check, "search", partial(search, small=0))
    monkeypatch.setattr(step_comparison, "FEW", 0)
    monkeypatch.setattr(Abstraction, "compile", lambda self: (compiled.append(self), whole(self)))
    kinds = Counter(compare(drawn(seed)) for seed in SEEDS[:12])
    assert len(kinds) >= 3, kinds
    assert len(compiled) >= 6


@pytest.mark.release
@pytest.mark.exhaustive
def test_more_random_graphs() -> None:
    kinds = Counter(compare(drawn(seed)) for seed in MORE)
    assert sum(kinds.values()) == len(MORE)


def test_a_graph_refines_itself_and_not_a_smaller_one() -> None:
    for seed in SEEDS[:10]:
        pair = drawn(seed)
        same = Pair(pair.first, pair.first, tuple(range(STATES)), 1)
        assert asked(same).result.verdict == "holds"


def lost_after_steps(seeds: range) -> Iterator[tuple[Pair, int]]:
    """The pairs whose first mistake is a state that stands for nothing, after a step, with the level of this state."""
    for pair in map(drawn, seeds):
        match pair.first_mistake():
            case ("nothing", level) if level > 1:
                yield pair, level


def test_a_state_that_stands_for_nothing_is_not_lost_where_a_step_cannot_be_judged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its trace is not canonical if some steps into its level were not judged: they may lead to a lesser such state."""
    monkeypatch.setattr(small_search, "BLOCK", 1)
    asking, seen = Allowed.leads, Counter[bool]()
    for pair, level in lost_after_steps(range(2 * len(SEEDS))):
        lost = list[bool]()

        def of(self: Abstraction, rows: Words, layout: Layout, lost: list[bool] = lost) -> Integers:
            found = numbers(self, rows, layout)
            lost.extend([True] * bool((found < 0).any()))
            return found

        def leads(self: Allowed, a: Words, b: Words, lost: list[bool] = lost) -> bool:
            if lost:
                raise TooMany
            return asking(self, a, b)

        with monkeypatch.context() as patched:
            patched.setattr(Abstraction, "of", of)
            patched.setattr(Allowed, "leads", leads)
            failure = asked(pair).result.evaluation
        assert failure is not None
        assert failure.trace.length == level
        seen[failure.canonical] += 1
    assert min(seen[x] for x in (True, False)) >= 2, seen


def test_a_state_that_stands_for_nothing_is_not_lost_when_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time is up as soon as the first such state is met, and other states of the level are judged after it."""
    monkeypatch.setattr(small_search, "BLOCK", 1)
    seen = 0
    for pair, level in lost_after_steps(SEEDS):
        blocks = list[bool]()

        def of(self: Abstraction, rows: Words, layout: Layout, blocks: list[bool] = blocks) -> Integers:
            found = numbers(self, rows, layout)
            blocks.append(bool((found < 0).any()))
            return found

        def now(blocks: list[bool] = blocks) -> float:
            return 1e9 if any(blocks) else 0.0

        with monkeypatch.context() as patched:
            patched.setattr(Abstraction, "of", of)
            patched.setattr(step_comparison, "time", SimpleNamespace(perf_counter=now))
            result = asked(pair, Limits(seconds=1e6)).result
        assert result.evaluation is not None
        assert result.evaluation.trace.length == level
        seen += blocks.index(True) < len(blocks) - 1
    assert seen >= 2


@pytest.mark.parametrize("first", [pytest.param(True, marks=pytest.mark.exhaustive), False])
def test_a_refused_step_is_not_lost_where_another_cannot_be_judged(
    monkeypatch: pytest.MonkeyPatch, first: bool
) -> None:
    """The specification has too many states after the first refusal, or already at the beginning."""
    asking, seen = Allowed.leads, Counter[str]()
    for seed in SEEDS[:40]:
        refused = list[bool]()

        def leads(self: Allowed, a: Words, b: Words, refused: list[bool] = refused) -> bool:
            if refused or not first:
                raise TooMany
            answer = asking(self, a, b)
            refused.extend([True] * (not answer))
            return answer

        pair = drawn(seed)
        monkeypatch.setattr(Allowed, "leads", leads)
        found = asked(pair)
        outcome, truth = found.result.invariants[found.name], pair.first_mistake()
        if truth is not None and truth[0] == "refused" and truth[1] > 1 and first:
            assert (outcome.verdict, found.result.exit_code) == ("violated", Exit.VIOLATED)
            assert outcome.trace is not None
            assert outcome.trace.length == truth[1]
            assert found.refused
            seen["exact" if outcome.canonical else "not the least"] += 1
        elif not first and truth is None:
            assert outcome.verdict in ("incomplete", "holds")  # it holds where there is no step to judge
            seen[outcome.verdict] += 1
    assert min(seen.values()) >= 1, seen
    assert len(seen) >= 2 - (not first), seen
