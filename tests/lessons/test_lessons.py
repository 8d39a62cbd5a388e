"""The generated parts of the lessons are up to date: `python -m tests.lessons.regenerate` renews them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from isrcheck.checker.course.exercise import exercises
from isrcheck.checker.scenarios.collection import folders
from isrcheck.checker.scenarios.scenario import TEXT
from tests.lessons.pages import LESSONS, SCENARIOS, can_be_made, generated, made, pages, renewed
from tests.lessons.words import GLOSSARY, linked
from tests.marks import EXHAUSTIVE, RELEASE
from tests.scenarios.shipped import FOLDERS

NAMES = [page.name for page in pages()]
PARTS = [(page.name, *part) for page in pages() for part in generated(page.read_text())]
TRACES = [part for part in PARTS if part[1] == "trace"]
RUNS = [part for part in PARTS if part[1] == "run"]
TRACELESS = ("20-induction.md",)
"""Lessons without a trace."""
SOLVER = re.compile(r"z3 \d+(\.\d+)+")


def slow(page: str, command: str) -> tuple[pytest.MarkDecorator, ...]:
    """The marks of a command. A quick run has those of the first three lessons. Kafka's own code is for a release."""
    return RELEASE if "isrcheck conform" in command else EXHAUSTIVE if page >= "04" else ()


@pytest.mark.parametrize(("page", "kind", "of", "text"), TRACES, ids=[of for _, _, of, _ in TRACES])
def test_a_recorded_trace_is_told_as_on_the_page(page: str, kind: str, of: str, text: str) -> None:
    assert text == made(kind, of), f"run python -m tests.lessons.regenerate, then read {page} again"


@pytest.mark.parametrize(
    ("page", "kind", "of", "text"),
    [pytest.param(*part, marks=slow(part[0], part[2])) for part in RUNS],
    ids=[of for _, _, of, _ in RUNS],
)
def test_a_command_prints_what_the_page_shows(page: str, kind: str, of: str, text: str) -> None:
    if not can_be_made(of):
        pytest.skip("Java or Maven is not installed")
    with_any_z3 = [SOLVER.sub("z3", shown) for shown in (text, made(kind, of))]
    assert with_any_z3[0] == with_any_z3[1], f"run python -m tests.lessons.regenerate, then read {page} again"


@pytest.mark.parametrize(("page", "kind", "of", "text"), TRACES, ids=[of for _, _, of, _ in TRACES])
def test_the_command_prints_the_lines_of_the_trace_in_this_order(page: str, kind: str, of: str, text: str) -> None:
    recorded = iter((FOLDERS[of] / TEXT).read_text().splitlines())
    for line in text.splitlines()[2:-1]:
        assert line == "[...]" or line in recorded, f"{page}: {line!r} is not printed, or not in this place"


@pytest.mark.parametrize("name", NAMES)
def test_a_lesson_has_all_its_parts(name: str) -> None:
    page = (LESSONS / name).read_text()
    wanted = ["What you need to know first", "The trace", "What to notice", "The fixed version", "Try it"]
    assert re.findall(r"^## (.+)$", page, re.M) == wanted
    assert re.match(r"# \d+\. [^\n]*\?", page), "a lesson begins with a question"
    kinds = [kind for kind, _, _ in generated(page)]
    assert kinds.count("trace") == (name not in TRACELESS) and kinds.count("run") >= 2
    assert len(kinds) == page.count("<!-- end -->"), "a part without a marker that is understood"
    assert all(text for _, _, text in generated(page)), "run python -m tests.lessons.regenerate"
    assert re.search(r"\b(KIP|KAFKA)-\d+|[Dd]esign", page)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in TRACELESS])
