"""`isrcheck review`: the changes, what they fix and break, and the new behaviours, on one page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from markdown_it import MarkdownIt

import isrcheck.checker
from isrcheck.model.published import kip_320
from tests.cli.running import COUNTER, Outcome, counter, run

SCHEMA = json.loads((Path(isrcheck.checker.__file__).parent / "schema.json").read_text())
TWO = ("-s", "replicas=2", "--visible", "log,quorum")
SMALL = (*TWO, "-s", "log_size=1", "-s", "max_records=1")
COURIER = (Path(__file__).parents[1] / "mutation" / "courier.py").read_text()
GUARD = "self.high_watermark_is_in_current_epoch(s, leader)"


def review_summary(said: Outcome) -> list[str]:
    return said.out.splitlines()[:3]


def reviewed(folder: Path, *arguments: str | Path) -> tuple[Outcome, dict[str, Any]]:
    """The outcome of the command, and its JSON."""
    said = run("review", *arguments, "--json", folder / "review.json")
    data = json.loads((folder / "review.json").read_text())
    jsonschema.validate(data, SCHEMA)
    assert data["exit_code"] == said.code
    return said, data["review"]


# --- what published steps mend ----------------------------------------------------------------------------------------


def test_the_first_lines_say_what_kip_279_mends(tmp_path: Path) -> None:
    said, data = reviewed(tmp_path, "kip-101", "kip-279", *TWO)
    assert said.code == 0
    verdict, cause, behaviour = review_summary(said)
    assert verdict == (
        "kip-101 -> kip-279 fixes strong-isr, weak-isr (violated in 12 states before); fixes scenario "
        "kip-101 (fast failovers: the leader does not know the last epoch of the follower)."
    )
    assert cause == (
        "What changes: KIP-279: leader and follower go back to the last record that they agree on, and the follower "
        "truncates there."
    )
    assert behaviour.startswith("Behaviour: New, in 11 states: Broker 1 takes the request of epoch 2, follows broker 0")
    assert "Gone, in 11 states: Broker 1 takes the request of epoch 2" in behaviour
    assert data["actions"] == {"become-follower": "requires and does otherwise"}
    assert data["functions"]["gone"] == ["_first_later"]
    turns = {row["name"]: row["turn"] for row in data["verdicts"]}
    assert (turns["strong-isr"], turns["weak-isr"], turns["leader-in-isr"]) == ("mended", "mended", "same")


@pytest.mark.exhaustive
def test_the_other_way_round_it_breaks_what_held(tmp_path: Path) -> None:
    said, data = reviewed(tmp_path, "kip-279", "kip-101", *TWO, "--no-scenarios")
    assert said.code == 12
    assert review_summary(said)[0] == "kip-279 -> kip-101 breaks strong-isr, weak-isr (violated in 12 states)."
    assert data["scenarios"] is None
    assert "  broken  strong-isr  holds   violated in 12 states" in said.out.splitlines()


@pytest.mark.exhaustive
def test_the_first_lines_say_what_kip_320_mends(tmp_path: Path) -> None:
    said, data = reviewed(tmp_path, "kip-279", "kip-320", *SMALL)
    verdict, cause, behaviour = review_summary(said)
    assert verdict == (
        "kip-279 -> kip-320 fixes scenario kip-279 (a new leader admits an empty follower below what is committed)."
    )
    assert "a leader answers only followers of its own epoch" in cause
    assert "No behaviour is new. Gone, in 8 states: Broker 0 takes broker 1" in behaviour
    assert "Refused because replica[1].leader_epoch != replica[0].leader_epoch (kip_320.py:" in behaviour
    renamed = {f["before"]: f["name"] for f in data["functions"]["changed"]}
    assert renamed["leader_expand_isr"] == "fenced_leader_expand_isr"
    assert [x["name"] for x in data["scenarios"]["turned"]] == ["kip-279"]


@pytest.mark.exhaustive
def test_a_fix_of_what_must_happen_adds_and_removes_no_history(tmp_path: Path) -> None:
    """KAFKA-14144 changes only what eventually happens, and no visible behaviour before that."""
    shown = ("--visible", "state,replica.isr,replica.pending")
    said, data = reviewed(tmp_path, "--scenario", "alter-isr-lost-response", *shown, "--no-scenarios")
    assert said.code == 0
    verdict, cause, behaviour = review_summary(said)
    assert "fixes every-alteration-is-resolved" in verdict
    assert cause.startswith("What changes: idempotent_check false -> true (with answer = after-write: ")
    assert behaviour.startswith(
        "Behaviour: no history of state, replica.isr, replica.pending is new or gone; only "
        "liveness changes: isr-change-is-resolved"
    )
    assert data["settings"] == [["idempotent_check", "false", "true"]]
    assert data["functions"] == {"changed": [], "new": [], "gone": []}


# --- a guard of a file of one's own -----------------------------------------------------------------------------------


@pytest.fixture
def copies(tmp_path: Path) -> tuple[Path, Path]:
    """KIP-320 in a file, and beside it a copy without the guard of KAFKA-7128."""
    text = Path(kip_320.__file__).read_text()
    assert text.count(f"        s.require({GUARD})\n") == 1
    before, after = tmp_path / "fetching.py", tmp_path / "fetching_too_early.py"
    before.write_text(text)
    after.write_text(text.replace(f"        s.require({GUARD})\n", ""))
    return before, after


def test_a_guard_that_is_gone_is_found_and_named(copies: tuple[Path, Path], tmp_path: Path) -> None:
    before, after = copies
    (line,) = [i for i, text in enumerate(before.read_text().splitlines(), 1) if f"require({GUARD})" in text]
    said, data = reviewed(tmp_path, *copies, *SMALL)
    assert review_summary(said)[1] == (
        f"What changes: fenced_leader_expand_isr no longer requires {GUARD} (fetching.py:{line})."
    )
    (changed,) = data["functions"]["changed"]
    assert (changed["name"], changed["guards_added"]) == ("fenced_leader_expand_isr", [])
    assert changed["guards_lost"] == [{"text": GUARD, "where": f"fetching.py:{line}"}]
    assert data["actions"] == {"fenced-leader-expand-isr": "requires otherwise"}
    # A leader takes a follower in before its high watermark is in its own epoch, which it never did.
    assert "No behaviour is gone." in review_summary(said)[2]
    assert data["behaviours"]["new"]["trace"][-1]["action"] == "fenced-leader-expand-isr"
    back, _ = reviewed(tmp_path, after, before, *SMALL)
    assert review_summary(back)[1] == f"What changes: fenced_leader_expand_isr requires {GUARD} (fetching.py:{line})."


def test_what_is_told_or_laid_out_otherwise_is_no_difference(copies: tuple[Path, Path], tmp_path: Path) -> None:
    before, _ = copies
    other = tmp_path / "laid_out.py"
    text = before.read_text().replace('"""A follower in the leader', '"""A follower which is in the leader')
    other.write_text(text.replace(f"s.require({GUARD})", f"s.require(\n            {GUARD}\n        )  # why"))
    said, data = reviewed(tmp_path, before, other, *SMALL, "--no-scenarios")
    assert review_summary(said)[1:] == [
        "What changes: no relevant code.",
        "Behaviour: no history of log, quorum is new or gone.",
    ]
    assert (data["functions"]["changed"], data["actions"]) == ([], {})


def test_a_function_beside_the_model_is_part_of_it(tmp_path: Path) -> None:
    new = tmp_path / "other.py"
    new.write_text(COUNTER.replace("return s.value\n", "return s.value + 1\n"))
    _, data = reviewed(tmp_path, counter(tmp_path), new, "--visible", "value", "--no-scenarios")
    assert [f["name"] for f in data["functions"]["changed"]] == ["per_mille"]
    assert data["actions"] == {}


def test_guards_that_nothing_needs_and_proofs(tmp_path: Path) -> None:
    """The invariant needs the guard of `count`. No invariant needs the other guard."""
    new = tmp_path / "other.py"
    new.write_text(
        COUNTER.replace("s.value == self.top)\n        s.value = 0", "s.value >= self.top)\n        s.value = 0")
    )
    said, data = reviewed(
        tmp_path, counter(tmp_path), new, "-s", "least=4", "--visible", "value", "--mutate", "--prove", "--quiet"
    )
    assert said.code == 0
    assert len(said.out.splitlines()) == 3
    # Only the changed action is mutated: without its guard, it starts again from anywhere.
    assert {m["action"] for m in data["guards"]["mutants"]} == {"start-again"}
    assert any(m["text"] == "s.value >= self.top" and m["outcome"] != "killed" for m in data["guards"]["mutants"])
    assert [proof["verdict"] for proof in data["proofs"]] == ["proved", "proved"]


@pytest.mark.exhaustive
def test_guards_that_only_a_property_needs(tmp_path: Path) -> None:
    """The properties that hold in the new version are checked for mutants of its changed actions."""
    old, new = tmp_path / "courier.py", tmp_path / "other.py"
    old.write_text(COURIER)
    new.write_text(
        COURIER.replace("s.require(s.at == 1, ~s.delivered, ~s.r", "s.require(s.at >= 1, ~s.delivered, ~s.r")
    )
    said, data = reviewed(tmp_path, old, new, "--visible", "at", "--no-scenarios", "--mutate")
    found = {(m["action"], m["change"]): m for m in data["guards"]["mutants"]}
    assert found["give-back", "without ~s.returned"]["killed_by"][0] == "is-delivered"
    assert {action for action, _ in found} == {"give-back"}
    # `comes-back` is violated in both versions.
    assert set(data["guards"]["liveness"]) == {"is-delivered", "is-found", "is-handed-over"}
    _, guards = said.out.split("Guards that no invariant or property needs")
    assert "without s.at >= 1" in guards
    assert "without ~s.returned" not in guards


SCENARIO = """\
title = "A number that grows too large"
model = "counter.py"
expect = "violated"
source = []
story = "It counts."
[settings]
top = 5
least = 4
[lengths]
is-small = 5
"""


def test_a_setting_of_one_side_is_set_in_scenarios_but_a_bound_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "counterexamples" / "grows"
    folder.mkdir(parents=True)
    (folder / "scenario.toml").write_text(SCENARIO)
    counter(folder)
    monkeypatch.chdir(tmp_path)
    asked = (counter(tmp_path), "--visible", "value")
    said, data = reviewed(tmp_path, *asked, "--b-setting", "least=7")
    assert review_summary(said)[0] == (
        "counter with least=9 -> counter with least=7 changes no verdict: 2 hold, before and after."
    )
    assert (data["scenarios"]["asked"], data["scenarios"]["turned"]) == (1, [])
    said, data = reviewed(tmp_path, *asked, "--a-setting", "least=4", "--b-setting", "least=9")
    assert data["scenarios"]["turned"] == [
        {
            "name": "grows",
            "title": "A number that grows too large",
            "turn": "mended",
            "before": "is-small violated in 5 states",
            "after": "holds",
        }
    ]
    assert review_summary(said)[0].endswith("fixes scenario grows (a number that grows too large).")
    # With a top of 3 nothing would grow too large, but how far a scenario looks is its own affair.
    _, data = reviewed(tmp_path, *asked, "--b-setting", "top=2")
    assert (data["scenarios"]["asked"], data["scenarios"]["turned"]) == (1, [])


# --- how it is shown ------------------------------------------------------------------------------------------------


def test_markdown_and_a_page(copies: tuple[Path, Path], tmp_path: Path) -> None:
    said = run("review", *copies, *SMALL, "--no-scenarios", "--markdown", "-", "--html", tmp_path / "r.html")
    first = said.out.splitlines()[0]
    assert first.startswith("**fetching -> fetching-too-early changes no verdict: ")
    assert "| function | guard |  | where |" in said.out
    assert "```diff\n@@" in said.out
    assert f"-    s.require({GUARD})" in said.out
    page = (tmp_path / "r.html").read_text()
    assert page.count("<section aria-labelledby=") == page.count('<h2 id="section-') >= 3
    assert f"no longer requires {GUARD}" in page
    # What is new can be stepped through, and nothing is gone.
    assert [word for word in ("new", "gone") if f'<section data-trace="{word}"' in page] == ["new"]
    assert "New: fetching-too-early allows this, fetching does not" in page


HOSTILE = "</td><script>alert(1)</script>|`x`"


def test_no_text_of_a_model_becomes_markup(tmp_path: Path) -> None:
    old, new = counter(tmp_path), tmp_path / "new.py"
    new.write_text(COUNTER.replace("whether it starts again", HOSTILE).replace("One more.", HOSTILE))
    markdown, html = tmp_path / "r.md", tmp_path / "r.html"
    run("review", new, "-s", "top=2", "--b-setting", "wraps=false", "--markdown", markdown, "--html", html)
    assert old.exists()
    assert "\\`x\\`" in markdown.read_text()
    rendered = MarkdownIt("gfm-like", {"html": True, "linkify": False}).render(markdown.read_text())
    assert "<script>alert" not in rendered
    assert "&lt;script&gt;alert" in rendered
    assert "<script>alert" not in html.read_text()
    assert "&lt;script&gt;alert" in html.read_text()


def test_a_limit_leaves_questions_open(tmp_path: Path) -> None:
    said, _ = reviewed(tmp_path, "kip-320", "kip-320", *TWO, "--max-states", "50", "--no-scenarios")
    assert said.code == 152
    assert review_summary(said)[0] == "kip-320 (first) -> kip-320 (second) leaves 5 of 6 questions undecided."
    said, _ = reviewed(tmp_path, "kip-320", "kip-320", *SMALL, "--max-pairs", "9", "--no-scenarios")
    assert said.code == 152
    assert "No behaviour of up to " in review_summary(said)[2]
    assert "longer ones are undecided" in review_summary(said)[2]


@pytest.mark.parametrize(
    ("given", "code", "message"),
    [
        ((), 2, "Missing argument 'OLD'"),
        (("kip-320",), 2, "Missing argument 'NEW'"),
        (("kip-320", "nosuch"), 150, "there is no model 'nosuch'"),
        pytest.param(
            *(("v3", "alter-isr", "--visible", "replica"), 150, "replica has different types in the two models"),
            marks=pytest.mark.exhaustive,
        ),
        (("kip-320", "kip-279", "--json", "-", "--markdown", "-"), 2, "--json and --markdown name the same file"),
        (("kip-320", "kip-279", "--html", "/nowhere/x.html"), 153, "cannot write /nowhere/x.html"),
    ],
)
def test_what_cannot_be_reviewed(given: tuple[str, ...], code: int, message: str) -> None:
    said = run("review", *given)
    assert said.code == code
    assert message in said.err
