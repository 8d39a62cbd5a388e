"""A specification beside a walk through a model: its state, and the steps that it does not allow."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from click.testing import CliRunner

from isrcheck.checker.analysis.check import loaded_of
from isrcheck.checker.analysis.refinement.refinement_check import refine
from isrcheck.checker.cli import main
from isrcheck.checker.report.explorer.specification_view import SpecificationView
from isrcheck.checker.report.explorer.walk import Path as Walked
from isrcheck.checker.report.explorer.walk import Walking
from isrcheck.model.semantics.interpreter import Interpreter
from isrcheck.model.specifications.mappings import with_history
from tests.cli.running import run
from tests.refinement.graphs import NOTHING, Pair, drawn


def walking(pair: Pair) -> Walking:
    first, second, _ = pair.models()
    loaded, specification, model = loaded_of(first), loaded_of(second), first()
    return Walking(loaded, model, SpecificationView(specification, pair.mapping(), model, {}))


def require_true(pair: Pair) -> Counter[str]:
    """Compares, for each state, the explorer's answers about its steps with networkx."""
    it, seen = walking(pair), Counter[str]()
    assert it.beside is not None
    asked = it.beside.name
    for number, (n,) in enumerate(it.initial):
        if pair.table[n] == NOTHING:
            continue
        here = it.state(Walked.of({"initial": number}))
        assert here["invariants"][asked] is pair.begins(n)
        beside = [value for _, value in it.whole(Walked.of({"initial": number}))[1:]]
        assert beside == [str(pair.table[n] // 2), "true" if pair.table[n] % 2 else "false"]
        for choice in here["choices"]:
            name, ((_, k),) = (label := it.interpreter.labels[choice["instance"]]).action, label.parameters
            after = pair.first.leads[name, k][n]
            if pair.table[after] == NOTHING:
                assert "undefined here" in choice["error"]
                seen["nothing"] += 1
                continue
            allowed = pair.allows(n, after)
            assert choice["breaks"] == ([] if allowed else [asked])
            path = Walked.of({"initial": number, "path": [choice["instance"]]})
            assert it.state(path)["invariants"][asked] is allowed
            assert bool(it.violated(path, asked)["reads"]) is not allowed
            seen["allowed" if allowed else "refused"] += 1
    return seen


def test_steps_are_refused_as_networkx_says() -> None:
    pairs = [Pair(p.first, p.second, p.table, None) for p in map(drawn, range(40)) if set(p.first.starts) - {NOTHING}]
    seen = sum((require_true(pair) for pair in pairs), Counter[str]())
    assert min(seen[x] for x in ("allowed", "refused", "nothing")) >= 5, seen


@pytest.mark.exhaustive
def test_a_counterexample_is_walked_to_the_step_that_is_refused() -> None:
    """The explored model has the history that the mapping reads, and its trace is the trace of `refine`."""
    sizes = {"replicas": 2, "log_size": 3, "max_records": 3}
    found = refine("kip-101", sizes, profile="bare", specification="replicated-log")
    trace = found.result.invariants[found.name].trace
    assert trace is not None
    options = [text for name, value in sizes.items() for text in ("-s", f"{name}={value}")]
    arguments = ["explore", "kip-101", "--profile", "bare", *options, "--spec", "replicated-log", "--terminal"]
    it, typed = Interpreter(with_history(loaded_of("kip-101").cls)(**sizes), {}), list[str]()
    for before, step in pairwise(trace.steps):
        possible = [it.labels[number] for number, _ in it.steps(before.state)]
        typed.append(str(possible.index(step.label) + 1))  # type: ignore[arg-type]
    said = CliRunner().invoke(main, arguments, input="\n".join([*typed, "i"]) + "\n").stdout
    # Before the last step and after it: it is foretold, it is false, and why.
    assert f"{typed[-1]}  Broker 0 takes the request of epoch 2 and leads" in said
    assert " ".join(said.split()).count("(violates refines-replicated-log)") >= 1
    assert said.count("FALSE: ") >= 1
    assert "     replicated-log.agreed[0]  true -> false\n" in said
    assert said.endswith(
        "  FALSE       refines-replicated-log\n              agreed[0]  true -> false: no specification "
        "action allows this change\n\n"
    )


def test_what_goes_with_a_specification_is_refused_without_one() -> None:
    for option in (("--mapping", "what-leaders-commit"), ("--spec-setting", "must_keep=true")):
        outcome = run("explore", "kip-320", "--terminal", *option)
        assert outcome.code == 2
        assert f"{option[0]} requires --spec" in outcome.err
