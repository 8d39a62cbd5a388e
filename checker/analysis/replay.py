"""`replay` for Python: replays recorded traces. A file of traces can name a shipped model, but not a file with code."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from isrcheck.checker.analysis.check import resolved
from isrcheck.checker.analysis.refinement.mapping_registry import (
    historic,
    load_mapping,
    load_specification,
    specifications,
)
from isrcheck.checker.analysis.refinement.refinement_result import PREFIX
from isrcheck.checker.analysis.refinement.refused_step import refused_step
from isrcheck.checker.analysis.refinement.specification_steps import Allowed, TooMany
from isrcheck.checker.registry.loader import LoadedModel, blaming, load_model_class, model_names
from isrcheck.checker.trace.refinement_replay import Implementation, Implementing, widened
from isrcheck.checker.trace.replay_result import Replayed, replayed
from isrcheck.checker.trace.trace_files import DamagedFile, RecordedTrace, TraceFile, read
from isrcheck.model.language.errors import EvaluationError, UnknownName, nearest
from isrcheck.model.language.model import Model, kebab
from isrcheck.model.language.refinements import specified
from isrcheck.model.language.text_conditions import is_condition_text
from isrcheck.model.semantics.interpreter import Interpreter
from isrcheck.model.semantics.tracing import predicate_at, trace


def replay(
    file: str | Path,
    model: str | type[Model] | LoadedModel | None = None,
    settings: dict[str, Any] | None = None,
    *,
    invariant: str | None = None,
) -> list[Replayed]:
    """Replays the traces of a file (JSON of a result, or ITF), step by step, with the model's own methods.

    `model` must be given if the file does not name a shipped model. `settings` replace settings of the file.
    With `invariant` only the trace of this invariant is replayed. For each trace, the answer says whether the model
    allows the trace (`outcome.valid`) and, if not, which step the model refuses first and why. The answer also says
    whether the trace ends as it was recorded (`confirmed`).

    Raises OSError for a file that cannot be read. Raises `DamagedFile` for a damaged file, for a file without a trace
    (with `invariant`: without a trace of this invariant), and if `model` is None and the file names no shipped model.
    Raises `UnknownName` for names and values that the model does not have, and `ModelError` for a mistake in the model.
    """
    traces = read(Path(file))
    loaded = model_of(traces, model)
    with blaming(loaded.source_file):
        interpreter, implementation = walkers_of(loaded, traces, settings or {})
        return [replay_again(interpreter, each, implementation) for each in chosen(traces, invariant)]


def replay_again(interpreter: Interpreter, recorded: RecordedTrace, implementation: Implementation | None) -> Replayed:
    """Replays a trace. If a confirmed trace violates a refinement, adds why the specification refuses the last step.

    The reason is left out if the specification has too many states, or if a step of the specification is undefined.
    """
    found = replayed(interpreter, recorded, implementation)
    if recorded.claim != "refinement" or not found.confirmed or implementation is None:
        return found
    target = implementation.specification
    allowed = Allowed(trace(target.model), target, implementation.steps)
    with suppress(TooMany, EvaluationError):
        name = recorded.title.removeprefix(PREFIX)
        outcome, evaluated = refused_step(implementation, allowed, name, found.outcome.trace)
        return replace(found, invariant_result=outcome, evaluated=evaluated)
    return found


def with_specification(found: Replayed, traces: TraceFile, implementation: Implementation | None) -> Replayed:
    """Adds to each state of a confirmed trace the state of the specification that the mapping gives for this state.

    Only a trace that violates a refinement, or a property of a specification, gets these states.
    """
    if traces.against is None or implementation is None:
        return found
    if not found.confirmed or found.recorded.claim not in ("refinement", "liveness"):
        return found
    trace = found.outcome.trace
    beside = [implementation.stands_for(step.state) for step in trace.steps]
    variables = tuple(implementation.specification.model.domains.items())
    return replace(found, wider=widened(trace, traces.against.specification, variables, beside))


def model_of(traces: TraceFile, named: str | type[Model] | LoadedModel | None) -> LoadedModel:
    """The model that the user names, or else the shipped model that the file names.

    Raises `DamagedFile` if the user names no model and the file names no shipped model. A path in the file is never
    opened. The name of a trace may be a condition written as text. Such conditions become further invariants, except in
    a file from a check of a refinement.
    """
    loaded = _named_or_shipped(traces, named)
    texts = [] if traces.against is not None else [each.name for each in traces.traces]
    return loaded.with_text_conditions(texts)


def _named_or_shipped(traces: TraceFile, named: str | type[Model] | LoadedModel | None) -> LoadedModel:
    if isinstance(named, LoadedModel):
        return named
    if isinstance(named, type):
        return resolved(named, {})[0]
    if named is not None:
        return load_model_class(named)
    if traces.model is None:
        raise DamagedFile("it does not name its model; use --model")
    if traces.model not in model_names():
        raise DamagedFile(
            f"it was recorded with {traces.model!r}, which is not a shipped model; use --model my_model.py"
        )
    return load_model_class(traces.model)


def walkers_of(
    loaded: LoadedModel, traces: TraceFile, settings: dict[str, Any]
) -> tuple[Interpreter, Implementation | None]:
    """The interpreter for the traces and, if a check of a refinement found them, the model with its specification."""
    if traces.against is None:
        return interpreter_of(loaded, traces, settings), None
    against = traces.against
    specification = _specification(loaded, against.specification)
    _, mapping = load_mapping(loaded, specification, against.mapping)
    interpreter = interpreter_of(historic(loaded, mapping), traces, settings)
    target = specified(specification.cls, interpreter.model, mapping, against.settings)
    theirs = Interpreter(target, {}, specification.properties)
    implementation = Implementation(interpreter.model, theirs, mapping, against.at_most)
    return Implementing(implementation), implementation


def _specification(loaded: LoadedModel, name: str) -> LoadedModel:
    """A shipped specification, or one in the file of the user's model. A path in a file of traces is never opened."""
    file, _, cls = name.partition(":")
    if name in specifications():
        return load_specification(name)
    if loaded.source_file is not None and file == kebab(loaded.source_file.stem):
        return load_specification(f"{loaded.source_file}:{cls}" if cls else str(loaded.source_file))
    raise DamagedFile(f"its specification {name!r} is neither shipped nor in the --model file")


def interpreter_of(loaded: LoadedModel, traces: TraceFile, settings: dict[str, Any]) -> Interpreter:
    """The interpreter of the model at the settings of the file. The given settings replace settings of the file."""
    recorded, declared = traces.settings or {}, loaded.cls.declared_settings()
    for name in recorded:
        if name not in declared:
            raise UnknownName(f"model {loaded.name} has no setting {name!r}; {nearest(name, declared)}")
    model = loaded.cls(**{**recorded, **settings})
    for text in filter(is_condition_text, loaded.invariants):
        predicate_at(model, text, loaded.invariants[text])  # raises an error for a text without meaning in this model
    return Interpreter(model, loaded.invariants, loaded.properties)


def chosen(traces: TraceFile, invariant: str | None) -> list[RecordedTrace]:
    """The traces of a file, or only the trace of one invariant."""
    found = [each for each in traces.traces if invariant in (None, each.name)]
    if found:
        return found
    if not traces.traces:
        raise DamagedFile("it contains no trace: nothing was violated")
    names = [each.name for each in traces.traces if each.name is not None]
    raise DamagedFile(f"it contains no trace of {invariant}; {nearest(invariant or '', names)}")
