"""A trace beside the path of the fixed design with the same events: as data, and on a page."""

from __future__ import annotations

from pathlib import Path

import pytest

from isrcheck.checker.results.result import Step, Trace
from isrcheck.checker.results.story import Fix
from isrcheck.checker.trace.step_replay import replay
from isrcheck.model.semantics.concrete_state import initial_states
from isrcheck.model.semantics.interpreter import Interpreter
from tests.cli.running import run
from tests.pages.browsing import Browser
from tests.scenarios.shipped import FOLDERS
from tests.traces.test_fixes import found

RUNS = {
    "kip-101": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],  # the follower truncates, but less
    "v1-split-brain": [0, 1, 2, 3, 4, 5, 6, 7, None, None],  # the second leader's write is refused, so nothing follows
    "v3-one-epoch-two-leaders": [0, 1, 2, 3, 4, 5, 6, 7, None, None, 8, None, None, None],  # sessions still expire
    "v2-isr-waits-for-a-write": [0, 1, 2, 3, 4, 5],  # every step is allowed
}


@pytest.mark.parametrize("name", RUNS)
def test_the_fixed_design_goes_the_same_events_but_those_that_it_does_not_allow(name: str) -> None:
    reported = found(name)
    assert reported.run is not None
    assert list(reported.run.at) == RUNS[name]
    assert reported.step is None or [*reported.run.at[: reported.step - 1]] == [*range(reported.step - 1)]


@pytest.mark.parametrize("name", RUNS)
def test_what_is_told_of_the_fixed_design_is_a_path_of_it(name: str) -> None:
    """The reference semantics replays the path from an initial state, and the invariant holds in all its states."""
    fixed: Fix = found(name)
    assert fixed.run is not None
    model, taken = fixed.run.model, fixed.run.taken
    assert taken[0].state in initial_states(model)
    trace = Trace(tuple(model.domains.items()), tuple(Step(each.label, each.actor, each.state) for each in taken))
    assert replay(Interpreter(model, {}), trace).refusal is None
    assert fixed.run.false is None


@pytest.mark.exhaustive
@pytest.mark.needs("chromium")
@pytest.mark.needs("chromedriver")
def test_both_stand_side_by_side_on_a_page(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    recorded = FOLDERS["v3-one-epoch-two-leaders"] / "trace.itf.json"
    run("replay", recorded, "--control", "isr_write=conditional", "--html", page)
    browser.open(page.as_uri())
    browser.one(".beside summary").click()
    rows = {row.text.split(" ")[0]: row for row in browser.all(".pair tbody tr")}
    assert [*rows] == [*map(str, range(2, 15)), "End"]
    assert rows["8"].text.endswith("The same.")
    (parted,) = browser.all(".pair tr.parted")
    assert parted.text == rows["9"].text
    assert "The fix acts: it refuses this step" in parted.text
    assert "state.version == replica.version is false" in parted.text
    assert "Does not happen" in rows["10"].text
    assert rows["11"].text.endswith("The same.")
    assert "is false." in rows["End"].text
    assert "holds in every state of this path" in rows["End"].text
    assert browser.complaints() == []
