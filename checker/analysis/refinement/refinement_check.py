"""Checks whether a model does only what a specification allows.

Checks that history variables only record what happens, and do not change the behaviour of a model.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from isrcheck.checker.analysis.check import SHARE_OF_MEMORY, interchangeable, loaded_of, named_properties, resolved
from isrcheck.checker.analysis.free_memory import free_memory
from isrcheck.checker.analysis.liveness.liveness_verdicts import PropertyChecker
from isrcheck.checker.analysis.refinement.mapping_registry import Mapping, historic, load_mapping, load_specification
from isrcheck.checker.analysis.refinement.refinement_result import Refined, Verdicts
from isrcheck.checker.analysis.refinement.specification_steps import Abstraction, Allowed
from isrcheck.checker.analysis.refinement.step_comparison import Watching
from isrcheck.checker.analysis.result_builder import ResultBuilder
from isrcheck.checker.engines.explicit.search import search
from isrcheck.checker.registry.loader import LoadedModel, blaming
from isrcheck.checker.results.exploration import Exploration, Limits, Report
from isrcheck.checker.results.result import Exit
from isrcheck.checker.results.size_estimate import outlook
from isrcheck.checker.trace.canonical import CanonicalPaths
from isrcheck.checker.trace.refinement_replay import Implementation, Implementing
from isrcheck.model.language.errors import mistake_in
from isrcheck.model.language.fairness import Fairness
from isrcheck.model.language.model import Model
from isrcheck.model.language.refinements import specified, traced
from isrcheck.model.semantics.interpreter import Interpreter
from isrcheck.model.semantics.tracing import layout, questions_through, trace
from isrcheck.model.semantics.transition_system import Transition, TransitionSystem


def require_only_notes(plain: TransitionSystem, noted: TransitionSystem, mapping: Callable[..., Any]) -> None:
    """Raises `ModelError` if a model behaves differently with its history variables than without them."""
    wrong = _otherwise(plain, noted)
    if wrong is not None:
        what = f"the history of {mapping.__name__} changes the model: {wrong}"
        raise mistake_in(mapping, what, "it may only append variables, and record values in them")


def _otherwise(plain: TransitionSystem, noted: TransitionSystem) -> str | None:
    """The first difference between the model with history and the plain model, in words. None if they are alike."""
    count = len(plain.leaves)
    if noted.leaves[:count] != plain.leaves:
        return "its variables are not the model's variables followed by new ones"
    if {state[:count] for state in noted.initial} != set(plain.initial):
        return "its initial states differ"
    if [(p.name, p.holds) for p in noted.constraints] != [(p.name, p.holds) for p in plain.constraints]:
        return "its constraints differ"
    if [t.label for t in noted.transitions] != [t.label for t in plain.transitions]:
        return "its action instances differ"
    for mine, theirs in zip(plain.transitions, noted.transitions, strict=True):
        if mine.guard is not theirs.guard or _own(mine, count) != _own(theirs, count):
            return f"{mine.label.action} behaves differently"
    return None


def _own(transition: Transition, count: int) -> list[tuple[int, int]]:
    """The assignments to leaves (scalars) that are not history: pairs of a leaf's index and the `id` of the new value.

    The new value is an expression. Equal expressions are the same object, so they have the same `id`.
    """
    return [(i, id(update)) for i, update in transition.updates.items() if i < count]


NOT_REFINED: Final = "the specification does not allow a step"


def refine(
    model: str | type[Model] | LoadedModel,
    settings: dict[str, Any] | None = None,
    *,
    specification: str | type[Model] | LoadedModel,
    mapping: str | Mapping | None = None,
    specification_settings: dict[str, Any] | None = None,
    profile: str | None = None,
    steps: int | None = None,
    liveness: Sequence[str] = (),
    fairness: Fairness = Fairness(),
    symmetry: bool = False,
    limits: Limits = Limits(),
    workers: int | None = None,
    fail_on_vacuity: bool = False,
    report: Report | None = None,
    stage: Callable[[str], None] | None = None,
) -> Refined:
    """Explores a model, and decides by a mapping of states whether a specification allows each step of the model.

    The mapping gives the state of the specification that a state of the model represents. Initial states must represent
    initial states of the specification. Each step of the model must represent 0 to `steps` steps of the specification
    (None: any number of steps). `mapping` is a function or a name. It may be left out if there is only one mapping.
    `specification_settings` override the settings that the mapping gives.

    `liveness` names properties of the specification. The name `all` selects all properties that the specification has
    at its settings. Each fair behaviour of the model represents a behaviour of the specification. The properties are
    checked on the represented behaviours. If a step is refused or the limit on states is reached, the properties are
    checked only on the expanded levels. Such a check can find a violation, but it cannot show that a property holds.

    With `symmetry`, members of a scalarset (such as brokers) are interchangeable if neither the model nor the mapping
    tells them apart. Of all states that differ only by an exchange of such members, the search explores one. All other
    arguments are as for `isrcheck.check`, but `model` cannot be an instance of `Model`.

    Raises `UnknownName` for unknown names and values, and if `symmetry` does not apply. Raises `ModelError` for a
    mistake in a model or a mapping, and `EvaluationError` if a step of the specification is undefined.
    """
    began, tell = time.perf_counter(), stage or (lambda name: None)
    tell("trace")
    loaded, spec = loaded_of(model), load_specification(specification)
    name, maps = load_mapping(loaded, spec, mapping)
    with blaming(loaded.source_file), blaming(spec.source_file):
        asked = loaded.cls
        loaded, instance, begins_with = resolved(historic(loaded, maps), settings or {}, profile)
        target = specified(spec.cls, instance, maps, specification_settings or {})
        properties = named_properties(spec, target, liveness)
        if properties:
            fairness.require_known(instance)
        system, theirs = trace(instance), trace(target)
        if loaded.cls is not asked:
            require_only_notes(trace(asked(**instance.settings)), system, maps)
        nodes, undefined = traced(instance, target, maps)
        system = replace(system, questions=questions_through(target, nodes, properties))
        leaves = layout(target)[1]
        kept = [(f"{name}, which gives {x.path}", node) for x, node in zip(leaves, nodes, strict=True)]
        classes = interchangeable(system, tell, [*kept, (name, undefined)]) if symmetry else []
        abstraction = Abstraction(system, leaves, nodes, undefined)
        implementation = Implementation(instance, Interpreter(target, {}, properties), maps, steps)
        interpreter = Implementing(implementation)
        tell("compile")
        traced_in, until = time.perf_counter() - began, None
        if limits.seconds is not None:
            until = time.perf_counter() + limits.seconds
        watching = Watching(abstraction, Allowed(theirs, implementation.specification, steps), until, bool(classes))
        free = int(free_memory() * SHARE_OF_MEMORY)
        within, began_search = (
            limits if limits.memory is not None else replace(limits, memory=free),
            time.perf_counter(),
        )
        found, levels = search(
            system,
            keep_going=False,
            deadlock=False,
            limits=within,
            report=report,
            workers=workers,
            classes=classes,
            watch=watching,
        )
        tell("counterexample")
        _only_compared(found, watching)
        numbers = {label: i for i, label in enumerate(interpreter.labels)}
        paths = CanonicalPaths(levels, [t.actor for t in system.transitions])
        instances = [numbers[t.label] for t in system.transitions]
        builder = ResultBuilder(loaded.name, interpreter, system, found, paths, instances)
        result = builder.result("local", False, fail_on_vacuity, limits)
        result.profile = begins_with
        verdicts = Verdicts(builder, paths, implementation, watching)
        answer = verdicts.answer(result, spec.name, name)
        if properties:
            tell("liveness")
            asking = time.perf_counter()
            wanted = PropertyChecker(builder, fairness, within, NOT_REFINED, fail_on_vacuity)
            wanted.add_to(result, paths, began_search)
            verdicts.tell_lassos(answer)
            found.seconds["liveness"] = time.perf_counter() - asking
        if fail_on_vacuity and answer.vacuous and result.exit_code == Exit.HOLDS:
            result.exit_code = Exit.DIFFERENCE
    result.seconds = {"trace": traced_in, **found.seconds}
    if found.stopped in ("states", "memory", "time", "interrupt"):
        result.extra = result.extra | {"forecast": outlook(result)}
    result.seconds["total"] = time.perf_counter() - began
    return answer


def _only_compared(found: Exploration, watching: Watching) -> None:
    """Removes from an exploration what was not compared.

    If time, memory or an interruption ended the exploration before all steps into its last level were compared, this
    level is removed.
    """
    if watching.ended is not None:
        found.partial = None  # `watching` is called, and ends a search, only between two levels
    if found.stopped in ("memory", "time", "interrupt") and watching.whole < len(found.levels):
        found.levels, found.generated = found.levels[: watching.whole], found.generated[: max(0, watching.whole - 1)]
        found.degrees = None  # counted over all levels together, so not known for the remaining levels
        for seen in (found.goals, found.bounds):
            for name in [name for name, level in seen.items() if level > watching.whole]:
                del seen[name]
