"""An *exercise*: a folder with the conditions on an answer (`exercise.toml`) and the files with which a learner starts.

There are three kinds of exercises: *guard*, *invariant* and *scenario*. In an exercise of kind guard or invariant, the
answer is a file with models, in which the learner writes some functions, the *gap*. Each table `[[asks]]` of
`exercise.toml` describes one check of one of these models. In an exercise of kind scenario, the answer is a folder with
two scenarios, `question` and `control`. The table `[pair]` has the conditions on these two scenarios.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from isrcheck.checker.results.errors import CommandError
from isrcheck.checker.results.result import Exit
from isrcheck.checker.scenarios.collection import shipped
from isrcheck.model.language.errors import ModelError, UnknownName, nearest

FILE: Final = "exercise.toml"
PAGE: Final = "exercise.md"
START: Final = "answer.py"
QUESTION: Final = "question"
CONTROL: Final = "control"
"""The folders of the two scenarios in an answer. At the start, the `scenario.toml` of each folder is a copy of the
exercise's `question.toml` or `control.toml`."""
KINDS: Final = ("guard", "invariant", "scenario")


class DamagedExercise(ModelError):
    """A mistake in an `exercise.toml`. The message is one line."""


@dataclass(frozen=True)
class AnswerCheck:
    """One check of an answer: a model in the answer's file, the model's settings, and the expected result.

    If `expect` is "holds", `invariants` and `liveness` must hold. Also, each goal in `goals` must be reached, and each
    action in `fires` must happen. So an answer that forbids everything is wrong. If `expect` is "violated", each of
    `invariants` must be violated, but none of them in an initial state.
    """

    title: str
    model: str
    expect: str
    settings: dict[str, Any]
    invariants: tuple[str, ...]
    liveness: tuple[str, ...] = ()
    goals: tuple[str, ...] = ()
    fires: tuple[str, ...] = ()


@dataclass(frozen=True)
class Pair:
    """The conditions on two scenarios: question and control. Both must check `invariant` in the shipped model `model`.

    The trace of the question must contain each action in `steps`, so that the trace tells the intended story. In the
    control, each goal in `goals` must be reached and each action in `fires` must happen. In both scenarios, each
    setting in `settings` must have the value in `settings`.
    """

    model: str
    invariant: str
    steps: tuple[str, ...] = ()
    goals: tuple[str, ...] = ()
    fires: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Exercise:
    """An exercise; `gap` names the functions that the learner writes."""

    folder: Path
    title: str
    kind: str
    minutes: int
    lessons: tuple[int, ...]
    gap: tuple[str, ...] = ()
    asks: tuple[AnswerCheck, ...] = ()
    pair: Pair | None = field(default=None)

    @property
    def name(self) -> str:
        return self.folder.name

    def starts(self) -> dict[str, str]:
        """The starting text of each file of an answer, by the file's path. The path is '' if the answer is one file."""
        if self.pair is None:
            return {"": (self.folder / START).read_text(encoding="utf-8")}
        parts = QUESTION, CONTROL
        return {f"{part}/scenario.toml": (self.folder / f"{part}.toml").read_text(encoding="utf-8") for part in parts}


def exercises() -> dict[str, Exercise]:
    """The shipped exercises from easy to hard: by minutes, then by name."""
    found = [read(path.parent) for path in (shipped() / "lessons" / "exercises").glob(f"*/{FILE}")]
    return {each.name: each for each in sorted(found, key=lambda x: (x.minutes, x.name))}


def one(text: str) -> Exercise:
    """The exercise in folder `text`, or else the shipped exercise `text`. Raises `UnknownName` if neither exists."""
    if (Path(text) / FILE).is_file():
        return read(Path(text))
    known = exercises()
    if text not in known:
        raise UnknownName(f"there is no exercise {text!r}; {nearest(text, known)}")
    return known[text]


def read(folder: Path) -> Exercise:
    """The exercise of a folder. Raises `DamagedExercise` if its `exercise.toml` has a mistake."""
    path = folder / FILE
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DamagedExercise(f"{path}: not TOML: {error}") from None
    try:
        asks = tuple(AnswerCheck(**_lists(each)) for each in data.pop("asks", []))
        pair = Pair(**_lists(data.pop("pair"))) if "pair" in data else None
        made = Exercise(folder, asks=asks, pair=pair, **_lists(data))
    except TypeError as error:
        raise DamagedExercise(f"{path}: {str(error).partition('__init__() ')[2] or error}") from None
    _require_sense(path, made)
    return made


def _lists(data: Any) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise TypeError(f"{data!r} is not a table")
    return {name: tuple(x) if isinstance(x, list) else x for name, x in data.items()}


def _require_sense(path: Path, made: Exercise) -> None:
    """Raises `DamagedExercise` for a wrong kind, for parts that do not fit the kind, and for an incomplete check.

    A complete check has an expected result and at least one invariant.
    """
    if made.kind not in KINDS:
        raise DamagedExercise(f"{path}: kind is {made.kind!r}; {nearest(str(made.kind), KINDS)}")
    if (made.kind == "scenario") != (made.pair is not None) or (made.pair is None) != bool(made.asks and made.gap):
        raise DamagedExercise(f"{path}: a scenario needs [pair]; a guard or an invariant needs gap and [[asks]]")
    for ask in made.asks:
        if ask.expect not in ("holds", "violated") or not ask.invariants:
            raise DamagedExercise(f'{path}: {ask.title}: write expect = "holds" or "violated", and invariants')


def write_start(exercise: Exercise, target: Path) -> list[Path]:
    """Writes the files that a learner starts with, and returns their paths.

    Raises `CommandError` if `target` exists. If the answer is a Python file, raises `UnknownName` unless the file's
    name is an identifier and `.py` (as in `my_answer.py`).
    """
    if target.exists() or target.is_symlink():
        raise CommandError(
            f"{target} already exists; choose another {'folder' if exercise.pair else 'file'}", Exit.OUTPUT
        )
    if exercise.pair is None and (target.suffix != ".py" or not target.stem.isidentifier()):
        raise UnknownName(f"{str(target)!r} is not a Python file name; write my_answer.py")
    written = []
    for place, text in exercise.starts().items():
        path = target / place if place else target
        if place:
            path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        written.append(path)
    return written
