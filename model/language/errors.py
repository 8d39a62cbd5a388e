"""What goes wrong while a model is written, and while it is evaluated."""

from __future__ import annotations

import difflib
import inspect
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, NoReturn

BRANCH: Final = "write s.require(...), & | ~, every(...), some(...), minimum(...) or when(condition, a, b)"
"""What to write instead of `if`, `and`, `or`, `not`, `in`, `min`, `max`, `all`, `any` on the state."""

UNKNOWN_OPERATOR: Final = "this operator is not known"

MANY_NAMES: Final = 60
"""With more names than these an error lists only the nearest."""

_language = [str(Path(__file__).parent), "<string>"]  # the initialisers that `dataclass` writes are in no file


def speaks_the_language(folder: Path) -> None:
    """Names a folder whose code gives the language another meaning: no line in it is a modeller's own."""
    _language.append(str(folder))


class ModelError(Exception):
    """A modeller's mistake: `file:line: what is wrong; what to write instead`."""


class UnknownName(ModelError):
    """A name or a value that the model does not have."""


class NoSuchAttribute(ModelError, AttributeError):
    """A method or a field that a value of the state does not have; `hasattr` and `getattr` see an `AttributeError`."""


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
    while frame.f_back is not None and frame.f_code.co_filename.startswith(tuple(_language)):
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"


def mistake(what: str, remedy: str) -> ModelError:
    """A `ModelError` that points at the modeller's own line."""
    return ModelError(f"{caller()}: {what}; {remedy}")


def not_a_condition(value: object) -> ModelError:
    """What stands where a condition is needed is none."""
    if isinstance(value, int) and value in (-1, -2):
        return mistake(f"{value} is not a condition but ~ of a Python bool", "write `not` for what parameters decide")
    return mistake(f"{value!r} is not a condition", "compare it with something")


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of an error about an unknown name: the nearest known ones, then all, unless they are very many."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=3)
    guess = f"did you mean {' or '.join(close)}? " if close else ""
    if close and len(names) > MANY_NAMES:
        return f"{guess}{len(names)} are known"
    return f"{guess}known: {', '.join(names) or 'none'}"


class OfTheState:
    """A value that the state decides. While a method is read it has none, so Python must not decide by it."""

    __slots__ = ()

    def _shown(self) -> str:
        """The end of a message: which value it is, where that can be said."""
        return ""

    def _operators(self) -> tuple[str, str]:
        """What to say of an operator that there is not, and what to write instead."""
        return UNKNOWN_OPERATOR, "use the operators of its parts"

    def _refused(self, other: object = None) -> NoReturn:
        what, remedy = self._operators()
        raise mistake(f"{what}{self._shown()}", remedy)

    _refuse: Any = _refused
    __lt__ = __le__ = __gt__ = __ge__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __invert__ = __neg__ = __pos__ = __abs__ = _refuse
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = _refuse
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _refuse

    def __getattr__(self, name: str) -> Any:
        # An attribute error for what Python itself asks for, such as __deepcopy__.
        known = [n for n, x in inspect.getmembers(type(self)) if n[0] != "_" and not inspect.isdatadescriptor(x)]
        known += [n for n, x in inspect.getmembers(type(self)) if n[0] != "_" and isinstance(x, property)]
        raise NoSuchAttribute(f"{caller()}: there is no .{name}{self._shown()}; {nearest(name, known)}")

    def __bool__(self) -> NoReturn:
        raise mistake(f"a condition on the state decides a branch{self._shown()}", BRANCH)

    def __hash__(self) -> int:
        raise mistake(
            f"a value of the state in a Python set or dict{self._shown()}",
            "write .including(b) and .excluding(b) on sets of brokers, .add(...) on messages, or compare with ==",
        )

    def __contains__(self, other: object) -> NoReturn:
        raise mistake(f"`in` on the state{self._shown()}", "write .has(...), or some(...) of comparisons")

    def __iter__(self) -> NoReturn:
        raise mistake(
            f"a loop over the state{self._shown()}",
            "loop over self.brokers or a range, and test .has(...) or an offset < .length",
        )

    def __len__(self) -> NoReturn:
        raise mistake(f"len() of the state{self._shown()}", "write .length of a sequence, .size of a set of brokers")

    def __index__(self) -> NoReturn:
        raise mistake(
            f"a number of the state where Python needs one now{self._shown()}",
            "loop over all that it can be, and compare with ==",
        )
