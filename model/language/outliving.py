"""What a method changes besides the state: it would outlive the step, and the next run would be another."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import CO_NESTED
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

from isrcheck.model.language.errors import mistake_in, running
from isrcheck.model.language.running import codes, enclosed, functions_of, is_a_modellers

OUTLIVES: Final = "keep it in a variable of the state"
HOLDS_MORE: Final = frozenset({"builtins", "types", "collections", "array", "numpy"})
"""Modules of Python whose objects can be changed, and say by `__reduce_ex__` what they hold."""
DEEP: Final = 30


@contextmanager
def nothing_outlives(method: Callable[..., Any], what: str, model: Any) -> Iterator[None]:
    """Raises `ModelError` where a method, while it is traced, has changed something besides the state."""
    watched = _Watched(method, model)
    outer, running.watched = running.watched, watched
    try:
        yield
    finally:
        running.watched = outer
    after = watched.of_the_model(model)
    for function, whole in watched.functions.items():
        after |= _around(function, whole)
    for name in {**watched.before, **after}:
        if watched.before.get(name) != after.get(name):
            raise mistake_in(method, f"{what} changes {name}, which outlives the step", OUTLIVES)


class _Watched:
    """The functions that a method runs, and what was around them before each first ran."""

    def __init__(self, method: Callable[..., Any], model: Any) -> None:
        self.functions = dict.fromkeys(functions_of(method, model), True)
        self.codes: dict[int, CodeType] = {id(f.__code__): f.__code__ for f in self.functions}
        self.before = self.of_the_model(model)
        for function in self.functions:
            self.before |= _around(function, True)

    def meet(self, function: FunctionType) -> None:
        """A function is about to run; most are known already."""
        code = function.__code__
        if id(code) not in self.codes:
            self.codes[id(code)] = code
            if is_a_modellers(function.__globals__.get("__name__", ""), code.co_filename):
                whole = self.functions[function] = not code.co_flags & CO_NESTED  # what is made in the step is its own
                self.before = {**_around(function, whole), **self.before}

    def of_the_model(self, model: Any) -> dict[str, Any]:
        """The shapes of the attributes of a model and of its classes."""
        found: dict[str, Any] = {}
        for cls in type(model).__mro__:
            if is_a_modellers(cls.__module__):
                found |= {f"{cls.__name__}.{name}": _shape(x) for name, x in vars(cls).items()}
                slots = [n for n, x in vars(cls).items() if type(x).__name__ == "member_descriptor"]
                found |= {f"self.{name}": _shape(getattr(model, name, None)) for name in slots}
        own = {n: x for n, x in vars(model).items() if not hasattr(getattr(type(model), n, None), "func")}
        return found | {f"self.{name}": _shape(x) for name, x in own.items()}


def _around(function: FunctionType, whole: bool) -> dict[str, Any]:
    """The shapes of the globals that a function names; of the whole also what it encloses, defaults and attributes."""
    globals_ = function.__globals__
    names = {name for code in codes(function.__code__) for name in code.co_names}
    found = {name: _shape(globals_[name]) for name in sorted(names & globals_.keys())}
    if not whole:
        return found
    found |= {name: _shape(x) for name, x in zip(function.__code__.co_freevars, enclosed(function), strict=True)}
    found[f"a default of {function.__name__}"] = _shape([function.__defaults__, function.__kwdefaults__])
    found[f"an attribute of {function.__name__}"] = _shape(vars(function))
    return found


class _Same:
    """Equal to itself alone. It keeps what it stands for, so that nothing else gets its address."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value

    __hash__ = None  # type: ignore[assignment]


def _shape(value: Any, around: tuple[int, ...] = ()) -> Any:
    """What differs after a change of a container, of a function's attributes, or of an object of a modeller's class."""
    if value is None or type(value) in (bool, int, str, bytes, float, complex):
        return type(value), repr(value)  # not a number is no equal of itself
    if id(value) in around or len(around) > DEEP:
        return _Same(value)
    inside, kind = (*around, id(value)), type(value)
    held: Any = None
    match value:
        case tuple() | list() | set() | frozenset() | deque():
            held = [_shape(x, inside) for x in value]
        case dict():
            held = [(_shape(key, inside), _shape(x, inside)) for key, x in value.items()]
        case FunctionType() if is_a_modellers(value.__globals__.get("__name__", ""), value.__code__.co_filename):
            held = _shape(vars(value), inside)
        case type() | ModuleType() | FunctionType():
            pass
        case _ if is_a_modellers(kind.__module__) or kind.__module__.partition(".")[0] in HOLDS_MORE:
            held = _held(value, inside)
    return [_Same(value) if isinstance(value, FunctionType | type | ModuleType) or held is None else kind, held]


def _held(value: Any, around: tuple[int, ...]) -> Any:
    if hasattr(value, "__dict__"):
        return _shape(vars(value), around)
    try:
        return _shape(value.__reduce_ex__(2)[1:3], around)
    except Exception:  # most of what cannot be taken apart cannot be changed
        return None
