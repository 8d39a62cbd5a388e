"""Makes the mutants of a model. In each mutant, one edit changes the code that one action runs.

A mutant is itself a model: every engine can explore it, and the reference semantics replays its traces. The edit takes
effect only while the action runs. Invariants and other actions that share code with the action stay as they are.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import CodeType, FrameType, FunctionType
from typing import Any, Final, Literal

from isrcheck.checker.changes.mutation.edits import Edit, candidates, edited, lies_in
from isrcheck.model.language.errors import ModelError, UnknownName, nearest
from isrcheck.model.language.model import Model, kebab
from isrcheck.model.semantics.method_calls import is_a_modellers
from isrcheck.model.semantics.tracing import instances_of
from isrcheck.model.semantics.transition_system import Transition

Touched = Literal["guard", "update"]
SHIPPED: Final = ("isrcheck.model.", "isrcheck.invariants.")
"""The prefixes of the names of the shipped modules that contain models or invariants."""
SENSELESS: Final = (ModelError, TypeError, ValueError, LookupError, AttributeError, AssertionError)
"""Exceptions that show that an edit does not give a valid model."""


@dataclass(frozen=True)
class Mutant:
    """An edit of an action's code, with the instances that the action has after the edit.

    `touches` says whether the edit changes a guard, or only the values of an update.
    """

    action: str
    edit: Edit
    touches: Touched
    instances: tuple[Transition, ...]


@dataclass(frozen=True)
class Family:
    """An action and its mutants. No two of the mutants have the same instances.

    `senseless` counts the edits that do not give a valid model. For example, such an edit adds 1 to a set, or changes a
    condition that Python itself evaluates.
    """

    action: str
    instances: tuple[Transition, ...]
    mutants: tuple[Mutant, ...]
    senseless: int


def family(model: Model, action: str) -> Family:
    """The mutants of an action, in the order of the source. Each mutant has other instances than the action itself."""
    with noticing_calls() as called:
        own = tuple(instances_of(model, action))
    found: dict[Any, Mutant] = {}
    senseless = 0
    edits = [e for f in functions_of(type(model)) if f.__code__ in called for e in candidates(f)]
    # Removals come first: if a weaker condition has the same effect, it is reported as a removal.
    for edit in sorted(edits, key=lambda e: e.kind == "weakened"):
        try:
            instances = _instances(model, action, edit)
            touched: Touched = "guard" if _guards(instances) != _guards(own) else "update"
        except SENSELESS:
            senseless += 1
            continue
        found.setdefault(_identity(instances), Mutant(action, edit, touched, instances))
    found.pop(_identity(own), None)
    return Family(action, own, tuple(sorted(found.values(), key=lambda m: edits.index(m.edit))), senseless)


def again(
    model: Model, lines: Sequence[tuple[str, Edit]]
) -> list[tuple[tuple[Transition, ...], tuple[Transition, ...]] | None]:
    """For each action and edit, the instances of the action and of its mutant at the settings of `model`.

    An entry is None if the mutant has the same instances, or if the edit does not give a valid model.
    """
    own = {action: tuple(instances_of(model, action)) for action in dict.fromkeys(a for a, _ in lines)}
    return [_other(model, own[action], action, edit) for action, edit in lines]


def _other(
    model: Model, own: tuple[Transition, ...], action: str, edit: Edit
) -> tuple[tuple[Transition, ...], tuple[Transition, ...]] | None:
    try:
        changed = _instances(model, action, edit)
    except SENSELESS:
        return None
    return None if _identity(own) == _identity(changed) else (own, changed)


def _instances(model: Model, action: str, edit: Edit) -> tuple[Transition, ...]:
    return tuple(instances_of(mutated(type(model), action, edit)(**model.settings), action))


def mutated(cls: type[Model], action: str, *edits: Edit) -> type[Model]:
    """A subclass of a model in which one action runs edited code."""
    functions = [(f, tuple(e for e in edits if lies_in(e, f))) for f in functions_of(cls)]
    codes = [(f, edited(f, mine)) for f, mine in functions if mine]
    if len([e for _, mine in functions for e in mine]) < len(edits):
        raise RuntimeError(f"{cls.__name__} has no function with one of {', '.join(e.where for e in edits)}")
    name = next(n for n in dir(cls) if kebab(n) == action)
    original = getattr(cls, name)

    @functools.wraps(original)
    def method(self: Model, s: Any, *arguments: Any) -> None:
        own = [f.__code__ for f, _ in codes]
        for function, code in codes:
            function.__code__ = code
        try:
            original(self, s, *arguments)
        finally:
            for (function, _), code in zip(codes, own, strict=True):
                function.__code__ = code

    return type(cls.__name__, (cls,), {name: method, "__module__": cls.__module__, "__doc__": cls.__doc__})


def chosen_actions(model: Model, names: tuple[str, ...]) -> tuple[str, ...]:
    """The actions with these names, or all actions if no names are given. Raises `UnknownName` for an unknown name."""
    known = tuple(model.actions())
    for name in names:
        if name not in known:
            raise UnknownName(f"model {model.name()} has no action {name!r}; {nearest(name, known)}")
    return tuple(sorted(set(names))) or known


def _identity(instances: tuple[Transition, ...]) -> tuple[Any, ...]:
    """A key that is equal for equal instances. It has object ids, because equal expressions are the same object."""
    return tuple(
        (str(t.label), id(t.guard), id(t.failure), tuple((leaf, id(x)) for leaf, x in t.updates.items()))
        for t in instances
    )


def _guards(instances: tuple[Transition, ...]) -> list[int]:
    return [id(t.guard) for t in instances]


def functions_of(cls: type[Model]) -> Iterator[FunctionType]:
    """The functions of a model's class, of its base classes, and of their modules: each once, subclasses first."""
    seen: set[FunctionType] = set()
    for base in cls.__mro__:
        for found in () if base in (Model, object) else (*_members(base), *_beside(base)):
            if found not in seen:
                seen.add(found)
                yield found


