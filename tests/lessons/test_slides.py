"""The lessons as slides: the slides have the whole text of a lesson, no raw markup, and usable controls."""

from __future__ import annotations

import base64
import re
from functools import cache
from html import escape, unescape
from pathlib import Path
from typing import Any

import pytest

from isrcheck.checker.cli.course import _story, pages
from isrcheck.checker.report.pages.slides import deck
from tests.cli.running import run
from tests.pages.browsing import Browser
from tests.pages.conftest import browser
from tests.pages.hostile import MARKUP
from tests.pages.test_accessibility import screen, violations

__all__ = ["browser", "screen"]

LESSONS = {number: page.read_text() for number, page in pages().items()}
KEY = "new KeyboardEvent('keydown', { key, bubbles: true })"
KEYS_AT_ONCE = f"for (const key of arguments) document.activeElement.dispatchEvent({KEY})"
drawn = pytest.mark.usefixtures("browser")


@cache
def one_story(scenario: str) -> dict[str, Any]:
    """The same small trace for every scenario, because these tests are only about its place."""
    return _story("kip-101")


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def said(page: str) -> str:
    """The text of a page's slides, without the pictures."""
    body = re.sub(r"<(footer|style|script)\b.*?</\1>|<img[^>]*>", " ", page, flags=re.S)
    return unescape(re.sub(r"<[^>]*>", "", body))


@pytest.mark.parametrize("number", LESSONS)
def test_the_slides_say_all_that_the_lesson_says(number: int) -> None:
    lesson = LESSONS[number]
    traces = re.findall(r"^<!-- trace: (.+?) -->\n```console\n(.*?)^```$", lesson, re.M | re.S)
    reported = said(deck({number: lesson}, one_story))
    for _, trace in traces:  # in their place stand pictures, and the lines from what is false on
        lines = trace.splitlines()
        false = next((i for i, line in enumerate(lines) if " is false " in line), len(lines))
        lesson = lesson.replace("\n".join(lines[:false]) + "\n", "")
    lesson = re.sub(r"^\[[^]\n]+\]: .*$", "", lesson, flags=re.M)
    written = re.sub(r"^<!--.*-->$|<[^>]*>", "", lesson.partition(". ")[2], flags=re.M)
    written = re.sub(r"\]\([^)]*\)|^```\w*$|^\|(?: --- \|)+$|(?:^|(?<=\n))\d+\. ", " ", written, flags=re.M)
    found = iter(words(reported))
    for word in words(re.sub("[*`]", "", written)):
        assert any(word == each for each in found), f"{word!r} is not there, or not in this place"


def test_pictures_stand_in_the_place_of_a_trace() -> None:
    page = deck({2: LESSONS[2]}, one_story)
    assert re.findall(r"<h1 class=\"part\">(The trace: .*?)</h1>", page) == [
        "The trace: steps 2 to 7",
        "The trace: steps 8 to 12",
    ]
    alternatives = " ".join(re.findall(r'<img class="trace" [^>]*alt="([^"]*)"', page))
    for number, step in enumerate(one_story("kip-101")["steps"][1:], 2):
        assert f"{number}: {step['sentence']}" in unescape(alternatives)


def test_markup_in_a_lesson_is_text() -> None:
    section = f"## What {MARKUP}\n\n* [x](javascript:hacked) a {MARKUP}\n\n```\n{MARKUP}\n```\n"
    lesson = f"# 1. Is it {MARKUP}?\n\nHere {MARKUP}\n\n{section}"
    page = deck({1: lesson}, one_story)
    assert page.count("<script") == 2  # its own, and the data that it has none of
    assert "<img" not in page
    assert 'href="javascript' not in page
    shown = escape(MARKUP.removesuffix("&amp;"))  # what Markdown reads as a character may be written as one
    assert page.count(shown) >= 6


def test_a_number_of_no_lesson_and_a_folder_as_a_file_are_one_line(tmp_path: Path) -> None:
    assert run("course", "lessons", "99", "--slides", tmp_path / "x.html").code == 150
    assert run("course", "lessons", "1", "--plain", "--slides", tmp_path / "x.html").code == 2
    assert run("course", "lessons", "1", "--slides", tmp_path).code == 153
    assert not (tmp_path / "x.html").exists()


@pytest.mark.exhaustive
@pytest.mark.needs("chromium")
@pytest.mark.needs("chromedriver")
def test_a_lecturer_goes_through_them_by_keys_and_prints_them(browser: Browser, screen: Any, tmp_path: Path) -> None:
    page = tmp_path / "slides.html"
    assert run("course", "lessons", "2", "--slides", page).code == 0
    screen("dark", 1024)
    browser.open(page.as_uri())
    count = int(browser.text("#where").partition(" / ")[2])
    assert count >= 10
    assert [slide.is_displayed() for slide in browser.all(".slide")] == [True] + [False] * (count - 1)
    browser.press("ARROW_RIGHT", "PAGE_DOWN", "ARROW_LEFT")
    assert browser.text("#where") == f"2 / {count}"
    assert browser.driver.current_url.endswith("#2")
    browser.run(KEYS_AT_ONCE, "ArrowRight", "ArrowRight", "ArrowLeft")  # faster than the address's event comes
    assert browser.text("#where") == f"3 / {count}"
    browser.press("END", "ARROW_RIGHT")
    assert browser.text("#where") == f"{count} / {count}"
    assert not browser.one("#forth").is_enabled()
    browser.press("HOME", "SPACE")
    browser.one("#forth").click()
    assert browser.text("#where") == f"3 / {count}"
    assert violations(browser) == []
    assert browser.run("return getComputedStyle(document.body).backgroundColor") == "rgb(18, 21, 26)"
    too_long = """return [...document.querySelectorAll('.slide')].filter((slide, i, all) => {
        all.forEach(each => each.classList.toggle('now', each === slide));
        return slide.scrollHeight > slide.clientHeight || slide.scrollWidth > slide.clientWidth}).length"""
    assert browser.run(too_long) == 0
    assert browser.complaints() == []
    assert {request.partition(":")[0] for request in browser.requests()} <= {"file", "data"}
    printed = browser.protocol("Page.printToPDF", preferCSSPageSize=True)["data"]
    assert len(re.findall(rb"/Type\s*/Page\b", base64.b64decode(printed))) == count


@pytest.mark.exhaustive
@pytest.mark.needs("chromium")
@pytest.mark.needs("chromedriver")
def test_every_slide_of_every_lesson_fits(browser: Browser, screen: Any, tmp_path: Path) -> None:
    page = tmp_path / "slides.html"
    assert run("course", "lessons", "--slides", page).code == 0
    for width in (1024, 1400):
        screen("light", width)
        browser.open(page.as_uri())
        too_long = """return [...document.querySelectorAll('.slide')].filter((slide, i, all) => {
            all.forEach(each => each.classList.toggle('now', each === slide));
            return slide.scrollHeight > slide.clientHeight}).map(slide => slide.ariaLabel)"""
        assert browser.run(too_long) == []
    browser.open(f"{page.as_uri()}#lesson-7")
    assert "Who leads?" in browser.text(".slide.now h1")
    assert len(browser.all("#contents a")) == len(LESSONS)
