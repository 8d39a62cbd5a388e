"""One question, one answer: explore a model, judge its invariants, and show a trace of each violation."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

import psutil

from checker.engines.interpreter import Interpreter
from checker.exploration import Exploration, Levels, Limits, Report
from checker.judging import Judge
from checker.library import LoadedModel, blaming, fitting, load_model_class
from checker.results import Result
from model.language import Model, UnknownName
from model.language.errors import nearest
from model.language.system import TransitionSystem
from model.language.tracing import trace

ENGINES: Final = ("local", "reference")
SHARE_OF_MEMORY: Final = 0.9
"""Of the memory that is free when a search begins; the rest is for the system, which must not swap."""


def check(
    model: str | type[Model] | Model | LoadedModel,
    settings: dict[str, Any] | None = None,
    *,
    invariants: Sequence[str] | None = None,
    engine: str = "local",
    keep_going: bool = False,
    deadlock: bool = False,
    limits: Limits = Limits(),
    workers: int | None = None,
    fail_on_vacuity: bool = False,
    report: Report | None = None,
    stage: Callable[[str], None] | None = None,
) -> Result:
    """Explores a model within its settings and says of each invariant whether it holds.

    `model` is a name, a file (`my_model.py`, `my_model.py:Class`), a class, an instance, or what `load_model_class`
    gave; `settings` go with all but an instance. Without a limit on memory, nine tenths of what is free is one.
    `invariants` are names, None for the model's default ones. `keep_going` explores everything in spite of
    violations; `deadlock` looks for states without an enabled instance. `workers` are the threads of the local engine,
    None for one on each processor; what is found does not depend on them. `report` is told of progress, `stage` of the
    beginning of "trace", "compile", "search" and "counterexample".

    Raises `UnknownName` for names and values that the model does not have, `ModelError` for a mistake in the model.

    >>> check("kip-101", {"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 0}).verdict
    'holds'
    """
    if engine not in ENGINES:
        raise UnknownName(f"there is no engine {engine!r}; {nearest(engine, ENGINES)}")
    if workers is not None and workers < 1:
        raise UnknownName(f"{workers} workers do no work; take one or more")
    begin, tell = time.perf_counter(), stage or (lambda name: None)
    tell("trace")
    loaded, instance = _resolved(model, settings or {})
    with blaming(loaded.origin):
        chosen = loaded.chosen(None if invariants is None else tuple(invariants))
        system = trace(instance, chosen)
        interpreter = Interpreter(instance, chosen)
        traced = time.perf_counter() - begin
        tell("compile" if engine == "local" else "search")
        free = int(psutil.virtual_memory().available * SHARE_OF_MEMORY)
        within = limits if limits.memory is not None else replace(limits, memory=free)
        question = {"keep_going": keep_going, "deadlock": deadlock, "limits": within, "report": report}
        found, levels, labels = _search(engine, interpreter, system, question, workers)
        tell("counterexample")
        judge = Judge(loaded.name, interpreter, system.absent, found, levels, labels)
        result = judge.result(engine, deadlock, fail_on_vacuity, limits)
    result.seconds = {"trace": traced, "compile": 0.0, **found.seconds}
    result.seconds["total"] = time.perf_counter() - begin
    return result


def _resolved(model: str | type[Model] | Model | LoadedModel, settings: dict[str, Any]) -> tuple[LoadedModel, Model]:
    if isinstance(model, str | LoadedModel):
        loaded = load_model_class(model) if isinstance(model, str) else model
        with blaming(loaded.origin):
            return loaded, loaded.cls(**settings)
    cls = model if isinstance(model, type) else type(model)
    loaded = LoadedModel(cls, cls.name(), None, fitting(cls, None))
    if isinstance(model, Model):
        if settings:
            raise UnknownName(
                "settings go with a model's name or class, not with an instance; give them when making it"
            )
        return loaded, model
    return loaded, cls(**settings)


def _search(
    engine: str, interpreter: Interpreter, system: TransitionSystem, question: dict[str, Any], workers: int | None
) -> tuple[Exploration, Levels, list[int]]:
    """The answer, the levels, and for each instance number of the engine that of the interpreter."""
    if engine == "reference":
        from checker.engines import reference

        found, levels = reference.search(interpreter, **question)
        return found, levels, list(range(len(interpreter.labels)))
    from checker.engines.local.search import search

    numbers = {label: i for i, label in enumerate(interpreter.labels)}
    answer, native = search(system, **question, workers=workers)
    return answer, native, [numbers[t.label] for t in system.transitions]
