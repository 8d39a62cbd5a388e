"""Errors for mistakes in a model's text, and for states in which the model is undefined."""

from __future__ import annotations

import difflib
import inspect
import sys
import sysconfig
import threading
import traceback
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any, Final, NoReturn

BRANCH: Final = "write s.require(...), & | ~, every(...), some(...), minimum(...) or when(condition, a, b)"
"""The advice in errors about `if`, `and`, `or`, `not`, `in`, `min`, `max`, `all`, `any` on values of the state."""

UNKNOWN_OPERATOR: Final = "this operator is not supported"

DEBUGGERS: Final = ("pdb.py", "pydevd_safe_repr.py")

MANY_NAMES: Final = 60
"""If more names than this are known, an error about an unknown name lists only near names, if there are any."""

_python = tuple(sysconfig.get_path(name) for name in ("stdlib", "platstdlib"))
_installed = tuple(sysconfig.get_path(name) for name in ("purelib", "platlib"))
_language = [str(Path(__file__).parent), "<string>"]  # "<string>": `dataclass` makes initialisers without a file


def speaks_the_language(folder: Path) -> None:
    """Registers another folder of code that interprets the language. Errors never cite this code as a modeller's."""
    _language.append(str(folder))


def is_of_the_language(file: str) -> bool:
    """Whether a file has code that interprets the language, not a modeller's code."""
    return file.startswith(tuple(_language))


class _Running(threading.local):
    """Data about the model's method that runs in this thread.

    `made` lists the mistakes so far, and is None while no method runs. `looks` counts the calls of `print` that are
    running. `watched` receives each function that the method calls. `condition_place` is the place of a condition that
    is given as text.
    """

    made: list[ModelError] | None = None
    looks: int = 0
    watched: Any = None
    condition_place: str | None = None


running = _Running()


class ModelError(Exception):
    """A modeller's mistake. The message is `file:line: what is wrong; what to write instead`."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)
        if running.made is not None:
            running.made.append(self)


class UnknownName(ModelError):
    """A name or a value that the model does not have."""


class NoSuchAttribute(ModelError, AttributeError):
    """A method or field that a value of the state does not have; also an `AttributeError`, so that `hasattr` works."""


class EvaluationError(Exception):
    """Raised if the model is undefined in a state: for example, if a value is outside its domain.

    `what` gives the variable or expression and its value. `where` is `file:line` of the model.
    """

    def __init__(self, what: str, where: str) -> None:
        super().__init__(f"{where}: {what}")
        self.what = what
        self.where = where


def is_running() -> bool:
    """True while a method of a model runs in this thread."""
    return running.made is not None


def _is_ours(frame: FrameType) -> bool:
    """True if a frame belongs to the language or to Python's library."""
    file = frame.f_code.co_filename
    return is_of_the_language(file) or (file.startswith(_python) and not file.startswith(_installed))


def modellers_frame() -> FrameType:
    """The innermost frame outside the language and Python's library."""
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame):
        frame = frame.f_back
    return frame


def caller() -> str:
    """The place to cite in an error: the modeller's own line as `file:line`.

    That is the line of the innermost frame outside the language and Python's library. While a condition given as text
    is evaluated, the place in this text is cited instead.
    """
    if running.condition_place is not None:
        return running.condition_place
    frame = modellers_frame()
    return f"{_name_of(frame.f_code.co_filename)}:{frame.f_lineno}"


@cache
def _name_of(file: str) -> str:
    """The name of a file without its folders; cached, because every undefined value needs it."""
    return Path(file).name


def raised_at(error: Exception) -> str:
    """The modeller's line that raised an exception, as `file:line`."""
    frames = [(f, line) for f, line in traceback.walk_tb(error.__traceback__) if not _is_ours(f)]
    frame, line = frames[-1]
    return f"{Path(frame.f_code.co_filename).name}:{line}"


def line_of(method: Callable[..., Any]) -> str:
    """The first line of a method, as `file:line`."""
    code = inspect.unwrap(method).__code__
    return f"{Path(code.co_filename).name}:{code.co_firstlineno}"


