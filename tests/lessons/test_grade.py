"""`isrcheck course grade`: pairs of scenarios, the command, and mistakes in answers and in exercises."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from isrcheck.checker.course.exercise import PAGE, DamagedExercise, one, read
from tests.cli.running import run
from tests.lessons.answers import EXERCISES, answered, begun, changed, failed, solution

# --- scenarios ------------------------------------------------------------------------------------------------------

UNCLEAN = "nobody-in-the-isr-is-alive"


@pytest.fixture
def unclean(tmp_path: Path) -> Path:
    """The solution, which tests then change."""
    target = begun(UNCLEAN, tmp_path)
    for place in ("question", "control"):
        name = f"{place}/scenario.toml"
        (target / name).write_text((solution(UNCLEAN) / name).read_text())
    return target


def spoilt(target: Path, place: str, old: str, new: str) -> list[str]:
    changed(target / place / "scenario.toml", old, new)
    return failed(run("course", "grade", UNCLEAN, target))


ONE = "they differ in exactly one setting, a rule of the protocol"


def test_a_control_that_is_violated_too_is_none(unclean: Path) -> None:
    changed(unclean / "question" / "scenario.toml", "crashes = 1", "crashes = 2")
    reported = spoilt(unclean, "control", "unclean = false", "unclean = true")
    # What differs is a bound, too.
    assert reported[0] == ONE
    assert reported[2] == "its control holds, and is not trivial"
    assert reported[3].startswith("no-committed-loss is violated in 7 states: ")


def test_two_settings_that_differ_say_nothing(unclean: Path) -> None:
    reported = spoilt(unclean, "control", 'truncation = "kip-320"', 'truncation = "on-fetch"')
    assert reported == [ONE, "truncation (kip-320, on-fetch), unclean (true, false) differ"]


def test_a_control_in_which_less_can_happen_is_none(unclean: Path) -> None:
    changed(unclean / "control" / "scenario.toml", "unclean = false", "unclean = true")
    reported = spoilt(unclean, "control", "crashes = 1", "crashes = 0")
    assert reported == [
        ONE,
        "crashes is a bound, which only limits the search; change a protocol setting instead",
        "its control holds, and is not trivial",
        "action crash never happens",
    ]


def test_a_question_of_another_story_is_told_so(unclean: Path) -> None:
    """The question must be about the wanted model and invariant."""
    reported = spoilt(unclean, "question", '"no-committed-loss"', '"isr-sane"')
    assert reported == [
        "both check no-committed-loss on v3",
        'question: write invariants = ["no-committed-loss"]',
    ]


def test_a_trace_without_the_steps_of_the_story_is_another_one(unclean: Path) -> None:
    pair = EXERCISES[UNCLEAN].pair
    assert pair is not None
    from dataclasses import replace

    from isrcheck.checker.course.pairs import paired

    reported = [each for each in paired(replace(pair, steps=("crash", "expand-isr")), unclean) if not each.passed]
    assert [each.why for each in reported] == [("its shortest trace is a different one: it lacks action expand-isr",)]


def test_one_copy_is_no_surprise(tmp_path: Path) -> None:
    name = "the-last-replica-standing"
    target = begun(name, tmp_path)
    for place in ("question", "control"):
        text = (solution(name) / place / "scenario.toml").read_text()
        (target / place / "scenario.toml").write_text(text.replace("min_isr = 2", "min_isr = 1"))
    assert failed(run("course", "grade", name, target))[:3] == [
        "both have min_isr=2",
        "question: min_isr is 1",
        "control: min_isr is 1",
    ]


# --- the command ----------------------------------------------------------------------------------------------------


def test_the_list_says_how_long_each_takes() -> None:
    lines = run("course", "grade").out.splitlines()
    assert [line.split()[0] for line in lines] == list(EXERCISES)
    assert all(f"{each.minutes} min" in line for line, each in zip(lines, EXERCISES.values(), strict=True))
    minutes = [each.minutes for each in EXERCISES.values()]
    assert minutes == sorted(minutes)


def test_a_name_alone_shows_the_page() -> None:
    assert run("course", "grade", "join-the-isr").out == (EXERCISES["join-the-isr"].folder / PAGE).read_text()


def test_a_start_overwrites_nothing(tmp_path: Path) -> None:
    for name in ("join-the-isr", UNCLEAN):
        target = begun(name, tmp_path)
        again = run("course", "grade", name, "--start", target)
        assert (again.code, again.err.count("\n")) == (153, 1)
        assert again.err.startswith(f"isrcheck: {target} already exists; choose another ")


@pytest.mark.parametrize(
    ("body", "code", "reported"),
    [
        ("return s.lag[leader]", 150, "isrcheck: mine.py:16: the state has no variable 'lag'; did you mean log? "),
        (
            "return True if s.log[leader].is_empty else False",
            150,
            "isrcheck: mine.py:16: a branch depends on the state",
        ),
        ("return (", 150, "isrcheck: mine.py:16: '(' was never closed; fix the syntax"),
        ("return nothing(leader)", 150, "isrcheck: mine.py:16: NameError: name 'nothing' is not defined"),
        ("return s.log[leader].last.epoch > 0", 75, "isrcheck: mine.py:16: "),
    ],
)
def test_a_mistake_is_told_at_the_learners_own_line(tmp_path: Path, body: str, code: int, reported: str) -> None:
    found = answered("join-the-isr", tmp_path, "return True", body)
    assert (found.code, found.err.count("\n")) == (code, 1), found
    assert found.err.startswith(reported)


@pytest.mark.parametrize(
    ("arguments", "code", "reported"),
    [
        (("join", "x.py"), 150, "there is no exercise 'join'; "),
        (
            ("join-the-isr", "x.txt"),
            150,
            "x.txt is not a Python file; start with: isrcheck course grade join-the-isr --",
        ),
        (("join-the-isr", "nowhere.py"), 153, "nowhere.py: No such file or directory"),
        ((UNCLEAN, "nowhere"), 150, "nowhere/question is not a scenario: it has no scenario.toml"),
        (("join-the-isr", "--start", "x.txt"), 150, "'x.txt' is not a Python file name; write my_answer.py"),
        (("--json", "-"), 2, "--start and --json require an EXERCISE"),
        (("join-the-isr", "--json", "-"), 2, "--json requires an ANSWER"),
        (("join-the-isr", "x.py", "--start", "y.py"), 2, "--start starts a new answer"),
    ],
)
def test_what_cannot_be_graded(arguments: tuple[str, ...], code: int, reported: str) -> None:
    found = run("course", "grade", *arguments)
    assert (found.code, reported in found.err) == (code, True), found


DAMAGED: dict[str, tuple[Callable[[str], str], str]] = {
    "no TOML": (lambda text: "[", "not TOML"),
    "a key that there is not": (lambda text: f"hours = 2\n{text}", "unexpected keyword argument 'hours'"),
    "no title": (
        lambda text: text.replace("title =", "# title =", 1),
        "missing 1 required positional argument: 'title'",
    ),
    "another kind": (lambda text: text.replace('"guard"', '"gard"'), "kind is 'gard'; did you mean guard?"),
    "a guard without a gap": (lambda text: text.replace("gap =", "# gap ="), "needs gap and [[asks]]"),
    "another type of kind": (lambda text: text.replace('"guard"', "3"), "kind is 3; "),
    "a word in place of a table": (
        lambda text: f"asks = ['x']\n{text.partition('[[asks]]')[0]}",
        "'x' is not a table",
    ),
    "another verdict": (lambda text: text.replace('"holds"', '"hold"'), 'write expect = "holds" or "violated"'),
}


@pytest.mark.parametrize("what", DAMAGED)
def test_a_damaged_exercise_is_told_in_one_line(what: str, tmp_path: Path) -> None:
    spoil, reported = DAMAGED[what]
    text = (EXERCISES["join-the-isr"].folder / "exercise.toml").read_text()
    (tmp_path / "exercise.toml").write_text(text)
    assert one(str(tmp_path)).gap == ("may_join",)
    (tmp_path / "exercise.toml").write_text(spoil(text))
    with pytest.raises(DamagedExercise) as refused:
        read(tmp_path)
    assert reported in str(refused.value)
