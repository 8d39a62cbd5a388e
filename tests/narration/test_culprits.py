"""Culprits and the last safe state, against the words of their definitions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from isrcheck.checker.checking import check
from isrcheck.checker.engines.interpreter import Interpreter
from isrcheck.checker.exploration import Limits
from isrcheck.checker.library import load_model_class
from isrcheck.checker.results import Finding
from isrcheck.checker.scenarios.collection import one
from isrcheck.checker.traces import canonical
from isrcheck.model.language import EvaluationError
from tests.agreement.profiles import examples
from tests.agreement.test_canonical_trace import Graph, graphs, paths
from tests.scenarios.shipped import FOLDERS

SCENARIOS = Path(__file__).parents[2] / "counterexamples"
LIMITS = Limits(memory=3 << 30)


def avoidable(interpreter: Interpreter, state: Any, invariant: str, without: int, length: int) -> bool:
    """Whether a search over concrete states finds a violation within so many steps that never take the instance."""
    level, seen = [state], {state}
    for _ in range(length):
        found = []
        for here in level if interpreter.constraints == {} else filter(interpreter.counted, level):
            for number, after in interpreter.steps(here):
                if number == without or isinstance(after, EvaluationError) or after in seen:
                    continue
                if invariant in interpreter.violated(after):
                    return True
                seen.add(after)
                found.append(after)
        level = found
    return False


def by_definition(interpreter: Interpreter, invariant: str, finding: Finding, steps: list[int]) -> dict[int, bool]:
    """For some of the steps: no path of at most the remaining length violates the invariant without the instance."""
    trace = finding.trace
    assert trace is not None
    found = {}
    for k in steps:
        label = trace.steps[k].label
        assert label is not None
        instance = interpreter.labels.index(label)
        left = trace.length - k
        found[k] = not avoidable(interpreter, trace.steps[k - 1].state, invariant, instance, left)
    return found


def assert_by_definition(name: str, settings: dict[str, Any], invariant: str, least: int = 1) -> list[bool]:
    """Compares all steps from a position on, and gives the answers."""
    loaded = load_model_class(name)
    result = check(loaded, settings, profile="bare", invariants=(invariant,), limits=LIMITS)
    finding = result.findings[invariant]
    assert finding.culprits is not None and finding.trace is not None
    interpreter = Interpreter(loaded.cls(**settings), loaded.chosen((invariant,)))
    steps = list(range(least, finding.trace.length))
    expected = by_definition(interpreter, invariant, finding, steps)
    assert {k: finding.culprits[k - 1] for k in steps} == expected
    return list(expected.values())


SMALL = {"replicas": 2, "log_size": 2, "max_records": 2, "max_leader_epoch": 1}


def test_culprits_are_what_a_search_without_the_step_does_not_find() -> None:
    answers = assert_by_definition("truncate-to-hw", {**SMALL, "max_records": 1, "log_size": 1}, "weak-isr")
    assert True in answers and False in answers


def test_culprits_in_v3_are_what_a_search_without_the_step_does_not_find() -> None:
    scenario = one(str(FOLDERS["v3-unclean-election"]))
    answers = assert_by_definition("v3", scenario.settings, scenario.invariants[0], least=2)  # type: ignore[index]
    assert True in answers


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["kip-101", "kip-279"])
def test_culprits_of_longer_traces_are_by_their_definition(name: str) -> None:
    scenario = one(str(FOLDERS[name]))
    for invariant in scenario.invariants or ("strong-isr",):
        assert True in assert_by_definition(name, scenario.settings, invariant, least=4)


@examples(300)
@given(graphs())
def test_culprits_of_a_random_graph_are_those_of_all_its_paths(graph: Graph) -> None:
    length = len(graph.levels)
    if not any(True for s in graph.levels[0] for _ in paths(graph, s, 1)):
        return
    path = canonical.to_violation(graph, length, "any", graph.actors)
    here, expected = graph.order.index(path.start[0]), []
    for level, instance in enumerate(path.instances, 1):
        expected.append(all(instance in way for way in paths(graph, here, level)))
        here = next(t for s, i, t in graph.steps if (s, i) == (here, instance))
    assert path.culprits == tuple(expected)


def test_every_engine_that_has_levels_says_the_same() -> None:
    answers = {
        engine: check("truncate-to-hw", SMALL, engine=engine, limits=LIMITS).findings["weak-isr"]
        for engine in ("local", "reference")
    }
    assert answers["local"] == answers["reference"]
    assert answers["local"].culprits == answers["reference"].culprits is not None


def test_an_engine_without_levels_does_not_say_who_is_to_blame() -> None:
    finding = check("truncate-to-hw", {**SMALL, "max_records": 1, "log_size": 1}, engine="symbolic").findings[
        "weak-isr"
    ]
    assert finding.trace is not None and finding.culprits is None
    assert finding.to_json()["why"]["culprits"] is None


def test_the_last_safe_state_is_the_last_in_which_the_whole_isr_had_the_record() -> None:
    """By hand, from the states of the scenario kip-279: broker 1, which is empty, joins the ISR in the last step."""
    scenario = one(str(FOLDERS["kip-279"]))
    finding = check("kip-279", scenario.settings, invariants=("strong-isr",), limits=LIMITS).findings["strong-isr"]
    assert finding.held is not None and finding.trace is not None
    assert (finding.held.state, finding.trace.length) == (11, 12)
    names = [name for name, _ in finding.trace.variables]
    for position, step in enumerate(finding.trace.steps, 1):
        state = dict(zip(names, step.state, strict=True))
        quorum = state["quorum"]
        isr = next(x for x in quorum if isinstance(x, frozenset))
        whole = all(len(state["log"][b]) > 0 and state["log"][b][0] == (0, 0) for b in isr)
        assert whole == (position in range(7, 12))
