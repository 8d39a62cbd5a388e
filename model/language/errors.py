"""What goes wrong while a model is written, and while it is evaluated."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

BRANCH: Final = "write s.require(...), & | ~, every(...), some(...), minimum(...) or when(condition, a, b)"
"""What to write instead of `if`, `and`, `or`, `not`, `in`, `min`, `max`, `all`, `any` on the state."""

_LANGUAGE = str(Path(__file__).parent)


class ModelError(Exception):
    """A modeller's mistake: `file:line: what is wrong; what to write instead`."""


class UnknownName(ModelError):
    """A name or a value that the model does not have."""


class EvaluationError(Exception):
    """A state in which the model has no meaning: a value outside its domain, an offset past a log's end.

    `what` says which variable or expression and with which value, `where` is `file:line` of the model.
    """

    def __init__(self, what: str, where: str) -> None:
        super().__init__(f"{where}: {what}")
        self.what = what
        self.where = where


def caller() -> str:
    """`file:line` of the innermost frame outside the language: the modeller's own line."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_LANGUAGE):
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"


def mistake(what: str, remedy: str) -> ModelError:
    """A `ModelError` that points at the modeller's own line."""
    return ModelError(f"{caller()}: {what}; {remedy}")


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of an error about an unknown name: the nearest known ones, then all."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=3)
    guess = f"did you mean {' or '.join(close)}? " if close else ""
    return f"{guess}known: {', '.join(names) or 'none'}"
