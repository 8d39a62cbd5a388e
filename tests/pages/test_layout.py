"""A long report with many lanes is readable at every width; lanes fold, and a state can show only its changes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.cli.running import run
from tests.pages.browsing import Browser
from tests.pages.test_accessibility import overflow, screen, violations
from tests.scenarios.shipped import FOLDERS

__all__ = ["screen"]
pytestmark = [pytest.mark.needs("chromium"), pytest.mark.needs("chromedriver"), pytest.mark.exhaustive]

LONG = "v3-missed-epoch-same-leader"
STEPS, LANES = 23, 6
Screen = Callable[[str, int], None]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of a trace of 23 states on six lanes, beside a design that departs from it."""
    page = tmp_path_factory.mktemp("layout") / "page.html"
    run("replay", FOLDERS[LONG] / "trace.itf.json", "--control", f"{LONG}-fixed-by-kafka-7164", "--html", page)
    return page.as_uri()


@pytest.mark.parametrize(("width", "column", "tall"), [(1400, 300, 4000), (700, 500, 5000), (390, 290, 7000)])
def test_sentences_have_room_and_the_page_is_not_too_tall(
    width: int, column: int, tall: int, browser: Browser, screen: Screen, url: str
) -> None:
    screen("light", width)
    browser.open(url)
    assert len(browser.all(".step")) == STEPS
    assert len(browser.all(".lane-head")) == LANES
    narrowest = "return Math.min(...[...document.querySelectorAll('.step .words')].map(x => x.clientWidth))"
    assert browser.run(narrowest) >= column
    assert browser.run("return document.documentElement.scrollHeight") <= tall
    assert overflow(browser) <= 0
    broken = "return [...document.querySelectorAll('.flow')].filter(x => x.getClientRects().length !== 1).length"
    assert browser.run(broken) == 0
    assert browser.run("return [...document.querySelectorAll('.words')].every(x => [...x.childNodes].every("
                       "n => n.nodeType !== 3 || !n.textContent.includes('->')))")  # fmt: skip


def test_a_lane_folds_by_its_head_and_is_whole_on_paper(browser: Browser, screen: Screen, url: str) -> None:
    screen("light", 1400)
    browser.open(url)
    head = ".lane-head[data-lane=controller]"
    room = "return document.querySelector('.step .words').clientWidth"
    before = browser.run(room)
    assert browser.one(head).accessible_name == "controller: lane shown"
    browser.run("arguments[0].focus()", browser.one(head))
    browser.press("ENTER")
    assert browser.one(head).accessible_name == "controller: lane folded"
    assert browser.one(head).get_attribute("aria-expanded") == "false"
    assert browser.run("return document.activeElement.dataset.lane") == "controller"
    assert browser.run(room) > before
    browser.run("window.dispatchEvent(new Event('beforeprint'))")
    assert browser.one(head).accessible_name == "controller: lane shown"
    assert browser.one(".beside").get_attribute("open") is not None
    browser.run("window.dispatchEvent(new Event('afterprint'))")
    assert browser.one(head).accessible_name == "controller: lane folded"
    assert browser.one(".beside").get_attribute("open") is None
    browser.press("ENTER")
    assert browser.run(room) == before


def test_a_switch_leaves_of_the_state_what_the_step_changed(browser: Browser, screen: Screen, url: str) -> None:
    screen("light", 1400)
    browser.open(f"{url}#step=9")
    assert [card.is_displayed() for card in browser.all(".now .card")] == [True] * 4
    browser.one(".only").click()
    assert browser.one(".only").get_attribute("aria-pressed") == "true"
    shown = [card.get_attribute("aria-label") for card in browser.all(".now .card") if card.is_displayed()]
    assert shown == ["broker 0", "broker 1"]  # the fetch of step 9: what the leader knows, and the follower's log
    facts = [fact.text for fact in browser.all(".now .fact") if fact.is_displayed()]
    assert facts == ["known end[1] 0", "epoch cache [0: (epoch 0, start 0)]"]
    browser.press("ARROW_RIGHT")
    assert [card.is_displayed() for card in browser.all(".now .card")] != [True] * 4
    browser.press("HOME")
    assert all(card.is_displayed() for card in browser.all(".now .card")), "nothing has changed yet, so all is shown"


def test_on_a_narrow_screen_the_state_stands_below_its_step(browser: Browser, screen: Screen, url: str) -> None:
    screen("light", 390)
    browser.open(f"{url}#step=9")
    below = "return document.querySelector('.now').previousElementSibling.dataset.step"
    assert browser.run(below) == "9"
    browser.one("[aria-label='Next step']").click()
    assert browser.run(below) == "10"
    top = browser.run("return document.querySelector('.step[aria-current]').getBoundingClientRect().top")
    assert 0 <= top < 450, "the chosen step is on the screen"


def test_what_is_folded_switched_and_opened_breaks_no_rule(browser: Browser, screen: Screen, url: str) -> None:
    screen("dark", 700)
    browser.open(f"{url}#step=9")
    folded = "document.querySelector('.lane-head').click(); document.querySelector('.only').click();"
    browser.run(f"{folded} document.querySelector('.beside').open = true")
    assert violations(browser) == []
    assert overflow(browser) <= 0
