"""The report as a page, opened from its file in Chromium and used like by a reader."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from isrcheck import check
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.checker.report.pages.report_page import report_page
from isrcheck.checker.results.result import Result, Trace
from isrcheck.checker.results.state_text import data_text, label_text
from tests.cli.running import run
from tests.pages.browsing import Browser
from tests.pages.hostile import HOSTILE, MARKUP, VALUE

pytestmark = [pytest.mark.needs("chromium"), pytest.mark.needs("chromedriver")]
SMALL = {"replicas": 2, "log_size": 2, "max_records": 2, "max_leader_epoch": 2}


@pytest.fixture(scope="module")
def result() -> Result:
    return check("kip-101", SMALL, invariants=("weak-isr",))


@pytest.fixture(scope="module")
def trace(result: Result) -> Trace:
    found = result.invariants["weak-isr"].trace
    assert found is not None
    return found


@pytest.fixture(scope="module")
def url(result: Result, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("report") / "kip-101.html"
    path.write_text(report_page(result, load_model_class("kip-101")), encoding="utf-8")
    return path.as_uri()


def position(browser: Browser) -> str:
    return browser.text(".controls output")


def chosen(browser: Browser) -> str:
    """The action of the marked step in the list."""
    (step,) = browser.all(".step[aria-current=step] .action")
    return step.text


def rows(browser: Browser) -> dict[str, str]:
    """The parts of the shown state, by their paths."""
    rows = "[...document.querySelectorAll('.now .whole tr')]"
    return dict(browser.run(f"return {rows}.map(row => [...row.cells].map(cell => cell.textContent))"))


def at(data: Any, path: str) -> Any:
    """The part of a state's JSON at a path such as `replica[0].isr`."""
    for step in re.findall(r"[^.\[\]]+", path):
        data = data[int(step)] if isinstance(data, list) else data[step]
    return data


def test_the_verdict_and_the_settings_are_on_the_page(browser: Browser, url: str, result: Result) -> None:
    browser.open(url)
    assert browser.text("h1") == "VIOLATED kip-101"
    assert "weak-isr in 12 states" in browser.text("header")
    shown = browser.run("return [...document.querySelectorAll('tr')].map(r => [...r.cells].map(c => c.textContent))")
    for name, value in result.settings.items():
        assert any(row[:2] == [name, str(value)] for row in shown), name
    assert [f"{count:,}" for count in result.levels] == browser.run(
        "return [...document.querySelectorAll('#search ~ details td.number:nth-child(2)')].map(x => x.textContent)"
    )
    hints = browser.run("return [...document.querySelectorAll('svg.plot title')].map(x => x.textContent)")
    assert [f"states, {i}: {count:,}" for i, count in enumerate(result.levels, 1)] == hints[: len(result.levels)]


@pytest.mark.exhaustive
def test_buttons_keys_and_the_slider_step_through_the_trace(browser: Browser, url: str, trace: Trace) -> None:
    browser.open(url)
    assert position(browser) == f"step 1 of {trace.length}"
    browser.one("[aria-label='Next step']").click()
    assert (position(browser), chosen(browser)) == (f"step 2 of {trace.length}", label_text(trace.steps[1].label))
    browser.press("ARROW_RIGHT", "j", "ARROW_LEFT")
    assert position(browser) == f"step 3 of {trace.length}"
    browser.one("[aria-label='Previous step']").click()
    assert position(browser) == f"step 2 of {trace.length}"
    browser.press("END")
    assert position(browser) == f"step {trace.length} of {trace.length}"
    assert not browser.one("[aria-label='Next step']").is_enabled()
    browser.press("HOME")
    assert position(browser) == f"step 1 of {trace.length}"
    slider = browser.one("input[type=range]")
    browser.run("arguments[0].value = 5; arguments[0].dispatchEvent(new Event('input'))", slider)
    assert (position(browser), chosen(browser)) == (f"step 5 of {trace.length}", label_text(trace.steps[4].label))
    assert slider.get_attribute("aria-valuetext") == f"step 5 of {trace.length}: {chosen(browser)}"
    browser.all(".step")[6].click()
    assert position(browser) == f"step 7 of {trace.length}"
    browser.press("ARROW_DOWN")
    assert position(browser) == f"step 8 of {trace.length}"
    assert browser.run("return document.activeElement.dataset.step") == "8"


@pytest.mark.exhaustive
def test_the_address_leads_to_a_step_and_follows_the_reader(browser: Browser, url: str, trace: Trace) -> None:
    browser.open(f"{url}#step=7")
    assert position(browser) == f"step 7 of {trace.length}"
    browser.press("ARROW_RIGHT")
    assert browser.driver.current_url == f"{url}#step=8"
    browser.run("location.hash = '#step=3'")
    browser.await_text(".controls output", "step 3 of")
    for nonsense in ("#step=999", "#step=-4", "#step=x", "#trace=9&step=2"):
        browser.open(url + nonsense)
        assert re.fullmatch(rf"step \d+ of {trace.length}", position(browser))
    assert browser.complaints() == []


@pytest.mark.exhaustive
def test_each_step_shows_the_state_after_it(browser: Browser, url: str, trace: Trace) -> None:
    browser.open(url)
    for i, step in enumerate(trace.to_json()):
        browser.run("location.hash = arguments[0]", f"#step={i + 1}")
        browser.await_text(".controls output", f"step {i + 1} of")
        shown = rows(browser)
        assert {path.partition("[")[0].partition(".")[0] for path in shown} == set(step["state"])
        assert shown == {path: data_text(trace.variables, path, at(step["state"], path)) for path in shown}