def test_steps_that_a_lesson_names_are_steps_of_its_trace(name: str) -> None:
    page = (LESSONS / name).read_text()
    (reported,) = [text for kind, _, text in generated(page) if kind == "trace"]
    last = max(int(number) for number in re.findall(r"^ {1,2}(\d+) ", reported, re.M))
    words = renewed(page, lambda kind, of: "")
    named = re.findall(r"\b[Ss]teps? (\d+)(?:(?:,| to| and) (\d+))?(?: and (\d+))?", words)
    assert all(2 <= int(number) <= last for found in named for number in found if number)


def test_the_course_lists_every_lesson_and_links_lead_somewhere() -> None:
    course = (SCENARIOS / "README.md").read_text()
    assert re.findall(r"\(lessons/(\d[^)]+)\)", course) == NAMES
    for page in [SCENARIOS / "README.md", *pages(), *LESSONS.glob("exercises/*/exercise.md")]:
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page}: {link}"


def test_the_course_says_how_long_each_lesson_and_exercise_takes() -> None:
    course = (SCENARIOS / "README.md").read_text()
    lessons = re.findall(r"^\| \[(\d+)\]\(lessons/[^)]+\) \| (\d+) \|", course, re.M)
    assert [int(number) for number, _ in lessons] == list(range(1, len(NAMES) + 1))
    assert all(10 <= int(minutes) <= 60 for _, minutes in lessons)
    listed = re.findall(r"^\| \[([\w-]+)\]\(lessons/exercises/\1/exercise.md\) \| (\d+) \| an? (\w+)", course, re.M)
    assert sorted(listed) == sorted((x.name, str(x.minutes), x.kind) for x in exercises().values())


@pytest.mark.parametrize("name", NAMES)
def test_a_word_of_the_glossary_is_a_link_where_a_lesson_first_uses_it(name: str) -> None:
    page = (LESSONS / name).read_text()
    assert page == linked(page), f"run python -m tests.lessons.regenerate, then read {name} again"
    references = dict(re.findall(r"^\[([^]\n]+)\]: \.\./\.\./docs/reference/glossary\.md#([\w-]+)$", page, re.M))
    assert len(references) >= 3
    assert set(references.values()) <= set(re.findall(r'<a id="([\w-]+)">', GLOSSARY.read_text()))
    for label in references:
        words = r"\s+".join(label.split())
        assert len(re.findall(rf"\[{words}\](?!: \.\.)", page, re.I)) == 1, label


def test_a_word_is_linked_once_and_never_in_code_or_another_link() -> None:
    page = "# 1. An ISR?\n\nThe `isr`, ISRs, the ISR; [a replica](x.md) and replicas.\n\n```\nreplica\n```\n"
    references = "[isrs]: ../../docs/reference/glossary.md#isr\n[replicas]: ../../docs/reference/glossary.md#replica\n"
    expected = page.replace("ISRs", "[ISRs]").replace("replicas.", "[replicas].") + "\n" + references
    assert linked(page) == expected
    assert linked(expected) == expected


def test_lessons_are_no_scenarios() -> None:
    assert LESSONS not in [folder for folder, _ in folders((str(SCENARIOS),))]
    assert not list(LESSONS.glob("**/scenario.toml"))


def test_a_lesson_quotes_the_test_of_kafka_as_it_fails() -> None:
    """With Java and Maven, tests/conformance/test_findings_on_kafka.py checks the failure itself."""
    lesson = (LESSONS / "21-todays-kafka.md").read_text()
    (quoted,) = re.findall(r"^```text\n(.+)\n```$", lesson, re.M)
    name = "recordOfAChangeThatTheLeaderKnowsArrivesWhileTheNextIsPending"
    reports = (SCENARIOS.parent / "docs/findings/reports.md").read_text()
    assert f"AcknowledgedRecordLossTest.{name}\n  {quoted}\n" in reports


def test_a_part_that_differs_is_made_again() -> None:
    page = "a\n<!-- run: isrcheck x -->\nold\n<!-- end -->\nb\n"
    assert renewed(page, lambda kind, of: f"{kind} {of}\n") == page.replace("old", "run isrcheck x")
    assert Path(LESSONS).is_dir()