def mistake_in(method: Callable[..., Any], what: str, remedy: str) -> ModelError:
    """A `ModelError` that points at the first line of a method."""
    return ModelError(f"{line_of(method)}: {what}; {remedy}")


def mistake(what: str, remedy: str) -> ModelError:
    """A `ModelError` that points at the modeller's own line."""
    return ModelError(f"{caller()}: {what}; {remedy}")


def _no_condition(value: object) -> tuple[str, str]:
    """The error text and the remedy for a value that is not a condition."""
    if isinstance(value, int) and value in (-1, -2):
        return f"{value} is ~ of a Python bool, not a condition", ("write `not` for conditions on parameters only")
    if inspect.isroutine(value):
        return f"the method {getattr(value, '__name__', value)!s} is not a condition", "call it"
    if inspect.isgenerator(value):
        return "a generator is not a condition", "wrap it in every(...) or some(...)"
    return f"{value!r} is not a condition", "compare it with a value"


def not_a_condition(value: object) -> ModelError:
    """The error for a value that is not a condition where a condition is needed."""
    return mistake(*_no_condition(value))


def not_an_answer(method: Callable[..., Any], value: object) -> ModelError:
    """The error for a predicate that does not return a condition; the usual cause is a missing `return`."""
    who = f"{getattr(method, '__predicate__', 'predicate')} {method.__name__}"
    if value is None:
        return mistake_in(method, f"{who} returns nothing", "return a condition")
    what, remedy = _no_condition(value)
    return mistake_in(method, f"{who} must return a condition: {what}", remedy)


def require_no_answer(method: Callable[..., Any], what: str, value: object) -> None:
    """Raises `ModelError` if a method returned a value. Nothing reads the value: methods should require and assign."""
    if value is not None:
        remedy = "write s.require(...) for what must hold, and `return` without a value"
        raise mistake_in(method, f"{what} returns {value!r}, which is not used", remedy)


def require_takes(method: Callable[..., Any], count: int, who: str, what: str) -> None:
    """Raises `ModelError` unless `method` is a function of `count` arguments."""
    if not inspect.isfunction(method):
        raise mistake(f"{who} is {method!r}", f"write a function of {what}")
    try:
        inspect.signature(method).bind(*range(count))
    except TypeError:
        taken = ", ".join(inspect.signature(method).parameters)
        raise mistake_in(method, f"{who} takes ({taken})", f"take {what}") from None


def require_own(function: Any, count: int, who: str, what: str) -> None:
    """Like `require_takes`, but also refuses functions of the language, because errors cannot cite their lines."""
    if not inspect.isfunction(function) or is_of_the_language(function.__code__.co_filename):
        raise mistake(f"{who} is {function!r}", f"write a function of {what} of your own")
    require_takes(function, count, who, what)


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of an error about an unknown name: known names near `name`, then all known names or their number."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=3)
    guess = f"did you mean {' or '.join(close)}? " if close else ""
    if close and len(names) > MANY_NAMES:
        return f"{guess}{len(names)} names are known"
    return f"{guess}known: {', '.join(names) or 'none'}"


def _to_look_at(shown: Callable[[Any], str]) -> Callable[[Any], str]:
    """A `__repr__` that returns the text of `shown`. In a model's method it raises `ModelError`, except inside `print`.

    The reason: the text of a value differs between concrete and symbolic states.
    """

    def text(self: Any) -> str:
        if running.made is not None and not running.looks:
            asked_by = sys._getframe(1).f_code.co_filename
            if not is_of_the_language(asked_by) and Path(asked_by).name not in DEBUGGERS:
                OfTheState.__str__(self)
        return shown(self)

    return text


