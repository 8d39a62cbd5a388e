"""Results as rows, and the examples of the page on Python, which must run."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

import isrcheck

PAGE = (Path(__file__).parent.parent / "docs/how-to/ci.md").read_text().partition("\n## From Python\n")[2]
EXAMPLES = re.findall(r"^```python\n(.*?)^```", PAGE, re.S | re.M)


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_of_the_page_runs(example: str) -> None:
    assert "assert " in example
    exec(compile(example, "docs/how-to/ci.md", "exec"), {})


def test_a_trace_has_a_row_for_each_state() -> None:
    trace = isrcheck.check("kip-101", {"replicas": 2}).invariants["weak-isr"].trace
    assert trace is not None
    rows = isrcheck.trace_rows(trace)
    assert [row["state"] for row in rows] == list(range(1, trace.length + 1))
    assert (rows[0]["actor"], rows[0]["action"]) == (None, None)
    assert rows[1]["action"].startswith("controller-")
    assert rows[1]["actor"] == "controller"
    assert {"log[0]", "log[1]", "quorum"} <= rows[0].keys() == rows[-1].keys()
    assert rows[0]["log[0]"] == "[]"


def test_levels_add_up_to_what_was_counted() -> None:
    whole = isrcheck.check("kip-101", {"replicas": 2}, invariants=["leader-in-isr-or-none"])
    rows = isrcheck.level_rows(whole)
    assert [row["states"] for row in rows] == whole.levels
    actions = rows[0].keys() - {"level", "states"}
    assert actions == {*whole.generated}
    assert sum(row[name] or 0 for row in rows for name in actions) + whole.initial_states == whole.generated_total
    stopped = isrcheck.check("kip-101", {"replicas": 2})
    assert isrcheck.level_rows(stopped)[-1]["leader-write"] is None, "the level of the violation is not expanded"
    assert (
        isrcheck.level_rows(
            isrcheck.check("kip-101", {"replicas": 2}, engine="symbolic", limits=isrcheck.Limits(depth=2))
        )
        == []
    )


def test_a_notebook_shows_the_page_of_a_result_in_a_frame_that_reaches_nothing_outside() -> None:
    result = isrcheck.check("kip-101", {"replicas": 2})
    page = isrcheck.page(result, height=300)
    assert page.html.startswith("<!DOCTYPE html>")
    assert "VIOLATED" in page.html
    frame = page._repr_html_()
    tag = re.fullmatch(r'<iframe srcdoc="([^"]*)" ([^>]*)></iframe>', frame, re.S)
    assert tag is not None, "no quotation mark of the page ends the attribute"
    assert html.unescape(tag[1]) == page.html
    assert 'sandbox="allow-scripts"' in tag[2]
    assert 'height="300"' in tag[2]
    assert len(repr(page)) < 100


def test_the_page_of_a_result_is_that_of_its_model() -> None:
    result = isrcheck.check("kip-101", {"replicas": 2})
    with pytest.raises(isrcheck.UnknownName, match="for model kip-101, not kip-320"):
        isrcheck.page(result, "kip-320")
