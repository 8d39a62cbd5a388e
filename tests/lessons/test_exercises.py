"""Exercises: starting files are not right, each solution is right, and wrong answers fail the right criteria."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

import isrcheck.checker
from isrcheck.checker.course.exercise import PAGE
from isrcheck.checker.course.grades import grade
from isrcheck.checker.registry.loader import load_model_class
from tests.cli.running import run
from tests.lessons.answers import EXERCISES, NAMES, answered, begun, changed, failed, solution

SCHEMA = json.loads((Path(isrcheck.checker.__file__).parent / "schema.json").read_text())


def test_there_are_two_of_each_kind() -> None:
    kinds = [each.kind for each in EXERCISES.values()]
    assert all(kinds.count(kind) >= 2 for kind in ("guard", "invariant", "scenario"))


@pytest.mark.parametrize("name", NAMES)
def test_a_solution_is_solved_and_a_start_is_not(name: str, tmp_path: Path) -> None:
    solved = run("course", "grade", name, solution(name), "--json", tmp_path / "solved.json")
    assert (solved.code, solved.out.split()[0]) == (0, "SOLVED")
    start = run("course", "grade", name, begun(name, tmp_path), "--json", tmp_path / "start.json")
    assert (start.code, start.out.split("  ")[0]) == (10, "NOT YET")
    for file, code in (("solved", 0), ("start", 10)):
        data = json.loads((tmp_path / f"{file}.json").read_text())
        Draft202012Validator(SCHEMA).validate(data)
        assert (data["exit_code"], data["solved"]) == (code, all(each["passed"] for each in data["criteria"]))
        assert not Draft202012Validator(SCHEMA).is_valid({**data, "criteria": []})


@pytest.mark.parametrize("name", EXERCISES)
def test_an_exercise_names_what_there_is(name: str) -> None:
    """Goals and actions of an exercise must exist, because a misspelled name would never be noticed."""
    found = EXERCISES[name]
    page = (found.folder / PAGE).read_text()
    assert f"{found.minutes} minutes" in page and f"isrcheck course grade {name}" in page
    assert page.count("<summary>") >= 2
    start = found.folder / "answer.py"
    asked = [(f"{start}:{x.model}", x.goals, x.fires) for x in found.asks]
    asked += [(x.model, x.goals, (*x.fires, *x.steps)) for x in [found.pair] if x is not None]
    for model, goals, actions in asked:
        cls = load_model_class(model).cls
        assert {*goals} <= {*cls.predicates("goal")}
        assert {*actions} <= {*cls.actions()}


@pytest.mark.parametrize("name", NAMES)
def test_the_commands_of_a_page_begin_and_grade_an_answer(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = (EXERCISES[name].folder / PAGE).read_text()
    lines = [x for block in re.findall(r"^```sh\n(.*?)^```", page, re.S | re.M) for x in _commands(block)]
    codes = [run(*shlex.split(line)[1:]).code for line in lines]
    # What begins succeeds, what is checked between holds, is violated or is not as expected, and nothing is solved yet.
    assert (codes[0], codes[-1]) == (0, 10)
    assert {*codes[1:-1]} <= {0, 10, 12}


def _commands(block: str) -> list[str]:
    return block.replace("\\\n", "").splitlines()


FORBIDS = {
    "join-the-isr": ("return True", ["action fenced-leader-expand-isr never happens"]),
    "whom-to-vote-for": ("return other >= 0", ["action grant-vote never happens"]),
}


@pytest.mark.parametrize("name", FORBIDS)
def test_who_forbids_everything_has_no_answer(name: str, tmp_path: Path) -> None:
    old, reasons = FORBIDS[name]
    reported = failed(answered(name, tmp_path, old, "return False"))
    assert [reason for reason in reasons if reason not in reported] == []
    assert not [line for line in reported if "is violated" in line and "service" not in line], "nothing is lost"


@pytest.mark.exhaustive
def test_who_commits_nothing_has_no_answer(tmp_path: Path) -> None:
    """The smaller of the two checks shows already that no record is ever committed."""
    found = EXERCISES["which-copies-count"]
    target = begun(found.name, tmp_path)
    changed(target, "return True", "return False")
    from isrcheck.checker.course.grades import check_answer

    (reported,) = check_answer(found.asks[1], target).why
    assert reported.startswith("uncommitted-is-committed is violated in ")


def test_a_guard_that_kafka_had_once_is_not_enough(tmp_path: Path) -> None:
    high_watermark = "return s.log[follower].length >= s.replica[leader].high_watermark"
    asked, why = failed(answered("join-the-isr", tmp_path, "return True", high_watermark))[:2]
    assert asked == "no record below a high watermark is missing in the ISR"
    assert why.startswith("strong-isr is violated in 12 states: ")


def test_the_longest_log_is_not_the_best(tmp_path: Path) -> None:
    longest = "return other >= s.log[p][voter].length"
    asked, why = failed(answered("whom-to-vote-for", tmp_path, "return other >= 0", longest))
    assert asked == "who is elected has every committed record"
    assert why.startswith("elected-leader-has-what-is-committed is violated in 14 states: ")


def test_votes_for_nobody_that_is_ahead_let_the_service_stop(tmp_path: Path) -> None:
    same = "return (other == s.log[p][voter].length) & (others_last == self.last_epoch(s, p, voter))"
    reported = failed(answered("whom-to-vote-for", tmp_path, "return other >= 0", same))
    assert reported[0] == "with one of three replicas down the other two go on"
    assert reported[1].startswith("service-goes-on is violated in ")


NOTHING = "return every(implies(s.replica[leader].leader == leader, True) for leader in m.brokers)"


def test_an_invariant_that_says_nothing_notices_nothing(tmp_path: Path) -> None:
    reported = failed(answered("what-the-isr-has", tmp_path, NOTHING, "return True"))
    # 353 states are all that `isrcheck check truncate-to-hw` has at these bounds.
    assert reported[:2] == [
        "it notices that a follower truncates to its high watermark",
        "isr-has-what-is-committed holds there, in all 353 states",
    ]
    assert len(reported) == 4


def test_an_invariant_that_is_false_of_the_right_protocol_is_none(tmp_path: Path) -> None:
    full = "return every(s.log[b].length == s.log[self_].length for b in m.brokers for self_ in m.brokers)"
    reported = failed(answered("what-the-isr-has", tmp_path, NOTHING, full))
    assert reported[0] == "it holds of KIP-320, with two replicas"
    assert reported[1].startswith("isr-has-what-is-committed is violated in ")


def test_an_invariant_that_looks_at_lengths_alone_misses_what_diverges(tmp_path: Path) -> None:
    lengths = """return every(
        implies((s.replica[a].leader == a) & s.replica[a].isr.has(b) & (s.replica[a].high_watermark > o),
                s.log[b].length > o)
        for a in m.brokers for b in m.brokers for o in range(m.log_size))"""
    target = begun("what-the-isr-has", tmp_path)
    changed(target, NOTHING, lengths)
    passed = [each.passed for each in grade(EXERCISES["what-the-isr-has"], target).criteria]
    assert passed[:4] == [True, True, True, True]


def test_an_invariant_that_asks_which_model_it_is_says_nothing(tmp_path: Path) -> None:
    """It is true in right models and false in wrong models, but already in the first state."""
    votes = "return count(m.leads(s, 0, b) for b in m.brokers) <= m.replicas"
    which = 'return m.fsync != "log" and m.epoch_check != "fetches"'
    reported = failed(answered("one-leader-in-an-epoch", tmp_path, votes, which))
    reason = "elections-are-safe is already false in the initial state: it describes the model, not the failure"
    assert reported.count(reason) == 2


def test_two_leaders_are_not_wrong_in_themselves(tmp_path: Path) -> None:
    target = begun("one-leader-in-an-epoch", tmp_path)
    changed(target, "<= m.replicas", "<= 1")
    reported = failed(run("course", "grade", "one-leader-in-an-epoch", target))
    assert reported[0] == "it holds where votes are flushed before they are given"


# --- the gap alone --------------------------------------------------------------------------------------------------

STRONG = 'def strong_isr(m, s):\n    """All is well."""\n    return s.next_record_id >= 0\n\n\n'


@pytest.mark.parametrize(
    ("old", "new", "reported"),
    [
        (
            "self.leader_writes_isr(s, leader, s.replica[leader].isr | {follower})",
            "self.leader_writes_isr(s, leader, s.replica[leader].isr)",
            "mine.py:19: fenced_leader_expand_isr differs from the starting file",
        ),
        (
            "    def may_join(",
            "    def leader_writes_isr(self, s, leader, isr):\n        s.require(False)\n\n    def may_join(",
            "mine.py:14: leader_writes_isr differs from the starting file",
        ),
        (
            "    def may_join(",
            "    invariants = ()\n\n    def may_join(",
            "mine.py:14: invariants differs from the starting file",
        ),
        ("import Kip320", "import Kip320 as Other", "mine.py: Kip320 from the starting file is missing"),
        (
            "class JoinTheIsr(Kip320)",
            "from isrcheck.model.published.kip_279 import Kip279 as Kip320\n\n\nclass JoinTheIsr(Kip320)",
            "mine.py:11: Kip320 differs from the starting file",
        ),
        (
            "class JoinTheIsr(Kip320)",
            f"@invariant\n{STRONG}class JoinTheIsr(Kip320)",
            "mine.py:12: strong_isr differs from the starting file",
        ),
    ],
)
def test_who_changes_the_question_is_told_where(tmp_path: Path, old: str, new: str, reported: str) -> None:
    target = begun("join-the-isr", tmp_path)
    changed(target, old, new)
    if "@invariant" in new:
        changed(target, "import action, ", "import action, invariant, ")
    if "as Other" in new:
        changed(target, "class JoinTheIsr(Kip320)", "Kip320 = Other\n\n\nclass JoinTheIsr(Kip320)")
        reported = "mine.py:11: Kip320 differs from the starting file"
    lines = failed(run("course", "grade", "join-the-isr", target))
    assert lines[:2] == ["only may_join and its helpers were added", reported]
    assert lines[2] == "start again with: isrcheck course grade join-the-isr --start FILE"


@pytest.mark.parametrize(
    "does",
    ["s.replica[leader].high_watermark = 1", "s.log[leader].append(s.log[follower].last)", "s.next_record_id += 1"],
)
def test_a_guard_only_asks(tmp_path: Path, does: str) -> None:
    """A guard must not assign, because an assignment could repair what the action breaks."""
    reported = failed(answered("join-the-isr", tmp_path, "return True", f"{does}\n        return True"))
    assert reported[1] == "mine.py:16: may_join is a condition and must not assign"


def test_helpers_and_imports_are_a_learners_own(tmp_path: Path) -> None:
    target = begun("join-the-isr", tmp_path)
    changed(target, "return True", "return self.reaches(s, leader, follower) & settled(self, s, leader)")
    helper = "    def reaches(self, s, a, b):\n        return ends(s, a, b)\n\n"
    changed(target, "    def may_join(", f"{helper}    def may_join(")
    changed(target, "from typing import Any\n", "from typing import Any\nimport math\n\nZERO = math.floor(0.5)\n")
    target.write_text(
        target.read_text()
        + "\n\ndef ends(s, a, b):\n    return s.log[b].length >= s.replica[a].high_watermark + ZERO\n"
        + "\n\ndef settled(m, s, a):\n    return m.high_watermark_is_in_current_epoch(s, a)\n"
    )
    assert run("course", "grade", "join-the-isr", target).code == 0