class OfTheState:
    """A value that depends on the state.

    The value is unknown while a method is traced, so Python must not branch on it.
    """

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        if "__repr__" in cls.__dict__:
            cls.__repr__ = _to_look_at(cls.__repr__)  # type: ignore[method-assign]

    def _shown(self) -> str:
        """The end of an error message, which names the value; empty if the value has no name."""
        return ""

    def _may_be_none(self) -> bool:
        """True if the value can be none in some state."""
        return False

    def _operators(self) -> tuple[str, str]:
        """The error text and the remedy for an unknown operator."""
        return UNKNOWN_OPERATOR, "use the operators of its elements"

    def _refused(self, other: object = None) -> NoReturn:
        what, remedy = self._operators()
        raise mistake(f"{what}{self._shown()}", remedy)

    _refuse: Any = _refused
    __lt__ = __le__ = __gt__ = __ge__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __invert__ = __neg__ = __pos__ = __abs__ = _refuse
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = _refuse
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __matmul__ = __rmatmul__ = _refuse
    __divmod__ = __rdivmod__ = __next__ = __reversed__ = _refuse

    def __call__(self, *operands: Any) -> Any:
        raise mistake(f"a state value is called{self._shown()}", "write it without parentheses")

    def __getitem__(self, index: Any) -> Any:
        raise mistake(f"[...] of a value without elements{self._shown()}", "only per(...) can be indexed")

    def __enter__(self) -> NoReturn:
        raise mistake(f"`with` applied to the state{self._shown()}", "use it directly")

    def __exit__(self, *error: object) -> None:
        """Never runs, because `__enter__` always raises."""

    def __str__(self) -> str:
        raise mistake(
            f"a state value in a string{self._shown()}",
            "compare it with ==; to inspect it, write print(repr(...))",
        )

    def __format__(self, spec: str) -> str:
        return str(self)

    def __delattr__(self, name: str) -> NoReturn:
        raise mistake(f"del of a state value{self._shown()}", "assign another value")

    def __delitem__(self, key: object) -> NoReturn:
        raise mistake(f"del of a state value{self._shown()}", "assign another value")

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise mistake(f"a copy of a state value{self._shown()}", "use it directly: it never changes")

    def __deepcopy__(self, memo: object) -> NoReturn:
        self.__reduce_ex__(0)

    def __copy__(self) -> NoReturn:
        self.__reduce_ex__(0)

    def __round__(self, digits: object = None) -> NoReturn:
        self.__index__()

    def __getattr__(self, name: str) -> Any:
        # An AttributeError, because Python itself looks up attributes such as __deepcopy__.
        known = [n for n, x in inspect.getmembers(type(self)) if n[0] != "_" and not inspect.isdatadescriptor(x)]
        known += [n for n, x in inspect.getmembers(type(self)) if n[0] != "_" and isinstance(x, property)]
        raise NoSuchAttribute(f"{caller()}: there is no .{name}{self._shown()}; {nearest(name, known)}")

    def __bool__(self) -> NoReturn:
        raise mistake(f"a branch depends on the state{self._shown()}", BRANCH)

    def __hash__(self) -> int:
        raise mistake(
            f"a state value in a Python set or dict{self._shown()}",
            "write .including(b) and .excluding(b) on sets of brokers, .add(...) on messages, or compare with ==",
        )

    def __contains__(self, other: object) -> NoReturn:
        raise mistake(f"`in` applied to the state{self._shown()}", "write .has(...), or some(...) of comparisons")

    def __iter__(self) -> NoReturn:
        raise mistake(
            f"a loop over the state{self._shown()}",
            "loop over self.brokers or a range, and test .has(...) or offset < .length",
        )

    def __len__(self) -> NoReturn:
        raise mistake(f"len() of the state{self._shown()}", "write .length of a sequence, .size of a set of brokers")

    def __index__(self) -> NoReturn:
        raise mistake(
            f"a state number where Python needs a constant{self._shown()}",
            "loop over its possible values, and compare with ==",
        )


class TheState:
    """The state that a method receives. The state has variables, but cannot be used as a value."""

    def _misused(self, *operands: object) -> NoReturn:
        raise mistake("the state is used as a value", "write s.name of a variable")

    _refuse: Any = _misused
    __eq__ = __ne__ = __bool__ = __iter__ = __len__ = __contains__ = __getitem__ = __setitem__ = __delitem__ = _refuse
    __copy__ = __deepcopy__ = __reduce_ex__ = __str__ = __format__ = __call__ = _refuse
    __hash__ = object.__hash__

    def __delattr__(self, name: str) -> NoReturn:
        raise mistake(f"del s.{name}", "assign another value")
