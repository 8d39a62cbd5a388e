"""Measures the greatest value of a quantity over all reachable states of a model."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

from isrcheck.checker.engines.explicit.search import search
from isrcheck.checker.results.exploration import Limits
from isrcheck.model.language import Model
from isrcheck.model.semantics.tracing import trace

LIMITS = Limits(memory=2 << 30)


def greatest(model: Model, without: Collection[str], value: Callable[[dict[str, Any]], int]) -> int:
    """The greatest `value` of all states that are reachable without some actions. States are given as JSON data."""
    system = trace(model, {})
    kept = tuple(t for t in system.transitions if t.label.action not in without)
    assert {t.label.action for t in system.transitions} >= set(without)
    found, levels = search(
        replace(system, transitions=kept), keep_going=True, deadlock=False, limits=LIMITS, report=None
    )
    assert (found.error, found.stopped) == (None, None)
    domains = list(model.domains.items())

    def read(leaves: Any) -> dict[str, Any]:
        return {n: d.to_json(x) for (n, d), x in zip(domains, system.decode(leaves), strict=True)}

    return max(value(read(x)) for k in range(len(found.levels)) for x in levels.leaves(levels.level_states(k + 1)))
