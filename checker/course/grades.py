"""Grades an answer by several criteria. If a criterion checks a model, it has the command that repeats the check."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from isrcheck.checker.analysis.check import check
from isrcheck.checker.course.criteria import STATES, Criterion, command, require_meaning, shortest, unbroken, unheld
from isrcheck.checker.course.exercise import AnswerCheck, Exercise
from isrcheck.checker.course.gaps import assigning, changed
from isrcheck.checker.course.pairs import paired
from isrcheck.checker.registry.loader import load_model_class, models_in, run_file
from isrcheck.checker.results.exploration import Limits
from isrcheck.checker.results.result import Exit
from isrcheck.model.language.errors import UnknownName
from isrcheck.model.language.settings import BARE

FORMAT: Final = 1


@dataclass(frozen=True)
class Grade:
    """The result for one answer to an exercise: its criteria, in the order in which they were checked."""

    exercise: Exercise
    criteria: tuple[Criterion, ...]

    @property
    def solved(self) -> bool:
        return bool(self.criteria) and all(each.passed for each in self.criteria)

    @property
    def exit_code(self) -> int:
        return Exit.HOLDS if self.solved else Exit.DIFFERENCE

    def to_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "exercise": self.exercise.name,
            "kind": self.exercise.kind,
            "solved": self.solved,
            "exit_code": self.exit_code,
            "criteria": [each.to_json() for each in self.criteria],
        }


def grade(exercise: Exercise, answer: Path) -> Grade:
    """Grades an answer: a learner's Python file, which is run, or a folder with two scenarios.

    Raises `ModelError` for a mistake in the answer. If the mistake is in Python code, the message names the line.
    Raises `UnknownName` if the answer should be a Python file but does not end in `.py`. Raises `CommandError` (exit
    code 75) if the model is undefined in some state.
    """
    if exercise.pair is not None:
        return Grade(exercise, tuple(paired(exercise.pair, answer)))
    if not str(answer).endswith(".py"):
        how = f"isrcheck course grade {exercise.name} --start my_answer.py"
        raise UnknownName(f"{answer} is not a Python file; start with: {how}")
    gap = _gap_alone(exercise, answer)
    # If an answer changes more than the gap, its checks say nothing about the exercise, so they are left out.
    asked = [check_answer(ask, answer) for ask in exercise.asks] if gap.passed else []
    return Grade(exercise, (gap, *asked))


def _gap_alone(exercise: Exercise, answer: Path) -> Criterion:
    models = {cls.__name__: cls for cls in models_in(run_file(answer))}
    start, text = exercise.starts()[""], answer.read_text(encoding="utf-8")
    others = changed(start, text, answer.name, exercise.gap, models)
    others += assigning(text, answer.name)
    remedy = f"start again with: isrcheck course grade {exercise.name} --start FILE"
    title = f"only {' and '.join(exercise.gap)} and its helpers were added"
    return Criterion(title, not others, tuple(others) + ((remedy,) if others else ()))


def check_answer(ask: AnswerCheck, answer: Path) -> Criterion:
    """Checks a model of the answer as `ask` says, and returns the criterion."""
    loaded = load_model_class(f"{answer}:{ask.model}")
    result = check(
        loaded,
        ask.settings,
        profile=BARE,
        invariants=ask.invariants,
        liveness=ask.liveness,
        limits=Limits(states=STATES),
    )
    require_meaning(result)
    shown = command(f"{answer}:{ask.model}", ask.settings, ask.invariants, ask.liveness)
    problems = unheld(result, ask.goals, ask.fires) if ask.expect == "holds" else unbroken(result, ask.invariants)
    return Criterion(ask.title, not problems, tuple(problems), shortest(result), shown)
