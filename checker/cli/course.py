"""`isrcheck course`: the counterexamples as lessons, page by page, and the exercises with their grades."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from isrcheck.checker.cli.cache import no_cache_option
from isrcheck.checker.cli.console import say
from isrcheck.checker.cli.output_files import require_writable, write_text
from isrcheck.checker.cli.result_output import Outputs, output_options
from isrcheck.checker.results.text_layout import plural
from isrcheck.model.language.errors import UnknownName

if TYPE_CHECKING:
    from isrcheck.checker.course.exercise import Exercise
    from isrcheck.checker.course.grades import Grade


@click.group("course", short_help="Shows lessons on counterexamples, and grades exercises.")
def command() -> None:
    """A course on counterexamples: lessons to read, and exercises that are graded."""


# --- lessons --------------------------------------------------------------------------------------------------------


@command.command("lessons", short_help="Lists the lessons, or shows one.")
@click.argument("number", required=False, type=int)
@click.option("--plain", is_flag=True, help="Print the Markdown source, even on a terminal.")
@click.option(
    "--slides",
    metavar="FILE",
    help="Write all lessons, or lesson NUMBER, as HTML slides; - is standard output.",
)
def lessons(number: int | None, plain: bool, slides: str | None) -> None:
    """Lists the lessons, or shows lesson NUMBER.

    --slides writes a single page that works offline. Arrow keys move between slides. When printed, each slide fills one
    sheet of paper.
    """
    found = pages()
    if slides is not None and plain:
        raise click.UsageError("--slides writes a page; remove --plain")
    if number is None and slides is None:
        say("\n".join(f"{n:3}  {_title(page)}" for n, page in found.items()))
        return
    if number is not None and number not in found:
        raise UnknownName(
            f"there is no lesson {number}; lessons are numbered {min(found)} to {max(found)}: isrcheck course lessons"
        )
    if slides is not None:
        _write_slides(slides, found if number is None else {number: found[number]})
        return
    assert number is not None
    text = re.sub(r"^<!-- .* -->\n", "", found[number].read_text(encoding="utf-8"), flags=re.M)
    if plain or not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        say(text, nl=False)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    from isrcheck.checker.cli.console import harmless

    Console().print(Markdown(harmless(text)))


def _write_slides(path: str, lessons: dict[int, Path]) -> None:
    from isrcheck.checker.report.pages.slides import deck

    require_writable(path)
    write_text(path, deck({n: page.read_text(encoding="utf-8") for n, page in lessons.items()}, _story))


def _story(name: str) -> dict[str, Any]:
    """The data of a page that compares a scenario's recorded trace with the scenario's controls (fixed designs)."""
    from isrcheck.checker.cli.replay import replayed_file
    from isrcheck.checker.report.pages.trace_data import shown_stories
    from isrcheck.checker.scenarios.collection import called, shipped
    from isrcheck.checker.scenarios.scenario import ITF, read

    folder = called(name, shipped())
    assert folder is not None, name
    fixed = read(folder, shipped()).fixed_versions
    interpreter, replayed = replayed_file(str(folder / ITF), None, {}, None, {}, fixed)
    return shown_stories(interpreter, replayed)["1"]


def pages() -> dict[int, Path]:
    """The files of the lessons, by number."""
    from isrcheck.checker.scenarios.collection import shipped

    return {int(page.name.partition("-")[0]): page for page in sorted((shipped() / "lessons").glob("*.md"))}


def _title(page: Path) -> str:
    """The question at the beginning of a lesson, without its number."""
    with page.open(encoding="utf-8") as lines:
        return next(lines).partition(". ")[2].strip()


# --- exercises ------------------------------------------------------------------------------------------------------


@command.command("grade", short_help="Lists the exercises, starts one, or grades an answer.")
@click.argument("exercise", required=False)
@click.argument("answer", required=False)
@click.option(
    "--start", metavar="FILE", help="Start an answer: write a file, or a folder with two scenarios, for you to edit."
)
@output_options("course")
@no_cache_option
def grade(exercise: str | None, answer: str | None, start: str | None, **options: Any) -> None:
    """Grades an ANSWER to an EXERCISE, criterion by criterion. The code of the answer is run.

    Without ANSWER it shows the exercise or, with --start, starts an answer. Without EXERCISE it lists all exercises. An
    EXERCISE is a name, or a folder with an exercise.toml.

    Exit codes: 0 if solved, 10 if not yet solved. Errors have the same exit codes as in other commands.
    """
    outputs = Outputs("course", options)
    if exercise is None:
        if start is not None or outputs.chosen:
            raise click.UsageError("--start and --json require an EXERCISE; isrcheck course grade lists them")
        _list_exercises()
        return
    from isrcheck.checker.course.exercise import one

    found = one(exercise)
    if start is not None:
        if answer is not None or outputs.chosen:
            raise click.UsageError("--start starts a new answer; remove ANSWER and --json")
        _start(found, start)
    elif answer is not None:
        _grade(found, answer, outputs)
    elif outputs.chosen:
        raise click.UsageError("--json requires an ANSWER")
    else:
        _show(found)


def _list_exercises() -> None:
    from isrcheck.checker.course.exercise import exercises

    found = exercises()
    width = max(map(len, found), default=0)
    for name, each in found.items():
        say(f"{name:{width}}  {each.minutes:3} min  {each.kind:9}  {each.title}")


def _show(exercise: Exercise) -> None:
    from isrcheck.checker.course.exercise import PAGE

    text = (exercise.folder / PAGE).read_text(encoding="utf-8")
    say(re.sub(r"^<!-- .* -->\n", "", text, flags=re.M), nl=False)


def _start(exercise: Exercise, target: str) -> None:
    from isrcheck.checker.course.exercise import write_start

    for path in write_start(exercise, Path(target)):
        say(f"wrote {path}")
    say(f"try: isrcheck course grade {exercise.name} {target}")


def _grade(exercise: Exercise, answer: str, outputs: Outputs) -> NoReturn:
    from isrcheck.checker.course.grades import grade as graded

    outputs.require_writable()
    found = graded(exercise, Path(answer))
    outputs.print(_grade_text(found))
    outputs.finish(found, found.exit_code)


def _grade_text(grade: Grade) -> str:
    passed = sum(each.passed for each in grade.criteria)
    verdict = "SOLVED" if grade.solved else "NOT YET"
    lines = [f"{verdict}  {grade.exercise.name}: {passed} of {len(grade.criteria)} criteria", grade.exercise.title]
    for each in grade.criteria:
        length = f", in {plural(each.length, 'state')}" if each.passed and each.length else ""
        lines.append(f"  {'yes' if each.passed else 'no '}  {each.asks}{length}")
        lines += [f"         {line}" for line in each.why]
        if not each.passed and each.command is not None:
            lines.append(f"         reproduce: {each.command}")
    return "\n".join(lines)
