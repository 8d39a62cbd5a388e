"""`isrcheck conform --recording`: the example of its page, its exit codes, and messages about damaged files."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import isrcheck.checker
from isrcheck.checker.trace_validation.validation_search import SearchResult, search
from tests.cli.running import Outcome, run

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/how-to/real-systems.md").read_text()
FOLDER = Path(isrcheck.checker.__file__).parent
LINES = Draft202012Validator(json.loads((FOLDER / "recording.schema.json").read_text()))
ANSWERS = Draft202012Validator(json.loads((FOLDER / "schema.json").read_text()))

Change = tuple[str, str]


def block(kind: str) -> str:
    found = re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.S | re.M)
    assert len(found) == 1
    return str(found[0])


def written(folder: Path, *changes: Change) -> Path:
    """Writes the model of the page, and its recording with some texts replaced."""
    (folder / "lease.py").write_text(block("python"))
    text = block("json")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = folder / "afternoon.ndjson"
    path.write_text(text)
    return path


def explained(path: Path, *options: str) -> tuple[Outcome, Any]:
    """The answer, as the command's outcome and as JSON."""
    out = path.with_suffix(".json")
    outcome = run("conform", "--recording", path, path.parent / "lease.py", "--json", out, *options)
    data = json.loads(out.read_text())
    ANSWERS.validate(data)
    assert data["exit_code"] == outcome.code
    return outcome, data


TAMPERED = (
    '"observed": {"token": {"class": "lease", "value": 1720}}, "text": "09:00:32 lease 1720',
    '"observed": {"token": {"class": "lease", "value": 1712}}, "text": "09:00:32 lease 1712',
)
APART = ('"here": true}}, "text": "working with 1712"', '"here": true}}, "after": [["bert", 2]]')
"""Anna works only after Bert has returned the thing."""


@pytest.mark.parametrize(("name", "changes"), [("afternoon", ()), ("tampered", (TAMPERED,))])
def test_the_example_of_the_page_is_what_happens(tmp_path: Path, name: str, changes: tuple[Change, ...]) -> None:
    path = written(tmp_path, *changes)
    for line in path.read_text().splitlines():
        LINES.validate(json.loads(line))
    output = iter(explained(path)[0].out.replace(str(path), f"{name}.ndjson").splitlines())
    shown = re.search(rf"^\$ isrcheck conform lease.py --recording {name}.ndjson\n(.*?)^```", PAGE, re.S | re.M)
    assert shown is not None
    for line in shown[1].splitlines():
        assert line == "[...]" or line in output, f"{line!r} is not in the output, or not in this place"


def test_the_lines_are_where_the_steps_are(tmp_path: Path) -> None:
    outcome, data = explained(written(tmp_path, APART))
    story = data["explanation"]
    assert (outcome.code, data["verdict"], story["hidden"], story["in_a_row"]) == (0, "explained", 1, 1)
    assert story["invariants"] == {"one-works": {"verdict": "holds"}}
    # There is one order of all that: Anna's answer comes last.
    reported = [(x["action"], x["line"], [each["lane"] for each in x["held"]]) for x in story["trace"][1:]]
    assert reported == [
        ("grant", {"lane": "server", "order": 1}, []),
        ("expire", {"lane": "server", "order": 2}, []),
        ("grant", {"lane": "server", "order": 3}, []),
        ("receive", None, ["bert"]),
        ("give-back", {"lane": "bert", "order": 2}, []),
        ("receive", {"lane": "anna", "order": 1}, []),
    ]


def test_an_invariant_that_is_false_in_the_story_is_told(tmp_path: Path) -> None:
    both = (
        ('"here": true}}, "text": "working with 1712"', '"here": true}}, "after": [["bert", 1]]'),
        (
            '"order": 2, "event": {"action": "give-back"',
            '"order": 2, "after": [["anna", 1]], "event": {"action": "give-back"',
        ),
    )
    outcome, data = explained(written(tmp_path, *both))
    # Two grants and an expiry, two answers: both work in the sixth state, in whatever order.
    assert (outcome.code, data["explanation"]["invariants"]) == (12, {"one-works": {"verdict": "violated", "state": 6}})
    assert "one-works is false in state 6" in outcome.out


def test_a_line_that_cannot_be_is_named_with_the_reason(tmp_path: Path) -> None:
    outcome, data = explained(written(tmp_path, TAMPERED))
    assert (outcome.code, data["verdict"], data["frontier"]["explained"]) == (15, "unexplained", 3)
    first = data["frontier"]["refused"][0]
    assert (first["lane"], first["order"], first["row"]) == ("server", 3, 4)
    assert first["reasons"] == [
        {"instance": "grant(c=1)", "what": "token is 2 then, but was recorded as 1", "where": None, "values": {}}
    ]


