"""Reasons and fixes on a page: letters, switches, the steps on which a step rests, and the step at which a fix acts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import run
from tests.pages.browsing import Browser
from tests.scenarios.shipped import FOLDERS

pytestmark = [pytest.mark.needs("chromium"), pytest.mark.needs("chromedriver"), pytest.mark.exhaustive]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    path: Path = tmp_path_factory.mktemp("page") / "kip-101.html"
    trace = FOLDERS["kip-101"] / "trace.itf.json"
    assert run("replay", trace, "--control", "kip-279", "--invariant", "strong-isr", "--html", path).code == 12
    return path.as_uri()


def letters(browser: Browser) -> str:
    """The letter of each step from the second on."""
    return "".join(each.text for each in browser.all(".step .letter"))


def test_each_step_has_the_letter_of_its_reason(browser: Browser, url: str) -> None:
    browser.open(url)
    # As they are divided by hand: 2, 5 | 6 to 9 | 3, 4, 10 to 12.
    assert letters(browser) == "accabbbbccc"
    ends = browser.run("return [...document.querySelectorAll('.end-of-reason')].map(x => x.getAttribute('aria-label'))")
    assert ends == [", completes reason a", ", completes reason b", ", completes reason c"]
    assert [line.text for line in browser.all(".reasons li")] == [
        "a replica[0].leader = 0 by step 5, by way of 2",
        "b replica[0].high_watermark > 0 by step 9, by way of 6 to 8",
        "c log[1].length = 0 by step 12, by way of 3, 4, 10, 11",
        "quorum.isr has 1 from the start",
    ]
    assert browser.complaints() == []


def test_a_reason_is_chosen_and_given_up_again(browser: Browser, url: str) -> None:
    browser.open(url)
    dimmed = "return [...document.querySelectorAll('.step.dim')].map(x => x.dataset.step).join(' ')"
    switch = browser.one(".reasons li[data-reason=b] button")
    switch.click()
    assert switch.get_attribute("aria-pressed") == "true"
    assert browser.run(dimmed) == "1 2 3 4 5 10 11 12"
    switch.click()
    assert browser.run(dimmed) == ""


def test_a_step_says_what_it_rests_on_and_leads_there(browser: Browser, url: str) -> None:
    browser.open(f"{url}#step=8")
    assert [line.text for line in browser.all(".rests li")] == [
        "step 6 log[0].length > log[1].length",
        "step 7 replica[1].leader = 0",
    ]
    browser.one(".rests li button").click()
    assert browser.text(".controls output") == "step 6 of 12"


def test_the_fix_stands_before_the_step_at_which_it_acts(browser: Browser, url: str) -> None:
    browser.open(url)
    (fix,) = browser.all(".fix")
    assert fix.text.startswith("The fix acts at step 12 (model = kip-279): it does otherwise\nlog[1] [] here")
    assert browser.run("return document.querySelector('.fix + .step').dataset.step") == "12"


def test_a_trace_that_is_not_there_is_not_replaced_by_another(browser: Browser, url: str) -> None:
    browser.open(f"{url}#trace=11&step=3")
    assert browser.text("#missing") == "There is no trace 11 on this page. Known: 1."
    assert browser.text(".controls output") == "step 1 of 12"
    browser.run("location.hash = '#step=4'")
    browser.await_text(".controls output", "step 4 of 12")
    assert browser.all("#missing") == []
