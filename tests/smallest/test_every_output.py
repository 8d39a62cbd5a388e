"""Each output of one small result, compared with answers by hand. A failing test names the output.

A producer sends two letters, and an invariant says that two letters are never on their way together. Other tests
compare the formats with their schemas and parsers (`tests/ci`, `tests/traces`, `tests/pages`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

import networkx as nx
import pytest

from isrcheck import UnknownName, check, render
from isrcheck.checker.export.state_graph import state_graph
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.checker.report.outputs import OUTPUTS, Answered, Output, Printed, as_lines, outputs_of
from isrcheck.checker.report.result_text import vacuity, verdict_line
from isrcheck.checker.report.test_cases import cases_of
from isrcheck.checker.results.text_layout import content_text
from isrcheck.checker.scenarios.derived_files import summary
from isrcheck.model.semantics.interpreter import Interpreter
from tests.cli.running import run

LOADED: Final = load_model_class(str(Path(__file__).parent / "post.py"))
RESULT: Final = check(LOADED.cls, {}, engine="reference", keep_going=True)
# By hand: one of two brokers sends one of two letters, then the other broker the other letter. Six states, three deep;
# eight times somebody sends. Of the four shortest paths the one with the least labels is told.
SENT: Final = [
    ({}, {"sent": 0, "ways": [], "senders": []}),
    ({"action": "send", "parameters": {"b": 0, "letter": "a"}, "actor": "broker 0"},
     {"sent": 1, "ways": ["a"], "senders": [0]}),
    ({"action": "send", "parameters": {"b": 1, "letter": "b"}, "actor": "broker 1"},
     {"sent": 2, "ways": ["a", "b"], "senders": [0, 1]}),
]  # fmt: skip


def in_json(text: str) -> list[Any]:
    steps = json.loads(text)["invariants"]["one-at-a-time"]["trace"]
    names = "action", "parameters", "actor"
    return [({name: step[name] for name in names if name in step}, step["state"]) for step in steps]


def in_itf(text: str) -> list[Any]:
    states = json.loads(text)["states"]
    return [({k: x for k, x in state.pop("#meta").items() if k != "index"}, state) for state in states]


def sets_in_itf(state: dict[str, Any]) -> dict[str, Any]:
    return {name: {"#set": x} if isinstance(x, list) else x for name, x in state.items()}


def in_html(text: str) -> list[Any]:
    """The actions of the story in the page's data."""
    found = re.search(r'<script type="application/json"[^>]*>(.*?)</script>', text, re.S)
    assert found is not None
    (story,) = json.loads(found[1]).values()
    return [step["action"] for step in story["steps"][1:]]


def in_junit(text: str) -> dict[str, str]:
    suite = ElementTree.fromstring(text).find("testsuite")
    assert suite is not None
    return {name: suite.attrib[name] for name in ("tests", "failures", "errors")}


READERS: Final[dict[str, tuple[Callable[[str], Any], Any]]] = {
    "json": (in_json, SENT),
    "itf": (in_itf, [(step, sets_in_itf(state)) for step, state in SENT]),
    "html": (in_html, ["send(b=0, letter=a)", "send(b=1, letter=b)"]),
    "mermaid": (
        lambda text: [x.strip() for x in text.splitlines() if "->>" in x],
        ["P0->>P0: 2. send(b=0, letter=a)", "P1->>P1: 3. send(b=1, letter=b)"],
    ),
    "junit": (in_junit, {"tests": "2", "failures": "1", "errors": "0"}),
    "sarif": (
        lambda text: [x["ruleId"] for x in json.loads(text)["runs"][0]["results"] if x["level"] == "error"],
        ["one-at-a-time"],
    ),
    "github": (lambda text: [x.startswith("::error") for x in text.splitlines()].count(True), 1),
}  # fmt: skip
"""By the name of an output: a function that reads its text, and what it should read there."""
ANY: Final = (lambda text: "send" in text or "one-at-a-time" in text, True)
"""For an output without a reader: its text names an action of the trace or the violated invariant."""


@pytest.mark.parametrize("output", [pytest.param(each, id=each.name) for each in outputs_of("check")])
def test_an_output_shows_what_was_found(output: Output) -> None:
    content = output.content(Answered(RESULT, LOADED))
    text = "\n".join(content.lines) if isinstance(content, Printed) else content_text(content)
    read, wanted = READERS.get(output.name, ANY)
    assert read(text) == wanted
    assert not output.is_file or render(RESULT, output.name, LOADED) == text


@pytest.mark.parametrize("output", [pytest.param(each, id=each.name) for each in outputs_of("check")])
def test_an_output_of_a_trace_is_none_without_a_trace(output: Output) -> None:
    result = check(LOADED.cls, {"most": 1}, engine="reference")
    assert result.verdict == "holds"
    assert (output.content(Answered(result, LOADED)) is None) == output.of_trace


def test_an_unknown_output_is_refused() -> None:
    with pytest.raises(UnknownName, match="a check has no output 'mermaids'; did you mean mermaid"):
        render(RESULT, "mermaids", LOADED)


@pytest.mark.parametrize(("output", "command"), [(x, name) for x in OUTPUTS for name in x.commands or ("check",)])
def test_the_help_has_the_output(output: Output, command: str) -> None:
    shown = " ".join(run(command, "--help").out.split())
    assert f" {output.option} {'FILE ' * output.is_file}{output.meaning}" in shown


def test_the_page_has_the_table_of_outputs() -> None:
    (page,) = (Path(__file__).parents[2] / "docs").rglob("ci.md")
    assert "\n".join(as_lines()) in page.read_text()


TEXTS: Final[dict[str, tuple[Callable[[], Any], Any]]] = {
    "checker/report/result_text.py, verdict_line": (
        lambda: verdict_line(RESULT), "VIOLATED  post: one-at-a-time in 3 states",
    ),
    "checker/report/result_text.py, vacuity": (
        lambda: vacuity(RESULT),
        ["warning: action steal has never fired", "warning: goal three-are-sent was never reached",
         "disabled by the settings: answer"],
    ),
    "checker/scenarios/derived_files.py": (
        lambda: [summary(RESULT)[x] for x in ("levels", "generated", "bounds_hit", "vacuity")],
        [[1, 4, 1], {"answer": [0, 0, 0], "send": [4, 4, 0], "steal": [0, 0, 0]}, ["most"],
         {"actions_never_fired": ["steal"], "goals_never_reached": ["three-are-sent"]}],
    ),
    "checker/report/test_cases.py": (
        lambda: {case.name: case.outcome for case in cases_of(RESULT, LOADED) if case.name in RESULT.invariants},
        {"few-are-sent": "passed", "one-at-a-time": "failed"},
    ),
    "checker/export/state_graph.py": (
        lambda: [f(state_graph(Interpreter(LOADED.cls(), {}), 9)) for f in (len, nx.number_of_edges)], [6, 8],
    ),
}  # fmt: skip
"""By the file that makes a text: the text, and the expected text."""


@pytest.mark.parametrize("file", TEXTS)
def test_a_text_says_what_was_found(file: str) -> None:
    text, wanted = TEXTS[file]
    found = text()
    assert found == wanted, f"{file}: {found}, not {wanted}"