def test_a_condition_that_refuses_is_told_with_what_it_reads(tmp_path: Path) -> None:
    """Without the expiry the thing is still lent."""
    expiry = '{"lane": "server", "order": 2, "event": "expire", "text": "09:00:31 lease 1712 has expired"}\n'
    _, data = explained(written(tmp_path, (expiry, "")))
    (reason,) = data["frontier"]["refused"][0]["reasons"]
    assert (reason["what"], reason["values"]) == ("it requires s.holder.is_none", {"holder": "0"})
    assert re.fullmatch(r"lease.py:\d+", reason["where"])


def test_without_hidden_steps_nobody_works(tmp_path: Path) -> None:
    outcome, data = explained(written(tmp_path), "--hidden", "0")
    assert (outcome.code, data["frontier"]["explained"]) == (15, 4)
    assert explained(written(tmp_path, ('"hidden": ["receive"]', '"hidden": []')))[0].code == 15
    elsewhere = ('"hidden": ["receive"]', '"hidden": [{"action": "receive", "parameters": {"c": 1}}]')
    assert explained(written(tmp_path, elsewhere))[1]["verdict"] == "explained"


def test_a_limit_is_no_answer(tmp_path: Path) -> None:
    outcome, data = explained(written(tmp_path), "--max-states", "1")
    assert (outcome.code, data["verdict"]) == (152, "incomplete")
    assert "the limit on states is reached" in data["reason"]


def test_a_page_and_one_line(tmp_path: Path) -> None:
    path = written(tmp_path, TAMPERED)
    quiet = run("conform", "--recording", path, tmp_path / "lease.py", "--quiet", "--html", tmp_path / "p.html")
    assert quiet.out.splitlines() == [f"NOT EXPLAINED  {path}: 3 of 6 lines by lease; server 3 is refused"]
    page = (tmp_path / "p.html").read_text()
    assert "token is 2 then, but was recorded as 1" in page
    assert "[server 2]" in page


def test_lines_that_the_initial_state_explains_are_named(tmp_path: Path) -> None:
    """`plain` is for the states alone; the page says it, too."""
    (tmp_path / "lease.py").write_text(block("python"))
    path = tmp_path / "morning.ndjson"
    path.write_text(f'{HEADER}\n{{"lane": "a", "order": 1, "observed": {{"token": 0}}}}')
    outcome, _ = explained(path, "--html", str(tmp_path / "p.html"))
    assert "\n  the initial state explains a 1\n" in outcome.out
    assert "the initial state explains a 1" in (tmp_path / "p.html").read_text()
    assert "explains" not in explained(path, "--plain")[0].out


HEADER = '{"recording": 1, "lanes": ["a"], "hidden": []}'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it is empty; a recording begins with a header"),
        ("[]", "line 1: it is not an object"),
        ('{"recording": 2, "lanes": ["a"]}', "line 1: its format is 2; this version of isrcheck reads format 1"),
        ('{"recording": 1, "lanes": ["a", "a"]}', "line 1: lanes is not a list of distinct names"),
        ('{"recording": 1}', "line 1: the header has no 'lanes'"),
        (f'{HEADER}\n{{"lane": "b", "order": 1, "event": "expire"}}', "line 2: the header has no lane 'b'; known: a"),
        (f'{HEADER}\n{{"lane": "a", "order": 1}}', "line 2: it has neither an event nor an observation"),
        (f'{HEADER}\n{{"lane": "a", "order": 1, "event": []}}', "line 2: event is an empty list"),
        (f'{HEADER}\n{{"lane": "a", "order": true, "event": "expire"}}', "line 2: order is not an integer"),
        (f'{HEADER}\n{{"lane": "a", "order": 1, "event": "expire", "x": 1}}', "line 2: a line has 'x'; known: lane"),
        (f'{HEADER}\n{{"lane": "a", "order": 1, "event": "grnat"}}', "line 2: there is no action 'grnat'; did you"),
        (f'{HEADER}\n{{"lane": "a", "order": 1, "observed": {{"x": 1}}}}', "line 2: the model has no variable 'x'"),
        (f'{HEADER}\n{{"lane": "a", "order": 1, "observed": {{"token": 7}}}}', "line 2: token: 7 is not a number from"),
        (
            f'{HEADER}\n{{"lane": "a", "order": 1, "observed": {{"answer[2]": 7}}}}',
            "line 2: answer[2]: there is no index",
        ),
        (
            f'{HEADER}\n{{"lane": "a", "order": 1, "observed": {{"token": {{"class": "t", "value": 1}}}}}}',
            "line 2: the header has no class 't'; known: none",
        ),
        (
            f'{HEADER}\n{{"lane": "a", "order": 1, "event": "expire", "after": [["a", 2]]}}\n'
            '{"lane": "a", "order": 2, "event": "expire"}',
            "the order is cyclic: a 1 after a 2 after a 1",
        ),
        (
            f'{HEADER}\n{{"lane": "a", "order": 1, "event": "expire"}}\n{{"lane": "a", "order": 1, "event": "expire"}}',
            "line 3: lane 'a' already has order 1 at line 2",
        ),
        (
            f'{HEADER}\n{{"lane": "a", "order": 1, "event": "expire", "after": [["a", 9]]}}',
            "after names a 9, which does",
        ),
        (f'{HEADER}\n{{"lane"', "line 2: it is not JSON"),
    ],
)
def test_what_is_no_recording_is_refused_in_one_line(tmp_path: Path, text: str, said: str) -> None:
    written(tmp_path)
    path = tmp_path / "bad.ndjson"
    path.write_text(text)
    outcome = run("conform", "--recording", path, tmp_path / "lease.py")
    assert outcome.code == 150
    assert said in outcome.err
    assert len(outcome.err.splitlines()) == 1


