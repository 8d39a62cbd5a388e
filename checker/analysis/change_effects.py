"""Where a changed model takes steps that its base does not take: the *effect* of the change.

The base is the shipped or written model from which a user's model inherits, or the same model at the settings of its
profile. A bound is no change: the base has the bounds of the changed model. Base and changed model are traced, and
compared instance by instance. Equal expressions are one object, so what is equal needs no search. Each *part* that
differs (an action, an invariant, a constraint) becomes a goal: the state in which the two differ. So each engine that
looks for goals says at which level the change first acts.

If no reachable state of the changed model is such a state, the base has the same states and the same steps. A
comparison that cannot show this says why, and never claims that a change does not act.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from isrcheck.checker.kernel.exchanges import Renaming
from isrcheck.checker.registry.loader import SHIPPED, LoadedModel, fitting, fitting_properties
from isrcheck.checker.results.exploration import Exploration
from isrcheck.checker.results.result import ChangeEffect
from isrcheck.model.language.errors import EvaluationError, ModelError, UnknownName
from isrcheck.model.language.model import Model
from isrcheck.model.language.settings import Setting
from isrcheck.model.language.text_conditions import is_condition_text
from isrcheck.model.semantics import expressions as e
from isrcheck.model.semantics.concrete_values import State
from isrcheck.model.semantics.expressions import FALSE, TRUE, Expression
from isrcheck.model.semantics.interpreter import Interpreter
from isrcheck.model.semantics.tracing import trace
from isrcheck.model.semantics.transition_system import Label, Predicate, Transition, TransitionSystem

Named = Mapping[str, Callable[[Any, Any], Any]]
PREFIX: Final = "the change in "
"""The beginning of the names of the goals. No goal of a model has a name with a space."""
START: Final = "initial states"


@dataclass
class Change:
    """What differs between a model and its base at the same settings.

    `settings` has the settings that differ: the value here and the value of the base. `goals` has a predicate for each
    part that differs. `started` is true if the initial states differ. `added` names the invariants that the base does
    not have. `unlocated` says in words which differences no predicate describes.
    """

    base: str
    settings: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    goals: tuple[Predicate, ...] = ()
    started: bool = False
    added: list[str] = field(default_factory=list)
    unlocated: list[str] = field(default_factory=list)
    sizes: dict[str, Any] = field(default_factory=dict)

    def noted_by(self, system: TransitionSystem) -> TransitionSystem:
        """The system with a goal for each part that differs."""
        return replace(system, goals=(*system.goals, *self.goals)) if self.goals else system

    def asked_of(self, interpreter: Interpreter) -> Interpreter:
        """The interpreter with the same goals, for the engine that uses no transition system."""
        return _Noting(interpreter, self.goals)

    def hidden_by_symmetry(self) -> Change:
        """The change without its goals, which orbits cannot show: they tell interchangeable members apart."""
        why = "it tells brokers apart that are otherwise interchangeable; check without --symmetry"
        return replace(self, goals=(), unlocated=[*self.unlocated, why])

    def effect(self, exploration: Exploration) -> ChangeEffect:
        """The effect of the change in an exploration of the system that notes it."""
        first = {p.name.removeprefix(PREFIX): exploration.goals.get(p.name) for p in self.goals}
        if self.started:
            first[START] = 1 if exploration.depth else None
        unlocated = list(self.unlocated)
        if exploration.unrolled is not None:
            unlocated.append("this engine does not look for the states in which it acts")
        outside = [name for name, level in first.items() if level is None and name.startswith(("constraint", "invar"))]
        if outside and exploration.rejected:
            # No goal is sought in states outside the constraints, but invariants are checked there.
            unlocated.append(f"it may act outside the constraints, through {outside[0]}")
        return ChangeEffect(self.base, self.settings, first, self.added, unlocated, self.sizes)


class _Noting(Interpreter):
    """An interpreter with further goals, which are expressions over the leaves of a state."""

    def __init__(self, interpreter: Interpreter, goals: tuple[Predicate, ...]) -> None:
        vars(self).update(vars(interpreter))
        self._noted = {p.name: p.holds for p in goals}

    def evaluated(self, state: State, predicates: dict[str, Any]) -> dict[str, bool | None]:
        answers = super().evaluated(state, predicates)
        if predicates is self.goals:
            values = e.evaluate([*self._noted.values()], self.leaves(state))
            answers |= {name: bool(value) for name, value in zip(self._noted, values, strict=True)}
        return answers


def change_of(
    loaded: LoadedModel,
    model: Model,
    start: Mapping[str, Any],
    system: TransitionSystem,
    asked: tuple[Named, Named],
) -> Change | None:
    """How a model differs from its base; None if it has no base, or does not differ from it.

    `start` has the settings of the base from which the user began: those of a profile or of a scenario. `asked` are the
    invariants and the properties that are checked.
    """
    base = base_of(loaded.cls)
    fixed = {name: getattr(model, name) for name in base.declared_settings()}
    changed = _changed_settings(base, fixed, start)
    if base is loaded.cls and not changed:
        return None
    found = Change(base.name() if base is not loaded.cls else loaded.name)
    if base is not loaded.cls:
        found.sizes = _own_sizes(base, loaded.cls)
    try:
        instance = _base_instance(base, model, fixed, changed, found)
        if instance is not None and (base is not loaded.cls or found.settings):
            _compare(instance, system, asked, found)
    except (ModelError, UnknownName, EvaluationError) as error:
        found.unlocated.append(f"{found.base} cannot be compared at these settings: {error}")
    return None if base is loaded.cls and not (found.settings or found.unlocated) else found


def base_of(cls: type[Model]) -> type[Model]:
    """The model from which a user's model inherits; a shipped model, or a model that inherits from none, is its own."""
    if cls.__module__.startswith(SHIPPED):
        return cls
    bases = [x for x in cls.__mro__[1:] if issubclass(x, Model) and x is not Model and not x.abstract]
    return bases[0] if bases else cls


