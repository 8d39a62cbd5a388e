"""The overview of scenarios as a page: a table, a filter, links, and traces that can be opened."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.running import run
from tests.pages.browsing import Browser
from tests.pages.hostile import MARKUP

pytestmark = [pytest.mark.needs("chromium"), pytest.mark.needs("chromedriver"), pytest.mark.exhaustive]
SCENARIO = """\
title = "%s"
model = "%s"
expect = "%s"
source = ["KIP-101"]
story = "What happens: %s"
control = "%s"
[settings]
replicas = 2
log_size = 1
max_records = 1
max_leader_epoch = 1
"""
LENGTHS = "[lengths]\nweak-isr = 9\nstrong-isr = 10\n"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of two recorded scenarios, a scenario that has drifted, and a scenario that cannot be read."""
    folder = tmp_path_factory.mktemp("scenarios")
    texts = {
        "lost": "keep_going = true\n" + SCENARIO % ("Lost", "truncate-to-hw", "violated", MARKUP, "kept") + LENGTHS,
        "kept": SCENARIO % ("Kept", "kip-101", "holds", "nothing", "lost"),
        "broken": "title = 1",
    }
    for name, text in texts.items():
        (folder / name).mkdir()
        (folder / name / "scenario.toml").write_text(text)
    run("regress", folder, "--workers", "1", "--update")
    expected = folder / "kept" / "expected.json"
    recorded = json.loads(expected.read_text())
    expected.write_text(json.dumps({**recorded, "depth": 1}))
    assert run("regress", folder, "--workers", "1", "--html", folder / "page.html").code == 150
    return folder / "page.html"


def test_the_table_has_every_scenario_with_what_became_of_it(browser: Browser, page: Path) -> None:
    browser.open(page.as_uri())
    rows = browser.run(
        "return [...document.querySelectorAll('.overview tbody tr')].map(row => [...row.cells].map(x => x.textContent))"
    )
    assert [(name, status) for name, status, *_ in rows] == [
        ("broken", "NOT RUN"),
        ("kept", "DRIFT"),
        ("lost", "as recorded"),
    ]
    assert rows[2][2].startswith("violated: strong-isr 10, weak-isr 9; ")
    assert "3 scenarios: 1 DRIFT, 1 NOT RUN, 1 as recorded" in browser.text("header")
    assert browser.complaints() == []


def test_the_filter_leaves_what_has_the_words(browser: Browser, page: Path) -> None:
    browser.open(page.as_uri())
    browser.one("#filter").send_keys("truncate VIOL")
    shown = [row.text.split()[0] for row in browser.all(".overview tbody tr") if row.is_displayed()]
    assert shown == ["lost"]


def test_a_link_opens_a_scenario_and_its_trace_is_stepped_through(browser: Browser, page: Path) -> None:
    browser.open(page.as_uri())
    browser.one("a[href='#scenario=lost']").click()
    browser.await_text("details[open] .controls output", "step 1 of 9")
    browser.press("ARROW_RIGHT")
    browser.await_text("details[open] .controls output", "step 2 of 9")
    assert browser.driver.current_url.endswith("#scenario=lost&step=2")
    assert f"What happens: {MARKUP}" in browser.text("details[open]")
    browser.open(f"{page.as_uri()}#scenario=lost&step=9")
    browser.await_text("details[open] .why h3", "weak-isr is false here")
    browser.one("details[open] a[href='#scenario=kept']").click()
    browser.await_text("details[data-name=kept]", "depth: ")
    assert browser.run("return window.hacked") is None
    assert browser.complaints() == []
