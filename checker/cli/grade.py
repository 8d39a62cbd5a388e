"""`isrcheck grade`: shows the exercises of the course, and says whether an answer to an exercise is right."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from isrcheck.checker.cli.result_output import Outputs, output_options

if TYPE_CHECKING:
    from isrcheck.checker.course.exercise import Exercise
    from isrcheck.checker.course.grades import Grade


@click.command(
    "grade", short_help="The exercises of the course: lists them, begins one, says whether an answer is right."
)
@click.argument("exercise", required=False)
@click.argument("answer", required=False)
@click.option(
    "--start", metavar="FILE", help="Begin an answer: write a file, or a folder with two scenarios, for you to change."
)
@output_options("grade")
def command(exercise: str | None, answer: str | None, start: str | None, **options: Any) -> None:
    """Says whether an ANSWER to an EXERCISE is right, criterion by criterion. The code of the answer is run.

    Without ANSWER it shows the exercise or, with --start, begins an answer. Without EXERCISE it lists all exercises. An
    EXERCISE is a name, or a folder with an exercise.toml.

    Exit codes: 0 if solved, 10 if not yet solved. Errors have the same exit codes as in the other commands.
    """
    outputs = Outputs("grade", options)
    if exercise is None:
        if start is not None or outputs.chosen:
            raise click.UsageError("--start and --json go with an EXERCISE; isrcheck grade lists them")
        _list()
        return
    from isrcheck.checker.course.exercise import one

    found = one(exercise)
    if start is not None:
        if answer is not None or outputs.chosen:
            raise click.UsageError("--start begins an answer; take ANSWER and --json away")
        _start(found, start)
    elif answer is not None:
        _grade(found, answer, outputs)
    elif outputs.chosen:
        raise click.UsageError("--json goes with an ANSWER")
    else:
        _show(found)


def _list() -> None:
    from isrcheck.checker.course.exercise import exercises

    found = exercises()
    width = max(map(len, found), default=0)
    for name, each in found.items():
        click.echo(f"{name:{width}}  {each.minutes:3} min  {each.kind:9}  {each.title}")


def _show(exercise: Exercise) -> None:
    from isrcheck.checker.course.exercise import PAGE

    text = (exercise.folder / PAGE).read_text(encoding="utf-8")
    click.echo(re.sub(r"^<!-- .* -->\n", "", text, flags=re.M), nl=False)


def _start(exercise: Exercise, target: str) -> None:
    from isrcheck.checker.course.exercise import write_start

    for path in write_start(exercise, Path(target)):
        click.echo(f"{path} is written")
    click.echo(f"try: isrcheck grade {exercise.name} {target}")


def _grade(exercise: Exercise, answer: str, outputs: Outputs) -> NoReturn:
    from isrcheck.checker.course.grades import grade

    outputs.require_writable()
    found = grade(exercise, Path(answer))
    outputs.print(_text(found))
    outputs.finish(found, found.exit_code)


def _text(grade: Grade) -> str:
    passed = sum(each.passed for each in grade.criteria)
    verdict = "SOLVED" if grade.solved else "NOT YET"
    lines = [f"{verdict}  {grade.exercise.name}: {passed} of {len(grade.criteria)} criteria", grade.exercise.title]
    for each in grade.criteria:
        length = f", in {each.length} states" if each.passed and each.length else ""
        lines.append(f"  {'yes' if each.passed else 'no '}  {each.asks}{length}")
        lines += [f"         {line}" for line in each.why]
        if not each.passed and each.command is not None:
            lines.append(f"         see it: {each.command}")
    return "\n".join(lines)
