"""Every page, light and dark, wide and narrow, satisfies the rules of axe-core and can be used with keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from isrcheck import check
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.checker.report.pages.report_page import report_page
from tests.cli.running import counter, run
from tests.pages.browsing import Browser
from tests.pages.serving import serving
from tests.scenarios.shipped import FOLDERS

pytestmark = [pytest.mark.needs("chromium"), pytest.mark.needs("chromedriver")]

AXE = files("axe_core_python").joinpath("axe.min.js").read_text(encoding="utf-8")
SMALL = {"replicas": 2, "log_size": 2, "max_records": 2, "max_leader_epoch": 2}
WIDE, NARROW = 1400, 390


def report(folder: Path) -> str:
    page = folder / "report.html"
    page.write_text(report_page(check("kip-101", SMALL), load_model_class("kip-101")), encoding="utf-8")
    return page.as_uri()


def shown(folder: Path) -> str:
    """The page of a lasso with three lanes."""
    page = folder / "shown.html"
    run("replay", FOLDERS["v1-zombie-keeps-the-isr-flapping"] / "trace.itf.json", "--html", page)
    return page.as_uri()


def review(folder: Path) -> str:
    page = folder / "review.html"
    settings = ("--b-setting", "top=2", "--visible", "value", "--no-scenarios")
    run("review", counter(folder), *settings, "--html", page)
    return page.as_uri()


def overview(folder: Path) -> str:
    page = folder / "overview.html"
    run("regress", FOLDERS["v1-zombies-lock-everybody-out"], FOLDERS["v1-one-zombie-too-late"], "--html", page)
    return page.as_uri()


PAGES: tuple[Callable[[Path], str], ...] = (report, shown, review, overview)


@pytest.fixture(scope="module")
def explorer() -> Iterator[str]:
    with serving("kip-101", replicas=2, log_size=1, max_records=1, max_leader_epoch=1) as server:
        yield server.url


@pytest.fixture
def screen(browser: Browser) -> Iterator[Callable[[str, int], None]]:
    """A function that sets the preferred colours and the width of the screen until the test ends."""

    def set_to(colours: str, width: int) -> None:
        sizes: dict[str, Any] = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        browser.protocol("Emulation.setDeviceMetricsOverride", **sizes)
        preferred = {"name": "prefers-color-scheme", "value": colours}
        browser.protocol("Emulation.setEmulatedMedia", features=[preferred])

    yield set_to
    browser.protocol("Emulation.clearDeviceMetricsOverride")
    browser.protocol("Emulation.setEmulatedMedia", features=[])


def violations(browser: Browser) -> list[str]:
    """The violated rules, each with the first element that violates it."""
    browser.run(AXE)
    found = browser.driver.execute_async_script("const done = arguments[0]; axe.run().then((r) => done(r.violations))")
    return [f"{each['id']}: {each['nodes'][0]['html']}" for each in found]


def overflow(browser: Browser) -> int:
    """The number of pixels by which the page is wider than the screen."""
    return int(browser.run("return document.documentElement.scrollWidth - innerWidth"))


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=() if page is report else pytest.mark.exhaustive) for page in PAGES],
    ids=lambda page: page.__name__,
)
def test_a_page_breaks_no_rule(
    page: Callable[[Path], str], browser: Browser, screen: Callable[[str, int], None], tmp_path: Path
) -> None:
    url = page(tmp_path)
    for colours, width in (("light", WIDE), ("dark", NARROW)):
        screen(colours, width)
        browser.open(url)
        assert violations(browser) == [], (colours, width)
        assert overflow(browser) <= 0


@pytest.mark.exhaustive
def test_the_explorer_breaks_no_rule(browser: Browser, screen: Callable[[str, int], None], explorer: str) -> None:
    for colours, width in (("light", NARROW), ("dark", WIDE)):
        screen(colours, width)
        browser.open(explorer)
        browser.one("#choices .choice").click()
        browser.await_text("#where", "2")
        assert violations(browser) == [], (colours, width)
        assert overflow(browser) <= 0


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("harm", "rule"),
    [
        ("document.querySelector('.step .words').style.opacity = 0.4", "color-contrast"),
        ("document.querySelector('.controls button').removeAttribute('aria-label');"
         "document.querySelector('.controls button').removeAttribute('title');"
         "document.querySelector('.controls button').textContent = ''", "button-name"),
    ],
)  # fmt: skip
def test_a_page_that_is_harmed_breaks_a_rule(harm: str, rule: str, browser: Browser, tmp_path: Path) -> None:
    browser.open(report(tmp_path))
    browser.one(".step .words")
    browser.run(harm)
    assert any(each.startswith(rule) for each in violations(browser))
