"""The page of a review in a browser: its behaviours can be stepped through, without console messages."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import counter, run
from tests.pages.browsing import Browser

pytestmark = [pytest.mark.needs("chromium"), pytest.mark.needs("chromedriver"), pytest.mark.exhaustive]


def test_what_is_new_and_what_is_gone_are_stepped_through(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "review.html"
    run("review", counter(tmp_path), "--b-setting", "top=2", "--visible", "value", "--no-scenarios", "--html", page)
    browser.open(page.as_uri())
    assert browser.text("h1") == "counter with top=3 -> counter with top=2"
    assert [each.get_attribute("data-trace") for each in browser.all("section[data-trace]")] == ["new", "gone"]
    browser.open(f"{page.as_uri()}#trace=gone&step=4")
    browser.await_text("section[data-trace=gone] output", "4")
    assert browser.complaints() == []


def test_a_page_without_a_difference_has_nothing_to_step_through(browser: Browser, tmp_path: Path) -> None:
    page, file = tmp_path / "review.html", counter(tmp_path)
    run("review", file, file, "--no-scenarios", "--html", page)
    browser.open(page.as_uri())
    assert browser.all("section[data-trace]") == []
    assert browser.complaints() == []