def test_the_model_is_named_by_whoever_asks(tmp_path: Path) -> None:
    path = written(tmp_path)
    assert "it does not name its model; add the argument MODEL" in run("conform", "--recording", path).err
    path = written(tmp_path, ('{"recording": 1,', '{"recording": 1, "model": "lease.py",'))
    outcome = run("conform", "--recording", path)
    assert (outcome.code, "it was recorded with 'lease.py', which is not a shipped model" in outcome.err) == (150, True)


# --- limits and interruptions ---------------------------------------------------------------------------------------

WIDE = '''\
"""Counters that go up, each by its own hand."""

from isrcheck.model.language import Model, action, enum, number, per

hand = enum("hand", *(f"h{i}" for i in range(12)))


class Wide(Model):
    """Twelve counters."""

    def variables(self):
        return {"count": per(hand, number(0, 3))}

    @action(of=hand, actor="hand")
    def up(self, s, of):
        """One more."""
        s.require(s.count[of] < 3)
        s.count[of] += 1
'''


def wide(folder: Path) -> Path:
    """A recording of twelve lanes that the model does not explain, and that has very many orders."""
    (folder / "lease.py").write_text(WIDE)
    lanes = [f"h{i}" for i in range(12)]
    rows: list[dict[str, Any]] = [{"recording": 1, "lanes": lanes, "hidden": ["up"]}]
    for lane in lanes:
        up = {"action": "up", "parameters": {"of": lane}}
        rows += [{"lane": lane, "order": k, "event": up, "observed": {f"count[{lane}]": 2 * k - 1}} for k in (1, 2)]
    rows[-1]["observed"] = {"count[h11]": 0}
    path = folder / "wide.ndjson"
    path.write_text("\n".join(map(json.dumps, rows)) + "\n")
    return path


@pytest.mark.parametrize("limit", [("--max-seconds", "1"), ("--max-states", "1000")])
def test_a_limit_is_one_for_all_searches(tmp_path: Path, limit: tuple[str, str]) -> None:
    path = wide(tmp_path)
    explained(path, "--max-states", "1")  # loads and compiles what is needed
    began = time.perf_counter()
    outcome, data = explained(path, *limit)
    assert (outcome.code, data["verdict"]) == (152, "incomplete")
    assert time.perf_counter() - began < 1 + 2 + 3  # and the end of the story


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[SearchResult]:
    """The searches for the line that is wrong."""
    found: list[SearchResult] = []

    def noted(*asked: Any) -> SearchResult:
        found.append(search(*asked))
        return found[-1]

    monkeypatch.setattr("isrcheck.checker.trace_validation.rejected_lines.search", noted)
    return found


def test_the_searches_for_the_wrong_line_share_what_is_left(tmp_path: Path, searches: list[SearchResult]) -> None:
    path = written(tmp_path, TAMPERED)
    whole = explained(path)[1]
    assert len(searches) > 2
    visited = whole["visited"]
    needed = visited + sum(each.visited for each in searches)
    searches.clear()
    outcome, data = explained(path, "--max-states", str(visited + 3))
    assert (outcome.code, data["verdict"]) == (15, "unexplained")
    assert data["reason"].endswith("; which line is wrong was not searched to the end")
    assert data["reason"] in outcome.out
    assert data["frontier"]["trace"] == whole["frontier"]["trace"]
    assert visited + sum(each.visited for each in searches) < needed
    searches.clear()
    assert explained(path, "--max-states", str(needed + 1))[1]["reason"] is None


def test_an_interruption_ends_all_searches_and_keeps_the_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = []

    def interrupted(*asked: Any) -> SearchResult:
        begun.append(asked)
        return SearchResult(stopped="interrupt")

    monkeypatch.setattr("isrcheck.checker.trace_validation.rejected_lines.search", interrupted)
    outcome, data = explained(written(tmp_path, TAMPERED))
    assert (outcome.code, data["verdict"], len(begun)) == (130, "unexplained", 1)
    assert outcome.out.startswith("NOT EXPLAINED  ")
    assert data["reason"] == "interrupted; which line is wrong was not searched to the end"


def test_nothing_is_searched_after_the_first_search_was_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, searches: list[SearchResult]
) -> None:
    def interrupted(*asked: Any) -> SearchResult:
        found = search(*asked)
        found.end, found.stopped = None, "interrupt"
        return found

    monkeypatch.setattr("isrcheck.checker.trace_validation.validate.search", interrupted)
    outcome, data = explained(written(tmp_path, TAMPERED))
    assert (outcome.code, data["verdict"], data["reason"]) == (130, "incomplete", "interrupted")
    assert searches == []
