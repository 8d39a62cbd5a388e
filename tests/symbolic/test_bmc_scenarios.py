"""For shipped scenarios, unrolling finds the violations, lengths and traces of the local engine."""

from __future__ import annotations

import pytest

from isrcheck import check
from isrcheck.checker.results.exploration import Limits
from isrcheck.checker.scenarios.collection import one
from tests.marks import EXHAUSTIVE, one_in
from tests.scenarios.shipped import FOLDERS

OTHERS = (
    "kraft-shrink-obeyed-before-it-is-granted",
    "v3-acks-one",
    "v3-as-written",
    "v3-empty-isr",
    "v3-stale-high-watermark",
    "v3-unclean-election",
)
SCENARIOS = one_in(1 + len(OTHERS), ("kraft-pending-expansion-is-not-awaited", *OTHERS), EXHAUSTIVE)


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_ends_in_the_same_trace(name: str) -> None:
    scenario = one(str(FOLDERS[name]))
    ours, local = (
        check(
            scenario.specification(),
            scenario.settings,
            profile="bare",
            invariants=scenario.invariants,
            engine=engine,
            limits=Limits(memory=4 << 30),
        )
        for engine in ("symbolic", "local")
    )
    assert ours.verdict == "violated"
    assert ours.invariants == local.invariants
