"""Each output of one small result, compared with answers by hand. A failing test names the file of the output.

A producer sends two letters, and an invariant says that two letters are never on their way together. Other tests
compare the formats with their schemas and parsers (`tests/ci`, `tests/traces`, `tests/pages`).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

import networkx as nx
import pytest

from isrcheck import check
from isrcheck.checker.export.state_graph import state_graph
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.checker.report.github import commands
from isrcheck.checker.report.junit import junit
from isrcheck.checker.report.mermaid import mermaid_of
from isrcheck.checker.report.result_text import vacuity, verdict_line
from isrcheck.checker.report.sarif import sarif
from isrcheck.checker.report.test_cases import Case, cases_of
from isrcheck.checker.results.result import Result
from isrcheck.checker.scenarios.derived_files import summary
from isrcheck.checker.trace import itf
from isrcheck.model.semantics.interpreter import Interpreter

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


def cases() -> list[Case]:
    return cases_of(RESULT, LOADED)


def in_itf() -> list[Any]:
    data = itf.itf_of(RESULT)
    assert data is not None
    return [({k: x for k, x in state.pop("#meta").items() if k != "index"}, state) for state in data["states"]]


def sets_in_itf(state: dict[str, Any]) -> dict[str, Any]:
    return {name: {"#set": x} if isinstance(x, list) else x for name, x in state.items()}


def in_json(result: Result) -> list[Any]:
    steps = result.to_json()["invariants"]["one-at-a-time"]["trace"]
    names = "action", "parameters", "actor"
    return [({name: step[name] for name in names if name in step}, step["state"]) for step in steps]


def in_junit() -> dict[str, str]:
    suite = ElementTree.fromstring(junit(cases(), {})).find("testsuite")
    assert suite is not None
    return {name: suite.attrib[name] for name in ("tests", "failures", "errors")}


OUTPUTS: Final[dict[str, tuple[Callable[[], Any], Any]]] = {
    "checker/results/result.py": (lambda: in_json(RESULT), SENT),
    "checker/trace/itf.py": (in_itf, [(step, sets_in_itf(state)) for step, state in SENT]),
    "checker/report/mermaid.py": (
        lambda: [x.strip() for x in (mermaid_of(RESULT) or "").splitlines() if "->>" in x],
        ["P0->>P0: 2. send(b=0, letter=a)", "P1->>P1: 3. send(b=1, letter=b)"],
    ),
    "checker/report/result_text.py, verdict_line": (
        lambda: verdict_line(RESULT), "VIOLATED  post: one-at-a-time in 3 states",
    ),
    "checker/report/result_text.py, vacuity": (
        lambda: vacuity(RESULT),
        ["warning: action steal has never fired", "warning: goal three-are-sent was never reached",
         "switched off by the settings: answer"],
    ),
    "checker/scenarios/derived_files.py": (
        lambda: [summary(RESULT)[x] for x in ("levels", "generated", "bounds_hit", "vacuity")],
        [[1, 4, 1], {"answer": [0, 0, 0], "send": [4, 4, 0], "steal": [0, 0, 0]}, ["most"],
         {"actions_never_fired": ["steal"], "goals_never_reached": ["three-are-sent"]}],
    ),
    "checker/report/test_cases.py": (
        lambda: {case.name: case.outcome for case in cases() if case.name in RESULT.findings},
        {"few-are-sent": "passed", "one-at-a-time": "failed"},
    ),
    "checker/report/junit.py": (
        in_junit, {"tests": str(len(cases())), "failures": "1", "errors": "0"},
    ),
    "checker/report/sarif.py": (
        lambda: [x["ruleId"] for x in sarif(cases(), 12, {})["runs"][0]["results"] if x["level"] == "error"],
        ["one-at-a-time"],
    ),
    "checker/report/github.py": (lambda: [x.startswith("::error") for x in commands(cases())].count(True), 1),
    "checker/export/state_graph.py": (
        lambda: [f(state_graph(Interpreter(LOADED.cls(), {}), 9)) for f in (len, nx.number_of_edges)], [6, 8],
    ),
}  # fmt: skip
"""By the file that makes an output: the content of the output, and the expected content."""


@pytest.mark.parametrize("file", OUTPUTS)
def test_an_output_says_what_was_found(file: str) -> None:
    output, wanted = OUTPUTS[file]
    found = output()
    assert found == wanted, f"{file}: {found}, not {wanted}"