def test_the_truncated_record_is_struck_through_and_the_invariant_explained(browser: Browser, url: str) -> None:
    browser.open(f"{url}#step=12")
    assert [record.text.split("\n")[1] for record in browser.all(".now .gone")] == ["record 0", "record 1"]
    assert "truncated: record 0 at offset 0, record 1 at offset 1" in str(
        browser.one(".card.broker1 .log").get_attribute("aria-label")
    )
    assert "weak-isr is false here" in browser.text(".now .why")
    assert "replica[0].high_watermark" in browser.text(".now .why")


def test_nothing_is_complained_of_and_nothing_is_asked_of_a_network(browser: Browser, url: str) -> None:
    browser.open(url)
    browser.press("ARROW_RIGHT", "END")
    assert browser.complaints() == []
    assert {request.partition(":")[0] for request in browser.requests()} <= {"file", "data"}


def test_the_page_is_dark_where_the_reader_prefers_it(browser: Browser, url: str) -> None:
    colours = {}
    for scheme in ("light", "dark"):
        browser.protocol("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        browser.open(url)
        colours[scheme] = browser.run("return getComputedStyle(document.body).backgroundColor")
    browser.protocol("Emulation.setEmulatedMedia", features=[])
    assert colours == {"light": "rgb(255, 255, 255)", "dark": "rgb(18, 21, 26)"}


def test_on_paper_every_step_is_there_and_no_button(browser: Browser, url: str, trace: Trace) -> None:
    browser.protocol("Emulation.setEmulatedMedia", media="print")
    browser.open(url)
    browser.run("window.dispatchEvent(new Event('beforeprint'))")
    assert len([moment for moment in browser.all(".moment") if moment.is_displayed()]) == trace.length
    assert not browser.one(".controls").is_displayed()
    browser.run("window.dispatchEvent(new Event('afterprint'))")
    browser.protocol("Emulation.setEmulatedMedia", media="")
    assert browser.all(".moment") == []


def test_without_scripts_the_story_can_be_read(browser: Browser, url: str, trace: Trace) -> None:
    browser.protocol("Emulation.setScriptExecutionDisabled", value=True)
    browser.open(url)
    reported = [item.text for item in browser.all(".plain li")]
    browser.protocol("Emulation.setScriptExecutionDisabled", value=False)
    assert len(reported) == trace.length
    assert all(
        label_text(step.label) in line for step, line in zip(trace.steps[1:], reported[1:], strict=True) if step.label
    )


def test_everything_that_can_be_used_has_a_name(browser: Browser, url: str) -> None:
    browser.open(url)
    tree = browser.protocol("Accessibility.getFullAXTree")["nodes"]
    used = [n for n in tree if n.get("role", {}).get("value") in ("button", "slider", "link", "img", "region", "list")]
    assert len(used) > 20
    assert [n for n in used if not n["ignored"] and n["role"]["value"] != "list" and not n["name"]["value"]] == []


def test_markup_in_a_model_is_text_on_the_page(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "hostile.py").write_text(HOSTILE)
    assert run("check", tmp_path / "hostile.py", "--html", tmp_path / "page.html", "--quiet").code == 12
    browser.open((tmp_path / "page.html").as_uri() + "#step=2")
    assert browser.run("return window.hacked") is None
    assert browser.complaints() == []
    shown = browser.run("return document.body.textContent")
    assert f"A model of {MARKUP}." in shown
    assert f"means {MARKUP}" in shown
    assert f"Acts {MARKUP}." in shown
    assert f"The value is never {MARKUP}." in browser.text(".now .why")
    assert "It becomes </script>" in browser.text(".now .sentence")
    assert rows(browser) == {"value": VALUE}


def test_a_result_without_a_trace_is_a_page_too(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "holds.html"
    settings = {"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 0}
    page.write_text(report_page(check("kip-101", settings), load_model_class("kip-101")), encoding="utf-8")
    browser.open(page.as_uri())
    assert browser.text("h1") == "HOLDS kip-101"
    assert browser.all(".controls") == []
    assert browser.complaints() == []


def test_recorded_traces_are_shown_as_a_page_as_far_as_the_model_allows(browser: Browser, tmp_path: Path) -> None:
    recorded, page = tmp_path / "found.json", tmp_path / "shown.html"
    options = [x for name, value in SMALL.items() for x in ("-s", f"{name}={value}")]
    assert run("check", "kip-101", *options, "--invariant", "weak-isr", "--json", recorded, "--quiet").code == 12
    assert run("replay", recorded, "--html", page).code == 12
    browser.open(page.as_uri() + "#step=12")
    assert position(browser) == "step 12 of 12"
    assert "weak-isr is false here" in browser.text(".now .why")
    data = json.loads(recorded.read_text())
    states = data["invariants"]["weak-isr"]["trace"]
    states[5]["state"]["next_record_id"] = 0  # as if the write of the sixth state had not counted
    recorded.write_text(json.dumps(data))
    assert run("replay", recorded, "--html", page).code == 10
    browser.open(page.as_uri())
    assert position(browser) == "step 1 of 5"
    assert "state 6 of 12 cannot follow state 5" in browser.text(".alert")
    assert browser.complaints() == []
