"""Compares the questions about two versions of a model: predicates, assumed fairness, and the states to be checked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from isrcheck.checker.analysis.inclusion.inclusion_check import Side
from isrcheck.checker.changes.review.model_differences import digest
from isrcheck.checker.registry.loader import LoadedModel
from isrcheck.model.language.errors import UnknownName
from isrcheck.model.language.model import Model
from isrcheck.model.semantics.expressions import Expression
from isrcheck.model.semantics.tracing import applicable_properties, checkable, trace
from isrcheck.model.semantics.transition_system import Predicate, Question, TransitionSystem


@dataclass(frozen=True)
class Questions:
    """The predicates whose meaning differs between two versions, and the differences in states and fairness.

    `states` names the differences in variables, initial states and constraints. `cut` is true if the constraints
    differ, so that the two searches may leave out different states. `narrower` names the changed bounds whose new value
    is not a number greater than the old value. If `cut` is true or `narrower` names a bound, the new search may leave
    out the states of an old violation. In this case, a violation that is gone does not count as mended. For scenarios
    only `cut` matters, because scenarios keep their own bounds. `fairness` has the actions whose fairness differs, each
    with its fairness before and after.
    """

    predicates: frozenset[str]
    states: tuple[str, ...]
    cut: bool
    narrower: tuple[str, ...]
    fairness: tuple[tuple[str, str, str], ...]


def questions(old: Side, new: Side) -> Questions:
    """The differences between the questions about two versions.

    Predicates and states are compared at the settings of one version, if both versions accept these settings. So an
    invariant whose meaning differs only because of a changed setting does not count as changed.
    """
    one, other = _at_the_same_settings(old.model, new.model)
    then, now = _system(old.loaded, one), _system(new.loaded, other)
    here, there = _predicates(then), _predicates(now)
    names = sorted({*here, *there})
    changed = [name for name in names if here.get(name) != there.get(name)]
    constraints = [f"constraint {name}" for name, is_constraint in changed if is_constraint]
    return Questions(
        frozenset(key[0] for key in changed if not key[1] and key in here and key in there),
        (*_states(then, now), *constraints),
        bool(constraints),
        tuple(_narrower(old.model, new.model)),
        tuple(_fairness(old, new)),
    )


def _system(loaded: LoadedModel, model: Model) -> TransitionSystem:
    return trace(model, checkable(model, loaded.invariants), applicable_properties(model, loaded.properties))


def _at_the_same_settings(old: Model, new: Model) -> tuple[Model, Model]:
    """Both models at the old model's settings. If the new model refuses these, both are at the new model's settings.

    Each model takes only the settings that it has. If neither model accepts the values of the other model, both models
    keep their own settings.
    """
    for wanted in (old.settings, new.settings):
        with suppress(UnknownName):
            return _with(old, wanted), _with(new, wanted)
    return old, new


def _with(model: Model, wanted: dict[str, Any]) -> Model:
    """The model with its settings changed as in `wanted`. Settings that `wanted` does not name keep their values."""
    settings = {name: wanted.get(name, value) for name, value in model.settings.items()}
    return model if settings == model.settings else type(model)(**settings)


def _narrower(old: Model, new: Model) -> Iterator[str]:
    """The bounds that both versions have and whose value changes, but not to a greater number."""
    declared = type(old).declared_settings() | type(new).declared_settings()
    for name, value in new.settings.items():
        before = old.settings.get(name, value)
        if declared[name].bound is not None and before != value and not _is_greater(value, before):
            yield name


def _is_greater(value: Any, before: Any) -> bool:
    return type(value) is int and type(before) is int and value > before


def _predicates(system: TransitionSystem) -> dict[tuple[str, bool], Any]:
    """Digests of the meaning of each predicate. A key has the predicate's name, and whether it is a constraint."""
    known: dict[Expression, str] = {}
    found: dict[tuple[str, bool], Any] = {}
    for predicate in system.invariants:
        found[predicate.name, False] = _said(predicate, known)
    for constraint in system.constraints:
        found[constraint.name, True] = _said(constraint, known)
    for question in system.questions:
        found.setdefault((question.name, False), []).append(_asked(question, known))
    return found


def _said(predicate: Predicate, known: dict[Expression, str]) -> tuple[str, ...]:
    return digest(predicate.holds, known), digest(predicate.failure, known)


def _asked(question: Question, known: dict[Expression, str]) -> tuple[Any, ...]:
    parts = (question.region, question.source, question.mark, question.failure)
    how = question.choice, sorted(question.never), question.stable, question.initially
    return *(digest(part, known) for part in parts), *how


def _states(old: TransitionSystem, new: TransitionSystem) -> Iterator[str]:
    """Yields what differs between the states: the variables or, if these are equal, the initial states."""
    here, there = ([(x.path, x.kind, x.low, x.high) for x in system.leaves] for system in (old, new))
    if here != there:
        yield "the variables"
    elif set(old.initial) != set(new.initial):
        yield "the initial states"


def _fairness(old: Side, new: Side) -> Iterator[tuple[str, str, str]]:
    here, there = (side.fairness.by_action(side.model) for side in (old, new))
    for action in sorted(here.keys() & there.keys()):
        if here[action] != there[action]:
            yield action, here[action], there[action]
