"""Exercises: no starting file is an answer, each solution is one, and wrong answers fail where they are wrong."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

import isrcheck.checker
from isrcheck.checker.exercises.exercise import PAGE, DamagedExercise, exercises, one, read
from isrcheck.checker.exercises.grading import grade
from isrcheck.checker.library import load_model_class
from tests.cli.running import Outcome, run

SOLUTIONS = Path(__file__).parent / "solutions"
EXERCISES = exercises()
SCHEMA = json.loads((Path(isrcheck.checker.__file__).parent / "schema.json").read_text())
SLOW = ("one-leader-in-an-epoch", "the-last-replica-standing", "which-copies-count")
"""Exercises of many states."""
NAMES = [pytest.param(name, marks=[pytest.mark.exhaustive] * (name in SLOW)) for name in EXERCISES]


def solution(name: str) -> Path:
    found = SOLUTIONS / name.replace("-", "_")
    return found if found.is_dir() else found.with_suffix(".py")


def begun(name: str, folder: Path) -> Path:
    """The answer that a learner begins with."""
    target = folder / ("mine" if EXERCISES[name].pair else "mine.py")
    assert run("grade", name, "--start", target).code == 0
    return target


def changed(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) == 1, (path, old)
    path.write_text(text.replace(old, new))


def answered(name: str, folder: Path, old: str, new: str) -> Outcome:
    """The grade of a starting file of which one line is written otherwise."""
    target = begun(name, folder)
    changed(target, old, new)
    return run("grade", name, target)


def failed(outcome: Outcome) -> list[str]:
    """What an answer does not meet, each followed by the reasons."""
    assert outcome.code == 10, outcome
    lines = [line for line in outcome.out.splitlines()[2:] if not line.startswith("  yes") and "see it" not in line]
    return [line.strip().removeprefix("no   ") for line in lines]


def test_there_are_two_of_each_kind() -> None:
    kinds = [each.kind for each in EXERCISES.values()]
    assert all(kinds.count(kind) >= 2 for kind in ("guard", "invariant", "scenario"))


@pytest.mark.parametrize("name", NAMES)
def test_a_solution_is_solved_and_a_start_is_not(name: str, tmp_path: Path) -> None:
    solved = run("grade", name, solution(name), "--json", tmp_path / "solved.json")
    assert (solved.code, solved.out.split()[0]) == (0, "SOLVED")
    start = run("grade", name, begun(name, tmp_path), "--json", tmp_path / "start.json")
    assert (start.code, start.out.split("  ")[0]) == (10, "NOT YET")
    for file, code in (("solved", 0), ("start", 10)):
        data = json.loads((tmp_path / f"{file}.json").read_text())
        Draft202012Validator(SCHEMA).validate(data)
        assert (data["exit_code"], data["solved"]) == (code, all(each["passed"] for each in data["criteria"]))
        assert not Draft202012Validator(SCHEMA).is_valid({**data, "criteria": []})


@pytest.mark.parametrize("name", EXERCISES)
def test_an_exercise_names_what_there_is(name: str) -> None:
    """A misspelled goal or action would be missing, and so never be found missing."""
    found = EXERCISES[name]
    page = (found.folder / PAGE).read_text()
    assert f"{found.minutes} minutes" in page and f"isrcheck grade {name}" in page
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
    told = failed(answered(name, tmp_path, old, "return False"))
    assert [reason for reason in reasons if reason not in told] == []
    assert not [line for line in told if "is violated" in line and "service" not in line], "nothing is lost"


def test_who_commits_nothing_has_no_answer(tmp_path: Path) -> None:
    """The small one of the two checks is enough to say so: nothing that is written is ever committed."""
    found = EXERCISES["which-copies-count"]
    target = begun(found.name, tmp_path)
    changed(target, "return True", "return False")
    from isrcheck.checker.exercises.grading import asked_of

    (told,) = asked_of(found.asks[1], target).why
    assert told.startswith("uncommitted-is-committed is violated in ")


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
    told = failed(answered("whom-to-vote-for", tmp_path, "return other >= 0", same))
    assert told[0] == "with one of three replicas down the other two go on"
    assert told[1].startswith("service-goes-on is violated in ")


NOTHING = "return every(implies(s.replica[leader].leader == leader, True) for leader in m.brokers)"


def test_an_invariant_that_says_nothing_notices_nothing(tmp_path: Path) -> None:
    told = failed(answered("what-the-isr-has", tmp_path, NOTHING, "return True"))
    # 353 states are all that `isrcheck check truncate-to-hw` has at these bounds.
    assert told[:2] == [
        "it notices that a follower truncates to its high watermark",
        "isr-has-what-is-committed holds there, in all of 353 states",
    ]
    assert len(told) == 4


def test_an_invariant_that_is_false_of_the_right_protocol_is_none(tmp_path: Path) -> None:
    full = "return every(s.log[b].length == s.log[self_].length for b in m.brokers for self_ in m.brokers)"
    told = failed(answered("what-the-isr-has", tmp_path, NOTHING, full))
    assert told[0] == "it holds of KIP-320, with two replicas"
    assert told[1].startswith("isr-has-what-is-committed is violated in ")


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
    """It holds of the right ones and is false of the wrong ones, in the first state."""
    votes = "return count(m.leads(s, 0, b) for b in m.brokers) <= m.replicas"
    which = 'return m.fsync != "log" and m.epoch_check != "fetches"'
    told = failed(answered("one-leader-in-an-epoch", tmp_path, votes, which))
    reason = "elections-are-safe is false before anything happens: it says which model this is, not what went wrong"
    assert told.count(reason) == 2


def test_two_leaders_are_not_wrong_in_themselves(tmp_path: Path) -> None:
    target = begun("one-leader-in-an-epoch", tmp_path)
    changed(target, "<= m.replicas", "<= 1")
    told = failed(run("grade", "one-leader-in-an-epoch", target))
    assert told[0] == "it holds where votes are flushed before they are given"


# --- the gap alone --------------------------------------------------------------------------------------------------

STRONG = 'def strong_isr(m, s):\n    """All is well."""\n    return s.next_record_id >= 0\n\n\n'


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            "self.leader_writes_isr(s, leader, s.replica[leader].isr | {follower})",
            "self.leader_writes_isr(s, leader, s.replica[leader].isr)",
            "mine.py:19: fenced_leader_expand_isr is not as in the starting file",
        ),
        (
            "    def may_join(",
            "    def leader_writes_isr(self, s, leader, isr):\n        s.require(False)\n\n    def may_join(",
            "mine.py:14: leader_writes_isr is not as in the starting file",
        ),
        (
            "    def may_join(",
            "    invariants = ()\n\n    def may_join(",
            "mine.py:14: invariants is not as in the starting file",
        ),
        ("import Kip320", "import Kip320 as Other", "mine.py: Kip320 of the starting file is missing"),
        (
            "class JoinTheIsr(Kip320)",
            "from isrcheck.model.published.kip_279 import Kip279 as Kip320\n\n\nclass JoinTheIsr(Kip320)",
            "mine.py:11: Kip320 is not as in the starting file",
        ),
        (
            "class JoinTheIsr(Kip320)",
            f"@invariant\n{STRONG}class JoinTheIsr(Kip320)",
            "mine.py:12: strong_isr is not as in the starting file",
        ),
    ],
)
def test_who_changes_the_question_is_told_where(tmp_path: Path, old: str, new: str, told: str) -> None:
    target = begun("join-the-isr", tmp_path)
    changed(target, old, new)
    if "@invariant" in new:
        changed(target, "import action, ", "import action, invariant, ")
    if "as Other" in new:
        changed(target, "class JoinTheIsr(Kip320)", "Kip320 = Other\n\n\nclass JoinTheIsr(Kip320)")
        told = "mine.py:11: Kip320 is not as in the starting file"
    lines = failed(run("grade", "join-the-isr", target))
    assert lines[:2] == ["only may_join and helpers of it are written", told]
    assert lines[2] == "begin again with: isrcheck grade join-the-isr --start FILE"


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
    assert run("grade", "join-the-isr", target).code == 0


# --- scenarios ------------------------------------------------------------------------------------------------------

UNCLEAN = "nobody-in-the-isr-is-alive"


@pytest.fixture
def unclean(tmp_path: Path) -> Path:
    """The solution, to be spoilt."""
    target = begun(UNCLEAN, tmp_path)
    for place in ("question", "control"):
        name = f"{place}/scenario.toml"
        (target / name).write_text((solution(UNCLEAN) / name).read_text())
    return target


def spoilt(target: Path, place: str, old: str, new: str) -> list[str]:
    changed(target / place / "scenario.toml", old, new)
    return failed(run("grade", UNCLEAN, target))


ONE = "they differ in one setting alone, a rule of the protocol"


def test_a_control_that_is_violated_too_is_none(unclean: Path) -> None:
    changed(unclean / "question" / "scenario.toml", "crashes = 1", "crashes = 2")
    told = spoilt(unclean, "control", "unclean = false", "unclean = true")
    # What differs is a bound, too.
    assert told[0] == ONE
    assert told[2] == "its control holds, and much happens in it"
    assert told[3].startswith("no-committed-loss is violated in 7 states: ")


def test_two_settings_that_differ_say_nothing(unclean: Path) -> None:
    told = spoilt(unclean, "control", 'truncation = "kip-320"', 'truncation = "on-fetch"')
    assert told == [ONE, "truncation (kip-320, on-fetch), unclean (true, false) differ"]


def test_a_control_in_which_less_can_happen_is_none(unclean: Path) -> None:
    changed(unclean / "control" / "scenario.toml", "unclean = false", "unclean = true")
    told = spoilt(unclean, "control", "crashes = 1", "crashes = 0")
    assert told == [
        ONE,
        "crashes is a bound of the search: with less of it less happens; change a rule of the protocol",
        "its control holds, and much happens in it",
        "action crash never happens",
    ]


def test_a_question_of_another_story_is_told_so(unclean: Path) -> None:
    """Truncation to the high watermark loses a record, too: without a crash that is asked for, by another setting."""
    told = spoilt(unclean, "question", '"no-committed-loss"', '"isr-sane"')
    assert told == [
        "both ask whether no-committed-loss holds of v3",
        'question: write invariants = ["no-committed-loss"]',
    ]


def test_a_trace_without_the_steps_of_the_story_is_another_one(unclean: Path) -> None:
    pair = EXERCISES[UNCLEAN].pair
    assert pair is not None
    from dataclasses import replace

    from isrcheck.checker.exercises.pairs import paired

    told = [each for each in paired(replace(pair, steps=("crash", "expand-isr")), unclean) if not each.passed]
    assert [each.why for each in told] == [("its shortest trace is another story: action expand-isr is not in it",)]


def test_one_copy_is_no_surprise(tmp_path: Path) -> None:
    name = "the-last-replica-standing"
    target = begun(name, tmp_path)
    for place in ("question", "control"):
        text = (solution(name) / place / "scenario.toml").read_text()
        (target / place / "scenario.toml").write_text(text.replace("min_isr = 2", "min_isr = 1"))
    assert failed(run("grade", name, target))[:3] == [
        "both have min_isr=2",
        "question: min_isr is 1",
        "control: min_isr is 1",
    ]


# --- the command ----------------------------------------------------------------------------------------------------


def test_the_list_says_how_long_each_takes() -> None:
    lines = run("grade").out.splitlines()
    assert [line.split()[0] for line in lines] == list(EXERCISES)
    assert all(f"{each.minutes} min" in line for line, each in zip(lines, EXERCISES.values(), strict=True))
    minutes = [each.minutes for each in EXERCISES.values()]
    assert minutes == sorted(minutes)


def test_a_name_alone_shows_the_page() -> None:
    assert run("grade", "join-the-isr").out == (EXERCISES["join-the-isr"].folder / PAGE).read_text()


def test_a_start_overwrites_nothing(tmp_path: Path) -> None:
    for name in ("join-the-isr", UNCLEAN):
        target = begun(name, tmp_path)
        again = run("grade", name, "--start", target)
        assert (again.code, again.err.count("\n")) == (153, 1)
        assert again.err.startswith(f"isrcheck: {target} is there already; name another ")


@pytest.mark.parametrize(
    ("body", "code", "told"),
    [
        ("return s.lag[leader]", 150, "isrcheck: mine.py:16: the state has no variable 'lag'; did you mean log? "),
        ("return True if s.log[leader].is_empty else False", 150, "isrcheck: mine.py:16: a condition on the state "),
        ("return (", 150, "isrcheck: mine.py:16: '(' was never closed; correct the syntax"),
        ("return nothing(leader)", 150, "isrcheck: mine.py:16: NameError: name 'nothing' is not defined"),
        ("return s.log[leader].last.epoch > 0", 75, "isrcheck: mine.py:16: "),
    ],
)
def test_a_mistake_is_told_at_the_learners_own_line(tmp_path: Path, body: str, code: int, told: str) -> None:
    found = answered("join-the-isr", tmp_path, "return True", body)
    assert (found.code, found.err.count("\n")) == (code, 1), found
    assert found.err.startswith(told)


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("join", "x.py"), 150, "there is no exercise 'join'; "),
        (("join-the-isr", "x.txt"), 150, "x.txt is no Python file; begin with: isrcheck grade join-the-isr --start "),
        (("join-the-isr", "nowhere.py"), 153, "nowhere.py: No such file or directory"),
        ((UNCLEAN, "nowhere"), 150, "nowhere/question is no scenario: it has no scenario.toml"),
        (("join-the-isr", "--start", "x.txt"), 150, "'x.txt' is no name of a Python file; write my_answer.py"),
        (("--json", "-"), 2, "--start and --json go with an EXERCISE"),
        (("join-the-isr", "--json", "-"), 2, "--json goes with an ANSWER"),
        (("join-the-isr", "x.py", "--start", "y.py"), 2, "--start begins an answer"),
    ],
)
def test_what_cannot_be_graded(arguments: tuple[str, ...], code: int, told: str) -> None:
    found = run("grade", *arguments)
    assert (found.code, told in found.err) == (code, True), found


DAMAGED: dict[str, tuple[Callable[[str], str], str]] = {
    "no TOML": (lambda text: "[", "not TOML"),
    "a key that there is not": (lambda text: f"hours = 2\n{text}", "unexpected keyword argument 'hours'"),
    "no title": (
        lambda text: text.replace("title =", "# title =", 1),
        "missing 1 required positional argument: 'title'",
    ),
    "another kind": (lambda text: text.replace('"guard"', '"gard"'), "kind is 'gard'; did you mean guard?"),
    "a guard without a gap": (lambda text: text.replace("gap =", "# gap ="), "has gap and [[asks]]"),
    "another verdict": (lambda text: text.replace('"holds"', '"hold"'), 'write expect = "holds" or "violated"'),
}


@pytest.mark.parametrize("what", DAMAGED)
def test_a_damaged_exercise_is_told_in_one_line(what: str, tmp_path: Path) -> None:
    spoil, told = DAMAGED[what]
    text = (EXERCISES["join-the-isr"].folder / "exercise.toml").read_text()
    (tmp_path / "exercise.toml").write_text(text)
    assert one(str(tmp_path)).gap == ("may_join",)
    (tmp_path / "exercise.toml").write_text(spoil(text))
    with pytest.raises(DamagedExercise) as refused:
        read(tmp_path)
    assert told in str(refused.value)
