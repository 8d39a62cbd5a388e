"""The explorer's page in Chromium: walks by clicks, by keys, by addresses and along a trace from a file."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from isrcheck.checker.analysis.refinement.mapping_registry import load_mapping, load_specification
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.checker.report.explorer.specification_view import SpecificationView
from isrcheck.checker.report.explorer.walk import Walking
from tests.cli.running import counter, run
from tests.pages.browsing import Browser
from tests.pages.hostile import HOSTILE, MARKUP
from tests.pages.serving import served, serving
from tests.refinement.clocks import FILE, asked
from tests.scenarios.shipped import FOLDERS

pytestmark = [pytest.mark.needs("chromium"), pytest.mark.needs("chromedriver")]

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def kip_101() -> Iterator[str]:
    with serving("kip-101", replicas=2, log_size=1, max_records=1, max_leader_epoch=1) as server:
        yield server.url


def actions(browser: Browser) -> list[str]:
    """The instances that the page offers."""
    return [each.text.removesuffix(" (environment)") for each in browser.all("#choices .action")]


def choose(browser: Browser, action: str) -> None:
    """Clicks an instance, and waits until its step is shown."""
    before = browser.text("#where")
    browser.all("#choices .choice")[actions(browser).index(action)].click()
    browser.driver.execute_async_script(
        "const done = arguments[1]; const wait = () => document.getElementById('where').textContent === arguments[0]"
        " ? setTimeout(wait, 10) : done(); wait()",
        before,
    )


def status(browser: Browser, invariant: str) -> str:
    return str(browser.one(f"[data-invariant='{invariant}']").get_attribute("data-status"))


@pytest.mark.exhaustive
def test_what_may_happen_is_grouped_by_who_acts(browser: Browser, kip_101: str) -> None:
    browser.open(kip_101)
    browser.await_text("#where", "state 1 of 1")
    # At the start only the controller acts: it elects either replica, or takes either out of the ISR.
    assert [group.text for group in browser.all("#choices h3")] == ["controller"]
    assert actions(browser) == [
        "controller-elect-leader(leader=0)",
        "controller-elect-leader(leader=1)",
        "controller-shrink-isr(replica=0)",
        "controller-shrink-isr(replica=1)",
    ]
    assert "quorum.leader: none → 0" in browser.all("#choices .choice")[0].text


def test_choose_undo_redo_and_reload(browser: Browser, kip_101: str) -> None:
    browser.open(kip_101)
    browser.await_text("#where", "state 1 of 1")
    browser.press("b")
    browser.await_text("#where", "state 2 of 2")
    choose(browser, "become-leader(leader=1, epoch=0)")
    browser.await_text("#where", "state 3 of 3")
    assert "leads" in browser.text(".card.broker1 header")
    address = browser.driver.current_url
    browser.driver.refresh()
    browser.await_text("#where", "state 3 of 3")
    assert browser.driver.current_url == address
    browser.press("ARROW_LEFT")
    browser.await_text("#where", "state 2 of 3")
    assert "become-leader(leader=1, epoch=0)" in actions(browser)
    browser.press("ARROW_RIGHT")
    browser.await_text("#where", "state 3 of 3")
    browser.one("#undo").click()
    browser.await_text("#where", "state 2 of 3")
    browser.all(".step")[0].click()
    browser.await_text("#where", "state 1 of 3")
    browser.press("ARROW_DOWN", "ARROW_DOWN", "ENTER")  # the second choice, a path of its own
    browser.await_text("#where", "state 2 of 2")
    assert browser.run("return document.activeElement.matches('#choices .choice:first-child')")
    browser.driver.back()
    browser.await_text("#where", "state 1 of 3")
    browser.one("#restart").click()
    browser.await_text("#where", "state 1 of 1")
    assert browser.complaints() == []


def test_a_disabled_instance_says_what_it_requires_and_the_values(browser: Browser, kip_101: str) -> None:
    browser.open(kip_101)
    browser.await_text("#where", "state 1 of 1")
    browser.one("#disabled summary").click()
    browser.await_text("#disabled", "leader-write(replica=0)")
    items = {item.text.removeprefix("why? "): item for item in browser.all("#disabled li")}
    # A follower does not become one of itself: there is no such instance, which nothing can enable.
    assert "become-follower(follower=0, leader=0, epoch=0)" not in items
    item = items["leader-write(replica=0)"]
    browser.run("arguments[0].querySelector('button').click()", item)
    browser.await_text("#disabled .reason", "self.presumes_leadership(s, replica)")
    assert "replica[0].leader none" in browser.text("#disabled .reason")
    assert "kafka_replication.py" in browser.text("#disabled .reason")


@pytest.mark.exhaustive
def test_an_address_that_the_model_does_not_allow_is_one_clear_line(browser: Browser, kip_101: str) -> None:
    for path, words in (
        ("path=999", "there is no instance 999"),
        ("path=x", "a path must be"),
        ("initial=7", "initial state 7"),
    ):
        browser.open(f"{kip_101}#{path}")
        browser.await_text("#alert", words)
    browser.one("#restart").click()
    browser.await_text("#where", "state 1 of 1")
    assert not browser.one("#alert").is_displayed()


@pytest.mark.exhaustive
def test_a_trace_is_loaded_followed_to_its_violation_and_left(browser: Browser, tmp_path: Path) -> None:
    settings = {"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 1}
    options = [x for name, value in settings.items() for x in ("-s", f"{name}={value}")]
    recorded = tmp_path / "found.json"
    assert run("check", "truncate-to-hw", *options, "--json", recorded, "--quiet").code == 12
    found = json.loads(recorded.read_text())["invariants"]["weak-isr"]
    length = found["length"]
    with serving("truncate-to-hw", **settings) as server:
        browser.open(server.url)
        browser.await_text("#where", "state 1 of 1")
        browser.one("#file").send_keys(str(recorded))
        browser.await_text("#where", f"state 1 of {length}")
        assert "found.json: " in browser.text("#note")
        for position in range(2, length + 1):
            assert status(browser, "weak-isr") == "true"
            browser.press("ARROW_RIGHT")
            browser.await_text("#where", f"state {position} of {length}")
        assert status(browser, "weak-isr") == "false"
        browser.one("[data-invariant='weak-isr'] button").click()
        browser.await_text("[data-invariant='weak-isr'] .reason", "high_watermark")
        browser.press("ARROW_LEFT", "ARROW_LEFT")  # the second before the first is answered
        browser.await_text("#where", f"state {length - 2} of {length}")
        browser.press("a")
        browser.await_text("#where", f"state {length - 1} of {length - 1}")
        assert browser.complaints() == []


def test_a_trace_that_the_model_does_not_allow_is_walked_as_far_as_it_goes(browser: Browser, tmp_path: Path) -> None:
    data = json.loads((FOLDERS["kip-101"] / "trace.itf.json").read_text())
    settings = data["#meta"]["isrcheck"]["settings"]
    data["states"][4]["next_record_id"] = data["states"][8]["next_record_id"]
    (tmp_path / "wrong.itf.json").write_text(json.dumps(data))
    with serving("kip-101", **settings) as server:
        browser.open(server.url)
        browser.await_text("#where", "state 1 of 1")
        browser.one("#file").send_keys(str(tmp_path / "wrong.itf.json"))
        browser.await_text("#where", "state 1 of 4")
        assert "wrong.itf.json: state 5 cannot follow: the action leads to another state" in browser.text("#alert")


def test_a_file_that_is_no_trace_of_the_model_is_one_clear_line(browser: Browser, kip_101: str, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text(json.dumps({"format": 1, "model": "kip-279", "settings": {}, "invariants": {}}))
    (tmp_path / "broken.json").write_text("{")
    browser.open(kip_101)
    browser.await_text("#where", "state 1 of 1")
    browser.one("#file").send_keys(str(other))
    browser.await_text("#alert", "other.json: the file is for model 'kip-279', but this is kip-101")
    browser.one("#file").send_keys(str(tmp_path / "broken.json"))
    browser.await_text("#alert", "broken.json: it is not JSON")


@pytest.mark.exhaustive
def test_expressions_are_asked_kept_in_the_address_and_told_since_when(browser: Browser, kip_101: str) -> None:
    browser.open(kip_101)
    browser.await_text("#where", "state 1 of 1")
    browser.one("#expression").send_keys("quorum.leader\n")
    browser.await_text("#expressions", "quorum.leader none since state 1")
    choose(browser, "controller-elect-leader(leader=1)")
    browser.await_text("#expressions", "quorum.leader 1 since state 2")
    browser.one("#expression").send_keys("every b: log[b].is_empty\n")
    browser.await_text("#expressions", "every b: log[b].is_empty true since state 1")
    browser.one("#undo").click()
    browser.await_text("#expressions", "quorum.leader none since state 1")
    browser.run("location.reload()")
    browser.await_text("#where", "state 1 of 2")
    browser.await_text("#expressions", "every b: log[b].is_empty true since state 1")
    browser.all("#expressions button")[0].click()
    browser.await_text("#expressions", "every b: log[b].is_empty")
    browser.one("#expression").send_keys("<b>x</b>\n")
    browser.await_text("#expressions", "'<b>x</b>', column 1: invalid syntax")
    texts = [each.get_attribute("data-expression") for each in browser.all("#expressions li")]
    assert texts == ["every b: log[b].is_empty", "<b>x</b>"]
    assert "422" in "".join(browser.complaints())  # Chromium notes the refusal of the last one, and nothing else


@pytest.mark.exhaustive
def test_paths_are_named_gone_back_to_and_shared(browser: Browser, kip_101: str) -> None:
    browser.open(kip_101)
    browser.await_text("#where", "state 1 of 1")
    choose(browser, "controller-elect-leader(leader=1)")
    browser.await_text("#where", "state 2 of 2")
    browser.one("#branch").send_keys("1 leads ~ & <b>\n")
    browser.await_text("#branches", "1 leads ~ & <b> 2 states")
    browser.one("#undo").click()
    browser.await_text("#where", "state 1 of 2")
    choose(browser, "controller-elect-leader(leader=0)")
    browser.await_text("#where", "state 2 of 2")
    browser.one("#branch").send_keys("0 leads\n")
    browser.await_text("#branches", "0 leads 2 states")
    browser.all("#branches button")[0].click()
    browser.await_text("#sentence", "broker 1")
    assert [each.get_attribute("aria-current") for each in browser.all("#branches button:first-child")] == [
        "true",
        None,
    ]
    browser.one("#copy").click()
    browser.await_text("#note", "link")
    shared = browser.driver.current_url.partition("#")[2]
    with serving("kip-101", replicas=2, log_size=1, max_records=1, max_leader_epoch=1) as other:
        browser.open(f"{other.url}#{shared}")
        browser.await_text("#where", "state 2 of 2")
        assert [each.get_attribute("data-branch") for each in browser.all("#branches li")] == [
            "1 leads ~ & <b>",
            "0 leads",
        ]
        browser.all("#branches button:last-child")[0].click()
        browser.await_text("#branches", "0 leads 2 states")
        assert len(browser.all("#branches li")) == 1
    with serving("kip-101", replicas=2, log_size=1, max_records=1, max_leader_epoch=2) as other:
        browser.open(f"{other.url}#{shared}")
        browser.await_text("#alert", "This link is for another model or other settings")
        browser.one("#restart").click()
        browser.await_text("#where", "state 1 of 1")
        assert browser.all("#branches li") == []
    assert browser.complaints() == []


def test_a_path_is_saved_as_a_trace_that_show_tells(browser: Browser, tmp_path: Path) -> None:
    browser.protocol("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    with serving("kip-101", replicas=2, log_size=1, max_records=1, max_leader_epoch=1) as server:
        browser.open(server.url)
        browser.await_text("#where", "state 1 of 1")
        choose(browser, "controller-elect-leader(leader=1)")
        browser.one("#branch").send_keys("first election\n")
        browser.await_text("#branches", "first election")
        browser.one("#save").click()
        browser.await_text("#note", "Saved first-election.itf.json: open it with isrcheck replay")
        saved = tmp_path / "first-election.itf.json"
        for _ in range(200):
            if saved.exists() and saved.stat().st_size:
                break
            time.sleep(0.02)
        reported = run("replay", saved)
        assert reported.code == 0
        assert "VALID" in reported.out
        assert "controller-elect-leader(leader=1)" in reported.out
        assert browser.complaints() == []


def test_the_path_scrolls_to_the_step_where_one_stands(browser: Browser, tmp_path: Path) -> None:
    small = {"width": 390, "height": 500, "deviceScaleFactor": 1, "mobile": False}
    browser.protocol("Emulation.setDeviceMetricsOverride", **small)
    with serving(counter(tmp_path), top=9) as server:
        for standing in (8, 1):
            browser.open(f"{server.url}#path={'.'.join('0' * 8)}&at={standing}")
            browser.await_text("#where", f"state {standing + 1} of 9")
            box, step = (
                f"document.querySelector('{css}').getBoundingClientRect()" for css in ("#path", "[aria-current]")
            )
            above, below = browser.run(f"return [{step}.top - {box}.top, {box}.bottom - {step}.bottom]")
            assert above >= 0, standing
            assert below >= 0, standing
        assert browser.run("const path = document.getElementById('path'); return path.scrollHeight > path.clientHeight")
    browser.protocol("Emulation.clearDeviceMetricsOverride")


def test_an_explorer_that_has_ended_is_said_to_have(browser: Browser, tmp_path: Path) -> None:
    with serving(counter(tmp_path)) as server:
        browser.open(server.url)
        browser.await_text("#where", "state 1 of 1")
        # What a browser answers when nobody listens: the connection of this one outlives the server in its process.
        browser.run("window.fetch = () => Promise.reject(new TypeError('Failed to fetch'))")
        browser.press("a")
        words = "The explorer has stopped; run `isrcheck explore` again"
        browser.await_text("#alert", words)
        assert browser.text("#alert").endswith("again.")
        shown = "const box = document.getElementById('alert').getBoundingClientRect(); return box.bottom <= innerHeight"
        browser.run("scrollTo(0, 9999)")
        assert browser.run(shown), "wherever one looks"


def test_bounds_goals_and_what_has_no_meaning(browser: Browser, tmp_path: Path) -> None:
    with serving(counter(tmp_path), top=9, least=5) as server:
        browser.open(server.url)
        browser.await_text("#where", "state 1 of 1")
        browser.press(*"a")
        browser.await_text("#where", "state 2 of 2")
        browser.run("location.hash = '#path=0.0.0.0.0.0.0'")
        browser.await_text("#where", "state 8 of 8")
        assert status(browser, "is-small") == "false"
        evaluated = browser.text("#judged")
        assert "reached" in evaluated  # seven is the goal
        assert "not hit" in evaluated  # nine is the top
        assert browser.complaints() == []


def test_a_bound_that_is_switched_off_is_not_explored(browser: Browser) -> None:
    with serving("v3", max_leader_epoch=0) as server:
        browser.open(server.url)
        browser.await_text("#where", "state 1 of 1")
        assert "not exploredcrashes" in browser.text("#judged")
        assert "not hitmax_records" in browser.text("#judged")
        assert browser.complaints() == []


def test_markup_in_a_model_is_text(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "hostile.py").write_text(HOSTILE)
    with serving(tmp_path / "hostile.py") as server:
        browser.open(server.url)
        browser.await_text("#where", "state 1 of 1")
        browser.press("a")
        browser.await_text("#where", "state 2 of 2")
        browser.one("[data-invariant='is-nothing'] button").click()
        browser.await_text("[data-invariant='is-nothing'] .reason", "</script>")
        assert MARKUP in browser.text("#judged")
        assert browser.run("return window.hacked") is None
        assert browser.complaints() == []


def test_only_this_machine_is_asked(browser: Browser, kip_101: str) -> None:
    browser.open(kip_101)
    browser.await_text("#where", "state 1 of 1")
    assert {request for request in browser.requests() if not request.startswith((kip_101, "data:"))} <= {"about:blank"}


def test_another_page_in_the_same_browser_gets_no_answer(browser: Browser, kip_101: str) -> None:
    with serving("kip-101") as other:
        browser.open(other.url)
        browser.await_text("#where", "state 1 of 1")
        browser.run("for (const e of document.querySelectorAll('meta')) e.remove()")
        browser.open("data:text/html,<title>foreign</title>")
        answer = browser.driver.execute_async_script(
            "const done = arguments[1]; fetch(arguments[0] + 'api/model', {method: 'POST', body: '{}'})"
            ".then(() => done('answered'), () => done('refused'))",
            kip_101,
        )
        assert answer == "refused"


@pytest.mark.exhaustive
def test_a_specification_stands_beside_the_model(browser: Browser, tmp_path: Path) -> None:
    """The mapped hour is twice that of the small hand, and the large hand skips the last hour."""
    file, out = tmp_path / "clock.py", tmp_path / "out.json"
    file.write_text(FILE)
    assert asked(file, "by-the-large-hand", "--quiet", "--json", out).code == 12
    loaded, specification = load_model_class(f"{file}:Hands"), load_specification(f"{file}:Clock")
    _, mapping = load_mapping(loaded, specification, "by-the-large-hand")
    model = loaded.cls()
    with served(Walking(loaded, model, SpecificationView(specification, mapping, model, {}))) as server:
        browser.open(server.url)
        browser.await_text("#where", "state 1 of 1")
        assert status(browser, "refines-clock:Clock") == "true"
        browser.one("#file").send_keys(str(out))
        browser.await_text("#where", "state 1 of 5")
        for state in (2, 3, 4):
            browser.press("ARROW_RIGHT")
            browser.await_text("#where", f"state {state} of 5")
        assert "violates refines-clock:Clock" in browser.text("#choices")
        assert "clock:Clock.early: true → false" in browser.text("#choices")
        browser.press("ARROW_RIGHT")
        browser.await_text("#where", "state 5 of 5")
        assert status(browser, "refines-clock:Clock") == "false"
        browser.run(
            "arguments[0].querySelector('button').click()", browser.one("[data-invariant='refines-clock:Clock']")
        )
        browser.await_text(
            "[data-invariant='refines-clock:Clock'] .reason", "no specification action allows this change"
        )
        assert "clock:Clock.hour" in browser.text("#now")
    assert browser.complaints() == []