def _members(cls: type) -> list[FunctionType]:
    return [x for x in list(vars(cls).values()) if isinstance(x, FunctionType) and _is_a_models_own(x)]


def _beside(cls: type) -> Iterator[FunctionType]:
    """The functions in a class's module that may be part of a model. Functions that the module imports are included.

    Functions of the modelling language, of Python, and of installed packages without models are left out.
    """
    for found in list(_module_of(cls).values()):
        if isinstance(found, FunctionType) and _is_a_models_own(found) and _is_a_modellers(found):
            yield found


def _module_of(cls: type) -> dict[str, Any]:
    """The global names of the module of a class, as the class's functions see them.

    The names are taken from a function of the class, because `sys.modules` may have another module under the same name.
    (A user's file is not imported by its name, and another file in its folder may be loaded in two versions.) If the
    class has no function, the module in `sys.modules` is used, but only if it contains this class.
    """
    seen = (f.__globals__ for f in _members(cls))
    found = next((names for names in seen if names.get("__name__") == cls.__module__), None)
    if found is None:
        named = vars(sys.modules[cls.__module__]) if cls.__module__ in sys.modules else {}
        found = named if named.get(cls.__name__) is cls else {}
    return found


def _is_a_modellers(function: FunctionType) -> bool:
    module = function.__module__
    return module.startswith(SHIPPED) or is_a_modellers(module, function.__code__.co_filename)


def _is_a_models_own(function: FunctionType) -> bool:
    return not hasattr(function, "__wrapped__") and not function.__module__.startswith("isrcheck.model.language")


class noticing_calls:
    """Collects the code of every Python function that is called in a `with` block."""

    def __enter__(self) -> set[CodeType]:
        self.called: set[CodeType] = set()
        self.before = sys.getprofile()
        sys.setprofile(self._notice)
        return self.called

    def _notice(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            self.called.add(frame.f_code)

    def __exit__(self, *error: object) -> None:
        sys.setprofile(self.before)
