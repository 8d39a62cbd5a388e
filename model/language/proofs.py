"""The language in which proofs are written: history variables, lemmas and targets.

A *proof* shows why an invariant holds in every reachable state, whatever the bounds. *History variables* remember what
the model's state forgets. A *recorder* assigns them in the same step as an action. History variables never decide
whether an action can happen. *Lemmas* are conditions on states and on history variables. Together the lemmas are
*inductive*: they hold at the start, and a step from a state where all lemmas hold leads to a state where all lemmas
hold. The lemmas imply the statements to prove. Some of these statements are invariants of the model, which `invariants`
names. The others are *targets*, which the proof itself states.

A proof is a class in a file beside the model:

    class Mine(Proof):
        of = MyModel
        invariants = ("the-value-is-small",)

        def history(self):
            return {"greatest": number(0, self.model.top)}

        @records("count_up")
        def remember(self, s):
            return {"greatest": maximum(s.greatest, s.value + 1)}

        @lemma()
        def value_is_remembered(self, s):
            \"""The value is not above the greatest one.\"""
            return s.value <= s.greatest

Parameters of lemmas and targets are quantified: the condition must hold for all their values. In a proof without
bounds, a numeric parameter represents every whole number of its domain, so Python cannot loop up to the parameter.
Instead of a loop over a `range`, use another parameter, or `for_all` with `below` (see `endless`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from isrcheck.model.language.decorators import Method, ParameterDomain, listed, refuse_unused
from isrcheck.model.language.domains import Domain
from isrcheck.model.language.errors import ModelError, UnknownName, caller, line_of, mistake, nearest
from isrcheck.model.language.model import Model, kebab
from isrcheck.model.semantics.method_calls import heeded

Kind = Literal["lemma", "target", "candidate"]
Invariant = Callable[[Any, Any], Any]
"""A function of a model and a state."""


@dataclass(frozen=True)
class Statement:
    """A lemma or a target of a proof: for all values of its parameters, `method(proof, s, ...)` holds."""

    name: str
    kind: Kind
    sentence: str
    parameters: dict[str, ParameterDomain]
    method: Callable[..., Any]


def _statement(kind: Kind, parameters: dict[str, ParameterDomain]) -> Callable[[Method], Method]:
    def decorate(method: Method) -> Method:
        named = list(inspect.signature(method).parameters)[2:]
        if named != list(parameters):
            what = f"{line_of(method)}: {kind} {method.__name__} takes ({', '.join(named)})"
            raise ModelError(f"{what}; declare exactly these parameters")
        sentence = " ".join((method.__doc__ or "").split("\n\n")[0].split())
        if not sentence:
            raise ModelError(
                f"{line_of(method)}: {kind} {method.__name__} has no docstring; describe its meaning in one sentence"
            )
        name = kebab(method.__name__)
        method.__statement__ = Statement(name, kind, sentence, parameters, method)  # type: ignore[attr-defined]
        return listed(method)

    return decorate


def lemma(**parameters: ParameterDomain) -> Callable[[Method], Method]:
    """Marks a method `(self, s, ...)` as a lemma. Every step must preserve the conjunction of all lemmas."""
    return _statement("lemma", parameters)


def candidate(**parameters: ParameterDomain) -> Callable[[Method], Method]:
    """Marks a method as a lemma of which the author is not sure: a reachable state may falsify it without an error."""
    return _statement("candidate", parameters)


def target(**parameters: ParameterDomain) -> Callable[[Method], Method]:
    """Marks a method as a target: a statement to prove that is not an invariant of the model."""
    return _statement("target", parameters)


def records(*actions: str) -> Callable[[Method], Method]:
    """Marks a method as a recorder of the named actions; a model need not have all of these actions.

    The recorder takes parameters of the action by name and reads the state before the action. The recorder returns a
    dict with the new values of history variables.
    """

    def decorate(method: Method) -> Method:
        method.__records__ = tuple(kebab(a) for a in actions)  # type: ignore[attr-defined]
        return listed(method)

    return decorate


class Proof:
    """A proof of invariants of a model; the docstring of this file describes the parts of a proof.

    `of` is the model, or a common base class of several models. `invariants` names the invariants of the model to
    prove; the proof does not state them again. `mutants` are models for which the proof must fail, because each of them
    lacks one thing that the protocol needs.
    """

    of: ClassVar[type[Model]] = Model
    invariants: ClassVar[tuple[str, ...]] = ()
    mutants: ClassVar[tuple[type[Model], ...]] = ()
    __stands__: ClassVar[str]

    def __init_subclass__(cls) -> None:
        cls.__stands__ = caller()
        listed(cls)
        used = ("lemma", "candidate", "target", "records")
        for base in cls.__mro__:
            if base is cls or not issubclass(base, Proof):
                refuse_unused(base.__dict__, used, "is in a proof", "put it into a model")

    def __init__(self, model: Model) -> None:
        self.model: Any = model

    def history(self) -> dict[str, Domain]:
        """Name and domain of each history variable; the variable starts at the first value of its domain."""
        return {}

    @classmethod
    def name(cls) -> str:
        """The name on the command line: the name of the file."""
        return kebab(cls.__module__.rpartition(".")[2])

    @classmethod
    def statements(cls, *kinds: Kind) -> dict[str, Statement]:
        """The statements of the given kinds by name, in the order of the file. Those of base classes come first."""
        found = [x.__statement__ for x in cls._methods() if hasattr(x, "__statement__")]
        return {x.name: x for x in found if x.kind in kinds}

    @classmethod
    def aims(cls) -> tuple[str, ...]:
        """The names of the statements to prove: invariants of the model, then targets."""
        return (*cls.invariants, *cls.statements("target"))

    @classmethod
    def targets(cls, invariants: Mapping[str, Invariant], model: str) -> dict[str, Statement]:
        """The statements to prove, given a model's invariants; raises `ModelError` for an unknown or ambiguous name."""
        found = {}
        for name in cls.invariants:
            if name not in invariants:
                raise UnknownName(
                    f"proof {cls.name()} names invariant {name!r}, which model {model} does not have; "
                    f"{nearest(name, invariants)}"
                )
            found[name] = _of_invariant(name, invariants[name])
        for name, own in cls.statements("lemma", "candidate", "target").items():
            if name in (invariants if own.kind == "target" else cls.invariants):
                raise ModelError(
                    f"{line_of(own.method)}: {own.kind} {name} has the name of an invariant of model "
                    f'{model}; to prove that invariant write invariants = ("{name}",), and rename this'
                )
        return {**found, **cls.statements("target")}

    @classmethod
    def recorders(cls, action: str) -> list[Callable[..., Any]]:
        """The recorders of an action, in the order of the file."""
        return [x for x in cls._methods() if action in getattr(x, "__records__", ())]

    @classmethod
    def _methods(cls) -> Iterator[Any]:
        names: dict[str, None] = {}
        for base in reversed(cls.__mro__):
            names.update(dict.fromkeys(base.__dict__))
        return (x for name in names if callable(x := getattr(cls, name)) and not name.startswith("__"))

    @classmethod
    def check_fit(cls, model: type[Model], name: str) -> None:
        """Raises `UnknownName` if the proof is about other models, or records only actions that this model lacks."""
        if not any(_same_class(base, cls.of) for base in model.__mro__):
            raise UnknownName(
                f"proof {cls.name()} is about models derived from {cls.of.__name__}; {name} is not one of them"
            )
        recorded = {a for x in cls._methods() for a in getattr(x, "__records__", ())}
        if recorded and not recorded & set(model.actions()):
            raise UnknownName(
                f"proof {cls.name()} records actions that model {name} does not have: {', '.join(sorted(recorded))}; "
                f"{nearest(min(recorded), model.actions())}"
            )