def _changed_settings(base: type[Model], values: Mapping[str, Any], start: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of the base that have other values here, each with the value of the base; bounds are left out."""
    declared = {n: s for n, s in base.declared_settings().items() if s.bound is None and s.counts is None}
    return {n: start.get(n, s.default) for n, s in declared.items() if values[n] != start.get(n, s.default)}


def _own_sizes(base: type[Model], cls: type[Model]) -> dict[str, Any]:
    """The bounds, and the numbers of members of scalarsets, for which a class has another default or a fixed value."""
    declared = {n: s for n, s in base.declared_settings().items() if s.bound is not None or s.counts is not None}
    own = {name: getattr(cls, name) for name in declared}
    values = {name: value.default if isinstance(value, Setting) else value for name, value in own.items()}
    return {name: value for name, value in values.items() if value != declared[name].default}


def _base_instance(
    base: type[Model], model: Model, values: dict[str, Any], changed: dict[str, Any], found: Change
) -> Model | None:
    """The base with the variables of the changed model, and as many as possible of the settings of the base.

    A number that determines the domain of a variable is a size, and no change. None if domains differ in any case.
    """
    instance = base(**values)
    if different := _different_domains(instance, model):
        found.unlocated.append(f"{found.base} has other domains: {', '.join(different)}")
        return None
    left = dict(changed)
    for name in [*changed, *changed]:  # twice, because one value may need another
        if name not in left:
            continue
        try:
            other = base(**{**values, name: changed[name]})
        except UnknownName:
            continue
        if not _different_domains(other, model):
            found.settings[name] = (values[name], left.pop(name))
            values, instance = {**values, name: changed[name]}, other
    rules = [name for name in left if isinstance(values[name], bool | str)]
    if rules:
        found.settings |= {name: (values[name], left[name]) for name in rules}
        found.unlocated.append(f"{', '.join(rules)}: the variables change, or other settings need this value")
    return instance


def _different_domains(base: Model, model: Model) -> list[str]:
    """The variables of the base that the model does not have, or that have another domain there."""
    return [name for name, domain in base.domains.items() if model.domains.get(name) != domain]


def _compare(base: Model, system: TransitionSystem, asked: tuple[Named, Named], found: Change) -> None:
    invariants, properties = asked
    module = sys.modules.get(type(base).__module__)
    own, own_properties = fitting(type(base), module), fitting_properties(type(base), module)
    own = {**{n: f for n, f in invariants.items() if is_condition_text(n)}, **own}
    same = {name: own[name] for name in invariants if name in own}
    found.added = sorted({*invariants} - {*same})
    other = trace(base, same, {n: own_properties[n] for n in properties if n in own_properties})
    pairing = _Pairing(other, system)
    found.started = pairing.initial() != {*other.initial}
    parts = [*pairing.actions(), *pairing.predicates()]
    found.goals = tuple(Predicate(PREFIX + name, "", where, FALSE) for name, where in parts if where is not FALSE)
    if properties and not pairing.same_properties():
        found.unlocated.append("properties of behaviours, or which actions are fair, differ")


class _Pairing:
    """A base and a changed model as data, with the expressions of the base over the leaves of the changed model."""

    def __init__(self, base: TransitionSystem, changed: TransitionSystem) -> None:
        self.base, self.changed = base, changed
        starts = {v.name: v.start for v in changed.variables}
        self.places = [starts[v.name] + i for v in base.variables for i in range(len(v.domain.scalars))]
        self.shared = {*self.places}
        here = Renaming([e.leaf(changed.leaves[place]) for place in self.places])
        alike = base.leaves == changed.leaves[: len(base.leaves)]
        self.here: Callable[[Expression], Expression] = (lambda x: x) if alike else here

    def initial(self) -> set[tuple[int, ...]]:
        """The initial states of the changed model, without the variables that the base does not have."""
        return {tuple(state[place] for place in self.places) for state in self.changed.initial}

    def actions(self) -> Iterator[tuple[str, Expression]]:
        """For each action, the condition that an instance has another guard or effect; FALSE if all are equal."""
        found: dict[str, list[Expression]] = {}
        base = {t.label: t for t in self.base.transitions}
        changed = {t.label: t for t in self.changed.transitions}
        for label in [*changed, *(label for label in base if label not in changed)]:
            found.setdefault(label.action, []).append(self._differs(label, base.get(label), changed.get(label)))
        for action, cases in found.items():
            yield f"action {action}", e.or_(*cases)

    def _differs(self, label: Label, a: Transition | None, b: Transition | None) -> Expression:
        none = (FALSE, FALSE)
        guard, failure = none if a is None else (self.here(a.guard), self.here(a.failure))
        own_guard, own_failure = none if b is None else (b.guard, b.failure)
        cases = [_unlike(guard, own_guard), _unlike(failure, own_failure)]
        if a is not None and b is not None:
            cases.append(e.and_(guard, own_guard, self._elsewhere(a, b)))
        return e.or_(*cases)

    def _elsewhere(self, a: Transition, b: Transition) -> Expression:
        """The condition that two instances give different values to a leaf of the base."""
        theirs = {self.places[i]: self.here(x) for i, x in a.updates.items()}
        both = sorted(({*theirs} | {*b.updates}) & self.shared)
        stays = {i: e.leaf(self.changed.leaves[i]) for i in both}
        pairs = [(theirs.get(i, stays[i]), b.updates.get(i, stays[i])) for i in both]
        return e.or_(*(e.not_(e.eq(x, y)) for x, y in pairs if x is not y))

    def predicates(self) -> Iterator[tuple[str, Expression]]:
        """For each constraint and each common invariant, the condition that it differs; FALSE if it is equal."""
        for what, base, changed, common in (
            ("constraint", self.base.constraints, self.changed.constraints, False),
            ("invariant", self.base.invariants, self.changed.invariants, True),
        ):
            left, right = {p.name: p for p in base}, {p.name: p for p in changed}
            for name in sorted({*left} & {*right} if common else {*left} | {*right}):
                a, b = left.get(name), right.get(name)
                holds, failure = (TRUE, FALSE) if a is None else (self.here(a.holds), self.here(a.failure))
                mine, failing = (TRUE, FALSE) if b is None else (b.holds, b.failure)
                yield f"{what} {name}", e.or_(_unlike(holds, mine), _unlike(failure, failing))

    def same_properties(self) -> bool:
        """Whether the questions of all properties are equal, and the same instances are the environment's."""
        theirs = [
            (q.name, q.choice, *map(self.here, (q.region, q.source, q.mark, q.failure)), q.never)
            for q in self.base.questions
        ]
        ours = [(q.name, q.choice, q.region, q.source, q.mark, q.failure, q.never) for q in self.changed.questions]
        environment = {t.label: t.environment for t in self.base.transitions}
        return theirs == ours and environment == {t.label: t.environment for t in self.changed.transitions}


def _unlike(a: Expression, b: Expression) -> Expression:
    """The condition that two flags differ."""
    return FALSE if a is b else e.or_(e.and_(a, e.not_(b)), e.and_(b, e.not_(a)))
