"""The last safe state, compared with its definition."""

from __future__ import annotations

from isrcheck.checker.analysis.check import check
from isrcheck.checker.results.exploration import Limits
from isrcheck.checker.scenarios.collection import one
from tests.scenarios.shipped import FOLDERS

LIMITS = Limits(memory=3 << 30)


def test_the_last_safe_state_is_the_last_in_which_the_whole_isr_had_the_record() -> None:
    """Worked out by hand for the scenario kip-279: broker 1, whose log is empty, joins the ISR in the last step."""
    scenario = one(str(FOLDERS["kip-279"]))
    outcome = check("kip-279", scenario.settings, invariants=("strong-isr",), limits=LIMITS).invariants["strong-isr"]
    assert outcome.last_held is not None and outcome.trace is not None
    assert (outcome.last_held.state, outcome.trace.length) == (11, 12)
    names = [name for name, _ in outcome.trace.variables]
    for position, step in enumerate(outcome.trace.steps, 1):
        state = dict(zip(names, step.state, strict=True))
        quorum = state["quorum"]
        isr = next(x for x in quorum if isinstance(x, frozenset))
        whole = all(len(state["log"][b]) > 0 and state["log"][b][0] == (0, 0) for b in isr)
        assert whole == (position in range(7, 12))
