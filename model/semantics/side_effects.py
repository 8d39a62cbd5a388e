"""Detects changes that a method makes outside the state. Such changes would outlive the step and affect later runs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from inspect import CO_NESTED
from types import BuiltinFunctionType, CodeType, FunctionType, GeneratorType, ModuleType
from typing import Any, Final

from isrcheck.model.language.errors import mistake_in, running
from isrcheck.model.semantics.method_calls import codes, enclosed, functions_of, is_a_modellers

Place = tuple[int, str]
"""Identifies a watched value by the address of the function that uses the value (0 for the model), and by a name."""
SIDE_EFFECT: Final = "keep it in a variable of the state"
HOLDS_MORE: Final = frozenset({"builtins", "types", "collections", "array", "numpy", "itertools", "weakref"})
"""Modules of Python whose objects can be changed. `__reduce_ex__` returns the contents of such an object."""


PLAIN: Final = frozenset({type(None), bool, int, str, bytes})
UNCHANGED: Final = frozenset({property, classmethod, BuiltinFunctionType, type(str.join)})
"""Types whose values cannot change, and are equal only to themselves."""


@contextmanager
def no_side_effects(method: Callable[..., Any], what: str, model: Any) -> Iterator[None]:
    """Raises `ModelError` if the method, run in the `with` block, has changed something besides the state."""
    watched = _Watched(method, model)
    outer, running.watched = running.watched, watched
    try:
        yield
    finally:
        running.watched = outer
    after = watched.of_the_model(model)
    for function, whole in watched.functions.items():
        after |= _around(function, whole)
    for place in {**after, **watched.before}:
        if watched.before.get(place) != after.get(place):
            raise mistake_in(method, f"{what} changes {place[1]}, which survives the step", SIDE_EFFECT)


class _Watched:
    """The functions that a method runs or names, and the shapes (see `_Shapes`) of the values these functions name.

    `before` maps each `Place` to the shape that the value has before the function first runs.
    """

    def __init__(self, method: Callable[..., Any], model: Any) -> None:
        self.functions = dict.fromkeys(functions_of(method, model), True)
        self.codes: dict[int, CodeType] = {id(f.__code__): f.__code__ for f in self.functions}
        self.before = self.of_the_model(model)
        for function in self.functions:
            self.before |= _around(function, True)

    def meet(self, function: FunctionType) -> None:
        """Watches a function that is about to run, unless the function is already watched."""
        code = function.__code__
        if id(code) not in self.codes:
            self.codes[id(code)] = code
            if is_a_modellers(function.__globals__.get("__name__", ""), code.co_filename):
                whole = self.functions[function] = not code.co_flags & CO_NESTED  # nested: the step makes it
                self.before = {**_around(function, whole), **self.before}

    def of_the_model(self, model: Any) -> dict[Place, Any]:
        """The shapes of the attributes of a model and of its classes."""
        shape, found = _Shapes().of, dict[str, Any]()
        for cls in type(model).__mro__:
            if is_a_modellers(cls.__module__):
                found |= {f"{cls.__name__}.{name}": shape(x) for name, x in vars(cls).items() if name[:2] != "__"}
                slots = [n for n, x in vars(cls).items() if type(x).__name__ == "member_descriptor"]
                found |= {f"self.{name}": shape(getattr(model, name, None)) for name in slots}
        own = {n: x for n, x in vars(model).items() if not hasattr(getattr(type(model), n, None), "func")}
        found |= {f"self.{name}": shape(x) for name, x in own.items()}
        return {(0, name): x for name, x in found.items()}


def _around(function: FunctionType, whole: bool) -> dict[Place, Any]:
    """The shapes of the globals that a function names and, if `whole`, of its free variables, defaults, attributes."""
    shape, code, globals_ = _Shapes().of, function.__code__, function.__globals__
    names = {name for one in codes(code) for name in one.co_names if name in globals_ and name[0] != "@"}
    found = {name: shape(globals_[name]) for name in sorted(names)}
    if whole:
        found |= {name: shape(x) for name, x in zip(code.co_freevars, enclosed(function), strict=True)}
        found[f"a default of {function.__name__}"] = shape([function.__defaults__, function.__kwdefaults__])
        found[f"an attribute of {function.__name__}"] = shape(vars(function))
    return {(id(function), name): x for name, x in found.items()}


class _Same:
    """A value that is compared by identity. This object keeps the value alive, so no other value gets its address."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value

    __hash__ = None  # type: ignore[assignment]


class _Shapes:
    """Computes *shapes* of values: if a value changes, its shape after the change differs from its shape before.

    A shape covers containers, attributes of functions, and objects of a modeller's own classes and modules.
    """

    def __init__(self) -> None:
        self.seen: dict[int, tuple[int, Any]] = {}

    def of(self, value: Any) -> Any:
        """The shape of a value. If `seen` has the value already, the shape is its number in `seen`, so cycles end."""
        kind = type(value)
        if kind in PLAIN:
            return kind, value
        if kind is float or kind is complex:
            return kind, repr(value)  # NaN is not equal to itself
        if kind in UNCHANGED or (kind is FunctionType and not value.__dict__):
            return value
        if id(value) in self.seen:
            return self.seen[id(value)][0]
        self.seen[id(value)] = len(self.seen), value
        held = self._held(value)
        kept = held is None or isinstance(value, FunctionType | type | ModuleType)
        return [_Same(value) if kept else kind, held]

    def _held(self, value: Any) -> Any:
        """The contents of a value; None for contents that do not change or cannot be determined."""
        kind = type(value)
        match value:
            case tuple() | list() | set() | frozenset() | deque():
                return [self.of(x) for x in value]
            case dict():
                return [(self.of(key), self.of(x)) for key, x in value.items()]
            case FunctionType():
                mine = is_a_modellers(value.__globals__.get("__name__", ""), value.__code__.co_filename)
                return self._named(vars(value)) if mine else None
            case type():
                return self._named(vars(value)) if is_a_modellers(value.__module__) else None
            case ModuleType():
                file = getattr(value, "__file__", None)
                mine = value.__spec__ is None or is_a_modellers(value.__name__, file or "<frozen ")
                return self._named(vars(value)) if mine else None
            case GeneratorType():
                frame = value.gi_frame
                return [frame and frame.f_lasti, self.of(frame and frame.f_locals)]
        if not is_a_modellers(kind.__module__) and kind.__module__.partition(".")[0] not in HOLDS_MORE:
            return None
        if hasattr(value, "__dict__"):
            return self._named(vars(value))
        try:
            return self.of(value.__reduce_ex__(2)[1:3])
        except Exception:  # most objects that cannot be taken apart cannot be changed
            return None

    def _named(self, names: Mapping[str, Any]) -> list[tuple[str, Any]]:
        return [(n, self.of(x)) for n, x in names.items() if not n.startswith(("__", "@"))]