def _of_invariant(name: str, invariant: Invariant) -> Statement:
    """An invariant of the model as a statement of a proof."""
    sentence = " ".join((invariant.__doc__ or "").split("\n\n")[0].split())
    return Statement(name, "target", sentence, {}, lambda proof, s: invariant(proof.model, s))


def _same_class(a: type, b: type) -> bool:
    """True if two classes have the same definition. A user's file may run twice: for the model and for its proof."""
    return a is b or (a.__qualname__ == b.__qualname__ and _file_of(a) == _file_of(b))


def _file_of(cls: type) -> str:
    """The file that defines a class; the name of its module if the class body has no function."""
    found = [x for x in vars(cls).values() if inspect.isfunction(x)]
    return str(Path(found[0].__code__.co_filename).resolve()) if found else cls.__module__


class _Before:
    """The state before an action, which a recorder can only read."""

    def __init__(self, s: Any) -> None:
        self.__dict__["_s"] = s

    def __getattr__(self, name: str) -> Any:
        return getattr(self._s, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._s, name, value)

    def require(self, *conditions: Any) -> None:
        raise mistake(
            "a recorder uses require, but history variables must not disable a step",
            "return a value in each case, with when(condition, a, b)",
        )


def recorded_values(proof: Proof, recorder: Callable[..., Any], s: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """The result of a recorder for an action instance.

    Raises `ModelError` for a parameter that the action does not have, and for a result that is not a dict from history
    variables to values.
    """
    taken = list(inspect.signature(recorder).parameters)[2:]
    for name in taken:
        if name not in arguments:
            raise ModelError(
                f"{line_of(recorder)}: recorder {recorder.__name__} takes {name!r}, which its action "
                f"does not have; available: {', '.join(arguments) or 'none'}"
            )
    values = heeded(recorder, proof, _Before(s), **{name: arguments[name] for name in taken})
    known = proof.history()
    if not isinstance(values, dict):
        raise mistake(f"recorder {recorder.__name__} does not return a dict", "return {'history_variable': value}")
    for name in values:
        if name not in known:
            raise ModelError(
                f"{line_of(recorder)}: recorder {recorder.__name__} returns {name!r}, which is not a "
                f"history variable; {nearest(name, known)}"
            )
    return values
